/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox of the sender. Its libraries parse what a hostile receiver sends, so an intruder
 * there gets the network, one batch, and the files that this sink names; no history, no spool, no
 * cache, no socket of another process and no program.
 *
 * As a fetcher (symbolize/fetch_sandbox.h) it is another user than the engine wherever that is
 * possible.
 */
#pragma once

#include "send/send_receiver.h"

/*
 * Limits the process's resources and closes all other files, as far as the kernel has Landlock.
 * Libraries must be loaded before. Returns 0 or -errno.
 */
int send_sandbox_close_files(const struct send_receiver *receiver);

/* Then forbids system calls. Returns 0 or -errno. */
int send_sandbox_forbid_calls(void);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox of the fetcher. Its libraries parse what a hostile server sends, so an intruder there
 * gets the network, the folder of this fetch, and public files about names and certificates; no
 * history, no cache, no socket of another process and no program.
 *
 * Its user differs from the engine's wherever that is possible: the service's unit has fetchers run
 * in a unit of their own (broker/child_service.h), and a fetcher of root becomes the user "nobody".
 * One that a user's own command starts stays that user: there only Landlock and the filter of calls
 * stand between an intruder and the user's files.
 */
#pragma once

#include "symbolize/fetch_request.h"

/*
 * Limits the process's resources, enters the folder of the fetch and closes all other files, as far
 * as the kernel has Landlock. Libraries must be loaded before. Returns 0; -EINVAL a URL has '#' or
 * '?'; or another -errno.
 */
int fetch_sandbox_close_files(const struct fetch_request *request);

/* Then forbids system calls. Returns 0 or -errno. */
int fetch_sandbox_forbid_calls(void);

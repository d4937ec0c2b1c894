/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the engine of `pilotlight record` gives up before it reads what others have written. */
#pragma once

#include "base/fault.h"

#include <stdbool.h>

/*
 * The user stays, without a privilege and a way to one. `socket_fd` is of a pair that the parent
 * has made: this process ends with it. Where the kernel lets nobody without privileges at BPF maps,
 * they are kept, with a warning. Returns 0 or -errno with `fault`.
 */
int record_sandbox_drop_privileges(int socket_fd, bool *ret_keeps_privileges, struct fault *fault);

/*
 * Then: no files but below `symbol_cache` (may be NULL) and where temporary ones are, and no system
 * calls but those of an engine. What the kernel has no sandbox for is left out.
 */
void record_sandbox_confine(const char *symbol_cache);

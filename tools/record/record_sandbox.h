/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two processes of `pilotlight record` give up. */
#pragma once

#include "base/fault.h"

#include <stdbool.h>

/*
 * Keeps the user, and drops every privilege and every way to one. Root becomes the user nobody if
 * the kernel lacks the Landlock that record_sandbox_confine() needs. `socket_fd` is of a pair that
 * the parent has made: this process ends when the parent does. If the kernel refuses BPF maps to
 * processes without privileges, they are kept, with a warning. Returns 0 or -errno with `fault`.
 */
int record_sandbox_drop_privileges(int socket_fd, bool *ret_keeps_privileges, struct fault *fault);

/*
 * Allows only files below `symbol_cache` (may be NULL), temporary files and /proc, and only the
 * system calls of an engine. Sandboxes that the kernel lacks are left out.
 */
void record_sandbox_confine(const char *symbol_cache);

/*
 * For a thread that only reads files that it is given: the system calls of a symbol worker. Left
 * out, with a warning, if the kernel cannot filter calls. Returns 0.
 */
int record_sandbox_confine_reader(void);

/*
 * For the front, once it has started all other processes: only the system calls of a broker. Left
 * out, with a warning, if the kernel cannot filter calls.
 */
void record_sandbox_forbid_front(void);

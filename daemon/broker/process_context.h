/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies the payload of a process's context of OpenTelemetry (pilotlight/process_context.h). */
#pragma once

/*
 * Finds the mapping by the name that the kernel shows for it, and copies the payload that its
 * header tells, if the header is the same before and after. Up to four that are wrong are skipped.
 * Memory of the process that only the process has chosen is read, whatever the client of the broker
 * asks. `process_fd`: of /proc/PID.
 *
 * Returns 0 and a memfd with the payload; -ENOENT there is no such mapping; -EPERM another user
 * made the file that is mapped; -ENOEXEC it is no context of a version that is known, or its size
 * cannot be right; -EAGAIN the process keeps changing it; or -errno.
 */
int process_context_copy(int process_fd, int *ret_fd);

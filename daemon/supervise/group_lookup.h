/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of a group by its name, for the process that has privileges: files are parsed and
 * libraries loaded for that (nss(5)) in a child that has none, and ends with its answer.
 */
#pragma once

#include <sys/types.h>

/*
 * For a process of one thread that does not ignore SIGCHLD. Returns 0; -ENOENT: there is no such
 * group, or who knows it has crashed; -ETIMEDOUT: no answer in `patience_ms`; or
 * -errno. A child that is killed and does not end, as a file system holds it, is left behind.
 */
int group_lookup(const char *name, int patience_ms, gid_t *ret_group);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up a group's number by its name, for the privileged process. The lookup parses files and
 * loads libraries (nss(5)), so it runs in a child without privileges.
 */
#pragma once

#include <sys/types.h>

/*
 * The caller must have one thread and must not ignore SIGCHLD. Returns 0; -ENOENT if there is no
 * such group, or if the child crashed; -ETIMEDOUT after `timeout_ms`; or -errno. A killed child
 * that a file system blocks is left behind.
 */
int group_lookup(const char *name, int timeout_ms, gid_t *ret_group);

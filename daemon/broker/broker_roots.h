/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folders below which the broker opens what the kernel or the administrator has put there. */
#pragma once

#include <limits.h>

struct broker_options;

struct broker_roots {
	char *proc, *debug, *sys; /* owned, never NULL after broker_roots_init() */
};

/* `options` may be NULL and is copied. Returns 0 or -ENOMEM; what is left is to be freed anyway. */
int broker_roots_init(struct broker_roots *roots, const struct broker_options *options);
void broker_roots_done(struct broker_roots *roots);

/* ROOT/REST. Returns 0 or -ENAMETOOLONG. */
int broker_roots_join(char path[PATH_MAX], const char *root, const char *rest);

/*
 * A folder or file that only the kernel or the administrator puts there: its path is walked as any
 * open() would. `flags` are those of open(2) beyond O_CLOEXEC and not blocking. Returns 0 or
 * -errno.
 */
int broker_roots_open(const char *root, const char *rest, int flags, int *ret_fd);

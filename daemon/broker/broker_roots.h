/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root folders of the trees that only the kernel or the administrator writes: /proc, /sys and the
 * folder of debug files.
 */
#pragma once

#include <limits.h>

struct broker_options;

struct broker_roots {
	char *proc, *debug, *sys; /* owned, never NULL after broker_roots_init() */
};

/*
 * `options` may be NULL and is copied. Returns 0 or -ENOMEM; call broker_roots_done() in either
 * case.
 */
int broker_roots_init(struct broker_roots *roots, const struct broker_options *options);
void broker_roots_done(struct broker_roots *roots);

/* ROOT/REST. Returns 0 or -ENAMETOOLONG. */
int broker_roots_join(char path[PATH_MAX], const char *root, const char *rest);

/*
 * Opens ROOT/REST as open(2) would, following links: only the kernel or the administrator can put
 * any there. O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added to `flags`. Returns 0 or -errno.
 */
int broker_roots_open(const char *root, const char *rest, int flags, int *ret_fd);

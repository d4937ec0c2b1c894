/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses what passes by into an output, as gzip (RFC 1952). The header carries no time, no name
 * and no operating system: the same input gives the same bytes. Holds some 300 KiB whatever passes.
 * One owner; one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/output.h"

#include <stddef.h>

struct gzip;

/* `level` is 1 (fast) to 9 (small). `output` is borrowed and must outlive it. 0 or -ENOMEM. */
int gzip_new(struct output *output, int level, struct gzip **ret_gzip);
void gzip_free(struct gzip *gzip);
DEFINE_CLEANUP(struct gzip, gzip_free);

/* An output_function, whose context is the struct gzip. Returns 0 or the output's error. */
int gzip_write(void *gzip, const void *bytes, size_t size);

/*
 * Writes what zlib still holds, and the trailer; nothing may follow. The output is not flushed:
 * that is its owner's to do. Returns 0 or the output's error.
 */
int gzip_finish(struct gzip *gzip);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses a stream into an output as gzip (RFC 1952). The header carries no time, name or
 * operating system, so the same input gives the same bytes. Needs about 300 KiB, whatever the
 * length of the stream. One owner; one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/output.h"

#include <stddef.h>

struct gzip;

/* `output` is borrowed and must outlive it. Returns 0 or -ENOMEM. */
int gzip_new(struct output *output, struct gzip **ret_gzip);
void gzip_free(struct gzip *gzip);
DEFINE_CLEANUP(struct gzip, gzip_free);

/* An output_function; its context is the struct gzip. Returns 0 or the output's error. */
int gzip_write(void *gzip, const void *bytes, size_t size);

/*
 * Writes the rest of the compressed data and the trailer; no write may follow. The owner of the
 * output flushes it. Returns 0 or the output's error.
 */
int gzip_finish(struct gzip *gzip);

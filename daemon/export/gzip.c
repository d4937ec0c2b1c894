/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gzip.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
	CHUNK_BYTES = 16 * 1024,
	GZIP_WINDOW_BITS =
		16 + 15, /* deflateInit2: 16 for the gzip wrapper, 15 for a 32 KiB window */
	LEVEL = 6,
	MEMORY_LEVEL = 8,
	OS_UNKNOWN = 255,
};

struct gzip {
	struct output *output;
	z_stream stream;
	gz_header header; /* zlib reads it when the first byte leaves */
	unsigned char chunk[CHUNK_BYTES];
};

static voidpf allocate(voidpf opaque, uInt count, uInt size)
{
	(void)opaque;
	return reallocarray(NULL, count, size);
}

static void release(voidpf opaque, voidpf memory)
{
	(void)opaque;
	free(memory);
}

int gzip_new(struct output *output, struct gzip **ret_gzip)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));
	int r;

	if (!gzip)
		return -ENOMEM;
	gzip->output = output;
	gzip->stream.zalloc = allocate;
	gzip->stream.zfree = release;
	r = deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
		Z_DEFAULT_STRATEGY);
	if (r != Z_OK) {
		free(gzip);
		return r == Z_MEM_ERROR ? -ENOMEM : -EIO;
	}
	gzip->header.os = OS_UNKNOWN;
	r = deflateSetHeader(&gzip->stream, &gzip->header);
	assert(r == Z_OK);
	*ret_gzip = gzip;
	return 0;
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	(void)deflateEnd(&gzip->stream);
	free(gzip);
}

/* Passes deflate's output on until deflate needs more input or, with Z_FINISH, is complete. */
static int deflate_all(struct gzip *gzip, int flush)
{
	do {
		int r;

		gzip->stream.next_out = gzip->chunk;
		gzip->stream.avail_out = sizeof(gzip->chunk);
		r = deflate(&gzip->stream, flush);
		assert(r != Z_STREAM_ERROR);
		output_write(
			gzip->output, gzip->chunk, sizeof(gzip->chunk) - gzip->stream.avail_out);
		if (gzip->output->error < 0)
			return gzip->output->error;
	} while (gzip->stream.avail_out == 0);
	return 0;
}

int gzip_write(void *context, const void *bytes, size_t size)
{
	struct gzip *gzip = context;
	const unsigned char *next = bytes;

	while (size > 0) {
		uInt part = size < UINT_MAX ? (uInt)size : UINT_MAX;
		int r;

		/* zlib only reads it; the missing const is historical. */
		gzip->stream.next_in = (unsigned char *)next;
		gzip->stream.avail_in = part;
		r = deflate_all(gzip, Z_NO_FLUSH);
		if (r < 0)
			return r;
		next += part;
		size -= part;
	}
	return 0;
}

int gzip_finish(struct gzip *gzip)
{
	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	return deflate_all(gzip, Z_FINISH);
}

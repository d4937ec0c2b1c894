/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of a source of names. A source looks up a batch of addresses of one binary at a
 * time, so that one pass over its symbols serves them all.
 */
#pragma once

#include "base/build_id.h"
#include "base/string_pool.h"
#include "symbol/symbol_identity.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A function and a source line; 0: unknown. Ids are of the batch's pool. */
struct symbol_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint32_t column;
};

/* In: a link-time vaddr. Out: its frames in the batch, innermost first; frame_count 0: unknown. */
struct symbol_request {
	uint64_t vaddr;
	uint32_t first_frame;
	uint32_t frame_count;
};

struct symbol_batch {
	struct symbol_request *requests; /* borrowed; sorted by vaddr, ascending, no duplicates */
	size_t request_count;
	struct string_pool *strings; /* borrowed */
	struct symbol_frame *frames; /* owned by the batch; starts NULL */
	size_t frame_count, frame_capacity;
};

/* Frees the frames. */
static inline void symbol_batch_done(struct symbol_batch *batch)
{
	free(batch->frames);
	batch->frames = NULL;
	batch->frame_count = batch->frame_capacity = 0;
}

/* A binary to look up. Descriptors are borrowed; -1: none. */
struct symbol_binary {
	struct build_id build_id;
	/* For lookups; id.size 0: not known yet, the source reads it from `fd` and build-id. */
	struct symbol_identity identity;
	const char *path;	/* for messages, and to find a debug file beside it */
	int fd;			/* the binary itself */
	int debug_fd;		/* its separate debug file, not checked yet */
	const char *debug_path; /* NULL: unknown */
	uint64_t user;		/* who answers for the work; base/user_share.h */
};

struct symbol_source {
	/*
	 * Fills the requests that it can and sets frame_count to 0 for the others. Returns 0.
	 * Errors of this binary: -ENODATA no symbols; -ENOEXEC a damaged file; -EFBIG the file or
	 * the batch exceeds the source's bounds; another -errno from reading. Errors of all
	 * binaries: -ENOMEM; -E2BIG the pool is full. After an error requests and frames are
	 * unchanged; the pool may have gained strings.
	 */
	int (*lookup)(struct symbol_source *source, const struct symbol_binary *binary,
		struct symbol_batch *batch);
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where names come from. A source answers for one binary and a batch of its addresses at a time, so
 * that reading a symbol table once, or a sorted index in order, serves them all. An ELF file is a
 * source; a cache on disk can stand in its place.
 */
#pragma once

#include "base/build_id.h"
#include "base/string_pool.h"
#include "symbol/symbol_identity.h"

#include <stddef.h>
#include <stdint.h>

/* A function at some place of the source; 0 where a part is not known. Ids are of the batch's pool.
 */
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

/* Frees what the batch owns: its frames. */
void symbol_batch_done(struct symbol_batch *batch);

/* The binary that is asked about. Descriptors are borrowed; -1 where there is none. */
struct symbol_binary {
	struct build_id build_id;
	/* What lookups find it by, where that has been found out before; id.size 0: `fd` and the
	 * build-id tell. */
	struct symbol_identity identity;
	const char *path; /* for messages, and to find a debug file beside it */
	int fd;		  /* the binary itself */
	int debug_fd;	  /* its separate debug file, checked against it before it is believed */
	const char *debug_path; /* where that is; NULL: not known */
};

struct symbol_source {
	/*
	 * Fills the requests that it can and sets frame_count to 0 for the others. Returns 0;
	 * -ENODATA no symbols at all; -ENOEXEC a damaged file; -EFBIG the file or the batch exceeds
	 * the source's bounds; another -errno from reading: each says something of this binary
	 * alone. -ENOMEM; -E2BIG the pool is full: nor will another binary have names. On failure
	 * requests and frames are as they were; the pool may have gained strings.
	 */
	int (*lookup)(struct symbol_source *source, const struct symbol_binary *binary,
		struct symbol_batch *batch);
	void (*free)(struct symbol_source *source);
};

void symbol_source_free(struct symbol_source *source);

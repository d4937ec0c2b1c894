/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of a GSYM file agree on: where its functions are, and which number a frame, a
 * string or a source file of the symbol file has in it. Borrows the symbol file.
 */
#pragma once

#include "export/gsym.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsym_frame {
	uint32_t root;	/* its outermost caller, or itself */
	uint32_t shown; /* itself, or its nearest caller that is not too deep */
	uint16_t depth; /* 0: not inlined; GSYM_DEPTH_MAX + 1: too deep */
};

struct gsym_tables {
	const struct symbol_file *file;
	struct gsym_frame *frames; /* owned; by their ids */
	size_t frame_count;
	size_t boundary_count, row_count;
	uint32_t code_end;    /* offset from the base of the first byte that is no code */
	uint32_t string_size; /* of the string table, which has an empty string in its end */
	uint32_t file_count;  /* of the file table, whose last is of no name */
};

/*
 * Returns 0; -EBADMSG boundaries or rows are not sorted; -EFBIG more strings or files than the
 * format has numbers for; -ENOMEM. Nothing is to be undone after an error.
 */
int gsym_tables_init(struct gsym_tables *tables, const struct symbol_file *file);
void gsym_tables_done(struct gsym_tables *tables);

/* Consecutive boundaries of one outermost function. Offsets are from the base. */
struct gsym_range {
	size_t boundary, boundary_end;
	uint32_t start, end; /* start < end */
	uint32_t root;
};

/* The first range from `boundary` on; false: there is none. */
bool gsym_tables_find_range(
	const struct gsym_tables *tables, size_t boundary, struct gsym_range *ret_range);

/* The frame that code from a boundary on is shown in; 0: none. */
uint32_t gsym_tables_boundary_frame(const struct gsym_tables *tables, size_t boundary);

/* A frame's name in the string table; never 0, which readers take for none. */
uint32_t gsym_tables_name(const struct gsym_tables *tables, uint32_t frame);

/* A source file's path in the string table; never 0. */
uint32_t gsym_tables_path(const struct gsym_tables *tables, uint32_t file);

/*
 * A place without its column. An unknown file is one of no name rather than 0, at which readers
 * give up, and the line is 0 then.
 */
struct gsym_line {
	uint32_t file, line;
};
struct gsym_line gsym_tables_line(const struct gsym_tables *tables, uint64_t place);

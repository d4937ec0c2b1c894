/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the table of functions that Go's runtime needs, .gopclntab. It is in every Go binary, also
 * in a stripped one: for each function its range, its name, and small programs that give a value
 * for each address, such as the distance of the stack pointer from the function's start, the
 * source line, or the inlined call. A linker may merge the table into another section; then its
 * header is searched for.
 *
 * The table is copied to scratch and may be hostile (I8): each read is checked. Many functions can
 * share a long name, a program or inlined calls, so reading these is charged, and the whole table
 * costs no more than a few times the size of the file. Understood are tables of Go 1.16 and later,
 * with 64-bit addresses in the host's byte order. One owner.
 *
 * Source: runtime/symtab.go and cmd/link/internal/ld/pcln.go of Go.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/dwarf_bytes.h"
#include "symbol/elf_file.h"

enum go_version { GO_1_16, GO_1_18, GO_1_20 };

enum { GO_TABLE_BYTES_MAX = 1 << 30 };

/* A part of the table; offsets in it count from its start. */
struct go_part {
	const uint8_t *bytes;
	size_t size;
};

struct go_table {
	struct scratch_array contents;
	enum go_version version;
	uint8_t quantum; /* the least size of an instruction */
	uint32_t function_count;
	uint64_t text; /* functions count from it; 0 in Go 1.16 and 1.17 */
	struct go_part names, units, files, programs, functions;
	uint64_t steps_left; /* go_table_charge() */
	/* Where the inlined calls of functions are in the file; size 0: not known. */
	const struct elf_file *file; /* borrowed */
	uint64_t inlined_offset, inlined_bytes;
};

/* Is it a Go program, by its sections? Returns 1, 0 or -errno. */
int go_table_is_in(const struct elf_file *file);

/*
 * Copies the table of a Go program. `table` is all zeros. Returns 0; -ENODATA the program has none,
 * or one of an older version; -ENOEXEC malformed; -EFBIG too big, or no room for it; -ENOMEM; the
 * scratch's errors; another -errno from reading. Closing is due also after an error.
 */
int go_table_open(struct go_table *table, const struct elf_file *file, struct scratch *scratch);
void go_table_close(struct go_table *table);

/* All but the range and the name are offsets in parts of the table; 0: there is none. */
struct go_function {
	uint64_t start, end; /* vaddrs; not empty */
	uint32_t name;
	uint32_t stack_program, file_program, line_program, inline_program;
	uint32_t unit;	  /* index in `units` of the first file of the function's unit */
	uint32_t inlined; /* offset from `inlined_offset`; GO_NOT_INLINED: none */
};
enum { GO_NOT_INLINED = 0xffffffff };

/* `index` < function_count. Functions ascend, without overlap. Returns 0, or -ENOEXEC if this
 * function is malformed. */
int go_table_function(
	const struct go_table *table, uint32_t index, struct go_function *ret_function);

/* Charges the work of reading some bytes. False: there is not so much left. */
bool go_table_charge(struct go_table *table, uint64_t steps);

/* Return NULL if there is no such name or file, or if it cannot be charged. `file` counts from the
 * function's unit. */
const char *go_table_name(struct go_table *table, uint32_t name);
const char *go_table_file(struct go_table *table, uint32_t unit, uint32_t file);

/* Runs a program over the addresses of its function. */
struct go_program {
	struct go_table *table; /* borrowed */
	struct dwarf_bytes bytes;
	uint64_t address, end;
	uint32_t value;
	uint8_t quantum;
	bool is_first;
};
void go_program_init(struct go_program *program, struct go_table *table,
	const struct go_function *function, uint32_t offset);

/*
 * Gives the next value, which holds in [*ret_start, *ret_end), a range that is not empty and
 * follows the one before. Returns 1; 0 at the end, which may be before the function's; -ENOEXEC,
 * also if it cannot be charged.
 */
int go_program_next(
	struct go_program *program, uint64_t *ret_start, uint64_t *ret_end, int32_t *ret_value);

/*
 * An inlined call. `call` is an instruction of the caller, counted from the function's start: its
 * file and line are those of the call, and its inlined call is the caller.
 */
struct go_inlined {
	uint32_t name;
	uint32_t call;
};
enum { GO_INLINED_MAX = 1 << 16, GO_INLINED_BYTES_MAX = 20 };
size_t go_inlined_bytes(const struct go_table *table);
struct go_inlined go_inlined_decode(const struct go_table *table, const uint8_t *bytes);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the functions, lines and symbols of a binary in the order in which its tables list them,
 * and writes a symbol file. All data that grows with the binary is scratch, except the hash index
 * of names.
 *
 * A function comes with its inlined calls as a tree of frames with ranges of code, and is
 * flattened to boundaries once it is complete. Later the functions are sorted and the symbols laid
 * over them. Where both cover the code, the symbol names the outermost frame, because it has the
 * linker's name (foo.cold, foo.part.0). Where only a symbol does, it becomes a frame of its own.
 * Where functions or line sequences overlap, the one that begins last has the code; of equal
 * beginnings, the one that was added first.
 *
 * Ranges of functions and lines outside of the code are dropped. They are counted, unless the
 * linker has discarded their code. One owner, one thread. Functions return 0; -EFBIG beyond the
 * limits of the format or the scratch; -ENOMEM; -ENOSPC. After an error the builder can only be
 * freed.
 */
#pragma once

#include "base/cleanup.h"
#include "base/scratch.h"
#include "pilotlight/symbol_file.h"
#include "symbol/symbol_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_builder;

/* The executable memory of the binary, in any order. The least vaddr becomes the base. */
enum { SYMBOL_BUILDER_SEGMENTS_MAX = 16 };
struct symbol_builder_code {
	struct pilotlight_symbol_segment segments[SYMBOL_BUILDER_SEGMENTS_MAX];
	size_t segment_count;
};

/*
 * Borrows `scratch`. -EFBIG: the segments span 4 GiB or more, or reach the end of the address
 * space; -ENODATA: all segments are empty.
 */
int symbol_builder_new(const struct symbol_builder_code *code, struct scratch *scratch,
	struct symbol_builder **ret_builder);
void symbol_builder_free(struct symbol_builder *builder);
DEFINE_CLEANUP(struct symbol_builder, symbol_builder_free);

/* Do both ends of the range lie in one segment? False for empty ranges. */
bool symbol_builder_has_code(const struct symbol_builder *builder, uint64_t start, uint64_t end);

/*
 * Adds a function's name as the linker has it (each is demangled once) or as the source has it; it
 * needs no NUL. An id is the offset of the text in STRINGS, so equal names have equal ids. The
 * empty name is 0. A name beyond three million is 0 as well, and counted as a loss.
 */
int symbol_builder_add_name(
	struct symbol_builder *builder, const char *name, size_t length, uint32_t *ret_name);

/* Adds a source file's path. Ids are those of FILES, at least 1; otherwise as names. */
int symbol_builder_add_file(
	struct symbol_builder *builder, const char *path, size_t length, uint32_t *ret_file);

/*
 * Adds one function at a time: begin returns its outermost frame; then come inlined calls, each
 * after its parent, and ranges of any frame in any order; end invalidates the frames. Ranges are
 * [start, end); empty ranges and those outside of the code are dropped. Of overlapping calls, such
 * as a call and those in it, the last one added has the code. A call never has code outside of its
 * function. `call` is a symbol_place_pack() of the call's place.
 */
int symbol_builder_begin_function(
	struct symbol_builder *builder, uint32_t name, uint32_t *ret_frame);
int symbol_builder_add_inlined(struct symbol_builder *builder, uint32_t parent, uint32_t name,
	uint64_t call, uint32_t *ret_frame);
int symbol_builder_add_range(
	struct symbol_builder *builder, uint32_t frame, uint64_t start, uint64_t end);
int symbol_builder_end_function(struct symbol_builder *builder);

/*
 * Adds one line sequence at a time: rows by ascending vaddr, then the first vaddr behind them. Of
 * rows at one vaddr the last counts. A row with a lower vaddr ends the sequence at the row before
 * and begins another. `place` is a symbol_place_pack(); 0: unknown.
 */
int symbol_builder_add_row(struct symbol_builder *builder, uint64_t vaddr, uint64_t place);
int symbol_builder_end_sequence(struct symbol_builder *builder, uint64_t end);

/*
 * Adds symbols by ascending start, without overlap; parts outside of the code are dropped. A guess
 * has no size of its own, and never names a function that is known otherwise.
 */
int symbol_builder_add_symbol(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name, bool is_guess);

/* Adds a function without a symbol, by ascending start, after all symbols. */
int symbol_builder_add_place(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name);

/* Counts data that could not be read; everything else remains valid. */
enum symbol_builder_loss {
	SYMBOL_LOSS_UNIT, /* a compilation unit */
	SYMBOL_LOSS_NAME,
	SYMBOL_LOSS_SYMBOLS, /* a symbol table */
};
/* `error` is the reason: -ENOEXEC, -EFBIG, … */
void symbol_builder_count_loss(
	struct symbol_builder *builder, enum symbol_builder_loss loss, int error);

/* Adds a bit of PILOTLIGHT_SYMBOL_HAS_…. */
void symbol_builder_add_contents(struct symbol_builder *builder, uint32_t contents);

/*
 * Writes the symbol file at the start of `fd`, with write() only; called once, last. `origin` is
 * for people. Without functions, lines and symbols it writes nothing and returns -ENODATA; if
 * something was lost, it returns -EFBIG or -ENOEXEC instead, as the first loss was.
 */
int symbol_builder_write(struct symbol_builder *builder, const struct symbol_identity *identity,
	enum pilotlight_symbol_rank rank, uint16_t machine, const char *origin, int fd);

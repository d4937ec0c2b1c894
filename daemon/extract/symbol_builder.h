/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers what is known of a binary's code, in the order in which its symbol tables and debug
 * information tell it, and writes a symbol file of it. All that grows with the binary is in the
 * scratch file, but for the names' hash index.
 *
 * Functions come with their inlined calls as trees of frames with ranges of code; each is flattened
 * as soon as it is complete, to boundaries. Then functions are put in order, and the symbols laid
 * over them: where both know the code, the symbol's name is the one of the outermost frame, as it
 * is the linker's (foo.cold, foo.part.0); where only a symbol does, it is a frame of its own. Where
 * functions or line sequences overlap, the one that begins last has the code, and of those that
 * begin together the one that was told first.
 *
 * Ranges of functions and lines outside of the code are dropped, and counted unless they are of
 * code that the linker has discarded. One owner, one thread. Functions return 0; -EFBIG beyond the
 * format's or the scratch's bounds, -ENOMEM, -ENOSPC: after those nothing more can be done.
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

/* `scratch` is borrowed. -EFBIG: the segments span 4 GiB or more, or reach the end of the
 * addresses; -ENODATA: there are none that are not empty. */
int symbol_builder_new(const struct symbol_builder_code *code, struct scratch *scratch,
	struct symbol_builder **ret_builder);
void symbol_builder_free(struct symbol_builder *builder);
DEFINE_CLEANUP(struct symbol_builder, symbol_builder_free);

/* Is it code? Of ranges: do both ends lie in one segment? Not of empty ones. */
bool symbol_builder_has_code(const struct symbol_builder *builder, uint64_t start, uint64_t end);

/*
 * A function's name as the linker knows it (demangled here, once for each) or as the source has it;
 * no NUL is needed. Ids are those of their texts in STRINGS, so those of equal names are equal. The
 * empty name is 0, and so is, counted as a loss, one beyond three million.
 */
int symbol_builder_add_name(
	struct symbol_builder *builder, const char *name, size_t length, uint32_t *ret_name);

/* A source file's path. Ids are those of FILES, at least 1; otherwise as names. */
int symbol_builder_add_file(
	struct symbol_builder *builder, const char *path, size_t length, uint32_t *ret_file);

/*
 * One function at a time: begin (its outermost frame is returned), then inlined calls, each after
 * its parent, and ranges of any of them in any order, then end, after which its frames mean nothing
 * to the caller. Ranges are [start, end); empty ones and those outside of the code are dropped. Of
 * calls that overlap, as a call and those in it do, the one that was told last has the code; none
 * has what its function does not. `call` is a symbol_place_pack() of the call's place.
 */
int symbol_builder_begin_function(
	struct symbol_builder *builder, uint32_t name, uint32_t *ret_frame);
int symbol_builder_add_inlined(struct symbol_builder *builder, uint32_t parent, uint32_t name,
	uint64_t call, uint32_t *ret_frame);
int symbol_builder_add_range(
	struct symbol_builder *builder, uint32_t frame, uint64_t start, uint64_t end);
int symbol_builder_end_function(struct symbol_builder *builder);

/*
 * One line sequence at a time: rows by ascending vaddr, of equal ones the last counts, and then the
 * first vaddr behind. A row that goes back ends the sequence at the row before, and begins another.
 * `place` is a symbol_place_pack(); 0: not known.
 */
int symbol_builder_add_row(struct symbol_builder *builder, uint64_t vaddr, uint64_t place);
int symbol_builder_end_sequence(struct symbol_builder *builder, uint64_t end);

/*
 * By ascending start, not overlapping; what is outside of the code is dropped. A guess has no size
 * of its own, and names no function that is known otherwise.
 */
int symbol_builder_add_symbol(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name, bool is_guess);

/* Something could not be read, and nothing else suffers. */
enum symbol_builder_loss {
	SYMBOL_LOSS_UNIT, /* a compilation unit */
	SYMBOL_LOSS_NAME,
	SYMBOL_LOSS_SYMBOLS, /* a symbol table */
};
/* `error` is why: -ENOEXEC, -EFBIG, … */
void symbol_builder_count_loss(
	struct symbol_builder *builder, enum symbol_builder_loss loss, int error);

/* A bit of PILOTLIGHT_SYMBOL_HAS_…. */
void symbol_builder_add_contents(struct symbol_builder *builder, uint32_t contents);

/*
 * Writes the symbol file at the start of `fd`, with write() alone. `origin` is for people. Call it
 * once, last. Where neither functions nor lines nor symbols were told of, nothing is written:
 * -ENODATA, or if something was lost, what the first loss was, -EFBIG or else -ENOEXEC.
 */
int symbol_builder_write(struct symbol_builder *builder, const struct symbol_identity *identity,
	enum pilotlight_symbol_rank rank, uint16_t machine, const char *origin, int fd);

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of Perl, as the description says (pilotlight/runtime.h). The memory belongs to
 * the process, and may say anything: a step reads a bounded number of bytes, and a subroutine that
 * is not of its type is none. runtime_perl_names.bpf.h copies names. It also compiles for the host.
 *
 * A frame's line is that of the statement in which its callee was called, and the callee has it.
 * Code outside of subroutines, of the main program, of another file or of an eval, is a frame that
 * is known by the file of its statement. An eval of a block is none.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_code.bpf.h"

/* The same from Perl 5.32 to 5.42. */
enum {
	PERL_WORD = 8,
	/* Of a nesting (PERL_SI): words, and halves of the last ones. */
	PERL_NESTING_WORDS = 6,
	PERL_NESTING_CONTEXTS = 1,
	PERL_NESTING_OUTER = 2,
	PERL_NESTING_LAST = 4,	/* and in the other half, how many there is room for */
	PERL_NESTING_INNER = 5, /* the innermost that is a frame, and the type */
	PERL_HALF_SHIFT = 32,
	PERL_NESTING_SORT = 3,
	PERL_NESTING_MULTICALL = 10,
	PERL_CONTEXTS_MAX = 1 << 24,
	/* Of a context (PERL_CONTEXT). */
	PERL_CONTEXT_BYTES = 104,
	PERL_CONTEXT_STATEMENT = 16,
	PERL_CONTEXT_RETURN = 48,   /* the operation behind the call; none: C has called */
	PERL_CONTEXT_PREVIOUS = 56, /* the next outer one that is a frame, or -1 */
	PERL_CONTEXT_CODE = 72,
	PERL_CONTEXT_READ = 80,
	PERL_KINDS = 0xf,
	PERL_KIND_SUB = 9,
	PERL_KIND_FORMAT = 10,
	PERL_KIND_EVAL = 11,
	PERL_SUB_PATTERN = 0xc0, /* code in a pattern */
	PERL_SUB_AGAIN = 0x80,	 /* the same, as a second frame of its subroutine */
	PERL_EVAL_BLOCKS = 0xc0, /* of eval and of try */
	/* Of a statement (COP), and the first word of other operations. */
	PERL_LINE_AT = 36,
	PERL_FILE_AT = 48,
	/* Of all values: where the body is, the flags with the type, and one more word. */
	PERL_VALUE_WORDS = 3,
	PERL_VALUE_FLAGS = 1,
	PERL_VALUE_OTHER = 2,
	PERL_FLAGS_SHIFT = 32,
	PERL_TYPES = 0xff,
	PERL_TYPE_GLOB = 9,
	PERL_TYPE_PACKAGE = 12,
	PERL_TYPE_CODE = 13,
	PERL_TYPE_FORMAT = 14,
	PERL_HAS_NAME = 0x02000000, /* of a package */
	/* Of the body of a subroutine. Behind it there is room for what else is read. */
	PERL_CODE_BYTES = 96,
	PERL_SCRATCH = 16,
	PERL_WORDS = 16,
	PERL_CODE_PACKAGE = 32,
	PERL_CODE_START = 40,
	PERL_CODE_ROOT = 48,
	PERL_CODE_GLOB = 56, /* or its name itself */
	PERL_CODE_FILE = 64,
	PERL_CODE_NUMBER = 88,	  /* counts statements that were compiled before; and the flags */
	PERL_CODE_FUNCTION = 0x8, /* it is one of C */
	PERL_CODE_NAMED = 0x8000,
	PERL_CODE_LEXICAL = 0x10000,
	/* Of the body of a glob: words. */
	PERL_GLOB_NAME = 4,
	PERL_GLOB_PACKAGE = 5,
	PERL_GLOB_BYTES = 48,
	/* Of the body of a package, and of its names: words. */
	PERL_PACKAGE_LAST_AT = 24, /* the last symbol's place in the table */
	PERL_PACKAGE_SYMBOLS_MAX = 1 << 24,
	PERL_NAMES_WORDS = 4,
	PERL_NAMES_COUNT = 3, /* in the other half; 0: the first word is the name itself */
	/* A name: a hash, its length in the other half, the characters, a zero, and flags. */
	PERL_NAME_TEXT = 8,
	PERL_NAME_UTF8 = 1,
	PERL_FILE_PREFIX = 2, /* "_<" before a file's name in a glob's */
	PERL_FILE_CODE = 1,
	PERL_PATH_MAX = 512,
	PERL_EVAL_BYTES = 6,
	PERL_NOWHERE = 1, /* an address without memory */
};

/* "(eval ", which numbers follow: each eval has its own. */
#define PERL_EVAL_FILE	    0x206c61766528ULL
#define PERL_EVAL_FILE_MASK 0xffffffffffffULL

/* How a group ends. A function of C that sorts, or calls a block for each element, makes the group
 * once, and calls the loop for each: between these calls the group has none. */
enum {
	PERL_ENDS = 1,
	PERL_ENDS_CALLBACKS = 2,
	PERL_ENDS_INNERMOST = 3, /* the same, in the innermost nesting */
};

/* Makes this nesting the current one. Returns 0 if it makes no sense. */
static __always_inline int perl_enter(struct runtime_walk *walk, __u64 nesting)
{
	__u64 words[PERL_NESTING_WORDS];
	__s32 last, room;

	if (!nesting || nesting % PERL_WORD || !can_copy_user(words, sizeof(words), nesting))
		return 0;
	last = (__s32)words[PERL_NESTING_LAST];
	room = (__s32)(words[PERL_NESTING_LAST] >> PERL_HALF_SHIFT);
	walk->context = (__s32)words[PERL_NESTING_INNER];
	walk->contexts = words[PERL_NESTING_CONTEXTS];
	walk->outer = words[PERL_NESTING_OUTER];
	walk->nesting = (__u8)(words[PERL_NESTING_INNER] >> PERL_HALF_SHIFT);
	walk->is_innermost = nesting == walk->frame;
	walk->has_ended = 0;
	return walk->context >= -1 && walk->context <= last && last <= room &&
	       room < PERL_CONTEXTS_MAX;
}

/* What frames need of a subroutine: its operations, and the first of them; FILE_CODE instead stands
 * for the code of all frames outside of subroutines. */
enum { PERL_ROOT, PERL_START };

/* Where the words of the state end. */
static __always_inline __u32 perl_state_bytes(const struct pilotlight_runtime *runtime)
{
	return runtime_greater(runtime_greater(runtime->state_thread_at, runtime->state_mark_at),
		       runtime->state_frame_at) +
	       PERL_WORD;
}

/* Goes to the innermost frame of the interpreter. `has_main`: the main program runs. */
static __always_inline enum runtime_end perl_begin(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime,
	__u32 has_main)
{
	__u64 state = walk->base + runtime->anchor_place;
	__u32 size = perl_state_bytes(runtime);

	if (runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL)
		state = runtime_state(walk, runtime);
	if (!state)
		return RUNTIME_NO_STATE;
	if (size > PILOTLIGHT_RUNTIME_CODE_MAX || !can_copy_user(walk->code, size, state))
		return RUNTIME_UNREADABLE;
	walk->operation = runtime_code_word(walk, runtime->state_thread_at);
	walk->statement = runtime_code_word(walk, runtime->state_mark_at);
	walk->frame = runtime_code_word(walk, runtime->state_frame_at);
	walk->has_main = has_main;
	walk->is_open = walk->is_entered = 0;
	walk->callbacks = walk->callback_at = walk->calls_back = 0;
	runtime_forget(walk, spans);
	walk->running = walk->operation;
	/* An interpreter that is not yet set up. */
	if (!walk->frame)
		return RUNTIME_NO_STATE;
	return perl_enter(walk, walk->frame) ? RUNTIME_ON : RUNTIME_UNREADABLE;
}

/* The line of the statement. */
static __always_inline __s32 perl_line(struct runtime_walk *walk)
{
	return runtime_line(walk, walk->statement, PERL_LINE_AT);
}

/* Where the name of the statement's file is, which ends with a zero. Without threads a glob has it.
 * Reads the line, too, which is beside it. */
static __always_inline __u64 perl_file(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 words[(PERL_FILE_AT - PERL_LINE_AT + 4 + PERL_WORD) / PERL_WORD], word;

	if (!walk->statement ||
		!can_copy_user(words, sizeof(words), walk->statement + PERL_LINE_AT - 4))
		return 0;
	runtime_keep_line(walk, walk->statement, (__u32)(words[0] >> PERL_HALF_SHIFT));
	word = words[sizeof(words) / PERL_WORD - 1];
	if (runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL)
		return word;
	if (!runtime_read_word(&word, word) || !word ||
		!runtime_read_word(&word, word + PERL_GLOB_NAME * PERL_WORD) || !word)
		return 0;
	return word + PERL_NAME_TEXT + PERL_FILE_PREFIX;
}

/* Clears all behind the first zero of a word. Returns 1 << 8 * N if N bytes are before it; 0: there
 * is none. */
static __always_inline __u64 perl_end(__u64 *word)
{
	__u64 zeros = (*word - 0x0101010101010101ULL) & ~*word & 0x8080808080808080ULL;
	__u64 first = (zeros & -zeros) >> 7; /* the lowest one is exact */

	*word &= first - 1;
	return first;
}

/* As can_copy_user(), of a text that may end right before memory that is not there. */
static __always_inline int perl_can_copy(void *bytes, __u32 size, __u64 address)
{
	const __u32 page = 4096;
	__u32 there = page - ((__u32)address & (page - 1));

	if (!address)
		return 0;
	if (can_copy_user(bytes, size, address))
		return 1;
	__asm__ volatile("" : "+r"(there));
	return there < size && there > 0 && can_copy_user(bytes, there, address);
}

/* What a file is known by: its name, or how a longer one begins and where it is. 0: it cannot be
 * read. */
static __always_inline __u64 perl_check_file(struct runtime_walk *walk, __u64 file)
{
	__u64 check = 1, end;

	if (!perl_can_copy(walk->code + PERL_SCRATCH, PERL_WORDS * PERL_WORD, file))
		return 0;
	if ((walk->code[PERL_SCRATCH] & PERL_EVAL_FILE_MASK) == PERL_EVAL_FILE)
		return 1;
	for (__u32 i = 0; i < PERL_WORDS; i++) {
		end = perl_end(&walk->code[PERL_SCRATCH + i]);
		check = runtime_hash(check, walk->code[PERL_SCRATCH + i]);
		if (end)
			return check;
	}
	return runtime_hash(check, file);
}

/* A frame outside of subroutines. Returns 0 if its file cannot be read. */
static __always_inline int perl_note_file(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct runtime_step *step)
{
	__u64 file = perl_file(walk, runtime);
	struct runtime_seen *seen = runtime_see(walk, file);

	if (!file)
		return 0;
	if (seen->address != file) {
		seen->address = 0;
		seen->check = perl_check_file(walk, file);
		if (!seen->check)
			return 0;
		seen->address = file;
		seen->words[PERL_ROOT] = PERL_FILE_CODE;
		seen->words[PERL_START] = 0;
		seen->identity = RUNTIME_NO_IDENTITY;
	}
	step->check = seen->check;
	step->code = seen->words[PERL_ROOT];
	step->unit = perl_line(walk);
	return 1;
}

/* Tells a subroutine from others that had the address of its operations: its package, its first
 * operation, its glob or name, and its number, which all closures share. */
static __always_inline __u64 perl_check(const struct runtime_walk *walk)
{
	__u64 check = runtime_hash_two(0, runtime_code_word(walk, PERL_CODE_PACKAGE),
		runtime_code_word(walk, PERL_CODE_START));

	return runtime_hash_two(check, runtime_code_word(walk, PERL_CODE_GLOB),
		(__u32)runtime_code_word(walk, PERL_CODE_NUMBER));
}

/* Reads a value, as what follows does, into memory instead of the BPF stack. Returns its flags; 0:
 * it cannot be read. */
static __always_inline __u32 perl_read_value(struct runtime_walk *walk, __u64 value)
{
	if (!value ||
		!can_copy_user(walk->code + PERL_SCRATCH, PERL_VALUE_WORDS * PERL_WORD, value))
		return 0;
	return walk->code[PERL_SCRATCH + PERL_VALUE_FLAGS] >> PERL_FLAGS_SHIFT;
}

/* Reads a subroutine. Returns 0 if there is none. */
static __always_inline int perl_hold(struct runtime_walk *walk, __u64 code)
{
	__u32 type;

	if (walk->held == code)
		return 1;
	walk->held = 0;
	type = perl_read_value(walk, code) & PERL_TYPES;
	if ((type != PERL_TYPE_CODE && type != PERL_TYPE_FORMAT) ||
		!can_copy_user(walk->code, PERL_CODE_BYTES, walk->code[PERL_SCRATCH]) ||
		!runtime_code_word(walk, PERL_CODE_ROOT))
		return 0;
	walk->held = code;
	return 1;
}

/* A subroutine has the identity of its operations: each closure has a copy of the rest. A function
 * of C, by which C sorts, has a native frame alone. NULL: there is none. */
static __always_inline struct runtime_seen *perl_read_code(
	struct runtime_walk *walk, __u64 code, struct runtime_step *step)
{
	struct runtime_seen *seen = runtime_see(walk, code);

	if (!code)
		return 0;
	if (seen->address != code) {
		seen->address = 0;
		if (!perl_hold(walk, code))
			return 0;
		seen->address = code;
		seen->check = perl_check(walk);
		seen->words[PERL_ROOT] = 0;
		if (!(runtime_code_word(walk, PERL_CODE_NUMBER) >> PERL_FLAGS_SHIFT &
			    PERL_CODE_FUNCTION))
			seen->words[PERL_ROOT] = runtime_code_word(walk, PERL_CODE_ROOT);
		seen->words[PERL_START] = runtime_code_word(walk, PERL_CODE_START);
		seen->identity = RUNTIME_NO_IDENTITY;
	}
	step->code = seen->words[PERL_ROOT];
	step->check = seen->check;
	return seen;
}

/* Has the innermost subroutine not begun its first statement? Then the statement is still that of
 * the call. */
static __always_inline int perl_is_before(const struct runtime_walk *walk,
	const struct runtime_seen *seen, const struct runtime_span *span, __u64 at)
{
	__u64 next;

	return walk->operation &&
	       walk->statement == runtime_span_word(span, at + PERL_CONTEXT_STATEMENT) &&
	       (walk->operation == seen->words[PERL_START] ||
		       (runtime_read_word(&next, walk->operation) &&
			       next == runtime_span_word(span, at + PERL_CONTEXT_RETURN)));
}

/* Leaves a nesting, whose outermost frames end a group. A block that sorts runs in a nesting
 * without a frame. */
static __always_inline enum runtime_end perl_leave(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct runtime_step *step)
{
	__u64 outer = walk->outer;

	step->mark = walk->is_open;
	if (walk->nesting == PERL_NESTING_SORT && !walk->has_ended)
		step->mark = PERL_ENDS_CALLBACKS + walk->is_innermost;
	if (!outer && walk->has_main) {
		step->mark = PERL_ENDS;
		return perl_note_file(walk, runtime, step) ? RUNTIME_ROOT : RUNTIME_UNREADABLE;
	}
	walk->is_open = 0;
	if (!outer)
		return RUNTIME_ROOT;
	return perl_enter(walk, outer) ? RUNTIME_ON : RUNTIME_UNREADABLE;
}

/* Where the next context is. */
static __always_inline __u64 perl_context(const struct runtime_walk *walk)
{
	return walk->contexts + (__u64)(__u32)walk->context * PERL_CONTEXT_BYTES;
}

/* Has C called what the context runs? The last call of code in a pattern does not return to
 * anything either. `walk->context` is already the next one. */
static __always_inline __u64 perl_ends_group(const struct runtime_walk *walk, __u64 returns_to)
{
	__u8 kind = 0;

	if (returns_to)
		return 0;
	if (walk->context < 0 &&
		(walk->nesting == PERL_NESTING_SORT || walk->nesting == PERL_NESTING_MULTICALL))
		return PERL_ENDS_CALLBACKS + walk->is_innermost;
	return walk->context < 0 || !can_copy_user(&kind, sizeof(kind), perl_context(walk)) ||
	       (kind & PERL_KINDS) != PERL_KIND_SUB || !(kind & PERL_SUB_PATTERN);
}

/* The frame of a context, unless it is none. Returns 0 if it cannot be read, but the innermost one
 * may just have got its place, or have lost its subroutine. */
static __always_inline int perl_read_context(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, const struct runtime_span *span, __u64 at,
	struct runtime_step *step)
{
	__u32 kind = (__u8)runtime_span_word(span, at), is_again = 0;
	const struct runtime_seen *seen;

	if ((kind & PERL_KINDS) == PERL_KIND_EVAL && kind & PERL_EVAL_BLOCKS)
		return 1;
	step->mark = perl_ends_group(walk, runtime_span_word(span, at + PERL_CONTEXT_RETURN));
	switch (kind & PERL_KINDS) {
	case PERL_KIND_EVAL:
		if (!perl_note_file(walk, runtime, step))
			return 0;
		break;
	case PERL_KIND_SUB:
	case PERL_KIND_FORMAT:
		is_again = kind & PERL_SUB_AGAIN;
		if (is_again)
			break;
		seen = perl_read_code(walk, runtime_span_word(span, at + PERL_CONTEXT_CODE), step);
		if (seen) {
			walk->is_entered |=
				walk->operation && walk->operation == seen->words[PERL_START];
			step->unit = perl_is_before(walk, seen, span, at) ? -1 : perl_line(walk);
		} else if (!walk->operation)
			return 0;
		break;
	default:
		return 0;
	}
	walk->is_open = !step->mark && (step->code || (is_again && walk->is_open));
	walk->has_ended |= step->mark != 0;
	if (!is_again)
		walk->statement = runtime_span_word(span, at + PERL_CONTEXT_STATEMENT);
	walk->operation = 0;
	return 1;
}

/* Reads a frame, and goes to the one that called it. `step` is valid unless UNREADABLE. */
static __always_inline enum runtime_end perl_next(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime,
	struct runtime_step *step)
{
	__u64 at = perl_context(walk);
	const struct runtime_span *span;
	__s32 previous;

	step->code = step->check = step->mark = 0;
	step->unit = RUNTIME_UNIT_UNKNOWN;
	if (walk->context < 0)
		return perl_leave(walk, runtime, step);
	span = runtime_find_frame(spans, at, PERL_CONTEXT_READ);
	if (!span)
		return RUNTIME_UNREADABLE;
	previous = (__s32)runtime_span_word(span, at + PERL_CONTEXT_PREVIOUS);
	if (previous < -1 || previous >= walk->context)
		return RUNTIME_UNREADABLE;
	walk->context = previous;
	/* Without it a group might be missing, and others have its native frame. */
	return perl_read_context(walk, runtime, span, at, step) ? RUNTIME_ON : RUNTIME_UNREADABLE;
}

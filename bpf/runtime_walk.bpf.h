/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of an interpreter, as its description says (pilotlight/runtime.h). No version of
 * any runtime is known here. The memory belongs to the process, and may say anything: a step reads
 * a bounded number of bytes and comes to an end if they make no sense. Who takes the steps bounds
 * their number. It also compiles for the host, where it is tested on real interpreters.
 *
 * The includer defines how memory is read: can_copy_user().
 */
#pragma once

#include "runtime_read.bpf.h"

enum runtime_end {
	RUNTIME_ON,	    /* there may be another frame */
	RUNTIME_ROOT,	    /* no further frame */
	RUNTIME_NO_STATE,   /* the thread has none: it does not run the interpreter */
	RUNTIME_UNREADABLE, /* the memory is not present, or makes no sense */
};

enum {
	/* glibc on x86-64: in the thread's block, at the thread pointer. */
	GLIBC_DTV = 8,
	GLIBC_DTV_BYTES = 16, /* of a module's entry */
	GLIBC_MODULES_MAX = 1 << 16,
	TLS_DESCRIPTOR_ARGUMENT = 8, /* of a TLS descriptor, behind the function */
	GLIBC_KEYS = 0x510, /* addresses of blocks of keys; the first block is right before */
	GLIBC_KEYS_BYTES = 0x200,
	GLIBC_KEY_BYTES = 16, /* the value is in the second half */
	GLIBC_KEYS_A_BLOCK = 32,
	GLIBC_KEYS_MAX = 1024,
	/* musl on x86-64: the same, or the block points to it. */
	MUSL_DTV_BYTES = 8,
	MUSL_KEYS = 0x80, /* the address of the values */
	MUSL_KEYS_MAX = 128,
};

/* The address in a pointer to an object. */
static __always_inline __u64 runtime_pointer(__u64 word)
{
	return word & ~(__u64)PILOTLIGHT_RUNTIME_TAG_BITS;
}

/* Where the C library has the thread's copy of a module's variables. 0: it has none yet. */
static __always_inline __u64 runtime_module(__u64 thread, __u32 libc, __u64 index)
{
	__u64 entry_bytes = libc == PILOTLIGHT_RUNTIME_MUSL ? MUSL_DTV_BYTES : GLIBC_DTV_BYTES;
	__u64 pair[2], dtv, address;

	if (!can_copy_user(pair, sizeof(pair), index) || pair[0] >= GLIBC_MODULES_MAX ||
		!runtime_read_word(&dtv, thread + GLIBC_DTV) ||
		!runtime_read_word(&address, dtv + pair[0] * entry_bytes) || address == (__u64)-1)
		return 0;
	return address ? address + pair[1] : 0;
}

static __always_inline __u64 runtime_musl_value(const struct runtime_walk *walk, __u32 key)
{
	__u64 values, value;

	if (key >= MUSL_KEYS_MAX || !runtime_read_word(&values, walk->thread + MUSL_KEYS) ||
		!runtime_read_word(&value, values ? values + key * sizeof(value) : 0))
		return 0;
	return value;
}

static __always_inline __u64 runtime_key_value(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 number_at)
{
	__u64 block = walk->thread + GLIBC_KEYS - GLIBC_KEYS_BYTES, value = 0;
	__u32 key;

	if (!can_copy_user(&key, sizeof(key), number_at) || key >= GLIBC_KEYS_MAX)
		return 0;
	if (runtime->libc == PILOTLIGHT_RUNTIME_MUSL)
		return runtime_musl_value(walk, key);
	if (key >= GLIBC_KEYS_A_BLOCK &&
		!runtime_read_word(
			&block, walk->thread + GLIBC_KEYS + key / GLIBC_KEYS_A_BLOCK * 8))
		return 0;
	if (!block ||
		!runtime_read_word(&value, block + 8 + key % GLIBC_KEYS_A_BLOCK * GLIBC_KEY_BYTES))
		return 0;
	return value;
}

/* The value of a thread's own pointer; 0: the thread has not set it yet. */
static __always_inline __u64 runtime_variable(
	__u64 thread, __u32 anchor, __u32 libc, __u64 place, __s64 offset)
{
	__u64 at = thread, word = 0;

	switch (anchor) {
	case PILOTLIGHT_RUNTIME_TLS:
		break;
	case PILOTLIGHT_RUNTIME_TLS_SLOT:
		if (!runtime_read_word(&word, place))
			return 0;
		at += word;
		break;
	case PILOTLIGHT_RUNTIME_TLS_INDEX:
		at = runtime_module(thread, libc, place);
		break;
	case PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR:
		/* The variable's distance, which is negative; or the address of an index. */
		if (!runtime_read_word(&word, place + TLS_DESCRIPTOR_ARGUMENT))
			return 0;
		at = (__s64)word < 0 ? thread + word : runtime_module(thread, libc, word);
		break;
	default:
		return 0;
	}
	return at && runtime_read_word(&word, at + offset) ? word : 0;
}

/* The address of the thread's state; 0: it has none. */
static __always_inline __u64 runtime_state(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 place = walk->base + runtime->anchor_place, word = 0;

	switch (runtime->anchor) {
	case PILOTLIGHT_RUNTIME_KEY:
		return runtime_key_value(walk, runtime, place);
	case PILOTLIGHT_RUNTIME_KEY_BEHIND:
		if (!runtime_read_word(&word, place))
			return 0;
		return runtime_key_value(walk, runtime, word + runtime->anchor_offset);
	case PILOTLIGHT_RUNTIME_GLOBAL:
		return runtime_read_word(&word, place) ? word : 0;
	default:
		return runtime_variable(walk->thread, runtime->anchor, runtime->libc, place,
			runtime->anchor_offset);
	}
}

static __always_inline __u32 runtime_greater(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

/* Where the fields of a code object end. */
static __always_inline __u32 runtime_code_bytes(const struct pilotlight_runtime *runtime)
{
	__u32 last = runtime_greater(runtime_greater(runtime->code_file_at, runtime->code_name_at),
		runtime_greater(runtime->code_first_line_at, runtime->code_lines_at));

	last = runtime_greater(last, runtime->code_copies_at);
	last = runtime_greater(last, runtime->code_version_at);
	return runtime_greater(last, runtime->object_type_at) + sizeof(__u64);
}

/* Reads what the walk needs of a thread's state, whose fields lie near each other. Returns 0 if it
 * is not of this thread. */
static __always_inline int runtime_read_state(struct runtime_walk *walk, struct runtime_span *span,
	const struct pilotlight_runtime *runtime, __u64 state)
{
	__u32 thread_at = runtime->state_thread_at, first = runtime->state_frame_at;
	__u32 last = runtime_greater(first, thread_at);

	if (first > thread_at)
		first = thread_at;
	if (!state || !runtime_read_span(span, state + first, last - first + RUNTIME_WORD) ||
		runtime_span_word(span, state + thread_at) != walk->thread)
		return 0;
	walk->frame = runtime_span_word(span, state + runtime->state_frame_at);
	return 1;
}

/* Goes to the innermost frame of the thread. */
static __always_inline enum runtime_end runtime_begin(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime)
{
	__u64 state = runtime_state(walk, runtime);

	if (!runtime_read_state(walk, &spans[0], runtime, state))
		return RUNTIME_NO_STATE;
	if (runtime->holder_frame_at != PILOTLIGHT_RUNTIME_NONE && walk->frame &&
		!runtime_read_word(&walk->frame, walk->frame + runtime->holder_frame_at))
		return RUNTIME_UNREADABLE;
	walk->state = state;
	walk->mark = walk->tasks = 0;
	runtime_forget(walk, spans);
	walk->code_bytes = runtime_code_bytes(runtime);
	if (runtime->state_mark_at != PILOTLIGHT_RUNTIME_NONE &&
		!runtime_read_word(&walk->mark, state + runtime->state_mark_at))
		return RUNTIME_UNREADABLE;
	return walk->frame ? RUNTIME_ON : RUNTIME_ROOT;
}

/* The word of the code object at `at`, or what of it begins there. */
static __always_inline __u64 runtime_code_word(const struct runtime_walk *walk, __u32 at)
{
	__u32 word = at / RUNTIME_WORD & (PILOTLIGHT_RUNTIME_CODE_MAX / RUNTIME_WORD - 1);

	__asm__ volatile("" : "+r"(word));
	word &= PILOTLIGHT_RUNTIME_CODE_MAX / RUNTIME_WORD - 1;
	return walk->code[word] >> at % RUNTIME_WORD * 8;
}

/* Where the instructions are that the frame runs. Each thread may have a copy of its own. */
static __always_inline __u64 runtime_instructions(struct runtime_walk *walk,
	const struct runtime_span *span, const struct pilotlight_runtime *runtime, __u64 code)
{
	__u64 copies, count, copy;
	__u32 number;

	if (!runtime->code_copies_at)
		return code + runtime->code_units_at;
	number = (__u32)runtime_span_word(span, walk->frame + runtime->frame_copy_at);
	if (number == 0)
		return code + runtime->code_units_at;
	copies = runtime_last_seen(walk)->words[0];
	if (!runtime_read_word(&count, copies) || number >= count ||
		!runtime_read_word(&copy, copies + (1 + (__u64)number) * sizeof(copy)))
		return 0;
	return copy;
}

static __always_inline __s32 runtime_unit(struct runtime_walk *walk,
	const struct runtime_span *span, const struct pilotlight_runtime *runtime, __u64 code)
{
	__u64 word = runtime_span_word(span, walk->frame + runtime->frame_instruction_at);
	__s64 unit = (__s32)word;

	if (runtime->instruction == PILOTLIGHT_RUNTIME_POINTER)
		unit = (__s64)(word - runtime_instructions(walk, span, runtime, code));
	/* BPF divides no signed numbers. */
	if (runtime->instruction != PILOTLIGHT_RUNTIME_INDEX) {
		if (unit < 0)
			unit = unit >= -(__s64)runtime->unit_bytes ? -1 : RUNTIME_UNIT_UNKNOWN;
		else
			unit = (__u64)unit / (runtime->unit_bytes ? runtime->unit_bytes : 1);
	}
	return unit >= -1 && unit < RUNTIME_UNITS_MAX ? (__s32)unit : RUNTIME_UNIT_UNKNOWN;
}

static __always_inline __u64 runtime_hash(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* The same of two words: the multiplications of several words run side by side. */
static __always_inline __u64 runtime_hash_two(__u64 hash, __u64 word, __u64 other)
{
	return runtime_hash(hash ^ other * 0xd6e8feb86659fd93ULL, word);
}

/* In strings of CPython the word behind the length is a hash of the contents, and then comes the
 * state. */
#define RUNTIME_NO_HASH (~(__u64)0)

/*
 * What a string is known by: its length and its hash, or if it has none yet, its end, in which
 * paths differ. Each read costs as much as a native frame.
 */
static __always_inline __u64 runtime_check_text(
	const struct pilotlight_runtime *runtime, __u64 string)
{
	__u64 head[3] = { 0, 0, 0 }, end[2] = { 0, 0 }, check = 0, bytes;
	__u8 state;

	string = runtime_pointer(string);
	if (!string || !can_copy_user(head, sizeof(head), string + runtime->string_length_at))
		return check;
	check = runtime_hash_two(check, head[0], head[1]);
	if (head[1] != RUNTIME_NO_HASH)
		return check;
	state = (__u8)(head[2] >> runtime->string_state_shift);
	bytes = head[0] * ((state & PILOTLIGHT_RUNTIME_STRING_WIDTHS) >> 2);
	string += state & PILOTLIGHT_RUNTIME_STRING_ASCII ? runtime->string_ascii_at
							  : runtime->string_other_at;
	if (bytes > sizeof(end)) {
		string += bytes - sizeof(end);
		bytes = sizeof(end);
	}
	if (bytes == 0 || !can_copy_user(end, (__u32)bytes, string))
		return check;
	return runtime_hash_two(check, end[0], end[1]);
}

/* Code objects of one stack are often of the same file, which lives as long as they do. */
static __always_inline __u64 runtime_check_file(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 file)
{
	if (walk->file != file) {
		walk->file = file;
		walk->file_check = runtime_check_text(runtime, file);
	}
	return walk->file_check;
}

/* The words behind the type, which CPython does not change: numbers of arguments and the like, or
 * of instructions, and the addresses of constants and names. To read a word of the table of lines,
 * too, would cost as much as a native frame. */
enum { RUNTIME_FIXED_WORDS = 4 };

/*
 * Tells a code object from others that had its address. Its fields do not suffice: the allocator
 * likes to give the name, the file and the table of the next object the same addresses, too.
 */
static __always_inline __u64 runtime_check(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 name = runtime_code_word(walk, runtime->code_name_at);
	__u64 file = runtime_code_word(walk, runtime->code_file_at);
	__u64 lines = runtime_code_word(walk, runtime->code_lines_at), version;
	__u32 line = (__u32)runtime_code_word(walk, runtime->code_first_line_at), at;
	__u64 check = runtime_hash_two(runtime_hash_two(0, name, file), lines, line);

	if (runtime->code_version_at) {
		version = (__u32)runtime_code_word(walk, runtime->code_version_at);
		/* 0: the numbers were used up. */
		if (version)
			return check ^ version;
	}
	for (__u32 i = 0; i < RUNTIME_FIXED_WORDS; i += 2) {
		at = runtime->object_type_at + (i + 1) * RUNTIME_WORD;
		check = runtime_hash_two(check, runtime_code_word(walk, at),
			runtime_code_word(walk, at + RUNTIME_WORD));
	}
	return runtime_hash_two(
		check, runtime_check_text(runtime, name), runtime_check_file(walk, runtime, file));
}

/* Is there a code object? The proof is its type. */
static __always_inline int runtime_read_code(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 code, struct runtime_step *step)
{
	struct runtime_seen *seen = runtime_see(walk, code);
	__u32 size = walk->code_bytes;

	if (!code)
		return 0;
	if (seen->address != code) {
		if (size > PILOTLIGHT_RUNTIME_CODE_MAX || !can_copy_user(walk->code, size, code) ||
			runtime_code_word(walk, runtime->object_type_at) !=
				walk->base + runtime->code_type_place)
			return 0;
		seen->address = code;
		seen->check = runtime_check(walk, runtime);
		seen->words[0] = runtime_code_word(walk, runtime->code_copies_at);
		seen->identity = RUNTIME_NO_IDENTITY;
	}
	step->code = code;
	step->check = seen->check;
	return 1;
}

/* The next mark of the list. */
static __always_inline void runtime_next_mark(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct runtime_step *step)
{
	step->mark = walk->mark;
	if (!runtime_read_word(&walk->mark, walk->mark ? walk->mark + runtime->mark_next_at : 0))
		walk->mark = 0;
}

/* Does this frame end its group, and is it a mark, which runs no function? */
static __always_inline int runtime_ends_group(struct runtime_walk *walk,
	const struct runtime_span *span, const struct pilotlight_runtime *runtime, int *is_mark)
{
	__u8 byte = (__u8)runtime_span_word(span, walk->frame + runtime->frame_group_at);

	walk->group_byte = byte;
	*is_mark = 0;
	switch (runtime->group) {
	case PILOTLIGHT_RUNTIME_GROUP_FLAG:
		return byte != 0;
	case PILOTLIGHT_RUNTIME_GROUP_FRAME:
		*is_mark = byte >= runtime->group_least;
		return *is_mark;
	default:
		return 1;
	}
}

/* Reads a frame, and goes to the one that called it. `step` is valid unless UNREADABLE. */
static __always_inline enum runtime_end runtime_next(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime,
	struct runtime_step *step)
{
	__u64 frame = walk->frame, code;
	const struct runtime_span *span = runtime_find_frame(spans, frame, runtime->frame_bytes);
	int is_mark;

	if (!span)
		return RUNTIME_UNREADABLE;
	step->code = step->check = step->mark = 0;
	step->unit = RUNTIME_UNIT_UNKNOWN;
	if (runtime_ends_group(walk, span, runtime, &is_mark)) {
		/* Without marks, the frame itself ends its group. */
		if (is_mark || runtime->group == PILOTLIGHT_RUNTIME_GROUP_CALL)
			step->mark = frame;
		else
			runtime_next_mark(walk, runtime, step);
	}
	code = runtime_pointer(runtime_span_word(span, frame + runtime->frame_code_at));
	if (!is_mark && runtime_read_code(walk, runtime, code, step))
		step->unit = runtime_unit(walk, span, runtime, code);
	else if (runtime->group == PILOTLIGHT_RUNTIME_GROUP_CALL)
		return RUNTIME_UNREADABLE; /* the groups without it would have others' calls */
	walk->frame = runtime_span_word(span, frame + runtime->frame_previous_at);
	return walk->frame ? RUNTIME_ON : RUNTIME_ROOT;
}

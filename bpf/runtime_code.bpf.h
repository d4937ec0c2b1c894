/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies what a code object is called and where its lines are (struct pilotlight_runtime_code),
 * from a process whose thread stands still. The process may have written anything there: what is
 * copied is bounded, and an object that makes no sense is refused. It also compiles for the host.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_walk.bpf.h"

enum {
	RUNTIME_LENGTH_MAX = 1 << 28, /* of a string that makes sense */
	RUNTIME_TABLE_MAX = 1 << 28,
};

enum runtime_text_part { RUNTIME_TEXT_BEGINNING, RUNTIME_TEXT_END };

/* Copies the string to which the word at `place` points. */
static __always_inline int runtime_copy_text(const struct pilotlight_runtime *runtime, __u64 place,
	enum runtime_text_part part, struct pilotlight_runtime_text *text)
{
	/* Linux 6.1 does not know the bound of a product of 32 bits. */
	__u64 string, length, from, bytes;
	__u16 state;

	__builtin_memset(text, 0, sizeof(*text));
	if (!runtime_read_word(&string, place))
		return 0;
	string = runtime_pointer(string);
	if (!runtime_read_word(&length, string ? string + runtime->string_length_at : 0) ||
		!can_copy_user(&state, sizeof(state), string + runtime->string_state_at) ||
		length > RUNTIME_LENGTH_MAX)
		return 0;
	state >>= runtime->string_state_shift;
	if (!(state & PILOTLIGHT_RUNTIME_STRING_COMPACT))
		return 0;
	text->width = (state & PILOTLIGHT_RUNTIME_STRING_WIDTHS) >> 2;
	if (text->width != 1 && text->width != 2 && text->width != 4)
		return 0;
	from = string + (state & PILOTLIGHT_RUNTIME_STRING_ASCII ? runtime->string_ascii_at
								 : runtime->string_other_at);
	bytes = length * text->width;
	if (bytes > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		if (part == RUNTIME_TEXT_END)
			from += bytes - PILOTLIGHT_RUNTIME_TEXT_MAX;
		bytes = PILOTLIGHT_RUNTIME_TEXT_MAX;
		text->flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	text->bytes = (__u16)bytes;
	return bytes == 0 || can_copy_user(text->characters, (__u32)bytes, from);
}

/* Copies the table of lines; none is a table of no bytes. */
static __always_inline int runtime_copy_lines(const struct pilotlight_runtime *runtime,
	__u64 address, struct pilotlight_runtime_code *code)
{
	__u64 object, size;
	__u32 bytes;

	if (!runtime_read_word(&object, address + runtime->code_lines_at))
		return 0;
	object = runtime_pointer(object);
	if (!runtime_read_word(&size, object ? object + runtime->bytes_size_at : 0) ||
		size > RUNTIME_TABLE_MAX)
		return 0;
	code->line_bytes_all = (__u32)size;
	bytes = size < PILOTLIGHT_RUNTIME_TABLE_MAX ? (__u32)size : PILOTLIGHT_RUNTIME_TABLE_MAX;
	code->line_bytes = (__u16)bytes;
	/* The last word of the copy: what lies behind the table must not get into the hash. */
	if (bytes % RUNTIME_WORD)
		__builtin_memset(&code->table[(bytes & (PILOTLIGHT_RUNTIME_TABLE_MAX - 1)) &
					      ~(__u32)(RUNTIME_WORD - 1)],
			0, RUNTIME_WORD);
	return bytes == 0 || can_copy_user(code->table, bytes, object + runtime->bytes_data_at);
}

/* The length of a record's part up to the end of its table, in words. */
static __always_inline __u32 runtime_code_words(const struct pilotlight_runtime_code *code)
{
	return (__builtin_offsetof(struct pilotlight_runtime_code, table) + code->line_bytes +
		       RUNTIME_WORD - 1) /
	       RUNTIME_WORD;
}

/* The kernel verifies the loop once, not once for each caller. */
#ifdef __bpf__
#define RUNTIME_VERIFIED_ONCE __noinline
#else
#define RUNTIME_VERIFIED_ONCE static __always_inline
#endif

/* Without a seed, unlike the hashes of stacks: it has to be the same everywhere. */
RUNTIME_VERIFIED_ONCE __u64 runtime_code_hash(const struct pilotlight_runtime_code *code)
{
	const __u64 *words = (const __u64 *)code;
	__u32 count;
	__u64 hash = 0;

	if (!code)
		return 0;
	count = runtime_code_words(code);
	for (__u32 i = 1; i < sizeof(*code) / RUNTIME_WORD && i < count; i++)
		hash = runtime_hash(hash, words[i]);
	return hash;
}

/* Copies the code object at `address`. Returns 0 if it makes no sense, or its memory is not
 * present. */
static __always_inline int runtime_copy_code(const struct pilotlight_runtime *runtime,
	__u64 address, struct pilotlight_runtime_code *code)
{
	code->language = runtime->language;
	code->lines = runtime->lines;
	code->reserved = 0;
	if (!can_copy_user(&code->first_line, sizeof(code->first_line),
		    address + runtime->code_first_line_at) ||
		!runtime_copy_text(runtime, address + runtime->code_name_at, RUNTIME_TEXT_BEGINNING,
			&code->name) ||
		!runtime_copy_text(
			runtime, address + runtime->code_file_at, RUNTIME_TEXT_END, &code->file) ||
		!runtime_copy_lines(runtime, address, code))
		return 0;
	code->hash = runtime_code_hash(code);
	return 1;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies the names of Perl's subroutines and files, for runtime_perl.bpf.h. What makes no sense is
 * refused. It also compiles for the host.
 */
#pragma once

#include "runtime_perl.bpf.h"

/* The length of a text that ends with the first zero in `size` bytes. */
static __always_inline __u32 perl_length(const __u8 *text, __u32 size)
{
	__u64 word, end = 0;
	__u32 at = 0;

	for (; at < size; at += PERL_WORD) {
		__builtin_memcpy(&word, text + at, sizeof(word));
		end = perl_end(&word);
		if (end)
			break;
	}
	/* The multiplication moves the byte N to the top. */
	return at + (__u32)(end * 0x0001020304050607ULL >> 56);
}

/* Copies a path, or the end of a longer one. The table has room for all of it. Memory without a
 * zero there is no path: nothing of it is copied, and the subroutine has no file. */
static __always_inline int perl_copy_path(__u64 path, struct pilotlight_runtime_code *code)
{
	struct pilotlight_runtime_text *text = &code->file;
	__u64 length;

	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	text->flags = PILOTLIGHT_RUNTIME_TEXT_UTF8;
	if (!perl_can_copy(code->table, PERL_PATH_MAX, path))
		return 0;
	__builtin_memcpy(&length, code->table, sizeof(length));
	if ((length & PERL_EVAL_FILE_MASK) == PERL_EVAL_FILE) {
		__builtin_memcpy(text->characters, "(eval)", PERL_EVAL_BYTES);
		text->bytes = PERL_EVAL_BYTES;
		return 1;
	}
	length = perl_length(code->table, PERL_PATH_MAX);
	if (length == PERL_PATH_MAX)
		length = 0;
	if (length > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		path += length - PILOTLIGHT_RUNTIME_TEXT_MAX;
		length = PILOTLIGHT_RUNTIME_TEXT_MAX;
		text->flags |= PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	text->bytes = (__u16)length;
	__asm__ volatile("" : "+r"(length));
	return length <= PILOTLIGHT_RUNTIME_TEXT_MAX &&
	       (length == 0 || can_copy_user(text->characters, (__u32)length, path));
}

/* Copies a name with its length. */
static __always_inline int perl_copy_name(
	struct runtime_walk *walk, __u64 name, struct pilotlight_runtime_text *text)
{
	__u64 length;

	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	if (!name || !can_copy_user(walk->code + PERL_SCRATCH, PERL_WORD, name))
		return 0;
	length = walk->code[PERL_SCRATCH] >> PERL_HALF_SHIFT;
	/* The flags are behind. */
	if (length > RUNTIME_LENGTH_MAX ||
		!can_copy_user(walk->code + PERL_SCRATCH, 1, name + PERL_NAME_TEXT + length + 1))
		return 0;
	if (walk->code[PERL_SCRATCH] & PERL_NAME_UTF8)
		text->flags |= PILOTLIGHT_RUNTIME_TEXT_UTF8;
	if (length > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		length = PILOTLIGHT_RUNTIME_TEXT_MAX;
		text->flags |= PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	text->bytes = (__u16)length;
	/* Linux 6.1 wants the bound of this very register. */
	__asm__ volatile("" : "+r"(length));
	return length == 0 ||
	       (length <= PILOTLIGHT_RUNTIME_TEXT_MAX &&
		       can_copy_user(text->characters, (__u32)length, name + PERL_NAME_TEXT));
}

/* Where the names of a package are; 0: it has none; or NOWHERE. */
static __always_inline __u64 perl_find_names(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 package)
{
	__u32 flags = perl_read_value(walk, package);
	__u64 body = walk->code[PERL_SCRATCH], symbols, last;

	if ((flags & PERL_TYPES) != PERL_TYPE_PACKAGE)
		return package ? PERL_NOWHERE : 0;
	if (!(flags & PERL_HAS_NAME))
		return 0;
	if (runtime->code_name_at != PILOTLIGHT_RUNTIME_NONE)
		return body + runtime->code_name_at;
	symbols = walk->code[PERL_SCRATCH + PERL_VALUE_OTHER];
	if (!can_copy_user(walk->code + PERL_SCRATCH, PERL_WORD, body + PERL_PACKAGE_LAST_AT))
		return PERL_NOWHERE;
	last = walk->code[PERL_SCRATCH];
	return last < PERL_PACKAGE_SYMBOLS_MAX ? symbols + (last + 1) * PERL_WORD : PERL_NOWHERE;
}

/* The name of a package; 0: it has none; or NOWHERE. */
static __always_inline __u64 perl_find_package(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 package)
{
	__u64 names = perl_find_names(walk, runtime, package), name;

	if (!names)
		return 0;
	if (!can_copy_user(walk->code + PERL_SCRATCH, PERL_NAMES_WORDS * PERL_WORD, names))
		return PERL_NOWHERE;
	name = walk->code[PERL_SCRATCH];
	if (!(walk->code[PERL_SCRATCH + PERL_NAMES_COUNT] >> PERL_HALF_SHIFT))
		return name;
	/* It also has had others. */
	return can_copy_user(walk->code + PERL_SCRATCH, PERL_WORD, name) ? walk->code[PERL_SCRATCH]
									 : PERL_NOWHERE;
}

/* Copies the name of a package, if it has one, as the table. */
static __always_inline int perl_copy_package(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 package,
	struct pilotlight_runtime_code *code)
{
	struct pilotlight_runtime_text *text = (void *)code->table;
	__u64 name = perl_find_package(walk, runtime, package);

	if (!name)
		return 1;
	code->line_bytes = sizeof(*text);
	code->line_bytes_all = sizeof(*text);
	__builtin_memset(code->table + sizeof(*text), 0, PERL_WORD);
	return perl_copy_name(walk, name, text);
}

/* Copies where the last step's frame is: its file, and the line of its first operation, which is
 * shown until it begins a statement. If that operation is none, as in a method of 5.38, padding is
 * in place of the line, mostly 0. Returns 0 if memory is not present. */
static __always_inline int perl_copy_place(
	struct runtime_walk *walk, struct pilotlight_runtime_code *code)
{
	const struct runtime_seen *seen = runtime_last_seen(walk);

	code->language = PILOTLIGHT_RUNTIME_PERL;
	code->lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS;
	code->reserved = 0;
	code->first_line = 0;
	if (seen->words[PERL_ROOT] == PERL_FILE_CODE)
		return perl_copy_path(seen->address, code);
	return perl_hold(walk, seen->address) &&
	       perl_copy_path(runtime_code_word(walk, PERL_CODE_FILE), code) &&
	       (!seen->words[PERL_START] ||
		       can_copy_user(&code->first_line, sizeof(code->first_line),
			       seen->words[PERL_START] + PERL_LINE_AT));
}

/* Copies the names of a subroutine, which are its own or of its glob. */
static __always_inline int perl_copy_own_names(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	__u64 name = runtime_code_word(walk, PERL_CODE_GLOB);
	__u64 package = runtime_code_word(walk, PERL_CODE_PACKAGE);
	__u32 flags = runtime_code_word(walk, PERL_CODE_NUMBER) >> PERL_FLAGS_SHIFT;

	if (!(flags & PERL_CODE_NAMED)) {
		if ((perl_read_value(walk, name) & PERL_TYPES) != PERL_TYPE_GLOB ||
			!can_copy_user(walk->code + PERL_SCRATCH, PERL_GLOB_BYTES,
				walk->code[PERL_SCRATCH]))
			return 0;
		name = walk->code[PERL_SCRATCH + PERL_GLOB_NAME];
		package = walk->code[PERL_SCRATCH + PERL_GLOB_PACKAGE];
	}
	return perl_copy_name(walk, name, &code->name) &&
	       (flags & PERL_CODE_LEXICAL || perl_copy_package(walk, runtime, package, code));
}

/* And then its names, if it is of a subroutine. */
static __always_inline int perl_copy_names(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	const struct runtime_seen *seen = runtime_last_seen(walk);

	code->line_bytes = 0;
	code->line_bytes_all = 0;
	__builtin_memset(&code->name, 0, sizeof(code->name));
	code->name.width = 1;
	if (seen->words[PERL_ROOT] != PERL_FILE_CODE &&
		(!perl_hold(walk, seen->address) || !perl_copy_own_names(walk, runtime, code)))
		return 0;
	code->hash = runtime_code_hash(code);
	return 1;
}

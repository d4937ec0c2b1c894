/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of PHP, and copies the names of its functions, as the description says
 * (pilotlight/runtime.h). The memory belongs to the process, and may say anything: a step reads a
 * bounded number of bytes, and a function whose names are no strings is none. It also compiles for
 * the host.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_code.bpf.h"

/* The same from PHP 7.4 to 8.4. */
enum {
	PHP_WORD = 8,
	/* Of a frame. */
	PHP_FRAME_BYTES = 56,
	PHP_FRAME_INSTRUCTION = 0,
	PHP_FRAME_FUNCTION = 24,
	PHP_FRAME_FLAGS = 40,
	PHP_FRAME_PREVIOUS = 48,
	PHP_FRAME_TOP = 1 << 17, /* the outermost of its group */
	/* Of a function: the beginning that all have, and the kind in the first byte. */
	PHP_COMMON_BYTES = 24,
	PHP_NAME_AT = 8,
	PHP_CLASS_AT = 16,
	PHP_KIND_NATIVE = 1,
	PHP_KIND_USER = 2,
	PHP_KIND_EVAL = 4,
	PHP_CLASS_NAME_AT = 8,
	/* Of an instruction. */
	PHP_INSTRUCTION_BYTES = 32,
	PHP_LINE_AT = 24,
	/* A string begins with its type, a hash of its characters if it is known, and its length.
	 */
	PHP_STRING_WORDS = 3,
	PHP_STRING_TYPE_SHIFT = 32,
	PHP_STRING_TYPES = 0xf,
	PHP_STRING = 6,
	PHP_HASH = 1,
	PHP_LENGTH = 2,
	/* Of walk->registers. */
	PHP_REGISTER_INSTRUCTION = 0, /* r15 */
	PHP_REGISTER_FRAME = 1,	      /* r14 */
	PHP_REGISTERS = 2,
};

/* Goes to the innermost frame of the process. */
static __always_inline enum runtime_end php_begin(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	walk->frame = runtime_state(walk, runtime);
	walk->file = walk->file_check = walk->sequence = walk->has_left = 0;
	walk->code_bytes = runtime->code_first_line_at + PHP_WORD;
	return walk->frame ? RUNTIME_ON : RUNTIME_NO_STATE;
}

/* Reads the beginning of a string. Returns 0 if it is none. */
static __always_inline int php_read_string(__u64 string, __u64 words[PHP_STRING_WORDS])
{
	return string && can_copy_user(words, PHP_STRING_WORDS * PHP_WORD, string) &&
	       (words[0] >> PHP_STRING_TYPE_SHIFT & PHP_STRING_TYPES) == PHP_STRING &&
	       words[PHP_LENGTH] <= RUNTIME_LENGTH_MAX;
}

/* What a string is known by: its hash and its length, or without a hash, its end, in which paths
 * differ. 0: it is no string. */
static __always_inline __u64 php_check_string(__u64 string)
{
	__u64 words[PHP_STRING_WORDS], end[2] = { 0, 0 }, check, bytes;

	if (!php_read_string(string, words))
		return 0;
	check = runtime_hash(runtime_hash(1, words[PHP_HASH]), words[PHP_LENGTH]);
	bytes = words[PHP_LENGTH];
	if (words[PHP_HASH] || !bytes)
		return check;
	string += PHP_STRING_WORDS * PHP_WORD;
	if (bytes > sizeof(end)) {
		string += bytes - sizeof(end);
		bytes = sizeof(end);
	}
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > sizeof(end) || !can_copy_user(end, (__u32)bytes, string))
		return 0;
	return runtime_hash(runtime_hash(check, end[0]), end[1]);
}

static __always_inline int php_is_native(const struct runtime_walk *walk)
{
	return walk->code[0] == PHP_KIND_NATIVE;
}

/* Tells a function in PHP from others that had the address of its instructions. 0: it is none. */
static __always_inline __u64 php_check_file(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 file = runtime_code_word(walk, runtime->code_file_at);

	if (walk->file != file) {
		walk->file = file;
		walk->file_check = php_check_string(file);
	}
	if (!walk->file_check)
		return 0;
	return runtime_hash(
		walk->file_check, (__u32)runtime_code_word(walk, runtime->code_first_line_at) |
					  runtime_code_word(walk, runtime->code_lines_at) << 32);
}

/* Tells a class from others that had its address, as the next request's may: by its name, whose
 * hash is mostly known. */
static __always_inline __u64 php_check_class(__u64 class)
{
	__u64 name, words[PHP_STRING_WORDS];

	if (!class || !runtime_read_word(&name, class + PHP_CLASS_NAME_AT) ||
		!php_read_string(name, words))
		return class;
	return runtime_hash(runtime_hash(class, words[PHP_HASH]), words[PHP_LENGTH]);
}

/* A function in PHP has the identity of its instructions: each closure has a copy of the rest. */
static __always_inline void php_note_code(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct runtime_step *step)
{
	step->code = php_is_native(walk) ? walk->sequence
					 : runtime_code_word(walk, runtime->code_units_at);
	step->check = walk->sequence_check;
}

/* Reads the function of a frame. Returns 0 if there is none. */
static __always_inline int php_read_function(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 function, struct runtime_step *step)
{
	__u32 size = walk->code_bytes;
	__u64 name, check = 1, name_check = 1;

	if (function == walk->sequence) {
		php_note_code(walk, runtime, step);
		return 1;
	}
	walk->sequence = 0;
	/* A native one may be shorter. */
	if (size > PILOTLIGHT_RUNTIME_CODE_MAX || !can_copy_user(walk->code, size, function)) {
		if (!can_copy_user(walk->code, PHP_COMMON_BYTES, function) || !php_is_native(walk))
			return 0;
	}
	if (!php_is_native(walk)) {
		if (walk->code[0] != PHP_KIND_USER && walk->code[0] != PHP_KIND_EVAL)
			return 0;
		check = php_check_file(walk, runtime);
	}
	name = runtime_code_word(walk, PHP_NAME_AT);
	if (check && name)
		name_check = php_check_string(name);
	if (!check || !name_check)
		return 0;
	walk->sequence = function;
	walk->sequence_check = runtime_hash(runtime_hash(check, name_check),
		php_check_class(runtime_code_word(walk, PHP_CLASS_AT)));
	php_note_code(walk, runtime, step);
	return 1;
}

static __always_inline int php_is_instruction(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 instruction)
{
	__u64 distance = instruction - runtime_code_word(walk, runtime->code_units_at);
	__u32 count = (__u32)runtime_code_word(walk, runtime->code_lines_at);

	return distance % PHP_INSTRUCTION_BYTES == 0 && distance / PHP_INSTRUCTION_BYTES < count;
}

/* The line of an instruction of the function. While an exception is thrown the frame has one of
 * another place. */
static __always_inline __s32 php_line(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 instruction)
{
	__u32 line;

	if (!php_is_instruction(walk, runtime, instruction) ||
		!can_copy_user(&line, sizeof(line), instruction + PHP_LINE_AT) ||
		line >= RUNTIME_UNITS_MAX)
		return RUNTIME_UNIT_UNKNOWN;
	return (__s32)line;
}

/* The loop keeps the instruction of its innermost frame in a register, beside one with the frame,
 * and seldom writes it to memory. */
static __always_inline __u64 php_instruction(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 frame)
{
	__u64 instruction = walk->registers[PHP_REGISTER_INSTRUCTION];

	if (frame == walk->registers[PHP_REGISTER_FRAME] &&
		php_is_instruction(walk, runtime, instruction))
		return instruction;
	return runtime_frame_word(walk, PHP_FRAME_INSTRUCTION);
}

/* Reads a frame, and goes to the one that called it. `step` is valid unless UNREADABLE. */
static __always_inline enum runtime_end php_next(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct runtime_step *step)
{
	__u64 frame = walk->frame, function;

	if (frame % PHP_WORD || !can_copy_user(walk->bytes, PHP_FRAME_BYTES, frame))
		return RUNTIME_UNREADABLE;
	step->code = step->check = step->mark = 0;
	step->unit = RUNTIME_UNIT_UNKNOWN;
	walk->frame = runtime_frame_word(walk, PHP_FRAME_PREVIOUS);
	function = runtime_frame_word(walk, PHP_FRAME_FUNCTION);
	/* Without it a group might be missing, and others have its native frame. */
	if (function && !php_read_function(walk, runtime, function, step))
		return RUNTIME_UNREADABLE;
	if (function && !php_is_native(walk)) {
		step->unit = php_line(walk, runtime, php_instruction(walk, runtime, frame));
		/* A group has no mark on the stack, only an end. */
		step->mark = !!(runtime_frame_word(walk, PHP_FRAME_FLAGS) & PHP_FRAME_TOP);
	} else if (function && !runtime_code_word(walk, PHP_NAME_AT)) {
		/* A fiber begins, on a stack of its own. */
		walk->has_left = 1;
		step->code = 0;
	}
	return walk->frame ? RUNTIME_ON : RUNTIME_ROOT;
}

/* Copies a string; none is an empty text. */
static __always_inline int php_copy_text(
	__u64 string, enum runtime_text_part part, struct pilotlight_runtime_text *text)
{
	__u64 words[PHP_STRING_WORDS], length;

	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	text->flags = PILOTLIGHT_RUNTIME_TEXT_UTF8;
	if (!string)
		return 1;
	if (!php_read_string(string, words))
		return 0;
	length = words[PHP_LENGTH];
	string += PHP_STRING_WORDS * PHP_WORD;
	if (length > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		if (part == RUNTIME_TEXT_END)
			string += length - PILOTLIGHT_RUNTIME_TEXT_MAX;
		length = PILOTLIGHT_RUNTIME_TEXT_MAX;
		text->flags |= PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	text->bytes = (__u16)length;
	/* Linux 6.1 wants the bound of this very register. */
	__asm__ volatile("" : "+r"(length));
	return length == 0 || (length <= PILOTLIGHT_RUNTIME_TEXT_MAX &&
				      can_copy_user(text->characters, (__u32)length, string));
}

/* The name of the function's class, if it has one, is the table. */
static __always_inline int php_copy_class(__u64 class, struct pilotlight_runtime_code *code)
{
	struct pilotlight_runtime_text *text = (void *)code->table;
	__u64 name;

	code->line_bytes = 0;
	code->line_bytes_all = 0;
	if (!class)
		return 1;
	code->line_bytes = sizeof(*text);
	code->line_bytes_all = sizeof(*text);
	__builtin_memset(code->table + sizeof(*text), 0, PHP_WORD);
	return runtime_read_word(&name, class + PHP_CLASS_NAME_AT) && name &&
	       php_copy_text(name, RUNTIME_TEXT_BEGINNING, text);
}

/* Copies the names of the last step's function. Returns 0 if they make no sense, or their memory is
 * not present. */
static __always_inline int php_copy_code(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	int is_native = php_is_native(walk);
	__u64 file = is_native ? 0 : runtime_code_word(walk, runtime->code_file_at);
	__u32 line = (__u32)runtime_code_word(walk, runtime->code_first_line_at);

	code->language = PILOTLIGHT_RUNTIME_PHP;
	code->lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS;
	code->reserved = 0;
	code->first_line = is_native ? 0 : (__s32)line;
	if (!php_copy_text(
		    runtime_code_word(walk, PHP_NAME_AT), RUNTIME_TEXT_BEGINNING, &code->name) ||
		!php_copy_text(file, RUNTIME_TEXT_END, &code->file) ||
		!php_copy_class(runtime_code_word(walk, PHP_CLASS_AT), code))
		return 0;
	code->hash = runtime_code_hash(code);
	return 1;
}

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

/* The same from PHP 7.4 to 8.6. */
enum {
	PHP_WORD = 8,
	/* Of a frame. */
	PHP_FRAME_BYTES = 56,
	PHP_FRAME_INSTRUCTION = 0,
	PHP_FRAME_GENERATOR = 16, /* of that of a generator */
	PHP_FRAME_FUNCTION = 24,
	PHP_FRAME_OBJECT = 32,
	PHP_FRAME_FLAGS = 40, /* and in its first byte the type of the object */
	PHP_FRAME_PREVIOUS = 48,
	PHP_FRAME_TOP = 1 << 17, /* the outermost of its group */
	PHP_FRAME_IS_GENERATOR = 1 << 24,
	PHP_UNDEFINED = 0,
	PHP_OBJECT = 8,
	PHP_GENERATOR_RUNS = 1, /* a bit of its state */
	PHP_GENERATORS = 32,	/* kept, and listed in one step; a power of two */
	PHP_GENERATORS_MAX = 256,
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
	PHP_END_BYTES = 16,
	/* Of walk->registers. */
	PHP_REGISTER_INSTRUCTION = 0, /* r15 */
	PHP_REGISTER_FRAME = 1,	      /* r14 */
};

/* The innermost frame of the thread with this block; 0: there is none. */
static __always_inline __u64 php_thread_frame(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 block)
{
	__u64 thread, globals, frame;

	if (!runtime_read_word(&thread, block ? block + runtime->state_thread_at : 0) ||
		thread != walk->thread ||
		!runtime_read_word(&globals, walk->base + runtime->code_type_place) ||
		!runtime_read_word(&frame, block + globals + runtime->state_frame_at))
		return 0;
	return frame;
}

/* Goes to the innermost frame of the process, or with threads of this one. */
static __always_inline enum runtime_end php_begin(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime)
{
	walk->frame = runtime_state(walk, runtime);
	if (runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL)
		walk->frame = php_thread_frame(walk, runtime, walk->frame);
	walk->has_left = walk->generators = walk->limit = 0;
	runtime_forget(walk, spans);
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
	__u64 words[PHP_STRING_WORDS], check, bytes;

	if (!php_read_string(string, words))
		return 0;
	check = runtime_hash_two(1, words[PHP_HASH], words[PHP_LENGTH]);
	bytes = words[PHP_LENGTH];
	if (words[PHP_HASH] || !bytes)
		return check;
	string += PHP_STRING_WORDS * PHP_WORD;
	if (bytes > PHP_END_BYTES) {
		string += bytes - PHP_END_BYTES;
		bytes = PHP_END_BYTES;
	}
	words[0] = words[1] = 0;
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > PHP_END_BYTES || !can_copy_user(words, (__u32)bytes, string))
		return 0;
	return runtime_hash_two(check, words[0], words[1]);
}

static __always_inline int php_is_native(const struct runtime_walk *walk)
{
	return (__u8)walk->code[0] == PHP_KIND_NATIVE;
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
 * hash is mostly known. Methods of one stack are often of the same class. */
static __always_inline __u64 php_check_class(struct runtime_walk *walk, __u64 class)
{
	__u64 name, words[PHP_STRING_WORDS];

	/* A function of none does not displace the last one. */
	if (!class)
		return 0;
	if (class == walk->class)
		return walk->class_check;
	walk->class = walk->class_check = class;
	if (!runtime_read_word(&name, class + PHP_CLASS_NAME_AT) || !php_read_string(name, words))
		return class;
	walk->class_check = runtime_hash_two(class, words[PHP_HASH], words[PHP_LENGTH]);
	return walk->class_check;
}

/* Reads the beginning of a function. Returns 0 if there is none. */
static __always_inline int php_hold(struct runtime_walk *walk, __u64 function)
{
	__u32 size = walk->code_bytes;
	__u8 kind;

	if (walk->held == function)
		return 1;
	walk->held = 0;
	/* A native one may be shorter. */
	if (size > PILOTLIGHT_RUNTIME_CODE_MAX || !can_copy_user(walk->code, size, function)) {
		if (!can_copy_user(walk->code, PHP_COMMON_BYTES, function) || !php_is_native(walk))
			return 0;
	}
	kind = (__u8)walk->code[0];
	if (kind != PHP_KIND_NATIVE && kind != PHP_KIND_USER && kind != PHP_KIND_EVAL)
		return 0;
	walk->held = function;
	return 1;
}

/* What frames need of a function: the instructions of one in PHP, how many, and a flag. */
enum { PHP_INSTRUCTIONS, PHP_INSTRUCTION_COUNT };
#define PHP_IS_NATIVE (1ULL << 32)
#define PHP_HAS_NAME  (1ULL << 33)

/* Reads the function of a frame. Returns 0 if there is none. */
static __always_inline int php_read_function(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 function, struct runtime_seen *seen)
{
	__u64 name, check = 1, name_check = 1;
	int is_native;

	if (!php_hold(walk, function))
		return 0;
	is_native = php_is_native(walk);
	if (!is_native)
		check = php_check_file(walk, runtime);
	name = runtime_code_word(walk, PHP_NAME_AT);
	if (check && name)
		name_check = php_check_string(name);
	if (!check || !name_check)
		return 0;
	seen->address = function;
	seen->check = runtime_hash_two(
		check, name_check, php_check_class(walk, runtime_code_word(walk, PHP_CLASS_AT)));
	seen->words[PHP_INSTRUCTIONS] = runtime_code_word(walk, runtime->code_units_at);
	seen->words[PHP_INSTRUCTION_COUNT] =
		(__u32)runtime_code_word(walk, runtime->code_lines_at) |
		(is_native ? PHP_IS_NATIVE : 0) | (name ? PHP_HAS_NAME : 0);
	seen->identity = RUNTIME_NO_IDENTITY;
	return 1;
}

static __always_inline int php_is_instruction(const struct runtime_seen *seen, __u64 instruction)
{
	__u64 distance = instruction - seen->words[PHP_INSTRUCTIONS];
	__u32 count = (__u32)seen->words[PHP_INSTRUCTION_COUNT];

	return distance % PHP_INSTRUCTION_BYTES == 0 && distance / PHP_INSTRUCTION_BYTES < count;
}

/* The line of an instruction of the function. While an exception is thrown the frame has one of
 * another place. */
static __always_inline __s32 php_line(
	struct runtime_walk *walk, const struct runtime_seen *seen, __u64 instruction)
{
	if (!php_is_instruction(seen, instruction))
		return RUNTIME_UNIT_UNKNOWN;
	return runtime_line(walk, instruction, PHP_LINE_AT);
}

/* The loop keeps the instruction of its innermost frame in a register, beside one with the frame,
 * and seldom writes it to memory. */
static __always_inline __u64 php_instruction(const struct runtime_walk *walk,
	const struct runtime_span *span, const struct runtime_seen *seen, __u64 frame)
{
	__u64 instruction = walk->registers[PHP_REGISTER_INSTRUCTION];

	if (frame == walk->registers[PHP_REGISTER_FRAME] && php_is_instruction(seen, instruction))
		return instruction;
	return runtime_span_word(span, frame + PHP_FRAME_INSTRUCTION);
}

/*
 * Generators that delegate (`yield from`) are not linked while the one that they await runs. Its
 * caller is a frame without a function, in the generator that was resumed. That one awaits another
 * one, and so on, up to the one that runs. Their frames are called the other way round.
 */

/* Begins to list the frames of at most `limit` of these generators, from the resumed one on. */
static __always_inline void php_begin_generators(struct runtime_walk *walk, __u32 limit)
{
	walk->limit = limit;
	walk->generators = 0;
	walk->awaits = walk->generator;
}

/* Goes to the last of the listed frames, or to the one that has resumed the generator. */
static __always_inline enum runtime_end php_end_generators(
	struct runtime_walk *walk, const struct runtime_span *list)
{
	__u32 at = (walk->generators - 1) & (PHP_GENERATORS - 1);

	walk->limit = 0;
	__asm__ volatile("" : "+r"(at));
	walk->frame = walk->generators ? list->words[at & (PHP_GENERATORS - 1)] : walk->resumer;
	if (walk->frame)
		return RUNTIME_ON;
	return walk->generators ? RUNTIME_UNREADABLE : RUNTIME_ROOT;
}

/* Lists some more of them in the first span, which keeps the last PHP_GENERATORS. */
static __always_inline enum runtime_end php_list_generators(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime)
{
	for (__u32 i = 0; i < PHP_GENERATORS && walk->generators < walk->limit; i++) {
		__u64 from = walk->awaits + runtime->coroutine_frame_at;
		__u64 to = walk->awaits + runtime->task_coroutine_at;
		__u32 at = walk->generators & (PHP_GENERATORS - 1);

		if (!runtime_read_span(&spans[1], from, to - from + PHP_WORD))
			return RUNTIME_UNREADABLE;
		walk->awaits = runtime_span_word(&spans[1], to);
		if (!walk->awaits)
			walk->limit = walk->generators;
		if (!walk->awaits)
			break;
		__asm__ volatile("" : "+r"(at));
		spans[0].words[at & (PHP_GENERATORS - 1)] = runtime_span_word(&spans[1], from);
		walk->generators++;
	}
	if (walk->generators == PHP_GENERATORS_MAX)
		return RUNTIME_UNREADABLE;
	return walk->generators == walk->limit ? php_end_generators(walk, &spans[0]) : RUNTIME_ON;
}

/* Goes from the frame of a generator that delegates to the next one. */
static __always_inline enum runtime_end php_next_generator(
	struct runtime_walk *walk, const struct runtime_span *list)
{
	walk->generators--;
	if (!walk->generators || walk->generators % PHP_GENERATORS)
		return php_end_generators(walk, list);
	php_begin_generators(walk, walk->generators);
	return RUNTIME_ON;
}

/* Is it the frame without a function? */
static __always_inline int php_is_of_delegation(
	const struct pilotlight_runtime *runtime, __u64 frame, __u64 object, __u64 flags)
{
	return runtime->state_mark_at && (__u8)flags == PHP_OBJECT &&
	       frame == object + runtime->state_mark_at;
}

/* Is it the outermost frame of its group? A generator that awaits another one, or an iterator, is
 * in the group that has resumed it. While it awaits an iterator it has that in its `values`, before
 * what it awaits. PHP 8.4.27 says of such a generator, too, that it runs. */
static __always_inline int php_ends_group(
	const struct pilotlight_runtime *runtime, __u64 generator, __u64 flags)
{
	__u64 values = generator + runtime->task_coroutine_at - PHP_WORD;
	__u8 state, type;

	if (!(flags & PHP_FRAME_TOP))
		return 0;
	return !(flags & PHP_FRAME_IS_GENERATOR) || !runtime->coroutine_state_at ||
	       !can_copy_user(&state, sizeof(state), generator + runtime->coroutine_state_at) ||
	       !can_copy_user(&type, sizeof(type), values) ||
	       (state & PHP_GENERATOR_RUNS & (type == PHP_UNDEFINED));
}

static __always_inline const struct runtime_span *php_find_frame(
	const struct runtime_walk *walk, struct runtime_span spans[RUNTIME_SPANS])
{
	if (!walk->generators)
		return runtime_find_frame(spans, walk->frame, PHP_FRAME_BYTES);
	/* The first span has their frames. */
	return runtime_read_span(&spans[1], walk->frame, PHP_FRAME_BYTES) ? &spans[1] : 0;
}

/* Reads a frame, and goes to the one that called it. `step` is valid unless UNREADABLE. */
static __always_inline enum runtime_end php_next(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime,
	struct runtime_step *step)
{
	const struct runtime_span *span;
	__u64 frame = walk->frame, function, flags, object;
	struct runtime_seen *seen;

	step->code = step->check = step->mark = 0;
	step->unit = RUNTIME_UNIT_UNKNOWN;
	if (walk->limit)
		return php_list_generators(walk, spans, runtime);
	span = php_find_frame(walk, spans);
	if (!span)
		return RUNTIME_UNREADABLE;
	walk->frame = runtime_span_word(span, frame + PHP_FRAME_PREVIOUS);
	function = runtime_span_word(span, frame + PHP_FRAME_FUNCTION);
	flags = runtime_span_word(span, frame + PHP_FRAME_FLAGS);
	object = runtime_span_word(span, frame + PHP_FRAME_OBJECT);
	if (!function && php_is_of_delegation(runtime, frame, object, flags)) {
		walk->generator = object;
		walk->resumer = walk->frame;
		spans[0].from = spans[0].bytes = 0;
		php_begin_generators(walk, PHP_GENERATORS_MAX);
		return RUNTIME_ON;
	}
	/* A group has no mark on the stack, only an end. */
	step->mark = php_ends_group(
		runtime, runtime_span_word(span, frame + PHP_FRAME_GENERATOR), flags);
	seen = runtime_see(walk, function);
	/* Without it a group might be missing, and others have its native frame. */
	if (function && seen->address != function &&
		!php_read_function(walk, runtime, function, seen))
		return RUNTIME_UNREADABLE;
	if (function && !(seen->words[PHP_INSTRUCTION_COUNT] & PHP_IS_NATIVE)) {
		/* It has the identity of its instructions: each closure has a copy of the rest. */
		step->code = seen->words[PHP_INSTRUCTIONS];
		step->unit = php_line(walk, seen, php_instruction(walk, span, seen, frame));
	} else {
		step->mark = 0;
		if (function && seen->words[PHP_INSTRUCTION_COUNT] & PHP_HAS_NAME)
			step->code = function;
		else if (function)
			walk->has_left = 1; /* a fiber begins, on a stack of its own */
	}
	if (function)
		step->check = seen->check;
	if (walk->generators)
		return php_next_generator(walk, &spans[0]);
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
static __always_inline int php_copy_code(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	__u64 file;
	__u32 line;
	int is_native;

	if (!php_hold(walk, runtime_last_seen(walk)->address))
		return 0;
	is_native = php_is_native(walk);
	file = is_native ? 0 : runtime_code_word(walk, runtime->code_file_at);
	line = (__u32)runtime_code_word(walk, runtime->code_first_line_at);
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

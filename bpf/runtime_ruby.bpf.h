/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the frames of Ruby, and copies the names and lines of its instruction sequences, as the
 * description says (pilotlight/runtime.h). The memory belongs to the process, and may say anything:
 * a step reads a bounded number of bytes, and an object that is not of its type is none. It also
 * compiles for the host.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_code.bpf.h"

/* The same from Ruby 2.7 to 3.4. */
enum {
	RUBY_WORD = 8,
	/* A state begins with the VM stack's address, its size in words, and the innermost frame.
	 */
	RUBY_STATE_WORDS = 3,
	RUBY_STACK_WORDS_MAX = 1 << 27,
	/* At frame_group_at is the address of a frame's flags. */
	RUBY_FRAME_FINISH = 0x20, /* the outermost of its group */
	RUBY_FRAME_NATIVE = 0x80, /* of a function of C, which has a native frame */
	RUBY_FRAME_KINDS = 0x7fff0001,
	RUBY_FRAME_FUNCTION = 0x55550001, /* the kind of a method in C */
	RUBY_ENTRY_BEFORE = 16,		  /* before the flags, a method's entry */
	/* An entry: the definition and the symbol of its name; there, of its first name. */
	RUBY_ENTRY = 6, /* its kind of INTERNAL */
	RUBY_ENTRY_WORDS = 4,
	RUBY_ENTRY_DEFINITION = 2,
	RUBY_ENTRY_SYMBOL = 3,
	RUBY_FIRST_SYMBOL_AT = 32,
	/* Symbols have numbers. The names are in arrays, two words each. */
	RUBY_SYMBOL_SHIFT = 4,
	RUBY_SYMBOLS_A_PART = 512,
	RUBY_SYMBOL_WORDS = 2,
	/* The first word of an object. */
	RUBY_TYPE = 0x1f,
	RUBY_TYPE_STRING = 5,
	RUBY_TYPE_ARRAY = 7,
	RUBY_TYPE_INTERNAL = 0x1a,
	RUBY_FLAG = 1 << 13,  /* a string's characters are elsewhere, an array's elements here */
	RUBY_KIND_SHIFT = 12, /* of INTERNAL */
	RUBY_SEQUENCE = 7,    /* the kind; in its third word is the body */
	RUBY_SEQUENCE_WORDS = 3,
	RUBY_KINDS = 0xf,
	RUBY_LENGTH_SHIFT = 14, /* of a short string, before Ruby 3.2 */
	RUBY_SHORT_LENGTHS = 0x1f,
	/* Of an object: words. */
	RUBY_OBJECT_WORDS = 5,
	RUBY_FIRST = 2,	 /* a string's length or first characters, an array's first element */
	RUBY_SECOND = 3, /* where a string's characters are */
	RUBY_OTHER = 4,	 /* where an array's elements are */
	/* A body begins with its kind, and the number of its units. */
	RUBY_UNITS_AT = 4,
	/* From code_lines_at on: where the entries are, a word, their number, where the index is.
	 */
	RUBY_ENTRY_COUNT_AT = 16,
	RUBY_INDEX_AT = 24,
	RUBY_LINES_BYTES = 32,
	RUBY_ENTRIES_MAX = 1 << 20,
};

/* As can_copy_user(). Linux 6.1 wants the bound of this very register. */
static __always_inline int ruby_copy_below(void *bytes, __u64 most, __u64 size, __u64 address)
{
	__asm__ volatile("" : "+r"(size));
	return size <= most && can_copy_user(bytes, (__u32)size, address);
}

/* Where the fields of a body end. All words up to there stay the same as long as it lives. */
static __always_inline __u32 ruby_body_bytes(const struct pilotlight_runtime *runtime)
{
	return runtime->code_lines_at + RUBY_LINES_BYTES;
}

/* Is the state that of the thread with this stack pointer? */
static __always_inline int ruby_is_state_of(
	const struct pilotlight_runtime *runtime, __u64 state, __u64 stack_pointer)
{
	__u64 stack[3];

	if (runtime->state_thread_at == PILOTLIGHT_RUNTIME_NONE)
		return 1;
	return can_copy_user(stack, sizeof(stack), state + runtime->state_thread_at) &&
	       stack_pointer < stack[0] && stack[0] - stack_pointer <= stack[2];
}

/* Goes to the innermost frame of the thread. */
static __always_inline enum runtime_end ruby_begin(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime)
{
	__u64 state = runtime_state(walk, runtime), words[RUBY_STATE_WORDS], bytes;

	if (!state || !ruby_is_state_of(runtime, state, walk->stack_pointer))
		return RUNTIME_NO_STATE;
	if (!can_copy_user(words, sizeof(words), state))
		return RUNTIME_UNREADABLE;
	/* A thread that begins or ends has no stack. */
	if (!words[0] || !words[2])
		return RUNTIME_NO_STATE;
	walk->start = words[0];
	walk->end = words[0] + words[1] * RUBY_WORD;
	walk->frame = words[2];
	runtime_forget(walk, spans);
	walk->functions = 0;
	walk->code_bytes = ruby_body_bytes(runtime);
	/* For the check, which takes words in pairs. */
	walk->code[walk->code_bytes / RUBY_WORD % (PILOTLIGHT_RUNTIME_CODE_MAX / RUBY_WORD)] = 0;
	bytes = walk->end - walk->frame;
	if (words[1] > RUBY_STACK_WORDS_MAX || bytes > words[1] * RUBY_WORD ||
		!runtime->frame_bytes || bytes % runtime->frame_bytes)
		return RUNTIME_UNREADABLE;
	/* The outermost frame runs nothing; Ruby's own backtraces skip it. */
	walk->end -= runtime->frame_bytes;
	return bytes > runtime->frame_bytes ? RUNTIME_ON : RUNTIME_ROOT;
}

static __always_inline __u64 ruby_check_object(struct runtime_walk *walk, __u64 object)
{
	const __u64 *words = walk->object;
	__u64 check = 0;

	if (!object || !can_copy_user(walk->object, RUBY_OBJECT_WORDS * RUBY_WORD, object))
		return 0;
	for (__u32 i = 0; i + 1 < RUBY_OBJECT_WORDS; i += 2)
		check = runtime_hash_two(check, words[i], words[i + 1]);
	return runtime_hash(check, words[RUBY_OBJECT_WORDS - 1]);
}

/* Tells a sequence from others that had its address. */
static __always_inline __u64 ruby_check(
	struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 file = runtime_code_word(walk, runtime->code_file_at), check = 0;

	for (__u32 i = 0; i < PILOTLIGHT_RUNTIME_CODE_MAX / RUBY_WORD; i += 2) {
		if (i * RUBY_WORD >= walk->code_bytes)
			break;
		check = runtime_hash_two(check, walk->code[i], walk->code[i + 1]);
	}
	if (walk->file != file) {
		walk->file = file;
		walk->file_check = ruby_check_object(walk, file);
	}
	return runtime_hash_two(check, walk->file_check,
		ruby_check_object(walk, runtime_code_word(walk, runtime->code_name_at)));
}

/* The instruction before the one that is next, as Ruby's own backtraces have it. */
static __always_inline __s32 ruby_unit(const struct runtime_seen *seen, __u64 next)
{
	__u64 distance = next - seen->words[0];
	__u32 units = (__u32)seen->words[1];

	if (!next)
		return -1;
	distance /= RUBY_WORD;
	if (distance > units || distance >= RUNTIME_UNITS_MAX)
		return RUNTIME_UNIT_UNKNOWN;
	return distance ? (__s32)distance - 1 : 0;
}

static __always_inline int ruby_is_internal(__u64 flags, __u64 kind)
{
	return (flags & RUBY_TYPE) == RUBY_TYPE_INTERNAL &&
	       (flags >> RUBY_KIND_SHIFT & RUBY_KINDS) == kind;
}

/* Reads the body of an instruction sequence. Returns 0 if there is none. */
static __always_inline int ruby_hold(struct runtime_walk *walk, __u64 sequence)
{
	const __u64 *words = walk->object;
	__u32 size = walk->code_bytes;

	if (walk->held == sequence)
		return 1;
	walk->held = 0;
	if (!can_copy_user(walk->object, RUBY_SEQUENCE_WORDS * RUBY_WORD, sequence) ||
		!ruby_is_internal(words[0], RUBY_SEQUENCE) || !words[2] ||
		!ruby_copy_below(walk->code, PILOTLIGHT_RUNTIME_CODE_MAX, size, words[2]))
		return 0;
	walk->held = sequence;
	return 1;
}

/* Is there an instruction sequence, with a body? */
static __always_inline int ruby_read_code(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, __u64 sequence, struct runtime_step *step)
{
	struct runtime_seen *seen = runtime_see(walk, sequence);

	if (seen->address != sequence) {
		if (!ruby_hold(walk, sequence))
			return 0;
		seen->address = sequence;
		seen->check = ruby_check(walk, runtime);
		seen->words[0] = runtime_code_word(walk, runtime->code_units_at);
		seen->words[1] = runtime_code_word(walk, RUBY_UNITS_AT);
		seen->identity = RUNTIME_NO_IDENTITY;
	}
	step->code = sequence;
	step->check = seen->check;
	return 1;
}

/* Reads frames that lie from walk->frame on. Returns 0 if they cannot be read. */
static __always_inline int ruby_read_frames(
	const struct runtime_walk *walk, struct runtime_span *span, __u32 size)
{
	/* Behind the last one is the outermost. */
	__u64 bytes = walk->end + size - walk->frame;

	if (runtime_has(span, walk->frame, size))
		return 1;
	if (bytes > RUNTIME_SPAN_BYTES)
		bytes = RUNTIME_SPAN_BYTES;
	/* The next page may be absent. */
	return runtime_read_span(span, walk->frame, bytes) ||
	       runtime_read_span(span, walk->frame, size);
}

/* A frame's flags lie beside its variables: on the VM stack, unless a block has outlived them. */
static __always_inline int ruby_read_flags(
	const struct runtime_walk *walk, struct runtime_span *span, __u64 address, __u64 *ret_flags)
{
	if (address % RUBY_WORD || address - walk->start >= walk->end - walk->start)
		return runtime_read_word(ret_flags, address);
	if (!runtime_has(span, address, RUBY_WORD) && !runtime_read_below(span, address, RUBY_WORD))
		return 0;
	*ret_flags = runtime_span_word(span, address);
	return 1;
}

/* The method's entry lies below the flags, mostly in what was read with them. */
static __always_inline int ruby_read_entry(
	const struct runtime_span *span, __u64 address, __u64 *ret_entry)
{
	if (address % RUBY_WORD != 0 || !runtime_has(span, address, RUBY_WORD))
		return runtime_read_word(ret_entry, address);
	*ret_entry = runtime_span_word(span, address);
	return 1;
}

/* A frame without a sequence: is it of a method in C? Then its definition is the code object. */
static __always_inline void ruby_read_function(struct runtime_walk *walk,
	const struct runtime_span *span, const struct pilotlight_runtime *runtime, __u64 flags,
	__u64 environment, struct runtime_step *step)
{
	const __u64 *words = walk->object;
	struct runtime_seen *seen;
	__u64 entry;

	if (!runtime->group_least || (flags & RUBY_FRAME_KINDS) != RUBY_FRAME_FUNCTION ||
		!ruby_read_entry(span, environment - RUBY_ENTRY_BEFORE, &entry))
		return;
	seen = runtime_see(walk, entry);
	if (seen->address != entry) {
		if (!can_copy_user(walk->object, RUBY_ENTRY_WORDS * RUBY_WORD, entry) ||
			!ruby_is_internal(words[0], RUBY_ENTRY))
			return;
		seen->address = entry;
		seen->check = runtime_hash(RUBY_ENTRY, words[RUBY_ENTRY_SYMBOL]);
		seen->words[0] = words[RUBY_ENTRY_DEFINITION];
		seen->identity = RUNTIME_NO_IDENTITY;
	}
	step->code = walk->function = seen->words[0];
	step->check = seen->check;
	walk->functions += step->code != 0;
}

/* Reads a frame, and goes to the one that called it. `step` is valid unless UNREADABLE. */
static __always_inline enum runtime_end ruby_next(struct runtime_walk *walk,
	struct runtime_span spans[RUNTIME_SPANS], const struct pilotlight_runtime *runtime,
	struct runtime_step *step)
{
	__u32 size = runtime->frame_bytes;
	__u64 frame = walk->frame, flags = 0, sequence, environment;
	int has_flags;

	if (!ruby_read_frames(walk, &spans[0], size))
		return RUNTIME_UNREADABLE;
	walk->frame += size;
	step->code = step->check = step->mark = walk->function = 0;
	step->unit = RUNTIME_UNIT_UNKNOWN;
	sequence = runtime_span_word(&spans[0], frame + runtime->frame_code_at);
	environment = runtime_span_word(&spans[0], frame + runtime->frame_group_at);
	has_flags = ruby_read_flags(walk, &spans[1], environment, &flags);
	if (!sequence) {
		if (has_flags)
			ruby_read_function(walk, &spans[1], runtime, flags, environment, step);
		return walk->frame < walk->end ? RUNTIME_ON : RUNTIME_ROOT;
	}
	if (!has_flags)
		return RUNTIME_UNREADABLE;
	if (!(flags & RUBY_FRAME_NATIVE)) {
		/* Without it a group might be missing, and others have its native frame. */
		if (!ruby_read_code(walk, runtime, sequence, step))
			return RUNTIME_UNREADABLE;
		step->unit = ruby_unit(runtime_last_seen(walk),
			runtime_span_word(&spans[0], frame + runtime->frame_instruction_at));
		walk->functions = 0;
		/* A group has no mark on the stack, only an end. */
		step->mark = !!(flags & RUBY_FRAME_FINISH);
	}
	return walk->frame < walk->end ? RUNTIME_ON : RUNTIME_ROOT;
}

/* Where the characters of a string are. Returns 0 if it is none. */
static __always_inline int ruby_find_characters(
	const struct pilotlight_runtime *runtime, __u64 string, __u64 *from, __u64 *length)
{
	__u64 words[RUBY_OBJECT_WORDS - 1];

	if (!string || !can_copy_user(words, sizeof(words), string) ||
		(words[0] & RUBY_TYPE) != RUBY_TYPE_STRING)
		return 0;
	*length = words[RUBY_FIRST];
	*from = words[RUBY_SECOND];
	if (words[0] & RUBY_FLAG)
		return 1;
	*from = string + runtime->string_ascii_at;
	/* Characters in the place of the length: it is among the flags. */
	if (runtime->string_ascii_at == runtime->string_length_at)
		*length = words[0] >> RUBY_LENGTH_SHIFT & RUBY_SHORT_LENGTHS;
	return 1;
}

static __always_inline int ruby_copy_text(const struct pilotlight_runtime *runtime, __u64 string,
	enum runtime_text_part part, struct pilotlight_runtime_text *text)
{
	__u64 from, length;

	__builtin_memset(text, 0, sizeof(*text));
	if (!ruby_find_characters(runtime, string, &from, &length) || length > RUNTIME_LENGTH_MAX)
		return 0;
	text->width = 1;
	text->flags = PILOTLIGHT_RUNTIME_TEXT_UTF8;
	if (length > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		if (part == RUNTIME_TEXT_END)
			from += length - PILOTLIGHT_RUNTIME_TEXT_MAX;
		length = PILOTLIGHT_RUNTIME_TEXT_MAX;
		text->flags |= PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	text->bytes = (__u16)length;
	return length == 0 ||
	       ruby_copy_below(text->characters, PILOTLIGHT_RUNTIME_TEXT_MAX, length, from);
}

/* An element of an array; 0: none. */
static __always_inline __u64 ruby_element(__u64 array, __u64 number)
{
	__u64 words[RUBY_OBJECT_WORDS], element;

	if (!array || !can_copy_user(words, sizeof(words), array) ||
		(words[0] & RUBY_TYPE) != RUBY_TYPE_ARRAY)
		return 0;
	array = words[0] & RUBY_FLAG ? array + RUBY_FIRST * RUBY_WORD : words[RUBY_OTHER];
	return runtime_read_word(&element, array + number * RUBY_WORD) ? element : 0;
}

/* The string of a method's first name. */
static __always_inline __u64 ruby_symbol_name(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime, __u64 definition)
{
	__u64 symbol, names;

	if (!runtime_read_word(&symbol, definition + RUBY_FIRST_SYMBOL_AT) ||
		!runtime_read_word(&names, walk->base + runtime->code_type_place))
		return 0;
	if (symbol > runtime->group_least)
		symbol >>= RUBY_SYMBOL_SHIFT;
	symbol = (__u32)symbol;
	names = ruby_element(names, symbol / RUBY_SYMBOLS_A_PART);
	return ruby_element(names, symbol % RUBY_SYMBOLS_A_PART * RUBY_SYMBOL_WORDS);
}

/* The path: the object itself, or the first of an array. 0: neither. */
static __always_inline __u64 ruby_path(__u64 object)
{
	__u64 words[RUBY_OBJECT_WORDS], path;

	if (!object || !can_copy_user(words, sizeof(words), object))
		return 0;
	if ((words[0] & RUBY_TYPE) != RUBY_TYPE_ARRAY)
		return object;
	if (words[0] & RUBY_FLAG)
		return words[RUBY_FIRST];
	return runtime_read_word(&path, words[RUBY_OTHER]) ? path : 0;
}

/* Copies the index and the entries of the lines. Returns 0 if they cannot be read. */
static __always_inline int ruby_copy_lines(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	struct pilotlight_runtime_positions *head = (void *)code->table;
	__u64 entries = runtime_code_word(walk, runtime->code_lines_at);
	__u64 index = runtime_code_word(walk, runtime->code_lines_at + RUBY_INDEX_AT);
	__u32 count = (__u32)runtime_code_word(walk, runtime->code_lines_at + RUBY_ENTRY_COUNT_AT);
	__u32 index_bytes, at, bytes;

	code->line_bytes = 0;
	code->line_bytes_all = 0;
	head->units = (__u32)runtime_code_word(walk, RUBY_UNITS_AT);
	head->entry_bytes = runtime->line_bytes;
	index_bytes = pilotlight_runtime_index_bytes(head->units);
	if (!entries || !index || !index_bytes || count == 0 || count > RUBY_ENTRIES_MAX ||
		index_bytes > PILOTLIGHT_RUNTIME_INDEX_MAX)
		return 1;
	at = sizeof(*head) + index_bytes;
	bytes = count * runtime->line_bytes;
	code->line_bytes_all = at + bytes;
	if (bytes > PILOTLIGHT_RUNTIME_TABLE_MAX - PILOTLIGHT_RUNTIME_INDEX_ROOM)
		bytes = PILOTLIGHT_RUNTIME_TABLE_MAX - PILOTLIGHT_RUNTIME_INDEX_ROOM;
	code->line_bytes = (__u16)(at + bytes);
	/* What lies behind the table must not get into the hash. */
	__builtin_memset(&code->table[(at + bytes - 1) & (PILOTLIGHT_RUNTIME_TABLE_MAX - 1) &
				      ~(__u32)(RUNTIME_WORD - 1)],
		0, RUNTIME_WORD);
	at &= PILOTLIGHT_RUNTIME_INDEX_ROOM - 1;
	return ruby_copy_below(code->table + sizeof(*head), PILOTLIGHT_RUNTIME_INDEX_MAX,
		       index_bytes, index) &&
	       ruby_copy_below(code->table + at,
		       PILOTLIGHT_RUNTIME_TABLE_MAX - PILOTLIGHT_RUNTIME_INDEX_ROOM, bytes,
		       entries);
}

static __always_inline void ruby_begin_copy(struct pilotlight_runtime_code *code)
{
	code->language = PILOTLIGHT_RUNTIME_RUBY;
	code->lines = PILOTLIGHT_RUNTIME_POSITIONS;
	code->reserved = 0;
}

/* A function of C has a name alone. */
static __always_inline int ruby_copy_function(const struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	ruby_begin_copy(code);
	code->first_line = 0;
	code->line_bytes = 0;
	code->line_bytes_all = 0;
	__builtin_memset(&code->file, 0, sizeof(code->file));
	code->file.width = 1;
	if (!ruby_copy_text(runtime, ruby_symbol_name(walk, runtime, walk->function),
		    RUNTIME_TEXT_BEGINNING, &code->name))
		return 0;
	code->hash = runtime_code_hash(code);
	return 1;
}

/* Copies the sequence of the last step. Returns 0 if it makes no sense, or its memory is not
 * present. */
static __always_inline int ruby_copy_sequence(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	__u64 line;

	if (!ruby_hold(walk, runtime_last_seen(walk)->address))
		return 0;
	line = runtime_code_word(walk, runtime->code_first_line_at);
	ruby_begin_copy(code);
	code->first_line = (__s32)(line >> (runtime->first_line_shift & 1));
	if (!ruby_copy_text(runtime, runtime_code_word(walk, runtime->code_name_at),
		    RUNTIME_TEXT_BEGINNING, &code->name) ||
		!ruby_copy_text(runtime, ruby_path(runtime_code_word(walk, runtime->code_file_at)),
			RUNTIME_TEXT_END, &code->file) ||
		!ruby_copy_lines(walk, runtime, code))
		return 0;
	code->hash = runtime_code_hash(code);
	return 1;
}

/* Copies what the last step led to. */
static __always_inline int ruby_copy_code(struct runtime_walk *walk,
	const struct pilotlight_runtime *runtime, struct pilotlight_runtime_code *code)
{
	return walk->function ? ruby_copy_function(walk, runtime, code)
			      : ruby_copy_sequence(walk, runtime, code);
}

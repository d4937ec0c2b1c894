/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the function that a native frame of V8 runs, and copies what it is called, as V8's
 * description says (pilotlight/runtime_v8.h). No version of V8 is known here. The memory belongs to
 * the process, and may say anything: each object is proved by its type, a bounded number of bytes
 * is read, and what makes no sense is no function. It also compiles for the host.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_code.bpf.h"

#include "pilotlight/runtime_v8.h"

enum {
	V8_WORD = sizeof(__u64),
	V8_WORDS = PILOTLIGHT_V8_OBJECT_MAX / V8_WORD,
	V8_WAITING_MAX = 4, /* a power of two */
	V8_PARTS_MAX = 10,
	V8_STRING_STEPS = 4,	/* from a string to the one that has its characters */
	V8_LINE_ENDS_BITS = 22, /* an array of fewer than 2 to that is searched */
	/* The second half of a table; the first has the marks of line ends. */
	V8_CHUNK_BYTES = PILOTLIGHT_RUNTIME_TABLE_MAX / 2,
	V8_CHUNK_WORDS = V8_CHUNK_BYTES / V8_WORD,
	V8_CHUNKS_MAX = 32, /* of source, in which line ends are counted */
	V8_PROVED = 8,	    /* a power of two */
	V8_OF_SCRIPT = 1,   /* of the check of a function, unless it is V8's own */
};

/* The words of a frame, from the one that is that far before the function. V8's interpreter and its
 * first compiler have all of them. */
enum {
	V8_FRAME_PLACE, /* in the bytecodes; code of the first compiler has no place there */
	V8_FRAME_BYTECODES,
	V8_FRAME_ARGUMENTS,
	V8_FRAME_FUNCTION,
	V8_FRAME_CONTEXT,
	V8_FRAME_WORDS,
};

/* What an object says that this sample has proved: its thread stands still, so nothing moves. The
 * place follows from the address. */
struct v8_proved {
	__u64 object, word;
};

/* The function of a frame. */
struct runtime_v8 {
	struct v8_proved functions[V8_PROVED]; /* what closures share; 0: it is no function */
	struct v8_proved shared[V8_PROVED];    /* the check of the function */
	struct v8_proved maps[V8_PROVED];      /* the type */
	struct v8_proved scripts[V8_PROVED];   /* a hash; 0: it is no script */
	__u64 shared_name, script;
	__u64 name, inferred, start, end; /* `start`: its place in the source */
	__u64 script_name, source, line_ends;
	__u64 source_at; /* the address of the part of the source that is read */
	__u32 source_bytes;
	__u32 source_wide; /* characters have 2 bytes */
	/* Of optimized code: tables, see struct pilotlight_v8_code. */
	__u64 deopt, positions, literals, inlinings;
	__u64 outer;		    /* what its function shares, or should */
	__u64 function;		    /* of the frame that was read, perhaps */
	__u64 seen_owner, seen_key; /* see runtime_v8_seen.bpf.h; 0: none */
	/* Of a frame whose code is not optimized, perhaps: what has its table; 0: nothing. */
	__u64 table;
	__s32 table_unit; /* what runs */
	__u64 bytecodes;
	__u64 pcs;    /* the table of code of the first compiler; 0: they are interpreted */
	__u64 search; /* where the object before the instructions may be; then below */
	__u64 page;   /* was copied last */
	__u32 steps;  /* of the searches of this sample */
	__u32 function_count, inlining_count;
	__u32 identified; /* so many functions of the code that is copied */
	__u32 is_in_code; /* some code is being copied */
	__u32 at;	  /* the native frame */
	struct runtime_step code_step;
	/* The string that is read: where its characters are, or its parts. */
	__u64 address, first, second;
	__u32 count, width;
	__u64 waiting[V8_WAITING_MAX]; /* parts that come behind */
	__u64 words[V8_WORDS];	       /* of the last object */
};

static __always_inline int v8_is_object(__u64 word)
{
	return (word & PILOTLIGHT_V8_TAG_MASK) == PILOTLIGHT_V8_OBJECT;
}

static __always_inline int v8_read_bytes(void *bytes, __u32 size, __u64 object, __u32 at)
{
	return v8_is_object(object) &&
	       can_copy_user(bytes, size, object - PILOTLIGHT_V8_OBJECT + at);
}

static __always_inline int v8_read_word(__u64 *word, __u64 object, __u32 at)
{
	return v8_read_bytes(word, sizeof(*word), object, at);
}

/* Reads an object up to the word at `last`. */
static __always_inline int v8_read_object(struct runtime_v8 *v8, __u64 object, __u32 last)
{
	__u32 size = last + V8_WORD;

	return size <= sizeof(v8->words) && v8_read_bytes(v8->words, size, object, 0);
}

/* The word at `at` of the last object. The asm keeps the compiler from removing the bound. */
static __always_inline __u64 v8_word(const struct runtime_v8 *v8, __u32 at)
{
	at = at / V8_WORD & (V8_WORDS - 1);
	__asm__ volatile("" : "+r"(at));
	return v8->words[at & (V8_WORDS - 1)];
}

static __always_inline __u32 v8_type(const struct pilotlight_runtime_v8 *runtime, __u64 map)
{
	__u16 type;

	return v8_read_bytes(&type, sizeof(type), map, runtime->map_type_at) ? type : (__u32)-1;
}

static __always_inline struct v8_proved *v8_proved(struct v8_proved proved[V8_PROVED], __u64 object)
{
	__u32 at = (__u32)(runtime_hash(0, object) >> 32) & (V8_PROVED - 1);

	__asm__ volatile("" : "+r"(at));
	return &proved[at & (V8_PROVED - 1)];
}

/* Is the last object of such a type? */
static __always_inline int v8_has_type(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u32 first, __u32 last)
{
	__u64 map = v8->words[0];
	struct v8_proved *proved = v8_proved(v8->maps, map);

	if (proved->object != map) {
		proved->word = v8_type(runtime, map);
		proved->object = map;
	}
	return proved->word >= first && proved->word <= last;
}

/* Notes what a scope says of its function. */
static __always_inline int v8_read_scope(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 scope)
{
	__u64 locals = v8_word(v8, runtime->scope_locals_at) >> PILOTLIGHT_V8_NUMBER_SHIFT;
	__u64 behind[5] = { 0, 0, 0, 0, 0 }, at = runtime->scope_locals_begin_at;

	if (runtime->scope_start_at != PILOTLIGHT_RUNTIME_NONE) {
		v8->start = v8_word(v8, runtime->scope_start_at);
		v8->end = v8_word(v8, runtime->scope_start_at + V8_WORD);
	}
	/* If there are many, a table of their names takes the place of the names. */
	at += locals < PILOTLIGHT_V8_SCOPE_NAMES ? 2 * locals * V8_WORD : (locals + 1) * V8_WORD;
	if (locals >> 20 || !v8_read_bytes(behind, sizeof(behind), scope, (__u32)at))
		return 0;
	v8->name = behind[0];
	/* A function has an inferred name, though it may be undefined; other scopes have none. */
	v8->inferred = behind[2];
	if (runtime->scope_start_at == PILOTLIGHT_RUNTIME_NONE) {
		v8->start = v8_is_object(behind[2]) ? behind[3] : behind[2];
		v8->end = v8_is_object(behind[2]) ? behind[4] : behind[3];
	}
	v8->start >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	v8->end >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	return 1;
}

/* The name of a shared object: a scope, a string, or nothing. */
static __always_inline int v8_read_name(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	__u64 name = v8->shared_name;

	v8->name = v8->inferred = v8->start = v8->end = 0;
	if (!v8_is_object(name))
		return 1;
	if (!v8_read_object(v8, name, 0))
		return 0;
	v8->name = name;
	if (v8_type(runtime, v8->words[0]) != runtime->scope_type)
		return 1;
	return v8_read_object(v8, name, runtime->scope_locals_begin_at - V8_WORD) &&
	       v8_read_scope(v8, runtime, name);
}

/* Is there a script, and can it be read? Functions of V8 have none. */
static __always_inline int v8_read_script(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	return v8_read_object(v8, v8->script, runtime->script_id_at) &&
	       v8_has_type(v8, runtime, runtime->script_type, runtime->script_type);
}

/* Reads what the names and the line of the function that was found are made of. */
static __always_inline int v8_read_function(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	v8->script_name = v8->source = v8->line_ends = 0;
	if (v8_read_script(v8, runtime)) {
		v8->script_name = v8_word(v8, runtime->script_name_at);
		v8->source = v8_word(v8, runtime->script_source_at);
		v8->line_ends = v8_word(v8, runtime->script_line_ends_at);
	}
	return v8_read_name(v8, runtime);
}

/* A script's number tells it from others that had its address, and the function's number the
 * function. One of V8's own is told by the hash of its name. The lowest bit is V8_OF_SCRIPT. */
static __always_inline __u64 v8_check(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 number)
{
	__u64 check = runtime_hash(runtime_hash(0, v8->shared_name), number);
	struct v8_proved *proved = v8_proved(v8->scripts, v8->script);

	if (proved->object != v8->script) {
		proved->object = v8->script;
		proved->word =
			v8_read_script(v8, runtime)
				? runtime_hash(v8->script, v8_word(v8, runtime->script_id_at))
				: 0;
	}
	if (proved->word)
		return runtime_hash(check, proved->word) | V8_OF_SCRIPT;
	if (v8_read_object(v8, v8->shared_name, V8_WORD))
		check = runtime_hash(check, v8->words[1]);
	return check & ~(__u64)V8_OF_SCRIPT;
}

/* What the closures of a function share; 0: it is no function. */
static __always_inline __u64 v8_shared_of(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 function)
{
	struct v8_proved *proved = v8_proved(v8->functions, function);

	if (proved->object != function) {
		proved->object = function;
		proved->word =
			v8_read_object(v8, function, runtime->function_shared_at) &&
					v8_has_type(v8, runtime, runtime->function_type_first,
						runtime->function_type_last)
				? v8_word(v8, runtime->function_shared_at)
				: 0;
	}
	return proved->word;
}

/* Notes which bytecodes the frame has whose words were read, if it is of a kind that has some. */
static __always_inline void v8_note_bytecodes(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	__u64 place = v8->words[V8_FRAME_PLACE];

	v8->pcs = 0;
	v8->bytecodes = v8->words[V8_FRAME_BYTECODES];
	v8->table_unit = (__s32)(place >> PILOTLIGHT_V8_NUMBER_SHIFT) -
			 (runtime->bytecodes_data_at - PILOTLIGHT_V8_OBJECT);
	v8->table = runtime->bytecodes_type != 0 && v8_is_object(v8->bytecodes) && !(__u32)place &&
				    v8->table_unit >= 0
			    ? v8->bytecodes
			    : 0;
}

/* Reads the frame with this frame pointer. Returns 0 if it has no function. */
static __always_inline int v8_read_frame(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 fp)
{
	fp += (__s64)runtime->frame_function_at - V8_FRAME_FUNCTION * V8_WORD;
	if (!can_copy_user(v8->words, V8_FRAME_WORDS * V8_WORD, fp) ||
		!v8_is_object(v8->words[V8_FRAME_CONTEXT]))
		return 0;
	v8->function = v8->words[V8_FRAME_FUNCTION];
	v8_note_bytecodes(v8, runtime);
	return 1;
}

/* The function that shares this: code 0 if it is none. */
static __always_inline void runtime_v8_prove(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, __u64 shared, struct runtime_step *step)
{
	step->code = step->mark = 0;
	step->unit = -1;
	if (!v8_read_object(v8, shared, runtime->shared_number_at) ||
		!v8_has_type(v8, runtime, runtime->shared_type, runtime->shared_type))
		return;
	v8->shared_name = v8_word(v8, runtime->shared_name_at);
	v8->script = v8_word(v8, runtime->shared_script_at);
	step->check = v8_check(v8, runtime, v8_word(v8, runtime->shared_number_at));
	step->code = shared;
}

/* A sample: nothing is proved yet, and nothing is at 0 or has its map there. */
static __always_inline void runtime_v8_begin(struct runtime_v8 *v8)
{
	__builtin_memset(v8->functions, 0, sizeof(v8->functions));
	__builtin_memset(v8->shared, 0, sizeof(v8->shared));
	__builtin_memset(v8->maps, 0, sizeof(v8->maps));
	__builtin_memset(v8->scripts, 0, sizeof(v8->scripts));
	v8->is_in_code = v8->at = v8->steps = 0;
}

enum v8_string { V8_NO_STRING, V8_STRING, V8_JOINED, V8_UNREADABLE };

/* Notes where the characters of a string are, or of a joined one the parts. */
static __always_inline enum v8_string v8_find_characters(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 string)
{
	v8->address = 0; /* so many characters are skipped */
	for (__u32 i = 0; i < V8_STRING_STEPS; i++) {
		__u32 type, length;
		__u64 map, second;

		if (!v8_read_word(&map, string, 0) ||
			!v8_read_bytes(&length, sizeof(length), string, runtime->string_length_at))
			return V8_UNREADABLE;
		type = v8_type(runtime, map);
		if (type >= PILOTLIGHT_V8_STRINGS)
			return type >> 16 ? V8_UNREADABLE : V8_NO_STRING;
		if (i == 0)
			v8->count = length;
		v8->width = type & PILOTLIGHT_V8_STRING_NARROW ? 1 : 2;
		type &= PILOTLIGHT_V8_STRING_KINDS | PILOTLIGHT_V8_STRING_UNCACHED;
		second = string - PILOTLIGHT_V8_OBJECT + runtime->string_characters_at;
		if ((type & PILOTLIGHT_V8_STRING_KINDS) != PILOTLIGHT_V8_STRING_HERE &&
			!v8_read_word(&second, string, runtime->string_second_at))
			return V8_UNREADABLE;
		if ((type & PILOTLIGHT_V8_STRING_KINDS) == PILOTLIGHT_V8_STRING_HERE ||
			type == PILOTLIGHT_V8_STRING_OUTSIDE) {
			v8->address = second + v8->address * v8->width;
			return v8->count <= RUNTIME_LENGTH_MAX ? V8_STRING : V8_UNREADABLE;
		}
		if (!v8_read_word(&string, string, runtime->string_other_at))
			return V8_UNREADABLE;
		type &= PILOTLIGHT_V8_STRING_KINDS;
		if (type == PILOTLIGHT_V8_STRING_JOINED) {
			if (!v8_read_bytes(
				    &length, sizeof(length), second, runtime->string_length_at))
				return V8_UNREADABLE;
			v8->first = string;
			v8->second = second;
			if (length != 0)
				return V8_JOINED;
		} else if (type == PILOTLIGHT_V8_STRING_PART) {
			v8->address += second >> PILOTLIGHT_V8_NUMBER_SHIFT;
		} else if (type != PILOTLIGHT_V8_STRING_SAME) {
			return V8_UNREADABLE;
		}
	}
	return V8_UNREADABLE;
}

/* Appends the string that was found, or as much as there is room for. Returns 0 if it cannot be
 * read. The text is within a record, which is longer by more than a text. */
static __always_inline int v8_append(const struct runtime_v8 *v8, enum runtime_text_part part,
	struct pilotlight_runtime_text *text)
{
	__u64 address = v8->address, bytes = (__u64)v8->count * v8->width, at = text->bytes, room;

	at &= PILOTLIGHT_RUNTIME_TEXT_MAX - 1;
	room = PILOTLIGHT_RUNTIME_TEXT_MAX - at;
	if (at > 0 && text->width != v8->width) {
		text->flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
		return 1;
	}
	text->width = v8->width;
	if (bytes > room) {
		if (part == RUNTIME_TEXT_END)
			address += bytes - room;
		bytes = room & ~1ULL;
		text->flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	/* Linux 6.1 does not see a bound in a comparison of two registers. */
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > PILOTLIGHT_RUNTIME_TEXT_MAX)
		return 0;
	if (bytes > 0 && !can_copy_user(text->characters + at, (__u32)bytes, address))
		return 0;
	text->bytes = (__u16)(at + bytes);
	return 1;
}

/*
 * Copies a string, of its parts the first ones, or of a path the last one. What is no string is a
 * text of no bytes. Returns 0 if it cannot be read.
 */
static __always_inline int v8_copy_text(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, __u64 string, enum runtime_text_part part,
	struct pilotlight_runtime_text *text)
{
	__u32 depth = 0;

	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	if (!v8_is_object(string))
		return 1;
	for (__u32 i = 0; i < V8_PARTS_MAX; i++) {
		enum v8_string found = v8_find_characters(v8, runtime, string);

		if (found == V8_JOINED && part == RUNTIME_TEXT_END) {
			text->flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
			string = v8->second;
			continue;
		}
		if (found == V8_JOINED && depth < V8_WAITING_MAX) {
			v8->waiting[depth++ & (V8_WAITING_MAX - 1)] = v8->second;
			string = v8->first;
			continue;
		}
		if (found != V8_STRING)
			return found == V8_NO_STRING && i == 0;
		if (!v8_append(v8, part, text))
			return 0;
		if (depth == 0 || text->bytes >= PILOTLIGHT_RUNTIME_TEXT_MAX ||
			(part == RUNTIME_TEXT_BEGINNING && text->flags))
			return 1;
		string = v8->waiting[--depth & (V8_WAITING_MAX - 1)];
	}
	text->flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	return 1;
}

/* The name, else the inferred one, and the file. Returns 0 if they cannot be read. */
static __always_inline int v8_copy_texts(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, struct pilotlight_runtime_code *code)
{
	__u64 name = v8->name;

	for (__u32 i = 0; i < 2; i++) {
		if (!v8_copy_text(v8, runtime, name, RUNTIME_TEXT_BEGINNING, &code->name))
			return 0;
		if (code->name.bytes != 0)
			break;
		name = v8->inferred;
	}
	return v8_copy_text(v8, runtime, v8->script_name, RUNTIME_TEXT_END, &code->file);
}

/* --- The function's first line --- */

/* By the array of line ends, if V8 has made it. 0: it has not. */
static __always_inline __u32 v8_find_line(
	const struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	__u64 map, count, end, first = 0;

	if (!v8_read_word(&map, v8->line_ends, 0) || v8_type(runtime, map) != runtime->array_type ||
		!v8_read_word(&count, v8->line_ends, runtime->array_length_at))
		return 0;
	count >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	if (count == 0 || count >> V8_LINE_ENDS_BITS)
		return 0;
	/* The number of ends before the function. */
	for (__u32 i = 0; i <= V8_LINE_ENDS_BITS && count > 0; i++) {
		__u64 half = count / 2;

		if (!v8_read_word(&end, v8->line_ends,
			    runtime->array_data_at + (__u32)(first + half) * V8_WORD))
			return 0;
		if (end >> PILOTLIGHT_V8_NUMBER_SHIFT < v8->start) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return (__u32)first + 1;
}

/* Else they are counted in the source. Returns 0 if too much of it is before the function. */
static __always_inline int v8_find_source(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	if (v8_find_characters(v8, runtime, v8->source) != V8_STRING)
		return 0;
	v8->source_at = v8->address;
	v8->source_wide = v8->width - 1;
	v8->source_bytes = (__u32)(v8->start * v8->width);
	return v8->start <= v8->count && v8->source_bytes <= V8_CHUNKS_MAX * V8_CHUNK_BYTES;
}

/* The function's own part of the source, as much of it as there are marks for. */
static __always_inline int v8_find_own_source(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	__u64 count;

	if (v8_find_characters(v8, runtime, v8->source) != V8_STRING || v8->end <= v8->start ||
		v8->end > v8->count)
		return 0;
	count = v8->end - v8->start;
	if (count > PILOTLIGHT_V8_MARKS_MAX * 8)
		count = PILOTLIGHT_V8_MARKS_MAX * 8;
	v8->source_at = v8->address + v8->start * v8->width;
	v8->source_wide = v8->width - 1;
	v8->source_bytes = (__u32)(count * v8->width);
	return 1;
}

/* Copies a chunk of the source, and zeros behind it to the end of a word. Returns its bytes; 0: it
 * cannot be read. */
static __always_inline __u32 v8_copy_chunk(
	const struct runtime_v8 *v8, __u32 at, __u64 chunk[V8_CHUNK_WORDS])
{
	__u32 bytes = v8->source_bytes - at;

	if (bytes >= V8_CHUNK_BYTES)
		return can_copy_user(chunk, V8_CHUNK_BYTES, v8->source_at + at) ? V8_CHUNK_BYTES
										: 0;
	chunk[bytes / V8_WORD & (V8_CHUNK_WORDS - 1)] = 0;
	return bytes > 0 && can_copy_user(chunk, bytes, v8->source_at + at) ? bytes : 0;
}

/* For each character of a word, 1 if it ends a line: in the character's lowest bit. */
static __always_inline __u64 v8_line_ends(__u64 word, int is_wide)
{
	/* A character that is an end becomes 0, and then only its highest bit 1. */
	__u64 ends = is_wide ? 0x000a000a000a000aULL : 0x0a0a0a0a0a0a0a0aULL;
	__u64 rest = is_wide ? 0x7fff7fff7fff7fffULL : 0x7f7f7f7f7f7f7f7fULL;

	word ^= ends;
	return ~((((word & rest) + rest) | word) | rest) >> (is_wide ? 15 : 7);
}

/* The number of line ends in it. */
static __always_inline __u32 v8_count_lines(
	const __u64 chunk[V8_CHUNK_WORDS], __u32 bytes, int is_wide)
{
	__u64 ones = is_wide ? 0x0001000100010001ULL : 0x0101010101010101ULL;
	__u32 count = 0;

	for (__u32 i = 0; i < V8_CHUNK_WORDS && i * V8_WORD < bytes; i++)
		count += v8_line_ends(chunk[i], is_wide) * ones >> (is_wide ? 48 : 56);
	return count;
}

/* Writes the marks of a chunk, a byte for each word, or half of one, and zeros behind them. */
static __always_inline void v8_mark_lines(
	const __u64 chunk[V8_CHUNK_WORDS], __u32 bytes, int is_wide, __u64 *words)
{
	__u8 *marks = (__u8 *)words;

	__builtin_memset(words, 0, V8_CHUNK_WORDS);
	/* The factors move the bits of all characters to the top of the word. */
	if (is_wide) {
		for (__u32 i = 0; i < V8_CHUNK_WORDS && i * V8_WORD < bytes; i++) {
			__u64 found = v8_line_ends(chunk[i], 1) * 0x0001000200040008ULL;

			marks[i / 2] |= (__u8)((found >> 48 & 15) << i % 2 * 4);
		}
	} else {
		for (__u32 i = 0; i < V8_CHUNK_WORDS && i * V8_WORD < bytes; i++)
			marks[i] = (__u8)(v8_line_ends(chunk[i], 0) * 0x0102040810204080ULL >> 56);
	}
}

/* All but the texts, and the hash, without the lines: they cannot always be found. */
static __always_inline void v8_finish_code(
	const struct runtime_v8 *v8, struct pilotlight_runtime_code *code, __u32 line)
{
	code->language = PILOTLIGHT_RUNTIME_V8;
	code->lines = PILOTLIGHT_RUNTIME_LINE_ENDS;
	code->reserved = 0;
	code->first_line = 0;
	code->line_bytes = sizeof(v8->start);
	code->line_bytes_all = sizeof(v8->start);
	__builtin_memcpy(code->table, &v8->start, sizeof(v8->start));
	code->hash = runtime_code_hash(code);
	code->first_line = (__s32)line;
}

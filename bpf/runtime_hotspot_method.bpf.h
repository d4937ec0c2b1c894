/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proves that an address is a method of HotSpot's, and copies what it is called and where its lines
 * are. A method leads to its constant part, that to the constant pool, and the pool to its class:
 * the class must lead back to the pool. It also compiles for the host.
 *
 * The includer defines can_copy_user().
 */
#pragma once

#include "runtime_code.bpf.h"
#include "runtime_hotspot.bpf.h"

enum {
	/* Compressed numbers: bytes from here on have a successor, up to five in all. */
	HOTSPOT_NUMBER_MORE = 192,
	HOTSPOT_NUMBER_BYTES = 5,
	HOTSPOT_LINES_ESCAPE = 0xff, /* two numbers follow */
	HOTSPOT_HAS_LINES = 1,
	HOTSPOT_HIDDEN = '+', /* in a class's name: what follows is made up by each process */
	HOTSPOT_TABLE = sizeof(struct pilotlight_hotspot_table),
	HOTSPOT_STUB_NAME_MAX = 64,
	HOTSPOT_CLASSES = 8, /* a power of two */
};

/* Of bytes. The asm keeps the compiler from making branches of it, which the verifier follows. */
static __always_inline __u32 differs(__u32 byte, __u32 other)
{
	__u32 answer = ((byte ^ other) + 0xff) >> 8 & 1;

	__asm__ volatile("" : "+r"(answer));
	return answer;
}

static __always_inline __u32 is_at_most_byte(__u32 byte, __u32 most)
{
	__u32 answer = (most + 0x100 - byte) >> 8 & 1;

	__asm__ volatile("" : "+r"(answer));
	return answer;
}

/* Of numbers below 2^31. */
static __always_inline __u32 is_below(__u32 number, __u32 other)
{
	__u32 difference = number - other;

	__asm__ volatile("" : "+r"(difference));
	return difference >> 31;
}

/* What a proved method consists of. */
struct hotspot_method {
	__u64 constant; /* address of its ConstMethod */
	__u64 pool, class, class_name;
};

/* A class to which its constant pool has led, and back. */
struct hotspot_class {
	__u64 pool; /* 0: the entry is empty */
	__u64 class, name;
};

static __always_inline int hotspot_copy_word(__u64 *word, __u64 address, __u32 at)
{
	return address && can_copy_user(word, sizeof(*word), address + at);
}

/* The number of the bytecode at `bytecode`; -1: it is not in the method. */
static __always_inline __s32 hotspot_unit(const struct hotspot_method *method,
	const struct hotspot_blob *blob, const struct pilotlight_runtime_hotspot *runtime,
	__u64 bytecode)
{
	__u64 unit = bytecode - method->constant - runtime->const_bytes;

	return unit < hotspot_short(blob, runtime->const_code_at) ? (__s32)unit : -1;
}

/* Finds and proves the class of a constant pool, or takes it from those that the same sample has
 * proved: half of the methods of a deep stack are of the classes of others there. */
static __always_inline int hotspot_prove_class(struct hotspot_class classes[HOTSPOT_CLASSES],
	const struct pilotlight_runtime_hotspot *runtime, struct hotspot_method *method)
{
	__u32 at = (__u32)(runtime_hash(0, method->pool) >> 32) & (HOTSPOT_CLASSES - 1);
	struct hotspot_class *known;
	__u64 pool;

	__asm__ volatile("" : "+r"(at));
	known = &classes[at & (HOTSPOT_CLASSES - 1)];
	if (!method->pool || known->pool != method->pool) {
		known->pool = 0;
		if (!hotspot_copy_word(&known->class, method->pool, runtime->pool_class_at) ||
			!hotspot_copy_word(&pool, known->class, runtime->class_pool_at) ||
			pool != method->pool ||
			!hotspot_copy_word(&known->name, known->class, runtime->class_name_at) ||
			!known->name)
			return 0;
		known->pool = pool;
	}
	method->class = known->class;
	method->class_name = known->name;
	return 1;
}

/* Reads and proves the method at `address`. Sets the step's code object and what it is known by. */
static __always_inline int hotspot_prove(struct hotspot_method *method, struct hotspot_blob *blob,
	struct hotspot_class classes[HOTSPOT_CLASSES],
	const struct pilotlight_runtime_hotspot *runtime, __u64 address, struct runtime_step *step)
{
	__u64 check;

	step->code = 0;
	if (address % HOTSPOT_WORD != 0 ||
		!hotspot_copy_word(&method->constant, address, runtime->method_const_at) ||
		!method->constant ||
		!can_copy_user(blob->words, PILOTLIGHT_HOTSPOT_CONST_MAX, method->constant))
		return 0;
	method->pool = hotspot_word(blob, runtime->const_pool_at);
	if (!hotspot_prove_class(classes, runtime, method))
		return 0;
	check = runtime_hash(runtime_hash(method->constant, method->class_name), method->pool);
	step->check = runtime_hash(check, (__u64)hotspot_short(blob, runtime->const_name_at) << 16 |
						  hotspot_short(blob, runtime->const_code_at));
	step->code = address;
	return 1;
}

/* Appends the characters of a symbol to `to`, which has `at` of `most`. Returns how many it has
 * then, or -1 if they cannot be read. Of a long one the part that is asked for. */
static __always_inline __s32 hotspot_append(const struct pilotlight_runtime_hotspot *runtime,
	__u64 symbol, enum runtime_text_part part, __u8 *to, __u32 at, __u32 most, __u8 *flags)
{
	__u64 from, room, bytes;
	__u16 length;

	if (!symbol || !can_copy_user(&length, sizeof(length), symbol + runtime->symbol_length_at))
		return -1;
	from = symbol + runtime->symbol_text_at;
	bytes = length;
	at &= most - 1;
	room = most - at;
	if (bytes > room) {
		if (part == RUNTIME_TEXT_END)
			from += bytes - room;
		bytes = room;
		*flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	}
	/* Linux 6.1 does not see a bound in a comparison of two registers. */
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > most || (bytes > 0 && !can_copy_user(to + at, (__u32)bytes, from)))
		return -1;
	return (__s32)(at + bytes);
}

/* The symbol at an index in the pool; 0: none. */
static __always_inline __u64 hotspot_symbol(const struct pilotlight_runtime_hotspot *runtime,
	const struct hotspot_method *method, __u32 index)
{
	__u64 symbol;

	return hotspot_copy_word(
		       &symbol, method->pool, runtime->pool_bytes + (index & 0xffff) * HOTSPOT_WORD)
		       ? symbol & ~1ULL
		       : 0;
}

/* The name with the signature: "add(II)I". */
static __always_inline int hotspot_copy_name(const struct pilotlight_runtime_hotspot *runtime,
	const struct hotspot_method *method, const struct hotspot_blob *blob,
	struct pilotlight_runtime_text *text)
{
	__s32 bytes = 0;

	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	bytes = hotspot_append(runtime,
		hotspot_symbol(runtime, method, hotspot_short(blob, runtime->const_name_at)),
		RUNTIME_TEXT_BEGINNING, text->characters, 0, PILOTLIGHT_RUNTIME_TEXT_MAX,
		&text->flags);
	if (bytes > 0 && bytes < PILOTLIGHT_RUNTIME_TEXT_MAX)
		bytes = hotspot_append(runtime,
			hotspot_symbol(
				runtime, method, hotspot_short(blob, runtime->const_signature_at)),
			RUNTIME_TEXT_BEGINNING, text->characters, (__u32)bytes,
			PILOTLIGHT_RUNTIME_TEXT_MAX, &text->flags);
	text->bytes = (__u16)bytes;
	return bytes > 0;
}

/* The class: "java/lang/String". */
static __always_inline int hotspot_copy_class(const struct pilotlight_runtime_hotspot *runtime,
	const struct hotspot_method *method, struct pilotlight_runtime_text *text)
{
	__builtin_memset(text, 0, sizeof(*text));
	text->width = 1;
	return hotspot_append(runtime, method->class_name, RUNTIME_TEXT_END, text->characters, 0,
		       PILOTLIGHT_RUNTIME_TEXT_MAX, &text->flags) > 0;
}

/* Cuts off what hides a class, and what is behind a 0. */
static __always_inline void hotspot_end_text(struct pilotlight_runtime_text *text)
{
	__u32 kept = 1, bytes = 0;

	for (__u32 i = 0; i < PILOTLIGHT_RUNTIME_TEXT_MAX; i++) {
		__u32 character = text->characters[i];

		kept &= differs(character, HOTSPOT_HIDDEN) & differs(character, 0);
		text->characters[i] = (__u8)(character * kept);
		bytes += kept;
	}
	text->bytes = (__u16)bytes;
}

static __always_inline void hotspot_copy_source(const struct pilotlight_runtime_hotspot *runtime,
	const struct hotspot_method *method, struct pilotlight_runtime_code *code)
{
	struct pilotlight_hotspot_table *head = (struct pilotlight_hotspot_table *)code->table;
	__u8 flags = 0;
	__u64 symbol;
	__u16 index;
	__s32 bytes;

	__builtin_memset(head, 0, sizeof(*head));
	head->has_no_zeros = !!(runtime->flags & PILOTLIGHT_HOTSPOT_NO_ZEROS);
	if (!can_copy_user(&index, sizeof(index),
		    runtime->pool_source_at != PILOTLIGHT_RUNTIME_NONE
			    ? method->pool + runtime->pool_source_at
			    : method->class + runtime->class_source_at) ||
		index == 0)
		return;
	symbol = hotspot_symbol(runtime, method, index);
	bytes = hotspot_append(runtime, symbol, RUNTIME_TEXT_BEGINNING, head->source, 0,
		PILOTLIGHT_HOTSPOT_SOURCE_MAX, &flags);
	if (bytes < 0 || flags) /* half a name is none */
		__builtin_memset(head->source, 0, sizeof(head->source));
	else
		head->source_bytes = (__u8)bytes;
}

/* Sets what is the same in all records. */
static __always_inline void hotspot_begin_record(struct pilotlight_runtime_code *code)
{
	code->language = PILOTLIGHT_RUNTIME_HOTSPOT;
	code->lines = PILOTLIGHT_RUNTIME_BYTECODES;
	code->first_line = 0;
	code->reserved = 0;
	code->line_bytes = 0;
}

/* The record of a stub: a name, up to its 0, without a class and lines. */
static __always_inline int hotspot_copy_stub(
	const struct hotspot_blob *blob, struct pilotlight_runtime_code *code)
{
	hotspot_begin_record(code);
	__builtin_memset(&code->name, 0, sizeof(code->name));
	__builtin_memset(&code->file, 0, sizeof(code->file));
	__builtin_memset(code->table, 0, HOTSPOT_TABLE);
	code->name.width = code->file.width = 1;
	code->line_bytes = HOTSPOT_TABLE;
	code->line_bytes_all = HOTSPOT_TABLE;
	if (!can_copy_user(code->name.characters, HOTSPOT_STUB_NAME_MAX, blob->name))
		return 0;
	hotspot_end_text(&code->name);
	return code->name.bytes != 0;
}

/* Copies as much of the lines as there is room for, and sets the rest of the record. */
static __always_inline void hotspot_copy_lines(const struct pilotlight_runtime_hotspot *runtime,
	const struct hotspot_method *method, const struct hotspot_blob *blob,
	struct pilotlight_runtime_code *code)
{
	__u64 at = runtime->const_bytes + hotspot_short(blob, runtime->const_code_at), bytes;

	hotspot_begin_record(code);
	bytes = (__u64)hotspot_number(blob, runtime->const_size_at) * HOTSPOT_WORD;
	if (!(hotspot_short(blob, runtime->const_flags_at) & HOTSPOT_HAS_LINES) || bytes <= at)
		return;
	bytes -= at;
	if (bytes > PILOTLIGHT_HOTSPOT_LINES_MAX)
		bytes = PILOTLIGHT_HOTSPOT_LINES_MAX;
	if (can_copy_user(code->table + HOTSPOT_TABLE, (__u32)bytes, method->constant + at))
		code->line_bytes = (__u16)bytes;
}

/* The search for the end of the lines that were copied, the 0. What is behind belongs to other
 * things, which differ between processes. */
struct hotspot_line_search {
	__u32 at;
	__u32 left; /* numbers that follow an escape, times 8, plus bytes of one */
	__u32 length;
	__u32 is_open, has_end;
};

enum { HOTSPOT_LINES_PART = 32 };

static __always_inline void hotspot_begin_search(
	struct hotspot_line_search *search, const struct pilotlight_runtime_code *code)
{
	search->at = search->left = search->length = 0;
	search->is_open = 1;
	search->has_end = code->line_bytes == 0;
}

/* Searches a part. Returns 0 at the end. */
static __always_inline int hotspot_search_lines(
	struct hotspot_line_search *search, const struct pilotlight_runtime_code *code)
{
	__u32 bytes = code->line_bytes, left = search->left, length = search->length,
	      is_open = search->is_open, has_end = search->has_end;
	__u32 first = number_below(PILOTLIGHT_HOTSPOT_LINES_MAX, search->at);
	const __u8 *lines = code->table + HOTSPOT_TABLE + first;

	for (__u32 i = 0; i < HOTSPOT_LINES_PART; i++) {
		__u32 byte = lines[i], is_in = differs(left, 0), read = (left & 7) + 1;
		__u32 goes_on = is_at_most_byte(HOTSPOT_NUMBER_MORE, byte) &
				is_at_most_byte(read, HOTSPOT_NUMBER_BYTES - 1);
		__u32 begins = 1 - differs(byte, HOTSPOT_LINES_ESCAPE);

		is_open &= is_below(first + i, bytes);
		length += is_open;
		has_end |= is_open & (1 - is_in) & (1 - differs(byte, 0));
		is_open &= is_in | differs(byte, 0);
		left = is_in * ((left & ~7U) + goes_on * (read + 8) - 8) +
		       (1 - is_in) * begins * 16;
	}
	search->at = first + HOTSPOT_LINES_PART;
	search->left = left;
	search->length = length;
	search->is_open = is_open;
	search->has_end = has_end;
	return is_open && search->at < PILOTLIGHT_HOTSPOT_LINES_MAX;
}

/* Cuts off what is behind the end that was found. */
static __always_inline void hotspot_end_lines(
	const struct hotspot_line_search *search, struct pilotlight_runtime_code *code)
{
	__u32 length = number_below(2 * PILOTLIGHT_HOTSPOT_LINES_MAX, search->length);

	/* The rest of the last word. */
	*(__u64 *)(code->table + HOTSPOT_TABLE + (length & ~(RUNTIME_WORD - 1U))) &=
		(1ULL << (length & (RUNTIME_WORD - 1)) * 8) - 1;
	code->line_bytes = (__u16)(HOTSPOT_TABLE + length);
	code->line_bytes_all = HOTSPOT_TABLE + length + 1 - search->has_end;
}

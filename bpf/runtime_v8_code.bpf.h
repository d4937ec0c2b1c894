/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which functions code of V8 runs, at which places: bytecodes that are interpreted have such a
 * table as optimized code, of one function.
 *
 * Which functions optimized code of V8 runs: finds the code of an instruction, and copies the table
 * that tells it (struct pilotlight_v8_inlined). The function object does not lead to all code that
 * runs: a loop is compiled while it runs, and code is replaced while it runs. Each object is proved
 * by its type, and the code by the instruction and by the function. So a description that is wrong
 * for this V8 gives nothing, and the function alone is shown. It also compiles for the host.
 */
#pragma once

#include "runtime_v8.bpf.h"

enum {
	V8_SCRATCH_AT = PILOTLIGHT_RUNTIME_TABLE_MAX / 2, /* of a record's table */
	V8_INLINING_BYTES = 16,
	V8_PAGE_BYTES = PILOTLIGHT_RUNTIME_TABLE_MAX,
	V8_PAGE_WORDS = V8_PAGE_BYTES / V8_WORD,
	V8_CODE_BYTES_MAX = 128 << 10, /* in which the code of an instruction is searched */
	V8_SAMPLE_STEPS_MAX = 64, /* of the searches of a sample: pages, and what may be code */
	V8_BASELINE_AT_MAX = 3 * V8_WORD + 2 * PILOTLIGHT_V8_BASELINE_PART_MAX,
	V8_POSITION_BITS =
		PILOTLIGHT_V8_POSITION_INLINING_SHIFT + PILOTLIGHT_V8_POSITION_INLINING_BITS,
};
_Static_assert((__u32)PILOTLIGHT_V8_INLINED_HEAD_MAX < (__u32)V8_SCRATCH_AT, "it is used up");
_Static_assert((__u32)V8_BASELINE_AT_MAX + (__u32)PILOTLIGHT_V8_BASELINE_PART_MAX <=
		       (__u32)PILOTLIGHT_RUNTIME_TABLE_MAX,
	"three parts have room");
_Static_assert(PILOTLIGHT_V8_INLININGS_MAX *V8_INLINING_BYTES <= V8_SCRATCH_AT, "they fit");

/* Is the object at `object` of this type? */
static __always_inline int v8_is_of(
	const struct pilotlight_runtime_v8 *runtime, __u64 object, __u32 type)
{
	__u64 map;

	return v8_read_word(&map, object, 0) && v8_type(runtime, map) == type;
}

/* The field of 4 bytes at `at` of the last object. */
static __always_inline __u32 v8_half(const struct runtime_v8 *v8, __u32 at)
{
	return (__u32)(v8_word(v8, at) >> (at % V8_WORD * 8));
}

/* To find the code of the instruction at `ip`, the memory below it is searched page by page. */
static __always_inline void v8_begin_search(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 ip)
{
	__u64 place = (0 - (__u64)runtime->code.before_bytes) & (PILOTLIGHT_V8_CODE_ALIGNMENT - 1);

	/* No page is at this address. */
	v8->page = 1;
	v8->search = ((ip - place) & ~(PILOTLIGHT_V8_CODE_ALIGNMENT - 1ULL)) + place;
}

/* Copies the page that is searched next, unless that was done. */
static __always_inline int v8_copy_page(struct runtime_v8 *v8, __u64 page[V8_PAGE_WORDS])
{
	__u64 address = v8->search & ~(V8_PAGE_BYTES - 1ULL);

	if (address == v8->page)
		return 1;
	v8->page = address;
	return can_copy_user(page, V8_PAGE_BYTES, address);
}

/* Instructions hardly ever look so. */
static __always_inline int v8_may_be_pointer(__u64 word)
{
	return v8_is_object(word) && word >> 12 && !(word >> 47);
}

/* Searches the copy of a page from its end on. Returns what may be the code, or 0. */
static __always_inline __u64 v8_search_page(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, const __u64 page[V8_PAGE_WORDS])
{
	__u32 at = (__u32)v8->search & (V8_PAGE_BYTES - 1);

	for (__u32 i = 0; i < V8_PAGE_BYTES / PILOTLIGHT_V8_CODE_ALIGNMENT; i++) {
		__u64 object = v8->search + PILOTLIGHT_V8_OBJECT, code;
		__u32 word = at / V8_WORD;

		__asm__ volatile("" : "+r"(word));
		code = page[(word + 1) & (V8_PAGE_WORDS - 1)];
		v8->search -= PILOTLIGHT_V8_CODE_ALIGNMENT;
		if (v8_may_be_pointer(page[word & (V8_PAGE_WORDS - 1)]) && v8_may_be_pointer(code))
			return runtime->code.code_at ? code : object;
		if (at < PILOTLIGHT_V8_CODE_ALIGNMENT)
			break;
		at -= PILOTLIGHT_V8_CODE_ALIGNMENT;
	}
	return 0;
}

enum v8_code { V8_NO_CODE, V8_PLAIN_CODE, V8_BASELINE_CODE, V8_OPTIMIZED_CODE };

/* The last word that is read of deoptimization data. */
static __always_inline __u32 v8_deopt_last(const struct pilotlight_v8_code *fields)
{
	return fields->inlinings_at > fields->function_at ? fields->inlinings_at
							  : fields->function_at;
}

/*
 * Is this the code of the instruction at `ip`? If it is optimized, the step identifies it as code
 * of the function `outer`, and the instruction in it. Its deoptimization data is the last object.
 */
static __always_inline enum v8_code v8_prove_code(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, __u64 code, __u64 ip,
	struct runtime_step *step)
{
	const struct pilotlight_v8_code *fields = &runtime->code;
	__u64 start, offset, check;
	__u32 last = fields->size_at > fields->flags_at ? fields->size_at : fields->flags_at;
	__u32 size, kind;

	if (!v8_read_object(v8, code, last & ~(V8_WORD - 1U)) ||
		!v8_has_type(v8, runtime, fields->type, fields->type))
		return V8_NO_CODE;
	start = fields->start_at == PILOTLIGHT_V8_OBJECT_MAX
			? code - PILOTLIGHT_V8_OBJECT + PILOTLIGHT_V8_OBJECT_MAX
			: v8_word(v8, fields->start_at);
	size = v8_half(v8, fields->size_at);
	offset = ip - start;
	if (offset >= (size & 0x7fffffff))
		return V8_NO_CODE;
	kind = v8_half(v8, fields->flags_at) & PILOTLIGHT_V8_CODE_KINDS;
	if (kind < fields->last_kind)
		return V8_PLAIN_CODE;
	v8->deopt = v8_word(v8, fields->deopt_at);
	v8->positions = v8_word(v8, fields->positions_at);
	if (kind == fields->last_kind) {
		v8->table = code;
		v8->table_unit = (__s32)offset;
		v8->bytecodes = v8->deopt;
		v8->pcs = v8->positions;
		return V8_BASELINE_CODE;
	}
	if (!v8_read_object(v8, v8->deopt, v8_deopt_last(fields)))
		return V8_PLAIN_CODE;
	/* Other code at this place has another function or other tables. */
	check = runtime_hash(runtime_hash(v8->outer, start), size);
	check = runtime_hash(runtime_hash(check, v8->deopt), v8->positions);
	check = runtime_hash(check, v8_word(v8, fields->literals_at));
	step->check = runtime_hash(check, v8_word(v8, fields->inlinings_at));
	step->code = code;
	step->unit = (__s32)offset;
	return V8_OPTIMIZED_CODE;
}

/* The function that is behind a reference, perhaps a weak one, or behind a wrapper. */
static __always_inline __u64 v8_referred(
	const struct pilotlight_runtime_v8 *runtime, __u64 word, int has_wrapper)
{
	word = (word & ~(__u64)PILOTLIGHT_V8_TAG_MASK) | PILOTLIGHT_V8_OBJECT;
	if (has_wrapper && !v8_read_word(&word, word, V8_WORD))
		return 0;
	return word;
}

/* Reads what the deoptimization data of `outer`, the last object, says of the functions in its
 * code. */
static __always_inline int v8_read_deopt(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	const struct pilotlight_v8_code *fields = &runtime->code;
	__u64 count, length;

	if (!v8_has_type(v8, runtime, fields->deopt_type, fields->deopt_type) ||
		v8_word(v8, runtime->array_length_at) >> PILOTLIGHT_V8_NUMBER_SHIFT <=
			(v8_deopt_last(fields) - runtime->array_data_at) / V8_WORD ||
		v8_referred(runtime, v8_word(v8, fields->function_at), fields->has_wrapper) !=
			v8->outer)
		return 0;
	count = v8_word(v8, fields->count_at) >> PILOTLIGHT_V8_NUMBER_SHIFT;
	v8->literals = v8_word(v8, fields->literals_at);
	v8->inlinings = v8_word(v8, fields->inlinings_at);
	if (count >= PILOTLIGHT_V8_FUNCTIONS_MAX ||
		!v8_is_of(runtime, v8->literals, fields->literals_type) ||
		!v8_is_of(runtime, v8->inlinings, fields->inlinings_type) ||
		!v8_is_of(runtime, v8->positions, fields->positions_type) ||
		!v8_read_word(&length, v8->literals, runtime->array_length_at) ||
		length >> PILOTLIGHT_V8_NUMBER_SHIFT < count)
		return 0;
	v8->function_count = (__u32)count + 1;
	return 1;
}

/* Has the frame a table of its bytecodes? A function without a script is one of V8's own, whose
 * frames have other words there. */
static __always_inline int v8_has_table(
	const struct runtime_v8 *v8, const struct runtime_step *step)
{
	return v8->table && step->check & V8_OF_SCRIPT;
}

/* Reads where the table of bytecodes is, if they are those of `outer`. Code of V8's first compiler
 * stands for them, and refers to them in place of deoptimization data. */
static __always_inline int v8_read_bytecodes(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	__u64 data;

	if (!v8_read_word(&data, v8->outer, V8_WORD) ||
		(data != v8->bytecodes && (!v8_read_word(&data, data, runtime->code.deopt_at) ||
						  data != v8->bytecodes)) ||
		!v8_read_object(v8, v8->bytecodes, runtime->bytecodes_positions_at) ||
		!v8_has_type(v8, runtime, runtime->bytecodes_type, runtime->bytecodes_type))
		return 0;
	v8->positions = v8_word(v8, runtime->bytecodes_positions_at);
	v8->inlinings = 0;
	v8->function_count = 1;
	return v8_is_of(runtime, v8->positions, runtime->code.positions_type) &&
	       (!v8->pcs || v8_is_of(runtime, v8->pcs, runtime->code.positions_type));
}

/* What function `at` of the code that was read shares; 0: it cannot be read. */
static __always_inline __u64 v8_inlined_shared(
	const struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u32 at)
{
	__u64 word;

	if (at == 0)
		return v8->outer;
	return v8_read_word(&word, v8->literals, runtime->array_data_at + (at - 1) * V8_WORD)
		       ? v8_referred(runtime, word, 0)
		       : 0;
}

/* Copies the pairs of inlinings to where the rest of the table does not reach, and from there into
 * it, as words. Sets their number, or returns 0. */
static __always_inline int v8_copy_inlinings(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, __u64 *words)
{
	const __u64 *pairs = words + V8_SCRATCH_AT / V8_WORD;
	__u64 bytes, count, first = v8->function_count + 1;

	v8->inlining_count = 0;
	if (!v8->inlinings)
		return 1;
	if (!v8_read_word(&bytes, v8->inlinings, runtime->array_length_at))
		return 0;
	bytes >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	count = bytes / V8_INLINING_BYTES;
	if (bytes % V8_INLINING_BYTES || count > PILOTLIGHT_V8_INLININGS_MAX)
		return 0;
	/* Linux 6.1 does not see the bound in the comparison of the quotient. */
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > V8_SCRATCH_AT ||
		(bytes > 0 && !v8_read_bytes(words + V8_SCRATCH_AT / V8_WORD, (__u32)bytes,
				      v8->inlinings, runtime->array_data_at)))
		return 0;
	for (__u32 i = 0; i < PILOTLIGHT_V8_INLININGS_MAX && i < count; i++) {
		__u64 function = (__u32)(pairs[2 * i + 1] + 1);

		if (function >= v8->function_count)
			return 0;
		words[(first + i) & (V8_SCRATCH_AT / V8_WORD - 1)] =
			(pairs[2 * i] & ((1ULL << V8_POSITION_BITS) - 1)) |
			function << PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT;
	}
	v8->inlining_count = (__u32)count;
	return 1;
}

/* All but the table, and the hash. */
static __always_inline void v8_finish_inlined(
	struct pilotlight_runtime_code *code, __u32 bytes, __u32 bytes_all)
{
	__builtin_memset(&code->name, 0, sizeof(code->name));
	__builtin_memset(&code->file, 0, sizeof(code->file));
	code->name.width = code->file.width = 1;
	code->language = PILOTLIGHT_RUNTIME_V8;
	code->lines = PILOTLIGHT_RUNTIME_INLINED;
	code->reserved = 0;
	code->first_line = 0;
	code->line_bytes = (__u16)bytes;
	code->line_bytes_all = bytes_all;
	code->hash = runtime_code_hash(code);
}

/* The table of the code that was read. `functions`: as words of frames. Returns 0 if it cannot be
 * read. */
static __always_inline int v8_copy_inlined(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime,
	const __u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX], struct pilotlight_runtime_code *code)
{
	__u64 *words = (__u64 *)code->table, length, bytes;
	__u32 at;
	struct pilotlight_v8_inlined head;
	__u32 inlinings;

	if (!v8_copy_inlinings(v8, runtime, words) ||
		!v8_read_word(&length, v8->positions, runtime->array_length_at) || length >> 63)
		return 0;
	/* From memory: the verifier would follow each number that the loop may end with. */
	inlinings = *(volatile __u32 *)&v8->inlining_count;
	length >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	bytes = length < PILOTLIGHT_V8_POSITION_BYTES_MAX ? length
							  : PILOTLIGHT_V8_POSITION_BYTES_MAX;
	for (__u32 i = 0; i < PILOTLIGHT_V8_FUNCTIONS_MAX && i < v8->function_count; i++)
		words[1 + i] = functions[i];
	at = (1 + v8->function_count + inlinings) * V8_WORD & (V8_SCRATCH_AT - 1);
	/* What lies behind the table must not get into the hash. Behind the longest one the mask
	 * leads to the head, which is written later. */
	words[((at + (__u32)bytes) / V8_WORD) & (PILOTLIGHT_RUNTIME_TABLE_MAX / V8_WORD - 1)] = 0;
	head.functions = (__u16)v8->function_count;
	head.inlinings = (__u16)inlinings;
	head.position_bytes = (__u16)bytes;
	head.version = 0;
	__builtin_memcpy(words, &head, sizeof(head));
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > PILOTLIGHT_V8_POSITION_BYTES_MAX ||
		(bytes > 0 && !v8_read_bytes(code->table + at, (__u32)bytes, v8->positions,
				      runtime->array_data_at)))
		return 0;
	v8_finish_inlined(code, (__u32)(at + bytes), (__u32)(at + length));
	return 1;
}

/* Appends the bytes of an array to a table, and zeros to the end of a word. Returns how many they
 * are, or -1. */
static __always_inline __s32 v8_append_array(const struct pilotlight_runtime_v8 *runtime,
	__u64 array, __u32 data_at, __u32 *at, struct pilotlight_runtime_code *code)
{
	__u64 *words = (__u64 *)code->table, bytes;
	__u32 place = *at;

	if (!v8_read_word(&bytes, array, runtime->array_length_at))
		return -1;
	bytes >>= PILOTLIGHT_V8_NUMBER_SHIFT;
	/* Linux 6.1 wants the bounds of these very registers. */
	__asm__ volatile("" : "+r"(bytes), "+r"(place));
	if (place > V8_BASELINE_AT_MAX || bytes > PILOTLIGHT_V8_BASELINE_PART_MAX)
		return -1;
	words[(place + (__u32)bytes) / V8_WORD & (PILOTLIGHT_RUNTIME_TABLE_MAX / V8_WORD - 1)] = 0;
	if (bytes > 0 && !v8_read_bytes(code->table + place, (__u32)bytes, array, data_at))
		return -1;
	*at = (place + (__u32)bytes + V8_WORD - 1) & ~(V8_WORD - 1U);
	return (__s32)bytes;
}

/* The table of code of the first compiler, which was read. Returns 0 if it cannot be read, or is
 * too long. */
static __always_inline int v8_copy_baseline(struct runtime_v8 *v8,
	const struct pilotlight_runtime_v8 *runtime, __u64 function,
	struct pilotlight_runtime_code *code)
{
	__u64 *words = (__u64 *)code->table;
	struct pilotlight_v8_inlined head = { .functions = 1,
		.version = (__u16)(runtime->release >> 16) };
	struct pilotlight_v8_baseline lengths;
	__u32 at = 2 * V8_WORD, lengths_at;
	__s32 bytes;

	bytes = v8_append_array(runtime, v8->positions, runtime->array_data_at, &at, code);
	if (bytes < 0)
		return 0;
	head.position_bytes = (__u16)bytes;
	__builtin_memcpy(words, &head, sizeof(head));
	words[1] = function;
	lengths_at = at;
	at += sizeof(lengths);
	bytes = v8_append_array(runtime, v8->pcs, runtime->array_data_at, &at, code);
	if (bytes < 0)
		return 0;
	lengths.table_bytes = (__u32)bytes;
	bytes = v8_append_array(runtime, v8->bytecodes, runtime->bytecodes_data_at, &at, code);
	if (bytes < 0)
		return 0;
	lengths.bytecode_bytes = (__u32)bytes;
	__builtin_memcpy(
		&words[lengths_at / V8_WORD & (PILOTLIGHT_RUNTIME_TABLE_MAX / V8_WORD - 1)],
		&lengths, sizeof(lengths));
	v8_finish_inlined(code, at, at);
	return 1;
}

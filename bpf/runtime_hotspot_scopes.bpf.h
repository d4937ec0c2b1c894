/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which methods run where a compiled method stands. HotSpot's compilers put methods into others,
 * and keep what they have put where, to go back to the interpreter. A sorted array leads from the
 * offset of an instruction to a scope: a method, a bytecode, and the scope of the caller, up to
 * that of the compiled method itself.
 *
 * There are scopes for the places where a thread may stop: calls, polls and loads that may fail.
 * An instruction between two of them may be of either, or of another method: of their scopes, it
 * has the outer ones that both have. With -XX:+DebugNonSafepoints there are also scopes of other
 * instructions. HotSpot records them where the instructions end, without locals. So an instruction
 * has the next scope, whole, if that one or the last one has no locals. A place where a thread may
 * stop in a method without local variables looks the same. HotSpot's AsyncGetCallTrace always takes
 * the next scope.
 *
 * The memory may say anything: callers have lower offsets, so scopes end, and the last one must be
 * of the compiled method. It also compiles for the host.
 */
#pragma once

#include "branchless.bpf.h"
#include "runtime_hotspot_method.bpf.h"

enum {
	HOTSPOT_PC_BYTES = 16, /* the offset and its scope are in the first 8 */
	HOTSPOT_PC_STEPS = 20, /* of the search: enough for a million */
	HOTSPOT_SCOPES_MAX = 64,
	/* Read of a scope: the first three numbers have up to 15, and of the locals the first one
	 * tells whether there are any. */
	HOTSPOT_SCOPE_BYTES = 16,
	HOTSPOT_METADATA_MAX = 1 << 16,
	HOTSPOT_DIGIT_BITS = 6,
	/* Numbers below 0 in place of a bytecode: the method's entry, its end and the like. */
	HOTSPOT_BYTECODES_LEAST = -8,
};

/* Of a place; addresses have fewer bits. */
#define HOTSPOT_PLACE_BETWEEN (1ULL << 59)

enum hotspot_scope_number {
	SCOPE_CALLER,
	SCOPE_METHOD,
	SCOPE_BYTECODE,
	SCOPE_LOCALS,
	SCOPE_NUMBERS
};

struct hotspot_scopes {
	__u64 pcs, data, metadata; /* addresses */
	__u64 method;		   /* of the last scope */
	/* What has the scopes: an instruction, or with the flag those before it; 0: none. */
	__u64 place;
	__u32 pc_count;
	__u32 next; /* the offset of the next scope; 0: none */
	__u32 last; /* that of the place before, if `place` has the flag; 0: none */
	/* Of hotspot_keep_common(): how far it is, and how many scopes are left. */
	__u32 compared, count, last_count;
	__s32 bytecode;
	__u32 numbers[SCOPE_NUMBERS];
	__u8 bytes[HOTSPOT_SCOPE_BYTES];
};

/* Finds the tables of the blob that was read last. Returns 0 if there are none. */
static __always_inline int hotspot_find_tables(struct hotspot_scopes *scopes,
	const struct pilotlight_runtime_hotspot *runtime, const struct hotspot_blob *blob)
{
	__u32 at = runtime->block_bytes, pcs, end, metadata;
	__u64 base = blob->begin + at;

	if (runtime->scopes_pcs_at == PILOTLIGHT_RUNTIME_NONE)
		return 0;
	metadata = hotspot_number(blob, at + runtime->metadata_at);
	scopes->metadata = base;
	if (runtime->metadata_base_at != PILOTLIGHT_RUNTIME_NONE)
		scopes->metadata = hotspot_word(blob, at + runtime->metadata_base_at);
	if (runtime->flags & PILOTLIGHT_HOTSPOT_SHORT_METADATA)
		metadata = (metadata & 0xffff) + hotspot_number(blob, at + runtime->data_at);
	scopes->metadata += metadata;
	if (runtime->scopes_base_at != PILOTLIGHT_RUNTIME_NONE)
		base = hotspot_word(blob, at + runtime->scopes_base_at);
	pcs = hotspot_number(blob, at + runtime->scopes_pcs_at);
	end = hotspot_number(blob, at + runtime->scopes_pcs_end_at);
	scopes->data = runtime->flags & PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS
			       ? hotspot_word(blob, at + runtime->scopes_data_at)
			       : base + hotspot_number(blob, at + runtime->scopes_data_at);
	scopes->pcs = base + pcs;
	scopes->pc_count = (end - pcs) / HOTSPOT_PC_BYTES;
	return end > pcs;
}

/* Finds the last entry up to an offset in the code, and the first behind it: the scope in the upper
 * half, the offset in the lower; 0: none. */
static __always_inline void hotspot_find_pc(
	const struct hotspot_scopes *scopes, __u32 offset, __u64 *last, __u64 *behind)
{
	__u64 low = 0, count = scopes->pc_count, word;

	*last = 0;
	*behind = 0;
	for (__u32 i = 0; i < HOTSPOT_PC_STEPS && count > 0; i++) {
		__u64 half = count / 2, is_before;

		if (!can_copy_user(
			    &word, sizeof(word), scopes->pcs + (low + half) * HOTSPOT_PC_BYTES))
			break;
		/* The first entry has offset -1. */
		is_before = is_at_most((__u32)word + 1, offset + 1);
		low += is_before * (half + 1);
		count = is_before * (count - half - 1) + (1 - is_before) * half;
		*last = is_before * word + (1 - is_before) * *last;
		*behind = is_before * *behind + (1 - is_before) * word;
	}
	if (count > 0)
		*last = *behind = 0;
}

/* Reads the numbers that a scope begins with. */
static __always_inline void hotspot_read_scope(struct hotspot_scopes *scopes, __u32 excluded)
{
	__u32 which = SCOPE_CALLER, shift = 0, is_number = 1;

	__builtin_memset(scopes->numbers, 0, sizeof(scopes->numbers));
	for (__u32 i = 0; i < HOTSPOT_SCOPE_BYTES; i++) {
		__u32 byte = scopes->bytes[i];
		__u32 goes_on =
			is_at_most_byte(HOTSPOT_NUMBER_MORE, byte) &
			is_at_most_byte(shift, (HOTSPOT_NUMBER_BYTES - 2) * HOTSPOT_DIGIT_BITS);

		scopes->numbers[number_below(SCOPE_NUMBERS, which)] +=
			is_number * ((byte - excluded) << shift);
		is_number &= goes_on | differs(which, SCOPE_NUMBERS - 1);
		which += (1 - goes_on) & differs(which, SCOPE_NUMBERS - 1);
		shift = goes_on * (shift + HOTSPOT_DIGIT_BITS);
	}
}

/* Reads the numbers of the scope at an offset. Returns 0 if it cannot be read, or its caller is not
 * before it. A global function for the verifier, which checks it once (walker.bpf.h). */
__noinline int hotspot_load_scope(struct hotspot_scopes *scopes, __u32 flags, __u32 scope)
{
	if (!scopes || !can_copy_user(scopes->bytes, sizeof(scopes->bytes), scopes->data + scope))
		return 0;
	hotspot_read_scope(scopes, !!(flags & PILOTLIGHT_HOTSPOT_NO_ZEROS));
	return scopes->numbers[SCOPE_CALLER] < scope;
}

/* Finds the innermost scope at `ip`. Behind a call it has an entry of its own. Where a leaf's frame
 * is not complete, the compiled method itself runs. */
static __always_inline void hotspot_find_scopes(struct hotspot_scopes *scopes,
	const struct pilotlight_runtime_hotspot *runtime, const struct hotspot_blob *blob, __u64 ip,
	int is_exact)
{
	__u64 offset = ip - blob->code, found, behind, flag = 0;

	scopes->next = 0;
	scopes->place = 0;
	if ((is_exact && offset < blob->complete) || !hotspot_find_tables(scopes, runtime, blob))
		return;
	hotspot_find_pc(scopes, (__u32)offset, &found, &behind);
	scopes->last = (__u32)(found >> 32);
	if ((__u32)found == offset)
		scopes->next = scopes->last;
	if (is_exact &&
		(!scopes->next || !hotspot_load_scope(scopes, runtime->flags, scopes->next) ||
			!scopes->numbers[SCOPE_LOCALS])) {
		found = behind;
		flag = HOTSPOT_PLACE_BETWEEN;
		scopes->next = (__u32)(behind >> 32);
	}
	scopes->place = scopes->next ? (blob->code + (__u32)found) | flag : 0;
}

/* How many scopes there are from one to that of the compiled method; 0: they make no sense. */
__noinline __u32 hotspot_count_scopes(struct hotspot_scopes *scopes, __u32 flags, __u32 scope)
{
	__u32 count = 0;

	if (!scopes)
		return 0;
	for (; count < HOTSPOT_SCOPES_MAX && scope; count++) {
		if (!hotspot_load_scope(scopes, flags, scope))
			return 0;
		scope = scopes->numbers[SCOPE_CALLER];
	}
	return scope ? 0 : count;
}

static __always_inline int hotspot_lacks_locals(
	struct hotspot_scopes *scopes, __u32 flags, __u32 scope)
{
	return scope && hotspot_load_scope(scopes, flags, scope) && !scopes->numbers[SCOPE_LOCALS];
}

/* A step of hotspot_keep_common(). The state is in memory, where the verifier does not follow
 * it. Returns 0 at the end. */
__noinline int hotspot_compare_scopes(struct hotspot_scopes *scopes, __u32 flags)
{
	__u32 scope, caller, method = 0, bytecode = 0;

	if (!scopes)
		return 0;
	scope = scopes->compared;
	if (!scope)
		return 0;
	if (scopes->last && scopes->last_count >= scopes->count) {
		(void)hotspot_load_scope(scopes, flags, scopes->last);
		method = scopes->numbers[SCOPE_METHOD];
		bytecode = scopes->numbers[SCOPE_BYTECODE];
		scopes->last = scopes->numbers[SCOPE_CALLER];
		if (scopes->last_count-- > scopes->count)
			return 1;
	}
	if (!hotspot_load_scope(scopes, flags, scope))
		return 0;
	caller = scopes->numbers[SCOPE_CALLER];
	/* 0 is no method. */
	if (scopes->numbers[SCOPE_METHOD] != method)
		scopes->next = caller ? caller : scope;
	else if (scopes->numbers[SCOPE_BYTECODE] != bytecode)
		scopes->next = scope;
	scopes->compared = caller;
	scopes->count--;
	return 1;
}

/* Keeps those scopes of the next place that the last one has, too, and leaves out another method,
 * or one that another call has put there. That of the compiled method stays. Scopes that make no
 * sense, or are too many to be shown, stay as they are: whoever goes through them refuses them. */
static __always_inline void hotspot_keep_common(struct hotspot_scopes *scopes, __u32 flags)
{
	if (hotspot_lacks_locals(scopes, flags, scopes->next) ||
		hotspot_lacks_locals(scopes, flags, scopes->last))
		return;
	scopes->compared = scopes->next;
	scopes->count = hotspot_count_scopes(scopes, flags, scopes->next);
	if (!scopes->count)
		return;
	scopes->last_count = hotspot_count_scopes(scopes, flags, scopes->last);
	/* Each step lowers the greater count. */
	for (__u32 i = 0; i < HOTSPOT_SCOPES_MAX; i++)
		if (!hotspot_compare_scopes(scopes, flags))
			break;
}

/* Goes to the next scope, innermost first. Returns 0 if it makes no sense. */
static __always_inline int hotspot_next_scope(
	struct hotspot_scopes *scopes, const struct pilotlight_runtime_hotspot *runtime)
{
	__u32 index;

	if (!hotspot_load_scope(scopes, runtime->flags, scopes->next))
		return 0;
	/* Index 0 is no method. */
	index = scopes->numbers[SCOPE_METHOD] - 1;
	if (index >= HOTSPOT_METADATA_MAX ||
		!hotspot_copy_word(&scopes->method, scopes->metadata, index * HOTSPOT_WORD))
		return 0;
	scopes->next = scopes->numbers[SCOPE_CALLER];
	scopes->bytecode = (__s32)scopes->numbers[SCOPE_BYTECODE] - 1;
	return 1;
}

/* The scope's bytecode as a unit of the proved method; -1: before the first. Returns 0 if the
 * method has no such bytecode. */
static __always_inline int hotspot_scope_unit(const struct hotspot_scopes *scopes,
	const struct hotspot_blob *blob, const struct pilotlight_runtime_hotspot *runtime,
	__s32 *unit)
{
	*unit = scopes->bytecode < 0 ? -1 : scopes->bytecode;
	return scopes->bytecode >= HOTSPOT_BYTECODES_LEAST &&
	       scopes->bytecode < (__s32)hotspot_short(blob, runtime->const_code_at);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remembers what runs in frames of V8. A frame that was seen before costs the read of its words and
 * one look-up, instead of proofs of the function, its script and its code.
 *
 * Generated code is told by the return address in it, and by the function object; what is
 * interpreted by the function object and the bytecodes. The function object alone tells nothing:
 * young ones move and make room for others many times a second. So only what has proved code or
 * bytecodes is remembered. They leave their place at collections of the whole heap alone. An entry
 * holds for a second at most: as long a function would have to be replaced by another one with the
 * same addresses of all that tells it. The leaf's instruction is a new one each time.
 */
#pragma once

#include "runtime_v8_code.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	V8_SEEN_SHIFT = 9,
	V8_SEEN_PLACE = -2, /* the unit is the place in the bytecodes that the frame has */
};

/* As struct hotspot_seen. */
struct v8_seen {
	__u64 seal, code;
	__s64 unit;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << V8_SEEN_SHIFT);
	__type(key, __u32);
	__type(value, struct v8_seen);
} seen_functions SEC(".maps");

static __always_inline __u64 v8_seen_seal(__u64 key, __u64 code, __s64 unit)
{
	/* No entry of zeros has a seal. */
	return runtime_hash(runtime_hash(key, code), (__u64)unit) | 1;
}

static __always_inline struct v8_seen *find_seen_function(__u64 key)
{
	__u32 place = key >> (64 - V8_SEEN_SHIFT);

	return bpf_map_lookup_elem(&seen_functions, &place);
}

/* Makes the key of the frame that was read. */
static __always_inline void make_seen_key(struct runtime_v8 *v8, __u64 frame, __u32 at)
{
	int is_generated = frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS;
	__u64 key = runtime_hash(v8->seen_owner, is_generated ? frame : v8->table);

	v8->seen_key = is_generated && at == 0 ? 0 : runtime_hash(key, v8->function);
}

/* Was the frame seen before? Then this is what runs in it. */
static __always_inline int is_seen_function(
	const struct runtime_v8 *v8, __u64 *ret_code, __s32 *ret_unit)
{
	const volatile struct v8_seen *seen;
	__u64 code;
	__s64 unit;

	seen = v8->seen_key ? find_seen_function(v8->seen_key) : 0;
	if (!seen)
		return 0;
	code = seen->code;
	unit = seen->unit;
	if (seen->seal != v8_seen_seal(v8->seen_key, code, unit))
		return 0;
	*ret_code = code;
	*ret_unit = unit == V8_SEEN_PLACE ? v8->table_unit : (__s32)unit;
	return 1;
}

static __always_inline void remember_seen_function(
	const struct runtime_v8 *v8, __u64 code, __s64 unit)
{
	struct v8_seen *seen = v8->seen_key ? find_seen_function(v8->seen_key) : 0;

	if (seen && !has_walked_thread_run())
		*seen = (struct v8_seen){ v8_seen_seal(v8->seen_key, code, unit), code, unit };
}

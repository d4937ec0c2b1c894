/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds HotSpot's methods to a stack that has been walked. */
#pragma once

#include "runtime_hotspot_sample.bpf.h"
#include "runtime_hotspot_seen.bpf.h"

enum {
	HOTSPOT_SEEN_EPOCH_SHIFT = RUNTIME_EPOCH_SHIFT - 1,
	/* A compiler's stack may take longer than RUNTIME_NS_MAX, if most of its methods are
	 * interpreted or new. So a sample may take HOTSPOT_NS_MAX, while the samples of its CPU
	 * take RUNTIME_NS_MAX on average, and HOTSPOT_OVERTIME_NS_MAX more in all. Samples of CPU
	 * time and those of other sources are counted apart. */
	HOTSPOT_NS_MAX = 1000 * 1000,
	HOTSPOT_OVERTIME_NS_MAX = 10 * 1000 * 1000,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << HOTSPOT_SEEN_SHIFT);
	__type(key, __u32);
	__type(value, struct hotspot_seen);
} seen_frames SEC(".maps");

/* Adds the method of the next scope, and with that of the compiled method ends the group. Returns
 * 1 if there are more, 0 at the end, and -1 if the scopes make no sense or cannot be shown. */
__noinline int step_scope(struct walker *walker, __u32 at, __u32 entry)
{
	const struct hotspot_scopes *scopes;
	int is_last;

	if (!walker || !prove_scope(walker))
		return -1;
	scopes = &walker->runtime.hotspot.scopes;
	is_last = scopes->next == 0;
	if ((is_last && scopes->method != walker->runtime.hotspot.blob.method) ||
		!append_method(walker, entry, is_last ? at : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN))
		return -1;
	return !is_last;
}

/* What a native frame runs is known until its code changes, if all of its methods could be added.
 * What the interpreter runs is not known. */
enum added { ADDED_NOTHING, ADDED_SOME, ADDED_ALL };

/* As hotspot_keep_common(). */
__noinline int keep_common(struct walker *walker)
{
	const struct pilotlight_runtime_hotspot *runtime;

	if (!walker)
		return 0;
	runtime = walked_hotspot(walker);
	if (!runtime)
		return 0;
	hotspot_keep_common(&walker->runtime.hotspot.scopes, runtime->flags);
	return 1;
}

/* Adds the methods of a compiled method: all, or that one alone. */
static __always_inline enum added add_scopes(struct walker *walker, __u32 at, __u32 entry)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	int has_scopes = walker->runtime.hotspot.scopes.next != 0, more = has_scopes ? 1 : -1;
	__u16 count = record->runtime_count;

	if (has_scopes && walker->runtime.hotspot.scopes.place & HOTSPOT_PLACE_BETWEEN)
		(void)keep_common(walker);
	for (__u32 i = 0; i < HOTSPOT_SCOPES_MAX && more > 0; i++)
		more = step_scope(walker, at, entry);
	if (more == 0)
		return ADDED_ALL;
	record->runtime_count = count;
	if (!prove_method(walker, walker->runtime.hotspot.blob.method) ||
		!append_method(walker, entry, at))
		return ADDED_NOTHING;
	return has_scopes ? ADDED_SOME : ADDED_ALL;
}

/* The process, for half of an epoch that begins at a time of the frame's own: then its methods are
 * sent again if their epochs have ended. */
static __always_inline struct hotspot_seen_key seen_key(const struct walker *walker, __u64 frame)
{
	struct hotspot_seen_key key = { .hash = runtime_hash(walker->runtime.owner, frame) };
	__u64 time =
		walker->runtime.begin_ns + (key.hash & ((1ULL << HOTSPOT_SEEN_EPOCH_SHIFT) - 1));

	key.epoch = (__u64)runtime_generation << 32 | time >> HOTSPOT_SEEN_EPOCH_SHIFT;
	return key;
}

/* The entry of the native frame; NULL: it has none. */
static __always_inline struct hotspot_seen *find_seen(
	const struct hotspot_seen_key *key, const struct walker *walker, __u64 frame)
{
	__u32 place = hotspot_seen_place(key);

	if (!frame || frame & PILOTLIGHT_FRAME_EXACT ||
		hotspot_is_interpreter(&walker->runtime.known_hotspot, frame))
		return 0;
	return bpf_map_lookup_elem(&seen_frames, &place);
}

/* Notes the methods of a native frame, which have been added behind the first `before`, and have
 * this hash. */
__noinline int note_seen(struct walker *walker, __u64 frame, __u32 before, __u64 hash)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct hotspot_seen_key key;
	struct hotspot_blob *blob;
	struct hotspot_seen *entry;
	__u64 identity;
	__u32 count;

	if (!walker)
		return 0;
	runtime = walked_hotspot(walker);
	blob = &walker->runtime.hotspot.blob;
	key = seen_key(walker, frame);
	entry = find_seen(&key, walker, frame);
	count = walker->walk.record.runtime_count - before;
	if (!runtime || !entry || count > HOTSPOT_SEEN_METHODS ||
		!hotspot_read_identity(blob, runtime, blob->begin, &identity) ||
		has_walked_thread_run())
		return 0;
	entry->block = blob->begin;
	entry->count = count;
	for (__u32 i = 0; i < HOTSPOT_SEEN_METHODS && i < count; i++) {
		const __u64 *words = runtime_words(&walker->walk, before + i);

		entry->methods[i].unit = (__u32)words[1];
		entry->methods[i].code = (__u32)words[0];
		entry->methods[i].code_high = words[0] >> 32;
	}
	entry->seal = hotspot_seen_seal(&key, blob->begin, identity, hash);
	return 1;
}

/* Notes in the stack's hash that native frame `at` has methods with this hash. */
static __always_inline void hash_methods(struct walker *walker, __u32 at, __u64 hash)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;

	record->hash = hash_next(record->hash, hash ^ (__u64)at << 32);
}

/* Adds the methods of native frame `at`, which were seen before at `frame`. Returns 0 if they were
 * not, or if the code is another one now. */
__noinline int add_seen(struct walker *walker, __u64 frame, __u32 at)
{
	const struct pilotlight_runtime_hotspot *runtime;
	/* Each word is read once, and is what the seal must be of. */
	const volatile struct hotspot_seen *entry;
	struct hotspot_seen_key key;
	__u64 identity, hash, block;
	__u32 first, count;

	if (!walker)
		return 0;
	runtime = walked_hotspot(walker);
	key = seen_key(walker, frame);
	entry = find_seen(&key, walker, frame);
	if (!runtime || !entry)
		return 0;
	first = walker->walk.record.runtime_count;
	count = entry->count;
	block = entry->block;
	if (count == 0 || count > HOTSPOT_SEEN_METHODS ||
		first + count > PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return 0;
	hash = hotspot_begin_methods(count);
	for (__u32 i = 0; i < HOTSPOT_SEEN_METHODS && i < count; i++) {
		__u64 code = entry->methods[i].code | (__u64)entry->methods[i].code_high << 32;
		__u32 unit = entry->methods[i].unit;

		put_placed_frame(walker, code, (__s32)unit,
			i + 1 == count ? at : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN);
		hash = hotspot_hash_method(hash, code, unit);
	}
	walker->runtime.known_hotspot.found_ip = 0; /* the blob is read anew */
	if (!hotspot_read_identity(&walker->runtime.hotspot.blob, runtime, block, &identity) ||
		entry->seal != hotspot_seen_seal(&key, block, identity, hash)) {
		walker->walk.record.runtime_count = (__u16)first;
		return 0;
	}
	hash_methods(walker, at, hash);
	return 1;
}

/* The hash of the methods behind the first `before`. */
__noinline __u64 hash_added(struct walker *walker, __u32 before)
{
	__u32 count;
	__u64 hash;

	if (!walker)
		return 0;
	count = walker->walk.record.runtime_count - before;
	hash = hotspot_begin_methods(count);
	for (__u32 i = 0; i < HOTSPOT_SCOPES_MAX && i < count; i++) {
		const __u64 *words = runtime_words(&walker->walk, before + i);

		hash = hotspot_hash_method(hash, words[0], (__u32)words[1]);
	}
	return hash;
}

/* Adds the methods of one native frame, which is of the code that was found. */
static __always_inline enum added add_found(
	struct walker *walker, __u32 at, __u32 entry, enum found_method found)
{
	if (found == METHOD_COMPILED)
		return add_scopes(walker, at, entry);
	if (found == METHOD_NONE || !append_method(walker, entry, at))
		return ADDED_NOTHING;
	return found == METHOD_STUB ? ADDED_ALL : ADDED_SOME;
}

/* Adds the methods of one native frame. Returns 0 if the time is over. An interrupted instruction
 * is another one each time, but has the methods of one of the places that HotSpot describes. */
__noinline int step_method(struct walker *walker, __u32 at, __u32 entry)
{
	enum found_method found;
	enum added added;
	__u64 frame, hash;
	__u32 before;

	if (!walker)
		return 0;
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	if (frame >> PILOTLIGHT_FRAME_KIND_SHIFT != PILOTLIGHT_FRAME_ADDRESS ||
		add_seen(walker, frame, at))
		return 1;
	if (walk_clock_ns() - walker->runtime.begin_ns > walker->runtime.hotspot.ns_max)
		return 0;
	found = (enum found_method)find_method(walker, at);
	if (found == METHOD_COMPILED && frame & PILOTLIGHT_FRAME_EXACT) {
		frame = walker->runtime.hotspot.scopes.place;
		if (add_seen(walker, frame, at))
			return 1;
	}
	before = walker->walk.record.runtime_count;
	added = add_found(walker, at, entry, found);
	if (added == ADDED_NOTHING)
		return 1;
	hash = hash_added(walker, before);
	hash_methods(walker, at, hash);
	if (added == ADDED_ALL)
		note_seen(walker, frame, before, hash);
	return 1;
}

/* Sets how long the sample may look for methods. */
__noinline int begin_methods(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!walker || !copier)
		return 0;
	__builtin_memset(
		walker->runtime.hotspot.classes, 0, sizeof(walker->runtime.hotspot.classes));
	walker->runtime.hotspot.ns_max = hotspot_ns_max(
		RUNTIME_NS_MAX, HOTSPOT_NS_MAX, copier->overtime_ns, HOTSPOT_OVERTIME_NS_MAX);
	return 1;
}

/* Notes how long the sample has looked. */
__noinline int end_methods(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!walker || !copier)
		return 0;
	copier->overtime_ns = hotspot_overtime(copier->overtime_ns, HOTSPOT_OVERTIME_NS_MAX,
		RUNTIME_NS_MAX, walk_clock_ns() - walker->runtime.begin_ns);
	return 1;
}

__noinline int add_methods(struct walker *walker, __u32 entry)
{
	struct pilotlight_ring_walk *record;

	if (!walker)
		return 0;
	remember_runtime(walker, walker->walk.hotspot_at);
	if (walker->walk.hotspot_is_new)
		forget_walks(&walker->walk);
	walker->walk.hotspot_is_new = 0;
	if (!walker->walk.has_jit)
		return 0;
	begin_state(walker);
	begin_methods(walker, entry);
	record = &walker->walk.record;
	record->runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	for (__u32 i = 0; i < WALK_DEPTHS && i < record->count; i++)
		if (!step_method(walker, i, entry)) {
			record->runtime_end = PILOTLIGHT_RUNTIME_DEEP;
			break;
		}
	end_methods(walker, entry);
	if (record->runtime_count == 0) {
		record->runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
		return 0;
	}
	record->runtime_file = walker->walk.hotspot.file_id;
	record->runtime_language = PILOTLIGHT_RUNTIME_HOTSPOT;
	record->hash = hash_next(record->hash, record->runtime_end);
	return 1;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads which span the interrupted thread works on (pilotlight/thread_context.h). The file that has
 * the variable need not be on the stack: once a stack of the process has led through it, its place
 * is known for the process until another process takes the entry.
 *
 * The includer defines the map `runtimes`.
 */
#pragma once

#include "runtime_sample.bpf.h"
#include "walker.bpf.h"

enum { CONTEXT_PLACES_SHIFT = 12 };

/* The seal covers the rest, so an entry of two halves is that of no process. */
struct process_context {
	__u64 seal;
	struct context_place place;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CONTEXT_PLACES_SHIFT);
	__type(key, __u32);
	__type(value, struct process_context);
} process_contexts SEC(".maps");

static __always_inline __u64 context_owner(const struct walker *walker)
{
	return runtime_hash(runtime_hash(walker->mm, walker->process.start_ns),
		(__u64)walker->process.exec_id << 32 | walker->process.tgid);
}

static __always_inline __u64 context_seal(__u64 owner, const struct context_place *place)
{
	__u64 seal = runtime_hash(runtime_hash(owner, place->place), place->offset);

	/* No entry of zeros has a seal. */
	return runtime_hash(seal, (__u64)place->libc << 32 | place->anchor) | 1;
}

static __always_inline struct process_context *find_context(__u64 owner)
{
	__u32 at = owner >> (64 - CONTEXT_PLACES_SHIFT);

	return bpf_map_lookup_elem(&process_contexts, &at);
}

/* From the file that the walk has met, or from what earlier walks have met. */
static __always_inline void know_context(struct walker *walker)
{
	struct walked_context *context = &walker->walk.context;
	__u64 owner = context_owner(walker);
	struct process_context *entry = find_context(owner);
	const struct pilotlight_runtime *runtime;
	__u32 number = context->number; /* for Linux 6.1: find_file() in walker.bpf.h */

	context->is_known = 1;
	context->known.anchor = 0;
	if (!entry)
		return;
	if (number == RUNTIME_NONE) {
		context->known = entry->place;
		if (entry->seal != context_seal(owner, &context->known))
			context->known.anchor = 0;
		return;
	}
	runtime = bpf_map_lookup_elem(&runtimes, &number);
	if (!runtime || runtime->language != PILOTLIGHT_RUNTIME_THREAD_CONTEXT)
		return;
	context->known.place = context->base + runtime->anchor_place;
	context->known.offset = runtime->anchor_offset;
	context->known.anchor = runtime->anchor;
	context->known.libc = runtime->libc;
	entry->seal = context_seal(owner, &context->known);
	entry->place = context->known;
}

/*
 * Copies the record behind the frames. The program's own thread may be between two writes, which
 * the byte `valid` tells; other threads should not write, so a change of it drops the copy.
 */
static __always_inline int copy_context(struct walk *walk, __u64 at)
{
	const __u64 valid_at =
		at + __builtin_offsetof(struct pilotlight_thread_context_record, valid);
	struct pilotlight_thread_context_record *record;
	__u8 valid;

	record = (struct pilotlight_thread_context_record *)runtime_words(
		walk, walk->record.runtime_count);
	return at % 2 == 0 && can_copy_user(&valid, sizeof(valid), valid_at) &&
	       valid == PILOTLIGHT_THREAD_CONTEXT_VALID &&
	       can_copy_user(record, sizeof(*record), at) &&
	       record->valid == PILOTLIGHT_THREAD_CONTEXT_VALID &&
	       record->attributes_bytes <= PILOTLIGHT_THREAD_CONTEXT_BYTES_MAX - sizeof(*record) &&
	       can_copy_user(&valid, sizeof(valid), valid_at) &&
	       valid == PILOTLIGHT_THREAD_CONTEXT_VALID;
}

static __always_inline int has_ids(struct walk *walk)
{
	const __u64 *words = runtime_words(walk, walk->record.runtime_count);

	/* Either both are set, or none. */
	return (words[0] | words[1]) != 0 && words[2] != 0;
}

/* A global function, for the verifier (walker.bpf.h). */
__noinline int read_context(struct walker *walker)
{
	struct walked_context *context;
	__u64 at;

	if (!walker)
		return 0;
	context = &walker->walk.context;
	walker->walk.record.has_context = 0;
	if (!context->is_known)
		know_context(walker);
	if (!context->known.anchor)
		return 0;
	at = runtime_variable(walked_thread_pointer(), context->known.anchor, context->known.libc,
		context->known.place, context->known.offset);
	if (!at || !copy_context(&walker->walk, at) || !has_ids(&walker->walk))
		return 0;
	walker->walk.record.has_context = 1;
	return 1;
}

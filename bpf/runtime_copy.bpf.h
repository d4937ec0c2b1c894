/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies code objects of interpreters, and sends them. A code object that is new to its process is
 * copied and hashed; its contents are sent if no CPU has sent them lately. So a process of a few
 * milliseconds has its names, and a thousand like it send them once. What is known expires at the
 * end of an epoch, and whatever still runs is sent again: the engine may forget what it has not
 * received for two epochs. Each object has epochs of its own, or all would be sent at once, for
 * which there is no room.
 *
 * The includer defines send(), the map `ring` and ring_bytes.
 */
#pragma once

#include "runtime_code.bpf.h"
#include "runtime_known.bpf.h"
#include "runtime_owner.bpf.h"
#include "runtime_perl_names.bpf.h"
#include "runtime_php.bpf.h"
#include "runtime_ruby.bpf.h"
#include "runtime_share.bpf.h"
#include "shared.bpf.h"
#include "walker.bpf.h"

enum {
	/* Of a sample. Compilers and web servers have stacks of 60 to 140 methods, of 2 us and more
	 * each if the CPU's caches are cold; JavaScript's copies with their lines take longer. A
	 * thread that waits often has one sample in a recording, with copies of all its functions.
	 */
	RUNTIME_NS_MAX = (WALKS_OTHERS ? 1000 : 400) * 1000,
	RUNTIME_SAMPLE_COPIES_MAX = WALKS_OTHERS ? 512 : 64,
	/* Of a CPU in a period; users share it. Programs can end windows early, but not periods and
	 * epochs. */
	RUNTIME_COPIES_MAX = 4096,
	/* Of all CPUs in a period, so many times what the ring holds; users share it. */
	RUNTIME_SENT_RINGS = 2,
	/* In a window, code takes this part of the ring at most; users share it. The engine is
	 * woken when code has taken half of that, which is before any user is refused, and begins a
	 * new window. */
	RUNTIME_RING_PART = 2,
	RUNTIME_SENT_SHIFT = 10,
};

/* Descriptions of interpreters. Only the host writes them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PILOTLIGHT_RUNTIMES_MAX);
	__type(key, __u32);
	__type(value, struct pilotlight_runtime);
} runtimes SEC(".maps");

/* The binary logarithm of the places of known_codes, which all CPUs share: a thread may go to
 * another CPU, and compilers run thousands of functions. The host sets it. */
const volatile __u32 known_codes_shift;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct runtime_known);
} known_codes SEC(".maps");

/* Hashes of code objects that were sent, mixed with the epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RUNTIME_SENT_SHIFT);
	__type(key, __u32);
	__type(value, __u64);
} sent_codes SEC(".maps");

/* A copy on its way to the ring. Of each CPU, one for samples of CPU time, which interrupt the
 * others, one for those, and one for threads that do not run, if these are sampled. */
struct runtime_copier {
	struct pilotlight_ring_code record;
	struct runtime_shares copies;
	__u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX]; /* of V8's code that is being copied */
	struct hotspot_line_search lines;
	__u64 overtime_ns; /* of samples that look for HotSpot's methods */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct runtime_copier);
} runtime_copiers SEC(".maps");

/* What was sent in the window, and in the period. */
static struct runtime_shares runtime_window_bytes SHARED, runtime_period_bytes SHARED;

static __always_inline const struct pilotlight_runtime *walked_runtime(const struct walker *walker)
{
	__u32 number = walker->walk.runtime.number;

	return bpf_map_lookup_elem(&runtimes, &number);
}

/* May the user send so much? If it is too much for the window, the engine will soon begin the next.
 * A global function, for the BPF stack. */
__noinline int take_bytes(struct walker *walker, __u32 user, __u32 size)
{
	struct runtime_part period = { .shares = &runtime_period_bytes,
		.most = ring_bytes * RUNTIME_SENT_RINGS };
	struct runtime_part window = { .shares = &runtime_window_bytes,
		.most = ring_bytes / RUNTIME_RING_PART };
	int taken;

	if (!walker)
		return 0;
	period.period = runtime_period(walker);
	window.period = walker->window;
	taken = runtime_take_both(&period, &window, user, size);
	if (taken == RUNTIME_FIRST_SPENT)
		walker->runtime.is_spent = 1;
	return taken == RUNTIME_TAKEN;
}

static __always_inline int send_code_record(
	struct walker *walker, struct runtime_copier *copier, __u32 size, __u64 waiting_bytes)
{
	__u32 taken = runtime_used(&runtime_window_bytes.all, walker->window);

	/* Linux 6.1 wants the bound of this very register. */
	__asm__ volatile("" : "+r"(size));
	if (size > sizeof(copier->record))
		return 0;
	/* As if the ring were half full, which wakes the engine. */
	if (taken > ring_bytes / RUNTIME_RING_PART / 2)
		waiting_bytes = ring_bytes / 2 + 1;
	return send(&copier->record, size, waiting_bytes);
}

/*
 * Sends a copied code object, unless that was done lately. Each user and cgroup sends their own:
 * the hash is no secret, so others can make code that has it. Returns 0 if the engine may lack it.
 */
static __always_inline int send_code(
	struct walker *walker, struct runtime_copier *copier, __u64 hash)
{
	__u32 user = walked_user();
	__u64 mark = runtime_hash(runtime_hash(hash, user), walker->cgroup_id), waiting_bytes;
	__u32 place, words, size;
	__u64 *sent;

	mark = runtime_hash(mark, runtime_epoch(walker, hash));
	place = mark >> (64 - RUNTIME_SENT_SHIFT);
	sent = bpf_map_lookup_elem(&sent_codes, &place);
	if (!sent || has_walked_thread_run())
		return 0;
	if (*sent == mark)
		return 1;
	words = runtime_code_words(&copier->record.code);
	size = __builtin_offsetof(struct pilotlight_ring_code, code) + words * RUNTIME_WORD;
	waiting_bytes = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	/* The engine wakes when half of the ring is full. */
	if (waiting_bytes > ring_bytes / 2)
		return 0;
	if (!take_bytes(walker, user, size))
		return 0;
	copier->record.header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_CODE,
		.set = walker->window & 1,
	};
	copier->record.time_ns = walker->runtime.begin_ns;
	copier->record.process = walker->process;
	copier->record.cgroup_id = walker->cgroup_id;
	copier->record.user = user;
	copier->record.reserved = 0;
	if (!send_code_record(walker, copier, size, waiting_bytes))
		return 0;
	/* Only now may other CPUs rely on it. */
	*sent = mark;
	return 1;
}

/* Is there still a copy for this sample, and for the user? */
static __always_inline int take_copy(struct walker *walker, struct runtime_copier *copier)
{
	return walker->runtime.copies++ < RUNTIME_SAMPLE_COPIES_MAX &&
	       runtime_take(&copier->copies, walked_user(), runtime_period(walker), 1,
		       RUNTIME_COPIES_MAX);
}

static __always_inline void remember_code(
	struct walker *walker, const struct runtime_step *step, __u64 hash)
{
	__u64 owner = runtime_step_owner(walker, step);
	__u32 place = runtime_known_place(owner, step, known_codes_shift);
	struct runtime_known *known = bpf_map_lookup_elem(&known_codes, &place);

	if (known && !has_walked_thread_run())
		runtime_remember(known, walker->runtime.recent, owner, step, hash);
}

/* Sends and remembers what has been copied. Returns 0 if the engine may lack it. */
static __always_inline int send_copy(struct walker *walker, struct runtime_copier *copier)
{
	if (!send_code(walker, copier, copier->record.code.hash))
		return 0;
	remember_code(walker, &walker->runtime.step, copier->record.code.hash);
	return 1;
}

/* The same. Returns the identity of what has been copied. */
static __always_inline __u64 keep_copy(struct walker *walker, struct runtime_copier *copier)
{
	send_copy(walker, copier);
	return copier->record.code.hash & PILOTLIGHT_RUNTIME_CODE_MASK;
}

/* These return 0 if it cannot be copied. */
__noinline int copy_ruby(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_runtime(walker);
	return runtime && ruby_copy_sequence(&walker->runtime.walk, runtime, &copier->record.code);
}

__noinline int copy_ruby_function(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_runtime(walker);
	return runtime && ruby_copy_function(&walker->runtime.walk, runtime, &copier->record.code);
}

__noinline int copy_php(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_runtime(walker);
	return runtime && php_copy_code(&walker->runtime.walk, runtime, &copier->record.code);
}

/* In two parts, for the BPF stack. */
__noinline int copy_perl_place(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	return walker && copier && perl_copy_place(&walker->runtime.walk, &copier->record.code);
}

__noinline int copy_perl_names(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_runtime(walker);
	return runtime && perl_copy_names(&walker->runtime.walk, runtime, &copier->record.code);
}

static __always_inline int copy_in(const struct pilotlight_runtime *runtime, struct walker *walker,
	struct runtime_copier *copier, __u32 entry)
{
	switch (runtime->language) {
	case PILOTLIGHT_RUNTIME_RUBY:
		return walker->runtime.walk.function ? copy_ruby_function(walker, entry)
						     : copy_ruby(walker, entry);
	case PILOTLIGHT_RUNTIME_PHP:
		return copy_php(walker, entry);
	case PILOTLIGHT_RUNTIME_PERL:
		return copy_perl_place(walker, entry) && copy_perl_names(walker, entry);
	default:
		return runtime_copy_code(runtime, walker->runtime.step.code, &copier->record.code);
	}
}

/* Copies the step's code object. Returns 0 if it cannot be copied now. */
__noinline int copy_code(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_runtime(walker);
	return runtime && take_copy(walker, copier) && copy_in(runtime, walker, copier, entry);
}

/* The identity of what has been copied. */
__noinline __u64 keep_code(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	return walker && copier ? keep_copy(walker, copier) : 0;
}

/* Has the step's code object been copied? Then *code identifies it; else *code is undefined. */
static __always_inline int is_known_code(struct walker *walker, __u64 *code)
{
	struct runtime_state *state = &walker->runtime;
	const struct runtime_step *step = &state->step;
	struct runtime_known_way *recent = runtime_recent(state->recent, step);
	const struct runtime_known *known;
	__u64 owner = runtime_step_owner(walker, step);
	__u32 place;

	if (!runtime_is_way(recent, owner, step)) {
		place = runtime_known_place(owner, step, known_codes_shift);
		known = bpf_map_lookup_elem(&known_codes, &place);
		if (!known || !runtime_is_known(known, owner, step, code))
			return 0;
		recent->hash = *code;
		recent->seal = runtime_seal(owner, step, *code);
	}
	*code = recent->hash & PILOTLIGHT_RUNTIME_CODE_MASK;
	return 1;
}

static __always_inline __u64 identify_code(struct walker *walker, __u32 entry)
{
	__u64 code;

	if (is_known_code(walker, &code))
		return code;
	return copy_code(walker, entry) ? keep_code(walker, entry) : 0;
}

/* The same of the last step of a walk that notes what it has seen. */
static __always_inline __u64 identify_seen(struct walker *walker, __u32 entry)
{
	struct runtime_seen *seen = runtime_last_seen(&walker->runtime.walk);

	if (!walker->runtime.step.code)
		return 0;
	if (seen->identity == RUNTIME_NO_IDENTITY)
		seen->identity = identify_code(walker, entry);
	return seen->identity;
}

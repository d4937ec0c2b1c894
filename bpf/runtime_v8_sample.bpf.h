/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds V8's functions to a stack that has been walked. Each runs in a native frame of its own, of
 * generated code or of V8's functions in the binary, which keep frame pointers: so the frame
 * pointer is right below the return address, and that right below the caller's stack pointer. It
 * also compiles for the host.
 */
#pragma once

#include "runtime_place.bpf.h"
#include "runtime_v8_copy.bpf.h"
#include "runtime_v8_seen.bpf.h"

enum {
	V8_FRAME_BYTES = 16, /* the caller's frame pointer, and the return address */
	V8_STEPS_MAX = 1023, /* native frames, and functions of code that is copied */
	/* The call that makes a frame, and what sets %r12 before it. */
	V8_NEAR_CALL_BYTES = MOV_R12_BYTES + 5,
	V8_FAR_CALL_BYTES = MOV_R12_BYTES + 7,
	CODE_LOAD_ROOT = 0x858b49, /* 49 8b 85: mov displacement(%r13), %rax */
	V8_LONG_CODE = 1,	   /* in place of the address of code that was not found */
};

/* The same as append_placed_frame(), without a change of the stack's hash. Returns the frame's
 * words. */
static __always_inline const __u64 *put_placed_frame(
	struct walker *walker, __u64 code, __s32 unit, __u32 place)
{
	struct walk *walk = &walker->walk;
	__u64 *words = runtime_words(walk, walk->record.runtime_count), ends;

	ends = place == PILOTLIGHT_RUNTIME_PLACE_UNKNOWN ? 0 : PILOTLIGHT_RUNTIME_GROUP_END;
	words[0] = code;
	words[1] = (__u32)unit | (__u64)place << RUNTIME_PLACE_SHIFT | ends << RUNTIME_FLAGS_SHIFT;
	walk->record.runtime_count++;
	return words;
}

/* Adds a frame with the native one that runs it. Frames of unknown place are of functions that the
 * next one contains: a compiler has put them into it. */
static __always_inline void append_placed_frame(
	struct walker *walker, __u64 code, __s32 unit, __u32 place)
{
	const __u64 *words = put_placed_frame(walker, code, unit, place);
	struct pilotlight_ring_walk *record = &walker->walk.record;

	record->hash = hash_next(hash_next(record->hash, code), words[1]);
}

/* May a function run in this native frame? Of the interrupted ones only the leaf is trusted. */
static __always_inline int is_v8_frame(
	const struct walk *walk, const struct pilotlight_runtime_v8 *runtime, __u64 frame, __u32 at)
{
	__u64 offset = frame & PILOTLIGHT_FRAME_OFFSET_MASK;

	if (at != 0 && frame & PILOTLIGHT_FRAME_EXACT)
		return 0;
	if (frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS)
		return 1;
	return is_file_frame_of(frame, walk->runtime.file_id) &&
	       offset - (__u64)runtime->code_place < runtime->code_bytes;
}

/* A leaf has a frame of its own only between its prologue and its epilogue. */
static __always_inline int has_v8_frame(
	const struct walk *walk, const struct pilotlight_runtime_v8 *runtime, __u64 fp, __u32 at)
{
	return at != 0 ||
	       (fp == walk->leaf_fp && walk->leaf_sp <= fp + (__s64)runtime->frame_function_at);
}

/* The functions of a stack are added in steps. A step that needs proofs or a copy returns, as the
 * BPF stack has no room for them below it. */
enum v8_step { V8_STEP_ON, V8_STEP_PROVE, V8_STEP_ENTER, V8_STEP_COPY, V8_STEP_END };

/* These find code, and return enum v8_code. */
__noinline int prove_v8_code(struct walker *walker, __u64 code, __u64 ip)
{
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker)
		return V8_NO_CODE;
	runtime = walked_v8(walker);
	return runtime ? (int)v8_prove_code(
				 &walker->runtime.v8, runtime, code, ip, &walker->runtime.step)
		       : V8_NO_CODE;
}

/* Searches a page. Returns what may be code, 0, or 1: the search ends. */
__noinline __u64 search_v8_page(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_v8 *v8;
	__u64 *page;

	if (!walker || !copier)
		return 1;
	v8 = &walker->runtime.v8;
	runtime = walked_v8(walker);
	page = (__u64 *)copier->record.code.table;
	if (!runtime || v8->steps++ >= V8_SAMPLE_STEPS_MAX || !v8_copy_page(v8, page))
		return 1;
	return v8_search_page(v8, runtime, page);
}

/* Searches the code of `ip`, and remembers it as `code_step` says. Code that is too long would be
 * searched in each sample, so that it was not found is remembered, too. */
__noinline int search_v8_code(struct walker *walker, __u32 entry, __u64 ip)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	int found = V8_NO_CODE;
	__u64 code = 0;

	if (!walker)
		return V8_NO_CODE;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	if (!runtime || walk_clock_ns() - state->begin_ns > RUNTIME_NS_MAX)
		return V8_NO_CODE;
	v8_begin_search(&state->v8, runtime, ip);
	for (__u32 i = 0; i < V8_SAMPLE_STEPS_MAX && found == V8_NO_CODE &&
			  ip - state->v8.search < V8_CODE_BYTES_MAX;
		i++) {
		code = search_v8_page(walker, entry);
		if (code == 1)
			return V8_NO_CODE;
		found = code ? prove_v8_code(walker, code, ip) : V8_NO_CODE;
	}
	remember_code(walker, &state->v8.code_step, found == V8_NO_CODE ? V8_LONG_CODE : code);
	return found;
}

/* Which code does the native frame at `at` run? If it is optimized, the step gets its identity.
 * What ran this function the last time is proved first. */
__noinline int find_v8_code(struct walker *walker, __u32 entry, __u64 shared, __u32 at)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	__u64 frame, ip, code;
	int found;

	if (!walker)
		return V8_NO_CODE;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	if (!runtime || runtime->code.type == 0)
		return V8_NO_CODE;
	ip = (frame & PILOTLIGHT_FRAME_ADDRESS_MASK) - !(frame & PILOTLIGHT_FRAME_EXACT);
	/* No object has this address. Several codes of a function may run at once. */
	state->step.code = shared - PILOTLIGHT_V8_OBJECT;
	state->step.check = ip / V8_PAGE_BYTES;
	state->v8.code_step = state->step;
	state->v8.outer = shared;
	found = V8_NO_CODE;
	if (is_known_code(walker, &code)) {
		if (code == V8_LONG_CODE)
			return V8_NO_CODE;
		found = prove_v8_code(walker, code, ip);
	}
	if (found == V8_NO_CODE)
		found = search_v8_code(walker, entry, ip);
	return found;
}

/* Adds what the native frame at `v8.at` runs, and goes to the next one. */
static __always_inline int leave_v8_frame(struct walker *walker, __u64 code, __s32 unit)
{
	append_placed_frame(walker, code, unit, walker->runtime.v8.at++);
	return V8_STEP_ON;
}

/* The same of what was proved. */
static __always_inline int leave_found_frame(struct walker *walker, __u64 code, __s32 unit)
{
	int has_place = unit >= 0 && walker->runtime.v8.table && !walker->runtime.v8.pcs;

	remember_seen_function(&walker->runtime.v8, code, has_place ? V8_SEEN_PLACE : unit);
	return leave_v8_frame(walker, code, unit);
}

/* The same of what was copied. If it was not sent, later samples copy it again, but not while
 * nothing can be sent. */
static __always_inline int leave_copied_frame(struct walker *walker, __u64 code)
{
	if (walker->runtime.is_spent)
		return leave_found_frame(walker, code, -1);
	return leave_v8_frame(walker, code, -1);
}

/* Proves the function that shares this, for its copy. */
__noinline int prove_v8_shared(struct walker *walker, __u64 shared)
{
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker)
		return 0;
	runtime = walked_v8(walker);
	if (!runtime)
		return 0;
	runtime_v8_prove(&walker->runtime.v8, runtime, shared, &walker->runtime.step);
	return walker->runtime.step.code != 0;
}

/* The same, unless this sample has done it: that is enough for what is known. */
static __always_inline int is_v8_function(struct walker *walker, __u64 shared)
{
	struct v8_proved *proved = v8_proved(walker->runtime.v8.shared, shared);
	struct runtime_step *step = &walker->runtime.step;

	if (proved->object == shared) {
		*step = (struct runtime_step){ .code = shared, .check = proved->word, .unit = -1 };
		return 1;
	}
	if (!prove_v8_shared(walker, shared))
		return 0;
	proved->object = shared;
	proved->word = step->check;
	return 1;
}

/* The functions of some code are identified one after the other, to copy it. */
static __always_inline int begin_v8_code(struct runtime_state *state)
{
	state->v8.identified = 0;
	state->v8.is_in_code = 1;
	return V8_STEP_ON;
}

/* Adds what is interpreted, or was compiled from bytecodes one by one. That it has no table is
 * remembered, too. Returns V8_STEP_COPY if the function stands for it. */
static __always_inline int step_v8_bytecodes(
	struct walker *walker, const struct pilotlight_runtime_v8 *runtime)
{
	struct runtime_state *state = &walker->runtime;
	__u64 code;

	state->step.check = runtime_hash(state->step.check, state->v8.table);
	if (is_known_code(walker, &code))
		return code == V8_LONG_CODE ? V8_STEP_COPY
					    : leave_found_frame(walker, code, state->v8.table_unit);
	state->v8.outer = state->step.code;
	state->step.unit = state->v8.table_unit;
	state->v8.code_step = state->step;
	if (v8_read_bytecodes(&state->v8, runtime))
		return begin_v8_code(state);
	remember_code(walker, &state->step, V8_LONG_CODE);
	return V8_STEP_COPY;
}

/* Adds the function that shares this. */
static __always_inline int step_v8_function(
	struct walker *walker, const struct pilotlight_runtime_v8 *runtime, __u64 shared)
{
	struct runtime_state *state = &walker->runtime;
	__u64 code, check;

	if (!is_v8_function(walker, shared)) {
		state->v8.at++;
		return V8_STEP_ON;
	}
	check = state->step.check;
	if (v8_has_table(&state->v8, &state->step)) {
		if (step_v8_bytecodes(walker, runtime) != V8_STEP_COPY)
			return V8_STEP_ON;
		state->step.check = check;
	}
	/* No code tells it, and V8 soon puts other functions where it is. */
	state->v8.seen_key = 0;
	if (is_known_code(walker, &code))
		return leave_v8_frame(walker, code, -1);
	/* Again, for the copy. */
	if (prove_v8_shared(walker, shared))
		return V8_STEP_COPY;
	state->v8.at++;
	return V8_STEP_ON;
}

/* Adds optimized code. Returns V8_STEP_COPY if the function stands for it. */
static __always_inline int step_v8_code(
	struct walker *walker, const struct pilotlight_runtime_v8 *runtime)
{
	struct runtime_state *state = &walker->runtime;
	__u64 code;

	if (is_known_code(walker, &code))
		return leave_found_frame(walker, code, state->step.unit);
	state->v8.code_step = state->step;
	return v8_read_deopt(&state->v8, runtime) ? begin_v8_code(state) : V8_STEP_COPY;
}

/* Adds the function, or the functions, of the native frame that was read. */
__noinline int step_v8_proof(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	int found = V8_BASELINE_CODE;
	__u64 frame, shared;

	if (!walker)
		return V8_STEP_END;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	shared = runtime ? v8_shared_of(&state->v8, runtime, state->v8.function) : 0;
	if (!shared) {
		state->v8.at++;
		return V8_STEP_ON;
	}
	frame = walker->walk.frames[number_below(WALK_DEPTHS, state->v8.at)];
	if (frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS) {
		/* Beside the function are no bytecodes, though what is there may look like some. */
		state->v8.table = 0;
		found = find_v8_code(walker, entry, shared, state->v8.at);
	}
	if (found == V8_OPTIMIZED_CODE && step_v8_code(walker, runtime) != V8_STEP_COPY)
		return V8_STEP_ON;
	return step_v8_function(walker, runtime, shared);
}

/*
 * Is the leaf the function of V8 that makes the frames of its baseline compiler's code? The code
 * has then begun with the instructions that call it. Behind its last push, which is the return
 * address, the frame is made.
 */
__noinline int is_making_v8_frame(struct walker *walker)
{
	__u64 words[2], frame, ip;

	if (!walker)
		return 0;
	frame = walker->walk.frames[1];
	if (walker->walk.record.count < 2 ||
		frame >> PILOTLIGHT_FRAME_KIND_SHIFT != PILOTLIGHT_FRAME_ADDRESS ||
		!can_read_own_pt_regs(&ip, 1, PT_REGS_RIP) || !can_read_own_user(words, 1, ip) ||
		(words[0] & 0xff) == CODE_RET ||
		((words[0] & 0xffffff) == CODE_LOAD_ROOT && words[0] >> 56 == CODE_RET))
		return 0;
	ip = frame & PILOTLIGHT_FRAME_ADDRESS_MASK;
	return calls_with_bytecodes(&walker->walk, words, ip - V8_NEAR_CALL_BYTES) ||
	       calls_with_bytecodes(&walker->walk, words, ip - V8_FAR_CALL_BYTES);
}

/*
 * Adds the function whose code the leaf has just begun to run, and which has no frame yet. V8 calls
 * functions with the object in %rdi. Code that has a frame, or had one, uses the register for
 * anything else, so the object counts only if the instruction is in code of its function, or
 * returns there once it has made the frame.
 */
__noinline int step_v8_entered(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	__u64 shared = 0;
	int found = V8_NO_CODE, is_code;

	if (!walker)
		return V8_STEP_END;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	is_code = walker->walk.frames[0] >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS;
	if (runtime && (is_code || is_making_v8_frame(walker)) &&
		can_read_own_pt_regs(&state->v8.function, 1, PT_REGS_RDI))
		shared = v8_shared_of(&state->v8, runtime, state->v8.function);
	if (shared) {
		/* No frame was read in this sample, so these are of another sample's. */
		state->v8.table = state->v8.pcs = state->v8.seen_key = 0;
		found = find_v8_code(walker, entry, shared, !is_code);
	}
	if (found == V8_OPTIMIZED_CODE && v8_read_deopt(&state->v8, runtime) &&
		step_v8_code(walker, runtime) != V8_STEP_COPY)
		return V8_STEP_ON;
	if (found == V8_BASELINE_CODE && v8_read_bytecodes(&state->v8, runtime))
		return step_v8_function(walker, runtime, shared);
	state->v8.at++;
	return V8_STEP_ON;
}

/* Adds what one native frame runs. */
__noinline int step_v8_frame(struct walker *walker)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	__u64 frame, fp, code;
	__s32 unit;
	__u32 at;

	if (!walker)
		return V8_STEP_END;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	at = state->v8.at;
	if (!runtime || at >= WALK_DEPTHS - 1 || at + 1 >= walker->walk.record.count ||
		walker->walk.record.runtime_count >= PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return V8_STEP_END;
	fp = walker->walk.leaf_sp + walker->walk.depths[number_below(WALK_DEPTHS, at + 1)] -
	     V8_FRAME_BYTES;
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	if (!WALKS_OTHERS && at == 0 && !has_v8_frame(&walker->walk, runtime, fp, at))
		return V8_STEP_ENTER;
	if (!is_v8_frame(&walker->walk, runtime, frame, at) ||
		!has_v8_frame(&walker->walk, runtime, fp, at) ||
		!v8_read_frame(&state->v8, runtime, fp)) {
		state->v8.at++;
		return V8_STEP_ON;
	}
	/* What is below the leaf's stack pointer is of an earlier call. */
	if (at == 0 && walker->walk.leaf_sp >
			       fp + (__s64)runtime->frame_function_at - V8_FRAME_FUNCTION * V8_WORD)
		state->v8.table = 0;
	make_seen_key(&state->v8, frame, at);
	return is_seen_function(&state->v8, &code, &unit) ? leave_v8_frame(walker, code, unit)
							  : V8_STEP_PROVE;
}

__noinline int copy_inlined(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_v8(walker);
	return runtime && v8_copy_inlined(&walker->runtime.v8, runtime, copier->functions,
				  &copier->record.code);
}

__noinline int copy_baseline(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_v8(walker);
	return runtime && v8_copy_baseline(&walker->runtime.v8, runtime, copier->functions[0],
				  &copier->record.code);
}

/* All functions of the code are known. If it cannot be copied or sent now, the outermost, which the
 * engine has, stands for it. */
__noinline int end_v8_code(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!walker || !copier)
		return V8_STEP_END;
	walker->runtime.v8.is_in_code = 0;
	walker->runtime.step = walker->runtime.v8.code_step;
	if (!take_copy(walker, copier))
		return leave_copied_frame(walker, copier->functions[0]);
	if (walker->runtime.v8.pcs && !copy_baseline(walker, entry)) {
		/* Too long: later samples would take a copy for it, too. */
		remember_code(walker, &walker->runtime.step, V8_LONG_CODE);
		return leave_found_frame(walker, copier->functions[0], -1);
	}
	if ((!walker->runtime.v8.pcs && !copy_inlined(walker, entry)) || !send_copy(walker, copier))
		return leave_copied_frame(walker, copier->functions[0]);
	return leave_v8_frame(walker, copier->record.code.hash & PILOTLIGHT_RUNTIME_CODE_MASK,
		walker->runtime.step.unit);
}

/* Notes the next function of the code. 0: it is not known. */
__noinline int note_v8_function(struct walker *walker, __u32 entry, __u64 code)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	struct runtime_v8 *v8;
	__u32 at;

	if (!walker || !copier)
		return V8_STEP_END;
	v8 = &walker->runtime.v8;
	if (code) {
		at = v8->identified++ & (PILOTLIGHT_V8_FUNCTIONS_MAX - 1);
		__asm__ volatile("" : "+r"(at));
		copier->functions[at & (PILOTLIGHT_V8_FUNCTIONS_MAX - 1)] = code;
		return V8_STEP_ON;
	}
	v8->is_in_code = 0;
	if (v8->identified > 0)
		return leave_copied_frame(walker, copier->functions[0]);
	v8->at++;
	return V8_STEP_ON;
}

/* Identifies the next function of optimized code. */
__noinline int step_inlined(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	__u64 code = 0;

	if (!walker)
		return V8_STEP_END;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	if (!runtime)
		return V8_STEP_END;
	if (state->v8.identified >= state->v8.function_count)
		return end_v8_code(walker, entry);
	if (prove_v8_shared(walker, v8_inlined_shared(&state->v8, runtime, state->v8.identified)) &&
		!is_known_code(walker, &code))
		return V8_STEP_COPY;
	return note_v8_function(walker, entry, code);
}

/* What was to be copied has this identity, or 0. A function of code must have been sent, as the
 * code will not be copied again soon. If the outermost was not, it stands for the code: it is shown
 * once a later sample can send it. */
__noinline int note_v8_copy(struct walker *walker, __u32 entry, __u64 code)
{
	__u64 known = 0;

	if (!walker)
		return V8_STEP_END;
	if (walker->runtime.v8.is_in_code) {
		if (code && !is_known_code(walker, &known))
			known = 0;
		if (known || walker->runtime.v8.identified > 0)
			return note_v8_function(walker, entry, known);
		walker->runtime.v8.is_in_code = 0;
	}
	if (code)
		return leave_copied_frame(walker, code);
	walker->runtime.v8.at++;
	return V8_STEP_ON;
}

/* The outermost frame runs the program's start, and no function. */
__noinline int add_v8_frames(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct pilotlight_ring_walk *record;
	int next = V8_STEP_ON;

	if (!walker)
		return 0;
	runtime = walked_v8(walker);
	if (!runtime)
		return 0;
	runtime_v8_begin(&walker->runtime.v8);
	walker->runtime.v8.seen_owner = runtime_hash(
		walker->runtime.owner, (__u64)runtime_generation << 32 | runtime_period(walker));
	record = &walker->walk.record;
	record->runtime_end = PILOTLIGHT_RUNTIME_DEEP;
	for (__u32 i = 0; i < V8_STEPS_MAX; i++) {
		if (i % RUNTIME_TIMED_STEPS == RUNTIME_TIMED_STEPS - 1 &&
			walk_clock_ns() - walker->runtime.begin_ns > RUNTIME_NS_MAX)
			break;
		next = walker->runtime.v8.is_in_code ? step_inlined(walker, entry)
						     : step_v8_frame(walker);
		if (next == V8_STEP_PROVE)
			next = step_v8_proof(walker, entry);
		if (!WALKS_OTHERS && next == V8_STEP_ENTER)
			next = step_v8_entered(walker, entry);
		if (next == V8_STEP_COPY)
			note_v8_copy(walker, entry, copy_v8(walker, entry));
		if (next == V8_STEP_END) {
			record->runtime_end = PILOTLIGHT_RUNTIME_ROOT;
			break;
		}
	}
	record->runtime_file = walker->walk.runtime.file_id;
	record->runtime_language = PILOTLIGHT_RUNTIME_V8;
	record->hash = hash_next(record->hash, record->runtime_end);
	return 0;
}

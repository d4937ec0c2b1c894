/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the frames of an interpreter are in a record, and which native frame runs a group of them.
 * Compiles for the host, too.
 */
#pragma once

#include "remembered_walk.bpf.h"
#include "walk_state.bpf.h"

/* The word of frame `at` behind the native ones. The asm keeps the compiler from removing masks. */
static __always_inline __u64 *runtime_words(struct walk *walk, __u32 at)
{
	__u32 first = number_below(PILOTLIGHT_WALK_DEPTH + 1, walk->record.count);

	at = number_below(PILOTLIGHT_RUNTIME_FRAMES_MAX + 1, at);
	return &walk->frames[first + at * RUNTIME_FRAME_WORDS];
}

enum { RUNTIME_PLACE_SHIFT = 32, RUNTIME_FLAGS_SHIFT = 48 };

static __always_inline int is_file_frame_of(__u64 frame, __u32 file_id)
{
	return frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_FILE &&
	       ((frame >> PILOTLIGHT_FRAME_FILE_SHIFT) & (PILOTLIGHT_FRAME_FILE_IDS_MAX - 1)) ==
		       file_id;
}

enum {
	RUNTIME_PLACE_ON = PILOTLIGHT_RUNTIME_PLACE_UNKNOWN + 1, /* call again */
};

/*
 * The native frame whose part of the stack has the address `mark`, which must be of the
 * interpreter. Groups and native frames are in the same order: `place` is behind the last one that
 * was found, and all searches of a sample together look at each native frame once.
 */
static __always_inline __u32 runtime_find_place(const struct walk *walk, __u32 *place, __u64 mark)
{
	__u64 distance = mark - walk->leaf_sp;
	__u32 count = walk->record.count, last;

	if (count > WALK_DEPTHS)
		count = WALK_DEPTHS;
	last = number_below(WALK_DEPTHS, count - 1);
	if (count == 0 || distance >> 32 || distance >= walk->depths[last])
		return PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
	for (__u32 i = 0; i < RUNTIME_PLACES; i++) {
		__u32 at = number_below(WALK_DEPTHS, *place);
		__u32 next = number_below(WALK_DEPTHS, at + 1);

		if (next == 0 || next > last || distance < walk->depths[at])
			return PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
		*place = next;
		if (distance < walk->depths[next])
			return is_file_frame_of(walk->frames[at], walk->runtime.file_id)
				       ? at
				       : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
	}
	return RUNTIME_PLACE_ON;
}

/* Is the native frame in memory without a file? Of Ruby, where the walk went on by no guess, YJIT's
 * code. */
static __always_inline int runtime_is_generated(__u64 frame)
{
	return frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS;
}

/* Is the native frame in this part of the interpreter? A return address may be right behind. */
static __always_inline int runtime_is_in(
	const struct walk *walk, __s64 place, __u32 bytes, __u64 frame)
{
	__u64 at = (frame & PILOTLIGHT_FRAME_OFFSET_MASK) - !(frame & PILOTLIGHT_FRAME_EXACT);

	return is_file_frame_of(frame, walk->runtime.file_id) && at - (__u64)place < bytes;
}

/* Is the native frame a call of the interpreter's loop, in a runtime of GROUP_CALL or behind? */
static __always_inline int runtime_is_call(
	const struct walk *walk, const struct pilotlight_runtime *runtime, __u64 frame)
{
	return runtime_is_in(walk, runtime->loop_place, runtime->loop_bytes, frame) ||
	       (runtime->group != PILOTLIGHT_RUNTIME_GROUP_FINISH &&
		       runtime->group != PILOTLIGHT_RUNTIME_GROUP_CATCH &&
		       runtime_is_in(
			       walk, runtime->loop_rest_place, runtime->loop_rest_bytes, frame));
}

/* Is the native frame what such a call calls for the frames of FINISH? */
static __always_inline int runtime_is_rest(
	const struct walk *walk, const struct pilotlight_runtime *runtime, __u64 frame)
{
	return runtime_is_in(walk, runtime->loop_rest_place, runtime->loop_rest_bytes, frame);
}

/* Does native frame `at` only go on with the group of a call further out, in CATCH? */
static __always_inline int runtime_goes_on(
	const struct walk *walk, const struct pilotlight_runtime *runtime, __u32 at)
{
	return runtime->group == PILOTLIGHT_RUNTIME_GROUP_CATCH && at + 1 < walk->record.count &&
	       runtime_is_rest(walk, runtime, walk->frames[number_below(WALK_DEPTHS, at + 1)]);
}

/* Does the main program of CATCH run? What runs it is among the outermost native frames. */
static __always_inline int runtime_has_main(
	const struct walk *walk, const struct pilotlight_runtime *runtime)
{
	__u32 count = walk->record.count;

	for (__u32 i = 2; i <= RUNTIME_PLACES && i <= count; i++) {
		__u32 at = number_below(WALK_DEPTHS, count - i);

		if (runtime_is_call(walk, runtime, walk->frames[at]) &&
			runtime_is_in(walk, runtime->code_type_place, runtime->code_units_at,
				walk->frames[number_below(WALK_DEPTHS, at + 1)]))
			return 1;
	}
	return 0;
}

/* Where the walk finds the loop of PHP below the code that PHP generates: any place behind its
 * prologue. */
static __always_inline __u64 runtime_resume_place(const struct pilotlight_runtime *runtime)
{
	return (__u64)runtime->loop_place + runtime->loop_bytes / 2;
}

/* Is the native frame the loop there? As the loop has not called the code, its frame is exact. */
static __always_inline int runtime_is_resumed(
	const struct walk *walk, const struct pilotlight_runtime *runtime, __u64 frame)
{
	return frame & PILOTLIGHT_FRAME_EXACT && is_file_frame_of(frame, walk->runtime.file_id) &&
	       (frame & PILOTLIGHT_FRAME_OFFSET_MASK) == runtime_resume_place(runtime);
}

/* Counts which of RUNTIME_PLACES native frames, from `first` on, run the loop. */
static __always_inline void runtime_count_calls(
	struct walk *walk, const struct pilotlight_runtime *runtime, __u32 first)
{
	struct runtime_calls *calls = &walk->calls;

	first = number_below(WALK_DEPTHS, first) & ~(RUNTIME_PLACES - 1U);
	calls->frames[first / RUNTIME_PLACES] = 0;
	for (__u32 i = 0; i < RUNTIME_PLACES && first + i < walk->record.count; i++) {
		__u64 frame = walk->frames[first + i];
		int is_call = runtime_is_call(walk, runtime, frame);

		if (is_call || (runtime->language == PILOTLIGHT_RUNTIME_RUBY &&
				       runtime_is_generated(frame)))
			calls->frames[first / RUNTIME_PLACES] |= 1U << i;
		if (!is_call)
			continue;
		calls->count += !runtime_goes_on(walk, runtime, first + i);
		if (!calls->inner)
			calls->inner = first + i + 1;
	}
}

/*
 * The innermost native frame that runs one of the interpreter's groups, counted among those of the
 * loop, when all of both are known. The loop's innermost call may not have linked its frame yet,
 * or no longer; of FINISH and TOP, the frame may be there before the call, while a function of C
 * runs: then it is -1. Of CATCH, perl_is_certain() judges that. Any other difference means that
 * they do not belong together. Nor do they if the caller of generated code was guessed: the walk
 * may have missed a call below it.
 */
static __always_inline __u32 runtime_first_call(const struct walk *walk,
	const struct pilotlight_runtime *runtime, __u32 calls, __u32 groups)
{
	int is_finish = runtime->group != PILOTLIGHT_RUNTIME_GROUP_CALL;
	__u32 more = calls - groups;

	if (is_finish && walk->has_jit & WALK_GUESSES_JIT)
		return PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
	if (more <= 1)
		return more;
	if (more != (__u32)-1 || !is_finish)
		return PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
	if (runtime->group != PILOTLIGHT_RUNTIME_GROUP_CATCH &&
		(runtime_is_call(walk, runtime, walk->frames[0]) ||
			runtime_is_rest(walk, runtime, walk->frames[0])))
		return PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
	return more;
}

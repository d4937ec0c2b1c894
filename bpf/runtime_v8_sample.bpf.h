/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds V8's functions to a stack that has been walked. Each runs in a native frame of its own, of
 * generated code or of V8's functions in the binary, which keep frame pointers: so the frame
 * pointer is right below the return address, and that right below the caller's stack pointer.
 */
#pragma once

enum { V8_FRAME_BYTES = 16 /* the caller's frame pointer, and the return address */ };

static __always_inline const struct pilotlight_runtime_v8 *walked_v8(const struct walker *walker)
{
	return (const struct pilotlight_runtime_v8 *)walked_runtime(walker);
}

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */
__noinline int copy_v8_texts(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker || !copier)
		return 0;
	runtime = walked_v8(walker);
	return runtime && v8_copy_texts(&walker->runtime.v8, runtime, &copier->record.code);
}

__noinline int read_v8_function(struct walker *walker)
{
	const struct pilotlight_runtime_v8 *runtime;

	if (!walker)
		return 0;
	runtime = walked_v8(walker);
	return runtime && v8_read_function(&walker->runtime.v8, runtime);
}

/* The line ends in the source at `at`, and from there to the end of the chunk. */
__noinline int count_v8_lines(struct walker *walker, __u32 entry, __u32 at)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	__u64 *chunk;
	__u32 bytes;

	if (!walker || !copier)
		return -1;
	chunk = (__u64 *)copier->record.code.table;
	bytes = v8_copy_chunk(&walker->runtime.v8, at, chunk);
	return bytes ? (int)v8_count_lines(chunk, bytes, walker->runtime.v8.source_wide) : -1;
}

/* The first line of the function; 0: it is not known. */
__noinline int find_v8_line(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_v8 *v8;
	int line, count;

	if (!walker)
		return 0;
	v8 = &walker->runtime.v8;
	runtime = walked_v8(walker);
	if (!runtime)
		return 0;
	line = (int)v8_find_line(v8, runtime);
	if (line || !v8_find_source(v8, runtime))
		return line;
	line = 1;
	for (__u32 i = 0; i < V8_CHUNKS_MAX && i * V8_CHUNK_BYTES < v8->source_bytes; i++) {
		count = count_v8_lines(walker, entry, i * V8_CHUNK_BYTES);
		if (count < 0)
			return 0;
		line += count;
	}
	return line;
}

/* The identity of the function that was found, from a copy; 0: it cannot be copied now. There must
 * be time for a long source. */
__noinline __u64 copy_v8(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	int line;

	if (!walker || !copier || !take_copy(walker, copier) ||
		walk_clock_ns() - walker->runtime.begin_ns > RUNTIME_NS_MAX ||
		!read_v8_function(walker) || !copy_v8_texts(walker, entry))
		return 0;
	line = find_v8_line(walker, entry);
	v8_finish_code(&walker->runtime.v8, &copier->record.code, line);
	return keep_copy(walker, copier);
}

/* Adds a frame with the native one that runs it. Frames of unknown place are of functions that the
 * next one contains: a compiler has put them into it. */
static __always_inline void append_placed_frame(
	struct walker *walker, __u64 code, __s32 unit, __u32 place)
{
	struct walk *walk = &walker->walk;
	__u64 *words = runtime_words(walk, walk->record.runtime_count), ends;

	ends = place == PILOTLIGHT_RUNTIME_PLACE_UNKNOWN ? 0 : PILOTLIGHT_RUNTIME_GROUP_END;
	words[0] = code;
	words[1] = (__u32)unit | (__u64)place << RUNTIME_PLACE_SHIFT | ends << RUNTIME_FLAGS_SHIFT;
	walk->record.runtime_count++;
	walk->record.hash = hash_next(hash_next(walk->record.hash, code), words[1]);
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

/* Adds the function of one native frame, if there is one that is known. Returns 1 if it has to be
 * copied first: another call from here would need too much of the BPF stack. */
__noinline int step_v8(struct walker *walker, __u32 at)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_state *state;
	struct v8_proved *proved;
	__u64 fp, shared;

	if (!walker)
		return 0;
	state = &walker->runtime;
	runtime = walked_v8(walker);
	if (!runtime || walker->walk.record.runtime_count >= PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return 0;
	fp = walker->walk.leaf_sp + walker->walk.depths[number_below(WALK_DEPTHS, at + 1)] -
	     V8_FRAME_BYTES;
	if (!has_v8_frame(&walker->walk, runtime, fp, at))
		return 0;
	shared = v8_find_shared(&state->v8, runtime, fp);
	if (!shared)
		return 0;
	proved = v8_proved(state->v8.shared, shared);
	if (proved->object != shared) {
		runtime_v8_prove(&state->v8, runtime, shared, &state->step);
		if (!state->step.code)
			return 0;
		if (!is_known_code(walker, &proved->word))
			return 1;
		proved->object = shared;
	}
	append_placed_frame(walker, proved->word, -1, at);
	return 0;
}

/* The outermost frame runs the program's start, and no function. */
__noinline int add_v8_frames(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct pilotlight_ring_walk *record;
	__u64 code;

	if (!walker)
		return 0;
	runtime = walked_v8(walker);
	if (!runtime)
		return 0;
	runtime_v8_begin(&walker->runtime.v8);
	record = &walker->walk.record;
	record->runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	for (__u32 i = 0; i < WALK_DEPTHS - 1 && i + 1 < record->count; i++) {
		if (i % RUNTIME_TIMED_STEPS == RUNTIME_TIMED_STEPS - 1 &&
			walk_clock_ns() - walker->runtime.begin_ns > RUNTIME_NS_MAX) {
			record->runtime_end = PILOTLIGHT_RUNTIME_DEEP;
			break;
		}
		if (!is_v8_frame(&walker->walk, runtime, walker->walk.frames[i], i) ||
			!step_v8(walker, i))
			continue;
		code = copy_v8(walker, entry);
		if (code)
			append_placed_frame(walker, code, -1, i);
	}
	record->runtime_file = walker->walk.runtime.file_id;
	record->runtime_language = PILOTLIGHT_RUNTIME_V8;
	record->hash = hash_next(record->hash, record->runtime_end);
	return 0;
}

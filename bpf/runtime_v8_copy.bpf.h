/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies functions of V8 that are new to their process: names, first lines, and where lines end. */
#pragma once

#include "runtime_v8.bpf.h"

enum { V8_OWN_CHUNKS_MAX = 14 }; /* of a function's source, if characters have 2 bytes */

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
	chunk = (__u64 *)copier->record.code.table + V8_CHUNK_WORDS;
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

/* Marks the line ends of the function's source from `at` on, to the end of the chunk. */
__noinline int mark_v8_chunk(struct walker *walker, __u32 entry, __u32 at)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	__u32 bytes, place;
	__u64 *chunk;
	int is_wide;

	if (!walker || !copier)
		return 0;
	is_wide = walker->runtime.v8.source_wide;
	chunk = (__u64 *)copier->record.code.table + V8_CHUNK_WORDS;
	bytes = v8_copy_chunk(&walker->runtime.v8, at, chunk);
	if (bytes == 0)
		return 0;
	place = V8_WORD + (at >> (is_wide ? 4 : 3));
	/* The words of a chunk have marks of that many bytes at most. */
	__asm__ volatile("" : "+r"(place));
	if (place > V8_CHUNK_BYTES - V8_CHUNK_WORDS)
		return 0;
	v8_mark_lines(chunk, bytes, is_wide, (__u64 *)(copier->record.code.table + place));
	copier->record.code.line_bytes = (__u16)(place + (((bytes >> is_wide) + 7) >> 3));
	copier->record.code.line_bytes_all = copier->record.code.line_bytes;
	return 1;
}

/* Marks the line ends of the function, as far as they can be read. */
__noinline int mark_v8_lines(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime_v8 *runtime;
	struct runtime_v8 *v8;

	if (!walker)
		return 0;
	v8 = &walker->runtime.v8;
	runtime = walked_v8(walker);
	if (!runtime || !v8_find_own_source(v8, runtime))
		return 0;
	for (__u32 i = 0; i < V8_OWN_CHUNKS_MAX; i++)
		if (i * V8_CHUNK_BYTES >= v8->source_bytes ||
			!mark_v8_chunk(walker, entry, i * V8_CHUNK_BYTES))
			break;
	return 0;
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
	mark_v8_lines(walker, entry);
	return keep_copy(walker, copier);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks for a function of V8 in a hostile process, and copies what it is called: the input is a
 * description, a frame pointer, and the memory at address 0x10000. Reads are bounded, and what is
 * copied must be a sound record.
 */
#include "tests/fuzz/walked_memory.h"

#include "bpf/runtime_v8_code.bpf.h"
#include "pilotlight/runtime_v8.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_inlined.h"

/* Returns 0 if the source cannot be read. */
static uint32_t count_lines(const struct runtime_v8 *v8)
{
	static __u64 chunk[V8_CHUNK_WORDS];
	uint32_t line = 1, bytes;

	if (v8->source_bytes > V8_CHUNKS_MAX * V8_CHUNK_BYTES)
		abort();
	for (uint32_t at = 0; at < v8->source_bytes; at += V8_CHUNK_BYTES) {
		bytes = v8_copy_chunk(v8, at, chunk);
		if (bytes == 0)
			return 0;
		line += v8_count_lines(chunk, bytes, (int)v8->source_wide);
	}
	if (line > v8->source_bytes + 1)
		abort();
	return line;
}

static void mark_lines(struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime,
	struct pilotlight_runtime_code *record)
{
	static __u64 chunk[V8_CHUNK_WORDS];

	if (!v8_find_own_source(v8, runtime))
		return;
	for (uint32_t at = 0; at < v8->source_bytes; at += V8_CHUNK_BYTES) {
		uint32_t bytes = v8_copy_chunk(v8, at, chunk);
		uint32_t place = 8 + (at >> (v8->source_wide ? 4 : 3));

		if (bytes == 0)
			return;
		if (place > V8_CHUNK_BYTES - V8_CHUNK_WORDS)
			abort();
		v8_mark_lines(chunk, bytes, (int)v8->source_wide,
			(__u64 *)(void *)(record->table + place));
		record->line_bytes = (uint16_t)(place + (((bytes >> v8->source_wide) + 7) >> 3));
		record->line_bytes_all = record->line_bytes;
	}
}

/* The record was full of other bytes before. */
static void check_function(struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	uint32_t line;

	if (!v8_read_function(v8, runtime))
		return;
	line = v8_find_line(v8, runtime);
	if (line == 0 && v8_find_source(v8, runtime))
		line = count_lines(v8);
	memset(&record, 0xff, sizeof(record));
	if (!v8_copy_texts(v8, runtime, &record))
		return;
	v8_finish_code(v8, &record, line);
	mark_lines(v8, runtime, &record);
	if (runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
}

/* The record was full of other bytes before. */
static void check_code(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, int32_t unit)
{
	static const __u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX];
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];

	if (v8->function_count == 0 || v8->function_count > PILOTLIGHT_V8_FUNCTIONS_MAX)
		abort();
	memset(&record, 0xff, sizeof(record));
	if (!(v8->pcs ? v8_copy_baseline(v8, runtime, functions[0], &record)
		      : v8_copy_inlined(v8, runtime, functions, &record)))
		return;
	if (runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
	if (runtime_inlined_find(code.table, code.table_bytes, unit, frames) == 0)
		abort();
}

static void check_search(struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime,
	uint64_t shared, uint64_t ip)
{
	static __u64 page[V8_PAGE_WORDS];
	struct runtime_step step;

	v8->outer = shared;
	v8_begin_search(v8, runtime, ip);
	for (size_t i = 0; i < V8_SAMPLE_STEPS_MAX && ip - v8->search < V8_CODE_BYTES_MAX &&
			   v8_copy_page(v8, page);
		i++) {
		__u64 code = v8_search_page(v8, runtime, page);

		enum v8_code found =
			code ? v8_prove_code(v8, runtime, code, ip, &step) : V8_NO_CODE;

		if ((found == V8_OPTIMIZED_CODE && v8_read_deopt(v8, runtime)) ||
			(found == V8_BASELINE_CODE && v8_read_bytecodes(v8, runtime)))
			check_code(v8, runtime, step.unit);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime description;
	struct pilotlight_runtime_v8 runtime;
	struct runtime_v8 v8;
	struct runtime_step step;
	uint64_t fp, shared, ip;

	if (!take_input(bytes, size, PILOTLIGHT_RUNTIME_V8, &description, &fp, 1))
		return 0;
	memcpy(&runtime, &description, sizeof(runtime));
	runtime_v8_begin(&v8);
	shared = v8_read_frame(&v8, &runtime, fp) ? v8_shared_of(&v8, &runtime, v8.function) : 0;
	if (!shared)
		return 0;
	runtime_v8_prove(&v8, &runtime, shared, &step);
	v8.outer = step.code;
	if (step.code)
		check_function(&v8, &runtime);
	if (step.code && v8_has_table(&v8, &step) && v8_read_bytecodes(&v8, &runtime))
		check_code(&v8, &runtime, v8.table_unit);
	if (can_copy_user(&ip, sizeof(ip), fp + sizeof(fp)))
		check_search(&v8, &runtime, shared, ip);
	return 0;
}

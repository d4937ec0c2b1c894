/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gsym_inlines.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { RUNS_PER_BOUNDARY = 4, RUNS_MIN = 64 * 1024 };

void gsym_inlines_init(struct gsym_inlines *inlines, const struct gsym_tables *tables)
{
	*inlines = (struct gsym_inlines){ .tables = tables };
}

void gsym_inlines_done(struct gsym_inlines *inlines)
{
	free(inlines->runs);
	free(inlines->calls);
	*inlines = (struct gsym_inlines){ 0 };
}

size_t gsym_inlines_runs_max(const struct gsym_tables *tables)
{
	size_t runs = RUNS_MIN + RUNS_PER_BOUNDARY * tables->boundary_count;

	return runs < UINT32_MAX ? runs : UINT32_MAX;
}

static int begin_run(struct gsym_inlines *inlines, uint32_t frame, uint32_t start, uint32_t end)
{
	int r = ARRAY_RESERVE(inlines->runs, &inlines->run_capacity, inlines->run_count + 1,
		gsym_inlines_runs_max(inlines->tables));

	if (r < 0)
		return r == -E2BIG ? -EFBIG : r;
	inlines->runs[inlines->run_count++] = (struct gsym_run){ frame, start, end };
	return 0;
}

static void close_runs(struct gsym_inlines *inlines, size_t left_open, uint32_t end)
{
	while (inlines->open_count > left_open)
		inlines->runs[inlines->open_runs[--inlines->open_count]].end = end;
}

/* From `offset` on the code is in `frame`. */
static int sweep(struct gsym_inlines *inlines, uint32_t frame, uint32_t offset)
{
	const struct gsym_tables *tables = inlines->tables;
	uint32_t chain[GSYM_DEPTH_MAX];
	size_t depth = tables->frames[frame].depth;
	size_t common = 0;
	int r;

	assert(depth <= GSYM_DEPTH_MAX);
	for (size_t i = depth; i > 0; i--) {
		chain[i - 1] = frame;
		frame = symbol_file_frame_parent(tables->file, frame, NULL);
	}
	while (common < depth && common < inlines->open_count &&
		chain[common] == inlines->open_frames[common])
		common++;
	close_runs(inlines, common, offset);
	for (size_t i = common; i < depth; i++) {
		r = begin_run(inlines, chain[i], offset, offset);
		if (r < 0)
			return r;
		inlines->open_frames[i] = chain[i];
		inlines->open_runs[i] = (uint32_t)(inlines->run_count - 1);
		inlines->open_count = i + 1;
	}
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct gsym_run *left = a, *right = b;

	if (left->frame != right->frame)
		return left->frame < right->frame ? -1 : 1;
	return left->start < right->start ? -1 : 1;
}

static struct gsym_call *find_call(const struct gsym_inlines *inlines, uint32_t frame)
{
	size_t low = 0, high = inlines->call_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (inlines->calls[middle].frame <= frame)
			low = middle;
		else
			high = middle;
	}
	assert(inlines->calls[low].frame == frame);
	return &inlines->calls[low];
}

/* The function itself is call 0. From the last to the first, so that children end up in order. */
static void link_calls(struct gsym_inlines *inlines)
{
	for (size_t i = inlines->call_count - 1; i > 0; i--) {
		struct gsym_call *call = &inlines->calls[i];
		struct gsym_call *parent = find_call(inlines,
			symbol_file_frame_parent(inlines->tables->file, call->frame, NULL));

		call->sibling = parent->child;
		parent->child = (uint32_t)i;
	}
}

static int group_runs(struct gsym_inlines *inlines)
{
	int r;

	qsort(inlines->runs, inlines->run_count, sizeof(inlines->runs[0]), compare_runs);
	inlines->call_count = 0;
	for (size_t i = 0; i < inlines->run_count; i++) {
		uint32_t frame = inlines->runs[i].frame;

		if (i > 0 && inlines->runs[i - 1].frame == frame) {
			inlines->calls[inlines->call_count - 1].run_count++;
			continue;
		}
		r = ARRAY_RESERVE(inlines->calls, &inlines->call_capacity, inlines->call_count + 1,
			gsym_inlines_runs_max(inlines->tables));
		if (r < 0)
			return r;
		inlines->calls[inlines->call_count++] = (struct gsym_call){
			.frame = frame, .first_run = (uint32_t)i, .run_count = 1
		};
	}
	link_calls(inlines);
	return 0;
}

int gsym_inlines_find(struct gsym_inlines *inlines, const struct gsym_range *range)
{
	const struct gsym_tables *tables = inlines->tables;
	const struct pilotlight_symbol_boundary *boundaries = symbol_file_boundaries(tables->file);
	int r;

	inlines->run_count = 0;
	inlines->open_count = 0;
	r = begin_run(inlines, range->root, range->start, range->end);
	for (size_t i = range->boundary; r == 0 && i < range->boundary_end; i++)
		r = sweep(inlines, gsym_tables_boundary_frame(tables, i), boundaries[i].offset);
	if (r < 0)
		return r;
	close_runs(inlines, 0, range->end);
	return group_runs(inlines);
}

bool gsym_inlines_has_calls(const struct gsym_inlines *inlines)
{
	return inlines->call_count > 1;
}

/* At most GSYM_DEPTH_MAX deep. */
static void encode_call(const struct gsym_inlines *inlines, const struct gsym_call *call,
	uint32_t base, struct gsym_bytes *bytes)
{
	const struct gsym_run *runs = &inlines->runs[call->first_run];
	struct gsym_line line = { 0 };
	uint64_t place;

	gsym_bytes_uleb(bytes, call->run_count);
	for (size_t i = 0; i < call->run_count; i++) {
		gsym_bytes_uleb(bytes, runs[i].start - base);
		gsym_bytes_uleb(bytes, runs[i].end - runs[i].start);
	}
	if (symbol_file_frame_parent(inlines->tables->file, call->frame, &place) != 0)
		line = gsym_tables_line(inlines->tables, place);
	gsym_bytes_u8(bytes, call->child > 0);
	gsym_bytes_u32(bytes, gsym_tables_name(inlines->tables, call->frame));
	gsym_bytes_uleb(bytes, line.file);
	gsym_bytes_uleb(bytes, line.line);
	if (call->child == 0)
		return;
	for (uint32_t i = call->child; i > 0; i = inlines->calls[i].sibling)
		encode_call(inlines, &inlines->calls[i], runs[0].start, bytes);
	gsym_bytes_uleb(bytes, 0);
}

void gsym_inlines_encode(const struct gsym_inlines *inlines, struct gsym_bytes *bytes)
{
	encode_call(inlines, &inlines->calls[0], inlines->runs[0].start, bytes);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/function_bounds.h"

#include "extract/code_padding.h"
#include "extract/extraction.h"
#include "extract/unwind_inferred.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	ALIGNMENT = 16,		 /* of functions, by compilers and assemblers */
	BEFORE_END_BYTES = 24,	 /* padding, and the instruction before it */
	GUESS_BYTES_MAX = 65536, /* a function without call frame information is not longer */
	CHUNK_BYTES = 4096,
};

void function_bounds_done(struct function_bounds *bounds)
{
	scratch_array_done(&bounds->starts);
	unwind_functions_done(&bounds->functions);
	unwind_sections_done(&bounds->sections);
	*bounds = (struct function_bounds){ 0 };
}

int function_bounds_read(struct function_bounds *bounds, int binary_fd, struct scratch *scratch)
{
	const struct extraction_files files = {
		.binary_fd = binary_fd, .debug_fd = -1, .alternate_fd = -1, .package_fd = -1
	};
	int r = unwind_files_open(&bounds->files, &files);

	if (r == 0)
		r = unwind_sections_read(&bounds->sections, &bounds->files, scratch);
	if (r == 0)
		r = unwind_functions_read(
			&bounds->functions, &bounds->sections, &bounds->files, scratch);
	/* Names do not need bounds, so names must not fail where these do. */
	if (r < 0)
		bounds->functions.functions.count = 0;
	return r == -ENOMEM ? r : 0;
}

int function_bounds_infer(struct function_bounds *bounds, struct scratch *scratch)
{
	const struct unwind_go no_go = { .function_count = 0 };
	struct unwind_gaps gaps = { .bytes = { .count = 0 } };
	struct unwind_stubs stubs;
	int r;

	if (bounds->files.binary.machine != EM_X86_64)
		return 0;
	r = scratch_array_init(&bounds->starts, scratch, sizeof(uint32_t), UNWIND_GAPS_BYTES_MAX);
	if (r == 0)
		r = unwind_stubs_find(&stubs, &bounds->files);
	if (r == 0)
		r = unwind_gaps_read(
			&gaps, &bounds->functions, &no_go, &stubs, &bounds->files, scratch);
	if (r == 0)
		r = unwind_inferred_find_starts(&bounds->starts, &gaps, &bounds->files, scratch);
	unwind_gaps_done(&gaps);
	if (r < 0)
		bounds->starts.count = 0;
	return r == -ENOMEM ? r : 0;
}

/* Returns the vaddr of a file offset in code. */
static uint64_t vaddr_of(const struct function_bounds *bounds, uint32_t offset)
{
	const struct code_segments *code = &bounds->files.code;

	for (size_t i = 0; i < code->count; i++)
		if (offset >= code->segments[i].offset &&
			offset - code->segments[i].offset < code->segments[i].file_bytes)
			return code->segments[i].vaddr + (offset - code->segments[i].offset);
	return UINT64_MAX;
}

int function_bounds_each(const struct function_bounds *bounds,
	int (*visit)(void *context, uint64_t start, uint64_t end), void *context)
{
	const struct unwind_function *functions = bounds->functions.functions.items;
	int r = 0;

	for (size_t i = 0; r == 0 && i < bounds->functions.functions.count; i++) {
		uint64_t vaddr = vaddr_of(bounds, functions[i].start);

		if (vaddr != UINT64_MAX)
			r = visit(context, vaddr, vaddr + (functions[i].end - functions[i].start));
	}
	return r;
}

/* The number of starts, ascending and `stride` bytes apart, at or before the offset. */
static size_t count_before(const void *items, size_t count, size_t stride, uint32_t offset)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t start;

		memcpy(&start, (const uint8_t *)items + middle * stride, sizeof(start));
		if (start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first start behind the offset; UINT32_MAX: none. */
static uint32_t next_start(const struct function_bounds *bounds, uint32_t offset)
{
	const struct unwind_function *functions = bounds->functions.functions.items;
	const uint32_t *starts = bounds->starts.items;
	size_t described = bounds->functions.functions.count, inferred = bounds->starts.count;
	size_t next = count_before(functions, described, sizeof(*functions), offset);
	uint32_t start = next < described ? functions[next].start : UINT32_MAX;

	next = count_before(starts, inferred, sizeof(*starts), offset);
	return next < inferred && starts[next] < start ? starts[next] : start;
}

uint64_t function_bounds_end(
	const struct function_bounds *bounds, uint64_t vaddr, bool *ret_is_inside)
{
	const struct unwind_function *functions = bounds->functions.functions.items;
	size_t before, count = bounds->functions.functions.count;
	uint32_t offset, bytes, start;
	uint64_t end;

	*ret_is_inside = false;
	if (count + bounds->starts.count == 0 ||
		!unwind_files_find_offset(&bounds->files, vaddr, &offset, &bytes))
		return UINT64_MAX;
	before = count_before(functions, count, sizeof(*functions), offset);
	if (before > 0 && functions[before - 1].end > offset) {
		*ret_is_inside = true;
		return vaddr + (functions[before - 1].end - offset);
	}
	start = next_start(bounds, offset);
	if (start == UINT32_MAX)
		return UINT64_MAX;
	/* Segments may share parts of the file, in another order. */
	end = vaddr_of(bounds, start);
	return end > vaddr ? end : UINT64_MAX;
}

/*
 * Does a function end before `end`? Bytes of a return also occur in other instructions. So without
 * padding behind it, a return must be repz ret, or follow pop, leave or vzeroupper.
 */
static bool ends_function(const uint8_t *end)
{
	for (size_t pad = 1; pad < ALIGNMENT; pad++) {
		const uint8_t *code = end - pad;

		if ((code[-1] == 0xc3 || code[-2] == 0xeb || code[-5] == 0xe9) &&
			code_padding_is_all(code, pad))
			return true;
	}
	return end[-1] == 0xc3 &&
	       ((end[-2] & 0xf8) == 0x58 || end[-2] == 0xf3 || end[-2] == 0xc9 || end[-2] == 0x77);
}

uint64_t function_bounds_guess_end(
	const struct function_bounds *bounds, uint64_t vaddr, uint64_t limit)
{
	uint64_t first = (vaddr / ALIGNMENT + 1) * ALIGNMENT, last;
	uint8_t code[BEFORE_END_BYTES + CHUNK_BYTES];
	uint32_t offset, bytes;

	/* Sums below must not wrap, and no program has code there. */
	if (vaddr > UINT64_MAX - 2 * GUESS_BYTES_MAX || bounds->files.binary.machine != EM_X86_64 ||
		!unwind_files_find_offset(&bounds->files, vaddr, &offset, &bytes))
		return limit;
	last = vaddr + (bytes < GUESS_BYTES_MAX ? bytes : GUESS_BYTES_MAX);
	if (last > limit)
		last = limit;
	/* Bytes before the vaddr are zeros, which neither return nor pad. */
	for (uint64_t from = vaddr; from < last; from += CHUNK_BYTES) {
		uint64_t size = last - from < CHUNK_BYTES ? last - from : CHUNK_BYTES;
		uint64_t kept = from == vaddr ? 0 : BEFORE_END_BYTES;

		for (size_t i = 0; i < BEFORE_END_BYTES - kept; i++)
			code[i] = 0;
		if (elf_file_read(&bounds->files.binary, offset + (from - vaddr) - kept,
			    code + BEFORE_END_BYTES - kept, kept + size) < 0)
			return limit;
		for (; first <= from + size && first < last; first += ALIGNMENT)
			if (ends_function(code + BEFORE_END_BYTES + (first - from)))
				return first;
	}
	return last;
}

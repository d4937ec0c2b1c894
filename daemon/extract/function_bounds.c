/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/function_bounds.h"

#include "extract/code_padding.h"
#include "extract/extraction.h"

#include <elf.h>
#include <errno.h>

enum {
	ALIGNMENT = 16,		 /* of functions, by compilers and assemblers */
	BEFORE_END_BYTES = 24,	 /* padding, and the instruction before it */
	GUESS_BYTES_MAX = 65536, /* a function without call frame information is not longer */
	CHUNK_BYTES = 4096,
};

void function_bounds_done(struct function_bounds *bounds)
{
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

uint64_t function_bounds_end(
	const struct function_bounds *bounds, uint64_t vaddr, bool *ret_is_inside)
{
	const struct unwind_function *functions = bounds->functions.functions.items;
	size_t low = 0, high = bounds->functions.functions.count;
	uint32_t offset, bytes;
	uint64_t end;

	*ret_is_inside = false;
	if (high == 0 || !unwind_files_find_offset(&bounds->files, vaddr, &offset, &bytes))
		return UINT64_MAX;
	/* Finds the first function that starts behind the offset. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && functions[low - 1].end > offset) {
		*ret_is_inside = true;
		return vaddr + (functions[low - 1].end - offset);
	}
	if (low == bounds->functions.functions.count)
		return UINT64_MAX;
	/* Segments may share parts of the file, in another order. */
	end = vaddr_of(bounds, functions[low].start);
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

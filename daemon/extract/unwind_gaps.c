/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_gaps.h"

#include "extract/code_padding.h"

#include <string.h>

enum {
	WINDOW_BYTES = 64 * 1024,
	GAP_BYTES_MIN = 8, /* a shorter one has no function that calls */
};

struct collection {
	struct unwind_gaps *gaps;
	const struct elf_file *file;
	const struct unwind_go *go;
	const struct unwind_stubs *stubs;
	size_t next_go;
	uint32_t segment;
	/* The part of the file that was read last; so that small gaps cost no call each. */
	uint32_t window_start, window_bytes;
	uint8_t window[WINDOW_BYTES];
};

void unwind_gaps_done(struct unwind_gaps *gaps)
{
	scratch_array_done(&gaps->gaps);
	scratch_array_done(&gaps->bytes);
	*gaps = (struct unwind_gaps){ 0 };
}

/* Reads as much as possible from the offset on; at least a byte. */
static int read_window(struct collection *collection, uint32_t offset)
{
	uint64_t left = collection->file->size_bytes - offset;
	uint32_t bytes = left < WINDOW_BYTES ? (uint32_t)left : WINDOW_BYTES;
	int r = elf_file_read(collection->file, offset, collection->window, bytes);

	if (r < 0)
		return r;
	collection->window_start = offset;
	collection->window_bytes = bytes;
	return 0;
}

static bool is_in_window(const struct collection *collection, uint32_t offset)
{
	return offset >= collection->window_start &&
	       offset - collection->window_start < collection->window_bytes;
}

static int copy(struct collection *collection, uint32_t start, uint32_t end)
{
	struct scratch_array *bytes = &collection->gaps->bytes;

	while (start < end) {
		uint32_t skipped, size;
		int r = is_in_window(collection, start) ? 0 : read_window(collection, start);

		if (r < 0)
			return r;
		skipped = start - collection->window_start;
		size = collection->window_bytes - skipped;
		if (size > end - start)
			size = end - start;
		memcpy((uint8_t *)bytes->items + bytes->count, collection->window + skipped, size);
		bytes->count += size;
		start += size;
	}
	return 0;
}

/* Adds code that nothing describes. */
static int add(struct collection *collection, uint32_t start, uint32_t end)
{
	const uint64_t file_bytes = collection->file->size_bytes;
	struct scratch_array *bytes = &collection->gaps->bytes;
	const struct unwind_gap *gaps = collection->gaps->gaps.items;
	size_t count = bytes->count, last_count = collection->gaps->gaps.count;
	struct unwind_gap gap = {
		.start = start, .at = (uint32_t)count, .segment = collection->segment
	};
	int r;

	/* The file may end before the segment. */
	if (end > file_bytes)
		end = (uint32_t)file_bytes;
	if (start < end && end - start > UNWIND_GAPS_BYTES_MAX - count)
		end = start + (uint32_t)(UNWIND_GAPS_BYTES_MAX - count);
	/* Gaps must ascend, whatever the order of the segments is. */
	if (start >= end || end - start < GAP_BYTES_MIN ||
		(last_count > 0 && start < gaps[last_count - 1].end))
		return 0;
	gap.end = end;
	r = scratch_array_reserve(bytes, count + (end - start));
	if (r == 0)
		r = copy(collection, start, end);
	if (r < 0)
		return r;
	if (code_padding_is_all((uint8_t *)bytes->items + count, end - start)) {
		bytes->count = count;
		return 0;
	}
	return scratch_array_append(&collection->gaps->gaps, &gap, sizeof(gap));
}

/* Leaves out the functions of Go. */
static int add_beside_go(struct collection *collection, uint32_t start, uint32_t end)
{
	const struct unwind_go_row *rows = collection->go->rows.items;
	size_t count = collection->go->rows.count;
	int r = 0;

	while (r == 0 && start < end) {
		uint32_t next = end;
		bool is_go;

		while (collection->next_go < count && rows[collection->next_go].offset <= start)
			collection->next_go++;
		is_go = collection->next_go > 0 &&
			rows[collection->next_go - 1].kind != UNWIND_GO_NOTHING;
		if (collection->next_go < count && rows[collection->next_go].offset < end)
			next = rows[collection->next_go].offset;
		if (!is_go)
			r = add(collection, start, next);
		start = next;
	}
	return r;
}

/* Leaves out the stubs. */
static int add_beside_stubs(struct collection *collection, uint32_t start, uint32_t end)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < collection->stubs->count; i++) {
		const struct unwind_stub *stub = &collection->stubs->stubs[i];

		if (stub->end <= start || stub->start >= end)
			continue;
		if (stub->start > start)
			r = add_beside_go(collection, start, stub->start);
		start = stub->end;
	}
	return r < 0 || start >= end ? r : add_beside_go(collection, start, end);
}

static int collect(struct collection *collection, const struct unwind_functions *functions,
	const struct code_segments *code)
{
	const struct unwind_function *items = functions->functions.items;
	size_t count = functions->functions.count, next = 0;
	int r = 0;

	/* Segments and functions ascend; the former by vaddr and, as linkers make them, by offset.
	 */
	for (size_t i = 0; r == 0 && i < code->count; i++) {
		const struct pilotlight_symbol_segment *segment = &code->segments[i];
		uint32_t position = (uint32_t)segment->offset;
		uint32_t end = (uint32_t)(segment->offset + segment->file_bytes);

		collection->segment = (uint32_t)i;
		for (; r == 0 && next < count && items[next].start < end; next++) {
			if (items[next].start > position)
				r = add_beside_stubs(collection, position, items[next].start);
			if (items[next].end > position)
				position = items[next].end;
		}
		if (r == 0)
			r = add_beside_stubs(collection, position, end);
	}
	return r;
}

int unwind_gaps_read(struct unwind_gaps *gaps, const struct unwind_functions *functions,
	const struct unwind_go *go, const struct unwind_stubs *stubs,
	const struct unwind_files *files, struct scratch *scratch)
{
	struct collection collection = {
		.gaps = gaps, .file = &files->binary, .go = go, .stubs = stubs
	};
	int r = scratch_array_init(
		&gaps->gaps, scratch, sizeof(struct unwind_gap), UNWIND_GAPS_BYTES_MAX);

	if (r == 0)
		r = scratch_array_init(&gaps->bytes, scratch, 1, UNWIND_GAPS_BYTES_MAX);
	return r < 0 ? r : collect(&collection, functions, &files->code);
}

const struct unwind_gap *unwind_gaps_find(const struct unwind_gaps *gaps, uint32_t offset)
{
	const struct unwind_gap *items = gaps->gaps.items;
	size_t low = 0, high = gaps->gaps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < gaps->gaps.count && items[low].start <= offset ? &items[low] : NULL;
}

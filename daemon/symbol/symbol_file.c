/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_file.h"

#include "symbol/offset_index.h"
#include "symbol/symbol_file_check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RELEASED_BYTES_MIN = 1 << 20 };

struct symbol_file {
	void *mapping;
	size_t mapping_bytes;
	const struct pilotlight_symbol_header *header;
	struct symbol_file_tables tables;
	struct offset_index boundaries, rows;
};

void symbol_file_free(struct symbol_file *file)
{
	if (!file)
		return;
	if (file->mapping)
		(void)munmap(file->mapping, file->mapping_bytes);
	free(file);
}

static int map(struct symbol_file *file, int fd)
{
	struct stat status;
	void *mapping;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size <= 0)
		return -EBADMSG;
	mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	file->mapping = mapping;
	file->mapping_bytes = (size_t)status.st_size;
	file->header = mapping;
	return 0;
}

static struct offset_index index_of(const struct symbol_file_tables *tables,
	enum pilotlight_symbol_section_id entries, enum pilotlight_symbol_section_id starts,
	size_t entry_bytes, uint8_t shift)
{
	if (tables->by_id[entries].count == 0)
		return (struct offset_index){ 0 };
	return (struct offset_index){
		.entries = tables->by_id[entries].entries,
		.starts = tables->by_id[starts].entries,
		.count = tables->by_id[entries].count,
		.last_range = tables->by_id[starts].count - 2,
		.entry_words = (uint8_t)(entry_bytes / sizeof(uint32_t)),
		.shift = shift,
	};
}

/* Hashed pages would count as our memory; a lookup maps the few that it needs. */
static void release_pages(const void *start, size_t size)
{
	const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)start + page_bytes - 1) & ~(page_bytes - 1);
	uintptr_t end = ((uintptr_t)start + size) & ~(page_bytes - 1);

	if (size >= RELEASED_BYTES_MIN && first < end)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

int symbol_file_open(int fd, struct symbol_file **ret_file)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return -ENOMEM;
	r = map(file, fd);
	if (r < 0)
		return r;
	r = symbol_file_check_header(file->mapping, file->mapping_bytes);
	if (r < 0)
		return r;
	/* The check hashes the whole file. */
	(void)madvise(file->mapping, file->mapping_bytes, MADV_WILLNEED);
	r = symbol_file_check_sections(
		file->mapping, file->mapping_bytes, release_pages, &file->tables);
	if (r < 0)
		return r;
	file->boundaries = index_of(&file->tables, PILOTLIGHT_SYMBOL_BOUNDARIES,
		PILOTLIGHT_SYMBOL_BOUNDARY_INDEX, sizeof(struct pilotlight_symbol_boundary),
		file->header->boundary_shift);
	file->rows = index_of(&file->tables, PILOTLIGHT_SYMBOL_ROWS, PILOTLIGHT_SYMBOL_ROW_INDEX,
		sizeof(struct pilotlight_symbol_row), file->header->row_shift);
	*ret_file = TAKE_PTR(file);
	return 0;
}

const struct pilotlight_symbol_header *symbol_file_header(const struct symbol_file *file)
{
	return file->header;
}

struct symbol_identity symbol_file_identity(const struct symbol_file *file)
{
	return symbol_header_identity(file->header);
}

uint64_t symbol_file_count(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section)
{
	if (section == 0 || (uint32_t)section >= SYMBOL_FILE_SECTION_IDS)
		return 0;
	return file->tables.by_id[section].count;
}

const void *symbol_file_entries(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section)
{
	if (section == 0 || (uint32_t)section >= SYMBOL_FILE_SECTION_IDS)
		return NULL;
	return file->tables.by_id[section].entries;
}

bool symbol_file_find_vaddr(const struct symbol_file *file, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct pilotlight_symbol_segment *segments =
		file->tables.by_id[PILOTLIGHT_SYMBOL_SEGMENTS].entries;
	size_t count = file->tables.by_id[PILOTLIGHT_SYMBOL_SEGMENTS].count;

	for (size_t i = 0; i < count; i++) {
		uint64_t into = offset - segments[i].offset;

		if (offset < segments[i].offset || into >= segments[i].file_bytes)
			continue;
		if (into > UINT64_MAX - segments[i].vaddr)
			return false;
		*ret_vaddr = segments[i].vaddr + into;
		return true;
	}
	return false;
}

static const struct pilotlight_symbol_frame *find_frame(
	const struct symbol_file *file, uint32_t frame)
{
	const struct symbol_file_table *frames = &file->tables.by_id[PILOTLIGHT_SYMBOL_FRAMES];

	if (frame == 0 || frame >= frames->count)
		return NULL;
	return (const struct pilotlight_symbol_frame *)frames->entries + frame;
}

/* The caller needs the frames next: they load while the next batch is searched. */
static void find_frames(
	const struct symbol_file *file, const uint32_t *keys, size_t count, uint32_t *ret_frames)
{
	const struct pilotlight_symbol_boundary *boundaries =
		file->tables.by_id[PILOTLIGHT_SYMBOL_BOUNDARIES].entries;
	const struct symbol_file_table *frames = &file->tables.by_id[PILOTLIGHT_SYMBOL_FRAMES];
	const struct pilotlight_symbol_frame *entries =
		file->tables.by_id[PILOTLIGHT_SYMBOL_FRAMES].entries;
	uint32_t positions[OFFSET_INDEX_BATCH];

	offset_index_find(&file->boundaries, keys, count, positions);
	for (size_t i = 0; i < count; i++) {
		uint32_t frame = positions[i] > 0 ? boundaries[positions[i] - 1].frame : 0;

		if (frame >= frames->count)
			frame = 0;
		else
			__builtin_prefetch(&entries[frame]);
		ret_frames[i] = frame;
	}
}

static uint64_t place_of(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static void find_places(
	const struct symbol_file *file, const uint32_t *keys, size_t count, uint64_t *ret_places)
{
	const struct pilotlight_symbol_row *rows =
		file->tables.by_id[PILOTLIGHT_SYMBOL_ROWS].entries;
	uint32_t positions[OFFSET_INDEX_BATCH];

	offset_index_find(&file->rows, keys, count, positions);
	for (size_t i = 0; i < count; i++) {
		const struct pilotlight_symbol_row *row;

		if (positions[i] == 0) {
			ret_places[i] = 0;
			continue;
		}
		row = &rows[positions[i] - 1];
		ret_places[i] = place_of(row->place_low, row->place_high);
	}
}

/* A vaddr beyond a 32-bit offset is searched as 0, and its answer is cleared. */
static void find_batch(const struct symbol_file *file, const uint64_t *vaddrs, size_t count,
	uint32_t *ret_frames, uint64_t *ret_places)
{
	uint32_t keys[OFFSET_INDEX_BATCH];
	uint32_t outside = 0;

	_Static_assert(OFFSET_INDEX_BATCH <= 32, "a bit for each");
	for (size_t i = 0; i < count; i++) {
		uint64_t offset = vaddrs[i] - file->header->base_vaddr;
		bool is_outside = vaddrs[i] < file->header->base_vaddr || offset > UINT32_MAX;

		keys[i] = is_outside ? 0 : (uint32_t)offset;
		outside |= (uint32_t)is_outside << i;
	}
	if (ret_frames)
		find_frames(file, keys, count, ret_frames);
	if (ret_places)
		find_places(file, keys, count, ret_places);
	for (; outside; outside &= outside - 1) {
		if (ret_frames)
			ret_frames[__builtin_ctz(outside)] = 0;
		if (ret_places)
			ret_places[__builtin_ctz(outside)] = 0;
	}
}

void symbol_file_find(const struct symbol_file *file, const uint64_t *vaddrs, size_t count,
	uint32_t *ret_frames, uint64_t *ret_places)
{
	for (size_t done = 0; done < count; done += OFFSET_INDEX_BATCH) {
		size_t left = count - done;

		find_batch(file, vaddrs + done,
			left < OFFSET_INDEX_BATCH ? left : OFFSET_INDEX_BATCH,
			ret_frames ? ret_frames + done : NULL,
			ret_places ? ret_places + done : NULL);
	}
}

static const char *string_at(const struct symbol_file *file, uint32_t offset)
{
	const struct symbol_file_table *strings = &file->tables.by_id[PILOTLIGHT_SYMBOL_STRINGS];

	return offset < strings->count ? (const char *)strings->entries + offset : "";
}

const char *symbol_file_frame_name(const struct symbol_file *file, uint32_t frame)
{
	const struct pilotlight_symbol_frame *entry = find_frame(file, frame);

	return entry ? string_at(file, entry->name) : "";
}

uint32_t symbol_file_frame_parent(
	const struct symbol_file *file, uint32_t frame, uint64_t *ret_call)
{
	const struct pilotlight_symbol_frame *entry = find_frame(file, frame);
	/* A parent must precede its child, or a chain could be endless. */
	bool has_parent = entry && entry->parent < frame && entry->parent > 0;

	if (ret_call)
		*ret_call = has_parent ? place_of(entry->call_low, entry->call_high) : 0;
	return has_parent ? entry->parent : 0;
}

struct symbol_place symbol_file_place(const struct symbol_file *file, uint64_t place)
{
	const struct symbol_file_table *files = &file->tables.by_id[PILOTLIGHT_SYMBOL_FILES];
	const uint32_t *paths = file->tables.by_id[PILOTLIGHT_SYMBOL_FILES].entries;
	uint32_t id = (uint32_t)(place >> 40);

	return (struct symbol_place){
		.file = id > 0 && id < files->count ? string_at(file, paths[id]) : "",
		.line = (uint32_t)(place >> 16) & 0xffffff,
		.column = (uint32_t)place & 0xffff,
	};
}

size_t symbol_file_find_chain(
	const struct symbol_file *file, uint64_t vaddr, struct symbol_line *ret_lines, size_t max)
{
	uint32_t frame;
	uint64_t place;
	size_t count = 0;

	symbol_file_find(file, &vaddr, 1, &frame, &place);
	if (frame == 0 && place == 0)
		return 0;
	while (count < max) {
		ret_lines[count++] = (struct symbol_line){
			.function = symbol_file_frame_name(file, frame),
			.place = symbol_file_place(file, place),
		};
		frame = symbol_file_frame_parent(file, frame, &place);
		if (frame == 0)
			break;
	}
	return count;
}

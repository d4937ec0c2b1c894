/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_file.h"

#include "base/array.h"
#include "dwarf/elf_inflate.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct section_name {
	const char *name; /* after ".debug_" */
	size_t field;	  /* of struct dwarf_sections */
};

static const struct section_name section_names[] = {
	{ "info", offsetof(struct dwarf_sections, info) },
	{ "abbrev", offsetof(struct dwarf_sections, abbrev) },
	{ "line", offsetof(struct dwarf_sections, line) },
	{ "line_str", offsetof(struct dwarf_sections, line_str) },
	{ "str", offsetof(struct dwarf_sections, str) },
	{ "str_offsets", offsetof(struct dwarf_sections, str_offsets) },
	{ "addr", offsetof(struct dwarf_sections, addr) },
	{ "ranges", offsetof(struct dwarf_sections, ranges) },
	{ "rnglists", offsetof(struct dwarf_sections, rnglists) },
};

static bool is_old_style(const char *name)
{
	return strncmp(name, ".zdebug_", strlen(".zdebug_")) == 0;
}

/* Returns NULL for sections that we do not read. */
static struct dwarf_bytes *find_field(
	struct dwarf_sections *sections, const char *name, bool is_split)
{
	size_t length;

	if (!is_old_style(name) && strncmp(name, ".debug_", strlen(".debug_")) != 0)
		return NULL;
	name = strchr(name, '_') + 1;
	if (is_split && strcmp(name, "cu_index") == 0)
		return &sections->cu_index;
	length = strlen(name);
	if (is_split) {
		if (length < 4 || strcmp(name + length - 4, ".dwo") != 0)
			return NULL;
		length -= 4;
	}
	for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
		if (strlen(section_names[i].name) == length &&
			strncmp(section_names[i].name, name, length) == 0)
			return (struct dwarf_bytes *)((char *)sections + section_names[i].field);
	return NULL;
}

static int unpack(struct dwarf_file *file, const Elf64_Shdr *section, bool is_zdebug,
	struct dwarf_bytes *bytes)
{
	struct scratch_array *unpacked = &file->unpacked;
	size_t start;
	int r = 0;

	if (!file->has_unpacked)
		r = scratch_array_init(unpacked, file->scratch, 1, file->scratch->limit_bytes);
	if (r < 0)
		return r;
	file->has_unpacked = true;
	start = unpacked->count;
	r = elf_inflate_section(&file->elf, section, is_zdebug, unpacked);
	if (r < 0)
		return r;
	/* The array never moves. */
	bytes->position = (const uint8_t *)unpacked->items + start;
	bytes->end = (const uint8_t *)unpacked->items + unpacked->count;
	return 0;
}

/* A section without contents leaves the field unchanged. */
static int read_section(struct dwarf_file *file, const Elf64_Shdr *section, const char *name,
	struct dwarf_bytes *field)
{
	const struct elf_file *elf = &file->elf;
	struct dwarf_bytes bytes = { .is_swapped = elf->is_swapped };
	int r;

	if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL || section->sh_size == 0)
		return 0;
	if (section->sh_offset > elf->size_bytes ||
		section->sh_size > elf->size_bytes - section->sh_offset)
		return -ENOEXEC;
	if (is_old_style(name) || (section->sh_flags & SHF_COMPRESSED)) {
		r = unpack(file, section, !(section->sh_flags & SHF_COMPRESSED), &bytes);
		if (r < 0)
			return r;
	} else {
		bytes.position = elf->memory + section->sh_offset;
		bytes.end = bytes.position + section->sh_size;
	}
	if (bytes.position < bytes.end)
		*field = bytes;
	return 0;
}

static int add_section(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct dwarf_file *file = context;
	struct dwarf_bytes *field = find_field(&file->sections, name, file->is_split);
	int r;

	if (!field || field->position)
		return 0;
	r = read_section(file, section, name, field);
	if (field == &file->sections.info && field->position)
		file->sections.info_index = index;
	return r;
}

/*
 * Maps the file, and a page of zeros behind it: another process may overwrite the file at any
 * moment, and a string whose end was checked would otherwise have none in the mapping.
 */
static int map(struct dwarf_file *file, int fd)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct elf_file elf;
	void *mapping;
	size_t bytes;
	int r;

	r = elf_file_init(&elf, fd);
	if (r < 0)
		return r;
	if (elf.size_bytes > SIZE_MAX - 2 * page_bytes)
		return -EFBIG;
	bytes = ((size_t)elf.size_bytes + page_bytes - 1) / page_bytes * page_bytes + page_bytes;
	mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	file->mapping = mapping;
	file->mapping_bytes = bytes;
	if (mmap(mapping, elf.size_bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	return elf_file_init_memory(&file->elf, mapping, elf.size_bytes);
}

static void close_mapping(struct dwarf_file *file)
{
	if (file->mapping)
		(void)munmap(file->mapping, file->mapping_bytes);
	file->mapping = NULL;
	file->unpacked.count = 0;
	file->next_info_count = 0;
	file->sections = (struct dwarf_sections){ 0 };
}

int dwarf_file_open(struct dwarf_file *file, int fd, bool is_split, struct scratch *scratch)
{
	int r;

	close_mapping(file);
	file->is_split = is_split;
	file->scratch = scratch;
	r = map(file, fd);
	if (r == 0)
		r = elf_sections_each(&file->elf, add_section, file);
	if (r < 0)
		close_mapping(file);
	return r;
}

/* A .debug_info.dwo after the first. Each is unpacked once, however often it is searched. */
struct dwarf_next_info {
	uint32_t index;
	struct dwarf_bytes bytes;
};

static int add_next_info(struct dwarf_file *file, uint32_t index, const struct dwarf_bytes *bytes)
{
	int r = ARRAY_RESERVE(
		file->next_infos, &file->next_info_capacity, file->next_info_count + 1, UINT32_MAX);

	if (r < 0)
		return r;
	file->next_infos[file->next_info_count++] =
		(struct dwarf_next_info){ .index = index, .bytes = *bytes };
	return 0;
}

/* Returns 1 once it has added one. */
static int try_next_info(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct dwarf_file *file = context;
	uint32_t last = file->next_info_count > 0
				? file->next_infos[file->next_info_count - 1].index
				: file->sections.info_index;
	struct dwarf_bytes info = { 0 };
	int r;

	if (index <= last || find_field(&file->sections, name, true) != &file->sections.info)
		return 0;
	r = read_section(file, section, name, &info);
	if (r == 0 && info.position)
		r = add_next_info(file, index, &info);
	return r < 0 ? r : info.position != NULL;
}

bool dwarf_file_next_info(struct dwarf_file *file, struct dwarf_sections *sections)
{
	size_t i = 0;

	while (i < file->next_info_count && file->next_infos[i].index <= sections->info_index)
		i++;
	if (i == file->next_info_count &&
		(!file->mapping || elf_sections_each(&file->elf, try_next_info, file) != 1))
		return false;
	sections->info = file->next_infos[i].bytes;
	sections->info_index = file->next_infos[i].index;
	return true;
}

void dwarf_file_release_pages(const struct dwarf_file *file)
{
	if (file->mapping)
		(void)madvise(file->mapping, file->mapping_bytes, MADV_DONTNEED);
}

void dwarf_file_close(struct dwarf_file *file)
{
	close_mapping(file);
	free(file->next_infos);
	if (file->has_unpacked)
		scratch_array_done(&file->unpacked);
	*file = (struct dwarf_file){ 0 };
}

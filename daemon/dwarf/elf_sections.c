/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_sections.h"

#include "symbol/elf_image.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_BYTES = 64 * 1024 };

static bool is_inside(const struct elf_file *file, const Elf64_Shdr *section)
{
	return section->sh_offset <= file->size_bytes &&
	       section->sh_size <= file->size_bytes - section->sh_offset;
}

/* Reads the section of names; a file without one gets an empty one. */
static int read_names_section(const struct elf_file *file, Elf64_Shdr *ret_names)
{
	int r;

	*ret_names = (Elf64_Shdr){ 0 };
	if (file->names_section == SHN_UNDEF || file->names_section >= file->shdr_count)
		return 0;
	r = elf_file_read_shdr(file, file->names_section, ret_names);
	if (r < 0)
		return r;
	return ret_names->sh_type == SHT_STRTAB && is_inside(file, ret_names) ? 0 : -ENOEXEC;
}

static int read_name(const struct elf_file *file, const Elf64_Shdr *names, uint32_t name,
	char text[ELF_SECTION_NAME_BYTES])
{
	size_t size = ELF_SECTION_NAME_BYTES;
	int r;

	text[0] = '\0';
	if (name >= names->sh_size)
		return 0;
	if (size > names->sh_size - name)
		size = names->sh_size - name;
	r = elf_file_read(file, names->sh_offset + name, text, size);
	if (r < 0)
		return r;
	if (!memchr(text, '\0', size))
		text[0] = '\0';
	return 0;
}

int elf_sections_each(const struct elf_file *file,
	int (*visit)(void *context, uint32_t index, const Elf64_Shdr *section, const char *name),
	void *context)
{
	char name[ELF_SECTION_NAME_BYTES];
	Elf64_Shdr names, section;
	int r;

	if (file->shdr_count > ELF_SECTIONS_MAX)
		return -ENOEXEC;
	r = read_names_section(file, &names);
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < file->shdr_count; i++) {
		r = elf_file_read_shdr(file, i, &section);
		if (r == 0)
			r = read_name(file, &names, section.sh_name, name);
		if (r == 0)
			r = visit(context, i, &section, name);
		if (r != 0)
			return r;
	}
	return 0;
}

struct search {
	const char *name;
	Elf64_Shdr section;
};

static int match_section(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct search *search = context;

	(void)index;
	if (section->sh_type == SHT_NOBITS || section->sh_size == 0 ||
		strcmp(name, search->name) != 0)
		return 0;
	search->section = *section;
	return 1;
}

int elf_sections_find(const struct elf_file *file, const char *name, Elf64_Shdr *ret_section)
{
	struct search search = { .name = name };
	int r;

	r = elf_sections_each(file, match_section, &search);
	if (r < 0)
		return r;
	if (r == 0)
		return -ENODATA;
	if (!is_inside(file, &search.section))
		return -ENOEXEC;
	*ret_section = search.section;
	return 0;
}

/* Reads the beginning of a section, as much as fits. */
static int read_contents(const struct elf_file *file, const char *name, uint8_t *bytes, size_t room,
	size_t *ret_size)
{
	Elf64_Shdr section;
	size_t size = room;
	int r;

	r = elf_sections_find(file, name, &section);
	if (r < 0)
		return r;
	if (size > section.sh_size)
		size = section.sh_size;
	r = elf_file_read(file, section.sh_offset, bytes, size);
	if (r < 0)
		return r;
	*ret_size = size;
	return 0;
}

int elf_sections_read_debuglink(const struct elf_file *file, struct elf_debuglink *ret_link)
{
	uint8_t bytes[sizeof(ret_link->name) + 2 * sizeof(uint32_t)];
	struct elf_debuglink link = { 0 };
	size_t size, length, crc;
	int r;

	r = read_contents(file, ".gnu_debuglink", bytes, sizeof(bytes), &size);
	if (r < 0)
		return r;
	length = strnlen((const char *)bytes, size);
	crc = (length + 1 + 3) / 4 * 4;
	if (length == 0 || length >= sizeof(link.name) || crc + sizeof(uint32_t) > size)
		return -ENOEXEC;
	memcpy(link.name, bytes, length);
	if (strchr(link.name, '/') || strcmp(link.name, ".") == 0 || strcmp(link.name, "..") == 0)
		return -ENOEXEC;
	link.crc = elf_file_decode_u32(file, bytes + crc);
	*ret_link = link;
	return 0;
}

int elf_sections_read_alternate_link(
	const struct elf_file *file, struct elf_alternate_link *ret_link)
{
	uint8_t bytes[sizeof(ret_link->path) + sizeof(ret_link->build_id) + 1];
	struct elf_alternate_link link = { 0 };
	size_t size, length;
	int r;

	r = read_contents(file, ".gnu_debugaltlink", bytes, sizeof(bytes), &size);
	if (r < 0)
		return r;
	length = strnlen((const char *)bytes, size);
	if (length == 0 || length >= sizeof(link.path) || length + 1 >= size)
		return -ENOEXEC;
	link.build_id_bytes = size - length - 1;
	if (link.build_id_bytes > sizeof(link.build_id))
		return -ENOEXEC;
	memcpy(link.path, bytes, length);
	memcpy(link.build_id, bytes + length + 1, link.build_id_bytes);
	*ret_link = link;
	return 0;
}

int elf_sections_crc(const struct elf_file *file, uint32_t *ret_crc)
{
	uint8_t chunk[CHUNK_BYTES];
	uLong crc = crc32(0, NULL, 0);
	uint64_t offset = 0;
	int r;

	while (offset < file->size_bytes) {
		size_t size = sizeof(chunk);

		if (size > file->size_bytes - offset)
			size = file->size_bytes - offset;
		r = elf_file_read(file, offset, chunk, size);
		if (r < 0)
			return r;
		crc = crc32(crc, chunk, (uInt)size);
		offset += size;
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}

bool elf_sections_is_debug_file_of(const struct elf_file *binary, const struct elf_file *debug)
{
	struct build_id expected = elf_image_build_id(binary->fd),
			found = elf_image_build_id(debug->fd);
	struct elf_debuglink link;
	uint32_t crc;

	if (binary->machine != debug->machine || binary->is_64 != debug->is_64 ||
		binary->is_swapped != debug->is_swapped)
		return false;
	if (expected.size > 0 && found.size > 0)
		return build_id_equal(&expected, &found);
	return elf_sections_read_debuglink(binary, &link) == 0 &&
	       elf_sections_crc(debug, &crc) == 0 && crc == link.crc;
}

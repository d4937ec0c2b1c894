/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_sections.h"

#include "base/array.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>

struct section_name {
	const char *name;
	size_t field; /* of struct dwarf_sections */
};

static const struct section_name section_names[] = {
	{ ".debug_info", offsetof(struct dwarf_sections, info) },
	{ ".debug_abbrev", offsetof(struct dwarf_sections, abbrev) },
	{ ".debug_line", offsetof(struct dwarf_sections, line) },
	{ ".debug_line_str", offsetof(struct dwarf_sections, line_str) },
	{ ".debug_str", offsetof(struct dwarf_sections, str) },
	{ ".debug_str_offsets", offsetof(struct dwarf_sections, str_offsets) },
	{ ".debug_addr", offsetof(struct dwarf_sections, addr) },
	{ ".debug_ranges", offsetof(struct dwarf_sections, ranges) },
	{ ".debug_rnglists", offsetof(struct dwarf_sections, rnglists) },
};

static struct dwarf_bytes *find_field(
	struct dwarf_sections *sections, const char *name, bool is_split)
{
	size_t length = strlen(name);

	if (is_split && strcmp(name, ".debug_cu_index") == 0)
		return &sections->cu_index;
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

/* The name of a section with contents that are to be had as they are; NULL: none. */
static const char *name_of(Elf *elf, Elf_Scn *section, size_t names)
{
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		(header.sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_strptr(elf, names, header.sh_name);
}

static bool set_field(struct dwarf_bytes *field, const char *ident, Elf_Scn *section)
{
	const uint8_t host_order = BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf || data->d_size == 0)
		return false;
	field->position = data->d_buf;
	field->end = field->position + data->d_size;
	field->is_swapped = (uint8_t)ident[EI_DATA] != host_order;
	return true;
}

int dwarf_sections_find(Elf *elf, bool is_split, struct dwarf_sections *ret_sections)
{
	struct dwarf_sections sections = { 0 };
	const char *ident = elf_getident(elf, NULL);
	Elf_Scn *section = NULL;
	size_t names;

	if (!ident || elf_getshdrstrndx(elf, &names) < 0)
		return -ENOEXEC;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = name_of(elf, section, names);
		struct dwarf_bytes *field = name ? find_field(&sections, name, is_split) : NULL;

		/* The first of a name counts, as with libdw. */
		if (field && !field->position && set_field(field, ident, section) &&
			field == &sections.info)
			sections.info_index = elf_ndxscn(section);
	}
	*ret_sections = sections;
	return 0;
}

bool dwarf_sections_next_info(Elf *elf, struct dwarf_sections *sections)
{
	const char *ident = elf_getident(elf, NULL);
	Elf_Scn *section = elf_getscn(elf, sections->info_index);
	size_t names;

	if (!ident || !section || elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = name_of(elf, section, names);

		if (name && strcmp(name, ".debug_info.dwo") == 0 &&
			set_field(&sections->info, ident, section)) {
			sections->info_index = elf_ndxscn(section);
			return true;
		}
	}
	return false;
}

const char *dwarf_sections_string(const struct dwarf_bytes *section, uint64_t offset)
{
	struct dwarf_bytes bytes = *section;

	if (!dwarf_bytes_take(&bytes, offset))
		return NULL;
	return dwarf_bytes_string(&bytes);
}

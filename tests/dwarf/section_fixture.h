/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small ELF files of named sections, of either class and byte order, for what finds sections by
 * their names. The names' section is put behind those that are given.
 */
#pragma once

#include "tests/symbol/elf_fixture.h"

#include <assert.h>

struct fixture_section {
	const char *name;
	uint32_t type;
	uint64_t flags, vaddr;
	const void *bytes;
	size_t size;
	uint32_t link;
	uint64_t entry_bytes, alignment;
	bool is_empty_in_file; /* only its size is told */
};

enum { FIXTURE_SECTIONS_MAX = 32 };

/* Where the header of the section `index` is, and of a field of both classes. */
#define FIXTURE_FIELD(fixture, index, field)                        \
	((fixture)->shdrs + (index) * (fixture)->shdr_bytes +       \
		((fixture)->is_narrow ? offsetof(Elf32_Shdr, field) \
				      : offsetof(Elf64_Shdr, field)))

static inline void fixture_put_name(struct fixture *fixture, size_t index, size_t name)
{
	fixture_patch(fixture, FIXTURE_FIELD(fixture, index, sh_name), name, 4);
}

static inline void fixture_put_file_header(struct fixture *fixture, size_t section_count)
{
	bool is_big = (BYTE_ORDER == BIG_ENDIAN) != fixture->is_swapped;
	const uint8_t ident[EI_NIDENT] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
		fixture->is_narrow ? ELFCLASS32 : ELFCLASS64, is_big ? ELFDATA2MSB : ELFDATA2LSB,
		EV_CURRENT };

	memcpy(fixture->bytes, ident, sizeof(ident));
	fixture->size = sizeof(ident);
	fixture_put(fixture, fixture->type ? fixture->type : ET_DYN, 2);
	fixture_put(fixture, fixture->machine ? fixture->machine : EM_X86_64, 2);
	fixture_put(fixture, EV_CURRENT, 4);
	fixture_put_word(fixture, 0);
	fixture_put_word(fixture, 0);
	fixture_put_word(fixture, fixture->shdrs);
	fixture_put(fixture, 0, 4);
	fixture_put(fixture, fixture->is_narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr), 2);
	fixture_put(fixture, 0, 2);
	fixture_put(fixture, 0, 2);
	fixture_put(fixture, fixture->shdr_bytes, 2);
	fixture_put(fixture, section_count, 2);
	fixture_put(fixture, section_count - 1, 2);
}

/* The section `index` of the file is sections[index - 1]; `strings` says where the names are. */
static inline void fixture_build_sections(
	struct fixture *fixture, const struct fixture_section *sections, size_t count)
{
	size_t name = 1, position;

	assert(count < FIXTURE_SECTIONS_MAX);
	memset(fixture->bytes, 0, sizeof(fixture->bytes));
	fixture->shdr_bytes = fixture->is_narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	fixture->shdrs = 64;
	fixture_put_file_header(fixture, count + 2);
	position = fixture->shdrs + (count + 2) * fixture->shdr_bytes;
	fixture->size = fixture->shdrs + fixture->shdr_bytes;
	for (size_t i = 0; i < count; i++) {
		const struct fixture_section *section = &sections[i];
		const Elf64_Shdr shdr = {
			.sh_type = section->type,
			.sh_flags = section->flags,
			.sh_addr = section->vaddr,
			.sh_offset = position,
			.sh_size = section->size,
			.sh_link = section->link,
			.sh_entsize = section->entry_bytes,
			.sh_addralign = section->alignment,
		};

		fixture_put_shdr(fixture, &shdr);
		if (section->is_empty_in_file)
			continue;
		assert(position + section->size < sizeof(fixture->bytes) - 2048);
		if (section->size > 0)
			memcpy(fixture->bytes + position, section->bytes, section->size);
		position += (section->size + 15) / 16 * 16;
	}
	fixture->strings = position;
	for (size_t i = 0; i <= count; i++) {
		const char *text = i < count ? sections[i].name : ".shstrtab";

		memcpy(fixture->bytes + fixture->strings + name, text, strlen(text) + 1);
		fixture_put_name(fixture, i + 1, name);
		name += strlen(text) + 1;
	}
	fixture->strings_bytes = name;
	fixture_put_shdr(fixture, &(Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = fixture->strings,
					  .sh_size = fixture->strings_bytes });
	fixture_put_name(fixture, count + 1, name - sizeof(".shstrtab"));
	fixture->size = fixture->strings + fixture->strings_bytes;
}

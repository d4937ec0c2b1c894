/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds small ELF files of either class and byte order: a header, two program headers, seven
 * sections, a build-id note and a symbol table. Tests damage the bytes and then write them to an
 * anonymous file.
 */
#pragma once

#include <elf.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FIXTURE_TEXT = 1, /* sections by index */
	FIXTURE_TEXT_2 = 2,
	FIXTURE_DATA = 3,
	FIXTURE_NOTE = 4,
	FIXTURE_SYMBOLS = 5,
	FIXTURE_STRINGS = 6,
	FIXTURE_SECTIONS = 7,
	FIXTURE_TEXT_VADDR = 0x11000, /* its file offset is 0x1000 */
	FIXTURE_TEXT_OFFSET = 0x1000,
	FIXTURE_TEXT_BYTES = 0x1000,
	FIXTURE_TEXT_2_VADDR = 0x13000,
	FIXTURE_TEXT_2_BYTES = 0x100,
	FIXTURE_DATA_VADDR = 0x15000,
};

struct fixture_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t info;
	uint16_t section;
};

struct fixture {
	bool is_narrow, is_swapped, has_no_note_segment;
	uint16_t machine, type;
	uint32_t table_type; /* SHT_SYMTAB, SHT_DYNSYM */
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	uint32_t note_alignment; /* 0: 4 */
	const struct fixture_symbol *symbols;
	size_t symbol_count;

	/* Out: */
	uint8_t bytes[64 * 1024];
	size_t size;
	size_t phdrs, shdrs, shdr_bytes, note, strings, strings_bytes;
};

static inline void fixture_put(struct fixture *fixture, uint64_t value, size_t size)
{
	bool is_big = (BYTE_ORDER == BIG_ENDIAN) != fixture->is_swapped;

	for (size_t i = 0; i < size; i++)
		fixture->bytes[fixture->size + (is_big ? size - 1 - i : i)] =
			(uint8_t)(i < 8 ? value >> (8 * i) : 0);
	fixture->size += size;
}

/* An address, offset or size, in the width of the class. */
static inline void fixture_put_word(struct fixture *fixture, uint64_t value)
{
	fixture_put(fixture, value, fixture->is_narrow ? 4 : 8);
}

static inline void fixture_put_phdr(struct fixture *fixture, uint32_t type, uint32_t flags,
	uint64_t offset, uint64_t vaddr, uint64_t size, uint64_t alignment)
{
	fixture_put(fixture, type, 4);
	if (!fixture->is_narrow)
		fixture_put(fixture, flags, 4);
	fixture_put_word(fixture, offset);
	fixture_put_word(fixture, vaddr);
	fixture_put_word(fixture, vaddr);
	fixture_put_word(fixture, size);
	fixture_put_word(fixture, size);
	if (fixture->is_narrow)
		fixture_put(fixture, flags, 4);
	fixture_put_word(fixture, alignment);
}

static inline void fixture_put_shdr(struct fixture *fixture, const Elf64_Shdr *shdr)
{
	fixture_put(fixture, 0, 4);
	fixture_put(fixture, shdr->sh_type, 4);
	fixture_put_word(fixture, shdr->sh_flags);
	fixture_put_word(fixture, shdr->sh_addr);
	fixture_put_word(fixture, shdr->sh_offset);
	fixture_put_word(fixture, shdr->sh_size);
	fixture_put(fixture, shdr->sh_link, 4);
	fixture_put(fixture, 0, 4);
	fixture_put_word(fixture, shdr->sh_addralign);
	fixture_put_word(fixture, shdr->sh_entsize);
}

static inline void fixture_put_symbol(
	struct fixture *fixture, uint32_t name, const struct fixture_symbol *symbol)
{
	fixture_put(fixture, name, 4);
	if (fixture->is_narrow) {
		fixture_put_word(fixture, symbol->value);
		fixture_put_word(fixture, symbol->size);
	}
	fixture_put(fixture, symbol->info, 1);
	fixture_put(fixture, 0, 1);
	fixture_put(fixture, symbol->section, 2);
	if (!fixture->is_narrow) {
		fixture_put_word(fixture, symbol->value);
		fixture_put_word(fixture, symbol->size);
	}
}

static inline void fixture_put_header(struct fixture *fixture)
{
	bool is_big = (BYTE_ORDER == BIG_ENDIAN) != fixture->is_swapped;
	const uint8_t ident[EI_NIDENT] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
		fixture->is_narrow ? ELFCLASS32 : ELFCLASS64, is_big ? ELFDATA2MSB : ELFDATA2LSB,
		EV_CURRENT };
	uint16_t header_bytes = fixture->is_narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
	uint16_t phdr_bytes = fixture->is_narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);

	fixture->shdr_bytes = fixture->is_narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	fixture->phdrs = header_bytes;
	fixture->shdrs = (size_t)header_bytes + 2 * (size_t)phdr_bytes;
	fixture->note = fixture->shdrs + FIXTURE_SECTIONS * fixture->shdr_bytes;
	memcpy(fixture->bytes, ident, sizeof(ident));
	fixture->size = sizeof(ident);
	fixture_put(fixture, fixture->type ? fixture->type : ET_DYN, 2);
	fixture_put(fixture, fixture->machine ? fixture->machine : EM_X86_64, 2);
	fixture_put(fixture, EV_CURRENT, 4);
	fixture_put_word(fixture, 0);
	fixture_put_word(fixture, fixture->phdrs);
	fixture_put_word(fixture, fixture->shdrs);
	fixture_put(fixture, 0, 4);
	fixture_put(fixture, header_bytes, 2);
	fixture_put(fixture, phdr_bytes, 2);
	fixture_put(fixture, 2, 2);
	fixture_put(fixture, fixture->shdr_bytes, 2);
	fixture_put(fixture, FIXTURE_SECTIONS, 2);
	fixture_put(fixture, 0, 2);
}

static inline size_t fixture_align(const struct fixture *fixture, size_t value)
{
	size_t alignment = fixture->note_alignment == 8 ? 8 : 4;

	return (value + alignment - 1) / alignment * alignment;
}

static inline void fixture_build(struct fixture *fixture)
{
	uint32_t alignment = fixture->note_alignment ? fixture->note_alignment : 4;
	size_t note_bytes = fixture->build_id_bytes == 0
				    ? 0
				    : fixture_align(fixture, 16) + fixture->build_id_bytes;
	size_t symbol_bytes = fixture->is_narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	size_t symbols, name = 1;

	memset(fixture->bytes, 0, sizeof(fixture->bytes));
	fixture_put_header(fixture);
	symbols = (fixture->note + note_bytes + 7) / 8 * 8;
	fixture->strings = symbols + (fixture->symbol_count + 1) * symbol_bytes;
	fixture->strings_bytes = 1;
	for (size_t i = 0; i < fixture->symbol_count; i++)
		fixture->strings_bytes += strlen(fixture->symbols[i].name) + 1;

	fixture_put_phdr(fixture, PT_LOAD, PF_R | PF_X, FIXTURE_TEXT_OFFSET, FIXTURE_TEXT_VADDR,
		FIXTURE_TEXT_BYTES, 4096);
	fixture_put_phdr(fixture, fixture->has_no_note_segment ? PT_NULL : PT_NOTE, PF_R,
		fixture->note, 0, note_bytes, alignment);

	const Elf64_Shdr sections[FIXTURE_SECTIONS] = {
		[FIXTURE_TEXT] = { .sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = FIXTURE_TEXT_VADDR,
			.sh_size = FIXTURE_TEXT_BYTES },
		[FIXTURE_TEXT_2] = { .sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = FIXTURE_TEXT_2_VADDR,
			.sh_size = FIXTURE_TEXT_2_BYTES },
		[FIXTURE_DATA] = { .sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_WRITE,
			.sh_addr = FIXTURE_DATA_VADDR,
			.sh_size = 0x1000 },
		[FIXTURE_NOTE] = { .sh_type = SHT_NOTE,
			.sh_flags = SHF_ALLOC,
			.sh_offset = fixture->note,
			.sh_size = note_bytes,
			.sh_addralign = alignment },
		[FIXTURE_SYMBOLS] = { .sh_type = fixture->table_type ? fixture->table_type
								     : SHT_SYMTAB,
			.sh_offset = symbols,
			.sh_size = (fixture->symbol_count + 1) * symbol_bytes,
			.sh_link = FIXTURE_STRINGS,
			.sh_entsize = symbol_bytes },
		[FIXTURE_STRINGS] = { .sh_type = SHT_STRTAB,
			.sh_offset = fixture->strings,
			.sh_size = fixture->strings_bytes },
	};
	for (size_t i = 0; i < FIXTURE_SECTIONS; i++)
		fixture_put_shdr(fixture, &sections[i]);

	if (fixture->build_id_bytes > 0) {
		fixture_put(fixture, 4, 4);
		fixture_put(fixture, fixture->build_id_bytes, 4);
		fixture_put(fixture, NT_GNU_BUILD_ID, 4);
		memcpy(fixture->bytes + fixture->size, "GNU", 4);
		memcpy(fixture->bytes + fixture->note + fixture_align(fixture, 16),
			fixture->build_id, fixture->build_id_bytes);
	}
	fixture->size = symbols;
	fixture_put_symbol(fixture, 0, &(struct fixture_symbol){ 0 });
	for (size_t i = 0; i < fixture->symbol_count; i++) {
		fixture_put_symbol(fixture, (uint32_t)name, &fixture->symbols[i]);
		memcpy(fixture->bytes + fixture->strings + name, fixture->symbols[i].name,
			strlen(fixture->symbols[i].name) + 1);
		name += strlen(fixture->symbols[i].name) + 1;
	}
	fixture->size = fixture->strings + fixture->strings_bytes;
}

/* Overwrites a field of `size` bytes at an offset. */
static inline void fixture_patch(
	struct fixture *fixture, size_t offset, uint64_t value, size_t size)
{
	size_t end = fixture->size;

	fixture->size = offset;
	fixture_put(fixture, value, size);
	fixture->size = end;
}

/* -1 on failure. */
static inline int fixture_bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	/* The kernel makes them writable by others, so they would not be trusted. */
	if (fd >= 0 && (fchmod(fd, 0600) < 0 || write(fd, bytes, size) != (ssize_t)size)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static inline int fixture_fd(const struct fixture *fixture)
{
	return fixture_bytes_fd(fixture->bytes, fixture->size);
}

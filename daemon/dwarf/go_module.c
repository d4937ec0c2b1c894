/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/go_module.h"

#include "base/array.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <string.h>

enum {
	CHUNK_BYTES = 64 * 1024,
	WORD_BYTES = 8,
	MODULE_BYTES = GO_MODULE_WORDS * WORD_BYTES,
	SEGMENTS_MAX = 256,
	/* Linkers write tables much longer than this header. */
	TABLE_BYTES_MIN = GO_HEADER_BYTES,
	SEARCHED_TIMES = 2, /* the size of the file; parts of a sound file do not overlap */
};

bool go_module_is_table(const uint8_t *bytes)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	if (bytes[4] != 0 || bytes[5] != 0 || bytes[7] != WORD_BYTES ||
		(bytes[6] != 1 && bytes[6] != 2 && bytes[6] != 4))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (magic == magics[i])
			return true;
	return false;
}

/* Looks at words of a segment in the file, at multiples of eight bytes. */
struct scan {
	const struct elf_file *file;
	/* Returns 1 to end the scan, 0 to go on, or -errno. `place` begins with the word. */
	int (*look)(struct scan *scan, const uint8_t *word, const struct go_place *place);
	uint64_t bytes_left;
	bool follows_table; /* the word before is the table's vaddr */
	struct go_place found;
	uint64_t table, names;
	struct go_module module;
};

static int scan_segment(struct scan *scan, const Elf64_Phdr *phdr)
{
	uint8_t chunk[CHUNK_BYTES];
	uint64_t size = phdr->p_filesz;

	if (phdr->p_offset > scan->file->size_bytes ||
		size > scan->file->size_bytes - phdr->p_offset || size > scan->bytes_left)
		return -ENOEXEC;
	scan->bytes_left -= size;
	scan->follows_table = false;
	for (uint64_t at = 0; size - at >= WORD_BYTES;) {
		size_t part = size - at < sizeof(chunk) ? (size_t)(size - at) : sizeof(chunk);
		int r = elf_file_read(scan->file, phdr->p_offset + at, chunk, part);

		for (size_t i = 0; r == 0 && part - i >= WORD_BYTES; i += WORD_BYTES) {
			const struct go_place place = {
				.vaddr = phdr->p_vaddr + at + i,
				.offset = phdr->p_offset + at + i,
				.bytes = size - at - i,
			};

			r = scan->look(scan, chunk + i, &place);
		}
		if (r != 0)
			return r;
		at += part - part % WORD_BYTES;
	}
	return 0;
}

/* Scans the segments with these flags and without those. Returns 0 or -ENODATA at their end. */
static int scan_segments(struct scan *scan, uint32_t flags, uint32_t not_flags)
{
	Elf64_Phdr phdr;
	int r;

	for (uint32_t i = 0; i < scan->file->phdr_count && i < SEGMENTS_MAX; i++) {
		r = elf_file_read_phdr(scan->file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || (phdr.p_flags & flags) != flags ||
			(phdr.p_flags & not_flags) ||
			phdr.p_vaddr % WORD_BYTES != phdr.p_offset % WORD_BYTES)
			continue;
		/* Words are aligned in memory, so the first bytes of a segment may be skipped. */
		if (phdr.p_vaddr % WORD_BYTES != 0) {
			uint64_t skipped = WORD_BYTES - phdr.p_vaddr % WORD_BYTES;

			if (phdr.p_filesz <= skipped)
				continue;
			phdr.p_vaddr += skipped;
			phdr.p_offset += skipped;
			phdr.p_filesz -= skipped;
		}
		r = scan_segment(scan, &phdr);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return -ENODATA;
}

static int look_for_table(struct scan *scan, const uint8_t *word, const struct go_place *place)
{
	if (!go_module_is_table(word) || place->bytes < TABLE_BYTES_MIN)
		return 0;
	scan->found = *place;
	return 1;
}

int go_module_find_table(const struct elf_file *file, struct go_place *ret_place)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	struct scan scan = {
		.file = file,
		.look = look_for_table,
		.bytes_left = file->size_bytes * SEARCHED_TIMES,
	};
	Elf64_Shdr section;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		r = elf_sections_find(file, names[i], &section);
		if (r == 0)
			*ret_place = (struct go_place){ .vaddr = section.sh_addr,
				.offset = section.sh_offset,
				.bytes = section.sh_size };
		if (r != -ENODATA)
			return r;
	}
	r = scan_segments(&scan, 0, PF_X);
	if (r == 0)
		*ret_place = scan.found;
	return r;
}

int go_module_find_vaddr(const struct elf_file *file, uint64_t vaddr, struct go_place *ret_place)
{
	Elf64_Phdr phdr;
	int r;

	for (uint32_t i = 0; i < file->phdr_count && i < SEGMENTS_MAX; i++) {
		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || vaddr < phdr.p_vaddr ||
			vaddr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		if (phdr.p_offset > file->size_bytes ||
			phdr.p_filesz > file->size_bytes - phdr.p_offset)
			return -ENOEXEC;
		*ret_place = (struct go_place){
			.vaddr = vaddr,
			.offset = phdr.p_offset + (vaddr - phdr.p_vaddr),
			.bytes = phdr.p_filesz - (vaddr - phdr.p_vaddr),
		};
		return 0;
	}
	return -ENODATA;
}

/* Reads the module once its second word is found, for a file may be full of its first one. */
static int look_for_module(struct scan *scan, const uint8_t *word, const struct go_place *place)
{
	bool follows_table = scan->follows_table;
	uint64_t value;
	int r;

	memcpy(&value, word, sizeof(value));
	scan->follows_table = value == scan->table;
	if (!follows_table || value != scan->names || place->bytes < MODULE_BYTES - WORD_BYTES)
		return 0;
	r = elf_file_read(scan->file, place->offset - WORD_BYTES, scan->module.words, MODULE_BYTES);
	return r < 0 ? r : 1;
}

/* The relocations of a module, which are sorted by place. */
struct relocated {
	struct go_module module;
	uint64_t start; /* 0: not found yet */
};

static void take_relocation(
	struct relocated *relocated, const Elf64_Rela *rela, uint64_t table, uint64_t names)
{
	uint64_t place = rela->r_offset - relocated->start;

	if (rela->r_addend == (int64_t)table && relocated->module.words[GO_MODULE_NAMES] != names) {
		relocated->module = (struct go_module){ .words = { table } };
		relocated->start = rela->r_offset;
	} else if (relocated->start != 0 && place < MODULE_BYTES && place % WORD_BYTES == 0) {
		relocated->module.words[place / WORD_BYTES] = (uint64_t)rela->r_addend;
	}
}

struct relocations {
	const struct elf_file *file;
	uint64_t bytes_left;
	struct relocated found;
	uint64_t table, names;
};

/* A section of relocations. Returns 1 if it has those of the module. */
static int read_relocations(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct relocations *relocations = context;
	const uint32_t relative =
		relocations->file->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	Elf64_Rela chunk[CHUNK_BYTES / sizeof(Elf64_Rela)];
	uint64_t count = section->sh_size / sizeof(chunk[0]);

	(void)index;
	(void)name;
	if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC))
		return 0;
	if (section->sh_offset > relocations->file->size_bytes ||
		section->sh_size > relocations->file->size_bytes - section->sh_offset ||
		section->sh_size > relocations->bytes_left)
		return -ENOEXEC;
	relocations->bytes_left -= section->sh_size;
	for (uint64_t at = 0; at < count;) {
		size_t part =
			count - at < ARRAY_SIZE(chunk) ? (size_t)(count - at) : ARRAY_SIZE(chunk);
		int r = elf_file_read(relocations->file, section->sh_offset + at * sizeof(chunk[0]),
			chunk, part * sizeof(chunk[0]));

		if (r < 0)
			return r;
		for (size_t i = 0; i < part; i++)
			if (ELF64_R_TYPE(chunk[i].r_info) == relative)
				take_relocation(&relocations->found, &chunk[i], relocations->table,
					relocations->names);
		at += part;
	}
	return relocations->found.module.words[GO_MODULE_NAMES] == relocations->names;
}

int go_module_find(
	const struct elf_file *file, uint64_t table, uint64_t names, struct go_module *ret_module)
{
	const uint64_t bytes = file->size_bytes * SEARCHED_TIMES;
	struct scan scan = {
		.file = file,
		.look = look_for_module,
		.bytes_left = bytes,
		.table = table,
		.names = names,
	};
	struct relocations relocations = {
		.file = file, .bytes_left = bytes, .table = table, .names = names
	};
	int r;

	r = scan_segments(&scan, PF_W, 0);
	if (r == 0)
		*ret_module = scan.module;
	if (r != -ENODATA)
		return r;
	r = elf_sections_each(file, read_relocations, &relocations);
	if (r > 0)
		*ret_module = relocations.found.module;
	return r > 0 ? 0 : r < 0 ? r : -ENODATA;
}

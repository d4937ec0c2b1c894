/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_table.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_BYTES = 24 * 1024,
	FIRST_NAME_BYTES = 256, /* enough for most names */
};

/* Records where the section is in memory. Hostile sizes must not wrap around. */
static struct symbol_section place_section(const Elf64_Shdr *shdr)
{
	struct symbol_section section = { 0 };

	if (!(shdr->sh_flags & SHF_ALLOC))
		return section;
	section.start = shdr->sh_addr;
	section.end = shdr->sh_size > UINT64_MAX - shdr->sh_addr ? UINT64_MAX
								 : shdr->sh_addr + shdr->sh_size;
	section.is_executable = shdr->sh_flags & SHF_EXECINSTR;
	return section;
}

/* Reads all section headers and finds the first of the requested type. */
static int read_sections(struct symbol_table *table, uint32_t type, Elf64_Shdr *ret_symbols)
{
	uint32_t count = table->file.shdr_count;
	bool is_found = false;
	Elf64_Shdr shdr;
	int r;

	if (count == 0)
		return -ENODATA;
	if (count > SYMBOL_TABLE_SECTIONS_MAX)
		return -EFBIG;
	table->sections = calloc(count, sizeof(*table->sections));
	if (!table->sections)
		return -ENOMEM;
	table->section_count = count;
	for (uint32_t i = 0; i < count; i++) {
		r = elf_file_read_shdr(&table->file, i, &shdr);
		if (r < 0)
			return r;
		table->sections[i] = place_section(&shdr);
		if (shdr.sh_type == type && !is_found) {
			*ret_symbols = shdr;
			is_found = true;
		}
	}
	return is_found ? 0 : -ENODATA;
}

static bool is_inside(const struct elf_file *file, const Elf64_Shdr *shdr)
{
	return shdr->sh_offset <= file->size_bytes &&
	       shdr->sh_size <= file->size_bytes - shdr->sh_offset;
}

static int check_symbols(struct symbol_table *table, const Elf64_Shdr *symbols)
{
	size_t symbol_bytes = elf_file_symbol_bytes(&table->file);
	Elf64_Shdr strings;
	char last;
	int r;

	if (symbols->sh_entsize != symbol_bytes || symbols->sh_size % symbol_bytes != 0)
		return -ENOEXEC;
	if (!is_inside(&table->file, symbols) || symbols->sh_link >= table->section_count)
		return -ENOEXEC;
	/* The first entry is not a symbol. */
	if (symbols->sh_size <= symbol_bytes)
		return -ENODATA;
	if (symbols->sh_size / symbol_bytes > SYMBOL_TABLE_SYMBOLS_MAX)
		return -EFBIG;

	r = elf_file_read_shdr(&table->file, symbols->sh_link, &strings);
	if (r < 0)
		return r;
	if (strings.sh_type != SHT_STRTAB || strings.sh_size == 0 ||
		!is_inside(&table->file, &strings))
		return -ENOEXEC;
	r = elf_file_read(&table->file, strings.sh_offset + strings.sh_size - 1, &last, 1);
	if (r < 0)
		return r;
	if (last != '\0')
		return -ENOEXEC;

	table->symbols_offset = symbols->sh_offset;
	table->symbol_count = symbols->sh_size / symbol_bytes;
	table->strings_offset = strings.sh_offset;
	table->strings_bytes = strings.sh_size;
	return 0;
}

int symbol_table_open(struct symbol_table *table, const struct elf_file *file, uint32_t type)
{
	Elf64_Shdr symbols = { 0 };
	int r;

	*table = (struct symbol_table){ .file = *file };
	/* In other files, a symbol's value is not a vaddr. */
	if (table->file.type != ET_EXEC && table->file.type != ET_DYN)
		return -ENODATA;
	r = read_sections(table, type, &symbols);
	if (r == 0)
		r = check_symbols(table, &symbols);
	if (r < 0)
		symbol_table_close(table);
	return r;
}

void symbol_table_close(struct symbol_table *table)
{
	free(table->sections);
	table->sections = NULL;
	table->section_count = 0;
}

int symbol_table_each(const struct symbol_table *table,
	int (*visit)(void *context, const Elf64_Sym *symbol), void *context)
{
	size_t symbol_bytes = elf_file_symbol_bytes(&table->file);
	uint8_t chunk[CHUNK_BYTES];
	int r;

	for (uint64_t first = 0; first < table->symbol_count;) {
		uint64_t count = sizeof(chunk) / symbol_bytes;

		if (count > table->symbol_count - first)
			count = table->symbol_count - first;
		r = elf_file_read(&table->file, table->symbols_offset + first * symbol_bytes, chunk,
			count * symbol_bytes);
		if (r < 0)
			return r;
		for (uint64_t i = 0; i < count; i++) {
			Elf64_Sym symbol =
				elf_file_decode_symbol(&table->file, chunk + i * symbol_bytes);

			r = visit(context, &symbol);
			if (r < 0)
				return r;
		}
		first += count;
	}
	return 0;
}

int symbol_table_read_name(const struct symbol_table *table, uint32_t name,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length)
{
	uint64_t available;
	size_t length = 0, wanted = FIRST_NAME_BYTES;
	char *end;
	int r;

	if (name >= table->strings_bytes)
		return -ENOEXEC;
	available = table->strings_bytes - name;
	if (available > SYMBOL_NAME_BYTES - 1)
		available = SYMBOL_NAME_BYTES - 1;
	for (;;) {
		if (wanted > available)
			wanted = available;
		r = elf_file_read(&table->file, table->strings_offset + name + length,
			text + length, wanted - length);
		if (r < 0)
			return r;
		end = memchr(text + length, '\0', wanted - length);
		if (end) {
			*ret_length = (size_t)(end - text);
			return 0;
		}
		length = wanted;
		if (length == available)
			break;
		wanted = 4 * length;
	}
	/* The section ends with a NUL, so this name is longer than the buffer. */
	if (length < SYMBOL_NAME_BYTES - 1)
		return -ENOEXEC;
	text[length] = '\0';
	*ret_length = length;
	return 0;
}

struct search {
	const struct symbol_table *table;
	struct wanted_symbol *wanted;
	size_t count;
	char *name;
};

static int visit_wanted(void *context, const Elf64_Sym *symbol)
{
	const struct search *search = context;
	size_t length;
	int r;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return 0;
	r = symbol_table_read_name(search->table, symbol->st_name, search->name, &length);
	if (r < 0)
		return r;
	for (size_t i = 0; i < search->count; i++)
		if (strcmp(search->name, search->wanted[i].name) == 0) {
			search->wanted[i].vaddr = symbol->st_value;
			search->wanted[i].bytes = symbol->st_size;
		}
	return 0;
}

int symbol_table_find(const struct symbol_table *table, struct wanted_symbol *wanted, size_t count)
{
	_cleanup_free_ char *name = malloc(SYMBOL_NAME_BYTES);
	struct search search = { table, wanted, count, name };

	return name ? symbol_table_each(table, visit_wanted, &search) : -ENOMEM;
}

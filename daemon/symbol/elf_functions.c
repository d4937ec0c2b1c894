/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_functions.h"

#include "base/cleanup.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SYMBOLS_AT_ONCE = 1024,
	/* Linked files have some tens of sections, and one table of each kind. */
	SECTIONS_MAX = 1024,
	TABLES_MAX = 2,
};

struct search {
	struct elf_file file;
	struct elf_image image;
	const char *const *names;
	size_t name_count;
	struct elf_function *functions;
	size_t count, max;
};

/* The offset in the file of an address at link time. */
static bool find_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_bytes) {
			*ret_offset = vaddr - segment->vaddr + segment->offset;
			return true;
		}
	}
	return false;
}

static void add(struct search *search, const struct elf_function *function)
{
	for (size_t i = 0; i < search->count; i++) {
		struct elf_function *known = &search->functions[i];

		if (known->offset != function->offset)
			continue;
		if (function->name < known->name)
			known->name = function->name;
		return;
	}
	if (search->count < search->max)
		search->functions[search->count++] = *function;
}

static int compare(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

static void look_at(struct search *search, const Elf64_Sym *symbol, const char *name)
{
	struct elf_function function = { .size = symbol->st_size };
	const char *const *found;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
		!find_offset(&search->image, symbol->st_value, &function.offset))
		return;
	found = bsearch(name, search->names, search->name_count, sizeof(*search->names), compare);
	if (!found)
		return;
	function.name = (uint32_t)(found - search->names);
	add(search, &function);
}

/* Reads all names at once: a read for each symbol would take longer. */
static int read_names(
	const struct elf_file *file, uint32_t section, char **ret_names, uint64_t *ret_bytes)
{
	_cleanup_free_ char *names = NULL;
	Elf64_Shdr header;
	int r;

	if (section >= file->shdr_count)
		return -ENOEXEC;
	r = elf_file_read_shdr(file, section, &header);
	if (r < 0)
		return r;
	if (header.sh_type != SHT_STRTAB || header.sh_size == 0 ||
		header.sh_size > ELF_FUNCTIONS_NAMES_BYTES_MAX || header.sh_size > file->size_bytes)
		return -ENOEXEC;
	names = malloc(header.sh_size);
	if (!names)
		return -ENOMEM;
	r = elf_file_read(file, header.sh_offset, names, header.sh_size);
	if (r < 0)
		return r;
	names[header.sh_size - 1] = '\0';
	*ret_names = TAKE_PTR(names);
	*ret_bytes = header.sh_size;
	return 0;
}

static int search_table(struct search *search, const Elf64_Shdr *table)
{
	uint8_t bytes[SYMBOLS_AT_ONCE * sizeof(Elf64_Sym)];
	size_t size = elf_file_symbol_bytes(&search->file);
	_cleanup_free_ char *names = NULL;
	uint64_t count = table->sh_size / size, names_bytes;
	int r = read_names(&search->file, table->sh_link, &names, &names_bytes);

	if (r < 0)
		return r;
	if (count > ELF_FUNCTIONS_SYMBOLS_MAX)
		count = ELF_FUNCTIONS_SYMBOLS_MAX;
	for (uint64_t at = 0; at < count; at += SYMBOLS_AT_ONCE) {
		size_t n = count - at < SYMBOLS_AT_ONCE ? (size_t)(count - at) : SYMBOLS_AT_ONCE;

		r = elf_file_read(&search->file, table->sh_offset + at * size, bytes, n * size);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			Elf64_Sym symbol = elf_file_decode_symbol(&search->file, bytes + i * size);

			if (symbol.st_name < names_bytes)
				look_at(search, &symbol, names + symbol.st_name);
		}
	}
	return 0;
}

int elf_functions_find(int fd, const char *const names[], size_t name_count,
	struct elf_function functions[], size_t functions_max, size_t *ret_count)
{
	struct search search = {
		.names = names,
		.name_count = name_count,
		.functions = functions,
		.max = functions_max,
	};
	uint32_t sections, tables = 0;
	int r = elf_file_init(&search.file, fd);

	if (r == 0)
		r = elf_image_read(fd, &search.image);
	if (r < 0)
		return r;
	sections = search.file.shdr_count < SECTIONS_MAX ? search.file.shdr_count : SECTIONS_MAX;
	for (uint32_t i = 0; r == 0 && i < sections && tables < TABLES_MAX; i++) {
		Elf64_Shdr section;

		r = elf_file_read_shdr(&search.file, i, &section);
		if (r == 0 && (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB)) {
			tables++;
			r = search_table(&search, &section);
		}
		if (r == -ENOEXEC)
			r = 0;
	}
	if (r < 0)
		return r;
	*ret_count = search.count;
	return 0;
}

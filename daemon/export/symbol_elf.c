/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/symbol_elf.h"

#include "base/utf8.h"
#include "symbol/place_name.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { INLINE_DEPTH_MAX = 256 };

enum { SECTION_NONE, SECTION_SYMBOLS, SECTION_STRINGS, SECTIONS };

/* First among the strings. */
static const char section_names[] = "\0.symtab\0.strtab";
enum { SYMBOLS_NAME_AT = 1, STRINGS_NAME_AT = SYMBOLS_NAME_AT + sizeof(".symtab") };

struct functions {
	const struct symbol_file *file;
	const struct pilotlight_symbol_boundary *boundaries;
	uint64_t boundary_count, next;
	uint64_t base;
	const char *name;	/* of the last symbol */
	uint64_t strings_bytes; /* up to the end of that name */
};

static void functions_init(struct functions *functions, const struct symbol_file *file)
{
	*functions = (struct functions){
		.file = file,
		.boundaries = symbol_file_entries(file, PILOTLIGHT_SYMBOL_BOUNDARIES),
		.boundary_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES),
		.base = symbol_file_header(file)->base_vaddr,
		.strings_bytes = sizeof(section_names),
	};
}

/* The function that others were inlined into; 0: none, or a name that only tells the place. */
static uint32_t function_of(const struct functions *functions, uint64_t boundary)
{
	uint32_t frame = functions->boundaries[boundary].frame, parent = frame;
	const char *name;

	/* A hostile file could have a long chain for each boundary. */
	for (int depth = 0; parent != 0 && depth < INLINE_DEPTH_MAX; depth++) {
		frame = parent;
		parent = symbol_file_frame_parent(functions->file, frame, NULL);
	}
	name = symbol_file_frame_name(functions->file, frame);
	return *name && !place_name_is(name) ? frame : 0;
}

/* Adjacent boundaries of one function are one symbol. Returns false at the end. */
static bool next_symbol(struct functions *functions, Elf64_Sym *ret_symbol)
{
	const struct pilotlight_symbol_boundary *boundaries = functions->boundaries;
	const uint64_t count = functions->boundary_count;

	/* The last one only ends the code. */
	while (functions->next + 1 < count) {
		const uint64_t first = functions->next;
		const uint32_t function = function_of(functions, first);

		do
			functions->next++;
		while (functions->next + 1 < count &&
			function_of(functions, functions->next) == function);
		if (function == 0)
			continue;
		*ret_symbol = (Elf64_Sym){
			.st_name = (Elf64_Word)functions->strings_bytes,
			.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = SHN_ABS,
			.st_value = functions->base + boundaries[first].offset,
			.st_size = boundaries[functions->next].offset - boundaries[first].offset,
		};
		functions->name = symbol_file_frame_name(functions->file, function);
		functions->strings_bytes += strlen(functions->name) + 1;
		return true;
	}
	return false;
}

static void write_header(const struct symbol_file *file, struct output *output)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = symbol_file_header(file)->machine,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};

	output_write(output, &header, sizeof(header));
}

static void write_sections(uint64_t symbols, uint64_t strings_bytes, struct output *output)
{
	const uint64_t begin = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr);
	const uint64_t symbols_bytes = (1 + symbols) * sizeof(Elf64_Sym);
	const Elf64_Shdr sections[SECTIONS] = {
		[SECTION_SYMBOLS] = {
			.sh_name = SYMBOLS_NAME_AT,
			.sh_type = SHT_SYMTAB,
			.sh_offset = begin,
			.sh_size = symbols_bytes,
			.sh_link = SECTION_STRINGS,
			.sh_info = (Elf64_Word)(1 + symbols), /* all are local */
			.sh_addralign = sizeof(uint64_t),
			.sh_entsize = sizeof(Elf64_Sym),
		},
		[SECTION_STRINGS] = {
			.sh_name = STRINGS_NAME_AT,
			.sh_type = SHT_STRTAB,
			.sh_offset = begin + symbols_bytes,
			.sh_size = strings_bytes,
			.sh_addralign = 1,
		},
	};

	output_write(output, sections, sizeof(sections));
}

/* What is no valid UTF-8 becomes '?' (I8). */
static void write_name(const char *name, struct output *output)
{
	for (size_t left = strlen(name) + 1, size; left > 0; left -= size, name += size) {
		size = utf8_sequence(name, left);
		output_write(output, size > 0 ? name : "?", size > 0 ? size : 1);
		size += size == 0;
	}
}

int symbol_elf_write(const struct symbol_file *file, struct output *output)
{
	struct functions functions;
	Elf64_Sym symbol;
	uint64_t count = 0;

	functions_init(&functions, file);
	while (next_symbol(&functions, &symbol))
		count++;
	if (count == 0)
		return -ENODATA;
	write_header(file, output);
	write_sections(count, functions.strings_bytes, output);
	symbol = (Elf64_Sym){ 0 };
	output_write(output, &symbol, sizeof(symbol));
	functions_init(&functions, file);
	while (next_symbol(&functions, &symbol))
		output_write(output, &symbol, sizeof(symbol));
	output_write(output, section_names, sizeof(section_names));
	functions_init(&functions, file);
	while (next_symbol(&functions, &symbol))
		write_name(functions.name, output);
	return 0;
}

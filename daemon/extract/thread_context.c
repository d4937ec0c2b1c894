/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/thread_context.h"

#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "dwarf/elf_sections.h"
#include "extract/runtime_anchor.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"
#include "pilotlight/thread_context.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	RELOCATIONS_MAX = 4 << 20,
	CHUNK_RELOCATIONS = 256,
	PROGRAM_HEADERS_MAX = 256,
	DYNAMIC_MAX = 1024,
};
#define ALIGNMENT_MAX (1ULL << 30)

struct context_file {
	const struct unwind_files *files;
	struct symbol_table table;
	char name[SYMBOL_NAME_BYTES];
	uint64_t next;	      /* number of the symbol that comes next */
	uint64_t symbol;      /* 0, which is none: not found */
	uint64_t value;	      /* its offset in the file's thread-local storage */
	uint64_t relocations; /* of the sections that were visited */
	/* What tells where the variable is. */
	enum pilotlight_runtime_anchor anchor; /* 0: not found */
	uint64_t vaddr;
};

static int visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct context_file *file = context;
	const uint64_t number = file->next++;
	size_t length;
	int r;

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_TLS)
		return 0;
	r = symbol_table_read_name(&file->table, symbol->st_name, file->name, &length);
	if (r == 0 && strcmp(file->name, PILOTLIGHT_THREAD_CONTEXT_SYMBOL) == 0) {
		file->symbol = number;
		file->value = symbol->st_value;
	}
	return r;
}

static void note_relocation(struct context_file *file, const Elf64_Rela *relocation)
{
	if (ELF64_R_SYM(relocation->r_info) != file->symbol)
		return;
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case R_X86_64_TPOFF64:
		file->anchor = PILOTLIGHT_RUNTIME_TLS_SLOT;
		break;
	case R_X86_64_DTPMOD64:
		file->anchor = PILOTLIGHT_RUNTIME_TLS_INDEX;
		break;
	case R_X86_64_TLSDESC:
		file->anchor = PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR;
		break;
	default:
		return;
	}
	file->vaddr = relocation->r_offset;
}

static int visit_section(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	_cleanup_free_ Elf64_Rela *chunk = NULL;
	struct context_file *file = context;
	const uint64_t count = section->sh_size / sizeof(*chunk);
	int r = 0;

	(void)index;
	(void)name;
	/* Those of the dynamic linker alone are in memory. */
	if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC) || file->anchor != 0)
		return 0;
	if (count > RELOCATIONS_MAX - file->relocations)
		return -EFBIG;
	file->relocations += count;
	chunk = calloc(CHUNK_RELOCATIONS, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	for (uint64_t i = 0, size; r == 0 && i < count && file->anchor == 0; i += size) {
		size = count - i < CHUNK_RELOCATIONS ? count - i : CHUNK_RELOCATIONS;
		r = elf_file_read(&file->files->binary, section->sh_offset + i * sizeof(*chunk),
			chunk, size * sizeof(*chunk));
		for (uint64_t j = 0; r == 0 && j < size && file->anchor == 0; j++)
			note_relocation(file, &chunk[j]);
	}
	return r;
}

/* Is it a program? The first block of thread-local storage belongs to the program. */
static int is_program(const struct elf_file *file)
{
	Elf64_Shdr section;
	Elf64_Dyn entry;
	int r;

	if (file->type == ET_EXEC)
		return 1;
	r = elf_sections_find(file, ".dynamic", &section);
	for (uint64_t i = 0; r == 0 && i < section.sh_size / sizeof(entry) && i < DYNAMIC_MAX;
		i++) {
		r = elf_file_read(
			file, section.sh_offset + i * sizeof(entry), &entry, sizeof(entry));
		if (r == 0 && entry.d_tag == DT_FLAGS_1)
			return (entry.d_un.d_val & DF_1_PIE) != 0;
	}
	return r;
}

/* On x86-64 the program's block ends at the thread pointer, rounded up to its alignment. */
static int find_distance(const struct context_file *file, int64_t *ret_offset)
{
	const struct elf_file *binary = &file->files->binary;
	Elf64_Phdr phdr;
	int r;

	for (uint32_t i = 0; i < binary->phdr_count && i < PROGRAM_HEADERS_MAX; i++) {
		uint64_t alignment;

		r = elf_file_read_phdr(binary, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_TLS)
			continue;
		alignment = phdr.p_align > 1 ? phdr.p_align : 1;
		if (alignment > ALIGNMENT_MAX || (alignment & (alignment - 1)) != 0 ||
			phdr.p_memsz > ALIGNMENT_MAX || file->value >= phdr.p_memsz)
			return -ENOEXEC;
		*ret_offset = (int64_t)file->value -
			      (int64_t)((phdr.p_memsz + alignment - 1) & ~(alignment - 1));
		return 0;
	}
	return -ENOEXEC;
}

static int describe(struct context_file *file, struct pilotlight_runtime *runtime)
{
	const struct runtime_anchor anchor = { file->files, &file->table };
	int64_t offset = 0;
	int r = symbol_table_each(&file->table, visit_symbol, file);

	if (r == 0 && file->symbol == 0)
		return -ENODATA;
	if (r == 0)
		r = is_program(&file->files->binary);
	if (r == 1) {
		r = find_distance(file, &offset);
		file->anchor = PILOTLIGHT_RUNTIME_TLS;
	} else if (r == 0) {
		r = elf_sections_each(&file->files->binary, visit_section, file);
	}
	if (r < 0)
		return r;
	if (file->anchor == 0)
		return -ENOTSUP;
	return runtime_anchor_describe(&anchor, file->anchor, file->vaddr, offset, runtime);
}

int thread_context_read(const struct unwind_files *files, struct pilotlight_runtime *ret_runtime)
{
	struct pilotlight_runtime runtime = {
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_THREAD_CONTEXT,
	};
	_cleanup_free_ struct context_file *file = NULL;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->files = files;
	r = symbol_table_open(&file->table, &files->binary, SHT_DYNSYM);
	if (r == 0)
		r = describe(file, &runtime);
	symbol_table_close(&file->table);
	if (r == 0 && !runtime_bounds_hold(&runtime))
		r = -ENOTSUP;
	if (r == 0)
		*ret_runtime = runtime;
	return r;
}

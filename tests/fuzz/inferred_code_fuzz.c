/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables from code without call frame information. The first byte is the number of symbols;
 * then come their places and that of the entry, of two bytes each; the rest is the code. The engine
 * accepts every table that is made.
 */
#include "extract/code_instruction.h"
#include "extract/unwind_extraction.h"
#include "symbol/symbol_file.h"
#include "tests/extract/unwind_fixture.h"
#include "unwind/unwind_table.h"

#include "base/cleanup.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SYMBOLS_MAX = 15, PLACE_BYTES = 2, SECTION_VADDR = 0x400000 };

static void check_output(int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_table table;

	if (symbol_file_open(fd, &file) < 0 || unwind_table_init(&table, file) < 0)
		abort();
}

static uint64_t place(const uint8_t *bytes, size_t i)
{
	return SECTION_VADDR + (bytes[PLACE_BYTES * i] | (uint64_t)bytes[PLACE_BYTES * i + 1] << 8);
}

/* Returns -1 if it is unavailable, or the input is too short. */
static int open_input(const uint8_t *bytes, size_t size)
{
	Elf64_Sym symbols[SYMBOLS_MAX];
	struct unwind_elf elf = { .segment_count = 1 };
	size_t count = size > 0 ? bytes[0] % (SYMBOLS_MAX + 1) : 0;
	size_t head = 1 + (count + 1) * PLACE_BYTES;
	uint64_t entry;
	int fd;

	if (size <= head)
		return -1;
	for (size_t i = 0; i < count; i++)
		symbols[i] = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = place(bytes + 1, i) };
	unwind_elf_add_part(&elf, ".text", SECTION_VADDR, bytes + head, size - head);
	unwind_elf_add_part(&elf, ".symtab", 0, symbols, count * sizeof(symbols[0]));
	elf.parts[1].type = SHT_SYMTAB;
	elf.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = unwind_elf_contents(&elf),
		.p_vaddr = SECTION_VADDR,
		.p_filesz = size - head,
		.p_memsz = size - head };
	fd = unwind_elf_fd(&elf);
	entry = place(bytes + 1, count);
	if (fd >= 0)
		unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int binary = open_input(bytes, size);
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = -1,
		.alternate_fd = -1,
		.scratch_fd = scratch,
		.output_fd = output,
	};
	const struct pilotlight_symbol_request request = {
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1 },
		.identity_bytes = 20,
		.scratch_bytes_max = 64 << 20,
	};
	struct pilotlight_symbol_report report;

	if (code_instruction_load(NULL) < 0)
		abort();
	if (binary < 0 || scratch < 0 || output < 0)
		return 0;
	if (unwind_extraction_run(&files, &request, &report) == 0)
		check_output(output);
	return 0;
}

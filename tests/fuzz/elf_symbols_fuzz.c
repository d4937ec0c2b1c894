/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_sections.h"
#include "extract/elf_symbols.h"
#include "tests/extract/recorded_symbols.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SCRATCH_BYTES = 32 << 20 };

/* The builder checks order and bounds of what it is told. */
static void read_symbols(const struct elf_file *file, struct scratch *scratch)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = { .code_end = UINT64_MAX };
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;

	if (elf_symbols_new(&builder, scratch, &symbols) < 0)
		return;
	/* Twice, as the binary and as its debug file. */
	if (elf_symbols_add_file(symbols, file) < 0 || elf_symbols_add_file(symbols, file) < 0)
		return;
	(void)elf_symbols_finish(symbols);
}

static void read_links(const struct elf_file *file)
{
	struct elf_alternate_link alternate;
	struct elf_debuglink link;
	uint32_t crc;

	if (elf_sections_read_debuglink(file, &link) == 0 &&
		(strlen(link.name) == 0 || strchr(link.name, '/')))
		abort();
	if (elf_sections_read_alternate_link(file, &alternate) == 0 &&
		(strlen(alternate.path) == 0 || alternate.build_id_bytes == 0))
		abort();
	if (elf_sections_crc(file, &crc) < 0)
		abort();
}

/* What was unpacked is an ELF file in which nothing is compressed. */
static void unpack(const struct elf_file *file, struct scratch *scratch)
{
	_cleanup_(scratch_array_done) struct scratch_array unpacked = { 0 };
	struct elf_file inner;
	Elf64_Shdr section;

	if (scratch_array_init(&unpacked, scratch, 1, SCRATCH_BYTES) < 0 ||
		elf_sections_unpack(file, &unpacked) < 0)
		return;
	if (elf_file_init_memory(&inner, unpacked.items, unpacked.count) < 0)
		abort();
	if (inner.shdr_count != file->shdr_count || elf_sections_are_compressed(&inner))
		abort();
	if (elf_sections_find(&inner, ".debug_info", &section) == -ENOEXEC)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct scratch scratch;
	struct elf_file file;

	if (fd < 0 || elf_file_init_memory(&file, bytes, size) < 0)
		return 0;
	scratch_init(&scratch, fd, SCRATCH_BYTES);
	read_links(&file);
	read_symbols(&file, &scratch);
	unpack(&file, &scratch);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_file.h"
#include "dwarf/elf_sections.h"
#include "extract/elf_symbols.h"
#include "extract/function_bounds.h"
#include "tests/extract/recorded_symbols.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SCRATCH_BYTES = 32 << 20 };

/* The builder checks the order and bounds of its input. `fd` has the same contents as `file`. */
static void read_symbols(const struct elf_file *file, int fd, struct scratch *scratch)
{
	_cleanup_(function_bounds_done) struct function_bounds bounds = { 0 };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = { .code_end = UINT64_MAX };
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;

	if (elf_symbols_new(&builder, scratch, &symbols) < 0)
		return;
	/* Twice, as the binary and as its debug file. */
	if (elf_symbols_add_file(symbols, file) < 0 || elf_symbols_add_file(symbols, file) < 0)
		return;
	if (elf_symbols_need_bounds(symbols)) {
		if (function_bounds_read(&bounds, fd, scratch) < 0)
			return;
		if (elf_symbols_bound(symbols, &bounds) < 0)
			return;
	}
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

/* Open sections are in readable memory; a section with an end has a start. */
static void open_dwarf(int fd, struct scratch *scratch)
{
	_cleanup_(dwarf_file_close) struct dwarf_file file = { 0 };
	volatile uint8_t sum = 0;

	if (dwarf_file_open(&file, fd, false, scratch) < 0)
		return;
	if (!file.sections.info.position != !file.sections.info.end)
		abort();
	for (const uint8_t *p = file.sections.info.position; p < file.sections.info.end; p++)
		sum = (uint8_t)(sum + *p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	struct scratch scratch;
	struct elf_file file;

	if (scratch_fd < 0 || fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
		elf_file_init_memory(&file, bytes, size) < 0)
		return 0;
	scratch_init(&scratch, scratch_fd, SCRATCH_BYTES, 0);
	read_links(&file);
	read_symbols(&file, fd, &scratch);
	open_dwarf(fd, &scratch);
	return 0;
}

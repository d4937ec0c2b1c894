/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and rows of a Go program: an input is its table of functions, or a whole ELF file. A table
 * is behind two bytes, the first of which selects where the module is; the rest of the input
 * continues in the data of inlined calls.
 */
#include "extract/extraction.h"
#include "extract/unwind_extraction.h"
#include "symbol/symbol_file.h"
#include "tests/dwarf/go_fixture.h"
#include "unwind/unwind_table.h"

#include "base/cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	HAS_NO_MODULE = 1 << 0,
	HAS_RELOCATIONS = 1 << 1,
	IS_UNNAMED = 1 << 2,
	IS_1_18 = 1 << 3,
	FLAGS_END = 1 << 4,
	HEAD_BYTES = 2,
};

static struct go_fixture fixture;

/* Returns -1 if it is unavailable. */
static int wrap_table(const uint8_t *bytes, size_t size)
{
	uint8_t flags = bytes[0];

	go_fixture_init(&fixture, flags & IS_1_18 ? GO_1_18 : GO_1_20);
	fixture.has_no_module = flags & HAS_NO_MODULE;
	fixture.has_relocations = flags & HAS_RELOCATIONS;
	fixture.section = flags & IS_UNNAMED ? NULL : ".gopclntab";
	go_fixture_finish(&fixture);
	bytes += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (size > GO_FIXTURE_TABLE_BYTES + GO_FIXTURE_INLINED_BYTES)
		size = GO_FIXTURE_TABLE_BYTES + GO_FIXTURE_INLINED_BYTES;
	memcpy(fixture.bytes + GO_FIXTURE_TABLE, bytes, size);
	return go_fixture_fd(&fixture);
}

static int open_input(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size >= HEAD_BYTES && bytes[0] < FLAGS_END)
		return wrap_table(bytes, size);
	fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return -1;
	return TAKE_FD(fd);
}

typedef int (*extractor)(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report);

/* Returns the output, or NULL. The engine accepts every file that a worker makes. */
static struct symbol_file *run(extractor extract, int binary)
{
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
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
	struct symbol_file *file = NULL;

	if (scratch < 0 || output < 0 || extract(&files, &request, &report) < 0)
		return NULL;
	if (symbol_file_open(output, &file) < 0)
		abort();
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int binary = open_input(bytes, size);
	_cleanup_(symbol_file_freep) struct symbol_file *symbols = NULL, *rows = NULL;
	struct symbol_line lines[64];
	struct unwind_table table;

	if (binary < 0)
		return 0;
	symbols = run(extraction_run, binary);
	for (uint64_t at = 0; symbols && at < GO_FIXTURE_CODE_BYTES; at += 8)
		(void)symbol_file_find_chain(symbols, GO_FIXTURE_TEXT + at, lines, 64);
	rows = run(unwind_extraction_run, binary);
	if (rows && unwind_table_init(&table, rows) < 0)
		abort();
	return 0;
}

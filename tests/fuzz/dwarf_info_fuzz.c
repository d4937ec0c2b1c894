/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/extraction.h"

#include "base/cleanup.h"
#include "symbol/symbol_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { BOUNDARIES = 100, CHAIN_MAX = 256 };

/* What came out is whole, and what it says of its own code comes to an end. */
static void check_output(int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_symbol_boundary *boundaries;
	struct symbol_line lines[CHAIN_MAX];
	uint64_t count, base;

	if (symbol_file_open(fd, &file) < 0)
		abort();
	boundaries = symbol_file_boundaries(file);
	count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	base = symbol_file_header(file)->base_vaddr;
	for (uint64_t i = 0; i < count && i < BOUNDARIES; i++) {
		size_t lines_found;

		lines_found =
			symbol_file_find_chain(file, base + boundaries[i].offset, lines, CHAIN_MAX);
		if (boundaries[i].frame != 0 && lines_found == 0)
			abort();
		for (size_t k = 0; k < lines_found; k++)
			if (strlen(lines[k].function) > 4096 || strlen(lines[k].place.file) > 4096)
				abort();
	}
}

/* The input is the binary. Its debug information, its symbols and its lines are all taken. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int binary = memfd_create("binary", MFD_CLOEXEC);
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
		.scratch_bytes_max = 256 * 1024 * 1024,
	};
	struct pilotlight_symbol_report report;

	if (binary < 0 || scratch < 0 || output < 0 || write(binary, bytes, size) != (ssize_t)size)
		return 0;
	if (extraction_run(&files, &request, &report) == 0)
		check_output(output);
	return 0;
}

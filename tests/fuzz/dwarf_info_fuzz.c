/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/extraction.h"

#include "base/cleanup.h"
#include "symbol/elf_image.h"
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

/* The next part of the input as a file of its own; -1: it is not to be there. */
static int take_file(const uint8_t **bytes, size_t *size, size_t part)
{
	_cleanup_close_ int fd = memfd_create("part", MFD_CLOEXEC);

	if (part > *size)
		part = *size;
	if (part == 0 || fd < 0 || write(fd, *bytes, part) != (ssize_t)part)
		return -1;
	*bytes += part;
	*size -= part;
	return TAKE_FD(fd);
}

/*
 * What an input that is no ELF file begins with: the lengths of the binary and of the debug file,
 * 24 bits each, little-endian; the alternate file is the rest. Those of length 0 are not there.
 */
enum { LENGTHS_BYTES = 1 + 3 + 3, LENGTHS_MARK = 'S' };

static size_t read_length(const uint8_t *bytes)
{
	return bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
}

/* A debug file alone is taken for what it says it is. */
static void set_identity(int debug, struct pilotlight_symbol_request *request)
{
	struct elf_image image;

	if (debug < 0 || elf_image_read(debug, &image) < 0 || image.build_id.size == 0)
		return;
	memcpy(request->identity, image.build_id.bytes, sizeof(request->identity));
	request->identity_bytes = image.build_id.size;
}

/* Debug information, symbols and lines are all taken, of a binary or of what goes with it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t binary_bytes = size, debug_bytes = 0;

	if (size >= LENGTHS_BYTES && bytes[0] == LENGTHS_MARK) {
		binary_bytes = read_length(bytes + 1);
		debug_bytes = read_length(bytes + 4);
		bytes += LENGTHS_BYTES;
		size -= LENGTHS_BYTES;
	}
	_cleanup_close_ int binary = take_file(&bytes, &size, binary_bytes);
	_cleanup_close_ int debug = take_file(&bytes, &size, debug_bytes);
	_cleanup_close_ int alternate = take_file(&bytes, &size, size);
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = debug,
		.alternate_fd = alternate,
		.scratch_fd = scratch,
		.output_fd = output,
	};
	struct pilotlight_symbol_request request = {
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1 },
		.identity_bytes = 20,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 256 * 1024 * 1024,
	};
	struct pilotlight_symbol_report report;

	if (scratch < 0 || output < 0)
		return 0;
	set_identity(debug, &request);
	if (extraction_run(&files, &request, &report) == 0)
		check_output(output);
	return 0;
}

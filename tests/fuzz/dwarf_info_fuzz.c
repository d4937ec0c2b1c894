/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/extraction.h"

#include "base/cleanup.h"
#include "dwarf/dwarf_split_files.h"
#include "symbol/elf_image.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { BOUNDARIES = 100, CHAIN_MAX = 256 };

/* The result is complete, and walks over its own code terminate. */
static void check_output(int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_symbol_boundary *boundaries;
	struct symbol_line lines[CHAIN_MAX];
	uint64_t count, base;

	if (symbol_file_open(fd, &file) < 0)
		abort();
	boundaries = symbol_file_entries(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
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

/* The next part of the input as a file; -1 if its length is 0. */
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
 * An input that is no ELF file begins with a mark and two lengths of 24 bits, little-endian. After
 * LENGTHS_MARK they are those of the binary and of the debug file, and the alternate file is the
 * rest. After PACKAGE_MARK they are those of the binary and of the package of its split units, and
 * the rest is the split DWARF file that every request gets. A file of length 0 does not exist.
 */
enum { LENGTHS_BYTES = 1 + 3 + 3, LENGTHS_MARK = 'S', PACKAGE_MARK = 'P' };

struct input {
	int binary_fd, debug_fd, alternate_fd, package_fd, split_fd;
};

static void input_done(struct input *input)
{
	closep(&input->binary_fd);
	closep(&input->debug_fd);
	closep(&input->alternate_fd);
	closep(&input->package_fd);
	closep(&input->split_fd);
}

static size_t read_length(const uint8_t *bytes)
{
	return bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
}

/* A debug file on its own counts as the debug file of its build-id. */
static void set_identity(int debug, struct pilotlight_symbol_request *request)
{
	struct elf_image image;

	if (debug < 0 || elf_image_read(debug, &image) < 0 || image.build_id.size == 0)
		return;
	memcpy(request->identity, image.build_id.bytes, sizeof(request->identity));
	request->identity_bytes = image.build_id.size;
}

static struct input take_input(const uint8_t *bytes, size_t size)
{
	struct input input = { -1, -1, -1, -1, -1 };
	size_t first, second;

	if (size < LENGTHS_BYTES || (bytes[0] != LENGTHS_MARK && bytes[0] != PACKAGE_MARK)) {
		input.binary_fd = take_file(&bytes, &size, size);
		return input;
	}
	bool is_split = bytes[0] == PACKAGE_MARK;
	first = read_length(bytes + 1);
	second = read_length(bytes + 4);
	bytes += LENGTHS_BYTES;
	size -= LENGTHS_BYTES;
	input.binary_fd = take_file(&bytes, &size, first);
	*(is_split ? &input.package_fd : &input.debug_fd) = take_file(&bytes, &size, second);
	*(is_split ? &input.split_fd : &input.alternate_fd) = take_file(&bytes, &size, size);
	return input;
}

static int open_split(void *context, const char *path, int *ret_fd)
{
	const struct input *input = context;
	int fd;

	if (input->split_fd < 0 || strlen(path) >= DWARF_SPLIT_PATH_BYTES)
		return -ENOENT;
	fd = fcntl(input->split_fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Extracts debug information, symbols and lines, of a binary or of its debug files. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_(input_done) struct input input = take_input(bytes, size);
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct dwarf_split_opener split_opener = { .open = open_split, .context = &input };
	const struct extraction_files files = {
		.binary_fd = input.binary_fd,
		.debug_fd = input.debug_fd,
		.alternate_fd = input.alternate_fd,
		.package_fd = input.package_fd,
		.split_opener = &split_opener,
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
	set_identity(input.debug_fd, &request);
	if (extraction_run(&files, &request, &report) == 0)
		check_output(output);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extractions in this process, and what their symbol files say. */
#pragma once

#include "extract/extraction.h"

#include "base/cleanup.h"
#include "dwarf/dwarf_split_files.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define DATA   "tests/data/extract/"
#define CORPUS "tests/data/fuzz/dwarf_info/"

static struct pilotlight_symbol_request request;
static struct pilotlight_symbol_report report;
static struct symbol_file *file;
static char answer[4096]; /* of the last look-up */

static inline int set_up(void **state)
{
	request = (struct pilotlight_symbol_request){
		.version = PILOTLIGHT_WORKER_VERSION,
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1, 2, 3 },
		.identity_bytes = 20,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 256 << 20,
		.origin = "/usr/lib/origin",
	};
	memset(&report, 0, sizeof(report));
	return 0;
}

static inline int tear_down(void **state)
{
	symbol_file_free(file);
	file = NULL;
	return 0;
}

static inline int open_data(const char *path)
{
	int fd;

	if (!path)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Any file, as if somebody had asked for it by its path. */
static inline int open_split(void *context, const char *path, int *ret_fd)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -ENOENT;
	*ret_fd = fd;
	return 0;
}

/* Any of the descriptors may be -1; all are closed. */
static inline int extract_with_package(
	int binary_fd, int debug_fd, int alternate_fd, int package_fd)
{
	_cleanup_close_ int binary = binary_fd, debug = debug_fd, alternate = alternate_fd;
	_cleanup_close_ int package = package_fd;
	const struct dwarf_split_opener split_opener = { .open = open_split };
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = debug,
		.alternate_fd = alternate,
		.package_fd = package,
		.split_opener = &split_opener,
		.scratch_fd = scratch,
		.output_fd = output,
	};
	int r;

	symbol_file_free(file);
	file = NULL;
	r = extraction_run(&files, &request, &report);
	assert_int_equal(report.error, r);
	assert_int_equal(report.version, PILOTLIGHT_WORKER_VERSION);
	if (r == 0)
		assert_int_equal(symbol_file_open(output, &file), 0);
	return r;
}

static inline int extract_fds(int binary_fd, int debug_fd, int alternate_fd)
{
	return extract_with_package(binary_fd, debug_fd, alternate_fd, -1);
}

static inline int extract(const char *binary, const char *debug, const char *alternate)
{
	return extract_fds(open_data(binary), open_data(debug), open_data(alternate));
}

/* "inner file:line:column < outer file:line:column"; "" where nothing is known. */
static inline const char *look_up(uint64_t vaddr)
{
	struct symbol_line lines[64];
	size_t count = symbol_file_find_chain(file, vaddr, lines, 64), used = 0;

	answer[0] = '\0';
	for (size_t i = 0; i < count && used < sizeof(answer); i++)
		used += (size_t)snprintf(answer + used, sizeof(answer) - used, "%s%s %s:%u:%u",
			i > 0 ? " < " : "", lines[i].function, lines[i].place.file,
			lines[i].place.line, lines[i].place.column);
	return answer;
}

#define assert_chain(vaddr, expected) assert_string_equal(look_up(vaddr), expected)

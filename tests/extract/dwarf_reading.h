/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads DWARF sections of tests/dwarf/dwarf_fixture.h into a real builder, whose code is [0x1000,
 * 0x9000), and looks up what came out.
 */
#pragma once

#include "extract/dwarf_info.h"
#include "symbol/symbol_file.h"
#include "tests/base/scratch_fixture.h"
#include "tests/dwarf/dwarf_fixture.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

static struct {
	const struct dwarf_split_opener *opener;
	int package_fd; /* owned; -1: none */
	struct dwarf_info_gaps gaps;
	struct scratch_fixture scratch;
	struct symbol_builder *builder;
	struct symbol_file *file;
	char text[4096]; /* of the last look-up */
} reading;

static inline void dwarf_reading_init(const struct dwarf_split_opener *opener)
{
	memset(&reading, 0, sizeof(reading));
	reading.opener = opener;
	reading.package_fd = -1;
	reading.scratch.fd = -1;
}

static inline void dwarf_reading_done(void)
{
	symbol_file_free(reading.file);
	symbol_builder_free(reading.builder);
	scratch_fixture_done(&reading.scratch);
	reading.file = NULL;
	reading.builder = NULL;
}

static inline int dwarf_reading_tear_down(void **state)
{
	dwarf_reading_done();
	if (reading.package_fd >= 0)
		(void)close(reading.package_fd);
	return 0;
}

static inline int dwarf_reading_begin(void)
{
	const struct symbol_builder_code code = {
		.segments[0] = { .offset = 0x1000,
			.vaddr = 0x1000,
			.file_bytes = 0x8000,
			.memory_bytes = 0x8000 },
		.segment_count = 1,
	};

	if (!scratch_fixture_init(&reading.scratch, 64 << 20))
		return -EMFILE;
	return symbol_builder_new(&code, &reading.scratch.scratch, &reading.builder);
}

/* Returns what dwarf_info_read() does. */
static inline int read_dwarf(const struct dwarf_fixture *f)
{
	const struct dwarf_file file = { .sections = view_sections(f) }, none = { 0 };
	struct dwarf_split_files split_files;
	int r = dwarf_reading_begin();

	if (r < 0)
		return r;
	dwarf_split_files_init(
		&split_files, reading.package_fd, reading.opener, &reading.scratch.scratch);
	r = dwarf_info_read(reading.builder, &file, &none, &split_files, &reading.gaps);
	dwarf_split_files_done(&split_files);
	return r;
}

/* Makes the symbol file. */
static inline int write_dwarf(void)
{
	const struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id = { .bytes = { 1 }, .size = 20 } };
	_cleanup_close_ int fd = memfd_create("symbols", MFD_CLOEXEC);
	int r;

	r = symbol_builder_write(
		reading.builder, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, EM_X86_64, "test", fd);
	return r < 0 ? r : symbol_file_open(fd, &reading.file);
}

static inline void read_and_write(const struct dwarf_fixture *f)
{
	assert_int_equal(read_dwarf(f), 0);
	assert_int_equal(write_dwarf(), 0);
}

/* "inner file:line:column < outer file:line:column"; "" where nothing is known. */
static inline const char *look_up(uint64_t vaddr)
{
	struct symbol_line lines[64];
	size_t count = symbol_file_find_chain(reading.file, vaddr, lines, 64), used = 0;

	reading.text[0] = '\0';
	for (size_t i = 0; i < count && used < sizeof(reading.text); i++)
		used += (size_t)snprintf(reading.text + used, sizeof(reading.text) - used,
			"%s%s %s:%u:%u", i > 0 ? " < " : "", lines[i].function, lines[i].place.file,
			lines[i].place.line, lines[i].place.column);
	return reading.text;
}

#define assert_chain(vaddr, text) assert_string_equal(look_up(vaddr), text)

static inline uint32_t units_lost(void)
{
	return symbol_file_header(reading.file)->units_failed;
}

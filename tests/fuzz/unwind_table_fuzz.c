/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads an input in three ways: as a symbol file, both unchanged and with its length and hashes
 * corrected; as the sections of a table; and as rows of a valid table, followed by damage to it.
 * For each accepted table, the sampler's lookup must agree with the rows.
 */
#include "base/cleanup.h"
#include "symbol/symbol_file.h"
#include "tests/unwind/sampler_lookup.h"
#include "tests/unwind/unwind_table_fixture.h"
#include "unwind/unwind_table.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1000, DAMAGES_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct unwind_table_fixture fixture;

struct input {
	const uint8_t *bytes;
	size_t size;
};

/* Zeros follow the end of the input. */
static uint32_t take(struct input *input, size_t bytes)
{
	uint32_t value = 0;

	if (bytes > input->size)
		bytes = input->size;
	memcpy(&value, input->bytes, bytes);
	input->bytes += bytes;
	input->size -= bytes;
	return value;
}

static size_t take_array(struct input *input, void *array, size_t entry_bytes, size_t count)
{
	if (count > input->size / entry_bytes)
		count = input->size / entry_bytes;
	memcpy(array, input->bytes, count * entry_bytes);
	input->bytes += count * entry_bytes;
	input->size -= count * entry_bytes;
	return count;
}

/* Returns whether a table was accepted. */
static bool check(const struct symbol_file *file)
{
	struct unwind_table table;

	if (unwind_table_init(&table, file) < 0)
		return false;
	if (!sampler_lookup_is_right(&table))
		abort();
	return true;
}

static void try_file(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("unwind", MFD_CLOEXEC);
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return;
	if (symbol_file_open(fd, &file) == 0)
		(void)check(file);
}

static void try_sealed(const uint8_t *bytes, size_t size)
{
	struct pilotlight_symbol_header header;
	uint8_t *sealed;

	if (size < sizeof(header))
		return;
	sealed = malloc(size);
	if (!sealed)
		return;
	memcpy(sealed, bytes, size);
	memcpy(&header, sealed, sizeof(header));
	header.file_bytes = size;
	memcpy(sealed, &header, sizeof(header));
	symbol_file_fixture_seal(sealed, size);
	try_file(sealed, size);
	free(sealed);
}

static bool try_fixture(void)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = unwind_table_fixture_open(&fixture);

	return file && check(file);
}

static size_t at_most(size_t count, size_t max)
{
	return count < max ? count : max;
}

/* Two bytes for each count, then the sections. */
static void try_sections(struct input input)
{
	memset(&fixture, 0, offsetof(struct unwind_table_fixture, container));
	fixture.page_count = at_most(take(&input, 2), UNWIND_TABLE_FIXTURE_PAGES);
	fixture.line_count = at_most(take(&input, 2), UNWIND_TABLE_FIXTURE_LINES);
	fixture.rule_count = at_most(take(&input, 2), UNWIND_TABLE_FIXTURE_RULES);
	fixture.escape_count = at_most(take(&input, 2), UNWIND_TABLE_FIXTURE_ESCAPES);
	fixture.summary_count = take_array(&input, &fixture.summary, sizeof(fixture.summary), 1);
	fixture.page_count =
		take_array(&input, fixture.pages, sizeof(fixture.pages[0]), fixture.page_count);
	fixture.line_count =
		take_array(&input, fixture.lines, sizeof(fixture.lines[0]), fixture.line_count);
	fixture.rule_count =
		take_array(&input, fixture.rules, sizeof(fixture.rules[0]), fixture.rule_count);
	fixture.escape_count = take_array(
		&input, fixture.escapes, sizeof(fixture.escapes[0]), fixture.escape_count);
	(void)try_fixture();
}

/* Two bytes for the distance to the next row, which is rarely large, and two for its rule. */
static size_t take_rows(
	struct input *input, uint32_t rule_count, struct unwind_table_fixture_row rows[ROWS_MAX])
{
	uint64_t offset = take(input, 4);
	uint64_t end = ((offset >> 12) + UNWIND_TABLE_FIXTURE_PAGES - 1) << 12;
	size_t escapes = 0, count = 0, wanted = at_most(take(input, 2), ROWS_MAX);

	while (count < wanted && input->size > 0) {
		uint32_t step = take(input, 2);

		rows[count].offset = (uint32_t)offset;
		rows[count].rule = take(input, 2) % rule_count;
		escapes += rows[count].rule >= PILOTLIGHT_UNWIND_ESCAPE;
		count++;
		offset += 1 + (step >= 0xff00 ? (step & 0xff) << 10 : step & 0x3ff);
		if (offset >= end || offset > UINT32_MAX || escapes == UNWIND_TABLE_FIXTURE_ESCAPES)
			break;
	}
	return count;
}

static void damage(struct input *input)
{
	const struct {
		void *at;
		size_t bytes;
	} parts[] = {
		{ &fixture.summary, sizeof(fixture.summary) },
		{ fixture.pages, fixture.page_count * sizeof(fixture.pages[0]) },
		{ fixture.lines, fixture.line_count * sizeof(fixture.lines[0]) },
		{ fixture.rules, fixture.rule_count * sizeof(fixture.rules[0]) },
		{ fixture.escapes, fixture.escape_count * sizeof(fixture.escapes[0]) },
	};

	for (int i = 0; i < DAMAGES_MAX && input->size > 0; i++) {
		size_t part = take(input, 1) % (sizeof(parts) / sizeof(parts[0]));
		uint32_t at = take(input, 2);
		uint8_t value = (uint8_t)take(input, 1);

		if (parts[part].bytes > 0)
			((uint8_t *)parts[part].at)[at % parts[part].bytes] ^= value;
	}
}

static void try_rows(struct input input)
{
	static struct unwind_table_fixture_row rows[ROWS_MAX];
	uint32_t rule_count = 1 + take(&input, 2) % UNWIND_TABLE_FIXTURE_RULES;
	size_t count = take_rows(&input, rule_count, rows);

	unwind_table_fixture_lay_out(&fixture, rows, count, rule_count);
	if (fixture.line_count > UNWIND_TABLE_FIXTURE_LINES || !try_fixture())
		abort();
	damage(&input);
	(void)try_fixture();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct input input = { bytes, size };

	try_file(bytes, size);
	try_sealed(bytes, size);
	try_sections(input);
	try_rows(input);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "pilotlight/unwind.h"
#include "symbol/symbol_file.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = SYMBOL_FILE_FIXTURE_BASE, CHAIN_MAX = 8 };

static struct symbol_file_fixture fixture;

static void fill(void)
{
	fixture = (struct symbol_file_fixture){ .identity = { 0xab, 0xcd }, .created_s = 1234 };
	symbol_file_fixture_fill(&fixture);
}

static int open_bytes(struct symbol_file **ret_file)
{
	_cleanup_close_ int fd = symbol_file_fixture_fd(&fixture);

	assert_true(fd >= 0);
	return symbol_file_open(fd, ret_file);
}

static struct symbol_file *open_built(void)
{
	struct symbol_file *file = NULL;

	symbol_file_fixture_build(&fixture);
	assert_int_equal(open_bytes(&file), 0);
	return file;
}

/* As `function file:line:column` for each link, innermost first. */
static void assert_chain(const struct symbol_file *file, uint64_t vaddr, const char *wanted)
{
	struct symbol_line lines[CHAIN_MAX];
	size_t count = symbol_file_find_chain(file, vaddr, lines, CHAIN_MAX);
	char text[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s:%u:%u",
			i > 0 ? " < " : "", lines[i].function, lines[i].place.file,
			lines[i].place.line, lines[i].place.column);
	assert_string_equal(text, wanted);
}

static void assert_known_chains(const struct symbol_file *file)
{
	const char *inner = "inner /src/inner.h:5:3 < outer /src/outer.h:7:2 < "
			    "main /src/main.c:11:4";

	assert_chain(file, BASE, "main /src/main.c:10:1");
	assert_chain(file, BASE + 0x0f, "main /src/main.c:10:1");
	assert_chain(file, BASE + 0x10, inner);
	assert_chain(file, BASE + 0x1f, inner);
	assert_chain(file, BASE + 0x20, "outer /src/outer.h:8:0 < main /src/main.c:11:4");
	assert_chain(file, BASE + 0x30, "main /src/main.c:12:1");
	assert_chain(file, BASE + 0x40, "cold :0:0");
	assert_chain(file, BASE + 0x5f, "cold :0:0");
	assert_chain(file, BASE + 0x60, "");
	assert_chain(file, BASE + 0x7f, "");
	assert_chain(file, BASE + 0x80, " /src/asm.S:3:0");
	assert_chain(file, BASE + 0x90, "");
	assert_chain(file, BASE - 1, "");
	assert_chain(file, 0, "");
	assert_chain(file, UINT64_MAX, "");
	assert_chain(file, BASE + ((uint64_t)UINT32_MAX + 1), "");
	assert_chain(file, BASE + ((uint64_t)1 << 40) + 0x10, "");
}

static void whole_chains_are_found(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	fill();
	file = open_built();
	assert_known_chains(file);
}

static void short_buffers_get_the_innermost_frames(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_line lines[2];

	fill();
	file = open_built();
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x10, lines, 2), 2);
	assert_string_equal(lines[0].function, "inner");
	assert_string_equal(lines[1].function, "outer");
	assert_int_equal(lines[1].place.line, 7);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x10, NULL, 0), 0);
}

static void header_and_tables_are_returned(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_identity identity;

	fill();
	fixture.identity_bytes = 4;
	fixture.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	file = open_built();
	identity = symbol_file_identity(file);
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_HTLHASH);
	assert_int_equal(identity.id.size, 4);
	assert_memory_equal(identity.id.bytes, fixture.identity, 20);
	assert_string_equal(symbol_file_header(file)->origin, "/usr/bin/example");
	assert_int_equal(symbol_file_header(file)->created_s, 1234);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS), 1);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES), 6);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES), 5);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS), 7);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_FILES), 5);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND), 0);
	assert_null(symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND));
	assert_int_equal(symbol_file_count(file, 0), 0);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_RUNTIME + 1), 0);
	assert_int_equal(symbol_file_count(file, 1000), 0);
	assert_int_equal(((const struct pilotlight_symbol_boundary *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_BOUNDARIES))[1]
				 .offset,
		0x10);
	assert_int_equal(((const struct pilotlight_symbol_frame *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_FRAMES))[2]
				 .parent,
		1);
	assert_int_equal(((const struct pilotlight_symbol_row *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_ROWS))[6]
				 .offset,
		0x90);
	assert_int_equal(((const struct pilotlight_symbol_segment *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_SEGMENTS))[0]
				 .vaddr,
		BASE);
	assert_string_equal((const char *)symbol_file_entries(file, PILOTLIGHT_SYMBOL_STRINGS), "");
	assert_string_equal(
		(const char *)symbol_file_entries(file, PILOTLIGHT_SYMBOL_STRINGS) +
			((const uint32_t *)symbol_file_entries(file, PILOTLIGHT_SYMBOL_FILES))[2],
		"/src/inner.h");
}

static void either_output_may_be_null(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const uint64_t vaddrs[] = { BASE + 0x10, 5, BASE + 0x80 };
	uint32_t frames[3] = { 9, 9, 9 };
	uint64_t places[3] = { 9, 9, 9 };

	fill();
	file = open_built();
	symbol_file_find(file, vaddrs, 3, frames, NULL);
	symbol_file_find(file, vaddrs, 3, NULL, places);
	symbol_file_find(file, vaddrs, 3, NULL, NULL);
	assert_int_equal(frames[0], 3);
	assert_int_equal(frames[1], 0);
	assert_int_equal(frames[2], 0);
	assert_int_equal(places[0], symbol_place_pack(2, 5, 3));
	assert_int_equal(places[1], 0);
	assert_int_equal(places[2], symbol_place_pack(4, 3, 0));
	symbol_file_find(file, vaddrs, 0, frames, places);
	assert_int_equal(frames[0], 3);
}

static void offsets_become_vaddrs(void **state)
{
	static const struct pilotlight_symbol_segment segments[] = {
		{ 0x1000, 0x401000, 0x100, 0x200 },
		{ 0, 0x500000, 0, 0x1000 },
		{ 0x2000, 0x602000, 0x50, 0x50 },
		{ 0x3000, UINT64_MAX - 1, 0x10, 0x10 },
		{ UINT64_MAX - 4, 0x700000, 0x10, 0x10 },
	};
	static const struct {
		uint64_t offset, vaddr; /* 0: none */
	} lookups[] = {
		{ 0xfff, 0 },
		{ 0x1000, 0x401000 },
		{ 0x10ff, 0x4010ff },
		{ 0x1100, 0 },
		{ 0, 0 },
		{ 0x2000, 0x602000 },
		{ 0x204f, 0x60204f },
		{ 0x2050, 0 },
		{ 0x3001, UINT64_MAX },
		{ 0x3002, 0 },
		{ UINT64_MAX, 0x700004 },
	};
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	fill();
	fixture.segments = segments;
	fixture.segment_count = ARRAY_SIZE(segments);
	file = open_built();
	for (size_t i = 0; i < ARRAY_SIZE(lookups); i++) {
		uint64_t vaddr = 77;
		bool is_found = symbol_file_find_vaddr(file, lookups[i].offset, &vaddr);

		assert_int_equal(is_found, lookups[i].vaddr != 0);
		assert_int_equal(vaddr, is_found ? lookups[i].vaddr : 77);
	}
}

static void base_may_be_any_address(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	fill();
	fixture.base_vaddr = UINT64_MAX - 0x14;
	file = open_built();
	assert_chain(file, UINT64_MAX - 0x14, "main /src/main.c:10:1");
	assert_chain(file, UINT64_MAX - 0x15, "");
	assert_chain(file, 0, "");
	assert_chain(file, 0x10, "");
}

static void negative_entries_have_no_symbols(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	uint64_t vaddr;

	fixture = (struct symbol_file_fixture){ .failure = PILOTLIGHT_SYMBOL_NOTHING };
	file = open_built();
	assert_int_equal(symbol_file_header(file)->rank, PILOTLIGHT_SYMBOL_RANK_NONE);
	assert_int_equal(symbol_file_header(file)->failure, PILOTLIGHT_SYMBOL_NOTHING);
	assert_chain(file, 0, "");
	assert_false(symbol_file_find_vaddr(file, 0, &vaddr));
	assert_null(symbol_file_entries(file, PILOTLIGHT_SYMBOL_BOUNDARIES));
	assert_null((const char *)symbol_file_entries(file, PILOTLIGHT_SYMBOL_STRINGS));
	assert_string_equal(symbol_file_frame_name(file, 1), "");
	assert_string_equal(symbol_file_place(file, UINT64_MAX).file, "");
}

static void tables_may_be_missing(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *lines = NULL, *functions = NULL;

	fill();
	fixture.boundary_count = 0;
	lines = open_built();
	assert_chain(lines, BASE + 0x10, " /src/inner.h:5:3");
	fill();
	fixture.row_count = 0;
	functions = open_built();
	assert_chain(functions, BASE + 0x30, "main :0:0");
}

static void unknown_sections_are_skipped(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_symbol_section *section;

	fill();
	symbol_file_fixture_build(&fixture);
	(void)symbol_file_fixture_append(&fixture, 1000, 7, "what it is for, who knows", 3);
	(void)symbol_file_fixture_append(&fixture, PILOTLIGHT_SYMBOL_RUNTIME + 1, 0, NULL, 0);
	symbol_file_fixture_finish(&fixture);
	assert_int_equal(open_bytes(&file), 0);
	assert_known_chains(file);
	symbol_file_free(TAKE_PTR(file));

	section = symbol_file_fixture_section(&fixture, 1000);
	fixture.bytes[section->offset] ^= 1;
	assert_int_equal(open_bytes(&file), -EBADMSG);
	section->bytes = fixture.size;
	symbol_file_fixture_seal(fixture.bytes, fixture.size);
	assert_int_equal(open_bytes(&file), -EBADMSG);
}

static void unwind_sections_are_returned(void **state)
{
	static const struct pilotlight_unwind_summary summary = { .row_count = 77 };
	static const struct pilotlight_unwind_line lines[2] = { { .base = 5 }, { .base = 6 } };
	static const struct pilotlight_unwind_rule rules[3] = { { .offset = 7 }, { .offset = 8 } };
	static const struct pilotlight_unwind_escape escapes[4] = { { 9, 10 }, { 11, 12 } };
	static const uint32_t pages[5] = { 13, 14 };
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	fill();
	symbol_file_fixture_build(&fixture);
	(void)symbol_file_fixture_append(
		&fixture, PILOTLIGHT_SYMBOL_UNWIND, sizeof(summary), &summary, 1);
	(void)symbol_file_fixture_append(
		&fixture, PILOTLIGHT_SYMBOL_UNWIND_LINES, sizeof(lines[0]), lines, 2);
	(void)symbol_file_fixture_append(
		&fixture, PILOTLIGHT_SYMBOL_UNWIND_RULES, sizeof(rules[0]), rules, 3);
	(void)symbol_file_fixture_append(
		&fixture, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, sizeof(escapes[0]), escapes, 4);
	(void)symbol_file_fixture_append(
		&fixture, PILOTLIGHT_SYMBOL_UNWIND_PAGES, sizeof(pages[0]), pages, 5);
	symbol_file_fixture_finish(&fixture);
	assert_int_equal(open_bytes(&file), 0);
	assert_known_chains(file);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND), 1);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_LINES), 2);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_RULES), 3);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES), 4);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_PAGES), 5);
	assert_int_equal(((const struct pilotlight_unwind_summary *)symbol_file_entries(
				  file, PILOTLIGHT_SYMBOL_UNWIND))
				 ->row_count,
		77);
	assert_int_equal(((const struct pilotlight_unwind_line *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_UNWIND_LINES))[1]
				 .base,
		6);
	assert_int_equal(((const struct pilotlight_unwind_rule *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_UNWIND_RULES))[1]
				 .offset,
		8);
	assert_int_equal(((const struct pilotlight_unwind_escape *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES))[1]
				 .rule,
		12);
	assert_int_equal(
		((const uint32_t *)symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND_PAGES))[1],
		14);
}

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33);
}

/* Compares batches of many sizes with a linear search. */
static void batches_agree_with_a_linear_search(void **state)
{
	enum { ENTRIES = 1000, KEYS = 300 };
	static struct pilotlight_symbol_boundary boundaries[ENTRIES];
	static struct pilotlight_symbol_row rows[ENTRIES];
	static uint64_t vaddrs[KEYS], places[KEYS];
	static uint32_t frames[KEYS];
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	uint64_t random = 3;

	fill();
	for (uint32_t i = 0; i < ENTRIES; i++) {
		boundaries[i].offset = 3 + i * 20 + draw(&random) % 20;
		boundaries[i].frame = draw(&random) % 6; /* one more than there are */
		rows[i] = symbol_file_fixture_row(
			7 + i * 9 + draw(&random) % 9, draw(&random) % 5, i, i % 100);
	}
	fixture.boundaries = boundaries;
	fixture.boundary_count = ENTRIES;
	fixture.rows = rows;
	fixture.row_count = ENTRIES;
	file = open_built();
	for (size_t count = 0; count <= KEYS; count++) {
		for (size_t i = 0; i < count; i++)
			vaddrs[i] = BASE - 50 + draw(&random) % (ENTRIES * 21);
		symbol_file_find(file, vaddrs, count, frames, places);
		for (size_t i = 0; i < count; i++) {
			uint32_t frame = 0;
			uint64_t place = 0;

			for (size_t j = 0; j < ENTRIES && BASE + boundaries[j].offset <= vaddrs[i];
				j++)
				frame = boundaries[j].frame < 5 ? boundaries[j].frame : 0;
			for (size_t j = 0; j < ENTRIES && BASE + rows[j].offset <= vaddrs[i]; j++)
				place = (uint64_t)rows[j].place_high << 32 | rows[j].place_low;
			assert_int_equal(frames[i], frame);
			assert_int_equal(places[i], place);
		}
	}
}

static void places_are_packed_and_bounded(void **state)
{
	assert_int_equal(symbol_place_pack(1, 2, 3), 0x0000010000020003);
	assert_int_equal(symbol_place_pack(0xffffff, 0xffffff, 0xffff), UINT64_MAX);
	assert_int_equal(symbol_place_pack(1 << 24, 2, 3), 0);
	assert_int_equal(symbol_place_pack(1, 1 << 24, 3), 0x0000010000000003);
	assert_int_equal(symbol_place_pack(1, 2, 1 << 16), 0x0000010000020000);
}

static void assert_golden(const char *path, uint8_t rank)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	struct symbol_identity identity;

	assert_true(fd >= 0);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	identity = symbol_file_identity(file);
	assert_string_equal(symbol_identity_format(&identity, text),
		"0123456789abcdef0123456789abcdef01234567");
	assert_int_equal(symbol_file_header(file)->rank, rank);
	assert_int_equal(symbol_file_header(file)->created_s, 1763720000);
	if (rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		assert_int_equal(symbol_file_header(file)->failure, PILOTLIGHT_SYMBOL_TIMEOUT);
	else
		assert_known_chains(file);
}

/* Never regenerate these files: they define version 1. */
static void version_1_stays_readable(void **state)
{
	assert_golden("tests/data/symbol/version_1.sym", PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_golden("tests/data/symbol/version_1_nothing.sym", PILOTLIGHT_SYMBOL_RANK_NONE);
}

static void failing_allocations_are_reported(void **state)
{
	struct symbol_file *file = NULL;

	fill();
	symbol_file_fixture_build(&fixture);
	assert_true(FAIL_EACH_ALLOCATION(open_bytes(&file), -ENOMEM, !file, 0) >= 1);
	symbol_file_free(file);
	symbol_file_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chains_are_found),
		cmocka_unit_test(short_buffers_get_the_innermost_frames),
		cmocka_unit_test(header_and_tables_are_returned),
		cmocka_unit_test(either_output_may_be_null),
		cmocka_unit_test(offsets_become_vaddrs),
		cmocka_unit_test(base_may_be_any_address),
		cmocka_unit_test(negative_entries_have_no_symbols),
		cmocka_unit_test(tables_may_be_missing),
		cmocka_unit_test(unknown_sections_are_skipped),
		cmocka_unit_test(unwind_sections_are_returned),
		cmocka_unit_test(batches_agree_with_a_linear_search),
		cmocka_unit_test(places_are_packed_and_bounded),
		cmocka_unit_test(version_1_stays_readable),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_lines.h"

#include "base/array.h"
#include "jit/code_index.h"
#include "tests/harness/failing_allocation.h"
#include "tests/jit/jitdump_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESS = 0x40000, SIZE = 100 };

struct told {
	int64_t offset;
	int32_t line, discriminator;
	const char *file;
};

struct lines_case {
	uint32_t padding;
	uint64_t vma;
	struct told told[6];
	size_t told_count;
	struct line_entry expected[6];
	size_t expected_count;
	bool is_damaged;
};

static int pack(struct jitdump_lines *lines, const struct lines_case *lines_case,
	const uint8_t **ret_packed, size_t *ret_size, bool *ret_is_damaged,
	struct jitdump_fixture *dump)
{
	const struct jitdump_header header = { .padding = lines_case->padding };
	const struct jitdump_record load = {
		.load = { .vma = lines_case->vma, .address = ADDRESS, .size = SIZE },
	};
	struct jitdump_record debug;

	jitdump_fixture_begin_debug(dump, 1, ADDRESS, lines_case->told_count);
	for (size_t i = 0; i < lines_case->told_count; i++) {
		const struct told *told = &lines_case->told[i];

		jitdump_fixture_debug_entry(dump, (uint64_t)(ADDRESS + told->offset), told->line,
			told->discriminator, told->file);
	}
	jitdump_fixture_end(dump);
	assert_int_equal(jitdump_record_parse(&header, dump->bytes + dump->record,
				 dump->size - dump->record, true, &debug),
		0);
	return jitdump_lines_pack(
		lines, &header, &debug, &load, NULL, ret_packed, ret_size, ret_is_damaged);
}

static void assert_case(const struct lines_case *lines_case)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_lines lines = { 0 };
	struct line_cursor cursor = { 0 };
	const uint8_t *packed;
	bool is_damaged = false;
	size_t size, i;

	assert_int_equal(pack(&lines, lines_case, &packed, &size, &is_damaged, &dump), 0);
	assert_int_equal(is_damaged, lines_case->is_damaged);
	for (i = 0; line_list_next(packed, size, &cursor); i++) {
		assert_in_range(i + 1, 1, lines_case->expected_count);
		assert_memory_equal(&cursor.entry, &lines_case->expected[i], sizeof(cursor.entry));
	}
	assert_int_equal(i, lines_case->expected_count);
	jitdump_lines_done(&lines);
	jitdump_fixture_done(&dump);
}

static void addresses_as_they_are(void **state)
{
	(void)state;
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.told = { { 0, 10, 3, "a" }, { 20, 11, 0, "a" }, { 99, 0, 0, "" } },
		.told_count = 3,
		.expected = { { 0, 10, 0, 0 }, { 20, 11, 0, 0 }, { 99, 0, 0, 0 } },
		.expected_count = 3,
	});
	/* All above 64, as they may be; and one at the code's end, which ends the list. */
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.told = { { 64, 10, 0, "a" }, { 90, 11, 0, "a" }, { 100, 0, 0, "" } },
		.told_count = 3,
		.expected = { { 64, 10, 0, 0 }, { 90, 11, 0, 0 } },
		.expected_count = 2,
	});
	assert_case(&(struct lines_case){ .vma = ADDRESS });
}

static void before_the_code_is_its_start(void **state)
{
	(void)state;
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.told = { { -55, 589, 0, "s.erl" }, { 86, 590, 0, "s.erl" }, { 100, 0, 0, "" } },
		.told_count = 3,
		.expected = { { 0, 589, 0, 0 }, { 86, 590, 0, 0 } },
		.expected_count = 2,
	});
	/* Nor is it for code without a vma that 64 are taken off what is below. */
	assert_case(&(struct lines_case){
		.told = { { 10, 1, 0, "a" }, { 80, 2, 0, "a" } },
		.told_count = 2,
		.expected = { { 10, 1, 0, 0 }, { 80, 2, 0, 0 } },
		.expected_count = 2,
	});
}

static void addresses_that_are_64_too_high(void **state)
{
	struct lines_case lines_case = {
		.padding = 0xdeadbeef,
		.vma = ADDRESS,
		.told = { { 64, 10, 3, "a" }, { 84, 11, 0, "a" } },
		.told_count = 2,
		.expected = { { 0, 10, 3, 0 }, { 20, 11, 0, 0 } },
		.expected_count = 2,
	};

	(void)state;
	assert_case(&lines_case); /* V8, with columns */
	lines_case.padding = 0;
	lines_case.vma = 0;
	lines_case.expected[0].column = 0;
	assert_case(&lines_case); /* LLVM */
	lines_case.vma = ADDRESS;
	lines_case.told[1].offset = 163;
	lines_case.expected[1].offset = 99;
	assert_case(&lines_case); /* anybody, where they fit only so */
	/* They do not fit either way. */
	lines_case.told[1].offset = 165;
	lines_case.expected[0] = (struct line_entry){ 64, 0, 0, 0 };
	lines_case.expected_count = 0;
	lines_case.is_damaged = true;
	assert_case(&lines_case);
}

static void damage_ends_what_is_believed(void **state)
{
	struct lines_case lines_case = {
		.padding = 0xdeadbeef,
		.vma = ADDRESS,
		.told = { { 64, 10, 1, "a" }, { 74, 11, 1, "a" }, { 84, 12, 1, "\x13\xef" },
			{ 94, 13, 1, "a" } },
		.told_count = 4,
		/* An entry whose name is no text has its place all the same. */
		.expected = { { 0, 10, 1, 0 }, { 10, 11, 1, 0 }, { 20, 0, 0, 0 } },
		.expected_count = 3,
		.is_damaged = true,
	};

	(void)state;
	assert_case(&lines_case);
	/* One that has none shows that the name before was cut short. */
	lines_case.told[2] = (struct told){ 1 << 20, 12, 1, "a" };
	lines_case.expected[1] = (struct line_entry){ 10, 0, 0, 0 };
	lines_case.expected_count = 2;
	assert_case(&lines_case);
	lines_case.told[2] = (struct told){ 84, -1, 1, "a" };
	assert_case(&lines_case);
	/* Nothing is left of damage from the first. */
	lines_case.told[0].file = "\x01";
	lines_case.expected_count = 0;
	assert_case(&lines_case);
	/* Others may name their files as they like. */
	lines_case = (struct lines_case){
		.vma = ADDRESS,
		.told = { { 0, 10, 1, "\xe4.erl" } },
		.told_count = 1,
		.expected = { { 0, 10, 0, 0 } },
		.expected_count = 1,
	};
	assert_case(&lines_case);
}

static void files_are_of_the_index(void **state)
{
	const struct jitdump_header header = { 0 };
	const struct jitdump_record load = {
		.load = { .vma = ADDRESS, .address = ADDRESS, .size = SIZE },
	};
	static const char *const files[] = { "a.c", "a.c", "b.c", "a.c", "" };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_lines lines = { 0 };
	struct code_load code = {
		.time_ns = 1, .address = ADDRESS, .size = SIZE, .name = "n", .name_size = 1
	};
	struct jitdump_record debug;
	struct code_index *index;
	struct code_found found;
	bool is_damaged = false;

	(void)state;
	assert_int_equal(code_index_new(1 << 20, &index), 0);
	jitdump_fixture_begin_debug(&dump, 1, ADDRESS, ARRAY_SIZE(files));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		jitdump_fixture_debug_entry(&dump, ADDRESS + 10 * i, 1 + (int32_t)i, 0, files[i]);
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &debug), 0);
	assert_int_equal(jitdump_lines_pack(&lines, &header, &debug, &load, index, &code.lines,
				 &code.lines_size, &is_damaged),
		0);
	assert_false(is_damaged);
	assert_int_equal(code_index_load(index, &code), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_true(code_index_find(index, ADDRESS + 10 * i + 5, 1, NULL, &found));
		assert_int_equal(found.line, 1 + i);
		if (*files[i])
			assert_string_equal(found.file, files[i]);
		else
			assert_null(found.file);
	}
	jitdump_lines_done(&lines);
	code_index_free(index);
	jitdump_fixture_done(&dump);
}

static void failing_allocations(void **state)
{
	const struct lines_case lines_case = {
		.vma = ADDRESS,
		.told = { { 0, 10, 1, "a" } },
		.told_count = 1,
	};
	struct jitdump_lines lines = { 0 };
	const uint8_t *packed;
	size_t size, n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		struct jitdump_fixture dump = { .capacity = 4096, .bytes = malloc(4096) };
		bool is_damaged = false;

		assert_non_null(dump.bytes);
		fail_allocation(n);
		r = pack(&lines, &lines_case, &packed, &size, &is_damaged, &dump);
		jitdump_fixture_done(&dump);
		jitdump_lines_done(&lines);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_as_they_are),
		cmocka_unit_test(before_the_code_is_its_start),
		cmocka_unit_test(addresses_that_are_64_too_high),
		cmocka_unit_test(damage_ends_what_is_believed),
		cmocka_unit_test(files_are_of_the_index),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

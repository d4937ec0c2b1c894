/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_lines.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "pilotlight/runtime_hotspot.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TABLE(bytes) (const uint8_t *)bytes, sizeof(bytes) - 1

static void ranges_have_lines(void **state)
{
	/* 4 bytes at 10, 2 without a line, none at 13, 6 bytes at 11; and half a pair */
	static const char table[] = "\x04\x00\x02\x80\x00\x03\x06\xfe\x02";
	static const uint32_t lines[] = { 10, 10, 0, 11, 11, 11, 0, 0 };

	for (int32_t unit = 0; unit < (int32_t)ARRAY_SIZE(lines); unit++)
		assert_int_equal(
			runtime_lines_find(PILOTLIGHT_RUNTIME_RANGES, TABLE(table), 10, unit),
			lines[unit]);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_RANGES, NULL, 0, 10, 0), 0);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_RANGES, NULL, 0, 10, -1), 10);
}

/* As Ruby's succ_index_table_create() does: entries begin at these positions of 700. */
static void positions_have_lines(void **state)
{
	static const uint32_t starts[] = { 0, 2, 53, 54, 100, 117, 118, 566, 690 };
	struct {
		struct pilotlight_runtime_positions head;
		uint64_t words[6];
		struct {
			uint64_t rank, small_ranks, bits[8];
		} blocks[2];
		uint32_t entries[ARRAY_SIZE(starts)][3];
	} table = { .head = { 700, 12 } };
	uint32_t rank = 0;

	for (uint32_t at = 0; at < 54 + 2 * 512; at++) {
		uint32_t in = (at - 54) % 512, block = (at - 54) / 512;

		if (at >= 54 && in == 0)
			table.blocks[block].rank = rank;
		if (at >= 54 && in >= 64 && in % 64 == 0)
			table.blocks[block].small_ranks |= (rank - table.blocks[block].rank)
							   << (in / 64 - 1) * 9;
		if (rank < ARRAY_SIZE(starts) && starts[rank] == at) {
			table.entries[rank][0] = 10 * (rank + 1);
			rank++;
			if (at >= 54)
				table.blocks[block].bits[in / 64] |= 1ULL << in % 64;
		}
		if (at < 54)
			table.words[at / 9] |= (uint64_t)rank << at % 9 * 7;
	}
	assert_int_equal(pilotlight_runtime_index_bytes(700), 48 + 2 * 80);
	for (uint32_t at = 0, entry = 0; at < 700; at++) {
		if (entry + 1 < ARRAY_SIZE(starts) && starts[entry + 1] == at)
			entry++;
		assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS,
					 (const uint8_t *)&table, sizeof(table), 1, (int32_t)at),
			10 * (entry + 1));
		/* A table that is cut has no line of what is beyond. */
		assert_int_equal(
			runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS, (const uint8_t *)&table,
				sizeof(table) - sizeof(table.entries) + 16, 1, (int32_t)at),
			entry < 2 ? 10 * (entry + 1) : 0);
	}
	for (size_t size = 0; size < sizeof(table) - sizeof(table.entries); size++)
		assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS,
					 (const uint8_t *)&table, size, 1, 5),
			0);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS, (const uint8_t *)&table,
				 sizeof(table), 1, 700),
		0);
	table.head.units = UINT32_MAX;
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS, (const uint8_t *)&table,
				 sizeof(table), 1, 100),
		0);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_POSITIONS, NULL, 0, 7, -1), 7);
}

/* A function at place 100, with line ends behind its 3rd, 8th, 9th and 20th character. */
static void line_ends_have_lines(void **state)
{
	static const char table[] = "\x64\0\0\0\0\0\0\0\x04\x03\x10";
	static const struct {
		int32_t place;
		uint32_t line;
	} lines[] = { { -1, 10 }, { 100, 10 }, { 102, 10 }, { 103, 11 }, { 108, 11 }, { 109, 12 },
		{ 110, 13 }, { 120, 13 }, { 121, 14 }, { 123, 14 },
		/* Not in the table. */
		{ 99, 10 }, { 0, 10 }, { 124, 10 }, { INT32_MAX, 10 } };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LINE_ENDS, TABLE(table), 10,
					 lines[i].place),
			lines[i].line);
		/* If the first line is not known, no other is. */
		assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LINE_ENDS, TABLE(table), 0,
					 lines[i].place),
			0);
	}
	for (size_t size = 0; size < 8; size++)
		assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LINE_ENDS,
					 (const uint8_t *)table, size, 10, 103),
			0);
}

static void steps_have_lines(void **state)
{
	/* From byte 4 on at 12, from 6 on at 11; twice 255 bytes further, at 311; and half a pair
	 */
	static const char table[] = "\x04\x02\x02\xff\xff\x00\xff\x7f\x00\x7f\x00\x2e\x06";
	static const struct {
		int32_t unit;
		uint32_t line;
	} lines[] = { { -1, 10 }, { 0, 10 }, { 1, 10 }, { 2, 12 }, { 3, 11 }, { 257, 11 },
		{ 258, 311 }, { 9999, 311 } };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(runtime_lines_find(
					 PILOTLIGHT_RUNTIME_STEPS, TABLE(table), 10, lines[i].unit),
			lines[i].line);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_STEPS, NULL, 0, 10, 5), 10);
}

static void locations_have_lines(void **state)
{
	static const char table[] = "\x81\x12"		       /* 2 at 10: a short form */
				    "\xd8\x01\x02"	       /* 1 at 11 */
				    "\xe0\x01\x02"	       /* 1 at 13 */
				    "\xe8\x07"		       /* 1 at 10: -3 */
				    "\xf1\x48\x03\x01\x02\x03" /* 2 at 110: 8 + 3 * 64 = 200 */
				    "\xf8"		       /* 1 without a line */
				    "\xe8";		       /* the number is cut off: 110 */
	static const uint32_t lines[] = { 10, 10, 11, 13, 10, 110, 110, 0, 110, 0 };

	for (int32_t unit = 0; unit < (int32_t)ARRAY_SIZE(lines); unit++)
		assert_int_equal(
			runtime_lines_find(PILOTLIGHT_RUNTIME_LOCATIONS, TABLE(table), 10, unit),
			lines[unit]);
}

/* As HotSpot has them: bytecode 0 is at 10, 3 at 12, 40 at 7 and again at 8, 20 at 300. */
static void bytecodes_have_lines(void **state)
{
	static const struct {
		uint8_t has_no_zeros;
		const char *pairs;
		size_t size;
	} tables[] = {
		{ 0, "\xff\x00\x14\x1a\xff\x4a\x09\x01\xff\x27\xc8\x06\x00", 13 },
		{ 1, "\xff\x01\x15\x1a\xff\x4b\x0a\x01\xff\x28\xc9\x07\x00", 13 },
	};
	static const struct {
		int32_t unit;
		uint32_t line;
	} lines[] = { { -1, 10 }, { 0, 10 }, { 2, 10 }, { 3, 12 }, { 19, 12 }, { 20, 300 },
		{ 39, 300 }, { 40, 7 }, { 999, 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const size_t begin = sizeof(struct pilotlight_hotspot_table) -
				     offsetof(struct pilotlight_hotspot_table, has_no_zeros);
		uint8_t table[sizeof(struct pilotlight_hotspot_table) + 16] = { 0 };

		table[0] = tables[i].has_no_zeros;
		memcpy(table + begin, tables[i].pairs, tables[i].size);
		for (size_t j = 0; j < ARRAY_SIZE(lines); j++)
			assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_BYTECODES, table,
						 begin + tables[i].size, 0, lines[j].unit),
				lines[j].line);
		assert_int_equal(
			runtime_lines_find(PILOTLIGHT_RUNTIME_BYTECODES, table, 5, 0, 3), 0);
	}
}

static void impossible_lines_are_none(void **state)
{
	static const char back[] = "\xe8\x3f", far[] = "\xe8\x7e\x7f\x7f\x7f\x7f\x3f";

	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LOCATIONS, TABLE(back), 10, 0), 0);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LOCATIONS, TABLE(far), 10, 0), 0);
	assert_int_equal(runtime_lines_find(PILOTLIGHT_RUNTIME_LOCATIONS, NULL, 0, -7, -1), 0);
	assert_int_equal(runtime_lines_find(77, TABLE(far), 10, 0), 0);
}

static size_t read_table(const char *digits, uint8_t **ret_table)
{
	size_t size = strcspn(digits, " \n") / 2;
	uint8_t *table = malloc(size + 1);

	assert_non_null(table);
	for (size_t i = 0; i < size; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
		table[i] = (uint8_t)byte;
	}
	*ret_table = table;
	return size;
}

/* Checks a line of the program's. Returns the number of instructions. */
static size_t check_code(enum pilotlight_runtime_lines kind, char *line)
{
	_cleanup_free_ uint8_t *table = NULL;
	char *at = line + strlen("code ");
	int32_t first_line = (int32_t)strtol(at, &at, 10), unit = 0;
	size_t size = read_table(at + 1, &table);

	at += 1 + 2 * size;
	while (*at == ' ') {
		uint32_t expected = (uint32_t)strtoul(at, &at, 10);

		assert_int_equal(
			runtime_lines_find(kind, table, size, first_line, unit++), expected);
	}
	return (size_t)unit;
}

/* Against the interpreters of this machine. */
static void check_interpreter(const char *path)
{
	bool is_3_10 = strstr(path, "3.10") != NULL;
	char command[512], *line = NULL;
	size_t bytes = 0, units = 0;
	FILE *output;

	(void)snprintf(command, sizeof(command), "%s -I tests/symbol/runtime_lines_test.py", path);
	output = popen(command, "re");
	assert_non_null(output);
	while (getline(&line, &bytes, output) > 0 && strncmp(line, "code ", 5) == 0)
		units += check_code(
			is_3_10 ? PILOTLIGHT_RUNTIME_RANGES : PILOTLIGHT_RUNTIME_LOCATIONS, line);
	assert_int_equal(strncmp(line, "end 1", 5), 0);
	assert_true(units > 5000);
	free(line);
	assert_int_equal(pclose(output), 0);
}

static void interpreters_agree(void **state)
{
	static const char *const patterns[] = { "/usr/bin/python3.1[0-5]",
		"/root/.pyenv/versions/3.1[0-5]*/bin/python3.1[0-5]" };
	glob_t found = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		(void)glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
	if (found.gl_pathc == 0)
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_interpreter(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_have_lines),
		cmocka_unit_test(positions_have_lines),
		cmocka_unit_test(line_ends_have_lines),
		cmocka_unit_test(steps_have_lines),
		cmocka_unit_test(locations_have_lines),
		cmocka_unit_test(bytecodes_have_lines),
		cmocka_unit_test(impossible_lines_are_none),
		cmocka_unit_test(interpreters_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

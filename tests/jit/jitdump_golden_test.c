/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps that real runtimes wrote, against what tests/data/jitdump/expected.py makes of them: every
 * symbol that lives at the end, and the line of every byte of code.
 */
#include "jit/jitdump_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/data/jitdump/"

struct dump {
	const char *name;
	enum jitdump_runtime runtime;
	uint64_t damaged_lines;
	uint64_t unread_bytes; /* of a record that its writer did not live to finish */
};

static struct dump dumps[] = {
	{ "erlang25-jpperf", JITDUMP_RUNTIME_ERLANG, 0, 0 },
	{ "node20-perf-prof", JITDUMP_RUNTIME_V8, 10, 0 },
	{ "node20-sigkill-partial-tail", JITDUMP_RUNTIME_V8, 10, 2008 },
	{ "node20-unwinding-info", JITDUMP_RUNTIME_V8, 10, 0 },
	{ "openjdk17-libperf-jvmti", JITDUMP_RUNTIME_JVM, 0, 0 },
	{ "php82-jit-debug-0x30", JITDUMP_RUNTIME_PHP, 0, 0 },
};

static FILE *open_expected(const char *name, const char *ending)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), FOLDER "%s.%s", name, ending);
	file = fopen(path, "r");
	assert_non_null(file);
	return file;
}

static struct code_index *read_dump(
	const char *name, size_t buffer_bytes, struct jitdump_reader_state *ret_state)
{
	const struct jitdump_reader_options options = { .buffer_bytes = buffer_bytes,
		.latest_ns = UINT64_MAX };
	struct code_index *index;
	struct jitdump_reader *reader;
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), FOLDER "%s.dump", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(code_index_new(16 << 20, &index), 0);
	assert_int_equal(jitdump_reader_new(fd, &options, &reader), 0);
	assert_true(jitdump_reader_run(reader, index, 1000000) > 0);
	jitdump_reader_state(reader, ret_state);
	jitdump_reader_free(reader);
	return index;
}

static int compare_symbol(void *context, const struct code_found *found)
{
	char expected[4096], symbol[4096];

	assert_non_null(fgets(expected, sizeof(expected), context));
	(void)snprintf(symbol, sizeof(symbol), "%" PRIx64 " %" PRIx64 " %s\n", found->address,
		found->size, found->name);
	assert_string_equal(symbol, expected);
	return 0;
}

static void golden_dumps_have_their_symbols(void **state)
{
	const struct dump *dump = *state;
	char line[4096];

	for (size_t buffer_bytes = 0; buffer_bytes <= 4096; buffer_bytes += 4096) {
		struct jitdump_reader_state reader_state;
		struct code_index *index = read_dump(dump->name, buffer_bytes, &reader_state);
		FILE *expected = open_expected(dump->name, "symbols");

		assert_int_equal(reader_state.fault, JITDUMP_FAULT_NONE);
		assert_int_equal(reader_state.runtime, dump->runtime);
		assert_int_equal(reader_state.unread_bytes, dump->unread_bytes);
		assert_int_equal(reader_state.counters.damaged, 0);
		assert_int_equal(reader_state.counters.unknown, 0);
		assert_int_equal(reader_state.counters.lines_damaged, dump->damaged_lines);
		assert_int_equal(reader_state.counters.future, 0);
		assert_int_equal(
			code_index_each(index, UINT64_MAX, NULL, compare_symbol, expected), 0);
		assert_null(fgets(line, sizeof(line), expected));
		(void)fclose(expected);
		code_index_free(index);
	}
}

static void assert_lines(const struct code_index *index, uint64_t time_ns, uint64_t start,
	uint64_t end, const char *expected)
{
	char lines[4096];
	struct code_found found;

	for (uint64_t address = start; address < end; address++) {
		assert_true(code_index_find(index, address, time_ns, NULL, &found));
		(void)snprintf(lines, sizeof(lines), "%u %u %s\n", found.line, found.column,
			found.file ? found.file : "");
		assert_string_equal(lines, expected);
	}
}

static void every_byte_has_its_line(void **state)
{
	const struct dump *dump = *state;
	struct jitdump_reader_state reader_state;
	struct code_index *index = read_dump(dump->name, 0, &reader_state);
	FILE *expected = open_expected(dump->name, "lines");
	char line[4096], lines[4096] = "0 0 \n";
	uint64_t address = 0, time_ns = 0, size = 0, from = 0, offset;
	unsigned checked = 0;
	int at;

	for (; fgets(line, sizeof(line), expected); checked++) {
		const bool is_stretch = *line == '\t';

		at = 0;
		if (is_stretch)
			assert_int_equal(sscanf(line, "\t%" SCNx64 " %n", &offset, &at), 1);
		assert_lines(index, time_ns, address + from, address + (is_stretch ? offset : size),
			lines);
		if (is_stretch) {
			(void)snprintf(lines, sizeof(lines), "%s", line + at);
			from = offset;
			continue;
		}
		assert_int_equal(
			sscanf(line, "%" SCNx64 " %" SCNu64 " %" SCNx64, &address, &time_ns, &size),
			3);
		(void)strcpy(lines, "0 0 \n");
		from = 0;
	}
	assert_lines(index, time_ns, address + from, address + size, lines);
	assert_true(checked >= reader_state.counters.loads);
	(void)fclose(expected);
	code_index_free(index);
}

int main(void)
{
	struct CMUnitTest tests[2 * sizeof(dumps) / sizeof(*dumps)];

	for (size_t i = 0; i < sizeof(dumps) / sizeof(*dumps); i++) {
		tests[2 * i] = (struct CMUnitTest)cmocka_unit_test_prestate(
			golden_dumps_have_their_symbols, &dumps[i]);
		tests[2 * i + 1] = (struct CMUnitTest)cmocka_unit_test_prestate(
			every_byte_has_its_line, &dumps[i]);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

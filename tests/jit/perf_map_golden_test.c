/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps that runtimes wrote, and the symbols that make_expected.py beside them finds. */
#include "jit/perf_map_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FOLDER "tests/data/perfmap/"

/* Stretches that touch and have one name are one line, as in what is expected. */
struct symbols {
	FILE *output;
	uint64_t address, size;
	char name[2048];
};

static void write_symbol(struct symbols *symbols)
{
	if (symbols->size > 0)
		(void)fprintf(symbols->output, "%" PRIx64 " %" PRIx64 " %s\n", symbols->address,
			symbols->size, symbols->name);
	symbols->size = 0;
}

static int add_symbol(void *context, const struct code_found *found)
{
	struct symbols *symbols = context;

	if (symbols->size > 0 && symbols->address + symbols->size == found->address &&
		strcmp(symbols->name, found->name) == 0) {
		symbols->size += found->size;
		return 0;
	}
	write_symbol(symbols);
	symbols->address = found->address;
	symbols->size = found->size;
	assert_true(strlen(found->name) < sizeof(symbols->name));
	strcpy(symbols->name, found->name);
	return 0;
}

static char *symbols_of(const struct code_index *index, size_t *ret_size)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	char *text = NULL;

	assert_non_null(symbols);
	symbols->output = open_memstream(&text, ret_size);
	assert_non_null(symbols->output);
	assert_int_equal(code_index_each(index, UINT64_MAX - 1, NULL, add_symbol, symbols), 0);
	write_symbol(symbols);
	assert_int_equal(fclose(symbols->output), 0);
	free(symbols);
	return text;
}

static char *read_expected(const char *name, size_t *ret_size)
{
	char path[128], *text = calloc(1, 1 << 20);
	FILE *file;

	assert_non_null(text);
	(void)snprintf(path, sizeof(path), FOLDER "%s.symbols", name);
	file = fopen(path, "r");
	assert_non_null(file);
	*ret_size = fread(text, 1, 1 << 20, file);
	assert_true(*ret_size < 1 << 20);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void assert_golden(
	const char *name, uint64_t lines, uint64_t malformed, bool is_erlang, int64_t steps)
{
	struct perf_map_reader_state state;
	struct perf_map_reader *reader;
	struct code_index *index;
	size_t size, expected_size;
	char path[128], *symbols, *expected = read_expected(name, &expected_size);

	(void)snprintf(path, sizeof(path), FOLDER "%s.map", name);
	assert_int_equal(perf_map_reader_new(open(path, O_RDONLY | O_CLOEXEC), &reader), 0);
	assert_int_equal(code_index_new(16 << 20, &index), 0);
	for (int64_t left = 0; left == 0;) {
		left = perf_map_reader_run(reader, index, true, steps);
		assert_true(left >= 0);
	}
	perf_map_reader_state(reader, &state);
	assert_int_equal(state.counters.lines, lines);
	assert_int_equal(state.counters.malformed, malformed);
	assert_int_equal(state.counters.bytes, state.file_bytes);
	assert_int_equal(state.unread_bytes, 0);
	assert_int_equal(state.is_erlang, is_erlang);
	symbols = symbols_of(index, &size);
	assert_string_equal(symbols, expected);
	assert_int_equal(size, expected_size);
	free(symbols);
	free(expected);
	code_index_free(index);
	perf_map_reader_free(reader);
}

static void maps_have_their_symbols(void **state)
{
	static const int64_t steps[] = { 1 << 20, 7, 1 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_golden("node20-basic-prof", 2467, 0, false, steps[i]);
		assert_golden("erlang25", 412, 0, true, steps[i]);
		assert_golden("openjdk17-DumpPerfMapAtExit", 583, 0, false, steps[i]);
		assert_golden("php82", 48, 0, false, steps[i]);
		assert_golden("overlapping", 21, 5, true, steps[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_have_their_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

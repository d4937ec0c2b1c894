/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_text.h"

#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct output output;
static struct output_memory memory;

static void begin(void)
{
	memory = (struct output_memory){ .limit_bytes = 1 << 20 };
	output_init(&output, output_to_memory, &memory);
}

static void check_end(const char *expected)
{
	output_char(&output, '\0');
	assert_int_equal(output_finish(&output), 0);
	assert_string_equal(memory.bytes, expected);
	free(memory.bytes);
}

static void byte_counts_are_abbreviated(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ (1 << 20) - 1, "1.0 MiB" },
		{ 123 << 20, "123.0 MiB" },
		{ 2ULL << 30, "2.0 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char text[SHOWN_TEXT_BYTES_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(shown_text_bytes(cases[i].bytes, text), cases[i].text);
}

static void times_are_local(void **state)
{
	char text[SYMBOLS_TEXT_TIME_BYTES];

	(void)setenv("TZ", "UTC-2", 1);
	tzset();
	assert_string_equal(symbols_text_time(1700000000, text), "2023-11-15 00:13");
	assert_string_equal(symbols_text_time(0, text), "-");
	assert_string_equal(symbols_text_time(UINT64_MAX, text), "-");
	assert_string_equal(symbols_text_time(INT64_MAX, text), "-");
	/* A year of five digits would break the columns. */
	assert_string_equal(symbols_text_time(253402300799 - 7200, text), "9999-12-31 23:59");
	assert_string_equal(symbols_text_time(253402300800 - 7200, text), "-");
}

static void unknown_values_have_words(void **state)
{
	for (unsigned i = 0; i < 256; i++) {
		assert_true(strlen(symbols_text_rank_word((uint8_t)i)) > 0);
		assert_true(strlen(symbols_text_rank((uint8_t)i)) > 0);
		assert_true(strlen(symbols_text_failure_word((uint8_t)i)) > 0);
		assert_true(strlen(symbols_text_failure((uint8_t)i)) > 0);
		assert_true(strlen(symbols_text_remedy((uint8_t)i)) > 0);
	}
	assert_string_equal(
		symbols_text_rank_word(PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE), "debug-file");
	assert_string_equal(symbols_text_rank_word(5), "unknown");
	assert_string_equal(symbols_text_failure_word(PILOTLIGHT_SYMBOL_TIMEOUT), "timeout");
	assert_string_equal(symbols_text_failure_word(PILOTLIGHT_SYMBOL_FAILURES), "unknown");
	assert_string_equal(symbols_text_machine(EM_X86_64), "x86-64");
	assert_null(symbols_text_machine(EM_NONE));
}

static void named_contents_are_listed(void **state)
{
	struct json json;

	begin();
	symbols_text_write_contents(&output, 0);
	output_char(&output, '|');
	symbols_text_write_contents(&output, UINT32_MAX);
	output_char(&output, '|');
	json_init(&json, &output);
	symbols_text_json_contents(
		&json, PILOTLIGHT_SYMBOL_HAS_SYMTAB | PILOTLIGHT_SYMBOL_HAS_DWARF);
	check_end(
		"|dynsym, symtab, debugdata, plt, dwarf, dwz, split-dwarf, eh-frame, debug-frame, "
		"split-missing, go-table, inferred, zydis-missing, runtime, "
		"runtime-unknown, runtime-compressed, runtime-stripped|[\"symtab\",\"dwarf\"]");
}

static void losses_are_counted(void **state)
{
	struct pilotlight_symbol_header header = { .ranges_outside = 1, .symbols_failed = 2 };
	const struct pilotlight_symbol_header nothing = { 0 };
	struct json json;

	assert_false(symbols_text_has_losses(&nothing));
	assert_true(symbols_text_has_losses(&header));
	begin();
	symbols_text_write_losses(&output, &nothing);
	output_char(&output, '|');
	symbols_text_write_losses(&output, &header);
	header.names_failed = 4000000000;
	json_init(&json, &output);
	json_begin_object(&json);
	symbols_text_json_losses(&json, &header);
	json_end_object(&json);
	check_end("|1 range outside of the code, 2 symbol "
		  "tables{\"units_failed\":0,\"ranges_outside\":1,"
		  "\"names_failed\":4000000000,\"symbol_tables_failed\":2}");
}

static void terminals_get_no_control_sequences(void **state)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{ "", "" },
		{ "std::vector<int>::at(unsigned long)", "std::vector<int>::at(unsigned long)" },
		{ "na\xc3\xafve \xf0\x9f\x94\xa5", "na\xc3\xafve \xf0\x9f\x94\xa5" },
		{ "a\x1b[2Jb\n\tc\x7f", "a\xef\xbf\xbd[2Jb\xef\xbf\xbd\xef\xbf\xbd"
					"c\xef\xbf\xbd" },
		{ "\xc2\x9b\xc2\xa0", "\xef\xbf\xbd\xc2\xa0" },
		{ "\xff\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *copy = strdup(cases[i].text);

		assert_non_null(copy);
		begin();
		shown_text_string(&output, copy);
		check_end(cases[i].clean);
		free(copy);
	}
}

/* An origin that fills its field has no NUL. */
static void origins_end_with_their_field(void **state)
{
	struct pilotlight_symbol_header *header = malloc(sizeof(*header));
	char expected[3 * sizeof(header->origin) + 8];
	struct json json;

	assert_non_null(header);
	memset(header->origin, 'o', sizeof(header->origin));
	header->origin[sizeof(header->origin) - 1] = '\n';
	memset(expected, 'o', sizeof(expected));
	(void)strcpy(expected + sizeof(header->origin) - 1, "\xef\xbf\xbd");
	begin();
	symbols_text_write_origin(&output, header);
	check_end(expected);

	expected[0] = '"';
	memset(expected + 1, 'o', sizeof(header->origin));
	(void)strcpy(expected + sizeof(header->origin), "\\n\"");
	begin();
	json_init(&json, &output);
	symbols_text_json_origin(&json, header);
	check_end(expected);
	free(header);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(byte_counts_are_abbreviated),
		cmocka_unit_test(times_are_local),
		cmocka_unit_test(unknown_values_have_words),
		cmocka_unit_test(named_contents_are_listed),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(terminals_get_no_control_sequences),
		cmocka_unit_test(origins_end_with_their_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

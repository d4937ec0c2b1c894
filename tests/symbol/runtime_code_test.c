/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_code.h"

#include "base/array.h"
#include "pilotlight/runtime_hotspot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct pilotlight_runtime_code record;
static struct runtime_code code;
static size_t size;

static void set_text(
	struct pilotlight_runtime_text *text, const void *characters, size_t bytes, uint8_t width)
{
	memset(text, 0, sizeof(*text));
	memcpy(text->characters, characters, bytes);
	text->bytes = (uint16_t)bytes;
	text->width = width;
}

static int set_up(void **state)
{
	record = (struct pilotlight_runtime_code){
		.hash = 77,
		.language = PILOTLIGHT_RUNTIME_PYTHON,
		.lines = PILOTLIGHT_RUNTIME_LOCATIONS,
		.line_bytes = 2,
		.line_bytes_all = 2,
		.first_line = 10,
		.table = { 0xd9, 1 }, /* two instructions, one line behind the first */
	};
	set_text(&record.name, "Shape.area", 10, 1);
	set_text(&record.file, "/srv/shape.py", 13, 1);
	size = offsetof(struct pilotlight_runtime_code, table) + 8;
	return 0;
}

static void a_record_has_names_and_lines(void **state)
{
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_int_equal(code.hash, 77);
	assert_string_equal(code.name, "Shape.area");
	assert_string_equal(code.file, "/srv/shape.py");
	assert_int_equal(code.first_line, 10);
	assert_int_equal(runtime_code_line(&code, -1), 10);
	assert_int_equal(runtime_code_line(&code, 1), 11);
	assert_int_equal(runtime_code_line(&code, 2), 0);
	record.line_bytes = 0;
	assert_int_equal(runtime_code_parse(&record, size - 8, &code), 0);
	assert_int_equal(runtime_code_line(&code, 1), 0);
}

/* A method of Java: its class takes the place of the file. */
static void set_method(uint8_t source_bytes)
{
	struct pilotlight_hotspot_table table = { "String.java", source_bytes, 0, { 0 } };
	static const char lines[] =
		"\x0a\x19\xff\x14\x28"; /* 2 from 1 on, 3 from 4 on, 23 from 14 on */

	(void)set_up(NULL);
	record.language = PILOTLIGHT_RUNTIME_HOTSPOT;
	record.lines = PILOTLIGHT_RUNTIME_BYTECODES;
	record.line_bytes = record.line_bytes_all = sizeof(table) + sizeof(lines);
	record.first_line = 0;
	memcpy(record.table, &table, sizeof(table));
	memcpy(record.table + sizeof(table), lines, sizeof(lines));
	set_text(&record.name, "hash\303\251(I)I", 10, 1);
	set_text(&record.file, "java/lang/String$1", 18, 1);
	size = offsetof(struct pilotlight_runtime_code, table) + sizeof(table) + 8;
}

static void a_method_has_its_class(void **state)
{
	set_method(11);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "java.lang.String$1.hash\303\251");
	assert_string_equal(code.file, "java/lang/String.java");
	assert_int_equal(runtime_code_line(&code, -1), 2);
	assert_int_equal(runtime_code_line(&code, 3), 2);
	assert_int_equal(runtime_code_line(&code, 4), 3);
	assert_int_equal(runtime_code_line(&code, 14), 23);
	set_method(0);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.file, "");
	set_text(&record.name, "run", 3, 1); /* the signature was cut */
	set_text(&record.file, "Main", 4, 1);
	record.file.flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "…Main.run");
}

static void malformed_methods_are_refused(void **state)
{
	set_method(PILOTLIGHT_HOTSPOT_SOURCE_MAX + 1);
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_method(11);
	record.lines = PILOTLIGHT_RUNTIME_LINE_ENDS;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_method(11);
	record.name.width = 2;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_method(11);
	record.line_bytes = 64;
	assert_int_equal(runtime_code_parse(&record, size - 16, &code), -EINVAL);
}

/* A function of PHP: its class is in the table. */
static void set_function(const char *class, size_t bytes, uint8_t flags)
{
	struct pilotlight_runtime_text text;

	(void)set_up(NULL);
	set_text(&text, class, bytes, 1);
	text.flags = flags;
	memset(record.table, 0, sizeof(record.table));
	memcpy(record.table, &text, sizeof(text));
	record.language = PILOTLIGHT_RUNTIME_PHP;
	record.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS;
	record.line_bytes = record.line_bytes_all = sizeof(text);
	set_text(&record.name, "gr\303\266\303\237e", 7, 1);
	record.name.flags = PILOTLIGHT_RUNTIME_TEXT_UTF8;
	size = offsetof(struct pilotlight_runtime_code, table) + 136;
}

static void a_function_of_php_has_its_class(void **state)
{
	static const char anonymous[] = "Shape@anonymous\0/srv/shape.php:3$0";

	set_function(anonymous, sizeof(anonymous), PILOTLIGHT_RUNTIME_TEXT_UTF8);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "Shape@anonymous::gr\303\266\303\237e");
	assert_int_equal(runtime_code_line(&code, -2), 10);
	assert_int_equal(runtime_code_line(&code, 12), 12);
	record.name.flags |= PILOTLIGHT_RUNTIME_TEXT_CUT;
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "Shape@anonymous::gr\303\266\303\237e…");
	record.line_bytes = 0;
	assert_int_equal(runtime_code_parse(&record, size - 136, &code), 0);
	assert_string_equal(code.name, "gr\303\266\303\237e…");
}

static void what_a_file_of_php_runs_has_its_name(void **state)
{
	static const char *const cases[][2] = { { "/srv/wiki/doku.php", "{main:doku.php}" },
		{ "Command line code", "{main:Command line code}" }, { "", "{main:}" },
		{ "/srv/a.php(3) : eval()'d code", "{main:a.php(3) : eval()'d code}" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_function("", 0, 0);
		set_text(&record.name, "", 0, 1);
		set_text(&record.file, cases[i][0], strlen(cases[i][0]), 1);
		assert_int_equal(runtime_code_parse(&record, size, &code), 0);
		assert_string_equal(code.name, cases[i][1]);
	}
}

/* Names are of Latin-1, or of UTF-8. */
static void a_subroutine_of_perl_has_its_package(void **state)
{
	set_function("R\366hre", 5, 0);
	record.language = PILOTLIGHT_RUNTIME_PERL;
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "R\303\266hre::gr\303\266\303\237e");
	assert_int_equal(runtime_code_line(&code, -1), 10);
	set_text(&record.name, "", 0, 1);
	set_text(&record.file, "/usr/bin/ack", 12, 1);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "{main:ack}");
	set_text(&record.file, "(eval)", 6, 1);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "(eval)");
}

static void malformed_functions_of_php_are_refused(void **state)
{
	set_function("Shape", 5, 0);
	record.line_bytes--;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_function("Shape", 5, 0);
	record.table[2] = 2; /* the width of the class's characters */
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	record.table[2] = 0;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_function("Shape", 5, 0);
	record.lines = PILOTLIGHT_RUNTIME_LINE_ENDS;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
	set_function("Shape", 5, 0);
	set_text(&record.name, "area", 4, 2);
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
}

static void characters_of_each_width_become_utf8(void **state)
{
	static const uint16_t two[] = { 'a', 0xe9, 0x1234, 0xd800, 0x202e };
	static const uint32_t four[] = { 'a', 0xe9, 0x1234, 0x1f600, 0x110000, 0xffffffff };
	static const uint8_t one[] = { 'a', 0x7f, 0xe9, '\n', 0xff, 0 };

	set_text(&record.name, one, sizeof(one), 1);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "a\ufffdé\ufffdÿ\ufffd");
	set_text(&record.name, two, sizeof(two), 2);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "aéሴ\ufffd\ufffd\ufffd\ufffd");
	set_text(&record.name, four, sizeof(four), 4);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "aéሴ😀\ufffd\ufffd");
	set_text(&record.name, "", 0, 4);
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "");
}

static void utf8_is_taken_as_it_is(void **state)
{
	set_text(&record.name, "größe\xff", sizeof("größe\xff") - 1, 1);
	record.name.flags = PILOTLIGHT_RUNTIME_TEXT_UTF8;
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "größe\ufffd");
	record.name.width = 2;
	record.name.bytes = 8;
	assert_int_equal(runtime_code_parse(&record, size, &code), -EINVAL);
}

static void cut_texts_are_marked(void **state)
{
	char expected[PILOTLIGHT_RUNTIME_TEXT_MAX * 2 + 4];

	record.name.flags = record.file.flags = PILOTLIGHT_RUNTIME_TEXT_CUT;
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, "Shape.area…");
	assert_string_equal(code.file, "…/srv/shape.py");
	/* As long as it may be. */
	record.name.bytes = PILOTLIGHT_RUNTIME_TEXT_MAX;
	memset(record.name.characters, 0xe9, PILOTLIGHT_RUNTIME_TEXT_MAX);
	record.file = record.name;
	for (size_t i = 0; i < PILOTLIGHT_RUNTIME_TEXT_MAX; i++)
		memcpy(expected + 2 * i, "é", 2);
	strcpy(expected + sizeof(expected) - 4, "…");
	assert_int_equal(runtime_code_parse(&record, size, &code), 0);
	assert_string_equal(code.name, expected);
	assert_int_equal(strlen(code.file), sizeof(expected) - 1);
}

static void each_field_is_checked(void **state)
{
	static const struct {
		size_t at, bytes;
		uint32_t value;
	} changes[] = {
#define CHANGE(field, value)                               \
	{ offsetof(struct pilotlight_runtime_code, field), \
		sizeof(((struct pilotlight_runtime_code *)0)->field), value }
		CHANGE(language, 0),
		CHANGE(language, PILOTLIGHT_RUNTIME_LANGUAGES),
		CHANGE(lines, 0),
		CHANGE(lines, PILOTLIGHT_RUNTIME_LINE_TABLES),
		CHANGE(line_bytes, 9), /* the size does not fit */
		CHANGE(line_bytes, 0),
		CHANGE(line_bytes, 0xffff),
		CHANGE(line_bytes_all, 1),
		CHANGE(reserved, 1),
		CHANGE(name.width, 0),
		CHANGE(name.width, 3),
		CHANGE(name.width, 4), /* the name's length is no multiple of it */
		CHANGE(name.bytes, PILOTLIGHT_RUNTIME_TEXT_MAX + 1),
		CHANGE(name.flags, 4),
		CHANGE(name.flags, PILOTLIGHT_RUNTIME_TEXT_UTF8 | 0x10),
		CHANGE(file.width, 8),
		CHANGE(file.bytes, 0xffff),
		CHANGE(file.flags, 0x80),
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		(void)set_up(NULL);
		memcpy((uint8_t *)&record + changes[i].at, &changes[i].value, changes[i].bytes);
		if (runtime_code_parse(&record, size, &code) != -EINVAL)
			fail_msg("%u at %zu is not refused", changes[i].value, changes[i].at);
	}
}

static void each_size_but_the_right_one_is_refused(void **state)
{
	for (size_t other = 0; other <= sizeof(record); other++)
		if (other != size)
			assert_int_equal(runtime_code_parse(&record, other, &code), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_record_has_names_and_lines, set_up),
		cmocka_unit_test_setup(a_method_has_its_class, set_up),
		cmocka_unit_test_setup(malformed_methods_are_refused, set_up),
		cmocka_unit_test_setup(a_function_of_php_has_its_class, set_up),
		cmocka_unit_test_setup(what_a_file_of_php_runs_has_its_name, set_up),
		cmocka_unit_test_setup(a_subroutine_of_perl_has_its_package, set_up),
		cmocka_unit_test_setup(malformed_functions_of_php_are_refused, set_up),
		cmocka_unit_test_setup(characters_of_each_width_become_utf8, set_up),
		cmocka_unit_test_setup(utf8_is_taken_as_it_is, set_up),
		cmocka_unit_test_setup(cut_texts_are_marked, set_up),
		cmocka_unit_test_setup(each_field_is_checked, set_up),
		cmocka_unit_test_setup(each_size_but_the_right_one_is_refused, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

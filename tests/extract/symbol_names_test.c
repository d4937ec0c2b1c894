/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_names.h"
#include "tests/symbol/elf_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { GLOBAL = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };

/* By preference, but for the last two. */
static const struct fixture_symbol symbols[] = {
	{ "b", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "aa", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "ab@@VERSION", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "abc", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "_a", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "_aaaa", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "__", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "@VERSION", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
	{ "", FIXTURE_TEXT_VADDR, 1, GLOBAL, FIXTURE_TEXT },
};
enum { ORDERED = ARRAY_SIZE(symbols) - 2, AT = ORDERED, EMPTY = ORDERED + 1 };

static struct fixture fixture;
static struct symbol_table table;
static struct symbol_claim claims[ARRAY_SIZE(symbols)];
static struct symbol_names names;

static int set_up(void **state)
{
	struct elf_file file;
	uint32_t name = 1;

	(void)state;
	fixture = (struct fixture){ .symbols = symbols, .symbol_count = ARRAY_SIZE(symbols) };
	fixture_build(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		claims[i] = (struct symbol_claim){ .name = name };
		name += (uint32_t)strlen(symbols[i].name) + 1;
	}
	symbol_names_init(&names, &table);
	if (elf_file_init_memory(&file, fixture.bytes, fixture.size) < 0)
		return -1;
	return symbol_table_open(&table, &file, SHT_SYMTAB);
}

static int tear_down(void **state)
{
	(void)state;
	symbol_table_close(&table);
	return 0;
}

static void versions_are_no_part_of_names(void **state)
{
	char text[SYMBOL_NAME_BYTES];
	size_t length;

	(void)state;
	assert_int_equal(symbol_names_read(&names, &claims[2], text, &length), 0);
	assert_string_equal(text, "ab");
	assert_int_equal(length, 2);
	/* Where they are all there is, they are the name. */
	assert_int_equal(symbol_names_read(&names, &claims[AT], text, &length), 0);
	assert_string_equal(text, "@VERSION");
	assert_int_equal(symbol_names_read(&names, &claims[EMPTY], text, &length), 0);
	assert_int_equal(length, 0);
}

static void the_order_is_strict(void **state)
{
	(void)state;
	for (size_t i = 0; i < ORDERED; i++)
		for (size_t j = 0; j < ORDERED; j++)
			assert_int_equal(
				symbol_names_prefer(&names, &claims[i], &claims[j]), i < j);
	for (size_t i = 0; i < ORDERED; i++) {
		assert_true(symbol_names_prefer(&names, &claims[i], &claims[EMPTY]));
		assert_false(symbol_names_prefer(&names, &claims[EMPTY], &claims[i]));
	}
	assert_false(symbol_names_prefer(&names, &claims[EMPTY], &claims[EMPTY]));
}

static void unreadable_names_are_not_preferred(void **state)
{
	const struct symbol_claim beyond = { .name = UINT32_MAX };

	(void)state;
	assert_false(symbol_names_prefer(&names, &beyond, &claims[0]));
	assert_true(symbol_names_prefer(&names, &claims[ORDERED - 1], &beyond));
	assert_false(symbol_names_prefer(&names, &beyond, &beyond));
}

/* Each answer is worth less than a kilobyte: after half a million of them the first one stays. */
static void choosing_has_an_end(void **state)
{
	size_t answers = 0;

	(void)state;
	while (answers < 2000 * 1000 && symbol_names_prefer(&names, &claims[0], &claims[1]))
		answers++;
	assert_in_range(answers, 500 * 1000, 1500 * 1000);
	assert_false(symbol_names_prefer(&names, &claims[2], &claims[3]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_no_part_of_names),
		cmocka_unit_test(the_order_is_strict),
		cmocka_unit_test(unreadable_names_are_not_preferred),
		cmocka_unit_test(choosing_has_an_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

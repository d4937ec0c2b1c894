/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/near_word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *hint_for(const char *word)
{
	static const char *const words[] = { "record", "report", "top", "diff", "status",
		"symbols" };
	static char text[NEAR_WORD_BYTES];
	struct near_word near = { .word = word };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		near_word_try(&near, words[i], strlen(words[i]));
	return near_word_hint(&near, "--", text);
}

static void the_nearest_word_is_found(void **state)
{
	assert_string_equal(hint_for("recrod"), "; did you mean '--record'?");
	assert_string_equal(hint_for("reprot"), "; did you mean '--report'?");
	assert_string_equal(hint_for("recort"), "; did you mean '--record'?");
	assert_string_equal(hint_for("statuss"), "; did you mean '--status'?");
	assert_string_equal(hint_for("dif"), "; did you mean '--diff'?");
	assert_string_equal(hint_for("tpo"), "; did you mean '--top'?");
}

static void other_words_are_near_nothing(void **state)
{
	static const char *const far[] = { "", "x", "xyz", "frobnicate", "tab",
		"a word that is much longer than any command" };

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		assert_string_equal(hint_for(far[i]), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_word_is_found),
		cmocka_unit_test(other_words_are_near_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BAD	 "\xef\xbf\xbd"
#define ELLIPSIS "\xe2\x80\xa6"

struct pair {
	const char *bytes;
	size_t size;
	const char *clean;
};

/* Cleans a copy that is exactly as long as the bytes, so that a read beyond them is seen. */
static size_t clean_copy(char *clean, const char *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);
	size_t length;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	length = utf8_clean(clean, copy, size);
	free(copy);
	assert_true(length < UTF8_CLEAN_BYTES);
	assert_int_equal(clean[length], '\0');
	assert_int_equal(strlen(clean), length);
	return length;
}

static void sequences_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *bytes;
		size_t size, length;
	} cases[] = {
		{ "", 0, 0 },
		{ "a", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\0", 1, 1 },
		{ "\xc2\x80", 2, 2 },
		{ "\xdf\xbf", 2, 2 },
		{ "\xe0\xa0\x80", 3, 3 },
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xee\x80\x80", 3, 3 },
		{ "\xf0\x90\x80\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\x80", 1, 0 },	      /* a continuation on its own */
		{ "\xc0\xaf", 2, 0 },	      /* overlong */
		{ "\xc1\xbf", 2, 0 },	      /* overlong */
		{ "\xe0\x9f\xbf", 3, 0 },     /* overlong */
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xed\xa0\x80", 3, 0 },     /* the first surrogate */
		{ "\xed\xbf\xbf", 3, 0 },     /* the last one */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
		{ "\xf8\x88\x80\x80\x80", 5, 0 },
		{ "\xff", 1, 0 },
		{ "\xc3", 1, 0 }, /* cut short */
		{ "\xe2\x82", 2, 0 },
		{ "\xf0\x9f\x94", 3, 0 },
		{ "\xc3(", 2, 0 },
		{ "\xe2(\xa1", 3, 0 },
		{ "\xf0\x9f(\xa5", 4, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *copy = malloc(cases[i].size + 1);

		assert_non_null(copy);
		memcpy(copy, cases[i].bytes, cases[i].size);
		copy[cases[i].size] = (char)0x80; /* would complete what is cut short */
		assert_int_equal(utf8_sequence(copy, cases[i].size), cases[i].length);
		free(copy);
	}
}

static void beginnings_of_sequences_are_known(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		bool is_cut;
	} cases[] = {
		{ "", 0, false },
		{ "a", 1, false },
		{ "\x80", 1, false },
		{ "\xc1", 1, false }, /* always overlong */
		{ "\xc3", 1, true },
		{ "\xc3\xa9", 2, false },
		{ "\xe2", 1, true },
		{ "\xe2\x82", 2, true },
		{ "\xe2\x82\xac", 3, false },
		{ "\xe2(", 2, false },
		{ "\xf0\x9f\x94", 3, true },
		{ "\xf0\x9f(", 3, false },
		{ "\xf4\x8f", 2, true },
		{ "\xf5", 1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *copy = malloc(cases[i].size + 1);

		assert_non_null(copy);
		memcpy(copy, cases[i].bytes, cases[i].size);
		copy[cases[i].size] = (char)0x80;
		assert_int_equal(utf8_is_cut(copy, cases[i].size), cases[i].is_cut);
		free(copy);
	}
}

static void bad_bytes_are_replaced(void **state)
{
	static const struct pair cases[] = {
		{ "", 0, "" },
		{ "main", 4, "main" },
		{ "na\xc3\xafve \xf0\x9f\x94\xa5", 11, "na\xc3\xafve \xf0\x9f\x94\xa5" },
		{ "a\0b", 3, "a" BAD "b" },
		{ "a\nb\tc\x1b[31m", 10, "a" BAD "b" BAD "c" BAD "[31m" },
		{ "\x7f", 1, BAD },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", 6, BAD BAD "\xc2\xa0" },
		{ "\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", 9, BAD BAD BAD },
		{ "\xff\xfe", 2, BAD BAD },
		/* U+061C and its neighbours; U+200D to U+2010; U+2027 to U+202F; U+2065 to U+206A.
		 */
		{ "\xd8\x9b\xd8\x9c\xd8\x9d", 6, "\xd8\x9b" BAD "\xd8\x9d" },
		{ "\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", 12,
			"\xe2\x80\x8d" BAD BAD "\xe2\x80\x90" },
		{ "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf", 12,
			"\xe2\x80\xa7" BAD BAD "\xe2\x80\xaf" },
		{ "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", 12, BAD BAD BAD BAD },
		/* Soft hyphen; U+180E; U+200B to U+200D; U+205F to U+2070. */
		{ "\xc2\xac\xc2\xad\xc2\xae", 6, "\xc2\xac" BAD "\xc2\xae" },
		{ "\xe1\xa0\x8e", 3, BAD },
		{ "\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d", 9, BAD "\xe2\x80\x8c\xe2\x80\x8d" },
		{ "\xe2\x81\x9f\xe2\x81\xa0\xe2\x81\xaf\xe2\x81\xb0", 12,
			"\xe2\x81\x9f" BAD BAD "\xe2\x81\xb0" },
		/* U+FEFE to U+FF00; U+FFF8 to U+FFFC; tags and their neighbours. */
		{ "\xef\xbb\xbe\xef\xbb\xbf\xef\xbc\x80", 9, "\xef\xbb\xbe" BAD "\xef\xbc\x80" },
		{ "\xef\xbf\xb8\xef\xbf\xb9\xef\xbf\xbb\xef\xbf\xbc", 12,
			"\xef\xbf\xb8" BAD BAD "\xef\xbf\xbc" },
		{ "\xf3\x9f\xbf\xbf\xf3\xa0\x80\x80\xf3\xa0\x81\xbf\xf3\xa0\x82\x80", 16,
			"\xf3\x9f\xbf\xbf" BAD BAD "\xf3\xa0\x82\x80" },
		{ "x\xc3", 2, "x" BAD },
		{ "\xed\xa0\x80", 3, BAD BAD BAD },
		{ "\xc3(", 2, BAD "(" },
	};
	char clean[UTF8_CLEAN_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)clean_copy(clean, cases[i].bytes, cases[i].size);
		assert_string_equal(clean, cases[i].clean);
	}
}

/* A name of numbered words, so that one sees which of them are left. */
static size_t long_name(char *name, size_t size, const char *word)
{
	size_t length = 0;

	while (length + 16 < size)
		length += (size_t)snprintf(name + length, size - length, "%s%zu;", word, length);
	return length;
}

static void long_names_lose_their_middle(void **state)
{
	static const char *const words[] = { "x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\xa5" };
	char name[5000], clean[UTF8_CLEAN_BYTES];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t size = 1030; size < sizeof(name); size += 131) {
			size_t length = long_name(name, size, words[i]);
			size_t head, tail, clean_length;
			const char *gap;

			if (length <= UTF8_CLEAN_BYTES - 1)
				continue;
			clean_length = clean_copy(clean, name, length);
			gap = strstr(clean, ELLIPSIS);
			assert_non_null(gap);
			assert_null(strstr(clean, BAD));
			head = (size_t)(gap - clean);
			tail = clean_length - head - strlen(ELLIPSIS);
			assert_memory_equal(clean, name, head);
			assert_memory_equal(gap + strlen(ELLIPSIS), name + length - tail, tail);
			/* No more is lost than a sequence at either side of the cut would need. */
			assert_in_range(head, 512 - 3, 512);
			assert_in_range(
				clean_length, UTF8_CLEAN_BYTES - 1 - 3, UTF8_CLEAN_BYTES - 1);
		}
}

static void names_that_just_fit_are_whole(void **state)
{
	char name[UTF8_CLEAN_BYTES], clean[UTF8_CLEAN_BYTES];

	memset(name, 'n', sizeof(name));
	assert_int_equal(clean_copy(clean, name, 1024), 1024);
	assert_null(strstr(clean, ELLIPSIS));
	assert_int_equal(clean_copy(clean, name, 1025), 1024);
	assert_non_null(strstr(clean, ELLIPSIS));
}

/* Too long only because it grows threefold: the end that is kept begins after the head. */
static void adjacent_bad_bytes_are_replaced_once(void **state)
{
	char name[4000], clean[UTF8_CLEAN_BYTES];

	memset(name, 0xff, sizeof(name));
	for (size_t size = 0; size < sizeof(name); size++) {
		size_t length = clean_copy(clean, name, size);
		size_t replaced = (length - (strstr(clean, ELLIPSIS) ? 3 : 0)) / 3;

		assert_int_equal(replaced, size <= 341 ? size : 170 + 170);
		assert_true(replaced <= size);
	}
	for (size_t good = 0; good < 400; good++) {
		size_t length;

		memset(name, 'g', good);
		length = clean_copy(clean, name, 400);
		if (good > 100)
			assert_int_equal(length, good + 3 * (400 - good));
		else if (strstr(clean, ELLIPSIS))
			assert_in_range(length, 1020, 1024);
	}
}

/* A tail of stray continuations has no sequence to begin with; it is kept all the same. */
static void stray_continuations_are_kept(void **state)
{
	char name[3000], clean[UTF8_CLEAN_BYTES];
	size_t length;

	memset(name, 0x80, sizeof(name));
	length = clean_copy(clean, name, sizeof(name));
	assert_in_range(length, 1020, 1024);
	assert_string_equal(clean + length - 3, BAD);
}

static void cleaning_is_idempotent(void **state)
{
	char name[3000], once[UTF8_CLEAN_BYTES], twice[UTF8_CLEAN_BYTES];
	unsigned int x = 1;

	for (int round = 0; round < 2000; round++) {
		size_t size = (size_t)round * 3 / 2, length;

		for (size_t i = 0; i < size; i++) {
			x = x * 1664525 + 1013904223;
			name[i] = (char)(x >> 24);
		}
		length = clean_copy(once, name, size);
		for (size_t i = 0, n; i < length; i += n) {
			n = utf8_sequence(once + i, length - i);
			assert_true(n > 0 && (unsigned char)once[i] >= ' ');
		}
		assert_int_equal(clean_copy(twice, once, length), length);
		assert_string_equal(once, twice);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_are_those_of_the_standard),
		cmocka_unit_test(beginnings_of_sequences_are_known),
		cmocka_unit_test(bad_bytes_are_replaced),
		cmocka_unit_test(long_names_lose_their_middle),
		cmocka_unit_test(names_that_just_fit_are_whole),
		cmocka_unit_test(adjacent_bad_bytes_are_replaced_once),
		cmocka_unit_test(stray_continuations_are_kept),
		cmocka_unit_test(cleaning_is_idempotent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

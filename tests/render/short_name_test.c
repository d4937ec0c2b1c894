/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/short_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names_lose_their_arguments(void **state)
{
	static const char *const cases[][2] = {
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)",
			"std::vector::push_back" },
		{ "void f<int>(int)", "void f" },
		{ "(anonymous namespace)::work(int)", "(anonymous namespace)::work" },
		{ "a::(anonymous namespace)::work<b>()", "a::(anonymous namespace)::work" },
		{ "run(int)::{lambda(char)#1}::operator()(char) const",
			"run::{lambda#1}::operator()" },
		{ "operator<<(std::ostream&, A<int> const&)", "operator<<" },
		{ "A<int>::operator->() const", "A::operator->" },
		{ "A::operator<(A const&)", "A::operator<" },
		{ "std::function<int (char)>::operator()(char) const",
			"std::function::operator()" },
		{ "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
			"<alloc::vec::Vec as core::ops::Drop>::drop" },
		{ "core::ptr::drop_in_place::<alloc::string::String>",
			"core::ptr::drop_in_place::" },
		{ "finish_function", "finish_function" },
		{ "LazyCompile:*parse json.js:4", "LazyCompile:*parse json.js:4" },
		{ "[liblzma.so.5 function at +0x1234]", "[liblzma.so.5 function at +0x1234]" },
		{ "[lost: ring full (1)]", "[lost: ring full (1)]" },
		{ "broken<int", "broken<int" },
		{ "broken(int", "broken(int" },
		{ "", "" },
		{ "<", "<" },
		{ "(", "(" },
		{ "f(", "f(" },
		{ "f)", "f)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[128];

		(void)snprintf(name, sizeof(name), "%s", cases[i][0]);
		assert_int_equal(short_name(name), strlen(cases[i][1]));
		assert_string_equal(name, cases[i][1]);
	}
}

/* Whatever the bytes are, a name gets no longer, and a short one no shorter. */
static void any_bytes_are_shortened_once(void **state)
{
	static const char letters[] = "<>()-:=ao [";
	unsigned seed = 3;

	for (int round = 0; round < 20000; round++) {
		char name[16], again[16];
		size_t size = (size_t)rand_r(&seed) % 15, shorter;

		for (size_t i = 0; i < size; i++)
			name[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		name[size] = '\0';
		shorter = short_name(name);
		assert_true(shorter <= size);
		assert_int_equal(strlen(name), shorter);
		memcpy(again, name, sizeof(again));
		assert_true(short_name(again) <= shorter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lose_their_arguments),
		cmocka_unit_test(any_bytes_are_shortened_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/demangle.h"
#include "tests/harness/failing_allocation.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void names_become_readable(void **state)
{
	static const char *const names[][2] = {
		{ "_Z3foov", "foo()" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
			"std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN3fooC1Ev", "foo::foo()" },
		{ "_Z3fooi.cold", "foo(int) [clone .cold]" },
		{ "_Z4sumsIJidEEvDpT_", "void sums<int, double>(int, double)" },
		/* A name beyond ASCII, as clang emits it: café(). */
		{ "_Z5caf\xc3\xa9v", "caf\xc3\xa9()" },
		/* Rust, legacy and v0: without their hashes. */
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234", "core::fmt::write" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		/* Its hash looks as if very many lifetimes followed. */
		{ "_RNvNtCs1xDGV85I1S7_7mycrate3foo3bar", "mycrate::foo::bar" },
		/* Punycode. */
		{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
			"utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b"
			"\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92"
			"\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94"
			"\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93"
			"\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98" },
		{ "_D3std5stdio4File5closeMFZv", "std.stdio.File.close()" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *name = demangle(names[i][0]);

		assert_non_null(name);
		assert_string_equal(name, names[i][1]);
	}
}

static void other_names_are_their_own(void **state)
{
	static const char *const names[] = { "", "_", "_Z", "_R", "_D", "_ZN", "main", "Z3foov",
		"_Zebra", "_Restart", "_Dispatch", "_Z3fo", "__libc_start_main", "_start",
		"\xff\xfe", "_Z\xff", "_R\xff", "_D\xff", "_GLOBAL_", "_GLOBAL__I_", "_RC0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(demangle(names[i]));
}

static void names_beyond_the_input_bound_stay_mangled(void **state)
{
	static char name[DEMANGLE_INPUT_BYTES_MAX + 2];

	/* f() with a parameter that is a pointer to a pointer to … */
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	name[900] = 'i';
	name[901] = '\0';
	{
		_cleanup_free_ char *demangled = demangle(name);

		assert_non_null(demangled);
		assert_memory_equal(demangled, "f(int***", 8);
	}
	/* An identifier of the greatest length, and of one more. */
	memset(name, 'x', sizeof(name) - 1);
	memcpy(name, "_Z4089", 6);
	name[DEMANGLE_INPUT_BYTES_MAX - 1] = 'v';
	name[DEMANGLE_INPUT_BYTES_MAX] = '\0';
	{
		_cleanup_free_ char *demangled = demangle(name);

		assert_non_null(demangled);
		assert_int_equal(strlen(demangled), 4089 + 2);
	}
	memcpy(name, "_Z4090", 6);
	name[DEMANGLE_INPUT_BYTES_MAX - 1] = 'x';
	name[DEMANGLE_INPUT_BYTES_MAX] = 'v';
	name[DEMANGLE_INPUT_BYTES_MAX + 1] = '\0';
	assert_null(demangle(name));
}

/* A C++ function of a pair of twice a pair of twice …: 2^depth words. */
static const char *write_pairs(char *name, int depth)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *end = name + sprintf(name, "_Z1fSt4pairIiiE");

	for (int i = 0; i < depth; i++)
		/* S_ is std::pair, S0_ the first one with its arguments. */
		end += sprintf(end, "S_IS%c_S%c_E", digits[i], digits[i]);
	return name;
}

/* The same of names beyond ASCII. */
static const char *write_foreign_pairs(char *name, int depth)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *end = name + sprintf(name, "_Z1f5caf\xc3\xa9I5caf\xc3\xa9S0_E");

	for (int i = 0; i < depth; i++)
		end += sprintf(end, "S_IS%c_S%c_E", digits[i + 1], digits[i + 1]);
	return name;
}

/* A C++ conversion to a template of a template of …, each level of which is read twice. */
static const char *write_conversions(char *name, int depth)
{
	char *end = name + sprintf(name, "_ZN1Acv");

	for (int i = 0; i < depth; i++)
		end += sprintf(end, "T_I");
	for (int i = 0; i < depth; i++)
		end += sprintf(end, "iE");
	(void)sprintf(end, "Ev");
	return name;
}

static char *write_base_62(char *end, size_t value)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	/* One less, for 0 has no digits. */
	value--;
	if (value >= 62)
		*end++ = digits[value / 62];
	*end++ = digits[value % 62];
	*end++ = '_';
	return end;
}

/* A Rust function with type arguments each of which is a tuple of twice the one before it. */
static const char *write_tuples(char *name, int depth)
{
	char *end = name + sprintf(name, "_RINvC1a1b");
	char *last = end;

	end += sprintf(end, "TmmE");
	for (int i = 0; i < depth; i++) {
		char *start = end;

		*end++ = 'T';
		for (int j = 0; j < 2; j++) {
			*end++ = 'B';
			end = write_base_62(end, (size_t)(last - name - 2));
		}
		*end++ = 'E';
		last = start;
	}
	(void)sprintf(end, "E");
	return name;
}

/* A D function of associative arrays from each other to each other. */
static const char *write_maps(char *name, int depth)
{
	char *end = name + sprintf(name, "_D1fFHii");

	for (int i = 0; i < depth; i++)
		end += i == 0 ? sprintf(end, "HQeQg") : sprintf(end, "HQgQi");
	(void)sprintf(end, "Zv");
	return name;
}

/*
 * Each would run for longer than anybody waits, or take more memory than there is, were it not
 * stopped: a test that does not end has failed. The small ones show that the great ones would.
 */
static void exploding_names_stay_mangled(void **state)
{
	static const struct {
		const char *(*write)(char *name, int depth);
		int harmless, harmful;
	} kinds[] = { { write_pairs, 8, 30 }, { write_foreign_pairs, 8, 30 },
		{ write_conversions, 4, 60 }, { write_tuples, 8, 60 }, { write_maps, 7, 60 } };
	char name[2048];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		_cleanup_free_ char *demangled = demangle(kinds[i].write(name, kinds[i].harmless));

		if (kinds[i].write != write_conversions) {
			assert_non_null(demangled);
			assert_true(strlen(demangled) > (size_t)4 << kinds[i].harmless);
		}
		assert_null(demangle(kinds[i].write(name, kinds[i].harmful)));
	}
}

static void lifetimes_are_not_counted_by_the_billion(void **state)
{
	_cleanup_free_ char *few = demangle("_RINvC1a1bFG1_EuE");

	(void)state;
	assert_string_equal(few, "a::b::<for<'a, 'b, 'c> fn()>");
	assert_null(demangle("_RINvC1a1bFGzzzzzzz_EuE"));
	/* In a part of the name that is not printed. */
	assert_null(demangle("_RNvMC1aFGzzzzzzz_EuNtC1a1b1c"));
	assert_null(demangle("_RNvMC1aDGzzzzzzz_NtC1a1bEL_1c"));
}

static void failing_allocations_leave_the_name_mangled(void **state)
{
	static const char *const names[] = { "_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_RNvNtCs1234_7mycrate3foo3bar",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t n = 0;; n++) {
			_cleanup_free_ char *name = NULL;

			fail_allocation(n);
			name = demangle(names[i]);
			if (!allocation_failed()) {
				assert_non_null(name);
				assert_true(n >= 1);
				break;
			}
			/* A Rust name of the older kind is then tried as a C++ one. */
			if (name)
				assert_int_equal(i, 2);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_readable),
		cmocka_unit_test(other_names_are_their_own),
		cmocka_unit_test(names_beyond_the_input_bound_stay_mangled),
		cmocka_unit_test(exploding_names_stay_mangled),
		cmocka_unit_test(lifetimes_are_not_counted_by_the_billion),
		cmocka_unit_test(failing_allocations_leave_the_name_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

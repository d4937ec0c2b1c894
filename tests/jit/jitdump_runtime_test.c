/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_runtime.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void look(struct jitdump_runtime_guess *guess, const char *name)
{
	const size_t size = strlen(name);
	/* Without its NUL: so it is in a dump. */
	char *copy = malloc(size ? size : 1);
	const struct jitdump_record load = {
		.load = { .vma = 1, .address = 1, .size = 1, .name = copy, .name_size = size },
	};

	assert_non_null(copy);
	memcpy(copy, name, size);
	jitdump_runtime_look(guess, &load);
	free(copy);
}

static enum jitdump_runtime runtime_of(const char *name)
{
	struct jitdump_runtime_guess guess = { 0 };

	look(&guess, name);
	look(&guess, name);
	return guess.runtime;
}

static void names_identify_their_runtime(void **state)
{
	static const struct {
		const char *name;
		enum jitdump_runtime runtime;
	} cases[] = {
		{ "py::main:/srv/app.py", JITDUMP_RUNTIME_PYTHON },
		{ "JIT$$hybrid_hot_code", JITDUMP_RUNTIME_PHP },
		{ "JIT$App\\Http::handle", JITDUMP_RUNTIME_PHP },
		{ "TRACE-8$/srv/t.php$5", JITDUMP_RUNTIME_PHP },
		{ "LT;fib(I)I", JITDUMP_RUNTIME_JVM },
		{ "Ljava/lang/StringLatin1;newString([BII)Ljava/lang/String;",
			JITDUMP_RUNTIME_JVM },
		{ "wasm[0]::function[12]", JITDUMP_RUNTIME_WASMTIME },
		{ "int32 [app] Program::Fib(int32)[OptimizedTier1]", JITDUMP_RUNTIME_DOTNET },
		{ "supervisor:handle_call/3-CodeInfoPrologue", JITDUMP_RUNTIME_ERLANG },
		{ "global::arith_compare_shared", JITDUMP_RUNTIME_ERLANG },
		{ "$global::arith_compare_shared", JITDUMP_RUNTIME_ERLANG },
		{ "b:fib/1", JITDUMP_RUNTIME_ERLANG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(runtime_of(cases[i].name), cases[i].runtime);
}

static void other_names_identify_nothing(void **state)
{
	static const char *const unknown[] = { "", "L", "main", "flush_icache_stub", "TRACE-",
		"TRACE-8", "TRACE-x$", "wasm[", "wasm[]::f", "wasm[0]", "Lazy;call(x", "L;f()V",
		"Lx;()V", "Lx;f()", "Lx;f()q", "List (I)V", "std::vector[Tier0", "f[Tier0]", "a/1",
		":a/1/2", "std::f/1", "a:b/", "a:b/c", "a:b/1234", "a b:c/1", "a:/srv/1", "JIT",
		"py:" };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_equal(runtime_of(unknown[i]), JITDUMP_RUNTIME_UNKNOWN);
}

static void one_weak_hint_names_no_runtime(void **state)
{
	struct jitdump_runtime_guess guess = { 0 };

	look(&guess, "global::code");
	assert_int_equal(guess.runtime, JITDUMP_RUNTIME_UNKNOWN);
	look(&guess, "py::main:/srv/app.py");
	assert_int_equal(guess.runtime, JITDUMP_RUNTIME_PYTHON);
	/* What it has found stays. */
	look(&guess, "JIT$x");
	assert_int_equal(guess.runtime, JITDUMP_RUNTIME_PYTHON);
}

static void the_guess_stops_after_4096_names(void **state)
{
	struct jitdump_runtime_guess guess = { 0 };

	for (unsigned i = 0; i < 5000; i++)
		look(&guess, "main");
	look(&guess, "py::main:/srv/app.py");
	assert_int_equal(guess.runtime, JITDUMP_RUNTIME_UNKNOWN);
}

static void long_names_are_not_searched(void **state)
{
	static char name[2000] = "JIT$";

	memset(name + 4, 'x', sizeof(name) - 5);
	assert_int_equal(runtime_of(name), JITDUMP_RUNTIME_UNKNOWN);
	name[1000] = '\0';
	assert_int_equal(runtime_of(name), JITDUMP_RUNTIME_PHP);
}

static void code_without_a_vma_is_llvm(void **state)
{
	struct jitdump_runtime_guess guess = { 0 };
	const struct jitdump_record load = {
		.load = { .address = 0x1000, .size = 1, .name = "main", .name_size = 4 },
	};

	jitdump_runtime_look(&guess, &load);
	assert_int_equal(guess.runtime, JITDUMP_RUNTIME_LLVM);
}

static void paths_and_headers_identify_their_runtime(void **state)
{
	const struct jitdump_header v8 = { .padding = 0xdeadbeef }, other = { .machine = 62 };

	assert_int_equal(jitdump_runtime_of_path(NULL), JITDUMP_RUNTIME_UNKNOWN);
	assert_int_equal(jitdump_runtime_of_path("/tmp/jit-1.dump"), JITDUMP_RUNTIME_UNKNOWN);
	assert_int_equal(
		jitdump_runtime_of_path("/root/.debug/jit/java-jit-20260101.XXabc/jit-1.dump"),
		JITDUMP_RUNTIME_JVM);
	assert_int_equal(
		jitdump_runtime_of_path("/tmp/.debug/jit/llvm-IR-jit-20260101-abc/jit-1.dump"),
		JITDUMP_RUNTIME_LLVM);
	assert_int_equal(jitdump_runtime_of_header(&v8), JITDUMP_RUNTIME_V8);
	assert_int_equal(jitdump_runtime_of_header(&other), JITDUMP_RUNTIME_UNKNOWN);
}

static void each_runtime_has_its_own_name(void **state)
{
	assert_string_equal(jitdump_runtime_name(JITDUMP_RUNTIME_UNKNOWN), "");
	assert_string_equal(jitdump_runtime_name(JITDUMP_RUNTIME_V8), "V8");
	assert_string_equal(jitdump_runtime_name(JITDUMP_RUNTIMES), "");
	for (unsigned i = 1; i < JITDUMP_RUNTIMES; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(jitdump_runtime_name((enum jitdump_runtime)i),
				jitdump_runtime_name((enum jitdump_runtime)k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_identify_their_runtime),
		cmocka_unit_test(other_names_identify_nothing),
		cmocka_unit_test(one_weak_hint_names_no_runtime),
		cmocka_unit_test(the_guess_stops_after_4096_names),
		cmocka_unit_test(long_names_are_not_searched),
		cmocka_unit_test(code_without_a_vma_is_llvm),
		cmocka_unit_test(paths_and_headers_identify_their_runtime),
		cmocka_unit_test(each_runtime_has_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jit_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum jit_memory memory_of(const char *path, bool is_regular)
{
	const struct mapped_file file = { .path = path, .is_regular = is_regular };

	return jit_memory_of(&file);
}

static void memory_is_classified_by_its_path(void **state)
{
	assert_int_equal(memory_of("", false), JIT_MEMORY_PRIVATE);
	assert_int_equal(memory_of("//anon", false), JIT_MEMORY_PRIVATE);
	assert_int_equal(memory_of("[anon:v8]", false), JIT_MEMORY_PRIVATE);
	assert_int_equal(memory_of("[heap]", false), JIT_MEMORY_PRIVATE);
	assert_int_equal(memory_of("/anon_hugepage", false), JIT_MEMORY_PRIVATE);
	assert_int_equal(memory_of("/dev/zero", false), JIT_MEMORY_SHARED);
	assert_int_equal(memory_of("/SYSV00000000", false), JIT_MEMORY_SHARED);
	assert_int_equal(memory_of("/memfd:doublemapper", true), JIT_MEMORY_MEMFD);
}

static void files_and_kernel_pages_are_none(void **state)
{
	assert_int_equal(memory_of("/usr/bin/node", true), JIT_MEMORY_NONE);
	assert_int_equal(memory_of("/dev/zero.so", true), JIT_MEMORY_NONE);
	assert_int_equal(memory_of("[vdso]", false), JIT_MEMORY_NONE);
	assert_int_equal(memory_of("[vsyscall]", false), JIT_MEMORY_NONE);
	assert_int_equal(memory_of("[uprobes]", false), JIT_MEMORY_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_classified_by_its_path),
		cmocka_unit_test(files_and_kernel_pages_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

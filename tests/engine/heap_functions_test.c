/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_functions.h"
#include "pilotlight/probe_argument.h"
#include "tests/dwarf/usdt_fixture.h"
#include "tests/symbol/elf_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define FUNCTION(function, at)                                                       \
	{                                                                            \
		.name = (function), .value = FIXTURE_TEXT_VADDR + (at), .size = 16,  \
		.info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .section = FIXTURE_TEXT \
	}

/* Names from all over the table, which must be sorted. */
static const struct fixture_symbol symbols[] = {
	FUNCTION("_ZdaPv", 0x00),
	FUNCTION("_Znwm", 0x10),
	FUNCTION("_ZnwmSt11align_val_tRKSt9nothrow_t", 0x20),
	FUNCTION("_rjem_sdallocx", 0x30),
	FUNCTION("calloc", 0x40),
	FUNCTION("je_malloc", 0x50),
	FUNCTION("mi_posix_memalign", 0x60),
	FUNCTION("realloc", 0x70),
	FUNCTION("tc_memalign", 0x80),
	FUNCTION("valloc", 0x90),
	FUNCTION("malloc_usable_size", 0xa0),
};

static const enum pilotlight_heap_function expected[] = {
	PILOTLIGHT_HEAP_FREE,
	PILOTLIGHT_HEAP_NEW,
	PILOTLIGHT_HEAP_NEW,
	PILOTLIGHT_HEAP_FREE,
	PILOTLIGHT_HEAP_CALLOC,
	PILOTLIGHT_HEAP_MALLOC,
	PILOTLIGHT_HEAP_POSIX_MEMALIGN,
	PILOTLIGHT_HEAP_REALLOC,
	PILOTLIGHT_HEAP_ALIGNED_ALLOC,
	PILOTLIGHT_HEAP_NEW,
};

static int find(const struct fixture_symbol *own, size_t count,
	struct heap_function functions[HEAP_FUNCTIONS_MAX])
{
	struct fixture fixture = { .symbols = own, .symbol_count = count };
	_cleanup_close_ int fd = -1;

	fixture_build(&fixture);
	fd = fixture_fd(&fixture);
	assert_true(fd >= 0);
	return heap_functions_find(fd, functions);
}

static void functions_of_all_allocators_are_known(void **state)
{
	struct heap_function functions[HEAP_FUNCTIONS_MAX];

	assert_int_equal(find(symbols, ARRAY_SIZE(symbols), functions), (int)ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(functions[i].offset, FIXTURE_TEXT_OFFSET + i * 0x10);
		assert_int_equal(functions[i].function, expected[i]);
	}
}

/* The kernel steps over those by a trap. */
static void probes_are_behind_instructions_that_change_nothing(void **state)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85, 0xff, 0x55 };
	struct fixture fixture = { .symbols = symbols, .symbol_count = ARRAY_SIZE(symbols) };
	struct heap_function functions[HEAP_FUNCTIONS_MAX];
	_cleanup_close_ int fd = -1;

	fixture_build(&fixture);
	memcpy(fixture.bytes + FIXTURE_TEXT_OFFSET + 0x40, code, sizeof(code));
	memcpy(fixture.bytes + FIXTURE_TEXT_OFFSET + 0x50, code + 4, 4);
	fixture.size = FIXTURE_TEXT_OFFSET + 0x1000;
	fd = fixture_fd(&fixture);
	assert_int_equal(heap_functions_find(fd, functions), (int)ARRAY_SIZE(expected));
	assert_int_equal(functions[3].offset, FIXTURE_TEXT_OFFSET + 0x30);
	assert_int_equal(functions[4].offset, FIXTURE_TEXT_OFFSET + 0x40 + 7);
	assert_int_equal(functions[5].offset, FIXTURE_TEXT_OFFSET + 0x50 + 3);
}

static void operators_without_an_allocator_are_left_out(void **state)
{
	struct heap_function functions[HEAP_FUNCTIONS_MAX];

	assert_int_equal(find(symbols, 3, functions), 0);
}

static struct usdt_fixture reporter;

static void add_report(const char *name, uint64_t code, const char *arguments)
{
	usdt_fixture_add_with(&reporter, USDT_FIXTURE_CODE + code, USDT_FIXTURE_BASE,
		USDT_FIXTURE_DATA + 8, "otel_memory", name, arguments);
}

static int find_in_reporter(struct heap_function functions[HEAP_FUNCTIONS_MAX])
{
	_cleanup_close_ int fd = fixture_bytes_fd(&reporter, sizeof(reporter));

	assert_true(fd >= 0);
	return heap_functions_find(fd, functions);
}

static void an_allocators_reports_are_found(void **state)
{
	struct heap_function functions[HEAP_FUNCTIONS_MAX];

	usdt_fixture_init(&reporter);
	add_report("free", 0x20, "8@%rax");
	add_report("alloc", 0x10, "8@%rdi 8@%rsi 8@-8(%rsp)");
	add_report("alloc", 0x30, "8@%rdi 8@%rsi 8@$4096");
	assert_int_equal(find_in_reporter(functions), 3);
	assert_int_equal(functions[0].function, PILOTLIGHT_HEAP_REPORT_ALLOC);
	assert_int_equal(functions[0].offset, 0x1010);
	assert_int_equal(functions[0].semaphore, 0x2008);
	assert_int_equal(functions[1].offset, 0x1030);
	assert_int_equal(
		pilotlight_argument_register((uint32_t)functions[0].arguments), 14); /* %rdi */
	assert_int_equal(pilotlight_argument_kind((uint32_t)(functions[0].arguments >> 32)),
		PILOTLIGHT_ARGUMENT_MEMORY);
	assert_int_equal(
		pilotlight_argument_number((uint32_t)(functions[1].arguments >> 32)), 4096);
	assert_int_equal(functions[2].function, PILOTLIGHT_HEAP_REPORT_FREE);
	assert_int_equal(functions[2].offset, 0x1020);
	assert_true(functions[2].arguments >> 32 == 0);
}

static void reports_that_tell_too_little_are_left_out(void **state)
{
	static const char *const wrong[] = { "8@%rdi", "8@%rdi 8@%rsi 8@weight(%rip)",
		"8@%xmm0 8@%rsi 8@%rdx" };
	struct heap_function functions[HEAP_FUNCTIONS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		usdt_fixture_init(&reporter);
		add_report("free", 0x20, "8@%rax");
		add_report("alloc", 0x10, wrong[i]);
		assert_int_equal(find_in_reporter(functions), 0);
	}
	/* Without the end of each, nothing tells what lives. */
	usdt_fixture_init(&reporter);
	add_report("alloc", 0x10, "8@%rdi 8@%rsi 8@%rdx");
	assert_int_equal(find_in_reporter(functions), 0);
	add_report("free", 0x20, "");
	assert_int_equal(find_in_reporter(functions), 0);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct heap_function functions[HEAP_FUNCTIONS_MAX];
	_cleanup_close_ int fd = fixture_bytes_fd("#!/bin/sh\n", 10);

	assert_int_equal(heap_functions_find(fd, functions), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_all_allocators_are_known),
		cmocka_unit_test(probes_are_behind_instructions_that_change_nothing),
		cmocka_unit_test(operators_without_an_allocator_are_left_out),
		cmocka_unit_test(an_allocators_reports_are_found),
		cmocka_unit_test(reports_that_tell_too_little_are_left_out),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

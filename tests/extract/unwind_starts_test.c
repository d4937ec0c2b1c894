/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_starts.h"
#include "tests/extract/unwind_fixture.h"

#include "base/array.h"
#include "extract/extraction.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* push %rbp; jmp *%rbx; xor %rdi, %rdi; call; hlt */
#define START "\x55\xff\xe3\x48\x31\xff\xe8\x01\x02\x03\x04\xf4"
enum { START_BYTES = sizeof(START) - 1 };

/* The longest: endbr64 behind the jump, and a call through memory. */
#define LONG_START "\x55\xff\xe3\xf3\x0f\x1e\xfa\x48\x31\xff\xff\x15\x01\x02\x03\x04\xf4"
enum { LONG_START_BYTES = sizeof(LONG_START) - 1 };

static struct unwind_elf elf;
static struct unwind_files files;
static struct unwind_stubs stubs;
static struct unwind_function functions[4];
static size_t function_count;
static int fd;

static int set_up(void **state)
{
	struct extraction_files descriptors = { .debug_fd = -1 };

	elf = (struct unwind_elf){ 0 };
	stubs = (struct unwind_stubs){ 0 };
	function_count = 0;
	unwind_elf_add_code(&elf);
	fd = descriptors.binary_fd = unwind_elf_fd(&elf);
	assert_int_equal(ftruncate(fd, CODE_OFFSET + CODE_BYTES), 0);
	return unwind_files_open(&files, &descriptors);
}

static int tear_down(void **state)
{
	closep(&fd);
	return 0;
}

/* Distances from the start of the code. */
static void put(uint32_t distance, const char *code, size_t size)
{
	unwind_elf_put(fd, CODE_OFFSET + distance, code, size);
}

static void add_function(uint32_t start, uint32_t end)
{
	functions[function_count++] = (struct unwind_function){
		.start = CODE_OFFSET + start,
		.end = CODE_OFFSET + end,
	};
}

static void add_starts(void)
{
	const struct unwind_functions described = {
		.functions = { .items = functions, .count = function_count },
	};

	assert_int_equal(unwind_starts_add(&stubs, &described, &files, true), 0);
}

static void assert_start(size_t i, uint32_t start, uint32_t end)
{
	assert_true(i < stubs.count);
	assert_int_equal(stubs.stubs[i].start, CODE_OFFSET + start);
	assert_int_equal(stubs.stubs[i].end, CODE_OFFSET + end);
	assert_int_equal(stubs.stubs[i].rule.kind, PILOTLIGHT_UNWIND_ROOT);
}

static void starts_are_known_by_their_code(void **state)
{
	put(0x100, START, START_BYTES);
	put(0x200, "\x55\xff\xe3\x31\xff\xff\x15\x01\x02\x03\x04\xf4", 12);
	put(0x220, LONG_START, LONG_START_BYTES);
	/* Another register, another jump, another call, and no end. */
	put(0x300, "\x55\xff\xe3\x48\x31\xf6\xe8\x01\x02\x03\x04\xf4", START_BYTES);
	put(0x320, "\x55\xff\xe0\x48\x31\xff\xe8\x01\x02\x03\x04\xf4", START_BYTES);
	put(0x340, "\x55\xff\xe3\x48\x31\xff\xe9\x01\x02\x03\x04\xf4", START_BYTES);
	put(0x360, "\x55\xff\xe3\x48\x31\xff\xe8\x01\x02\x03\x04\x90", START_BYTES);
	put(0x380, "\x55\xff\xe3\xf3\x0f\x1e\xfb\x48\x31\xff\xe8\x01\x02\x03\x04\xf4", 16);
	put(CODE_BYTES - START_BYTES + 1, START, START_BYTES - 1);
	add_starts();
	assert_int_equal(stubs.count, 3);
	assert_start(0, 0x102, 0x10c);
	assert_start(1, 0x202, 0x20c);
	assert_start(2, 0x222, 0x231);
}

static void only_code_without_functions_is_searched(void **state)
{
	put(0, START, START_BYTES);
	put(0x100, START, START_BYTES);
	put(0x20a, START, START_BYTES);
	put(0x400, START, START_BYTES);
	put(CODE_BYTES - START_BYTES, START, START_BYTES);
	add_function(0x100, 0x180);
	add_function(0x200, 0x210);
	add_function(0x204, 0x208);
	add_function(0x40b, 0x410);
	add_starts();
	assert_int_equal(stubs.count, 2);
	assert_start(0, 2, START_BYTES);
	assert_start(1, CODE_BYTES - START_BYTES + 2, CODE_BYTES);
}

static void starts_are_found_between_chunks(void **state)
{
	static const struct {
		const char *code;
		uint32_t bytes;
	} starts[] = { { START, START_BYTES }, { LONG_START, LONG_START_BYTES } };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		for (uint32_t before = 0; before <= starts[i].bytes; before++) {
			stubs.count = 0;
			put(4096 - before, starts[i].code, starts[i].bytes);
			add_starts();
			assert_int_equal(stubs.count, 1);
			assert_start(0, 4096 - before + 2, 4096 - before + starts[i].bytes);
			put(4096 - before, (const char[LONG_START_BYTES]){ 0 }, LONG_START_BYTES);
		}
}

/* The file ends in the middle of it. */
static void a_start_may_be_cut(void **state)
{
	for (uint32_t bytes = 1; bytes < LONG_START_BYTES; bytes++) {
		put(CODE_BYTES - bytes, LONG_START, bytes);
		add_starts();
		assert_int_equal(stubs.count, 0);
	}
	put(CODE_BYTES - LONG_START_BYTES, LONG_START, LONG_START_BYTES);
	add_starts();
	assert_int_equal(stubs.count, 1);
}

static void the_entry_is_a_root(void **state)
{
	const uint64_t entry = CODE_VADDR + 0x120, elsewhere = CODE_VADDR + CODE_BYTES;

	unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	add_function(0, 0x110);
	add_function(0x180, 0x190);
	add_starts();
	assert_int_equal(stubs.count, 1);
	assert_start(0, 0x120, 0x180);
	/* Not more than a few instructions. */
	stubs.count = function_count = 0;
	add_starts();
	assert_int_equal(stubs.count, 1);
	assert_start(0, 0x120, 0x220);
	/* Call frame information describes it, or it is not code. */
	stubs.count = 0;
	add_function(0x110, 0x130);
	add_starts();
	assert_int_equal(stubs.count, 0);
	unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &elsewhere, sizeof(elsewhere));
	function_count = 0;
	add_starts();
	assert_int_equal(stubs.count, 0);
}

/* If rules are inferred, they tell the entry's code. */
static void the_entry_may_be_left_out(void **state)
{
	const struct unwind_functions none = { 0 };
	const uint64_t entry = CODE_VADDR + 0x120;

	unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	assert_int_equal(unwind_starts_add(&stubs, &none, &files, false), 0);
	assert_int_equal(stubs.count, 0);
	assert_int_equal(unwind_starts_add(&stubs, &none, &files, true), 0);
	assert_int_equal(stubs.count, 1);
}

static void no_more_are_kept_than_have_room(void **state)
{
	for (uint32_t i = 0; i < UNWIND_STUBS_MAX + 2; i++)
		put(i * 0x20, START, START_BYTES);
	add_starts();
	assert_int_equal(stubs.count, UNWIND_STUBS_MAX);
	assert_start(UNWIND_STUBS_MAX - 1, (UNWIND_STUBS_MAX - 1) * 0x20 + 2,
		(UNWIND_STUBS_MAX - 1) * 0x20 + START_BYTES);
}

static void other_machines_and_short_files_have_none(void **state)
{
	put(0x100, START, START_BYTES);
	files.binary.machine = EM_AARCH64;
	add_starts();
	files.binary.machine = EM_X86_64;
	assert_int_equal(ftruncate(fd, CODE_OFFSET + 0x100), 0);
	add_starts();
	assert_int_equal(stubs.count, 0);
}

static void read_errors_are_returned(void **state)
{
	const struct unwind_functions none = { 0 };

	files.binary.fd = -1;
	assert_true(unwind_starts_add(&stubs, &none, &files, true) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_are_known_by_their_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			only_code_without_functions_is_searched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(starts_are_found_between_chunks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_start_may_be_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_entry_is_a_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_entry_may_be_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_more_are_kept_than_have_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			other_machines_and_short_files_have_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(read_errors_are_returned, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/function_bounds.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/unwind_fixture.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"
#include "extract/code_instruction.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct cfi_writer writer;
static struct unwind_elf elf;
static struct function_bounds bounds;
static struct scratch_fixture scratch;
static int fd;

static int set_up(void **state)
{
	writer = (struct cfi_writer){ .vaddr = 0x5000 };
	elf = (struct unwind_elf){ 0 };
	fd = -1;
	return scratch_fixture_init(&scratch, 16 << 20) ? 0 : -1;
}

static int tear_down(void **state)
{
	function_bounds_done(&bounds);
	closep(&fd);
	scratch_fixture_done(&scratch);
	return 0;
}

/* Two functions, and 0x20 bytes between them. */
static void make_file(void)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x130, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x100, 0x10, 0);
	unwind_elf_add_code(&elf);
	unwind_elf_add_cfi(&elf, &writer);
	fd = unwind_elf_fd(&elf);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CODE_OFFSET + CODE_BYTES), 0);
}

static void assert_end(uint64_t distance, uint64_t end, bool is_inside)
{
	bool found;

	assert_int_equal(function_bounds_end(&bounds, CODE_VADDR + distance, &found), end);
	assert_int_equal(found, is_inside);
}

/* Sums of addresses must not wrap. */
static void code_at_the_end_of_the_address_space_has_no_bound(void **state)
{
	const uint64_t vaddr = 0xffffffffffffff00, bytes = 0xff;

	make_file();
	unwind_elf_put(
		fd, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_vaddr), &vaddr, sizeof(vaddr));
	unwind_elf_put(
		fd, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), &bytes, sizeof(bytes));
	unwind_elf_put(
		fd, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_memsz), &bytes, sizeof(bytes));
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	assert_int_equal(
		function_bounds_guess_end(&bounds, UINT64_MAX - 11, UINT64_MAX), UINT64_MAX);
}

static void functions_end_where_their_cfi_says(void **state)
{
	make_file();
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	assert_end(0, CODE_VADDR + 0x100, false);
	assert_end(0x100, CODE_VADDR + 0x110, true);
	assert_end(0x10f, CODE_VADDR + 0x110, true);
	assert_end(0x110, CODE_VADDR + 0x130, false);
	assert_end(0x130, CODE_VADDR + 0x140, true);
	assert_end(0x140, UINT64_MAX, false);
	assert_end(CODE_BYTES, UINT64_MAX, false);
}

/* As in musl's libc: no call frame information, no padding. */
static const uint8_t unaligned[] = {
	0xe8, 0x06, 0x00, 0x00, 0x00,	    /* 0: call 0xb */
	0xe8, 0x04, 0x00, 0x00, 0x00,	    /* 5: call 0xe */
	0xc3,				    /* a: ret */
	0x89, 0xf8, 0xc3,		    /* b: mov %edi,%eax; ret */
	0xb8, 0x38, 0x00, 0x00, 0x00, 0xc3, /* e: mov $56,%eax; ret */
};

static void make_called(void)
{
	const uint64_t entry = CODE_VADDR;

	make_file();
	unwind_elf_put(fd, CODE_OFFSET, unaligned, sizeof(unaligned));
	unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
}

static int read_and_infer(void)
{
	int r = function_bounds_read(&bounds, fd, &scratch.scratch);

	return r < 0 ? r : function_bounds_infer(&bounds, &scratch.scratch);
}

static void functions_end_where_code_calls_the_next(void **state)
{
	make_called();
	assert_int_equal(read_and_infer(), 0);
	assert_end(0, CODE_VADDR + 0x100, false);
	function_bounds_done(&bounds);
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(read_and_infer(), 0);
	assert_end(0, CODE_VADDR + 0xb, false);
	assert_end(0xa, CODE_VADDR + 0xb, false);
	assert_end(0xb, CODE_VADDR + 0xe, false);
	assert_end(0xe, CODE_VADDR + 0x100, false);
	assert_end(0x100, CODE_VADDR + 0x110, true);
}

/* What the code would say gets lost with the room for it, and nothing else. */
static void no_room_to_infer_keeps_the_other_bounds(void **state)
{
	uint64_t used;

	make_called();
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	used = scratch.scratch.used_bytes;
	for (uint64_t limit = used; limit < used + (128 << 10); limit += 32 << 10) {
		scratch.scratch.limit_bytes = limit;
		assert_int_equal(function_bounds_infer(&bounds, &scratch.scratch), 0);
		assert_end(0, CODE_VADDR + 0x100, false);
	}
}

static void no_memory_to_infer_is_an_error(void **state)
{
	make_called();
	assert_int_equal(code_instruction_load(NULL), 0);
	(void)FAIL_EACH_ALLOCATION(read_and_infer(), -ENOMEM, bounds.starts.count == 0, 0);
}

/* The function that is next in the file may be before the vaddr in memory. */
static void a_bound_is_behind_the_vaddr(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);
	uint64_t lower = CODE_VADDR - CODE_BYTES;

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x100, 0x10, 0);
	unwind_elf_add_code(&elf);
	unwind_elf_add_code(&elf);
	elf.segments[1].p_vaddr = lower;
	unwind_elf_add_cfi(&elf, &writer);
	fd = unwind_elf_fd(&elf);
	assert_int_equal(ftruncate(fd, CODE_OFFSET + CODE_BYTES), 0);
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	assert_end(0, UINT64_MAX, false);
}

static void assert_no_bounds(int file_fd)
{
	assert_int_equal(function_bounds_read(&bounds, file_fd, &scratch.scratch), 0);
	assert_end(0x100, UINT64_MAX, false);
	assert_int_equal(function_bounds_guess_end(&bounds, CODE_VADDR, CODE_VADDR + 0x123),
		CODE_VADDR + 0x123);
	function_bounds_done(&bounds);
}

static void what_cannot_be_read_has_no_bounds(void **state)
{
	_cleanup_close_ int empty = memfd_create("empty", MFD_CLOEXEC);

	assert_no_bounds(-1);
	assert_no_bounds(empty);
	elf.class = ELFCLASS32;
	make_file();
	assert_no_bounds(fd);
	closep(&fd);
	elf = (struct unwind_elf){ .machine = EM_AARCH64 };
	make_file();
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	assert_int_equal(function_bounds_guess_end(&bounds, CODE_VADDR, CODE_VADDR + 0x123),
		CODE_VADDR + 0x123);
}

/* Names do not depend on it. */
static void no_room_means_no_bounds(void **state)
{
	bool is_inside;

	make_file();
	for (uint64_t limit = 0; limit <= 128 << 10; limit += 32 << 10) {
		scratch.scratch.limit_bytes = limit;
		scratch.scratch.used_bytes = 0;
		assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
		assert_int_equal(
			function_bounds_end(&bounds, CODE_VADDR + 0x100, &is_inside), UINT64_MAX);
		function_bounds_done(&bounds);
	}
}

static void no_memory_is_an_error(void **state)
{
	make_file();
	(void)FAIL_EACH_ALLOCATION(function_bounds_read(&bounds, fd, &scratch.scratch), -ENOMEM,
		bounds.functions.functions.count == 0, 0);
}

/* The end that is found of code at the start of the segment, with one function behind it. */
static uint64_t guess(const char *code, size_t size, size_t at)
{
	uint64_t end;

	set_up(NULL);
	make_file();
	unwind_elf_put(fd, CODE_OFFSET + at, code, size);
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	end = function_bounds_guess_end(&bounds, CODE_VADDR + 8, CODE_VADDR + CODE_BYTES);
	tear_down(NULL);
	return end - CODE_VADDR;
}

/* `AT` is the place of its first byte; the code around it is zeros. */
#define GUESS(code, at) guess(code, sizeof(code) - 1, at)

enum { LONGEST = 65536 + 8 };

static void padding_behind_a_return_shows_an_end(void **state)
{
	static const char *const padding[] = { "\x90", "\x66\x90", "\x0f\x1f\x00",
		"\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00", "\x66\x0f\x1f\x44\x00\x00",
		"\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00",
		"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "\xcc\xcc\xcc" };
	static const size_t lengths[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 3 };

	for (size_t i = 0; i < ARRAY_SIZE(padding); i++) {
		char code[16] = { (char)0xc3 };

		memcpy(code + 1, padding[i], lengths[i]);
		assert_int_equal(guess(code, lengths[i] + 1, 0x40 - lengths[i] - 1), 0x40);
		/* Not at the next multiple. */
		assert_int_equal(guess(code, lengths[i] + 1, 0x30 - lengths[i] + 4), LONGEST);
	}
	/* Two instructions of padding; a short and a near jump. */
	assert_int_equal(GUESS("\xc3\x0f\x1f\x44\x00\x00\x66\x90", 0x38), 0x40);
	assert_int_equal(GUESS("\xeb\x10\x66\x90", 0x3c), 0x40);
	assert_int_equal(GUESS("\xe9\x10\x00\x00\x00\x66\x90", 0x39), 0x40);
	/* Without a return or jump, and behind an instruction that has an effect. */
	assert_int_equal(GUESS("\x66\x90", 0x3e), LONGEST);
	assert_int_equal(GUESS("\xc3\x48\x89\xc3", 0x3c), LONGEST);
}

static void a_return_without_padding_follows_an_epilogue(void **state)
{
	assert_int_equal(GUESS("\x5d\xc3", 0x3e), 0x40);
	assert_int_equal(GUESS("\xf3\xc3", 0x3e), 0x40);
	assert_int_equal(GUESS("\xc9\xc3", 0x3e), 0x40);
	assert_int_equal(GUESS("\xc5\xf8\x77\xc3", 0x3c), 0x40);
	/* mov %eax, %ebx */
	assert_int_equal(GUESS("\x89\xc3", 0x3e), LONGEST);
}

static void the_end_is_found_across_chunks_and_within_limits(void **state)
{
	for (size_t end = 0xff0; end < 0x1030; end += 16)
		assert_int_equal(GUESS("\xc3\x0f\x1f\x44\x00\x00\x66\x90", end - 8), end);
	assert_int_equal(GUESS("\x5d\xc3", LONGEST + 0x100), LONGEST);
	make_file();
	unwind_elf_put(fd, CODE_OFFSET + 0x3e, "\x5d\xc3", 2);
	assert_int_equal(function_bounds_read(&bounds, fd, &scratch.scratch), 0);
	assert_int_equal(function_bounds_guess_end(&bounds, CODE_VADDR, CODE_VADDR + 0x21),
		CODE_VADDR + 0x21);
	/* A return before the function is not its end. */
	assert_int_equal(function_bounds_guess_end(&bounds, CODE_VADDR + 0x40, CODE_VADDR + 0x60),
		CODE_VADDR + 0x60);
	/* The file has shrunk. */
	assert_int_equal(ftruncate(fd, CODE_OFFSET), 0);
	assert_int_equal(function_bounds_guess_end(&bounds, CODE_VADDR, CODE_VADDR + 0x60),
		CODE_VADDR + 0x60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			code_at_the_end_of_the_address_space_has_no_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_end_where_their_cfi_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_end_where_code_calls_the_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			no_room_to_infer_keeps_the_other_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_memory_to_infer_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bound_is_behind_the_vaddr, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_read_has_no_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room_means_no_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_memory_is_an_error, set_up, tear_down),
		cmocka_unit_test(padding_behind_a_return_shows_an_end),
		cmocka_unit_test(a_return_without_padding_follows_an_epilogue),
		cmocka_unit_test_setup_teardown(
			the_end_is_found_across_chunks_and_within_limits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

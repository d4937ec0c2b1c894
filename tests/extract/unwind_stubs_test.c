/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_stubs.h"
#include "tests/extract/unwind_fixture.h"

#include "extract/extraction.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa
#define JUMP	0xff, 0x25, 1, 2, 3, 4
#define HEADER	0xff, 0x35, 1, 2, 3, 4, JUMP, 0x0f, 0x1f, 0x40, 0
#define PUSH	0x68, 0, 0, 0, 0

static const uint8_t lazy[] = { HEADER, JUMP, PUSH, 0xe9, 0, 0, 0, 0, JUMP, PUSH, 0xe9, 0, 0, 0,
	0 };
static const uint8_t landing[] = { HEADER, ENDBR64, PUSH, 0xe9, 0, 0, 0, 0, 0x66, 0x90 };
static const uint8_t jumps[] = { JUMP, 0x66, 0x90, JUMP, 0x66, 0x90 };

static struct unwind_elf elf;
static struct unwind_stubs stubs;

static int set_up(void **state)
{
	memset(&elf, 0, sizeof(elf));
	unwind_elf_add_code(&elf);
	return 0;
}

static void find(void)
{
	_cleanup_close_ int fd = unwind_elf_fd(&elf);
	const struct extraction_files descriptors = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files files;

	assert_int_equal(unwind_files_open(&files, &descriptors), 0);
	assert_int_equal(unwind_stubs_find(&stubs, &files), 0);
}

static void set_section(const char *name, const void *bytes, size_t size)
{
	elf.part_count = 0;
	unwind_elf_add_part(&elf, name, CODE_VADDR + 0x40, bytes, size);
	find();
}

/* Offsets from the section's start. */
static void assert_stub(
	size_t i, uint32_t start, uint32_t end, uint8_t kind, uint8_t base, int32_t offset)
{
	const struct unwind_stub *stub = &stubs.stubs[i];

	assert_true(i < stubs.count);
	assert_int_equal(stub->start - CODE_OFFSET - 0x40, start);
	assert_int_equal(stub->end - CODE_OFFSET - 0x40, end);
	assert_int_equal(stub->rule.kind, kind);
	assert_int_equal(stub->rule.base, base);
	assert_int_equal(stub->rule.offset, offset);
	assert_int_equal(stub->rule.frame_pointer, PILOTLIGHT_UNWIND_FP_SAME);
}

static void stubs_that_push_are_known_by_the_first(void **state)
{
	uint8_t other[sizeof(lazy)];

	set_section(".plt", lazy, sizeof(lazy));
	assert_int_equal(stubs.count, 3);
	assert_stub(0, 0, 6, PILOTLIGHT_UNWIND_CFA, RSP, 16);
	assert_stub(1, 6, 16, PILOTLIGHT_UNWIND_CFA, RSP, 24);
	assert_stub(2, 16, 48, PILOTLIGHT_UNWIND_PLT, 0, 11);
	set_section(".plt", landing, sizeof(landing));
	assert_int_equal(stubs.count, 3);
	assert_stub(2, 16, 32, PILOTLIGHT_UNWIND_PLT, 0, 9);
	/* Not the first bytes of a header, of a jump, of a push. */
	for (size_t i = 0; i < 2; i++) {
		memcpy(other, lazy, sizeof(other));
		other[i == 0 ? 1 : 22]++;
		set_section(".plt", other, sizeof(other));
		assert_int_equal(stubs.count, 0);
	}
	set_section(".plt", lazy, 16);
	assert_int_equal(stubs.count, 0);
	set_section(".other", lazy, sizeof(lazy));
	assert_int_equal(stubs.count, 0);
}

static void jumping_stubs_are_recognized(void **state)
{
	static const uint8_t second[] = { ENDBR64, 0xf2, JUMP, 0, 0, 0, 0, 0 };

	set_section(".plt.got", jumps, sizeof(jumps));
	assert_int_equal(stubs.count, 1);
	assert_stub(0, 0, sizeof(jumps), PILOTLIGHT_UNWIND_CFA, RSP, 8);
	set_section(".plt.sec", second, sizeof(second));
	assert_int_equal(stubs.count, 1);
	assert_stub(0, 0, sizeof(second), PILOTLIGHT_UNWIND_CFA, RSP, 8);
	set_section(".plt.sec", second + 2, sizeof(second) - 2);
	assert_int_equal(stubs.count, 0);
}

static void sections_are_in_the_order_of_the_file(void **state)
{
	unwind_elf_add_part(&elf, ".plt.sec", CODE_VADDR + 0x40, jumps, sizeof(jumps));
	unwind_elf_add_part(&elf, ".plt", CODE_VADDR + 0x80, lazy, sizeof(lazy));
	unwind_elf_add_part(&elf, ".plt.got", CODE_VADDR + 0x60, jumps, sizeof(jumps));
	find();
	assert_int_equal(stubs.count, 5);
	for (size_t i = 0; i + 1 < stubs.count; i++)
		assert_true(stubs.stubs[i].end <= stubs.stubs[i + 1].start);
}

static void stubs_outside_code_are_skipped(void **state)
{
	unwind_elf_add_part(&elf, ".plt", CODE_VADDR + CODE_BYTES, lazy, sizeof(lazy));
	find();
	assert_int_equal(stubs.count, 0);
	elf.parts[0].vaddr = CODE_VADDR + CODE_BYTES - 20;
	find();
	assert_int_equal(stubs.count, 3);
	assert_int_equal(stubs.stubs[2].end, CODE_OFFSET + CODE_BYTES);
	elf.parts[0].vaddr = UINT64_MAX - 15;
	find();
	assert_int_equal(stubs.count, 0);
}

static void aarch64_has_a_header_with_a_frame(void **state)
{
	uint32_t code[16] = { 0xd503245f, 0xa9bf7bf0 };

	elf.machine = EM_AARCH64;
	set_section(".plt", code, sizeof(code));
	assert_int_equal(stubs.count, 3);
	assert_stub(0, 0, 8, PILOTLIGHT_UNWIND_CFA, SP, 0);
	assert_stub(1, 8, 32, PILOTLIGHT_UNWIND_CFA, SP, 16);
	assert_int_equal(stubs.stubs[1].rule.return_address_offset, -8);
	assert_stub(2, 32, 64, PILOTLIGHT_UNWIND_CFA, SP, 0);
	assert_int_equal(stubs.stubs[2].rule.return_address_offset, 0);
	set_section(".plt", code + 1, sizeof(code) - 4);
	assert_int_equal(stubs.count, 3);
	assert_stub(1, 4, 32, PILOTLIGHT_UNWIND_CFA, SP, 16);
	set_section(".plt", code + 2, sizeof(code) - 8);
	assert_int_equal(stubs.count, 0);
	set_section(".plt", lazy, sizeof(lazy));
	assert_int_equal(stubs.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stubs_that_push_are_known_by_the_first, set_up),
		cmocka_unit_test_setup(jumping_stubs_are_recognized, set_up),
		cmocka_unit_test_setup(sections_are_in_the_order_of_the_file, set_up),
		cmocka_unit_test_setup(stubs_outside_code_are_skipped, set_up),
		cmocka_unit_test_setup(aarch64_has_a_header_with_a_frame, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

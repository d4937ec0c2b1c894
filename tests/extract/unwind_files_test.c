/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_files.h"
#include "tests/extract/unwind_fixture.h"

#include "extract/extraction.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct unwind_elf elf;
static struct unwind_files files;

static int set_up(void **state)
{
	memset(&elf, 0, sizeof(elf));
	unwind_elf_add_code(&elf);
	return 0;
}

/* The descriptor of the files is closed when it returns, and headers are read already. */
static int open_elf(void)
{
	_cleanup_close_ int fd = unwind_elf_fd(&elf);
	const struct extraction_files descriptors = { .binary_fd = fd, .debug_fd = -1 };

	return unwind_files_open(&files, &descriptors);
}

static void code_has_offsets(void **state)
{
	uint32_t offset, bytes;

	elf.segments[elf.segment_count++] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_vaddr = 0x1000,
		.p_filesz = 0x1000,
		.p_memsz = 0x1000 };
	assert_int_equal(open_elf(), 0);
	assert_true(unwind_files_find_offset(&files, CODE_VADDR, &offset, &bytes));
	assert_int_equal(offset, CODE_OFFSET);
	assert_int_equal(bytes, CODE_BYTES);
	assert_true(unwind_files_find_offset(
		&files, (uint64_t)CODE_VADDR + CODE_BYTES - 1, &offset, &bytes));
	assert_int_equal(offset, CODE_OFFSET + CODE_BYTES - 1);
	assert_int_equal(bytes, 1);
	assert_false(unwind_files_find_offset(
		&files, (uint64_t)CODE_VADDR + CODE_BYTES, &offset, &bytes));
	assert_false(unwind_files_find_offset(&files, CODE_VADDR - 1, &offset, &bytes));
	/* Not executable. */
	assert_false(unwind_files_find_offset(&files, 0x1800, &offset, &bytes));
}

static void headers_are_no_code(void **state)
{
	uint32_t offset, bytes;

	elf.segments[0].p_offset = elf.segments[0].p_vaddr = 0;
	assert_int_equal(open_elf(), 0);
	assert_false(unwind_files_find_offset(&files, 0, &offset, &bytes));
	assert_false(unwind_files_find_offset(&files, 63, &offset, &bytes));
	assert_true(unwind_files_find_offset(&files, 64, &offset, &bytes));
	assert_int_equal(offset, 64);
	assert_int_equal(bytes, CODE_BYTES - 64);
	elf.segments[0].p_filesz = 64;
	assert_int_equal(open_elf(), -ENODATA);
}

/* The rest of such a segment is read-only data. */
static void code_begins_with_its_first_section(void **state)
{
	uint32_t offset, bytes;

	unwind_elf_add_part(&elf, ".text", CODE_VADDR + 0x200, "code", 4);
	elf.parts[0].flags = SHF_ALLOC | SHF_EXECINSTR;
	unwind_elf_add_part(&elf, ".rodata", CODE_VADDR + 0x100, "data", 4);
	elf.parts[1].flags = SHF_ALLOC;
	assert_int_equal(open_elf(), 0);
	assert_false(unwind_files_find_offset(&files, CODE_VADDR + 0x1ff, &offset, &bytes));
	assert_true(unwind_files_find_offset(&files, CODE_VADDR + 0x200, &offset, &bytes));
	assert_int_equal(offset, CODE_OFFSET + 0x200);
	assert_int_equal(bytes, CODE_BYTES - 0x200);
	/* Of a section that is elsewhere, nothing follows. */
	elf.parts[0].vaddr = CODE_VADDR - 0x200;
	assert_int_equal(open_elf(), 0);
	assert_true(unwind_files_find_offset(&files, CODE_VADDR, &offset, &bytes));
	elf.parts[0].vaddr = (uint64_t)CODE_VADDR + CODE_BYTES;
	assert_int_equal(open_elf(), 0);
	assert_true(unwind_files_find_offset(&files, CODE_VADDR, &offset, &bytes));
}

static void only_what_is_in_the_file_counts(void **state)
{
	uint32_t offset, bytes;

	elf.segments[0].p_filesz = 0x100;
	assert_int_equal(open_elf(), 0);
	assert_true(unwind_files_find_offset(&files, CODE_VADDR, &offset, &bytes));
	assert_int_equal(bytes, 0x100);
	assert_false(unwind_files_find_offset(&files, CODE_VADDR + 0x100, &offset, &bytes));
}

static void other_machines_have_no_table(void **state)
{
	const struct extraction_files nothing = { .binary_fd = -1, .debug_fd = -1 };

	assert_int_equal(unwind_files_open(&files, &nothing), -ENODATA);
	elf.machine = EM_386;
	assert_int_equal(open_elf(), -ENODATA);
	elf.machine = EM_AARCH64;
	assert_int_equal(open_elf(), 0);
	elf.class = ELFCLASS32;
	assert_int_equal(open_elf(), -ENODATA);
	elf.class = ELFCLASSNONE + 9;
	assert_int_equal(open_elf(), -ENOEXEC);
	elf.class = ELFCLASS64;
	elf.segment_count = 0;
	assert_int_equal(open_elf(), -ENODATA);
}

static void far_code_is_too_big(void **state)
{
	elf.segments[0].p_offset = UINT32_MAX;
	assert_int_equal(open_elf(), -EFBIG);
	elf.segments[0].p_offset = UINT32_MAX - CODE_BYTES;
	assert_int_equal(open_elf(), 0);
	elf.segments[0].p_filesz = elf.segments[0].p_memsz = UINT64_MAX;
	assert_int_equal(open_elf(), -EFBIG);
	elf.segments[0].p_filesz = CODE_BYTES;
	elf.segments[0].p_vaddr = UINT64_MAX - 1;
	assert_int_equal(open_elf(), -ENOEXEC);
	elf.segments[0].p_vaddr = CODE_VADDR;
	elf.segments[1] = elf.segments[0];
	elf.segments[1].p_vaddr += 1ULL << 32;
	elf.segment_count = 2;
	assert_int_equal(open_elf(), -EFBIG);
}

static void too_many_segments_are_refused(void **state)
{
	_cleanup_close_ int fd = -1;
	struct extraction_files descriptors = { .debug_fd = -1 };
	Elf64_Ehdr header;

	descriptors.binary_fd = fd = unwind_elf_fd(&elf);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (size_t i = 0; i < 300; i++)
		unwind_elf_put(
			fd, 8192 + i * sizeof(Elf64_Phdr), &elf.segments[0], sizeof(Elf64_Phdr));
	header.e_phoff = 8192;
	header.e_phnum = SYMBOL_BUILDER_SEGMENTS_MAX;
	unwind_elf_put(fd, 0, &header, sizeof(header));
	assert_int_equal(unwind_files_open(&files, &descriptors), 0);
	header.e_phnum++;
	unwind_elf_put(fd, 0, &header, sizeof(header));
	assert_int_equal(unwind_files_open(&files, &descriptors), -EFBIG);
	header.e_phnum = 300;
	unwind_elf_put(fd, 0, &header, sizeof(header));
	assert_int_equal(unwind_files_open(&files, &descriptors), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(code_has_offsets, set_up),
		cmocka_unit_test_setup(headers_are_no_code, set_up),
		cmocka_unit_test_setup(code_begins_with_its_first_section, set_up),
		cmocka_unit_test_setup(only_what_is_in_the_file_counts, set_up),
		cmocka_unit_test_setup(other_machines_have_no_table, set_up),
		cmocka_unit_test_setup(far_code_is_too_big, set_up),
		cmocka_unit_test_setup(too_many_segments_are_refused, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_cie.h"
#include "tests/dwarf/cfi_fixture.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t program[] = { DEF_CFA(RSP, 8), OFFSET(RIP, 1) };
static struct cfi_writer writer;
static struct cfi_cie cie;

static int set_up(void **state)
{
	writer = (struct cfi_writer){ .vaddr = 0x5000 };
	memset(&cie, 0, sizeof(cie));
	return 0;
}

/* Of the entry at this offset. */
static int parse(uint32_t offset)
{
	const struct cfi_section section = cfi_section_of(&writer);
	const struct cfi_entry entry = cfi_section_entry(&section, offset);

	return cfi_cie_parse(&section, &cfi_registers_x86_64, &entry, &cie);
}

static int parse_fde(uint32_t offset, struct cfi_fde *ret_fde)
{
	const struct cfi_section section = cfi_section_of(&writer);
	const struct cfi_entry entry = cfi_section_entry(&section, offset);

	return cfi_fde_parse(&section, &cie, &entry, ret_fde);
}

static int parse_fields(const char *letters, const void *data, size_t data_bytes)
{
	const struct cfi_cie_fields fields = {
		.letters = letters,
		.return_column = RIP,
		.data = data,
		.data_bytes = data_bytes,
		.program = program,
		.program_bytes = sizeof(program),
	};

	writer.size = 0;
	return parse(cfi_add_cie(&writer, &fields));
}

static void a_function_begins_with_what_its_cie_says(void **state)
{
	assert_int_equal(parse(cfi_add_usual_cie(&writer)), 0);
	assert_int_equal(cie.offset, 0);
	assert_int_equal(cie.return_column, RIP);
	assert_int_equal(cie.terms.code_alignment, 1);
	assert_int_equal(cie.terms.data_alignment, -8);
	assert_int_equal(cie.terms.pointer_encoding, 0x1b);
	assert_true(cie.has_augmentation);
	assert_false(cie.is_signal);
	assert_int_equal(cie.terms.initial.cfa_register, RSP);
	assert_int_equal(cie.terms.initial.cfa.offset, 8);
	assert_int_equal(cie.terms.initial.columns[CFI_RETURN_ADDRESS].kind, CFI_OFFSET);
	assert_int_equal(cie.terms.initial.columns[CFI_RETURN_ADDRESS].offset, -8);
	assert_int_equal(cie.terms.initial.columns[CFI_FRAME_POINTER].kind, CFI_UNSPECIFIED);
}

static void augmentations_are_passed_over(void **state)
{
	/* A personality routine of some width, and where the LSDA is. */
	assert_int_equal(parse_fields("zPLR", "\x07\x9b\1\2\3\4\x1b\x1b", 8), 0);
	assert_int_equal(cie.terms.pointer_encoding, 0x1b);
	assert_int_equal(parse_fields("zPLR", "\x0b\0\1\2\3\4\5\6\7\x08\x1b\x1b", 12), 0);
	assert_int_equal(cie.terms.pointer_encoding, 0x1b);
	assert_int_equal(parse_fields("zPR", "\x02\xff\x1b", 3), 0);
	assert_int_equal(cie.terms.pointer_encoding, 0x1b);
	/* Aligned: 5 bytes on to the next multiple of 8. */
	assert_int_equal(parse_fields("zPR", "\x0f\x50----\0\0\0\0\0\0\0\0\x1b\0", 16), 0);
	assert_int_equal(parse_fields("zRS", "\1\x1b", 2), 0);
	assert_true(cie.is_signal);
	assert_int_equal(parse_fields("zRB", "\1\x1b", 2), 0);
	/* What comes behind a letter that nobody knows is passed by its length. */
	assert_int_equal(parse_fields("zR?S", "\3\x1b--", 4), 0);
	assert_int_equal(cie.terms.pointer_encoding, 0x1b);
	assert_false(cie.is_signal);
	assert_int_equal(cie.terms.initial.cfa_register, RSP);
	assert_int_equal(parse_fields("eh", NULL, 0), 0);
	assert_false(cie.has_augmentation);
	assert_int_equal(cie.terms.initial.cfa_register, RSP);
}

static void versions_differ(void **state)
{
	static const uint8_t versions[] = { 1, 3, 4 };
	struct cfi_cie_fields fields = { .letters = "",
		.return_column = RIP,
		.program = program,
		.program_bytes = sizeof(program) };

	writer.is_debug_frame = true;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct cfi_fde fde;
		uint32_t offset;

		writer.size = 0;
		fields.version = versions[i];
		offset = cfi_add_cie(&writer, &fields);
		assert_int_equal(parse(offset), 0);
		assert_int_equal(cie.return_column, RIP);
		assert_int_equal(parse_fde(CFI_ADD_FDE(&writer, offset, 0x1234, 0x10, 0), &fde), 0);
		assert_int_equal(fde.start, 0x1234);
		assert_int_equal(fde.size, 0x10);
		assert_int_equal(dwarf_bytes_left(&fde.program), 1);
	}
	for (fields.version = 0; fields.version < 8; fields.version++) {
		writer.size = 0;
		if (fields.version != 0 && fields.version != 1 && fields.version != 3 &&
			fields.version != 4)
			assert_int_equal(parse(cfi_add_cie(&writer, &fields)), -ENOEXEC);
	}
}

static void segment_selectors_are_passed_over(void **state)
{
	struct cfi_cie_fields fields = { .version = 4, .letters = "", .return_column = RIP };
	struct cfi_fde fde;
	uint32_t offset;

	writer.is_debug_frame = true;
	offset = cfi_add_cie(&writer, &fields);
	/* Behind length, id, version and the empty string: address and selector size. */
	writer.bytes[offset + 11] = 2;
	assert_int_equal(parse(offset), 0);
	cfi_begin_fde(&writer, offset);
	cfi_put(&writer, 0xffff, 2);
	cfi_put(&writer, 0x4000, 8);
	cfi_put(&writer, 0x20, 8);
	cfi_end(&writer);
	assert_int_equal(parse_fde((uint32_t)writer.entry, &fde), 0);
	assert_int_equal(fde.start, 0x4000);
	writer.bytes[offset + 10] = 4;
	assert_int_equal(parse(offset), -ENOEXEC);
}

static void damaged_cies_are_errors(void **state)
{
	static const uint8_t no_program[] = { 0x17 };
	const struct cfi_cie_fields fields = { .letters = "zR",
		.return_column = RIP,
		.data = (const uint8_t *)"\1\x1b",
		.data_bytes = 2,
		.program = no_program,
		.program_bytes = 1 };
	size_t size;

	assert_int_equal(parse_fields("R", "\x1b", 1), -ENOEXEC);
	assert_int_equal(parse_fields("zR", "\x7f\x1b", 2), -ENOEXEC);
	assert_int_equal(
		parse_fields("zR", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10), -ENOEXEC);
	writer.size = 0;
	assert_int_equal(parse(cfi_add_cie(&writer, &fields)), -ENOEXEC);
	/* Cut off within; up to its instructions it is an error. */
	(void)parse_fields("zR", "\1\x1b", 2);
	size = writer.size - sizeof(program);
	for (writer.size = 8; writer.size < size; writer.size++) {
		cfi_end(&writer);
		assert_int_equal(parse(0), -ENOEXEC);
	}
}

static void damaged_fdes_are_errors(void **state)
{
	struct cfi_fde fde;
	uint32_t offset;
	size_t size;

	offset = cfi_add_usual_cie(&writer);
	assert_int_equal(parse(offset), 0);
	offset = CFI_ADD_FDE(&writer, offset, 0x1000, 0x10, 0);
	assert_int_equal(parse_fde(offset, &fde), 0);
	assert_int_equal(fde.start, 0x1000);
	assert_int_equal(fde.size, 0x10);
	size = writer.size - 1;
	for (writer.size = offset + 8; writer.size < size; writer.size++) {
		cfi_end(&writer);
		assert_int_equal(parse_fde(offset, &fde), -ENOEXEC);
	}
	/* A length that is negative wraps. */
	offset = CFI_ADD_FDE(&writer, 0, 0x1000, UINT32_MAX, 0);
	assert_int_equal(parse_fde(offset, &fde), -ENOEXEC);
	cie.terms.pointer_encoding = 0x80;
	assert_int_equal(parse_fde(offset, &fde), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_function_begins_with_what_its_cie_says, set_up),
		cmocka_unit_test_setup(augmentations_are_passed_over, set_up),
		cmocka_unit_test_setup(versions_differ, set_up),
		cmocka_unit_test_setup(segment_selectors_are_passed_over, set_up),
		cmocka_unit_test_setup(damaged_cies_are_errors, set_up),
		cmocka_unit_test_setup(damaged_fdes_are_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

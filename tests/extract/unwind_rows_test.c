/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_rows.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/unwind_sections_fixture.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct cfi_writer writer, other;
static struct unwind_sections sections;
static struct unwind_files files;
static struct unwind_stubs stubs;
static struct unwind_functions functions;
static struct unwind_go go;
static struct unwind_inferred inferred;
static struct unwind_rows rows;
static struct scratch_fixture scratch;
static char text[4096];

static int set_up(void **state)
{
	writer = (struct cfi_writer){ .vaddr = 0x5000 };
	other = (struct cfi_writer){ .is_debug_frame = true };
	files = unwind_files_of_code(EM_X86_64);
	stubs.count = 0;
	return scratch_fixture_init(&scratch, 16 << 20) ? 0 : -1;
}

static int tear_down(void **state)
{
	unwind_rows_done(&rows);
	unwind_functions_done(&functions);
	unwind_go_done(&go);
	scratch_fixture_done(&scratch);
	return 0;
}

/* Is it a Go program? That is what the sections tell. */
static int build_rows(bool is_go)
{
	int r;

	unwind_rows_done(&rows);
	unwind_functions_done(&functions);
	sections = unwind_sections_of(&writer, &other);
	sections.is_go = is_go;
	r = unwind_functions_read(&functions, &sections, &files, &scratch.scratch);
	if (r == 0)
		r = unwind_rows_build(&rows, &functions, &sections, &files, &stubs, &go, &inferred,
			&scratch.scratch);
	return r;
}

/* "offset:rule" of each row, offsets from the start of the code. */
static const char *rows_text(void)
{
	static const char *const kinds[] = { "stop", "", "at", "plt", "signal", "root", "none",
		"switch", "guess" };
	const struct unwind_rows_item *items = rows.items.items;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows.items.count; i++) {
		const struct pilotlight_unwind_rule *rule = &rows.rules.rules[items[i].rule];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%x:%s",
			i > 0 ? " " : "", items[i].offset - CODE_OFFSET, kinds[rule->kind]);
		if (rule->kind == PILOTLIGHT_UNWIND_CFA)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "r%u+%d%s",
				rule->base, rule->offset, rule->frame_pointer ? "*" : "");
		assert_true(used < sizeof(text));
	}
	return text;
}

#define assert_rows(expected)                               \
	do {                                                \
		assert_int_equal(build_rows(false), 0);     \
		assert_string_equal(rows_text(), expected); \
	} while (0)

/* A function with a frame of `size` bytes from its first byte on. */
static uint32_t add(
	struct cfi_writer *out, uint32_t cie, uint32_t start, uint32_t bytes, uint8_t size)
{
	return CFI_ADD_FDE(out, cie, CODE_VADDR + start, bytes, DEF_CFA_OFFSET(size));
}

static void gaps_have_rows(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x10, 0x20, ADVANCE(1), DEF_CFA_OFFSET(16),
		ADVANCE(5), DEF_CFA_OFFSET(16), ADVANCE(5), DEF_CFA_OFFSET(8));
	(void)add(&writer, cie, 0x30, 0x10, 8);
	(void)add(&writer, cie, 0x48, 8, 16);
	assert_rows("10:r7+8 11:r7+16 1b:r7+8 40:stop 48:r7+16 50:stop");
	assert_int_equal(rows.function_count, 3);
	assert_int_equal(rows.eh_count, 3);
	assert_int_equal(rows.failed, 0);
}

static void the_first_of_overlapping_functions_has_the_code(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x18, 0x20, ADVANCE(4), DEF_CFA_OFFSET(32),
		ADVANCE(12), DEF_CFA_OFFSET(40));
	(void)add(&writer, cie, 0x10, 0x10, 16);
	assert_rows("10:r7+16 20:r7+32 28:r7+40 38:stop");
	assert_int_equal(rows.function_count, 2);
	assert_int_equal(rows.failed, 0);
	/* Wholly within others. */
	(void)add(&writer, cie, 0x11, 2, 24);
	(void)add(&writer, cie, 0x18, 8, 24);
	assert_rows("10:r7+16 20:r7+32 28:r7+40 38:stop");
	assert_int_equal(rows.function_count, 2);
	assert_int_equal(rows.failed, 2);
}

static void duplicate_entries_are_no_loss(void **state)
{
	static const uint8_t data[] = { 1, 0x1b };
	static const uint8_t program[] = { DEF_CFA(RSP, 8), OFFSET(RIP, 1), 0, 0 };
	const struct cfi_cie_fields fields = { .letters = "zR",
		.return_column = RIP,
		.data = data,
		.data_bytes = 2,
		.program = program,
		.program_bytes = sizeof(program) };
	uint32_t cie = cfi_add_usual_cie(&writer), same = cfi_add_cie(&writer, &fields);

	(void)add(&writer, cie, 0, 0x10, 16);
	(void)add(&writer, cie, 0, 0x10, 16);
	(void)CFI_ADD_FDE(&writer, same, CODE_VADDR, 0x10, DEF_CFA_OFFSET(16), 0, 0, 0);
	(void)add(&other, cfi_add_usual_cie(&other), 8, 4, 77);
	assert_rows("0:r7+16 10:stop");
	assert_int_equal(rows.function_count, 1);
	assert_int_equal(rows.failed, 0);
	/* Not the same: shorter, by other instructions, with more of them. */
	(void)add(&writer, cie, 0, 0xf, 16);
	(void)add(&writer, cie, 0, 0x10, 24);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR, 0x10, DEF_CFA_OFFSET(16), 1);
	assert_rows("0:r7+16 10:stop");
	assert_int_equal(rows.failed, 3);
}

static void cies_that_differ_make_others(void **state)
{
	static const uint8_t data[] = { 1, 0x1b };
	static const uint8_t programs[][5] = { { DEF_CFA(RSP, 16), OFFSET(RIP, 1) },
		{ DEF_CFA(RBP, 8), OFFSET(RIP, 1) }, { DEF_CFA(RSP, 8), OFFSET(RIP, 2) } };
	struct cfi_cie_fields fields = { .letters = "zR",
		.return_column = RIP,
		.data = data,
		.data_bytes = 2,
		.program_bytes = sizeof(programs[0]) };

	(void)CFI_ADD_FDE(&writer, cfi_add_usual_cie(&writer), CODE_VADDR, 0x10, 0);
	for (size_t i = 0; i < 3; i++) {
		fields.program = programs[i];
		(void)CFI_ADD_FDE(&writer, cfi_add_cie(&writer, &fields), CODE_VADDR, 0x10, 0);
	}
	fields.program = (const uint8_t[]){ DEF_CFA(RSP, 8), OFFSET(RIP, 1) };
	fields.letters = "zRS";
	(void)CFI_ADD_FDE(&writer, cfi_add_cie(&writer, &fields), CODE_VADDR, 0x10, 0);
	assert_rows("0:r7+8 10:stop");
	assert_int_equal(rows.failed, 4);
}

/* As if they had not been told of. */
static void functions_that_make_no_sense_leave_nothing(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)add(&writer, cie, 0, 0x10, 16);
	(void)CFI_ADD_FDE(
		&writer, cie, CODE_VADDR + 0x20, 0x10, ADVANCE(4), DEF_CFA_OFFSET(32), 0x3f);
	(void)add(&writer, cie, 0x30, 0x10, 24);
	assert_rows("0:r7+16 10:stop 30:r7+24 40:stop");
	assert_int_equal(rows.function_count, 2);
	assert_int_equal(rows.failed, 1);
	writer.size = 0;
	cie = cfi_add_usual_cie(&writer);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x20, 0x10, 0x3f);
	assert_rows("");
	assert_int_equal(rows.function_count, 0);
	assert_int_equal(rows.failed, 1);
}

static void inferred_rows_are_where_nothing_else_is(void **state)
{
	static struct code_state states[] = { { .depth = 8 }, { .depth = 16 } };
	static struct unwind_inferred_row items[] = {
		{ .offset = CODE_OFFSET + 0x8, .state = 1 },
		{ .offset = CODE_OFFSET + 0x18, .state = 2 },
		{ .offset = CODE_OFFSET + 0x2c, .state = 0 },
		{ .offset = CODE_OFFSET + 0x34, .state = 1 },
		{ .offset = CODE_OFFSET + 0x3c, .state = 0 },
	};
	struct pilotlight_unwind_rule *rule;
	uint32_t cie = cfi_add_usual_cie(&writer);

	inferred.states = states;
	inferred.rows = (struct scratch_array){ .items = items, .count = 5 };
	/* Also if there is nothing else. */
	assert_rows("8:guess 18:guess 2c:stop 34:guess 3c:stop");
	assert_int_equal(rows.function_count, 0);
	stubs.count = 1;
	stubs.stubs[0] = (struct unwind_stub){ .start = CODE_OFFSET + 0x24,
		.end = CODE_OFFSET + 0x28,
		.rule.kind = PILOTLIGHT_UNWIND_ROOT };
	(void)add(&writer, cie, 0x10, 0x10, 16);
	assert_rows("8:guess 10:r7+16 20:guess 24:root 28:guess 2c:stop 34:guess 3c:stop");
	/* What calls keep in rbx is not inferred. */
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x40, 8, DEF_CFA(RBX, 16));
	assert_rows("8:guess 10:r7+16 20:guess 24:root 28:guess 2c:stop 34:guess 3c:stop 40:r3+16 "
		    "48:stop");
	rule = &rows.rules.rules[((struct unwind_rows_item *)rows.items.items)[0].rule];
	assert_int_equal(rule->kind, PILOTLIGHT_UNWIND_INFERRED);
	assert_int_equal(rule->rbx_offset, PILOTLIGHT_UNWIND_RBX_UNKNOWN);
	inferred = (struct unwind_inferred){ .states = NULL };
}

static int32_t rbx_offset_of(size_t row)
{
	const struct unwind_rows_item *items = rows.items.items;

	return rows.rules.rules[items[row].rule].rbx_offset;
}

/* Where it is of no use, it makes no rows. */
static void rbx_is_restored_where_a_frame_uses_it(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x10, 0x10, ADVANCE(1), OFFSET(RBX, 2),
		ADVANCE(1), DEF_CFA_OFFSET(16));
	assert_rows("10:r7+8 12:r7+16 20:stop");
	assert_false(rows.tells_rbx);
	for (size_t i = 0; i < rows.items.count; i++)
		assert_int_equal(rbx_offset_of(i), 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x20, 0x10, ADVANCE(4), DEF_CFA(RBX, 16));
	assert_rows("10:r7+8 11:r7+8 12:r7+16 20:r7+8 24:r3+16 30:stop");
	assert_true(rows.tells_rbx);
	assert_int_equal(rows.function_count, 2);
	assert_int_equal(rbx_offset_of(0), 0);
	assert_int_equal(rbx_offset_of(1), -16);
	assert_int_equal(rbx_offset_of(2), -16);
	assert_int_equal(rbx_offset_of(3), 0);
}

static void debug_frame_fills_the_gaps(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)add(&writer, cie, 0x20, 0x10, 16);
	(void)add(&other, cfi_add_usual_cie(&other), 0x10, 0x40, 24);
	assert_rows("20:r7+16 30:stop");
	assert_int_equal(rows.eh_count, 1);
	assert_int_equal(rows.failed, 0);
	/* One that begins within, and one on its own. */
	(void)add(&other, 0, 0x28, 0x10, 32);
	(void)add(&other, 0, 0x60, 0x10, 40);
	assert_rows("20:r7+16 30:stop 60:r7+40 70:stop");
	assert_int_equal(rows.function_count, 2);
	writer.size = other.size = 0;
	cie = cfi_add_usual_cie(&writer);
	(void)add(&writer, cie, 0x20, 0x10, 16);
	(void)add(&other, cfi_add_usual_cie(&other), 0x30, 0x10, 24);
	assert_rows("20:r7+16 30:r7+24 40:stop");
	assert_int_equal(rows.eh_count, 1);
	assert_int_equal(rows.function_count, 2);
}

static void add_go_row(uint32_t offset, enum unwind_go_kind kind, uint32_t depth)
{
	const struct unwind_go_row row = {
		.offset = CODE_OFFSET + offset, .depth = depth, .kind = kind
	};

	if (!go.rows.scratch)
		assert_int_equal(
			scratch_array_init(&go.rows, &scratch.scratch, sizeof(row), UINT32_MAX), 0);
	assert_int_equal(scratch_array_append(&go.rows, &row, sizeof(row)), 0);
}

static void gaps_of_a_go_program_have_the_rows_of_go(void **state)
{
	add_go_row(0x10, UNWIND_GO_PLAIN, 0);
	add_go_row(0x18, UNWIND_GO_SAVED, 32);
	add_go_row(0x28, UNWIND_GO_SWITCHED, 0);
	add_go_row(0x38, UNWIND_GO_ROOT, 0);
	add_go_row(0x48, UNWIND_GO_NOTHING, 0);
	go.function_count = 2;
	go.code_bytes = 0x38;
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "10:r7+8 18:r7+40* 28:switch 38:root 48:stop");
	assert_true(rows.keeps_frame_pointers);
	assert_int_equal(rows.function_count, 0);
	/* Functions in C among them, and a stub. */
	(void)add(&writer, cfi_add_usual_cie(&writer), 0x14, 0x8, 16);
	(void)add(&writer, 0, 0x20, 0x10, 24);
	stubs.stubs[0] = (struct unwind_stub){ CODE_OFFSET + 0x30, CODE_OFFSET + 0x34,
		{ .kind = PILOTLIGHT_UNWIND_PLT } };
	stubs.count = 1;
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "10:r7+8 14:r7+16 1c:r7+40* 20:r7+24 30:plt 34:switch "
					 "38:root 48:stop");
	assert_int_equal(rows.function_count, 2);
	assert_false(rows.keeps_frame_pointers);
}

/* C code that Go's linker has linked has no rows at all. */
static void code_in_c_is_not_walked_as_go(void **state)
{
	add_go_row(0x20, UNWIND_GO_SAVED, 8);
	add_go_row(0x40, UNWIND_GO_NOTHING, 0);
	go.function_count = 1;
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "20:r7+16* 40:stop");
	/* Nor is it in a program whose table cannot be read. */
	unwind_go_done(&go);
	(void)add(&writer, cfi_add_usual_cie(&writer), 0x20, 0x10, 16);
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "20:r7+16 30:stop");
	assert_false(rows.keeps_frame_pointers);
}

static void go_without_a_table_keeps_frame_pointers(void **state)
{
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "");
	assert_true(rows.keeps_frame_pointers);
}

/* Go code uses rbx as it likes. */
static void go_code_does_not_keep_rbx(void **state)
{
	add_go_row(0x10, UNWIND_GO_PLAIN, 0);
	add_go_row(0x20, UNWIND_GO_NOTHING, 0);
	go.function_count = 1;
	(void)CFI_ADD_FDE(&writer, cfi_add_usual_cie(&writer), CODE_VADDR + 0x20, 0x10, ADVANCE(4),
		DEF_CFA(RBX, 16));
	assert_int_equal(build_rows(true), 0);
	assert_string_equal(rows_text(), "10:r7+8 20:r7+8 24:r3+16 30:stop");
	assert_true(rows.tells_rbx);
	assert_int_equal(rbx_offset_of(0), PILOTLIGHT_UNWIND_RBX_UNKNOWN);
	assert_int_equal(rbx_offset_of(1), 0);
	assert_int_equal(rbx_offset_of(3), 0);
}

static void go_code_on_aarch64_is_walked_by_frame_pointers(void **state)
{
	files.binary.machine = EM_AARCH64;
	(void)add(&writer, cfi_add_usual_cie(&writer), 0x20, 0x10, 16);
	assert_int_equal(build_rows(true), 0);
	assert_true(strncmp(rows_text(), "0:r29+16* 20:", 13) == 0);
}

/* They are where no function is. */
static void stubs_are_in_gaps(void **state)
{
	stubs.stubs[0] = (struct unwind_stub){ CODE_OFFSET, CODE_OFFSET + 4,
		{ .kind = PILOTLIGHT_UNWIND_PLT } };
	stubs.stubs[1] = (struct unwind_stub){ CODE_OFFSET + 2, CODE_OFFSET + 0x18,
		{ .kind = PILOTLIGHT_UNWIND_ROOT } };
	stubs.stubs[2] = (struct unwind_stub){ CODE_OFFSET + 0x28, CODE_OFFSET + 0x2c,
		{ .kind = PILOTLIGHT_UNWIND_PLT } };
	stubs.stubs[3] = (struct unwind_stub){ CODE_OFFSET + CODE_BYTES - 4,
		CODE_OFFSET + CODE_BYTES, { .kind = PILOTLIGHT_UNWIND_PLT } };
	stubs.count = 4;
	assert_rows("");
	(void)add(&writer, cfi_add_usual_cie(&writer), 0x10, 0x10, 16);
	assert_rows("0:plt 4:root 10:r7+16 20:stop 28:plt 2c:stop ffffc:plt 100000:stop");
	(void)add(&writer, 0, 0x20, CODE_BYTES - 0x20, 16);
	assert_rows("0:plt 4:root 10:r7+16 100000:stop");
}

/* A function of `bytes` that sets up a frame pointer. */
static void add_framed(uint32_t start, uint32_t bytes)
{
	(void)CFI_ADD_FDE(&writer, 0, CODE_VADDR + start, bytes, ADVANCE(1), DEF_CFA_OFFSET(16),
		OFFSET(RBP, 2), ADVANCE(3), DEF_CFA_REGISTER(RBP), ADVANCE(32), DEF_CFA(RSP, 8));
}

static void most_code_has_to_keep_frame_pointers(void **state)
{
	(void)cfi_add_usual_cie(&writer);
	/* Leaves say nothing. */
	(void)add(&writer, 0, 0x8000, 0x1000, 8);
	assert_int_equal(build_rows(false), 0);
	assert_false(rows.keeps_frame_pointers);
	add_framed(0, 9900);
	assert_int_equal(build_rows(false), 0);
	assert_true(rows.keeps_frame_pointers);
	(void)add(&writer, 0, 0x4000, 100, 16);
	assert_int_equal(build_rows(false), 0);
	assert_true(rows.keeps_frame_pointers);
	(void)add(&writer, 0, 0x5000, 1, 16);
	assert_int_equal(build_rows(false), 0);
	assert_false(rows.keeps_frame_pointers);
}

static void no_room_is_an_error(void **state)
{
	(void)add(&writer, cfi_add_usual_cie(&writer), 0, 0x10, 16);
	sections = unwind_sections_of(&writer, &other);
	assert_int_equal(unwind_functions_read(&functions, &sections, &files, &scratch.scratch), 0);
	scratch.scratch.limit_bytes = scratch.scratch.used_bytes;
	assert_int_equal(unwind_rows_build(&rows, &functions, &sections, &files, &stubs, &go,
				 &inferred, &scratch.scratch),
		-EFBIG);
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)add(&writer, cfi_add_usual_cie(&writer), 0, 0x10, 16);
	(void)FAIL_EACH_ALLOCATION(build_rows(false), -ENOMEM, true, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gaps_have_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			inferred_rows_are_where_nothing_else_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_first_of_overlapping_functions_has_the_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(duplicate_entries_are_no_loss, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cies_that_differ_make_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_that_make_no_sense_leave_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			rbx_is_restored_where_a_frame_uses_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(debug_frame_fills_the_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			gaps_of_a_go_program_have_the_rows_of_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_in_c_is_not_walked_as_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			go_without_a_table_keeps_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(go_code_does_not_keep_rbx, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			go_code_on_aarch64_is_walked_by_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stubs_are_in_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			most_code_has_to_keep_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_failed_allocation_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

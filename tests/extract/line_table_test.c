/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/line_table.h"
#include "tests/extract/dwarf_reading.h"
#include "tests/harness/failing_allocation.h"

enum { OPCODE_BASE = 13, LINE_BASE = -3, LINE_RANGE = 12, BUDGET = 1 << 20 };

static struct dwarf_fixture f;
static struct line_table table;
static struct section_bytes line_str;
static size_t start, header;

static int set_up(void **state)
{
	memset(&f, 0, sizeof(f));
	memset(&line_str, 0, sizeof(line_str));
	f.version = 4;
	dwarf_reading_init(NULL);
	if (dwarf_reading_begin() < 0)
		return -1;
	line_table_init(&table, reading.builder, BUDGET);
	return 0;
}

static int tear_down(void **state)
{
	line_table_done(&table);
	dwarf_reading_done();
	return 0;
}

static void begin_header(void)
{
	static const uint8_t lengths[OPCODE_BASE - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

	start = f.line.size;
	put_length(&f, &f.line);
	put(&f.line, f.version, 2);
	if (f.version >= 5)
		put(&f.line, 8, 2);
	header = f.line.size;
	put_offset(&f, &f.line, 0);
	put(&f.line, 1, 1);
	if (f.version >= 4)
		put(&f.line, 1, 1);
	put(&f.line, 1, 1);
	put(&f.line, (uint8_t)LINE_BASE, 1);
	put(&f.line, LINE_RANGE, 1);
	put(&f.line, OPCODE_BASE, 1);
	for (size_t i = 0; i < sizeof(lengths); i++)
		put(&f.line, lengths[i], 1);
}

static void end_header(void)
{
	size_t offset_bytes = f.is_64_bit ? 8 : 4;

	patch(&f.line, header, f.line.size - header - offset_bytes, offset_bytes);
}

static void end_table(void)
{
	patch_length(&f, &f.line, start);
}

static void put_old_files(void)
{
	put_text(&f.line, "relative");
	put_text(&f.line, "/absolute/");
	put(&f.line, 0, 1);
	for (int folder = 0; folder < 4; folder++) {
		put_text(&f.line, "a.c");
		put_uleb(&f.line, (uint64_t)folder);
		put_uleb(&f.line, 1000000);
		put_uleb(&f.line, 300);
	}
	put_text(&f.line, "/root/b.c");
	put(&f.line, 0x000001, 3);
	put(&f.line, 0, 1);
}

static void put_new_files(void)
{
	size_t position = line_str.size;

	put_text(&line_str, "a.c");
	put(&f.line, 1, 1);
	put_uleb(&f.line, DW_LNCT_path);
	put_uleb(&f.line, DW_FORM_string);
	put_uleb(&f.line, 3);
	put_text(&f.line, "/comp");
	put_text(&f.line, "relative");
	put_text(&f.line, "/absolute/");
	put(&f.line, 4, 1);
	put_uleb(&f.line, DW_LNCT_path);
	put_uleb(&f.line, DW_FORM_line_strp);
	put_uleb(&f.line, DW_LNCT_directory_index);
	put_uleb(&f.line, DW_FORM_udata);
	put_uleb(&f.line, DW_LNCT_MD5);
	put_uleb(&f.line, DW_FORM_data16);
	put_uleb(&f.line, 0x2001); /* somebody's own */
	put_uleb(&f.line, DW_FORM_block);
	put_uleb(&f.line, 4);
	for (int folder = 0; folder < 4; folder++) {
		put_offset(&f, &f.line, position);
		put_uleb(&f.line, (uint64_t)folder);
		put(&f.line, 0, 16);
		put(&f.line, 0x112202, 3);
	}
}

static void put_address(uint64_t address)
{
	put(&f.line, 0, 1);
	put(&f.line, 9, 1);
	put(&f.line, DW_LNE_set_address, 1);
	put(&f.line, address, 8);
}

static void put_sequence_end(void)
{
	put(&f.line, 0x010100, 3);
}

static int open_table(void)
{
	const struct dwarf_sections sections = {
		.line = { .position = f.line.bytes, .end = f.line.bytes + f.line.size },
		.line_str = { .position = line_str.bytes, .end = line_str.bytes + line_str.size },
	};

	return line_table_open(&table, &sections, start, "/comp");
}

static void run_table(void)
{
	assert_int_equal(open_table(), 0);
	assert_int_equal(line_table_read_rows(&table), 0);
	assert_int_equal(write_dwarf(), 0);
}

#define assert_line(vaddr, text) assert_string_equal(look_up(vaddr), text)

/* Sets each file in turn, 16 bytes of code each. */
static void put_all_files(uint64_t first, uint64_t last)
{
	put_address(0x1000);
	for (uint64_t file = first; file <= last; file++) {
		put(&f.line, DW_LNS_set_file, 1);
		put_uleb(&f.line, file);
		put(&f.line, DW_LNS_copy, 1);
		put(&f.line, DW_LNS_advance_pc, 1);
		put_uleb(&f.line, 16);
	}
	put_sequence_end();
}

static void old_paths_are_joined(void **state)
{
	for (f.version = 2; f.version <= 4; f.version++) {
		uint16_t version = f.version;

		begin_header();
		put_old_files();
		end_header();
		put_all_files(0, 6);
		end_table();
		run_table();
		assert_line(0x1000, "");
		assert_line(0x1010, " /comp/a.c:1:0");
		assert_line(0x1020, " /comp/relative/a.c:1:0");
		assert_line(0x1030, " /absolute/a.c:1:0");
		assert_line(0x1040, " /comp/a.c:1:0"); /* no such folder */
		assert_line(0x1050, " /root/b.c:1:0");
		assert_line(0x1060, "");
		(void)tear_down(state);
		(void)set_up(state);
		f.version = version;
	}
}

static void new_paths_are_joined(void **state)
{
	for (int is_64_bit = 0; is_64_bit < 2; is_64_bit++) {
		f.version = 5;
		f.is_64_bit = is_64_bit;
		begin_header();
		put_new_files();
		end_header();
		put_all_files(0, 4);
		end_table();
		run_table();
		assert_line(0x1000, " /comp/a.c:1:0");
		assert_line(0x1010, " /comp/relative/a.c:1:0");
		assert_line(0x1020, " /absolute/a.c:1:0");
		assert_line(0x1030, " /comp/a.c:1:0");
		assert_line(0x1040, "");
		(void)tear_down(state);
		(void)set_up(state);
	}
}

static void opcodes_do_what_they_should(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	put_address(0x1000);
	put(&f.line, DW_LNS_advance_line, 1);
	put(&f.line, 0x00e3, 2); /* 99: a sign bit more than seven bits have */
	put(&f.line, DW_LNS_set_column, 1);
	put_uleb(&f.line, 300);
	put(&f.line, DW_LNS_negate_stmt, 1);
	put(&f.line, DW_LNS_set_basic_block, 1);
	put(&f.line, DW_LNS_set_prologue_end, 1);
	put(&f.line, DW_LNS_set_epilogue_begin, 1);
	put(&f.line, DW_LNS_set_isa, 1);
	put_uleb(&f.line, 1234);
	put(&f.line, DW_LNS_copy, 1);			       /* 0x1000: 100 */
	put(&f.line, OPCODE_BASE + 4 * LINE_RANGE + 3 + 2, 1); /* 0x1004: 102 */
	put(&f.line, DW_LNS_const_add_pc, 1);		       /* 242 / 12 = 20 */
	put(&f.line, OPCODE_BASE, 1);			       /* 0x1018: 99 */
	put(&f.line, DW_LNS_fixed_advance_pc, 1);
	put(&f.line, 0x100, 2);
	put(&f.line, DW_LNS_advance_line, 1);
	put(&f.line, 0x7f, 1);	      /* -1 */
	put(&f.line, 0x44550200, 4);  /* an extended opcode that nobody knows, with an operand */
	put(&f.line, 0, 2);	      /* one of no bytes */
	put(&f.line, DW_LNS_copy, 1); /* 0x1118: 98 */
	put(&f.line, DW_LNS_advance_pc, 1);
	put_uleb(&f.line, 8);
	put_sequence_end();
	/* The registers are as at the beginning. */
	put_address(0x2000);
	put(&f.line, DW_LNS_copy, 1);
	put(&f.line, DW_LNS_advance_pc, 1);
	put_uleb(&f.line, 8);
	put_sequence_end();
	end_table();
	run_table();
	assert_line(0x1000, " /comp/a.c:100:300");
	assert_line(0x1004, " /comp/a.c:102:300");
	assert_line(0x1017, " /comp/a.c:102:300");
	assert_line(0x1018, " /comp/a.c:99:300");
	assert_line(0x1117, " /comp/a.c:99:300");
	assert_line(0x1118, " /comp/a.c:98:300");
	assert_line(0x1120, "");
	assert_line(0x2000, " /comp/a.c:1:0");
	assert_line(0x2008, "");
}

static void files_may_be_defined_later(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	put(&f.line, 0, 1);
	put(&f.line, 8, 1);
	put(&f.line, DW_LNE_define_file, 1);
	put_text(&f.line, "l.c");
	put(&f.line, 1, 1);
	put(&f.line, 0, 2);
	put_all_files(6, 6);
	end_table();
	run_table();
	assert_line(0x1000, " /comp/relative/l.c:1:0");
}

static void unknown_opcodes_are_passed_over(void **state)
{
	begin_header();
	/* One standard opcode more, of three operands. */
	f.line.bytes[f.line.size - OPCODE_BASE] = OPCODE_BASE + 1;
	put(&f.line, 3, 1);
	put_old_files();
	end_header();
	put_address(0x1000);
	put(&f.line, OPCODE_BASE, 1);
	put_uleb(&f.line, 1);
	put_uleb(&f.line, 1000);
	put_uleb(&f.line, 1);
	put(&f.line, DW_LNS_copy, 1);
	put(&f.line, DW_LNS_advance_pc, 1);
	put_uleb(&f.line, 8);
	put_sequence_end();
	end_table();
	run_table();
	assert_line(0x1000, " /comp/a.c:1:0");
}

static void a_range_of_no_lines_divides_nothing(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	put_address(0x1000);
	put(&f.line, 255, 1);
	put(&f.line, DW_LNS_const_add_pc, 1);
	put(&f.line, DW_LNS_advance_pc, 1);
	put_uleb(&f.line, 8);
	put_sequence_end();
	end_table();
	f.line.bytes[header + 8] = 0;
	assert_int_equal(open_table(), 0);
	assert_int_equal(table.line_range, 0);
	assert_int_equal(line_table_read_rows(&table), 0);
}

static void a_missing_end_ends_the_rows(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	put_address(0x1000);
	put(&f.line, DW_LNS_copy, 1);
	put(&f.line, OPCODE_BASE + 8 * LINE_RANGE + 3, 1);
	put(&f.line, DW_LNS_advance_pc, 1);
	put(&f.line, 0x80, 1);
	end_table();
	assert_int_equal(open_table(), 0);
	assert_int_equal(line_table_read_rows(&table), -EBADMSG);
	assert_int_equal(write_dwarf(), 0);
	assert_line(0x1000, " /comp/a.c:1:0");
	assert_line(0x1008, "");
}

static void every_shorter_table_is_survived(void **state)
{
	size_t size;

	for (f.version = 4; f.version <= 5; f.version++) {
		f.line.size = 0;
		begin_header();
		f.version < 5 ? put_old_files() : put_new_files();
		end_header();
		put_all_files(0, 2);
		end_table();
		size = f.line.size;
		for (f.line.size = 0; f.line.size < size; f.line.size++) {
			/* Of a section that is too short, then of a table that says so. */
			patch(&f.line, 0, size - 4, 4);
			assert_int_equal(open_table(), -EBADMSG);
			assert_int_equal(table.file_count, 0);
			if (f.line.size < 4)
				continue;
			end_table();
			if (open_table() == 0)
				(void)line_table_read_rows(&table);
		}
		f.line.size = size;
		end_table();
		assert_int_equal(open_table(), 0);
	}
}

static void impossible_headers_are_refused(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	end_table();
	assert_int_equal(open_table(), 0);
	patch(&f.line, 4, 1, 2);
	assert_int_equal(open_table(), -EBADMSG);
	patch(&f.line, 4, 6, 2);
	assert_int_equal(open_table(), -EBADMSG);
	patch(&f.line, 4, 4, 2);
	patch(&f.line, 0, 0xfffffff0, 4);
	assert_int_equal(open_table(), -EBADMSG);
	end_table();
	start = 1 << 20;
	assert_int_equal(open_table(), -EBADMSG);
}

static void put_formats(uint64_t content, uint64_t form, uint64_t count)
{
	f.version = 5;
	begin_header();
	put(&f.line, form > 0, 1);
	if (form > 0) {
		put_uleb(&f.line, content);
		put_uleb(&f.line, form);
	}
	put_uleb(&f.line, count);
}

static void entries_without_bytes_are_refused(void **state)
{
	put_formats(0, 0, UINT64_MAX);
	put(&f.line, 0, 2);
	end_header();
	end_table();
	assert_int_equal(open_table(), -EBADMSG);
	f.line.size = 0;
	put_formats(DW_LNCT_path, DW_FORM_flag_present, UINT64_MAX);
	put(&f.line, 0, 2);
	end_header();
	end_table();
	assert_int_equal(open_table(), -EBADMSG);
}

static void paths_that_are_too_long_are_unknown(void **state)
{
	uint32_t file = 77;

	put_formats(DW_LNCT_path, DW_FORM_string, 1);
	for (int i = 0; i < 8000; i++)
		put(&f.line, 'd', 1);
	put(&f.line, 0, 1);
	put(&f.line, 2, 1);
	put_uleb(&f.line, DW_LNCT_path);
	put_uleb(&f.line, DW_FORM_string);
	put_uleb(&f.line, DW_LNCT_directory_index);
	put_uleb(&f.line, DW_FORM_data1);
	put_uleb(&f.line, 2);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < (k ? 4000 : 1); i++)
			put(&f.line, 'e', 1);
		put(&f.line, 0, 2);
	}
	end_header();
	end_table();
	assert_int_equal(open_table(), 0);
	assert_int_equal(line_table_file(&table, 0, &file), 0);
	assert_true(file > 0);
	/* The unit's folder makes it longer than there is room for. */
	table.folder = (const char *)memset(line_str.bytes, 'c', 8000);
	assert_int_equal(line_table_file(&table, 1, &file), 0);
	assert_int_equal(file, 0);
	assert_int_equal(line_table_file(&table, 2, &file), 0);
	assert_int_equal(file, 0);
}

static void the_budget_ends(void **state)
{
	begin_header();
	put_old_files();
	end_header();
	end_table();
	table.budget_bytes = 2 * (f.line.size - 4);
	assert_int_equal(open_table(), 0);
	assert_int_equal(open_table(), 0);
	assert_int_equal(open_table(), -EBADMSG);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	begin_header();
	put_old_files();
	end_header();
	put_all_files(1, 3);
	end_table();
	for (n = 0;; n++) {
		fail_allocation(n);
		r = open_table();
		if (r == 0)
			r = line_table_read_rows(&table);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		line_table_done(&table);
		line_table_init(&table, reading.builder, BUDGET);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(old_paths_are_joined),
		TEST(new_paths_are_joined),
		TEST(opcodes_do_what_they_should),
		TEST(files_may_be_defined_later),
		TEST(unknown_opcodes_are_passed_over),
		TEST(a_range_of_no_lines_divides_nothing),
		TEST(a_missing_end_ends_the_rows),
		TEST(every_shorter_table_is_survived),
		TEST(impossible_headers_are_refused),
		TEST(entries_without_bytes_are_refused),
		TEST(paths_that_are_too_long_are_unknown),
		TEST(the_budget_ends),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

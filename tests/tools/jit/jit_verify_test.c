/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/jit/jit_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void begin(void)
{
	jitdump_fixture_header(&jit_run.dump, 1);
}

static void load(uint64_t time_ns, uint64_t address)
{
	jitdump_fixture_load(&jit_run.dump, time_ns, 1, address, 64, time_ns, "hot");
}

/* Lines of one entry, at `address` + `distance`. */
static void lines(uint64_t time_ns, uint64_t address, int64_t distance)
{
	jitdump_fixture_begin_debug(&jit_run.dump, time_ns, address, 1);
	jitdump_fixture_debug_entry(&jit_run.dump, address + (uint64_t)distance, 1, 1, "a.js");
	jitdump_fixture_end(&jit_run.dump);
}

/* How often the kind is reported in JSON. */
static size_t count(const char *kind)
{
	char text[64];
	size_t times = 0;

	(void)snprintf(text, sizeof(text), "\"kind\":\"%s\"", kind);
	for (const char *at = ran.out; (at = strstr(at, text)); at++)
		times++;
	return times;
}

/* Runs verify. Is this, at `offset`, the only deviation, apart from notes? */
static void check_only(const char *kind, uint64_t offset)
{
	char text[96];
	size_t others = 0;

	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_FAILURE);
	assert_string_equal(ran.err, "");
	(void)snprintf(text, sizeof(text), "{\"offset\":%llu,\"kind\":\"%s\",\"note\":false,",
		(unsigned long long)offset, kind);
	if (!strstr(ran.out, text))
		fail_msg("no %s in: %s", text, ran.out);
	for (const char *at = ran.out; (at = strstr(at, "\"note\":false")); at++)
		others++;
	if (others != count(kind))
		fail_msg("more than %s in: %s", kind, ran.out);
}

static void a_good_file_has_no_deviations(void **state)
{
	begin();
	lines(5, 0x1000, 0);
	load(5, 0x1000);
	jitdump_fixture_move(&jit_run.dump, 6, 1, 0x1000, 0x2000, 64, 5);
	jitdump_fixture_unwinding(&jit_run.dump, 7, 48, 20);
	load(7, 0x1000);
	jitdump_fixture_close(&jit_run.dump, 8);
	assert_int_equal(jit_run_dump(&jit_verify, ""), EXIT_SUCCESS);
	assert_string_equal(ran.out, "6 records, nothing to tell of\n");
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
	jit_run.dump.size -= 16;
	assert_int_equal(jit_run_dump(&jit_verify, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "  no-close         the last record is no CLOSE\n"));
}

static void oddities_of_the_header_are_reported(void **state)
{
	begin();
	load(5, 0x1000);
	jitdump_fixture_set_u32(&jit_run.dump, 12, 0);
	check_only("header-machine", 12);
	jitdump_fixture_set_u32(&jit_run.dump, 12, 62);
	jitdump_fixture_set_u32(&jit_run.dump, 16, 0xdeadbeef);
	check_only("header-padding", 16);
	jitdump_fixture_set_u32(&jit_run.dump, 16, 0);
	jitdump_fixture_set_u64(&jit_run.dump, 32, 6);
	check_only("header-flags", 32);
	jitdump_fixture_set_u64(&jit_run.dump, 32, 1);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_SUCCESS);
	assert_int_equal(count("cpu-clock"), 1);
}

static void a_header_without_records_is_checked(void **state)
{
	begin();
	jitdump_fixture_set_u32(&jit_run.dump, 16, 1);
	check_only("header-padding", 16);
	/* Eight bytes more of it. */
	jitdump_fixture_set_u32(&jit_run.dump, 16, 0);
	jitdump_fixture_set_u32(&jit_run.dump, 8, 48);
	jitdump_fixture_u64(&jit_run.dump, 0);
	check_only("header-size", 8);
}

static void clocks_are_distinguished(void **state)
{
	uint64_t now_us = (uint64_t)time(NULL) * 1000000;

	begin();
	load(5, 0x1000);
	jitdump_fixture_set_u64(&jit_run.dump, 24, now_us);
	check_only("header-clock", 24);
	jitdump_fixture_set_u64(&jit_run.dump, 24, now_us * 1000);
	check_only("header-clock", 24);
	/* The same clock, but later than the records that follow. */
	jitdump_fixture_set_u64(&jit_run.dump, 24, 6);
	check_only("header-clock", 24);
	assert_non_null(strstr(ran.out, "0.000000006, is later than"));
	jitdump_fixture_set_u64(&jit_run.dump, 24, 4);
	jitdump_fixture_set_u64(&jit_run.dump, 40 + 8, now_us * 1000);
	check_only("clock", 48);
	jitdump_fixture_set_u64(&jit_run.dump, 40 + 8, now_us);
	check_only("clock", 48);
	jitdump_fixture_set_u64(&jit_run.dump, 24, 0);
	jitdump_fixture_set_u64(&jit_run.dump, 40 + 8, 0);
	check_only("clock", 48);
}

static void times_must_not_go_backward(void **state)
{
	begin();
	load(5, 0x1000);
	load(4, 0x2000);
	load(5, 0x3000);
	check_only("backward", 40 + 56 + 4 + 64 + 8);
	assert_int_equal(count("backward"), 1);
}

static void damaged_records_are_reported(void **state)
{
	size_t at;

	begin();
	at = jit_run.dump.size;
	jitdump_fixture_begin(&jit_run.dump, 1, 5);
	jitdump_fixture_u64(&jit_run.dump, 0);
	jitdump_fixture_end(&jit_run.dump);
	load(5, 0x1000);
	check_only("damaged", at);
	at = jit_run.dump.size;
	load(6, 0x2000);
	jitdump_fixture_set_u32(&jit_run.dump, at + 4, 3);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_FAILURE);
	assert_int_equal(count("record-size"), 1);
	assert_int_equal(count("partial-tail"), 0);
}

static void a_partial_tail_is_reported(void **state)
{
	size_t at;

	begin();
	at = jit_run.dump.size;
	load(5, 0x1000);
	jit_run.dump.size -= 70;
	check_only("partial-tail", at);
	jit_run.dump.size = at + 5;
	check_only("partial-tail", at);
}

static void unknown_records_are_reported(void **state)
{
	begin();
	jitdump_fixture_begin(&jit_run.dump, 5, 5);
	jitdump_fixture_end(&jit_run.dump);
	check_only("unknown-record", 40);
}

static void each_foreign_pid_is_reported_once(void **state)
{
	begin();
	for (uint32_t i = 0; i < 100; i++)
		jitdump_fixture_load(&jit_run.dump, 5 + i, 2 + i % 3, 0x1000, 64, i, "hot");
	check_only("pids", 56);
	assert_int_equal(count("pids"), 3);
}

static void oddities_of_code_are_reported(void **state)
{
	begin();
	jitdump_fixture_load(&jit_run.dump, 5, 1, 0x1000, 4, 0, "");
	check_only("no-name", 40);
	jit_run.dump.size = 40;
	jitdump_fixture_load(&jit_run.dump, 5, 1, 0x1000, 4, 0,
		"a\xff"
		"b");
	check_only("name-text", 96);
	jit_run.dump.size = 40;
	jitdump_fixture_load(&jit_run.dump, 5, 1, 0x1000, 4, 0, "*\xc3\xbcn\xc3\xaf");
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_SUCCESS);
	jit_run.dump.size = 40;
	jitdump_fixture_load_without_code(&jit_run.dump, 5, 1, 0x1000, 4, 0, "stub");
	check_only("no-code", 80);
	jit_run.dump.size = 40;
	jitdump_fixture_begin_load(&jit_run.dump, 5, 1, 0, 0x1000, 0, 0, "llvm");
	jitdump_fixture_end(&jit_run.dump);
	check_only("vma", 64);
	jit_run.dump.size = 40;
	jitdump_fixture_load_without_code(&jit_run.dump, 5, 1, UINT64_MAX - 2, 4, 0, "end");
	check_only("address", 72);
}

static void move_records_need_a_code_record(void **state)
{
	size_t at;

	begin();
	load(5, 0x1000);
	at = jit_run.dump.size;
	jitdump_fixture_move(&jit_run.dump, 6, 1, 0x5000, 0x6000, 64, 1);
	check_only("move-unknown", at + 32);
	jit_run.dump.size = at;
	jitdump_fixture_move(&jit_run.dump, 6, 1, 0x1000, 0x6000, 32, 1);
	check_only("move-size", at + 48);
	jit_run.dump.size = at;
	jitdump_fixture_move(&jit_run.dump, 6, 1, 0x1000, 0x6000, 64, 1);
	jitdump_fixture_move(&jit_run.dump, 7, 1, 0x1000, 0x7000, 64, 1);
	check_only("move-unknown", at + 64 + 32);
	jitdump_fixture_set_u64(&jit_run.dump, at + 24, 0);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_FAILURE);
	assert_int_equal(count("vma"), 1);
}

static void line_records_need_a_code_record(void **state)
{
	size_t at;

	begin();
	lines(5, 0x1000, 0);
	/* Other records may stand between. */
	load(5, 0x2000);
	load(5, 0x1000);
	at = jit_run.dump.size;
	lines(6, 0x1000, 0);
	check_only("lines-unclaimed", at);
	assert_int_equal(count("lines-unclaimed"), 1);
	/* Told anew before the code came: the first were of none. */
	lines(7, 0x1000, 0);
	load(8, 0x1000);
	check_only("lines-unclaimed", at);
	assert_int_equal(count("lines-unclaimed"), 1);
}

static void damaged_lines_are_reported(void **state)
{
	begin();
	jitdump_fixture_begin_debug(&jit_run.dump, 5, 0x1000, 2);
	jitdump_fixture_debug_entry(&jit_run.dump, 0x1000, 1, 0, "a");
	jitdump_fixture_fill(&jit_run.dump, 0x41, 20);
	jitdump_fixture_end(&jit_run.dump);
	load(5, 0x1000);
	check_only("lines-damaged", 40);
	assert_non_null(strstr(ran.out, "entry 2 of 2 makes no sense"));
	jit_run.dump.size = 40;
	lines(5, 0x100000000000, -((int64_t)1 << 40));
	load(5, 0x100000000000);
	check_only("lines-damaged", 40);
	/* Erlang's deviation is no damage. */
	jit_run.dump.size = 40;
	lines(5, 0x100000000000, -50);
	load(5, 0x100000000000);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_SUCCESS);
}

static void a_bias_is_reported_if_all_lines_have_it(void **state)
{
	begin();
	for (uint64_t i = 0; i < 4; i++) {
		lines(5, 0x1000 * i, i == 2 ? 67 : 64);
		load(5, 0x1000 * i);
	}
	check_only("lines-biased", 40);
	assert_int_equal(count("lines-biased"), 1);
	lines(5, 0x9000, 63);
	load(5, 0x9000);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_SUCCESS);
}

static void parts_of_unwinding_must_fit(void **state)
{
	begin();
	jitdump_fixture_unwinding(&jit_run.dump, 5, 16, 20);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_FAILURE);
	assert_int_equal(count("unwinding"), 1);
	assert_int_equal(count("damaged"), 0);
}

static void records_after_close_are_reported(void **state)
{
	begin();
	jitdump_fixture_close(&jit_run.dump, 5);
	load(5, 0x1000);
	jitdump_fixture_close(&jit_run.dump, 5);
	check_only("after-close", 56);
	assert_int_equal(count("no-close"), 0);
}

static void text_shows_some_of_each_kind_and_a_total(void **state)
{
	begin();
	for (uint64_t i = 0; i < 100; i++)
		jitdump_fixture_load(&jit_run.dump, 5 + i, 1, 0x1000 * i, 4, i, "");
	assert_int_equal(jit_run_dump(&jit_verify, ""), EXIT_FAILURE);
	/* Eight, the note, and an empty line, a title and two sums. */
	assert_int_equal(jit_run_lines(ran.out), 8 + 1 + 4);
	assert_non_null(strstr(ran.out, "0x00000028  no-name          its name is empty\n"));
	assert_non_null(strstr(ran.out, "\n       100  no-name          samples in this code "
					"have no name\n"));
	assert_int_equal(jit_run_dump(&jit_verify, "--all"), EXIT_FAILURE);
	assert_int_equal(jit_run_lines(ran.out), 100 + 1 + 4);
	assert_int_equal(jit_run_dump(&jit_verify, "--json"), EXIT_FAILURE);
	assert_int_equal(jit_run_lines(ran.out), 100 + 1);
}

static void a_file_that_is_not_a_dump_fails(void **state)
{
	assert_true(jit_run_write("1000 10 a perf map\n", 19));
	assert_int_equal(jit_run_file(&jit_verify, ""), EXIT_FAILURE);
	assert_true(command_run_complained("is no jitdump file"));
	assert_int_equal(command_run(&jit_verify, "/nonexistent"), EXIT_FAILURE);
	assert_true(command_run_complained("cannot open"));
	assert_int_equal(command_run(&jit_verify, ""), 2);
	assert_non_null(strstr(ran.err, "jit verify --help"));
	assert_int_equal(command_run(&jit_verify, "--help"), EXIT_SUCCESS);
}

static void failing_allocations_are_reported(void **state)
{
	begin();
	for (uint64_t i = 0; i < 100; i++)
		lines(5, 0x1000 * i, 0);
	load(6, 0x1000);
	assert_true(jit_run_write(jit_run.dump.bytes, jit_run.dump.size));
	assert_true(FAIL_EACH_ALLOCATION(jit_run_file(&jit_verify, ""), EXIT_FAILURE,
			    command_run_complained("Cannot allocate memory"), EXIT_FAILURE) > 5);
	assert_string_equal(ran.err, "");
}

#define JIT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, jit_run_set_up, jit_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(a_good_file_has_no_deviations),
		JIT_TEST(oddities_of_the_header_are_reported),
		JIT_TEST(a_header_without_records_is_checked),
		JIT_TEST(clocks_are_distinguished),
		JIT_TEST(times_must_not_go_backward),
		JIT_TEST(damaged_records_are_reported),
		JIT_TEST(a_partial_tail_is_reported),
		JIT_TEST(unknown_records_are_reported),
		JIT_TEST(each_foreign_pid_is_reported_once),
		JIT_TEST(oddities_of_code_are_reported),
		JIT_TEST(move_records_need_a_code_record),
		JIT_TEST(line_records_need_a_code_record),
		JIT_TEST(damaged_lines_are_reported),
		JIT_TEST(a_bias_is_reported_if_all_lines_have_it),
		JIT_TEST(parts_of_unwinding_must_fit),
		JIT_TEST(records_after_close_are_reported),
		JIT_TEST(text_shows_some_of_each_kind_and_a_total),
		JIT_TEST(a_file_that_is_not_a_dump_fails),
		JIT_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens at the bounds, and who pays for it. */
#include "tests/jit/jit_table_fixture.h"

#include <errno.h>

static size_t count_reports(const struct jit_fixture *fixture)
{
	struct jit_process_report report;
	size_t cursor = 0, count = 0;

	while (jit_table_next(fixture->table, &cursor, &report))
		count++;
	return count;
}

static struct jit_process_report report_of(const struct jit_fixture *fixture, pid_t pid)
{
	struct jit_process_report report;
	size_t cursor = 0;

	do
		assert_true(jit_table_next(fixture->table, &cursor, &report));
	while (report.pid != pid);
	return report;
}

static bool is_known(const struct jit_fixture *fixture, pid_t pid)
{
	struct jit_process_report report;
	size_t cursor = 0;

	while (jit_table_next(fixture->table, &cursor, &report))
		if (report.pid == pid)
			return true;
	return false;
}

static uint64_t processes_evicted(const struct jit_fixture *fixture)
{
	struct jit_table_counters counters;

	jit_table_counters(fixture->table, &counters);
	return counters.processes_evicted;
}

static void processes_are_bounded_and_those_that_ended_give_way(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;

	limits.processes = 3;
	jit_fixture_limit(fixture, &limits);
	for (pid_t pid = 5; pid < 8; pid++)
		jit_fixture_memory(fixture, pid, 10);
	jit_fixture_exit(fixture, 6, 40);
	jit_fixture_exit(fixture, 5, 50);
	jit_fixture_memory(fixture, 8, 60);
	assert_int_equal(count_reports(fixture), 3);
	assert_false(report_of(fixture, 8).has_ended);
	assert_true(report_of(fixture, 5).has_ended);
	/* One that gives way to the next with its own pid. */
	jit_fixture_memory(fixture, 5, 70);
	assert_int_equal(count_reports(fixture), 3);
	assert_false(report_of(fixture, 5).has_ended);
	assert_int_equal(processes_evicted(fixture), 0);
}

static void the_least_recently_sampled_process_is_evicted(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;

	limits.processes = 3;
	jit_fixture_limit(fixture, &limits);
	for (pid_t pid = 5; pid < 8; pid++)
		jit_fixture_memory(fixture, pid, 10);
	jit_fixture_memory(fixture, 5, 20);
	jit_fixture_memory(fixture, 7, 30);
	jit_fixture_memory(fixture, 8, 40);
	assert_false(is_known(fixture, 6));
	assert_true(is_known(fixture, 5) && is_known(fixture, 7) && is_known(fixture, 8));
	/* Who forks is not the one. */
	jit_fixture_fork(fixture, 9, 5, 50);
	assert_false(is_known(fixture, 7));
	assert_true(is_known(fixture, 5) && is_known(fixture, 8) && is_known(fixture, 9));
	assert_int_equal(processes_evicted(fixture), 2);
}

/* Neither forks that are never sampled nor processes that are sampled all the time. */
static void processes_of_one_user_evict_no_others(void **state)
{
	static const bool are_sampled[] = { false, true };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_fixture *fixture = *state;

	limits.processes = 8;
	jit_fixture_process_of(fixture, 5, 5, 1000);
	jit_fixture_process_of(fixture, 6, 6, 1001);
	for (size_t i = 0; i < sizeof(are_sampled) / sizeof(are_sampled[0]); i++) {
		jit_fixture_limit(fixture, &limits);
		jit_fixture_memory(fixture, 5, 10);
		jit_fixture_memory(fixture, 6, 20);
		jit_fixture_run(fixture, 30);
		for (pid_t pid = 100; pid < 120; pid++) {
			jit_fixture_fork(fixture, pid, 6, (uint64_t)pid);
			if (are_sampled[i])
				jit_fixture_memory(fixture, pid, (uint64_t)pid);
		}
		assert_true(is_known(fixture, 5));
		for (pid_t pid = 100; pid < 120; pid++)
			jit_fixture_exit(fixture, pid, 120);
	}
}

/* Its last samples may still come. */
static void an_ended_process_of_another_user_is_not_evicted(void **state)
{
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_fixture *fixture = *state;

	limits.processes = 4;
	jit_fixture_process_of(fixture, 5, 5, 1000);
	jit_fixture_process_of(fixture, 6, 6, 1001);
	jit_fixture_limit(fixture, &limits);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_memory(fixture, 6, 20);
	jit_fixture_run(fixture, 30);
	jit_fixture_exit(fixture, 5, 40);
	jit_fixture_run(fixture, 50);
	assert_true(jit_table_is_final(fixture->table, 5, 35 * MS, false));
	for (pid_t pid = 100; pid < 120; pid++)
		jit_fixture_fork(fixture, pid, 6, (uint64_t)pid);
	assert_true(is_known(fixture, 5));
}

static void pids_that_come_and_go_are_all_found(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;

	limits.processes = 50;
	jit_fixture_limit(fixture, &limits);
	for (uint64_t ms = 1; ms < 2000; ms++) {
		pid_t pid = 1 + (pid_t)(ms * 7 % 90);

		jit_fixture_memory(fixture, pid, ms);
		/* Nothing of it is known, but it may be: it is there. */
		assert_false(jit_table_is_final(fixture->table, pid, ms * MS, false));
		jit_fixture_exit(fixture, pid, ms);
	}
	assert_int_equal(count_reports(fixture), 50);
	jit_fixture_retire(fixture, 3000);
	assert_int_equal(count_reports(fixture), 50); /* not read as yet */
	jit_fixture_run(fixture, 3000);
	jit_fixture_retire(fixture, 3000);
	assert_int_equal(count_reports(fixture), 0);
	jit_fixture_memory(fixture, 5, 4000);
	assert_int_equal(count_reports(fixture), 1);
}

/* It is followed again as soon as a sample is in it. */
static void the_least_recently_sampled_file_is_evicted(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_table_counters counters;
	struct jit_dump dumps[3];

	limits.files = 2;
	jit_fixture_limit(fixture, &limits);
	for (int i = 0; i < 3; i++) {
		jit_fixture_runtime(fixture, 5 + i, 10, &dumps[i]);
		jit_fixture_load(&dumps[i], 20, 5 + (uint32_t)i, CODE, "named");
		jit_fixture_run(fixture, 50 + (uint64_t)i);
		if (i != 1)
			jit_fixture_memory(fixture, 5 + i, 60);
	}
	assert_true(jit_fixture_has_names(fixture, 5));
	assert_false(jit_fixture_has_names(fixture, 6));
	assert_true(jit_fixture_has_names(fixture, 7));
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.files_evicted, 1);

	jit_fixture_memory(fixture, 7, 5000);
	jit_fixture_memory(fixture, 6, 5000);
	jit_fixture_run(fixture, 5010);
	assert_string_equal(jit_fixture_name(fixture, 6, 40, CODE), "named");
	assert_string_equal(jit_fixture_name(fixture, 7, 40, CODE), "named");
	assert_false(jit_fixture_has_names(fixture, 5));
	for (int i = 0; i < 3; i++)
		jit_fixture_dump_done(&dumps[i]);
}

static void beside_a_dump_a_map_takes_no_room(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_table_counters counters;
	struct jit_dump dump, other;

	limits.files = 2;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_process(fixture, 5);
	jit_fixture_write(fixture, 5, "root/tmp/perf-5.map", "1000 40 mapped\n");
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	jit_fixture_flush(&dump);
	jit_fixture_marker(fixture, 5, 30, &dump);
	jit_fixture_run(fixture, 100);
	jit_fixture_run(fixture, 200);
	jit_fixture_runtime(fixture, 6, 300, &other);
	jit_fixture_memory(fixture, 5, 310);
	jit_fixture_run(fixture, 5000);
	assert_true(jit_fixture_has_names(fixture, 5));
	assert_true(jit_fixture_has_names(fixture, 6));
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.files_evicted, 0);
	jit_fixture_dump_done(&dump);
	jit_fixture_dump_done(&other);
}

/* `count` functions of their own long names. */
static void write_many(struct jit_dump *dump, uint32_t pid, uint64_t ms, unsigned count)
{
	char name[128];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%0100u", i);
		jitdump_fixture_load_without_code(&dump->records, ms * MS, pid,
			CODE + (uint64_t)i * CODE_BYTES, CODE_BYTES, i, name);
	}
	jit_fixture_flush(dump);
}

static void the_largest_process_is_compacted_first(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump small, big, other, bigger;
	size_t before;

	limits.bytes = 1 << 20;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &small);
	jit_fixture_runtime(fixture, 6, 10, &big);
	jit_fixture_runtime(fixture, 7, 10, &other);
	jit_fixture_runtime(fixture, 8, 10, &bigger);
	jit_fixture_load(&small, 20, 5, CODE, "small");
	write_many(&big, 6, 20, 10000);
	write_many(&other, 7, 20, 10000);
	jit_fixture_run(fixture, 1000);
	before = report_of(fixture, 6).bytes + report_of(fixture, 7).bytes;
	assert_true(before > limits.bytes / 2);
	/* They have written all that they will, and have to give way all the same. */
	write_many(&bigger, 8, 20, 100000);
	for (uint64_t ms = 2000; ms < 20000; ms += 1000) {
		size_t bytes = 0;

		jit_fixture_run(fixture, ms);
		for (pid_t pid = 5; pid <= 8; pid++)
			bytes += report_of(fixture, pid).bytes;
		assert_true(bytes <= limits.bytes);
	}
	assert_true(report_of(fixture, 6).bytes + report_of(fixture, 7).bytes < before);
	assert_int_equal(report_of(fixture, 8).jitdump.counters.loads, 100000);
	assert_true(report_of(fixture, 8).code.code_dropped > 0);
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "small");
	assert_true(report_of(fixture, 6).symbols > 500);
	assert_true(report_of(fixture, 7).symbols > 500);
	assert_true(jit_table_bytes(fixture->table) < 2 * limits.bytes);
	jit_fixture_dump_done(&small);
	jit_fixture_dump_done(&big);
	jit_fixture_dump_done(&other);
	jit_fixture_dump_done(&bigger);
}

static void write_lines(struct jit_dump *dump)
{
	enum { RECORDS = 60, ENTRIES = 80 };

	for (uint64_t record = 0; record < RECORDS; record++) {
		jitdump_fixture_begin_debug(&dump->records, 20 * MS, 0x1000 * record, ENTRIES);
		for (uint64_t i = 0; i < ENTRIES; i++)
			jitdump_fixture_debug_entry(&dump->records, 0x1000 * record + i, 1, 0,
				"a/long/enough/name/of/a/file.js");
		jitdump_fixture_end(&dump->records);
	}
	jit_fixture_flush(dump);
}

/* Source lines that no code comes for are held for so long as there is room. */
static void lines_without_code_keep_to_the_bound(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 8 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dumps[COUNT];

	limits.bytes = 1 << 20;
	jit_fixture_limit(fixture, &limits);
	for (int i = 0; i < COUNT; i++) {
		jit_fixture_runtime(fixture, 5 + i, 10, &dumps[i]);
		write_lines(&dumps[i]);
	}
	jit_fixture_run(fixture, 1000);
	assert_true(report_of(fixture, 5).jitdump.counters.lines_unclaimed > 0);
	assert_true(jit_table_bytes(fixture->table) < 2 * limits.bytes);
	for (int i = 0; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

static void many_small_ones_keep_to_the_bound_together(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 20 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dumps[COUNT];
	size_t bytes = 0;

	limits.bytes = 1 << 20;
	jit_fixture_limit(fixture, &limits);
	for (int i = 0; i < COUNT; i++) {
		jit_fixture_runtime(fixture, 5 + i, 10, &dumps[i]);
		write_many(&dumps[i], 5 + (uint32_t)i, 20, 3000);
	}
	/* All at once, as after a long pause. */
	jit_fixture_run(fixture, 1000);
	for (int i = 0; i < COUNT; i++) {
		struct jit_process_report report = report_of(fixture, 5 + i);

		assert_int_equal(report.jitdump.counters.loads, 3000);
		assert_true(report.symbols > 50);
		bytes += report.bytes;
	}
	assert_true(bytes <= limits.bytes);

	/* When the others are gone, who gave way may have what they had. */
	for (int i = 1; i < COUNT; i++)
		jit_fixture_exit(fixture, 5 + i, 2000);
	jit_fixture_run(fixture, 3000);
	jit_fixture_retire(fixture, 3001);
	bytes = report_of(fixture, 5).bytes;
	jit_fixture_run(fixture, 4000);
	write_many(&dumps[0], 5, 4000, 3000);
	jit_fixture_run(fixture, 5000);
	assert_true(report_of(fixture, 5).bytes > 3 * bytes);
	for (int i = 0; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

static void a_fast_writer_delays_only_itself(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump calm, wild;

	limits.steps_per_s = 2000;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &wild);
	jit_fixture_runtime(fixture, 6, 10, &calm);
	jit_fixture_run(fixture, 20);
	for (uint64_t ms = 1000; ms < 10000; ms += 1000) {
		write_many(&wild, 5, ms, 5000);
		jit_fixture_load(&calm, ms, 6, CODE, ms % 2000 ? "odd" : "even");
		jit_fixture_run(fixture, ms + 500);
		assert_string_equal(
			jit_fixture_name(fixture, 6, ms, CODE), ms % 2000 ? "odd" : "even");
		assert_int_equal(report_of(fixture, 6).jitdump.unread_bytes, 0);
	}
	assert_true(report_of(fixture, 5).jitdump.unread_bytes > 0);
	assert_in_range(report_of(fixture, 5).jitdump.counters.loads, 9000, 2000 * 10 + 2000);
	jit_fixture_dump_done(&calm);
	jit_fixture_dump_done(&wild);
}

/* Its fork goes on writing, faster than it is read. */
static void who_has_ended_is_over_when_what_it_left_is_read(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump;
	uint64_t ms = 1000;

	limits.steps_per_s = 2000;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_process(fixture, 6);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 20);
	jit_fixture_fork(fixture, 6, 5, 30);
	write_many(&dump, 6, 100, 8000);
	jit_fixture_load(&dump, 200, 5, CODE + 0x1000000, "last");
	jit_fixture_exit(fixture, 5, 500);
	for (; ms <= 3000; ms += 1000) {
		write_many(&dump, 6, ms, 5000);
		jit_fixture_run(fixture, ms);
		assert_false(jit_table_is_final(fixture->table, 5, 400 * MS, false));
	}
	for (; ms <= 7000; ms += 1000) {
		write_many(&dump, 6, ms, 5000);
		jit_fixture_run(fixture, ms);
	}
	assert_true(report_of(fixture, 6).jitdump.unread_bytes > 0);
	assert_true(jit_table_is_final(fixture->table, 5, 400 * MS, false));
	assert_string_equal(jit_fixture_name(fixture, 5, 400, CODE + 0x1000000), "last");
	/* And stays so. */
	write_many(&dump, 6, ms, 5000);
	jit_fixture_run(fixture, ms);
	assert_true(jit_table_is_final(fixture->table, 5, 400 * MS, false));
	/* No time has passed: nothing may be read. */
	jit_fixture_run(fixture, ms);
	assert_true(jit_table_is_final(fixture->table, 5, 400 * MS, false));
	jit_fixture_dump_done(&dump);
}

static void at_the_end_all_is_read(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump;

	limits.steps_per_s = 10;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	write_many(&dump, 5, 20, 5000);
	jit_fixture_run(fixture, 100);
	assert_true(report_of(fixture, 5).jitdump.counters.loads <= 10);
	/* No further than it may. */
	assert_int_equal(jit_table_finish(fixture->table, 200 * MS, 0), 0);
	assert_true(report_of(fixture, 5).jitdump.counters.loads <= 10);
	assert_int_equal(jit_table_finish(fixture->table, 200 * MS, UINT64_MAX), 0);
	assert_int_equal(report_of(fixture, 5).jitdump.counters.loads, 5000);
	jit_fixture_dump_done(&dump);
}

/* It would delay the next drain, the more the later it comes. */
static void a_run_after_a_pause_is_as_short_as_others(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump;

	limits.steps_per_s = 300;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 1000);
	write_many(&dump, 5, 20, 5000);
	jit_fixture_run(fixture, 10000);
	assert_in_range(report_of(fixture, 5).jitdump.counters.loads, 200, 300);
	jit_fixture_dump_done(&dump);
}

static void a_clock_that_was_read_early_does_no_harm(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump;

	limits.steps_per_s = 100;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	write_many(&dump, 5, 20, 5000);
	jit_fixture_run(fixture, 1000);
	jit_fixture_run(fixture, 999);
	jit_fixture_run(fixture, 1000);
	assert_in_range(report_of(fixture, 5).jitdump.counters.loads, 50, 100);
	jit_fixture_dump_done(&dump);
}

static void processes_without_waiting_samples_are_removed(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "a");
	jit_fixture_exit(fixture, 5, 100);
	jit_fixture_run(fixture, 110);
	jit_fixture_retire(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "a");
	jit_fixture_retire(fixture, 101);
	assert_null(jit_fixture_name(fixture, 5, 50, CODE));
	assert_int_equal(count_reports(fixture), 0);
	jit_fixture_dump_done(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(processes_are_bounded_and_those_that_ended_give_way),
		WITH_JIT(the_least_recently_sampled_process_is_evicted),
		WITH_JIT(processes_of_one_user_evict_no_others),
		WITH_JIT(an_ended_process_of_another_user_is_not_evicted),
		WITH_JIT(pids_that_come_and_go_are_all_found),
		WITH_JIT(the_least_recently_sampled_file_is_evicted),
		WITH_JIT(beside_a_dump_a_map_takes_no_room),
		WITH_JIT(the_largest_process_is_compacted_first),
		WITH_JIT(lines_without_code_keep_to_the_bound),
		WITH_JIT(many_small_ones_keep_to_the_bound_together),
		WITH_JIT(a_fast_writer_delays_only_itself),
		WITH_JIT(who_has_ended_is_over_when_what_it_left_is_read),
		WITH_JIT(at_the_end_all_is_read),
		WITH_JIT(a_run_after_a_pause_is_as_short_as_others),
		WITH_JIT(a_clock_that_was_read_early_does_no_harm),
		WITH_JIT(processes_without_waiting_samples_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/jit/jit_table_fixture.h"

#include <errno.h>

static void a_marker_opens_its_file_which_names_code_by_time(void **state)
{
	struct jit_fixture *fixture = *state;
	struct code_found found;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	/* Its header has not been read as yet. */
	assert_false(jit_fixture_has_names(fixture, 5));
	jit_fixture_load(&dump, 20, 5, CODE, "first");
	jit_fixture_load(&dump, 50, 5, CODE, "second");
	jit_fixture_run(fixture, 100);
	assert_true(jit_fixture_has_names(fixture, 5));
	assert_null(jit_fixture_name(fixture, 5, 15, CODE));
	assert_string_equal(jit_fixture_name(fixture, 5, 20, CODE), "first");
	assert_string_equal(jit_fixture_name(fixture, 5, 49, CODE + CODE_BYTES - 1), "first");
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "second");
	assert_null(jit_fixture_name(fixture, 5, 50, CODE + CODE_BYTES));
	assert_null(jit_fixture_name(fixture, 6, 50, CODE));

	/* Counted over a time in which the code changed, or came. */
	assert_int_equal(jit_table_find(fixture->table, 5, 30 * MS, 49 * MS, CODE, false, &found),
		JIT_FOUND);
	assert_int_equal(jit_table_find(fixture->table, 5, 30 * MS, 50 * MS, CODE, false, &found),
		JIT_AMBIGUOUS);
	assert_int_equal(jit_table_find(fixture->table, 5, 15 * MS, 30 * MS, CODE, false, &found),
		JIT_AMBIGUOUS);
	assert_int_equal(jit_table_find(fixture->table, 5, 15 * MS, 16 * MS, CODE, false, &found),
		JIT_UNKNOWN);
	jit_fixture_dump_done(&dump);
}

static void other_mappings_mark_nothing(void **state)
{
	struct jit_fixture *fixture = *state;
	static const char *const paths[] = { "/tmp/jit-5.so", "//anon", "/tmp/jit-.dump",
		"[vdso]" };
	struct jit_process_report report;
	struct process_mapping mapping;
	size_t cursor = 0;

	jit_fixture_process(fixture, 5);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		mapping = jit_fixture_map(fixture, 5, 10, paths[i]);
		assert_int_equal(jit_table_note_marker(fixture->table, 5, 10 * MS, &mapping), 0);
	}
	assert_false(jit_table_next(fixture->table, &cursor, &report));
}

static void execve_begins_afresh(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump, next;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "before");
	jit_fixture_run(fixture, 50);
	jit_fixture_exec(fixture, 5, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 90, CODE), "before");
	assert_null(jit_fixture_name(fixture, 5, 110, CODE));
	/* Another program: nothing will be told of its code, until it marks something. */
	assert_true(jit_table_is_final(fixture->table, 5, 110 * MS, false));

	jit_fixture_dump(fixture, &next, 55);
	jitdump_fixture_header(&next.records, 5);
	jit_fixture_marker(fixture, 5, 150, &next);
	jit_fixture_load(&next, 120, 5, CODE, "after");
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 90, CODE), "before");
	assert_string_equal(jit_fixture_name(fixture, 5, 130, CODE), "after");
	jit_fixture_dump_done(&dump);
	jit_fixture_dump_done(&next);
}

/* As in one container after another: pid, path and inode are those of the one before. */
static void a_pid_is_used_again(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "of the first");
	jit_fixture_load(&dump, 30, 5, CODE + 0x100, "gone with it");
	jit_fixture_run(fixture, 50);
	jit_fixture_exit(fixture, 5, 100);
	jit_fixture_run(fixture, 110);

	jit_fixture_gone(fixture, 5);
	jit_fixture_process(fixture, 5);
	jit_fixture_fork(fixture, 5, 1, 150);
	assert_int_equal(ftruncate(dump.fd, 0), 0);
	jitdump_fixture_done(&dump.records);
	dump.flushed = 0;
	jitdump_fixture_header_of(&dump.records, 5, 1, 0);
	jit_fixture_marker(fixture, 5, 200, &dump);
	jit_fixture_load(&dump, 210, 5, CODE, "of the second");
	jit_fixture_run(fixture, 300);
	assert_string_equal(jit_fixture_name(fixture, 5, 90, CODE), "of the first");
	assert_string_equal(jit_fixture_name(fixture, 5, 90, CODE + 0x100), "gone with it");
	assert_string_equal(jit_fixture_name(fixture, 5, 250, CODE), "of the second");
	assert_null(jit_fixture_name(fixture, 5, 250, CODE + 0x100));
	jit_fixture_dump_done(&dump);
}

static void what_was_buffered_until_the_exit_is_read_after_it(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 20);
	assert_false(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	jit_fixture_load(&dump, 30, 5, CODE, "hot");
	jit_fixture_exit(fixture, 5, 100);
	jit_fixture_gone(fixture, 5);
	assert_false(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	assert_null(jit_fixture_name(fixture, 5, 50, CODE));
	jit_fixture_run(fixture, 110);
	assert_true(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "hot");
	jit_fixture_dump_done(&dump);
}

/* So soon that not even its marker could be opened: its parent has the same root and user. */
static void a_process_that_was_gone_at_once_is_named_by_way_of_its_parent(void **state)
{
	struct jit_fixture *fixture = *state;
	struct process_mapping mapping;
	struct jit_dump dump;
	char path[192];

	jit_fixture_process(fixture, 4);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	jit_fixture_load(&dump, 20, 5, CODE, "hot");
	(void)snprintf(path, sizeof(path), "%s/4/root/tmp/jit-5.dump", fixture->proc);
	assert_int_equal(rename(dump.path, path), 0);
	assert_int_equal(process_table_fork(fixture->processes, 5, 4, 5 * MS), 0);
	mapping = jit_fixture_map(fixture, 5, 10, "/tmp/jit-5.dump");
	assert_int_equal(jit_table_note_marker(fixture->table, 5, 10 * MS, &mapping), 0);
	jit_fixture_exit(fixture, 5, 40);
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 30, CODE), "hot");
	assert_true(jit_table_is_final(fixture->table, 5, 30 * MS, false));
	jit_fixture_dump_done(&dump);
}

static void later_records_settle_what_was_found(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;
	uint64_t told;

	assert_true(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	assert_int_equal(jit_table_code_version(fixture->table, 5, 50 * MS), 0);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 60, 5, CODE, "a");
	jit_fixture_run(fixture, 100);
	told = jit_table_code_version(fixture->table, 5, 50 * MS);
	assert_int_not_equal(told, 0);
	/* Threads do not write quite in order. */
	assert_false(jit_table_is_final(fixture->table, 5, 55 * MS, true));
	assert_true(jit_table_is_final(fixture->table, 5, 30 * MS, false));
	jit_fixture_load(&dump, 90, 5, CODE, "b");
	jit_fixture_run(fixture, 200);
	assert_true(jit_table_is_final(fixture->table, 5, 55 * MS, false));
	assert_int_not_equal(jit_table_code_version(fixture->table, 5, 50 * MS), told);
	jit_fixture_dump_done(&dump);
}

static void another_users_dump_is_distrusted(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_counters counters;
	struct jit_process_report report;
	struct jit_dump dump;
	size_t cursor = 0;

	jit_fixture_process_of(fixture, 5, 5, getuid() + 1);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	jit_fixture_load(&dump, 20, 5, CODE, "anothers");
	jit_fixture_marker(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 100);
	jit_fixture_run(fixture, 200);
	assert_null(jit_fixture_name(fixture, 5, 50, CODE));
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.files_distrusted, 1);
	assert_true(jit_table_next(fixture->table, &cursor, &report));
	/* That it has no perf map does not hide why its dump does not do. */
	assert_int_equal(report.open_error, -EPERM);
	jit_fixture_dump_done(&dump);
}

static void a_marker_that_is_mapped_again_changes_nothing(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_process_report report;
	struct jit_dump dump;
	size_t cursor = 0;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "a");
	jit_fixture_run(fixture, 50);
	jit_fixture_marker(fixture, 5, 60, &dump);
	assert_string_equal(jit_fixture_name(fixture, 5, 40, CODE), "a");
	jit_fixture_run(fixture, 100);
	assert_true(jit_table_next(fixture->table, &cursor, &report));
	assert_int_equal(report.jitdump.counters.loads, 1);
	assert_int_equal(report.sharers, 1);
	jit_fixture_dump_done(&dump);
}

static void of_two_dumps_the_last_that_can_be_opened_counts(void **state)
{
	struct jit_fixture *fixture = *state;
	struct process_mapping mapping;
	struct jit_dump dump, next;
	char path[192];

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "a");
	jit_fixture_run(fixture, 30);
	(void)snprintf(path, sizeof(path), "%s/5/map_files/%llx-%llx", fixture->proc,
		(unsigned long long)MARKER_START, (unsigned long long)MARKER_END);
	assert_int_equal(unlink(path), 0);
	mapping = jit_fixture_map(fixture, 5, 40, "/tmp/jit-77.dump");
	assert_int_equal(jit_table_note_marker(fixture->table, 5, 40 * MS, &mapping), 0);
	assert_string_equal(jit_fixture_name(fixture, 5, 30, CODE), "a");

	jit_fixture_dump(fixture, &next, 6);
	jitdump_fixture_header(&next.records, 5);
	jit_fixture_load(&next, 50, 5, CODE, "b");
	jit_fixture_marker(fixture, 5, 45, &next);
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 60, CODE), "b");
	assert_null(jit_fixture_name(fixture, 5, 40, CODE));
	jit_fixture_dump_done(&dump);
	jit_fixture_dump_done(&next);
}

/* Its clock is an hour ahead of ours. */
static void a_time_namespace_is_allowed_for(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_process_of(fixture, 5, 2, getuid());
	jit_fixture_write(fixture, 5, "timens_offsets",
		"monotonic        3600         0\nboottime            0         0\n");
	jit_fixture_dump(fixture, &dump, 2);
	jitdump_fixture_header(&dump.records, 2);
	jit_fixture_load(&dump, 3600000 + 20, 2, CODE, "first");
	jit_fixture_load(&dump, 3600000 + 50, 2, CODE, "second");
	jit_fixture_marker(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 30, CODE), "first");
	assert_string_equal(jit_fixture_name(fixture, 5, 60, CODE), "second");
	jit_fixture_dump_done(&dump);
}

static void those_that_ran_before_are_found(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_process(fixture, 5);
	jit_fixture_process(fixture, 6);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	jit_fixture_load(&dump, 1, 5, CODE, "old");
	jit_fixture_link(fixture, 5, &dump);
	(void)jit_fixture_map(fixture, 5, 10, dump.path);
	(void)jit_fixture_map(fixture, 6, 10, "//anon");
	assert_int_equal(jit_table_note_all(fixture->table), 0);
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 2, CODE), "old");
	assert_false(jit_fixture_has_names(fixture, 6));
	jit_fixture_dump_done(&dump);
}

static void each_process_is_reported_with_its_file(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_process_report report;
	struct jit_dump dump;
	size_t cursor = 0;

	jit_fixture_process_of(fixture, 5, 2, getuid());
	jit_fixture_dump(fixture, &dump, 2);
	/* V8's sign. */
	jitdump_fixture_header_of(&dump.records, 2, 0xdeadbeef, 0);
	jit_fixture_load(&dump, 20, 2, CODE, "a");
	jit_fixture_load(&dump, 30, 2, CODE + 0x100, "b");
	jit_fixture_marker(fixture, 5, 10, &dump);
	jit_fixture_memory(fixture, 6, 10);
	jit_fixture_run(fixture, 100);
	jit_fixture_exit(fixture, 6, 110);

	assert_true(jit_table_next(fixture->table, &cursor, &report));
	assert_int_equal(report.pid, 5);
	assert_int_equal(report.ns_pid, 2);
	assert_string_equal(report.comm, "rt");
	assert_false(report.has_ended);
	assert_string_equal(report.path, dump.path);
	assert_true(report.is_jitdump);
	assert_int_equal(report.sharers, 1);
	assert_string_equal(report.runtime, "V8");
	assert_int_equal(report.open_error, 0);
	assert_int_equal(report.symbols, 2);
	assert_true(report.bytes > 0);
	assert_int_equal(report.last_record_ns, 30 * MS);
	assert_int_equal(report.jitdump.counters.loads, 2);
	assert_int_equal(report.code.loads, 2);

	assert_true(jit_table_next(fixture->table, &cursor, &report));
	assert_int_equal(report.pid, 6);
	assert_true(report.has_ended);
	assert_string_equal(report.path, "");
	assert_string_equal(report.runtime, "");
	assert_int_equal(report.open_error, -ESRCH);
	assert_false(jit_table_next(fixture->table, &cursor, &report));
	assert_string_equal(jit_table_runtime(fixture->table, 5, 50 * MS), "V8");
	assert_string_equal(jit_table_runtime(fixture->table, 6, 50 * MS), "");
	assert_string_equal(jit_table_runtime(fixture->table, 7, 50 * MS), "");
	jit_fixture_dump_done(&dump);
}

/* One record of the future says nothing of what its writer still has to tell until then. */
static void records_of_the_future_settle_nothing(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump;

	limits.latest_ns = 100 * MS;
	jit_fixture_limit(fixture, &limits);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "first");
	jit_fixture_load(&dump, 600, 5, CODE + 0x100, "of the future");
	jit_fixture_run(fixture, 100);
	assert_true(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	assert_false(jit_table_is_final(fixture->table, 5, 90 * MS, false));
	assert_false(jit_table_is_final(fixture->table, 5, 200 * MS, false));
	jit_fixture_load(&dump, 250, 5, CODE, "second");
	jit_fixture_run(fixture, 300);
	assert_string_equal(jit_fixture_name(fixture, 5, 200, CODE), "first");
	assert_string_equal(jit_fixture_name(fixture, 5, 260, CODE), "second");
	jit_fixture_dump_done(&dump);
}

/* Everything that a process can do, once. */
static int live(const struct jit_fixture *fixture, const struct process_mapping_event *marker)
{
	const struct process_mapping_event memory = { .start = CODE, .end = 2 * CODE, .path = "" };
	struct process_mapping mapping = { .start = marker->start, .end = marker->end };
	struct jit_table *table = fixture->table;
	struct code_found found;
	int r;

	r = process_table_map(fixture->processes, 5, 10 * MS, marker, &mapping.file);
	if (r == 0)
		r = jit_table_note_marker(table, 5, 10 * MS, &mapping);
	if (r == 0)
		r = process_table_map(fixture->processes, 7, 10 * MS, &memory, NULL);
	if (r == 0)
		r = jit_table_note_memory(table, 7, 10 * MS, 0);
	if (r == 0)
		r = process_table_fork(fixture->processes, 6, 5, 100 * MS);
	if (r == 0)
		r = jit_table_run(table, 200 * MS);
	if (r == 0) {
		(void)jit_table_find(table, 6, 150 * MS, 150 * MS, CODE, false, &found);
		process_table_exit(fixture->processes, 5, 300 * MS);
		r = jit_table_note_all(table);
	}
	if (r == 0)
		r = jit_table_finish(table, 400 * MS, UINT64_MAX);
	if (r == 0) {
		process_table_retire(fixture->processes, 500 * MS);
		jit_table_retire(table, 500 * MS);
	}
	return r;
}

static void failing_allocations_are_reported_and_leave_it_whole(void **state)
{
	struct jit_fixture *fixture = *state;
	struct process_mapping_event marker = { .start = MARKER_START, .end = MARKER_END };
	struct jit_dump dump;
	size_t n;
	int r;

	jit_fixture_process(fixture, 6);
	jit_fixture_process(fixture, 7);
	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "a");
	jit_fixture_write(fixture, 7, "root/tmp/perf-7.map", "1000 40 g\n");
	marker.path = dump.path;
	for (n = 0;; n++) {
		jit_table_free(TAKE_PTR(fixture->table));
		process_table_free(fixture->processes);
		assert_int_equal(
			process_table_new(&process_table_default_limits, &fixture->processes), 0);
		fail_allocation(n);
		r = jit_table_new(&jit_table_default_limits, fixture->broker, fixture->processes,
			&fixture->table);
		if (r == 0)
			r = live(fixture, &marker);
		if (!allocation_failed())
			break;
		/* A view that cannot be made sees more than it should. */
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		/* After one failure it goes on. */
		if (fixture->table)
			assert_int_equal(live(fixture, &marker), 0);
	}
	assert_int_equal(r, 0);
	assert_true(n > 15);
	jit_fixture_dump_done(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(a_marker_opens_its_file_which_names_code_by_time),
		WITH_JIT(other_mappings_mark_nothing),
		WITH_JIT(execve_begins_afresh),
		WITH_JIT(a_pid_is_used_again),
		WITH_JIT(what_was_buffered_until_the_exit_is_read_after_it),
		WITH_JIT(a_process_that_was_gone_at_once_is_named_by_way_of_its_parent),
		WITH_JIT(later_records_settle_what_was_found),
		WITH_JIT(another_users_dump_is_distrusted),
		WITH_JIT(a_marker_that_is_mapped_again_changes_nothing),
		WITH_JIT(of_two_dumps_the_last_that_can_be_opened_counts),
		WITH_JIT(a_time_namespace_is_allowed_for),
		WITH_JIT(those_that_ran_before_are_found),
		WITH_JIT(each_process_is_reported_with_its_file),
		WITH_JIT(records_of_the_future_settle_nothing),
		WITH_JIT(failing_allocations_are_reported_and_leave_it_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

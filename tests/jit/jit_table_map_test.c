/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf maps, and which of a process's files counts. */
#include "tests/jit/jit_table_fixture.h"

#include <errno.h>

static const char map[] = "10000 40 mapped\n";

/* What the process writes into its own /tmp. */
static void write_map(const struct jit_fixture *fixture, pid_t pid, pid_t below, const char *text)
{
	char name[64], path[192];

	(void)snprintf(name, sizeof(name), "root/tmp/perf-%d.map", (int)pid);
	jit_fixture_write(fixture, below, name, text);
	(void)snprintf(path, sizeof(path), "%s/%d/%s", fixture->proc, (int)below, name);
	assert_int_equal(chmod(path, 0600), 0);
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

static void a_map_that_comes_later_is_found_and_followed(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_process_report report;
	uint64_t told;

	jit_fixture_process(fixture, 5);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	assert_false(jit_fixture_has_names(fixture, 5));
	assert_false(jit_table_is_final(fixture->table, 5, 20 * MS, false));
	assert_int_equal(report_of(fixture, 5).open_error, -ENOENT);

	write_map(fixture, 5, 5, map);
	/* It is not looked for all the time. */
	jit_fixture_run(fixture, 21);
	assert_null(jit_fixture_name(fixture, 5, 15, CODE));
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "mapped");
	assert_true(jit_fixture_has_names(fixture, 5));
	/* It tells no times: found is found. */
	assert_true(jit_table_is_final(fixture->table, 5, 20 * MS, true));
	assert_false(jit_table_is_final(fixture->table, 5, 20 * MS, false));

	told = jit_table_code_version(fixture->table, 5, 20 * MS);
	assert_int_not_equal(told, 0);
	write_map(fixture, 5, 5, "10000 40 mapped\n10040 40 more\n");
	jit_fixture_run(fixture, 300);
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE + 0x40), "more");
	assert_int_not_equal(jit_table_code_version(fixture->table, 5, 20 * MS), told);
	report = report_of(fixture, 5);
	assert_false(report.is_jitdump);
	assert_string_equal(report.path, "/tmp/perf-5.map");
	assert_int_equal(report.open_error, 0);
	assert_int_equal(report.symbols, 2);
	assert_int_equal(report.perf_map.counters.lines, 2);
	assert_int_equal(report.last_record_ns, 0);
}

/* Of a file that is no map, too: a line without an end. */
static void the_last_read_is_bounded(void **state)
{
	enum { CHUNK_BYTES = 1 << 20, CHUNKS = 100 };
	struct jit_fixture *fixture = *state;
	char *chunk = malloc(CHUNK_BYTES);
	struct jit_table_counters counters;
	char path[192];
	int fd;

	assert_non_null(chunk);
	memset(chunk, 'x', CHUNK_BYTES);
	jit_fixture_process(fixture, 5);
	write_map(fixture, 5, 5, map);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	(void)snprintf(path, sizeof(path), "%s/5/root/tmp/perf-5.map", fixture->proc);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < CHUNKS; i++)
		assert_int_equal(write(fd, chunk, CHUNK_BYTES), CHUNK_BYTES);
	assert_int_equal(close(fd), 0);
	free(chunk);
	jit_fixture_exit(fixture, 5, 30);
	for (uint64_t ms = 1000; ms < 5000; ms += 1000)
		jit_fixture_run(fixture, ms);
	assert_in_range(report_of(fixture, 5).perf_map.counters.bytes, 64 << 20, 80 << 20);
	assert_true(jit_table_is_final(fixture->table, 5, 20 * MS, false));
	assert_string_equal(jit_fixture_name(fixture, 5, 20, CODE), "mapped");
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.maps_cut, 1);
}

/* The first thread ended; another one maps code and goes on. */
static void a_map_is_read_on_if_its_writer_has_not_ended(void **state)
{
	struct jit_fixture *fixture = *state;
	const struct process_mapping_event event = { .start = CODE, .end = 2 * CODE, .path = "" };
	struct jit_table_counters counters;

	jit_fixture_process(fixture, 5);
	write_map(fixture, 5, 5, map);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	jit_fixture_exit(fixture, 5, 30);
	jit_fixture_run(fixture, 1000);
	assert_true(jit_table_is_final(fixture->table, 5, 20 * MS, false));
	assert_int_equal(process_table_map(fixture->processes, 5, 1010 * MS, &event, NULL), 0);
	write_map(fixture, 5, 5, "10000 40 mapped\n10040 40 more\n");
	jit_fixture_run(fixture, 2000);
	assert_string_equal(jit_fixture_name(fixture, 5, 1100, CODE + 0x40), "more");
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.maps_cut, 0);
}

static void unsampled_processes_are_not_polled(void **state)
{
	struct jit_fixture *fixture = *state;
	uint64_t ms = 0;

	jit_fixture_process(fixture, 5);
	jit_fixture_memory(fixture, 5, 10);
	for (int i = 0; i < 10; i++, ms += 11000)
		jit_fixture_run(fixture, ms);
	write_map(fixture, 5, 5, map);
	jit_fixture_run(fixture, ms + 11000);
	assert_null(jit_fixture_name(fixture, 5, 15, CODE));
	jit_fixture_memory(fixture, 5, ms + 12000);
	jit_fixture_run(fixture, ms + 24000);
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "mapped");
}

/* As the JVM does at its exit; its last line may lack its end. */
static void a_map_that_was_written_at_the_end_is_found_below_the_parents_root(void **state)
{
	struct jit_fixture *fixture = *state;

	jit_fixture_process(fixture, 4);
	jit_fixture_process(fixture, 5);
	assert_int_equal(process_table_fork(fixture->processes, 5, 4, 5 * MS), 0);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	write_map(fixture, 5, 4, "10000 40 mapped");
	jit_fixture_gone(fixture, 5);
	jit_fixture_exit(fixture, 5, 100);
	assert_false(jit_table_is_final(fixture->table, 5, 50 * MS, false));
	jit_fixture_run(fixture, 101);
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "mapped");
	assert_true(jit_table_is_final(fixture->table, 5, 50 * MS, false));
}

static void a_process_that_ends_without_a_file_is_final(void **state)
{
	struct jit_fixture *fixture = *state;

	jit_fixture_process(fixture, 5);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	jit_fixture_exit(fixture, 5, 30);
	assert_false(jit_table_is_final(fixture->table, 5, 20 * MS, false));
	jit_fixture_run(fixture, 40);
	assert_true(jit_table_is_final(fixture->table, 5, 20 * MS, false));
}

static void another_users_map_is_distrusted_and_counted_once(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_table_counters counters;

	jit_fixture_process_of(fixture, 5, 5, getuid() + 1);
	write_map(fixture, 5, 5, map);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	jit_fixture_run(fixture, 200);
	jit_fixture_run(fixture, 2000);
	assert_null(jit_fixture_name(fixture, 5, 15, CODE));
	jit_table_counters(fixture->table, &counters);
	assert_int_equal(counters.files_distrusted, 1);
	assert_int_equal(report_of(fixture, 5).open_error, -EPERM);
}

static void a_dump_takes_the_maps_place(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_process(fixture, 5);
	write_map(fixture, 5, 5, "10000 40 mapped\n20000 40 in the map alone\n");
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "mapped");

	/* While it has no header as yet, the map is better than nothing. */
	jit_fixture_dump(fixture, &dump, 5);
	jit_fixture_marker(fixture, 5, 30, &dump);
	jit_fixture_run(fixture, 40);
	assert_string_equal(jit_fixture_name(fixture, 5, 35, CODE), "mapped");
	jitdump_fixture_header(&dump.records, 5);
	jit_fixture_load(&dump, 50, 5, CODE, "dumped");
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 5, 60, CODE), "dumped");
	assert_null(jit_fixture_name(fixture, 5, 60, 0x20000));
	jit_fixture_run(fixture, 200);
	assert_true(report_of(fixture, 5).is_jitdump);
	assert_int_equal(report_of(fixture, 5).sharers, 1);
	jit_fixture_dump_done(&dump);
}

static void beside_a_dump_no_map_is_used(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 20);
	write_map(fixture, 5, 5, map);
	jit_fixture_memory(fixture, 5, 30);
	for (uint64_t ms = 100; ms < 5000; ms += 1000)
		jit_fixture_run(fixture, ms);
	assert_null(jit_fixture_name(fixture, 5, 40, CODE));
	jit_fixture_exit(fixture, 5, 6000);
	jit_fixture_run(fixture, 6001);
	assert_null(jit_fixture_name(fixture, 5, 40, CODE));
	assert_true(report_of(fixture, 5).is_jitdump);
	jit_fixture_dump_done(&dump);
}

static void a_dump_that_is_none_leaves_it_to_the_map(void **state)
{
	struct jit_fixture *fixture = *state;
	struct process_mapping mapping;
	struct jit_dump dump;

	jit_fixture_process(fixture, 5);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	jitdump_fixture_set_u32(&dump.records, 0, 0x12345678);
	jit_fixture_load(&dump, 20, 5, CODE, "dumped");
	jit_fixture_marker(fixture, 5, 10, &dump);
	jit_fixture_run(fixture, 100);
	assert_false(jit_fixture_has_names(fixture, 5));
	assert_null(jit_fixture_name(fixture, 5, 50, CODE));
	assert_int_equal(report_of(fixture, 5).open_error, -ENOEXEC);
	write_map(fixture, 5, 5, map);
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "mapped");
	assert_false(report_of(fixture, 5).is_jitdump);

	/* Written anew and mapped again, it is one. */
	assert_int_equal(ftruncate(dump.fd, 0), 0);
	jitdump_fixture_set_u32(&dump.records, 0, 0x4a695444);
	dump.flushed = 0;
	jit_fixture_flush(&dump);
	mapping = jit_fixture_map(fixture, 5, 20, dump.path);
	assert_int_equal(jit_table_note_marker(fixture->table, 5, 20 * MS, &mapping), 0);
	jit_fixture_run(fixture, 300);
	assert_string_equal(jit_fixture_name(fixture, 5, 50, CODE), "dumped");
	jit_fixture_dump_done(&dump);
}

static void a_fork_writes_to_its_parents_map(void **state)
{
	struct jit_fixture *fixture = *state;

	jit_fixture_process(fixture, 5);
	jit_fixture_process(fixture, 6);
	write_map(fixture, 5, 5, map);
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	jit_fixture_fork(fixture, 6, 5, 30);
	jit_fixture_exit(fixture, 5, 40);
	jit_fixture_run(fixture, 50);
	jit_fixture_retire(fixture, 60);
	/* Its writer lives, so a line without its end is not all of it. */
	write_map(fixture, 5, 5, "10000 40 mapped\n10040 40 mo");
	jit_fixture_run(fixture, 100);
	assert_string_equal(jit_fixture_name(fixture, 6, 70, CODE), "mapped");
	assert_null(jit_fixture_name(fixture, 6, 70, CODE + 0x40));
	assert_int_equal(report_of(fixture, 6).sharers, 1);
}

static void erlang_shows_in_its_map(void **state)
{
	struct jit_fixture *fixture = *state;

	jit_fixture_process(fixture, 5);
	write_map(fixture, 5, 5, "0x10000 40 $lists:map/2\n");
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	assert_string_equal(jit_table_runtime(fixture->table, 5, 15 * MS), "Erlang");
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "lists:map/2");
}

static void map_vdso(struct jit_fixture *fixture, pid_t pid, uint64_t start)
{
	const struct process_mapping_event event = {
		.start = start,
		.end = start + 0x2000,
		.path = "[vdso]",
		.was_there = true,
	};

	assert_int_equal(process_table_map(fixture->processes, pid, 1, &event, NULL), 0);
}

/* Prefork servers are there before anybody looks; what their workers execute has no part in it. */
static void forks_from_before_have_their_parents_map(void **state)
{
	struct jit_fixture *fixture = *state;

	for (pid_t pid = 5; pid < 8; pid++) {
		jit_fixture_process(fixture, pid);
		if (pid > 5)
			jit_fixture_parent(fixture, pid, 5);
		map_vdso(fixture, pid, pid < 7 ? 0x7ffff0000000 : 0x7ffee0000000);
		jit_fixture_memory(fixture, pid, 10);
	}
	write_map(fixture, 5, 5, map);
	jit_fixture_run(fixture, 100);
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "mapped");
	assert_string_equal(jit_fixture_name(fixture, 6, 15, CODE), "mapped");
	assert_null(jit_fixture_name(fixture, 7, 15, CODE));
	/* One of its own counts from then on. */
	write_map(fixture, 6, 6, "10000 40 own\n");
	jit_fixture_run(fixture, 1000);
	assert_string_equal(jit_fixture_name(fixture, 6, 15, CODE), "own");
	assert_string_equal(jit_fixture_name(fixture, 5, 15, CODE), "mapped");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(the_last_read_is_bounded),
		WITH_JIT(a_map_is_read_on_if_its_writer_has_not_ended),
		WITH_JIT(a_map_that_comes_later_is_found_and_followed),
		WITH_JIT(unsampled_processes_are_not_polled),
		WITH_JIT(a_map_that_was_written_at_the_end_is_found_below_the_parents_root),
		WITH_JIT(a_process_that_ends_without_a_file_is_final),
		WITH_JIT(another_users_map_is_distrusted_and_counted_once),
		WITH_JIT(a_dump_takes_the_maps_place),
		WITH_JIT(beside_a_dump_no_map_is_used),
		WITH_JIT(a_dump_that_is_none_leaves_it_to_the_map),
		WITH_JIT(a_fork_writes_to_its_parents_map),
		WITH_JIT(erlang_shows_in_its_map),
		WITH_JIT(forks_from_before_have_their_parents_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

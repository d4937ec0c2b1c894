/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a reader follows a file that grows, is cut off, or is none. */
#include "tests/jit/jitdump_bench.h"

#include <unistd.h>

static void a_growing_file_is_followed_byte_by_byte(void **state)
{
	struct bench bench = { 0 };
	size_t ends[5], next = 0;

	open_bench(&bench, NULL);
	assert_int_equal(run_for(&bench, 10), 10);
	assert_int_equal(bench.state.fault, JITDUMP_FAULT_NO_HEADER);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "first");
	ends[0] = bench.dump.size;
	jitdump_fixture_begin_debug(&bench.dump, 110, ADDRESS + 64, 1);
	jitdump_fixture_debug_entry(&bench.dump, ADDRESS + 64, 7, 0, "a.c");
	jitdump_fixture_end(&bench.dump);
	ends[1] = bench.dump.size;
	jitdump_fixture_load(&bench.dump, 120, PID, ADDRESS + 64, 64, 1, "second");
	ends[2] = bench.dump.size;
	jitdump_fixture_close(&bench.dump, 400);
	ends[3] = bench.dump.size;
	ends[4] = SIZE_MAX;
	for (size_t end = 1; end <= bench.dump.size; end++) {
		write_on(&bench, end);
		assert_true(run_for(&bench, 100) > 0);
		next += end == ends[next];
		assert_int_equal(bench.state.counters.records, next);
		assert_int_equal(
			bench.state.fault, end < 40 ? JITDUMP_FAULT_NO_HEADER : JITDUMP_FAULT_NONE);
		assert_int_equal(bench.state.counters.bytes + bench.state.unread_bytes, end);
	}
	assert_int_equal(next, 4);
	assert_int_equal(bench.state.counters.restarts, 0);
	assert_line(&bench, ADDRESS + 64, "a.c", 7, 0);
	close_bench(&bench);
}

static void runs_of_few_steps_read_everything(void **state)
{
	struct bench bench = { 0 };
	int64_t left = 0;
	unsigned runs = 0;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	for (uint64_t i = 0; i < 100; i++)
		jitdump_fixture_load(&bench.dump, 100 + i, PID, ADDRESS + 8192 * i,
			i % 10 ? 100 : 8192, i, "name");
	write_on(&bench, bench.dump.size);
	for (; left == 0; runs++) {
		const uint64_t before = bench.state.counters.records;

		assert_in_range(runs, 0, 20);
		left = run_for(&bench, 10);
		assert_in_range(bench.state.counters.records - before, left == 0, 10);
	}
	assert_int_equal(bench.state.counters.records, 100);
	assert_int_equal(run_for(&bench, 0), 0);
	assert_int_equal(run_for(&bench, -5), 0);
	close_bench(&bench);
}

static void one_step_reads_a_record_of_any_size(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS, 500);
	for (uint64_t i = 0; i < 500; i++)
		jitdump_fixture_debug_entry(
			&bench.dump, ADDRESS + i, 1 + (int32_t)i, 0, "a/file/of/some/length.c");
	jitdump_fixture_end(&bench.dump);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 500, 1, "name");
	write_on(&bench, bench.dump.size);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(run_for(&bench, 1), 0);
		assert_int_equal(bench.state.counters.records, i);
	}
	assert_line(&bench, ADDRESS + 499, "a/file/of/some/length.c", 500, 0);
	close_bench(&bench);
}

static void records_bytes_and_lines_cost_steps(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	for (uint64_t i = 0; i < 100; i++)
		jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 8192 * i, 8192, i, "name");
	write_on(&bench, bench.dump.size);
	/* Each record, and each 4 KiB but for some of the code where the buffer ended. */
	assert_in_range(run_for(&bench, 1000), 699, 706);

	jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS, 100);
	for (uint64_t i = 0; i < 100; i++)
		jitdump_fixture_debug_entry(&bench.dump, ADDRESS + i, 1 + (int32_t)i, 0, "a.c");
	jitdump_fixture_end(&bench.dump);
	write_on(&bench, bench.dump.size);
	/* And each 32 lines. */
	assert_int_equal(run_for(&bench, 1000), 1000 - 1 - 3);
	close_bench(&bench);
}

static void code_larger_than_the_buffer_is_skipped(void **state)
{
	const struct jitdump_reader_options options = { .buffer_bytes = 1 };
	struct bench bench = { 0 };
	char *name = malloc(10001);
	struct code_found found;

	assert_non_null(name);
	memset(name, 'n', 10000);
	name[10000] = '\0';
	open_bench(&bench, &options);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 1 << 20, 1, "large");
	/* A name that does not fit into the buffer loses its end. */
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + (1 << 20), 64, 2, name);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + (2 << 20), 64, 3, "small");
	read_all(&bench);
	assert_int_equal(bench.state.counters.loads, 3);
	assert_name(&bench, ADDRESS, "large");
	assert_true(find(&bench, ADDRESS + (1 << 20), NOW_NS, &found));
	assert_memory_equal(found.name, "nnnn", 4);
	assert_name(&bench, ADDRESS + (2 << 20), "small");
	/* The million bytes of code are not read. */
	(void)lseek(bench.fd, 0, SEEK_END);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 1 << 20, 1, "large");
	write_on(&bench, bench.dump.size);
	assert_in_range(run_for(&bench, 100), 97, 99);
	free(name);
	close_bench(&bench);
}

static void an_impossible_size_ends_the_reading(void **state)
{
	struct bench bench = { 0 };
	size_t fault_offset;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "before it");
	fault_offset = bench.dump.size;
	jitdump_fixture_fill(&bench.dump, 0, 100);
	read_all(&bench);
	assert_int_equal(bench.state.fault, JITDUMP_FAULT_RECORD_SIZE);
	assert_int_equal(bench.state.fault_offset, fault_offset);
	assert_int_equal(bench.state.unread_bytes, 100);
	assert_name(&bench, ADDRESS, "before it");
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "after it");
	read_all(&bench);
	assert_int_equal(bench.state.counters.records, 1);
	assert_int_equal(bench.state.fault, JITDUMP_FAULT_RECORD_SIZE);
	/* So does a hole, whatever its length. */
	assert_int_equal(ftruncate(bench.fd, (off_t)1 << 40), 0);
	assert_int_equal(run_for(&bench, 100), 100);
	close_bench(&bench);
}

static void impossible_headers_are_faults(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
		enum jitdump_fault fault;
	} cases[] = {
		{ 0, 0x464c457f, JITDUMP_FAULT_NOT_JITDUMP },
		{ 4, 3, JITDUMP_FAULT_VERSION },
		{ 8, 39, JITDUMP_FAULT_HEADER_SIZE },
		/* A longer header is waited for. */
		{ 8, 1000, JITDUMP_FAULT_NO_HEADER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench bench = { 0 };

		open_bench(&bench, NULL);
		jitdump_fixture_header(&bench.dump, PID);
		jitdump_fixture_set_u32(&bench.dump, cases[i].offset, cases[i].value);
		jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "name");
		read_all(&bench);
		assert_int_equal(bench.state.fault, cases[i].fault);
		assert_false(bench.state.has_header);
		assert_int_equal(bench.state.unread_bytes, bench.dump.size);
		assert_int_equal(bench.state.counters.records, 0);
		assert_true(strlen(jitdump_fault_name(bench.state.fault)) > 0);

		/* Until it is written anew. */
		assert_int_equal(ftruncate(bench.fd, 0), 0);
		bench.written = bench.dump.size = 0;
		jitdump_fixture_header(&bench.dump, PID);
		jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "name");
		read_all(&bench);
		assert_int_equal(bench.state.fault, JITDUMP_FAULT_NONE);
		assert_int_equal(bench.state.counters.restarts, 1);
		assert_name(&bench, ADDRESS, "name");
		close_bench(&bench);
	}
	assert_string_equal(jitdump_fault_name(JITDUMP_FAULT_NONE), "");
	assert_string_equal(jitdump_fault_name((enum jitdump_fault)999), "");
}

static void a_longer_header_is_skipped(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_set_u32(&bench.dump, 8, 5000);
	jitdump_fixture_fill(&bench.dump, 0xee, 4960);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "name");
	read_all(&bench);
	assert_int_equal(bench.state.counters.bytes, bench.dump.size);
	assert_name(&bench, ADDRESS, "name");
	close_bench(&bench);
}

static void a_rewritten_file_is_read_again(void **state)
{
	for (int is_longer = 0; is_longer < 2; is_longer++) {
		struct bench bench = { 0 };

		open_bench(&bench, NULL);
		jitdump_fixture_header(&bench.dump, PID);
		jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS, 1);
		jitdump_fixture_debug_entry(&bench.dump, ADDRESS, 7, 0, "old.c");
		jitdump_fixture_end(&bench.dump);
		jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 64, 8, 1, "py::old");
		read_all(&bench);
		assert_int_equal(bench.state.runtime, JITDUMP_RUNTIME_PYTHON);
		assert_int_equal(ftruncate(bench.fd, 0), 0);
		bench.written = bench.dump.size = 0;
		jitdump_fixture_header(&bench.dump, PID + is_longer);
		/* The first process's lines are not for it. */
		jitdump_fixture_load(&bench.dump, 200, PID, ADDRESS, 8, 1, "new");
		if (is_longer)
			jitdump_fixture_load(&bench.dump, 300, PID, ADDRESS + 4096, 500, 1, "more");
		read_all(&bench);
		assert_int_equal(bench.state.counters.restarts, 1);
		assert_int_equal(bench.state.counters.lines_unclaimed, 1);
		assert_int_equal(bench.state.counters.backward, 0);
		assert_int_equal(bench.state.unread_bytes, 0);
		assert_int_equal(bench.state.runtime, JITDUMP_RUNTIME_UNKNOWN);
		assert_name(&bench, ADDRESS, "new");
		assert_line(&bench, ADDRESS, NULL, 0, 0);
		close_bench(&bench);
	}
}

static void an_unreadable_file_is_a_fault(void **state)
{
	const struct jitdump_reader_options options = { 0 };
	struct jitdump_reader_state reader_state;
	struct jitdump_reader *reader;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(jitdump_reader_new(ends[0], &options, &reader), 0);
	assert_int_equal(jitdump_reader_run(reader, NULL, 10), 10);
	jitdump_reader_state(reader, &reader_state);
	assert_int_equal(reader_state.fault, JITDUMP_FAULT_READ);
	/* It owns its descriptor. */
	jitdump_reader_free(reader);
	assert_int_equal(close(ends[0]), -1);
	(void)close(ends[1]);
	jitdump_reader_free(NULL);
}

static void waiting_lines_hold_little_memory(void **state)
{
	struct bench bench = { 0 };
	size_t idle;

	open_bench(&bench, NULL);
	idle = jitdump_reader_bytes(bench.reader);
	assert_in_range(idle, 1, 8192);
	jitdump_fixture_header(&bench.dump, PID);
	for (uint64_t i = 0; i < 10000; i++) {
		jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS + 64 * i, 2);
		jitdump_fixture_debug_entry(&bench.dump, ADDRESS + 64 * i, 1, 0, "a.c");
		jitdump_fixture_debug_entry(&bench.dump, ADDRESS + 64 * i + 4, 2, 0, "b.c");
		jitdump_fixture_end(&bench.dump);
	}
	read_all(&bench);
	assert_in_range(jitdump_reader_bytes(bench.reader), idle, idle + (256 << 10));
	assert_in_range(bench.state.counters.lines_unclaimed, 10000 - 64, 10000 - 1);
	close_bench(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_growing_file_is_followed_byte_by_byte),
		cmocka_unit_test(runs_of_few_steps_read_everything),
		cmocka_unit_test(one_step_reads_a_record_of_any_size),
		cmocka_unit_test(records_bytes_and_lines_cost_steps),
		cmocka_unit_test(code_larger_than_the_buffer_is_skipped),
		cmocka_unit_test(an_impossible_size_ends_the_reading),
		cmocka_unit_test(impossible_headers_are_faults),
		cmocka_unit_test(a_longer_header_is_skipped),
		cmocka_unit_test(a_rewritten_file_is_read_again),
		cmocka_unit_test(an_unreadable_file_is_a_fault),
		cmocka_unit_test(waiting_lines_hold_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

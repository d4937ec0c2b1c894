/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a reader makes of records. */
#include "base/clock.h"
#include "jit/counter_clock.h"
#include "tests/harness/failing_allocation.h"
#include "tests/jit/jitdump_bench.h"

#include <errno.h>
#include <fcntl.h>

static void records_of_every_kind_are_counted(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct bench bench = { .dump.is_swapped = is_swapped };
		struct code_found found;

		open_bench(&bench, NULL);
		jitdump_fixture_header(&bench.dump, PID);
		jitdump_fixture_unwinding(&bench.dump, 100, 24, 8);
		jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "first");
		jitdump_fixture_load(&bench.dump, 200, PID, ADDRESS + 64, 64, 2, "second");
		jitdump_fixture_move(&bench.dump, 300, PID, ADDRESS, ADDRESS + 4096, 64, 1);
		jitdump_fixture_begin(&bench.dump, 99, 350);
		jitdump_fixture_fill(&bench.dump, 1, 5);
		jitdump_fixture_end(&bench.dump);
		jitdump_fixture_close(&bench.dump, 400);
		read_all(&bench);

		assert_int_equal(bench.state.fault, JITDUMP_FAULT_NONE);
		assert_true(bench.state.has_header);
		assert_int_equal(bench.state.header.is_swapped, is_swapped);
		assert_int_equal(bench.state.header.pid, PID);
		assert_int_equal(bench.state.last_record_ns, 400);
		assert_int_equal(bench.state.file_bytes, bench.dump.size);
		assert_int_equal(bench.state.unread_bytes, 0);
		assert_int_equal(bench.state.counters.bytes, bench.dump.size);
		assert_int_equal(bench.state.counters.records, 6);
		assert_int_equal(bench.state.counters.loads, 2);
		assert_int_equal(bench.state.counters.moves, 1);
		assert_int_equal(bench.state.counters.unwindings, 1);
		assert_int_equal(bench.state.counters.closes, 1);
		assert_int_equal(bench.state.counters.unknown, 1);
		assert_int_equal(bench.state.counters.damaged, 0);
		assert_true(find(&bench, ADDRESS, 250, &found));
		assert_string_equal(found.name, "first");
		assert_name(&bench, ADDRESS + 4096 + 63, "first");
		assert_name(&bench, ADDRESS + 64, "second");
		close_bench(&bench);
	}
}

static void loads_without_code_or_size_are_read(void **state)
{
	struct bench bench = { 0 };
	struct code_found found;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load_without_code(&bench.dump, 100, PID, ADDRESS, 64, 1, "bare");
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 64, 0, 2, "empty");
	jitdump_fixture_begin_load(&bench.dump, 100, PID, 0, ADDRESS + 128, 64, 3, "by LLVM");
	jitdump_fixture_end(&bench.dump);
	read_all(&bench);
	assert_int_equal(bench.state.counters.loads, 3);
	assert_int_equal(bench.state.counters.damaged, 0);
	assert_name(&bench, ADDRESS, "bare");
	assert_false(find(&bench, ADDRESS + 64, NOW_NS, &found));
	assert_name(&bench, ADDRESS + 128, "by LLVM");
	assert_int_equal(bench.state.runtime, JITDUMP_RUNTIME_LLVM);
	close_bench(&bench);
}

static void a_damaged_record_is_skipped(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_begin(&bench.dump, 1, 999);
	jitdump_fixture_fill(&bench.dump, 0, 10);
	jitdump_fixture_end(&bench.dump);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "after it");
	read_all(&bench);
	assert_int_equal(bench.state.fault, JITDUMP_FAULT_NONE);
	assert_int_equal(bench.state.counters.records, 2);
	assert_int_equal(bench.state.counters.damaged, 1);
	assert_int_equal(bench.state.last_record_ns, 100);
	assert_name(&bench, ADDRESS, "after it");
	close_bench(&bench);
}

static void lines_wait_for_the_code_with_their_address(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	for (uint64_t i = 0; i < 2; i++) {
		jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS + 4096 * i, 2);
		jitdump_fixture_debug_entry(
			&bench.dump, ADDRESS + 4096 * i + 4, 10 + (int32_t)i, 3, "a.c");
		jitdump_fixture_debug_entry(&bench.dump, ADDRESS + 4096 * i + 8, 20, 3, "\xff");
		jitdump_fixture_end(&bench.dump);
	}
	/* Another's code comes first, and then theirs, in the other order. */
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 64, 64, 1, "another");
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 2, "first");
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 4096, 64, 3, "second");
	/* They are for one piece of code. */
	jitdump_fixture_load(&bench.dump, 300, PID, ADDRESS, 16, 4, "third");
	read_all(&bench);
	assert_int_equal(bench.state.counters.debug_infos, 2);
	assert_int_equal(bench.state.counters.lines_damaged, 0);
	assert_int_equal(bench.state.counters.lines_unclaimed, 0);
	assert_line(&bench, ADDRESS + 64, NULL, 0, 0);
	assert_line(&bench, ADDRESS + 20, "a.c", 20, 0);
	assert_line(&bench, ADDRESS + 4096, NULL, 0, 0);
	assert_line(&bench, ADDRESS + 4096 + 7, "a.c", 11, 0);
	assert_line(&bench, ADDRESS + 4096 + 8, "a.c", 20, 0);
	assert_name(&bench, ADDRESS + 8, "third");
	assert_line(&bench, ADDRESS + 8, NULL, 0, 0);
	close_bench(&bench);
}

static void damaged_lines_are_counted(void **state)
{
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS, 3);
	jitdump_fixture_debug_entry(&bench.dump, ADDRESS, 10, 0, "a.c");
	jitdump_fixture_debug_entry(&bench.dump, ADDRESS + 8, 11, 0, "a.c");
	jitdump_fixture_debug_entry(&bench.dump, 1, 12, 0, "a.c");
	jitdump_fixture_end(&bench.dump);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "name");
	jitdump_fixture_begin_debug(&bench.dump, 90, ADDRESS + 64, 1000);
	jitdump_fixture_end(&bench.dump);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS + 64, 64, 1, "next");
	read_all(&bench);
	assert_int_equal(bench.state.counters.lines_damaged, 1);
	assert_int_equal(bench.state.counters.damaged, 1);
	assert_int_equal(bench.state.counters.loads, 2);
	assert_line(&bench, ADDRESS + 7, "a.c", 10, 0);
	assert_line(&bench, ADDRESS + 8, NULL, 0, 0);
	assert_name(&bench, ADDRESS + 64, "next");
	close_bench(&bench);
}

static void times_of_another_namespace_are_converted(void **state)
{
	static const struct {
		int64_t offset_ns;
		uint64_t stamp, time_ns;
	} cases[] = {
		{ 0, 500, 500 },
		{ 100, 500, 400 },
		{ 500, 400, 0 },
		{ -100, 500, 600 },
		{ INT64_MIN, UINT64_MAX, NOW_NS },
		{ INT64_MAX, (uint64_t)INT64_MAX + 7, 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct jitdump_reader_options options = {
			.monotonic_offset_ns = cases[i].offset_ns,
		};
		struct bench bench = { 0 };
		struct code_found found;

		open_bench(&bench, &options);
		jitdump_fixture_header(&bench.dump, PID);
		jitdump_fixture_load(&bench.dump, cases[i].stamp, PID, ADDRESS, 64, 1, "name");
		read_all(&bench);
		assert_int_equal(bench.state.last_record_ns, cases[i].time_ns);
		assert_true(find(&bench, ADDRESS, NOW_NS, &found));
		assert_int_equal(found.time_ns, cases[i].time_ns);
		close_bench(&bench);
	}
}

static void backward_times_are_counted(void **state)
{
	struct bench bench = { 0 };
	struct code_found found;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 500, PID, ADDRESS, 64, 1, "later");
	jitdump_fixture_load(&bench.dump, 400, PID, ADDRESS, 64, 2, "earlier");
	read_all(&bench);
	assert_int_equal(bench.state.counters.backward, 1);
	assert_int_equal(bench.state.last_record_ns, 500);
	assert_name(&bench, ADDRESS, "later");
	assert_true(find(&bench, ADDRESS, 450, &found));
	assert_string_equal(found.name, "earlier");
	close_bench(&bench);
}

/* As late as what is read may be. */
#define SOON_NS ((uint64_t)NOW_NS + NSEC_PER_SEC)

static void times_within_the_clock_error_are_kept(void **state)
{
	struct bench bench = { 0 };
	struct code_found found;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 500, PID, ADDRESS, 64, 1, "earlier");
	jitdump_fixture_load(&bench.dump, NOW_NS + 1000, PID, ADDRESS, 64, 2, "later");
	jitdump_fixture_load(&bench.dump, SOON_NS, PID, ADDRESS + 64, 64, 3, "a second later");
	read_all(&bench);
	assert_int_equal(bench.state.counters.future, 0);
	/* More may come of that second. */
	assert_int_equal(bench.state.last_record_ns, NOW_NS);
	assert_true(find(&bench, ADDRESS, NOW_NS + 999, &found));
	assert_string_equal(found.name, "earlier");
	assert_int_equal(found.until_ns, NOW_NS + 1000);
	assert_true(find(&bench, ADDRESS, NOW_NS + 1000, &found));
	assert_string_equal(found.name, "later");
	assert_false(find(&bench, ADDRESS + 64, SOON_NS - 1, &found));
	close_bench(&bench);
}

static void future_times_count_as_of_the_reading(void **state)
{
	struct bench bench = { 0 };
	struct code_found found;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, SOON_NS + 1, PID, ADDRESS, 64, 1, "too late");
	jitdump_fixture_load(&bench.dump, UINT64_MAX, PID, ADDRESS + 64, 64, 2, "never");
	read_all(&bench);
	assert_int_equal(bench.state.counters.future, 2);
	assert_int_equal(bench.state.last_record_ns, NOW_NS);
	for (uint64_t address = ADDRESS; address < ADDRESS + 128; address += 64) {
		assert_true(find(&bench, address, NOW_NS, &found));
		assert_int_equal(found.time_ns, NOW_NS);
	}
	close_bench(&bench);
}

static void the_clock_is_read_after_the_file(void **state)
{
	const struct jitdump_reader_options options = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_reader_state reader_state;
	struct jitdump_reader *reader;
	uint64_t begin_ns;

	jitdump_fixture_header(&dump, PID);
	jitdump_fixture_load(&dump, UINT64_MAX, PID, ADDRESS, 64, 1, "never");
	assert_int_equal(jitdump_reader_new(jitdump_fixture_file(&dump), &options, &reader), 0);
	begin_ns = clock_monotonic_ns();
	assert_true(jitdump_reader_run(reader, NULL, ENOUGH_STEPS) > 0);
	jitdump_reader_state(reader, &reader_state);
	assert_int_equal(reader_state.counters.future, 1);
	assert_in_range(reader_state.last_record_ns, begin_ns, clock_monotonic_ns());
	jitdump_reader_free(reader);
	jitdump_fixture_done(&dump);
}

static void cpu_time_stamps_are_converted(void **state)
{
	const struct jitdump_reader_options options = {
		.monotonic_offset_ns = 123456789,
		.latest_ns = UINT64_MAX,
	};
	struct counter_reading reading;
	struct bench bench = { 0 };

	open_bench(&bench, &options);
	jitdump_fixture_header_of(&bench.dump, PID, 0, PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP);
	if (counter_reading_take(&reading) < 0)
		memset(&reading, 0, sizeof(reading));
	jitdump_fixture_load(&bench.dump, reading.counter, PID, ADDRESS, 64, 1, "name");
	write_on(&bench, bench.dump.size);
	assert_true(jitdump_reader_run(bench.reader, bench.index, 100) > 0);
	jitdump_reader_state(bench.reader, &bench.state);
	if (reading.counter == 0) {
		assert_int_equal(bench.state.fault, JITDUMP_FAULT_CLOCK);
	} else {
		assert_int_equal(bench.state.fault, JITDUMP_FAULT_NONE);
		/* Some parts in 100000 of as long as the machine kept us. */
		assert_in_range(bench.state.last_record_ns, reading.time_ns - 10000000,
			reading.time_ns + 10000000);
	}
	close_bench(&bench);
}

static void each_writer_has_an_id_and_a_time(void **state)
{
	struct bench bench = { 0 };
	uint32_t writer = 77;
	uint64_t last_record_ns = 77;

	open_bench(&bench, NULL);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "parent");
	jitdump_fixture_load(&bench.dump, 150, PID + 1, ADDRESS + 64, 64, 1, "child");
	jitdump_fixture_move(&bench.dump, 200, PID, ADDRESS, ADDRESS + 128, 64, 1);
	jitdump_fixture_close(&bench.dump, 300);
	read_all(&bench);
	assert_int_equal(jitdump_reader_writer_count(bench.reader), 2);
	assert_false(jitdump_reader_writer(bench.reader, PID + 2, &writer, &last_record_ns));
	assert_int_equal(writer, 77);
	assert_int_equal(last_record_ns, 77);
	assert_true(jitdump_reader_writer(bench.reader, PID, &writer, &last_record_ns));
	assert_int_equal(writer, 0);
	assert_int_equal(last_record_ns, 200);
	assert_true(jitdump_reader_writer(bench.reader, PID + 1, &writer, &last_record_ns));
	assert_int_equal(writer, 1);
	assert_int_equal(last_record_ns, 150);
	close_bench(&bench);
}

struct watched {
	unsigned count;
	unsigned stop_at;
	uint64_t offsets[8];
	uint32_t ids[8];
	int errors[8];
};

static int watch(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	struct watched *watched = context;

	assert_int_equal(header->pid, PID);
	assert_in_range(watched->count, 0, 7);
	if (watched->count == watched->stop_at)
		return -ECANCELED;
	watched->offsets[watched->count] = file_offset;
	watched->ids[watched->count] = record->id;
	watched->errors[watched->count++] = error;
	return 0;
}

static void a_watcher_sees_each_record(void **state)
{
	struct watched watched = { .stop_at = 1 };
	struct bench bench = { 0 };

	open_bench(&bench, NULL);
	jitdump_reader_set_watcher(bench.reader, watch, &watched);
	jitdump_fixture_header(&bench.dump, PID);
	jitdump_fixture_load(&bench.dump, 100, PID, ADDRESS, 64, 1, "name");
	jitdump_fixture_begin(&bench.dump, 4, 200);
	jitdump_fixture_end(&bench.dump);
	jitdump_fixture_fill(&bench.dump, 0xff, 16);
	write_on(&bench, bench.dump.size);
	assert_int_equal(run_for(&bench, 100), -ECANCELED);
	assert_int_equal(bench.state.counters.records, 1);
	watched.stop_at = UINT32_MAX;
	assert_true(run_for(&bench, 100) > 0);
	assert_int_equal(watched.count, 3);
	assert_int_equal(watched.offsets[0], 40);
	assert_int_equal(watched.offsets[1], 40 + 56 + 5 + 64);
	assert_int_equal(watched.offsets[2], 40 + 56 + 5 + 64 + 16);
	assert_int_equal(watched.ids[1], PILOTLIGHT_JITDUMP_UNWINDING_INFO);
	assert_int_equal(watched.errors[0], 0);
	assert_int_equal(watched.errors[1], -EBADMSG);
	assert_int_equal(watched.errors[2], -EMSGSIZE);
	assert_int_equal(bench.state.fault, JITDUMP_FAULT_RECORD_SIZE);
	close_bench(&bench);
}

static void assert_all_is_known(struct jitdump_reader *reader, struct code_index *index)
{
	struct jitdump_reader_state reader_state;
	struct code_found found;

	assert_true(jitdump_reader_run(reader, index, ENOUGH_STEPS) > 0);
	jitdump_reader_state(reader, &reader_state);
	assert_int_equal(reader_state.counters.records, 81);
	assert_int_equal(reader_state.counters.loads, 40);
	assert_int_equal(reader_state.counters.bytes, reader_state.file_bytes);
	for (uint64_t i = 1; i < 40; i++) {
		assert_true(code_index_find(index, ADDRESS + 64 * i + 4, NOW_NS, NULL, &found));
		assert_string_equal(found.name, "name");
		assert_int_equal(found.line, 2);
	}
	assert_true(code_index_find(index, ADDRESS + 8192, NOW_NS, NULL, &found));
}

static void the_next_run_repeats_after_a_failed_allocation(void **state)
{
	const struct jitdump_reader_options options = { 0 };
	struct jitdump_fixture dump = { 0 };
	size_t n;

	jitdump_fixture_header(&dump, PID);
	for (uint64_t i = 0; i < 40; i++) {
		jitdump_fixture_begin_debug(&dump, 90, ADDRESS + 64 * i, 2);
		jitdump_fixture_debug_entry(&dump, ADDRESS + 64 * i, 1, 0, "a.c");
		jitdump_fixture_debug_entry(&dump, ADDRESS + 64 * i + 4, 2, 0, "b.c");
		jitdump_fixture_end(&dump);
		jitdump_fixture_load(
			&dump, 100, PID + (uint32_t)i, ADDRESS + 64 * i, 64, i, "name");
	}
	jitdump_fixture_move(&dump, 200, PID + 100, ADDRESS, ADDRESS + 8192, 64, 0);
	for (n = 0;; n++) {
		struct code_index *index = NULL;
		struct jitdump_reader *reader = NULL;
		int fd = jitdump_fixture_file(&dump);
		int64_t r;
		bool has_failed;

		assert_true(fd >= 0);
		fail_allocation(n);
		r = code_index_new(INDEX_BYTES, &index);
		if (r == 0)
			r = jitdump_reader_new(fd, &options, &reader);
		else
			(void)close(fd);
		if (index && !reader)
			assert_int_equal(fcntl(fd, F_GETFD), -1);
		if (r == 0)
			r = jitdump_reader_run(reader, index, ENOUGH_STEPS);
		has_failed = allocation_failed();
		if (has_failed && r >= 0)
			/* The index may do without. */
			assert_non_null(reader);
		else if (has_failed)
			assert_int_equal(r, -ENOMEM);
		if (reader)
			assert_all_is_known(reader, index);
		jitdump_reader_free(reader);
		code_index_free(index);
		if (!has_failed)
			break;
	}
	assert_true(n >= 6);
	jitdump_fixture_done(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_every_kind_are_counted),
		cmocka_unit_test(loads_without_code_or_size_are_read),
		cmocka_unit_test(a_damaged_record_is_skipped),
		cmocka_unit_test(lines_wait_for_the_code_with_their_address),
		cmocka_unit_test(damaged_lines_are_counted),
		cmocka_unit_test(times_of_another_namespace_are_converted),
		cmocka_unit_test(backward_times_are_counted),
		cmocka_unit_test(times_within_the_clock_error_are_kept),
		cmocka_unit_test(future_times_count_as_of_the_reading),
		cmocka_unit_test(the_clock_is_read_after_the_file),
		cmocka_unit_test(cpu_time_stamps_are_converted),
		cmocka_unit_test(each_writer_has_an_id_and_a_time),
		cmocka_unit_test(a_watcher_sees_each_record),
		cmocka_unit_test(the_next_run_repeats_after_a_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

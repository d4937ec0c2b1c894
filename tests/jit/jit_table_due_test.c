/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a table of JIT processes wants to be run. */
#include "tests/jit/jit_table_fixture.h"

static uint64_t due_ms(const struct jit_fixture *fixture, bool is_awaited)
{
	return jit_table_due_ns(fixture->table, is_awaited) / MS;
}

static void without_generated_code_nothing_is_due(void **state)
{
	struct jit_fixture *fixture = *state;

	assert_true(jit_table_due_ns(fixture->table, false) == UINT64_MAX);
	jit_fixture_run(fixture, 1000);
	assert_true(jit_table_due_ns(fixture->table, false) == UINT64_MAX);
}

static void a_file_that_is_written_to_is_read_soon_and_others_more_and_more_seldom(void **state)
{
	struct jit_fixture *fixture = *state;
	static const unsigned runs[] = { 1100, 1300, 1700, 2500, 3500, 4500 };
	static const unsigned due[] = { 1300, 1700, 2500, 3500, 4500, 5500 };
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "first");
	jit_fixture_run(fixture, 1000);
	assert_int_equal(due_ms(fixture, false), 1100);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		jit_fixture_run(fixture, runs[i]);
		assert_int_equal(due_ms(fixture, false), due[i]);
		/* Somebody waits. */
		assert_int_equal(due_ms(fixture, true), runs[i] + 100);
	}
	jit_fixture_load(&dump, 5000, 5, CODE, "second");
	jit_fixture_run(fixture, 5500);
	assert_int_equal(due_ms(fixture, false), 5600);
	jit_fixture_dump_done(&dump);
}

static void what_happens_to_a_process_is_looked_at_soon(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	for (unsigned ms = 1000; ms <= 9000; ms += 1000)
		jit_fixture_run(fixture, ms);
	assert_int_equal(due_ms(fixture, false), 10000);
	jit_fixture_exit(fixture, 5, 9010);
	assert_int_equal(due_ms(fixture, false), 9100);
	jit_fixture_dump_done(&dump);
}

/* Without a file it is looked for one, as long as there is hope, and when a sample is in it. */
static void a_perf_map_is_looked_for(void **state)
{
	struct jit_fixture *fixture = *state;
	uint64_t ms = 1000;

	jit_fixture_process(fixture, 5);
	jit_fixture_memory(fixture, 5, 900);
	for (int looks = 0; looks < 16; looks++) {
		jit_fixture_run(fixture, ms);
		if (jit_table_due_ns(fixture->table, true) == UINT64_MAX)
			break;
		assert_true(due_ms(fixture, false) >= ms + 100);
		ms = due_ms(fixture, false);
	}
	assert_true(jit_table_due_ns(fixture->table, true) == UINT64_MAX);
	assert_in_range(ms, 10000, 60000);
	jit_fixture_memory(fixture, 5, (ms + 1));
	assert_in_range(due_ms(fixture, false), ms + 100, ms + 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(without_generated_code_nothing_is_due),
		WITH_JIT(a_file_that_is_written_to_is_read_soon_and_others_more_and_more_seldom),
		WITH_JIT(what_happens_to_a_process_is_looked_at_soon),
		WITH_JIT(a_perf_map_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

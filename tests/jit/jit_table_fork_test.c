/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who sees whose code, where several processes have one dump. */
#include "tests/jit/jit_table_fixture.h"

#include <errno.h>

static void fork_at(struct jit_fixture *fixture, pid_t pid, pid_t parent, uint64_t ms)
{
	jit_fixture_process(fixture, pid);
	jit_fixture_fork(fixture, pid, parent, ms);
}

static void a_child_sees_what_was_there_at_the_fork_and_its_own(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "before");
	fork_at(fixture, 6, 5, 100);
	jit_fixture_load(&dump, 150, 5, CODE + 0x100, "parents");
	jit_fixture_load(&dump, 160, 6, CODE + 0x200, "childs");
	jit_fixture_load(&dump, 170, 5, CODE, "parents again");
	jit_fixture_run(fixture, 200);

	assert_string_equal(jit_fixture_name(fixture, 6, 180, CODE), "before");
	assert_null(jit_fixture_name(fixture, 6, 180, CODE + 0x100));
	assert_string_equal(jit_fixture_name(fixture, 6, 180, CODE + 0x200), "childs");
	assert_string_equal(jit_fixture_name(fixture, 5, 180, CODE), "parents again");
	assert_string_equal(jit_fixture_name(fixture, 5, 180, CODE + 0x100), "parents");
	assert_null(jit_fixture_name(fixture, 5, 180, CODE + 0x200));
	/* Before the fork there was no child. */
	assert_null(jit_fixture_name(fixture, 6, 50, CODE));
	assert_true(jit_fixture_has_names(fixture, 6));

	/* Memory that they share has what either has put there. */
	assert_string_equal(jit_fixture_shared_name(fixture, 6, 180, CODE), "parents again");
	assert_string_equal(jit_fixture_shared_name(fixture, 6, 180, CODE + 0x100), "parents");
	assert_string_equal(jit_fixture_shared_name(fixture, 5, 180, CODE + 0x200), "childs");
	jit_fixture_dump_done(&dump);
}

static void a_grandchild_sees_each_until_its_fork(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "first");
	fork_at(fixture, 6, 5, 100);
	jit_fixture_load(&dump, 110, 5, CODE + 0x100, "too late of the first");
	jit_fixture_load(&dump, 120, 6, CODE + 0x200, "second");
	fork_at(fixture, 7, 6, 200);
	fork_at(fixture, 8, 5, 210);
	jit_fixture_load(&dump, 220, 6, CODE + 0x300, "too late of the second");
	jit_fixture_load(&dump, 230, 7, CODE + 0x400, "third");
	jit_fixture_run(fixture, 300);

	assert_string_equal(jit_fixture_name(fixture, 7, 250, CODE), "first");
	assert_null(jit_fixture_name(fixture, 7, 250, CODE + 0x100));
	assert_string_equal(jit_fixture_name(fixture, 7, 250, CODE + 0x200), "second");
	assert_null(jit_fixture_name(fixture, 7, 250, CODE + 0x300));
	assert_string_equal(jit_fixture_name(fixture, 7, 250, CODE + 0x400), "third");
	/* A sibling of the second was there when the first had more. */
	assert_string_equal(
		jit_fixture_name(fixture, 8, 250, CODE + 0x100), "too late of the first");
	assert_null(jit_fixture_name(fixture, 8, 250, CODE + 0x200));
	jit_fixture_dump_done(&dump);
}

static void a_writer_whom_nobody_knows_counts_for_all(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	fork_at(fixture, 6, 5, 100);
	jit_fixture_load(&dump, 150, 99, CODE, "anybody's");
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 180, CODE), "anybody's");
	assert_string_equal(jit_fixture_name(fixture, 6, 180, CODE), "anybody's");
	jit_fixture_dump_done(&dump);
}

static void a_parent_that_is_gone_is_not_anybody(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "before");
	fork_at(fixture, 6, 5, 100);
	fork_at(fixture, 7, 6, 120);
	jit_fixture_load(&dump, 150, 5, CODE, "after");
	jit_fixture_load(&dump, 160, 6, CODE + 0x100, "of the second");
	jit_fixture_run(fixture, 200);
	jit_fixture_exit(fixture, 5, 210);
	jit_fixture_exit(fixture, 6, 210);
	jit_fixture_run(fixture, 220);
	jit_fixture_retire(fixture, 300);
	assert_null(jit_fixture_name(fixture, 5, 180, CODE));

	jit_fixture_load(&dump, 400, 7, CODE + 0x200, "own");
	jit_fixture_run(fixture, 500);
	assert_string_equal(jit_fixture_name(fixture, 7, 450, CODE), "before");
	assert_null(jit_fixture_name(fixture, 7, 450, CODE + 0x100));
	assert_string_equal(jit_fixture_name(fixture, 7, 450, CODE + 0x200), "own");
	jit_fixture_dump_done(&dump);
}

static void a_child_that_is_gone_has_left_nothing(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	fork_at(fixture, 6, 5, 100);
	jit_fixture_load(&dump, 150, 6, CODE, "childs");
	jit_fixture_run(fixture, 200);
	jit_fixture_exit(fixture, 6, 210);
	jit_fixture_run(fixture, 220);
	jit_fixture_retire(fixture, 300);
	assert_null(jit_fixture_name(fixture, 5, 310, CODE));
	assert_string_equal(jit_fixture_shared_name(fixture, 5, 310, CODE), "childs");
	jit_fixture_dump_done(&dump);
}

static void execve_ends_what_a_child_has_inherited(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "before");
	fork_at(fixture, 6, 5, 100);
	jit_fixture_exec(fixture, 6, 110);
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 6, 105, CODE), "before");
	assert_null(jit_fixture_name(fixture, 6, 120, CODE));
	assert_false(jit_fixture_has_names(fixture, 6));
	assert_string_equal(jit_fixture_name(fixture, 5, 120, CODE), "before");
	jit_fixture_dump_done(&dump);
}

static void a_child_inherits_no_code_from_before_execve(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "of the first program");
	jit_fixture_exec(fixture, 5, 50);
	jit_fixture_marker(fixture, 5, 60, &dump);
	jit_fixture_load(&dump, 70, 5, CODE + 0x100, "of the second");
	fork_at(fixture, 6, 5, 100);
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 5, 40, CODE), "of the first program");
	assert_null(jit_fixture_name(fixture, 5, 110, CODE));
	assert_null(jit_fixture_name(fixture, 6, 110, CODE));
	assert_string_equal(jit_fixture_name(fixture, 6, 110, CODE + 0x100), "of the second");
	jit_fixture_dump_done(&dump);
}

/* As CPython's forks do: what their parents compiled is on their stacks still. */
static void a_child_with_a_dump_of_its_own_has_its_parents_code(void **state)
{
	struct jit_fixture *fixture = *state;
	struct code_found found;
	struct jit_dump dump, own;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_load(&dump, 20, 5, CODE, "main");
	fork_at(fixture, 6, 5, 100);
	jit_fixture_dump(fixture, &own, 6);
	jitdump_fixture_header(&own.records, 6);
	jit_fixture_marker(fixture, 6, 110, &own);
	jit_fixture_load(&own, 120, 6, CODE + 0x100, "childs");
	jit_fixture_load(&dump, 130, 5, CODE, "parents");
	jit_fixture_load(&dump, 130, 5, CODE + 0x200, "parents too");
	fork_at(fixture, 7, 6, 150);
	jit_fixture_load(&own, 160, 6, CODE, "over it");
	jit_fixture_run(fixture, 200);

	assert_string_equal(jit_fixture_name(fixture, 6, 140, CODE), "main");
	assert_string_equal(jit_fixture_name(fixture, 6, 140, CODE + 0x100), "childs");
	assert_null(jit_fixture_name(fixture, 6, 140, CODE + 0x200));
	assert_string_equal(jit_fixture_name(fixture, 6, 170, CODE), "over it");
	assert_string_equal(jit_fixture_name(fixture, 7, 170, CODE), "main");
	assert_string_equal(jit_fixture_name(fixture, 7, 170, CODE + 0x100), "childs");
	assert_int_equal(jit_table_find(fixture->table, 6, 121 * MS, 140 * MS, CODE, false, &found),
		JIT_FOUND);
	assert_int_equal(jit_table_find(fixture->table, 6, 121 * MS, 170 * MS, CODE, false, &found),
		JIT_AMBIGUOUS);
	jit_fixture_dump_done(&dump);
	jit_fixture_dump_done(&own);
}

static void a_child_with_a_map_of_its_own_has_its_parents_code(void **state)
{
	struct jit_fixture *fixture = *state;

	jit_fixture_process(fixture, 5);
	jit_fixture_write(fixture, 5, "root/tmp/perf-5.map", "10000 40 main\n10100 40 parents\n");
	jit_fixture_memory(fixture, 5, 10);
	jit_fixture_run(fixture, 20);
	fork_at(fixture, 6, 5, 100);
	jit_fixture_write(fixture, 6, "root/tmp/perf-6.map", "10100 40 childs\n");
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, 6, 150, CODE), "main");
	assert_string_equal(jit_fixture_name(fixture, 6, 150, CODE + 0x100), "childs");
	assert_string_equal(jit_fixture_name(fixture, 5, 150, CODE + 0x100), "parents");
}

static void threads_and_forks_of_others_are_nothing(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_process_report report;
	size_t cursor = 0, count = 0;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	jit_fixture_fork(fixture, 5, 5, 20);
	jit_fixture_fork(fixture, 8, 7, 20);
	assert_int_equal(process_table_fork(fixture->processes, 0, 5, 20 * MS), -EINVAL);
	while (jit_table_next(fixture->table, &cursor, &report))
		count++;
	assert_int_equal(count, 1);
	jit_fixture_dump_done(&dump);
}

static void a_child_is_settled_by_its_own_records(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_runtime(fixture, 5, 10, &dump);
	fork_at(fixture, 6, 5, 100);
	jit_fixture_load(&dump, 500, 5, CODE, "parents");
	jit_fixture_run(fixture, 600);
	assert_true(jit_table_is_final(fixture->table, 5, 200 * MS, false));
	assert_false(jit_table_is_final(fixture->table, 6, 200 * MS, true));
	jit_fixture_load(&dump, 610, 6, CODE + 0x100, "childs");
	jit_fixture_run(fixture, 620);
	assert_true(jit_table_is_final(fixture->table, 6, 200 * MS, false));
	jit_fixture_dump_done(&dump);
}

/* Long after the machine began. */
#define NOW_MS 100000

static void forks_from_before_are_found_by_their_parents(void **state)
{
	struct jit_fixture *fixture = *state;
	struct jit_dump dump;

	jit_fixture_process(fixture, 5);
	jit_fixture_process(fixture, 6);
	jit_fixture_parent(fixture, 6, 5);
	jit_fixture_dump(fixture, &dump, 5);
	jitdump_fixture_header(&dump.records, 5);
	/* The child began a second after the machine did: before that, and long after. */
	jit_fixture_load(&dump, 1, 5, CODE, "inherited");
	jit_fixture_load(&dump, NOW_MS, 5, CODE, "parents_own");
	jit_fixture_load(&dump, NOW_MS, 6, CODE + 0x1000, "childs_own");
	jit_fixture_flush(&dump);
	for (pid_t pid = 5; pid < 7; pid++) {
		jit_fixture_link(fixture, pid, &dump);
		(void)jit_fixture_map(fixture, pid, 0, dump.path);
	}
	assert_int_equal(jit_table_note_all(fixture->table), 0);
	jit_fixture_run(fixture, NOW_MS + 1000);
	assert_string_equal(jit_fixture_name(fixture, 5, NOW_MS + 500, CODE), "parents_own");
	assert_null(jit_fixture_name(fixture, 5, NOW_MS + 500, CODE + 0x1000));
	assert_string_equal(jit_fixture_name(fixture, 6, NOW_MS + 500, CODE), "inherited");
	assert_string_equal(
		jit_fixture_name(fixture, 6, NOW_MS + 500, CODE + 0x1000), "childs_own");
	jit_fixture_dump_done(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(a_child_sees_what_was_there_at_the_fork_and_its_own),
		WITH_JIT(a_grandchild_sees_each_until_its_fork),
		WITH_JIT(a_writer_whom_nobody_knows_counts_for_all),
		WITH_JIT(a_parent_that_is_gone_is_not_anybody),
		WITH_JIT(a_child_that_is_gone_has_left_nothing),
		WITH_JIT(execve_ends_what_a_child_has_inherited),
		WITH_JIT(a_child_inherits_no_code_from_before_execve),
		WITH_JIT(a_child_with_a_dump_of_its_own_has_its_parents_code),
		WITH_JIT(a_child_with_a_map_of_its_own_has_its_parents_code),
		WITH_JIT(threads_and_forks_of_others_are_nothing),
		WITH_JIT(a_child_is_settled_by_its_own_records),
		WITH_JIT(forks_from_before_are_found_by_their_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

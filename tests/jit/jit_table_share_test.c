/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share bytes, files and time. */
#include "tests/harness/distinct_users.h"
#include "tests/jit/jit_table_fixture.h"

enum { HONEST = 5, ABUSERS = 100 };

static uid_t honest, abuser;

static void choose_users(void)
{
	struct user_share seen = { 0 };

	honest = (uid_t)distinct_user(&seen, 1000);
	abuser = (uid_t)distinct_user(&seen, 2000);
}

static bool is_root(void)
{
	if (geteuid() != 0)
		print_message("skipped: only root can be two users\n");
	return geteuid() == 0;
}

static void run_runtime(
	struct jit_fixture *fixture, pid_t pid, uid_t user, uint64_t ms, struct jit_dump *dump)
{
	jit_fixture_process_of(fixture, pid, (uint32_t)pid, user);
	jit_fixture_dump(fixture, dump, (uint32_t)pid);
	assert_int_equal(fchown(dump->fd, user, (gid_t)-1), 0);
	jitdump_fixture_header(&dump->records, (uint32_t)pid);
	jit_fixture_flush(dump);
	jit_fixture_marker(fixture, pid, ms, dump);
}

/* Functions of their own long names. */
static void write_many(struct jit_dump *dump, pid_t pid, uint64_t ms, unsigned count)
{
	char name[128];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%0100u", i);
		jitdump_fixture_load_without_code(&dump->records, ms * MS, (uint32_t)pid,
			CODE + (uint64_t)i * CODE_BYTES, CODE_BYTES, i, name);
	}
	jit_fixture_flush(dump);
}

static struct jit_process_report report_of(const struct jit_fixture *fixture, pid_t pid)
{
	struct jit_process_report report;
	size_t cursor = 0;

	while (jit_table_next(fixture->table, &cursor, &report))
		if (report.pid == pid)
			return report;
	fail();
	return report;
}

/* Each of them is smaller than the other user's only file. */
static void many_small_files_of_one_user_take_no_names_of_others(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 20, NAMES = 2000 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump, dumps[COUNT];

	if (!is_root())
		return;
	limits.bytes = 1 << 20;
	jit_fixture_limit(fixture, &limits);
	run_runtime(fixture, HONEST, honest, 10, &dump);
	write_many(&dump, HONEST, 20, NAMES);
	jit_fixture_run(fixture, 1000);
	for (int i = 0; i < COUNT; i++) {
		run_runtime(fixture, ABUSERS + i, abuser, 1010, &dumps[i]);
		write_many(&dumps[i], ABUSERS + i, 1020, NAMES / 2);
	}
	for (uint64_t ms = 2000; ms < 5000; ms += 1000)
		jit_fixture_run(fixture, ms);
	assert_int_equal(report_of(fixture, HONEST).symbols, NAMES);
	assert_int_equal(report_of(fixture, HONEST).code.code_dropped, 0);
	assert_true(user_share_held(jit_table_share(fixture->table), honest) > 0);
	assert_true(jit_table_share(fixture->table)->used <= limits.bytes);
	assert_true(jit_table_excess(fixture->table)->total[USER_JIT] > 0);
	assert_int_equal(jit_table_excess(fixture->table)->lines[0].user, abuser);
	jit_fixture_dump_done(&dump);
	for (int i = 0; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

/* Its file was sampled least recently. */
static void files_of_one_user_evict_none_of_others(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 12 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump, dumps[COUNT];

	if (!is_root())
		return;
	limits.files = 4;
	jit_fixture_limit(fixture, &limits);
	run_runtime(fixture, HONEST, honest, 10, &dump);
	jit_fixture_load(&dump, 20, HONEST, CODE, "named");
	jit_fixture_run(fixture, 50);
	for (int i = 0; i < COUNT; i++) {
		run_runtime(fixture, ABUSERS + i, abuser, 60, &dumps[i]);
		jit_fixture_memory(fixture, ABUSERS + i, 70);
	}
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, HONEST, 40, CODE), "named");
	assert_int_equal(jit_table_excess(fixture->table)->lines[0].user, abuser);
	jit_fixture_dump_done(&dump);
	for (int i = 0; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

/* A container of the user has a range of uids, and samples say whose it is. */
static void files_of_many_uids_are_one_users(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 12, UIDS = 100000 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump first, second, dumps[COUNT];

	if (!is_root())
		return;
	limits.files = 5; /* two of the honest user, so most are the other one's */
	jit_fixture_limit(fixture, &limits);
	run_runtime(fixture, HONEST, honest, 10, &first);
	run_runtime(fixture, HONEST + 1, honest, 10, &second);
	jit_fixture_load(&first, 20, HONEST, CODE, "first");
	jit_fixture_load(&second, 20, HONEST + 1, CODE, "second");
	jit_fixture_run(fixture, 50);
	assert_int_equal(process_table_fork(fixture->processes, ABUSERS, 1, 55 * MS), 0);
	process_table_set_user(fixture->processes, ABUSERS, 55 * MS, abuser);
	for (int i = 1; i < COUNT; i++) {
		assert_int_equal(
			process_table_fork(fixture->processes, ABUSERS + i, ABUSERS, 56 * MS), 0);
		run_runtime(fixture, ABUSERS + i, (uid_t)(UIDS + i), 60, &dumps[i]);
		jit_fixture_memory(fixture, ABUSERS + i, 70);
	}
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, HONEST, 40, CODE), "first");
	assert_string_equal(jit_fixture_name(fixture, HONEST + 1, 40, CODE), "second");
	assert_int_equal(jit_table_excess(fixture->table)->lines[0].user, abuser);
	jit_fixture_dump_done(&first);
	jit_fixture_dump_done(&second);
	for (int i = 1; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

/* A process counts as its parent's user's until a sample says whose it is. */
static void files_are_of_the_user_whom_samples_tell(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 12 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump first, second, dumps[COUNT];

	if (!is_root())
		return;
	limits.files = 5; /* two of the honest user */
	jit_fixture_limit(fixture, &limits);
	run_runtime(fixture, HONEST, honest, 10, &first);
	run_runtime(fixture, HONEST + 1, honest, 10, &second);
	jit_fixture_load(&first, 20, HONEST, CODE, "first");
	jit_fixture_load(&second, 20, HONEST + 1, CODE, "second");
	jit_fixture_run(fixture, 50);
	assert_int_equal(process_table_fork(fixture->processes, ABUSERS, 1, 55 * MS), 0);
	process_table_set_user(fixture->processes, ABUSERS, 55 * MS, honest);
	for (int i = 1; i < COUNT; i++) {
		assert_int_equal(
			process_table_fork(fixture->processes, ABUSERS + i, ABUSERS, 56 * MS), 0);
		run_runtime(fixture, ABUSERS + i, abuser, 60, &dumps[i]);
		process_table_set_user(fixture->processes, ABUSERS + i, 65 * MS, abuser);
		jit_fixture_memory(fixture, ABUSERS + i, 70);
	}
	jit_fixture_run(fixture, 200);
	assert_string_equal(jit_fixture_name(fixture, HONEST, 40, CODE), "first");
	assert_string_equal(jit_fixture_name(fixture, HONEST + 1, 40, CODE), "second");
	assert_int_equal(jit_table_excess(fixture->table)->lines[0].user, abuser);
	jit_fixture_dump_done(&first);
	jit_fixture_dump_done(&second);
	for (int i = 1; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

/* A run has time for some of the files only. */
static void unread_files_of_one_user_delay_no_others(void **state)
{
	struct jit_fixture *fixture = *state;
	enum { COUNT = 60 };
	struct jit_table_limits limits = jit_table_default_limits;
	struct jit_dump dump, dumps[COUNT];

	if (!is_root())
		return;
	limits.steps_per_s = 2560;
	jit_fixture_limit(fixture, &limits);
	for (int i = 0; i < COUNT; i++) {
		run_runtime(fixture, ABUSERS + i, abuser, 10, &dumps[i]);
		write_many(&dumps[i], ABUSERS + i, 20, 1000);
	}
	jit_fixture_run(fixture, 1000);
	run_runtime(fixture, HONEST, honest, 1010, &dump);
	jit_fixture_load(&dump, 1020, HONEST, CODE, "named");
	jit_fixture_run(fixture, 2000);
	assert_string_equal(jit_fixture_name(fixture, HONEST, 1030, CODE), "named");
	jit_fixture_dump_done(&dump);
	for (int i = 0; i < COUNT; i++)
		jit_fixture_dump_done(&dumps[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_JIT(many_small_files_of_one_user_take_no_names_of_others),
		WITH_JIT(files_of_one_user_evict_none_of_others),
		WITH_JIT(files_of_many_uids_are_one_users),
		WITH_JIT(files_are_of_the_user_whom_samples_tell),
		WITH_JIT(unread_files_of_one_user_delay_no_others),
	};

	choose_users();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

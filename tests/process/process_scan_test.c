/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_scan.h"
#include "tests/broker/proc_tree.h"

#include "base/clock.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct tree {
	struct proc_tree files;
	struct process_table *table;
};

static int set_up(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	proc_tree_init(&tree->files);
	assert_int_equal(process_table_new(&process_table_default_limits, &tree->table), 0);
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	process_table_free(tree->table);
	proc_tree_done(&tree->files);
	free(tree);
	return 0;
}

static void write_status(
	const struct tree *tree, const char *name, char state, unsigned int threads)
{
	char path[128];
	FILE *status;

	(void)snprintf(path, sizeof(path), "%s/%s/status", tree->files.proc, name);
	status = fopen(path, "w");
	assert_non_null(status);
	(void)fprintf(status, "Name:\ta\nState:\t%c (some state)\nThreads:\t%u\n", state, threads);
	assert_int_equal(fclose(status), 0);
}

static void remove_process(const struct tree *tree, const char *name)
{
	static const char *const files[] = { "/maps", "/status", "" };
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s%s", tree->files.proc, name, files[i]);
		assert_int_equal(remove(path), 0);
	}
}

/* Of a process that sleeps, with one thread. */
static FILE *create_maps(const struct tree *tree, const char *name)
{
	char path[128];
	FILE *maps;

	(void)snprintf(path, sizeof(path), "%s/%s", tree->files.proc, name);
	assert_int_equal(mkdir(path, 0755), 0);
	write_status(tree, name, 'S', 1);
	(void)snprintf(path, sizeof(path), "%s/%s/maps", tree->files.proc, name);
	maps = fopen(path, "w");
	assert_non_null(maps);
	return maps;
}

static void write_maps(const struct tree *tree, const char *name, const char *text)
{
	FILE *maps = create_maps(tree, name);

	assert_true(fputs(text, maps) >= 0);
	assert_int_equal(fclose(maps), 0);
}

static void assert_file_at(
	const struct tree *tree, pid_t pid, uint64_t ip, const char *path, uint64_t inode)
{
	struct process_mapping mapping;
	struct mapped_file file;

	assert_true(process_table_find(tree->table, pid, 0, ip, &mapping));
	process_table_file(tree->table, mapping.file, &file);
	assert_string_equal(file.path, path);
	assert_int_equal(file.inode, inode);
}

static int scan_all(struct broker *broker, struct process_table *table, const char *proc_root)
{
	struct process_rescan scan = { 0 };
	int r = process_rescan_begin(&scan, proc_root);

	return r < 0 ? r : process_rescan_run(&scan, broker, table, 100, UINT64_MAX);
}

static void executable_mappings_are_added(void **state)
{
	struct tree *tree = *state;
	const struct process_mapping *all;

	write_maps(tree, "12",
		"1000-2000 r--p 00000000 fe:01 7                /bin/a\n"
		"2000-3000 r-xp 00001000 fe:01 7                /bin/a\n"
		"3000-4000 rwxp 00000000 00:00 0 \n"
		"5000-6000 r-xp 00000000 fe:01 8                /b c\\012d (deleted)\n"
		"this is no line\n"
		"7000-8000 r-xp 00000000 00:00 0                [vdso]\n"
		"9000-a000 rwxp 00000000 00:00 0                [anon:jit]");
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	assert_int_equal(process_table_mappings(tree->table, 12, 0, &all), 5);
	assert_int_equal(all[0].offset, 0x1000);
	assert_file_at(tree, 12, 0x2000, "/bin/a", 7);
	assert_file_at(tree, 12, 0x3fff, "//anon", 0);
	assert_file_at(tree, 12, 0x5000, "/b c\nd", 8);
	assert_file_at(tree, 12, 0x7000, "[vdso]", 0);
	assert_file_at(tree, 12, 0x9000, "//anon", 0);
}

static void what_cannot_be_scanned_says_so(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), -ESRCH);
	write_maps(tree, "12", "");
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), -ESRCH);
	write_maps(tree, "13", "1000-2000 r--p 00000000 fe:01 7 /bin/a\n");
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 13, 100), 0);
	assert_false(process_table_has(tree->table, 13, 100));
}

static void hostile_lengths_are_bounded(void **state)
{
	struct tree *tree = *state;
	FILE *maps = create_maps(tree, "12");
	char path[PATH_MAX];

	memset(path, 'x', sizeof(path));
	(void)fprintf(maps, "1000-2000 r-xp 00000000 fe:01 7 /%.*s\n", PATH_MAX - 2, path);
	(void)fprintf(maps, "2000-3000 r-xp 00000000 fe:01 7 /%.*s\n", PATH_MAX - 1, path);
	(void)fprintf(maps, "3000-4000 r-xp 00000000 fe:01 7 /");
	for (size_t i = 0; i < 100; i++)
		(void)fprintf(maps, "%.*s", PATH_MAX, path);
	(void)fprintf(maps, "\n4000-5000 r-xp 00000000 fe:01 7 /end\n");
	assert_int_equal(fclose(maps), 0);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), -E2BIG);
	assert_file_at(tree, 12, 0x4000, "/end", 7);
	assert_true(process_table_find(tree->table, 12, 0, 0x1000, &(struct process_mapping){ 0 }));
	assert_false(
		process_table_find(tree->table, 12, 0, 0x2000, &(struct process_mapping){ 0 }));
	assert_false(
		process_table_find(tree->table, 12, 0, 0x3000, &(struct process_mapping){ 0 }));

	maps = create_maps(tree, "13");
	for (size_t i = 0; i < (16 << 20) / sizeof(path) + 1; i++)
		(void)fprintf(maps, "1000-2000 r--p 00000000 fe:01 7 /%.*s\n", PATH_MAX - 2, path);
	assert_int_equal(fclose(maps), 0);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 13, 100), -E2BIG);
}

static void all_processes_are_added(void **state)
{
	static const char line[] = "2000-3000 r-xp 00001000 fe:01 7 /bin/a\n";
	struct tree *tree = *state;
	char path[128];

	write_maps(tree, "12", line);
	write_maps(tree, "345", line);
	write_maps(tree, "6", "");
	write_maps(tree, "7x", line);
	write_maps(tree, "012", line);
	write_maps(tree, "99999999999", line);
	write_maps(tree, "self", line);
	(void)snprintf(path, sizeof(path), "%s/8", tree->files.proc);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(scan_all(tree->files.broker, tree->table, tree->files.proc), 0);
	assert_file_at(tree, 12, 0x2000, "/bin/a", 7);
	assert_file_at(tree, 345, 0x2000, "/bin/a", 7);
	for (pid_t pid = 6; pid <= 8; pid++)
		assert_false(process_table_has(tree->table, pid, 100));
	assert_int_equal(scan_all(tree->files.broker, tree->table, "/no/such/folder"), -ENOENT);
}

/* A process that runs out of room does not keep the others out. */
static void a_full_table_is_not_an_error_of_all(void **state)
{
	const struct process_table_limits limits = { 10, 1, 10, 1000, 0 };
	struct tree *tree = *state;
	struct process_table *table;

	write_maps(tree, "12",
		"2000-3000 r-xp 00001000 fe:01 7 /a\n"
		"4000-5000 r-xp 00001000 fe:01 7 /a\n");
	assert_int_equal(process_table_new(&limits, &table), 0);
	assert_int_equal(process_scan_one(tree->files.broker, table, 12, 100), -E2BIG);
	assert_int_equal(scan_all(tree->files.broker, table, tree->files.proc), 0);
	assert_true(process_table_has(table, 12, 100));
	process_table_free(table);
}

/* Leaves room for one descriptor; returns the limit that was there. */
static struct rlimit exhaust_descriptors(void)
{
	struct rlimit before, bound;
	int lowest = dup(STDERR_FILENO);

	assert_true(lowest >= 0);
	assert_int_equal(close(lowest), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	bound = before;
	bound.rlim_cur = (rlim_t)lowest + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &bound), 0);
	return before;
}

static void a_scan_survives_running_out_of_descriptors(void **state)
{
	struct tree *tree = *state;
	struct rlimit before;
	int r;

	write_maps(tree, "12", "1000-2000 r-xp 00000000 fe:01 7                /bin/a\n");
	write_maps(tree, "13", "1000-2000 r-xp 00000000 fe:01 7                /bin/a\n");
	before = exhaust_descriptors();
	/* The folder takes the one descriptor that there is. */
	r = scan_all(tree->files.broker, tree->table, tree->files.proc);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, 0);
	assert_false(process_table_has(tree->table, 12, 100));
	assert_int_equal(scan_all(tree->files.broker, tree->table, tree->files.proc), 0);
	assert_true(process_table_has(tree->table, 12, 100));
	assert_true(process_table_has(tree->table, 13, 100));
}

static void the_live_system_is_scanned(void **state)
{
	struct process_table *table;
	struct process_mapping mapping;
	struct mapped_file file;
	struct broker *broker;
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = '\0';
	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &table), 0);
	assert_int_equal(scan_all(broker, table, "/proc"), 0);
	assert_true(process_table_find(
		table, getpid(), 100, (uint64_t)(uintptr_t)the_live_system_is_scanned, &mapping));
	process_table_file(table, mapping.file, &file);
	assert_string_equal(file.path, path);
	assert_true(file.is_regular);
	process_table_free(table);
	broker_free(broker);
}

/* Has the image ended, so that it retires? */
static bool is_kept(struct process_table *table, pid_t pid)
{
	process_table_retire(table, UINT64_MAX - 1);
	return process_table_has(table, pid, UINT64_MAX - 1);
}

static const char one_line[] = "2000-3000 r-xp 00001000 fe:01 7 /bin/a\n";

static void an_unchanged_process_keeps_its_version(void **state)
{
	struct tree *tree = *state;
	uint64_t version;

	write_maps(tree, "12", one_line);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	version = process_table_version(tree->table, 12, 100);
	assert_true(version > 0);
	/* A second look finds nothing new. */
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 200), 0);
	assert_int_equal(process_table_version(tree->table, 12, 100), version);
}

static void threads_are_counted(void **state)
{
	struct tree *tree = *state;
	uint64_t later_ns = UINT64_MAX / 2;

	write_maps(tree, "12", one_line);
	write_status(tree, "12", 'S', 3);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	/* Of before the count: it is part of it. */
	process_table_exit(tree->table, 12, 101);
	for (int i = 0; i < 2; i++) {
		process_table_exit(tree->table, 12, later_ns);
		assert_true(is_kept(tree->table, 12));
	}
	process_table_exit(tree->table, 12, later_ns);
	assert_false(is_kept(tree->table, 12));
	/* One that is about to vanish has none. */
	write_maps(tree, "13", one_line);
	write_status(tree, "13", 'S', 0);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 13, 100), 0);
	assert_false(is_kept(tree->table, 13));
}

static void a_check_corrects_the_count(void **state)
{
	struct tree *tree = *state;

	write_maps(tree, "12", one_line);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	write_status(tree, "12", 'S', 2);
	assert_int_equal(process_scan_check(tree->files.broker, tree->table, 12), 0);
	process_table_exit(tree->table, 12, UINT64_MAX / 2);
	assert_true(is_kept(tree->table, 12));
	/* The first thread has ended and is still listed. */
	write_status(tree, "12", 'Z', 3);
	assert_int_equal(process_scan_check(tree->files.broker, tree->table, 12), 0);
	process_table_exit(tree->table, 12, UINT64_MAX / 2);
	assert_true(is_kept(tree->table, 12));
	process_table_exit(tree->table, 12, UINT64_MAX / 2);
	assert_false(is_kept(tree->table, 12));
}

/* All of it, each step with `step_ns` of time. Returns what the last step did. */
static int rescan(struct tree *tree, uint64_t step_ns)
{
	struct process_rescan rescan = { 0 };
	int r = process_rescan_begin(&rescan, tree->files.proc);

	assert_int_equal(r, 0);
	do
		r = process_rescan_run(&rescan, tree->files.broker, tree->table, 100,
			clock_monotonic_ns() + step_ns);
	while (r == 1);
	assert_null(rescan.folder);
	return r;
}

static void a_rescan_goes_in_steps(void **state)
{
	struct tree *tree = *state;
	struct process_rescan rescan = { 0 };
	int steps = 0, r;

	write_maps(tree, "12", one_line);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	write_maps(tree, "13", one_line);
	assert_int_equal(process_rescan_begin(&rescan, tree->files.proc), 0);
	/* Without any time a step is done all the same. */
	while ((r = process_rescan_run(&rescan, tree->files.broker, tree->table, 100, 0)) == 1)
		steps++;
	assert_int_equal(r, 0);
	assert_true(steps >= 3);
	assert_true(process_table_is_live(tree->table, 13));
	/* One that is under way begins anew, and may be left. */
	assert_int_equal(process_rescan_begin(&rescan, tree->files.proc), 0);
	assert_int_equal(process_rescan_run(&rescan, tree->files.broker, tree->table, 100, 0), 1);
	assert_int_equal(process_rescan_begin(&rescan, tree->files.proc), 0);
	process_rescan_done(&rescan);
	assert_null(rescan.folder);
	assert_int_equal(process_rescan_begin(&rescan, "/nonexistent"), -ENOENT);
	assert_null(rescan.folder);
	assert_int_equal(
		process_rescan_run(&rescan, tree->files.broker, tree->table, 100, UINT64_MAX), 0);
}

static void a_check_finds_who_is_gone(void **state)
{
	struct tree *tree = *state;

	write_maps(tree, "12", one_line);
	write_maps(tree, "13", one_line);
	write_maps(tree, "14", one_line);
	assert_int_equal(scan_all(tree->files.broker, tree->table, tree->files.proc), 0);
	for (pid_t pid = 12; pid <= 14; pid++)
		for (int i = 0; i < 5; i++)
			assert_int_equal(
				process_table_fork(tree->table, pid, pid, UINT64_MAX / 2), 0);
	write_status(tree, "12", 'Z', 1);
	remove_process(tree, "13");
	assert_int_equal(rescan(tree, 0), 0);
	assert_false(is_kept(tree->table, 12));
	assert_false(is_kept(tree->table, 13));
	assert_true(is_kept(tree->table, 14));
	assert_int_equal(process_scan_check(tree->files.broker, tree->table, 13), 0);
}

static void an_unreadable_status_changes_nothing(void **state)
{
	struct tree *tree = *state;
	char path[128];

	write_maps(tree, "12", one_line);
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	(void)snprintf(path, sizeof(path), "%s/12/status", tree->files.proc);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(process_scan_check(tree->files.broker, tree->table, 12), -EINVAL);
	assert_int_equal(rescan(tree, 0), 0);
	assert_true(is_kept(tree->table, 12));
	/* Without a count the mappings are worth having. */
	assert_int_equal(process_scan_one(tree->files.broker, tree->table, 12, 100), 0);
	assert_true(is_kept(tree->table, 12));
}

static void failing_allocations_are_reported(void **state)
{
	struct tree *tree = *state;
	size_t n;
	int r;

	write_maps(tree, "12", "2000-3000 r-xp 00001000 fe:01 7 /a\n");
	for (n = 0;; n++) {
		struct process_table *table;

		assert_int_equal(process_table_new(&process_table_default_limits, &table), 0);
		fail_allocation(n);
		r = scan_all(tree->files.broker, table, tree->files.proc);
		if (!allocation_failed()) {
			process_table_free(table);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		process_table_free(table);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(executable_mappings_are_added),
		IN_TREE(what_cannot_be_scanned_says_so),
		IN_TREE(hostile_lengths_are_bounded),
		IN_TREE(all_processes_are_added),
		IN_TREE(a_full_table_is_not_an_error_of_all),
		IN_TREE(a_scan_survives_running_out_of_descriptors),
		cmocka_unit_test(the_live_system_is_scanned),
		IN_TREE(an_unchanged_process_keeps_its_version),
		IN_TREE(threads_are_counted),
		IN_TREE(a_check_corrects_the_count),
		IN_TREE(a_check_finds_who_is_gone),
		IN_TREE(a_rescan_goes_in_steps),
		IN_TREE(an_unreadable_status_changes_nothing),
		IN_TREE(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

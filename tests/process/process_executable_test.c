/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an image executes: by the side-band's records, and by /proc for those that ran before. */
#include "process/process_scan.h"
#include "process/process_table.h"
#include "tests/broker/proc_tree.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int new_table(void **state)
{
	return process_table_new(&process_table_default_limits, (struct process_table **)state);
}

static int free_table(void **state)
{
	process_table_free(*state);
	return 0;
}

static int map(
	struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t start, const char *path)
{
	const struct process_mapping_event event = {
		.start = start,
		.end = start + 0x1000,
		.path = path,
		.inode = 7,
	};

	return process_table_map(table, pid, time_ns, &event, NULL);
}

static void set_executable(
	struct process_table *table, pid_t pid, uint64_t time_ns, const char *path, uint64_t inode)
{
	const struct process_mapping_event event = { .path = path, .inode = inode };

	assert_int_equal(process_table_set_executable(table, pid, time_ns, &event), 0);
}

/* `path` NULL: it is not known. */
static void assert_executable(
	const struct process_table *table, pid_t pid, uint64_t time_ns, const char *path)
{
	struct mapped_file file = { .path = "untouched" };

	if (process_table_executable(table, pid, time_ns, &file) != !!path)
		fail_msg("it is %s", file.path);
	assert_string_equal(file.path, path ? path : "untouched");
}

static void the_first_file_after_exec(void **state)
{
	struct process_table *table = *state;

	assert_executable(table, 5, 100, NULL);
	assert_int_equal(process_table_exec(table, 5, 100), 0);
	assert_executable(table, 5, 100, NULL);
	/* A stack that can be executed, and other things without a file, come before it. */
	assert_int_equal(map(table, 5, 101, 0x1000, "[stack]"), 0);
	assert_int_equal(map(table, 5, 102, 0x3000, "//anon"), 0);
	assert_executable(table, 5, 102, NULL);
	assert_int_equal(map(table, 5, 103, 0x5000, "/bin/dash (deleted)"), 0);
	assert_int_equal(map(table, 5, 104, 0x7000, "/lib/ld.so"), 0);
	assert_executable(table, 5, 104, "/bin/dash");
	/* It stays, though nothing of it be mapped any more. */
	assert_int_equal(map(table, 5, 105, 0x5000, "//anon"), 0);
	assert_executable(table, 5, 105, "/bin/dash");
	/* Of each image its own, at its time. */
	assert_int_equal(process_table_exec(table, 5, 200), 0);
	assert_executable(table, 5, 200, NULL);
	assert_int_equal(map(table, 5, 201, 0x5000, "/bin/true"), 0);
	assert_executable(table, 5, 201, "/bin/true");
	assert_executable(table, 5, 199, "/bin/dash");
	process_table_exit(table, 5, 300);
	assert_executable(table, 5, 301, "/bin/true");
	process_table_retire(table, 250);
	assert_executable(table, 5, 199, NULL);
	process_table_retire(table, 301);
	assert_executable(table, 5, 301, NULL);
}

static void without_exec_the_executable_is_unknown(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 5, 100, 0x5000, "/lib/plugin.so"), 0);
	assert_executable(table, 5, 100, NULL);
}

static void children_have_their_parents(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(process_table_exec(table, 5, 100), 0);
	assert_int_equal(map(table, 5, 101, 0x5000, "/bin/dash"), 0);
	assert_int_equal(process_table_fork(table, 6, 5, 110), 0);
	process_table_gone(table, 5, 120);
	process_table_retire(table, 130);
	assert_executable(table, 6, 140, "/bin/dash");
	/* A mapping of the child's own is none. */
	assert_int_equal(map(table, 6, 150, 0x9000, "/lib/plugin.so"), 0);
	assert_executable(table, 6, 150, "/bin/dash");
	assert_int_equal(process_table_exec(table, 6, 160), 0);
	assert_executable(table, 6, 160, NULL);
	/* A thread changes nothing. */
	assert_int_equal(map(table, 6, 161, 0x9000, "/bin/true"), 0);
	assert_int_equal(process_table_fork(table, 6, 6, 170), 0);
	assert_executable(table, 6, 170, "/bin/true");
}

static void proc_exe_names_the_executable(void **state)
{
	struct process_table *table = *state;
	struct mapped_file file;

	/* Of a process that nobody knows, of one that began later, of one that has ended. */
	set_executable(table, 5, 100, "/bin/a", 8);
	assert_executable(table, 5, 100, NULL);
	assert_int_equal(process_table_exec(table, 5, 200), 0);
	set_executable(table, 5, 199, "/bin/a", 8);
	assert_executable(table, 5, 200, NULL);
	set_executable(table, 5, 201, "/bin/a (deleted)", 8);
	assert_executable(table, 5, 201, "/bin/a");
	/* What was to come after execve() has come. */
	assert_int_equal(map(table, 5, 202, 0x5000, "/lib/ld.so"), 0);
	assert_executable(table, 5, 202, "/bin/a");
	/* The same file as is mapped, whatever its inode seems to be. */
	set_executable(table, 5, 203, "/lib/ld.so (deleted)", 8);
	assert_true(process_table_executable(table, 5, 203, &file));
	assert_string_equal(file.path, "/lib/ld.so");
	assert_int_equal(file.inode, 7);
	process_table_gone(table, 5, 300);
	set_executable(table, 5, 301, "/bin/c", 8);
	assert_executable(table, 5, 301, "/lib/ld.so");
}

/* Rather none than the interpreter. */
static void a_program_that_is_refused_is_not_known(void **state)
{
	const struct process_table_limits limits = { 10, 8, 8, 10, 0 };
	struct process_table *table;
	const struct process_mapping_event event = { .path = "/a/longer/path" };

	assert_int_equal(process_table_new(&limits, &table), 0);
	assert_int_equal(process_table_exec(table, 5, 100), 0);
	assert_int_equal(map(table, 5, 101, 0x5000, "/a/longer/path"), -E2BIG);
	(void)map(table, 5, 102, 0x7000, "/i");
	assert_executable(table, 5, 102, NULL);
	assert_int_equal(process_table_set_executable(table, 5, 103, &event), -E2BIG);
	assert_executable(table, 5, 103, NULL);
	process_table_free(table);
}

/* Each execve() of another file, in a table with room for few: all that was taken is given back. */
static void churn_is_bounded(void **state)
{
	const struct process_table_limits limits = { 8, 4, 32, 1024, 0 };
	struct process_table_counters counters;
	struct process_table *table;
	char path[32];

	assert_int_equal(process_table_new(&limits, &table), 0);
	for (unsigned i = 0; i < 1000; i++) {
		pid_t pid = (pid_t)(i % 4 + 1);

		(void)snprintf(path, sizeof(path), "/bin/%u", i);
		assert_int_equal(process_table_exec(table, pid, i * 10), 0);
		assert_int_equal(map(table, pid, i * 10 + 1, 0x5000, path), 0);
		assert_int_equal(map(table, pid, i * 10 + 2, 0x5000, "//anon"), 0);
		assert_executable(table, pid, i * 10 + 2, path);
	}
	process_table_counters(table, &counters);
	assert_int_equal(counters.files_refused, 0);
	process_table_free(table);
}

/* With process 12 in it. */
struct tree {
	struct proc_tree files;
	char program[PATH_MAX];
};

/* `program` NULL: it has no executable, as a thread of the kernel. */
static void make_tree(struct tree *tree, const char *program)
{
	const struct proc_tree *files = &tree->files;
	char line[PATH_MAX + 128];

	proc_tree_init(&tree->files);
	proc_tree_folder(files, "12");
	proc_tree_write(files, "12/status", "Name:\ta\nState:\tS (some state)\nThreads:\t1\n");
	proc_tree_write(files, "12/stat",
		"12 (a) S 1 12 12 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 2 3\n");
	(void)snprintf(tree->program, sizeof(tree->program), "%s/program", files->proc);
	proc_tree_write(files, "program", "not read");
	(void)snprintf(line, sizeof(line),
		"2000-3000 r-xp 00001000 fe:01 7 %s\n5000-6000 r-xp 00000000 fe:01 8 /lib/a\n",
		tree->program);
	proc_tree_write(files, "12/maps", line);
	if (program)
		assert_int_equal(symlink(program, proc_tree_path(files, "12/exe")), 0);
}

static void remove_tree(struct tree *tree)
{
	proc_tree_done(&tree->files);
}

static void a_scan_finds_it(void **state)
{
	struct process_table *table = *state;
	struct mapped_file file;
	struct tree tree;

	make_tree(&tree, "../program");
	assert_int_equal(process_scan_one(tree.files.broker, table, 12, 100), 0);
	assert_true(process_table_executable(table, 12, 100, &file));
	assert_string_equal(file.path, tree.program);
	assert_int_equal(file.inode, 7); /* the file that is mapped */
	assert_int_equal(file.device_major, 0xfe);
	remove_tree(&tree);
}

static void a_scan_finds_one_that_is_not_mapped(void **state)
{
	struct process_table *table = *state;
	struct mapped_file file;
	struct stat status;
	struct tree tree;

	assert_int_equal(stat("/proc/self/exe", &status), 0);
	make_tree(&tree, "/proc/self/exe");
	assert_int_equal(process_scan_one(tree.files.broker, table, 12, 100), 0);
	assert_true(process_table_executable(table, 12, 100, &file));
	assert_non_null(strstr(file.path, "process_executable_test"));
	assert_int_equal(file.inode, status.st_ino);
	remove_tree(&tree);
}

static void a_scan_does_without(void **state)
{
	struct process_table *table = *state;
	struct tree tree;

	make_tree(&tree, NULL);
	assert_int_equal(process_scan_one(tree.files.broker, table, 12, 100), 0);
	assert_executable(table, 12, 100, NULL);
	assert_true(process_table_has(table, 12, 100));
	remove_tree(&tree);
}

static void the_live_system_is_scanned(void **state)
{
	struct process_table *table = *state;
	char path[PATH_MAX];
	struct broker *broker;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = '\0';
	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(process_scan_one(broker, table, getpid(), 100), 0);
	assert_executable(table, getpid(), 100, path);
	broker_free(broker);
}

static void failing_allocations_are_reported(void **state)
{
	struct tree tree;
	size_t n;
	int r;

	make_tree(&tree, "/proc/self/exe");
	for (n = 0;; n++) {
		struct process_table *table;
		bool failed;

		assert_int_equal(process_table_new(&process_table_default_limits, &table), 0);
		fail_allocation(n);
		r = process_scan_one(tree.files.broker, table, 12, 100);
		failed = allocation_failed();
		process_table_free(table);
		if (!failed)
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
	remove_tree(&tree);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, new_table, free_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(the_first_file_after_exec),
		WITH_TABLE(without_exec_the_executable_is_unknown),
		WITH_TABLE(children_have_their_parents),
		WITH_TABLE(proc_exe_names_the_executable),
		cmocka_unit_test(a_program_that_is_refused_is_not_known),
		cmocka_unit_test(churn_is_bounded),
		WITH_TABLE(a_scan_finds_it),
		WITH_TABLE(a_scan_finds_one_that_is_not_mapped),
		WITH_TABLE(a_scan_does_without),
		WITH_TABLE(the_live_system_is_scanned),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

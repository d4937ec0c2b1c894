/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Over a folder that stands for /proc, and the cgroups that the machine has. */
#include "labels/cgroup_table.h"
#include "tests/broker/proc_tree.h"
#include "tests/harness/cgroup.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int scan_all(struct cgroup_table *table)
{
	int r = cgroup_table_scan_begin(table);

	return r < 0 ? r : cgroup_table_scan_run(table, UINT64_MAX);
}

struct tree {
	struct proc_tree files;
	struct process_table *processes;
	struct cgroup_table *table;
};

static void write_cgroups(const struct tree *tree, pid_t pid, const char *text)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%d", (int)pid);
	(void)mkdir(proc_tree_path(&tree->files, name), 0755);
	(void)snprintf(name, sizeof(name), "%d/cgroup", (int)pid);
	proc_tree_write(&tree->files, name, text);
}

static int set_up(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	proc_tree_init(&tree->files);
	assert_int_equal(process_table_new(&process_table_default_limits, &tree->processes), 0);
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	cgroup_table_free(tree->table);
	process_table_free(tree->processes);
	proc_tree_done(&tree->files);
	free(tree);
	return 0;
}

static void new_table(struct tree *tree)
{
	cgroup_table_free(tree->table);
	tree->table = NULL;
	assert_int_equal(cgroup_table_new(&cgroup_table_default_limits, tree->files.broker,
				 tree->processes, NULL, &tree->table),
		0);
}

/* With what /proc says of our own hierarchies. */
static void new_table_of(struct tree *tree, const char *hierarchies)
{
	write_cgroups(tree, getpid(), hierarchies);
	new_table(tree);
}

static const char *find(struct tree *tree, uint64_t id, pid_t pid)
{
	const struct broker_process process = { .pid = pid };

	return cgroup_table_find(tree->table, id, &process, 1000);
}

static uint64_t unknown(const struct tree *tree)
{
	struct cgroup_table_counters counters;

	cgroup_table_counters(tree->table, &counters);
	return counters.unknown;
}

static void what_is_told_is_found(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "0::/\n");
	assert_string_equal(find(tree, 4711000, 12), "");
	assert_int_equal(unknown(tree), 1);
	assert_int_equal(cgroup_table_add(tree->table, 4711000, "/a.slice"), 0);
	assert_string_equal(find(tree, 4711000, 12), "/a.slice");
	assert_string_equal(cgroup_table_find(tree->table, 4711000, NULL, 0), "/a.slice");
	assert_string_equal(cgroup_table_find(tree->table, 4711001, NULL, 0), "");
	assert_int_equal(unknown(tree), 2);
	assert_int_equal(cgroup_table_add(tree->table, 5, "a.slice"), -EINVAL);
	assert_int_equal(cgroup_table_add(tree->table, 5, ""), -EINVAL);
	/* The root of the only hierarchy there is, whoever asks. */
	assert_string_equal(find(tree, 1, 12), "/");
	assert_string_equal(cgroup_table_find(tree->table, 1, NULL, 0), "/");
}

static void the_bounds_hold(void **state)
{
	const struct cgroup_table_limits limits = { .cgroups = 8, .path_bytes = 64 };
	struct cgroup_table_counters counters;
	struct tree *tree = *state;
	char path[80];

	write_cgroups(tree, getpid(), "0::/\n");
	assert_int_equal(
		cgroup_table_new(&limits, tree->files.broker, tree->processes, NULL, &tree->table),
		0);
	for (uint64_t id = 100; id < 200; id++)
		assert_int_equal(cgroup_table_add(tree->table, id, "/a"), 0);
	cgroup_table_counters(tree->table, &counters);
	assert_int_equal(counters.evicted, 94);
	assert_string_equal(cgroup_table_find(tree->table, 194, NULL, 0), "/a");
	assert_string_equal(cgroup_table_find(tree->table, 193, NULL, 0), "");
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(cgroup_table_add(tree->table, 300, path), -E2BIG);
	cgroup_table_counters(tree->table, &counters);
	assert_int_equal(counters.refused, 1);
	assert_true(cgroup_table_bytes(tree->table) < 32 * 1024);
}

static void processes_tell_on_hosts_with_v1(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "2:cpu:/\n1:name=systemd:/\n0::/\n");
	write_cgroups(tree, 12, "2:cpu:/docker/1\n1:name=systemd:/docker/2\n0::/\n");
	write_cgroups(tree, 13, "2:cpu:/docker/3\n");
	assert_string_equal(find(tree, 1, 12), "/docker/2");
	assert_string_equal(find(tree, 0, 13), "/docker/3");
	assert_string_equal(find(tree, 0, 14), "");
	assert_int_equal(unknown(tree), 1);
	/* Asked once, whatever it says later. */
	write_cgroups(tree, 12, "1:name=systemd:/other\n");
	write_cgroups(tree, 14, "1:name=systemd:/other\n");
	assert_string_equal(find(tree, 0, 12), "/docker/2");
	assert_string_equal(find(tree, 1, 14), "");
	assert_int_equal(unknown(tree), 1);
	/* Nobody to ask. */
	assert_string_equal(cgroup_table_find(tree->table, 1, NULL, 0), "");
	assert_string_equal(find(tree, 1, 0), "");
}

static const char *find_at(struct tree *tree, pid_t pid, uint64_t start_ns, uint64_t time_ns)
{
	const struct broker_process process = { .pid = pid, .start_ns = start_ns };

	return cgroup_table_find(tree->table, 0, &process, time_ns);
}

static void who_is_gone_has_the_cgroup_of_an_ancestor(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "1:name=systemd:/\n");
	write_cgroups(tree, 50, "1:name=systemd:/a\n");
	assert_int_equal(process_table_exec(tree->processes, 50, 10), 0);
	assert_int_equal(process_table_fork(tree->processes, 60, 50, 20), 0);
	assert_int_equal(process_table_fork(tree->processes, 70, 60, 30), 0);
	assert_int_equal(process_table_exec(tree->processes, 70, 40), 0);
	process_table_exit(tree->processes, 60, 50);
	process_table_exit(tree->processes, 70, 60);
	/* Whoever has its pid now is not asked, and its parent's parent is once. */
	write_cgroups(tree, 70, "1:name=systemd:/other\n");
	assert_string_equal(find_at(tree, 70, 0, 45), "/a");
	write_cgroups(tree, 50, "1:name=systemd:/moved\n");
	assert_string_equal(find_at(tree, 60, 0, 25), "/a");
	assert_int_equal(unknown(tree), 0);
	/* Then it goes, too, and is known still. */
	process_table_exit(tree->processes, 50, 80);
	assert_string_equal(find_at(tree, 60, 0, 25), "/a");
	assert_int_equal(unknown(tree), 0);
}

static void a_pid_that_is_another_processs_tells_nothing(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "1:name=systemd:/\n");
	write_cgroups(tree, 1, "1:name=systemd:/init.scope\n");
	write_cgroups(tree, 50, "1:name=systemd:/new\n");
	assert_int_equal(process_table_exec(tree->processes, 1, 5), 0);
	assert_int_equal(process_table_fork(tree->processes, 50, 1, 10), 0);
	assert_int_equal(process_table_fork(tree->processes, 60, 50, 20), 0);
	process_table_exit(tree->processes, 50, 30);
	process_table_exit(tree->processes, 60, 40);
	assert_int_equal(process_table_fork(tree->processes, 50, 1, 50), 0);
	assert_string_equal(find_at(tree, 60, 0, 25), "");
	assert_int_equal(unknown(tree), 1);
	/* Of who has it now it does. */
	assert_int_equal(process_table_fork(tree->processes, 60, 50, 60), 0);
	process_table_exit(tree->processes, 60, 70);
	assert_string_equal(find_at(tree, 60, 0, 65), "/new");
	assert_string_equal(find_at(tree, 60, 0, 25), "");
}

static void who_there_is_no_time_for_is_asked_in_the_next_window(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "1:name=systemd:/\n");
	write_cgroups(tree, 12, "1:name=systemd:/a\n");
	write_cgroups(tree, 13, "1:name=systemd:/b\n");
	cgroup_table_begin_window(tree->table, 0);
	assert_string_equal(find(tree, 0, 12), "");
	/* The first takes longer than there is time. */
	cgroup_table_begin_window(tree->table, 1);
	assert_string_equal(find(tree, 0, 12), "/a");
	assert_string_equal(find(tree, 0, 13), "");
	assert_string_equal(find(tree, 0, 12), "/a");
	cgroup_table_begin_window(tree->table, UINT64_MAX);
	assert_string_equal(find(tree, 0, 13), "/b");
	assert_int_equal(unknown(tree), 0);
}

static void processes_are_asked_where_nothing_is_known_of_hierarchies(void **state)
{
	struct tree *tree = *state;

	new_table(tree);
	write_cgroups(tree, 12, "0::/a\n");
	assert_string_equal(find(tree, 1, 12), "/a");
}

static void the_sideband_of_another_hierarchy_is_ignored(void **state)
{
	struct tree *tree = *state;

	new_table_of(tree, "3:perf_event:/\n0::/\n");
	assert_int_equal(cgroup_table_add(tree->table, 4711000, "/of/v1"), 0);
	assert_string_equal(cgroup_table_find(tree->table, 4711000, NULL, 0), "");
}

static void make_cgroup(struct test_cgroup *cgroup, const char *name)
{
	const char *missing = test_cgroup_make(cgroup, name);

	if (missing) {
		print_message("skipped: %s\n", missing);
		skip();
	}
}

static void a_scan_finds_what_is_there(void **state)
{
	struct tree *tree = *state;
	struct test_cgroup outer, inner;

	make_cgroup(&outer, "cgroup_table_test");
	make_cgroup(&inner, "cgroup_table_test/inner.scope");
	new_table_of(tree, "0::/\n");
	assert_int_equal(scan_all(tree->table), 0);
	assert_string_equal(
		cgroup_table_find(tree->table, outer.id, NULL, 0), "/cgroup_table_test");
	assert_string_equal(cgroup_table_find(tree->table, inner.id, NULL, 0),
		"/cgroup_table_test/inner.scope");
	/* One that is gone keeps its name. */
	assert_int_equal(test_cgroup_remove(&inner), 0);
	assert_int_equal(scan_all(tree->table), 0);
	assert_string_equal(cgroup_table_find(tree->table, inner.id, NULL, 0),
		"/cgroup_table_test/inner.scope");
	assert_int_equal(test_cgroup_remove(&outer), 0);
	assert_int_equal(unknown(tree), 0);
}

static void a_scan_goes_in_steps(void **state)
{
	struct tree *tree = *state;
	struct test_cgroup outer, inner;
	size_t steps = 0;
	int r;

	make_cgroup(&outer, "cgroup_table_test_of_steps");
	make_cgroup(&inner, "cgroup_table_test_of_steps/inner");
	new_table_of(tree, "0::/\n");
	assert_false(cgroup_table_is_scanning(tree->table));
	assert_int_equal(cgroup_table_scan_run(tree->table, 0), 0);
	assert_int_equal(cgroup_table_scan_begin(tree->table), 1);
	assert_true(cgroup_table_is_scanning(tree->table));
	assert_string_equal(cgroup_table_find(tree->table, inner.id, NULL, 0), "");
	assert_int_equal(cgroup_table_scan_begin(tree->table), 1);
	while ((r = cgroup_table_scan_run(tree->table, 0)) == 1) {
		assert_true(cgroup_table_is_scanning(tree->table));
		steps++;
	}
	assert_int_equal(r, 0);
	assert_true(steps > 0);
	assert_false(cgroup_table_is_scanning(tree->table));
	assert_string_equal(cgroup_table_find(tree->table, inner.id, NULL, 0), inner.path);
	/* One that is under way is freed with the table. */
	assert_int_equal(cgroup_table_scan_begin(tree->table), 1);
	assert_int_equal(test_cgroup_remove(&inner), 0);
	assert_int_equal(test_cgroup_remove(&outer), 0);
}

static void a_scan_of_too_many_is_counted(void **state)
{
	const struct cgroup_table_limits few = { .cgroups = 2, .path_bytes = 4096 },
					 short_paths = { .cgroups = 100, .path_bytes = 16 };
	struct cgroup_table_counters counters;
	struct test_cgroup outer, inner;
	struct tree *tree = *state;

	make_cgroup(&outer, "cgroup_table_test_of_bounds");
	make_cgroup(&inner, "cgroup_table_test_of_bounds/inner");
	assert_int_equal(
		cgroup_table_new(&few, tree->files.broker, tree->processes, NULL, &tree->table), 0);
	assert_int_equal(scan_all(tree->table), 0);
	cgroup_table_counters(tree->table, &counters);
	assert_true(counters.evicted > 0);
	cgroup_table_free(tree->table);
	tree->table = NULL;
	assert_int_equal(cgroup_table_new(&short_paths, tree->files.broker, tree->processes, NULL,
				 &tree->table),
		0);
	assert_int_equal(scan_all(tree->table), 0);
	cgroup_table_counters(tree->table, &counters);
	assert_true(counters.refused > 0);
	assert_string_equal(cgroup_table_find(tree->table, inner.id, NULL, 0), "");
	assert_int_equal(test_cgroup_remove(&inner), 0);
	assert_int_equal(test_cgroup_remove(&outer), 0);
}

static void an_unknown_id_is_asked_of_its_process(void **state)
{
	struct tree *tree = *state;
	struct test_cgroup cgroup;

	make_cgroup(&cgroup, "cgroup_table_test_of_processes");
	new_table_of(tree, "0::/\n");
	/* It was there, but has been moved meanwhile; it lies; it is there. */
	write_cgroups(tree, 12, "0::/\n");
	write_cgroups(tree, 13, "0::/cgroup_table_test_of_processes/../..\n");
	write_cgroups(tree, 14, "1:name=systemd:/x\n0::/cgroup_table_test_of_processes\n");
	assert_string_equal(find(tree, cgroup.id, 12), "");
	assert_string_equal(find(tree, cgroup.id, 13), "");
	assert_string_equal(find(tree, cgroup.id, 14), cgroup.path);
	/* And now everybody knows. */
	assert_string_equal(find(tree, cgroup.id, 12), cgroup.path);
	assert_int_equal(unknown(tree), 2);
	assert_int_equal(test_cgroup_remove(&cgroup), 0);
}

static void no_cgroup2_is_said(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(cgroup_table_new(&cgroup_table_default_limits, tree->files.broker,
				 tree->processes, tree->files.proc, &tree->table),
		0);
	assert_int_equal(scan_all(tree->table), -ENOENT);
	cgroup_table_free(tree->table);
	tree->table = NULL;
	assert_int_equal(cgroup_table_new(&cgroup_table_default_limits, tree->files.broker,
				 tree->processes, "/no/such/folder", &tree->table),
		0);
	assert_int_equal(scan_all(tree->table), -ENOENT);
}

static int use_table(struct tree *tree, const char *mount)
{
	_cleanup_(cgroup_table_freep) struct cgroup_table *table = NULL;
	const struct broker_process process = { .pid = 12 };
	int r = cgroup_table_new(
		&cgroup_table_default_limits, tree->files.broker, tree->processes, mount, &table);

	if (r < 0)
		return r;
	r = scan_all(table);
	if (r < 0)
		return r;
	r = cgroup_table_add(table, 4711000, "/a");
	if (r < 0)
		return r;
	/* What there is no memory for is not known. */
	return cgroup_table_find(table, 0, &process, 0)[0] ? 0 : -ENOMEM;
}

static void failing_allocations_are_reported(void **state)
{
	const char *mount = test_cgroup_mount();
	struct tree *tree = *state;
	bool failed = true;
	size_t n;
	int r;

	if (!mount) {
		print_message("skipped: there is no cgroup2 file system\n");
		skip();
	}
	write_cgroups(tree, getpid(), "1:name=systemd:/\n");
	write_cgroups(tree, 12, "1:name=systemd:/a\n");
	for (n = 0; failed; n++) {
		fail_allocation(n);
		r = use_table(tree, mount);
		failed = allocation_failed();
		/* The last one only keeps what has been found from being asked again. */
		assert_true(!failed || r == -ENOMEM || n > 8);
	}
	assert_int_equal(r, 0);
	assert_true(n > 8);
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(what_is_told_is_found),
		IN_TREE(the_bounds_hold),
		IN_TREE(processes_tell_on_hosts_with_v1),
		IN_TREE(who_is_gone_has_the_cgroup_of_an_ancestor),
		IN_TREE(a_pid_that_is_another_processs_tells_nothing),
		IN_TREE(who_there_is_no_time_for_is_asked_in_the_next_window),
		IN_TREE(processes_are_asked_where_nothing_is_known_of_hierarchies),
		IN_TREE(the_sideband_of_another_hierarchy_is_ignored),
		IN_TREE(a_scan_finds_what_is_there),
		IN_TREE(a_scan_goes_in_steps),
		IN_TREE(a_scan_of_too_many_is_counted),
		IN_TREE(an_unknown_id_is_asked_of_its_process),
		IN_TREE(no_cgroup2_is_said),
		IN_TREE(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

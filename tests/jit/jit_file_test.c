/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tells a process's own files, with a folder that stands for /proc. */
#include "jit/jit_file.h"
#include "tests/broker/proc_tree.h"
#include "tests/harness/failing_allocation.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void markers_are_recognized_by_name(void **state)
{
	static const char *const good[] = { "/tmp/jit-1.dump", "/jit-4294967296.dump", "jit-0.dump",
		"/home/a b/.debug/jit/java-jit-2026/jit-12.dump", "/tmp/jit-1.dump (deleted)",
		"/tmp/jit-x/jit-007.dump" };
	static const char *const bad[] = { "", "/", "/tmp/jit-.dump", "/tmp/jit-1.dump/",
		"/tmp/jit-1.dump.so", "/tmp/jit-1.dum", "/tmp/jit-1", "/tmp/jit-1a.dump",
		"/tmp/jit--1.dump", "/tmp/jit-+1.dump", "/tmp/jit- 1.dump", "/tmp/xjit-1.dump",
		"/tmp/JIT-1.dump", "/tmp/jit-1.dump/x", "/memfd:jit-1.dump (deleted)",
		"/tmp/jit-1.dump(deleted)", "/tmp/jit-1.dump (deleted) (deleted)",
		"/tmp/jit-1.dump (deleted)x", "/tmp/jitted-1-2.so", "/tmp/perf-1.map" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(jit_file_is_marker(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(jit_file_is_marker(bad[i]));
}

static const struct broker_process process_77 = { .pid = 77 };
static const struct broker_process nobody_else = { .pid = 0 };

#define STAT_77(ticks) "77 (a) b) S 1 77 77 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 " ticks " 1000 2\n"
#define STATUS_77 \
	"Name:\ta\nState:\tS (sleeping)\nUid:\t5\t6\t7\t8\nNStgid:\t77\t9\t3\nThreads:\t1\n"

/* With one process: 77. */
static int set_up(void **state)
{
	struct proc_tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	proc_tree_init(tree);
	proc_tree_folder(tree, "77");
	proc_tree_folder(tree, "77/root");
	proc_tree_folder(tree, "77/root/tmp");
	proc_tree_write(tree, "77/stat", STAT_77("1234"));
	proc_tree_write(tree, "77/status", STATUS_77);
	proc_tree_write(tree, "77/comm", "a) b\n");
	proc_tree_write(tree, "77/timens_offsets", "monotonic           0         0\n");
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct proc_tree *tree = *state;

	proc_tree_done(tree);
	free(tree);
	return 0;
}

static uint64_t boottime_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static uint64_t tick_ns(void)
{
	return NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void facts_are_read(void **state)
{
	struct proc_tree *tree = *state;
	struct jit_process_facts facts;
	uint64_t boot_s = (clock_realtime_ns() - boottime_ns()) / NSEC_PER_SEC;

	assert_int_equal(jit_file_read_facts(tree->broker, &process_77, &facts), 0);
	assert_int_equal(facts.uid, 6);
	assert_int_equal(facts.ns_pid, 3);
	assert_int_equal(facts.start_ns, 1234 * tick_ns());
	assert_string_equal(facts.comm, "a) b");
	assert_int_equal(facts.monotonic_offset_ns, 0);
	assert_in_range(facts.start_realtime_s, boot_s + 1234 * tick_ns() / NSEC_PER_SEC - 1,
		boot_s + 1234 * tick_ns() / NSEC_PER_SEC + 2);

	/* One that says that it will begin is as one that begins now. */
	proc_tree_write(tree, "77/stat", STAT_77("9000000000"));
	assert_int_equal(jit_file_read_facts(tree->broker, &process_77, &facts), 0);
	assert_true(facts.start_realtime_s <= clock_realtime_ns() / NSEC_PER_SEC);
}

static void names_are_bounded(void **state)
{
	static const struct {
		const char *text, *comm;
	} cases[] = {
		{ "", "" },
		{ "\n", "" },
		{ "fifteen letters\n", "fifteen letters" },
		{ "a name of a kernel's thread\n", "a name of a ker" },
		{ "a\nb\n\n", "a\nb\n" },
		{ "\xff\x1b[2J\n", "\xff\x1b[2J" },
	};
	struct proc_tree *tree = *state;
	struct jit_process_facts facts;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		proc_tree_write(tree, "77/comm", cases[i].text);
		assert_int_equal(jit_file_read_facts(tree->broker, &process_77, &facts), 0);
		assert_string_equal(facts.comm, cases[i].comm);
	}
}

static void clocks_of_time_namespaces_are_read(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t offset_ns;
	} cases[] = {
		{ "monotonic           0         0\nboottime            0         0\n", 0, 0 },
		{ "monotonic        3600         5\nboottime            7         8\n", 0,
			3600000000005 },
		{ "monotonic          -1 999999999\n", 0, -1 },
		{ "boottime            7         8\nmonotonic   -5  0\n", 0, -5000000000 },
		{ "monotonic  9223372035  999999999\n", 0, INT64_C(9223372035999999999) },
		{ "", -ESRCH, 0 },
		{ "boottime            7         8\n", -EBADMSG, 0 },
		{ "monotonic", -EBADMSG, 0 },
		{ "monotonic \n", -EBADMSG, 0 },
		{ "monotonic 1\n", -EBADMSG, 0 },
		{ "monotonic 1 2", -EBADMSG, 0 },
		{ "monotonic 1 2 3\n", -EBADMSG, 0 },
		{ "monotonic 1 -2\n", -EBADMSG, 0 },
		{ "monotonic 1 1000000000\n", -EBADMSG, 0 },
		{ "monotonic x 0\n", -EBADMSG, 0 },
		{ "monotonic 9223372037 0\n", -EBADMSG, 0 },
		{ "monotonic 9999999999999999999999999 0\n", -EBADMSG, 0 },
		{ "notmonotonic 1 2\n", -EBADMSG, 0 },
	};
	struct proc_tree *tree = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jit_process_facts facts = { .monotonic_offset_ns = 77 };

		proc_tree_write(tree, "77/timens_offsets", cases[i].text);
		assert_int_equal(
			jit_file_read_facts(tree->broker, &process_77, &facts), cases[i].r);
		assert_int_equal(facts.monotonic_offset_ns, cases[i].r ? 77 : cases[i].offset_ns);
	}
}

static void older_kernels_suffice(void **state)
{
	struct proc_tree *tree = *state;
	struct jit_process_facts facts;

	proc_tree_remove(tree, "77/timens_offsets");
	proc_tree_write(tree, "77/status", "State:\tS\nUid:\t1\t2\t3\t4\nThreads:\t1\n");
	assert_int_equal(jit_file_read_facts(tree->broker, &process_77, &facts), 0);
	assert_int_equal(facts.ns_pid, 77);
	assert_int_equal(facts.monotonic_offset_ns, 0);
}

static void assert_no_facts(const struct proc_tree *tree, int result)
{
	struct jit_process_facts facts = { .ns_pid = 7777 };

	assert_int_equal(jit_file_read_facts(tree->broker, &process_77, &facts), result);
	assert_int_equal(facts.ns_pid, 7777);
}

static void malformed_proc_files_are_refused(void **state)
{
	static const char *const files[] = { "77/timens_offsets", "77/comm", "77/status",
		"77/stat" };
	struct proc_tree *tree = *state;

	proc_tree_write(tree, "77/stat", "77 (a\n");
	assert_no_facts(tree, -EBADMSG);
	proc_tree_write(tree, "77/stat", STAT_77("18446744073709551615"));
	assert_no_facts(tree, -EBADMSG);
	proc_tree_write(tree, "77/stat", STAT_77("1234"));
	proc_tree_write(tree, "77/status", "State:\tS\nNStgid:\t5\nThreads:\t1\n");
	assert_no_facts(tree, -EBADMSG);
	proc_tree_write(tree, "77/status", "State:\tS\nUid:\t1\t2\nNStgid:\t5\n");
	assert_no_facts(tree, -EBADMSG);
	proc_tree_write(tree, "77/status", "State:\tS\nUid:\t1\t2\nNStgid:\t0\nThreads:\t1\n");
	assert_no_facts(tree, -ESRCH);
	proc_tree_write(tree, "77/status", STATUS_77);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		proc_tree_remove(tree, files[i]);
		if (i > 0)
			assert_no_facts(tree, -ESRCH);
	}
}

/* The kernel's own /proc, with a process that nobody has waited for. */
static void an_ended_process_is_gone(void **state)
{
	struct jit_process_facts facts = { .ns_pid = 7777 };
	struct broker *broker;
	siginfo_t info;
	pid_t child;

	if (access("/proc/self/timens_offsets", F_OK) < 0) {
		print_message("skipped: the kernel has no time namespaces\n");
		skip();
	}
	assert_int_equal(broker_new(NULL, &broker), 0);
	child = fork();
	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(
		jit_file_read_facts(broker, &(struct broker_process){ .pid = child }, &facts),
		-ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(
		jit_file_read_facts(broker, &(struct broker_process){ .pid = child }, &facts),
		-ESRCH);
	assert_int_equal(facts.ns_pid, 7777);
	broker_free(broker);
}

static void failing_allocations_are_reported(void **state)
{
	struct proc_tree *tree = *state;
	struct jit_process_facts facts;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = jit_file_read_facts(tree->broker, &process_77, &facts);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 1);
}

static void files_of_ended_processes_are_found_through_their_parents(void **state)
{
	const struct jit_process_facts facts = { .uid = geteuid(), .ns_pid = 9 };
	const struct broker_process gone = { .pid = 78 };
	struct proc_tree *tree = *state;
	_cleanup_close_ int fd = -1;

	assert_int_equal(
		jit_file_open_perf_map(tree->broker, &gone, &process_77, &facts, &fd), -ENOENT);
	proc_tree_write(tree, "77/root/tmp/perf-9.map", "1 1 a\n");
	assert_int_equal(
		jit_file_open_perf_map(tree->broker, &gone, &nobody_else, &facts, &fd), -ESRCH);
	assert_int_equal(jit_file_open_perf_map(tree->broker, &gone, &gone, &facts, &fd), -ESRCH);
	assert_int_equal(fd, -1);
	assert_int_equal(jit_file_open_perf_map(tree->broker, &gone, &process_77, &facts, &fd), 0);
	assert_true(fd >= 0);
}

/* A jitdump's name is no matter, nor its age: it is the mapping that tells whose it is. */
static void descriptors_are_checked(void **state)
{
	const struct jit_process_facts facts = { .uid = geteuid(), .start_realtime_s = 1000 };
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = -5 } };
	char name[] = "/tmp/jit_file_test.XXXXXX", second[sizeof(name) + 2];
	_cleanup_close_ int fd = mkstemp(name), folder = open("/tmp", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_PERF_MAP, &facts), 0);
	(void)snprintf(second, sizeof(second), "%s.2", name);
	assert_int_equal(link(name, second), 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_JITDUMP, &facts), 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_PERF_MAP, &facts), -EMLINK);
	assert_int_equal(unlink(second), 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_PERF_MAP, &facts), 0);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_JITDUMP, &facts), 0);
	assert_int_equal(jit_file_check(fd, JIT_FILE_PERF_MAP, &facts), -ESTALE);
	assert_int_equal(jit_file_check(folder, JIT_FILE_JITDUMP, &facts), -EINVAL);
	assert_int_equal(jit_file_check(-1, JIT_FILE_JITDUMP, &facts), -EBADF);
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markers_are_recognized_by_name),
		IN_TREE(facts_are_read),
		IN_TREE(names_are_bounded),
		IN_TREE(clocks_of_time_namespaces_are_read),
		IN_TREE(older_kernels_suffice),
		IN_TREE(malformed_proc_files_are_refused),
		cmocka_unit_test(an_ended_process_is_gone),
		IN_TREE(failing_allocations_are_reported),
		IN_TREE(files_of_ended_processes_are_found_through_their_parents),
		cmocka_unit_test(descriptors_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of user code, with a program that counts its runs. */
#include "base/cleanup.h"
#include "capture/uprobe_event.h"
#include "capture/uprobe_tree.h"
#include "tests/harness/privilege.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SELF "/proc/self/exe"

static int map_fd, program_fd;

__attribute__((noinline)) static void probed(void)
{
	__asm__ volatile("" ::: "memory");
}

static void call_probed(int times)
{
	for (int i = 0; i < times; i++)
		probed();
}

/* Where probed() begins in this program's file. */
static uint64_t probed_offset(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/maps", "re");
	uint64_t address = (uintptr_t)probed, start, end, offset;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
				3 &&
			address >= start && address < end)
			return address - start + offset;
	fail();
	return 0;
}

static struct uprobe_place place_of_probed(void)
{
	return (struct uprobe_place){ .path = SELF, .offset = probed_offset() };
}

static uint64_t runs(void)
{
	uint64_t value = 0;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(map_fd, &zero, &value), 0);
	return value;
}

static int reset(void **state)
{
	uint64_t value = 0;
	uint32_t zero = 0;

	return bpf_map_update_elem(map_fd, &zero, &value, BPF_ANY);
}

static int load(void **state)
{
	map_fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, "runs", sizeof(uint32_t), sizeof(uint64_t), 1, NULL);

	const struct bpf_insn insns[] = {
		/* *(u32 *)(r10 - 4) = 0; r0 = lookup(map, r10 - 4) */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
			.dst_reg = BPF_REG_2,
			.src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = BPF_REG_1,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = map_fd },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		/* if (r0) *r0 += 1; return 0 */
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
			.dst_reg = BPF_REG_0,
			.src_reg = BPF_REG_1,
			.imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	program_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count_runs", "GPL", insns,
		sizeof(insns) / sizeof(insns[0]), NULL);
	return map_fd < 0 || program_fd < 0 ? -1 : 0;
}

/* A child that waits for a byte. */
struct child {
	pid_t pid;
	int fd;
};

static struct child begin(void (*function)(void))
{
	struct child child;
	int pipes[2];
	char byte;

	assert_int_equal(pipe(pipes), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(pipes[1]);
		(void)!read(pipes[0], &byte, 1);
		function();
		_exit(EXIT_SUCCESS);
	}
	(void)close(pipes[0]);
	child.fd = pipes[1];
	return child;
}

static void run(const struct child *child)
{
	int status;

	/* Another child may have the other end, too. */
	assert_int_equal(write(child->fd, "", 1), 1);
	(void)close(child->fd);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

static void call_and_fork(void)
{
	int status;

	call_probed(10);
	if (fork() == 0) {
		call_probed(7);
		_exit(EXIT_SUCCESS);
	}
	_exit(wait(&status) < 0 || status != 0);
}

static void a_tree_counts_a_process_and_what_it_forks(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *tree = NULL;
	const struct uprobe_place place = place_of_probed();
	struct child child = begin(call_and_fork);

	assert_int_equal(uprobe_tree_open(&place, child.pid, program_fd, 1, &tree), 0);
	call_probed(100);
	run(&child);
	assert_int_equal(runs(), 17);
}

static void call_after_fork(void)
{
	int status;

	for (int i = 0; i < 3; i++) {
		if (fork() == 0)
			_exit(EXIT_SUCCESS);
		if (wait(&status) < 0 || status != 0)
			_exit(EXIT_FAILURE);
		call_probed(5);
	}
}

static void a_tree_goes_on_when_a_child_ends(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *first = NULL, *second = NULL;
	const struct uprobe_place place = place_of_probed();
	struct child one = begin(call_after_fork), other = begin(call_after_fork);

	assert_int_equal(uprobe_tree_open(&place, one.pid, program_fd, 8, &first), 0);
	run(&one);
	assert_int_equal(runs(), 15);
	assert_int_equal(uprobe_tree_open(&place, other.pid, program_fd, 9, &second), 0);
	run(&other);
	assert_int_equal(runs(), 30);
}

static void execute(void)
{
	(void)execl(SELF, "probed", "--call", NULL);
	_exit(EXIT_FAILURE);
}

static void a_tree_goes_on_after_execve(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *tree = NULL;
	const struct uprobe_place place = place_of_probed();
	struct child child = begin(execute);

	assert_int_equal(uprobe_tree_open(&place, child.pid, program_fd, 2, &tree), 0);
	run(&child);
	assert_int_equal(runs(), 5);
}

static void returns_count(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *tree = NULL;
	struct uprobe_place place = place_of_probed();
	struct child child = begin(call_and_fork);

	place.is_return = true;
	assert_int_equal(uprobe_tree_open(&place, child.pid, program_fd, 3, &tree), 0);
	run(&child);
	assert_int_equal(runs(), 17);
}

static void two_trees_of_one_place_count_apart(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *first = NULL, *second = NULL;
	const struct uprobe_place place = place_of_probed();
	struct child one = begin(call_and_fork), other = begin(call_and_fork);

	assert_int_equal(uprobe_tree_open(&place, one.pid, program_fd, 4, &first), 0);
	assert_int_equal(uprobe_tree_open(&place, other.pid, program_fd, 5, &second), 0);
	run(&one);
	assert_int_equal(runs(), 17);
	uprobe_tree_close(TAKE_PTR(first));
	run(&other);
	assert_int_equal(runs(), 34);
}

static void an_event_counts_all_processes(void **state)
{
	const struct uprobe_place place = place_of_probed();
	_cleanup_close_ int fd = -1;
	struct child child = begin(call_and_fork);

	assert_int_equal(uprobe_event_open(&place, &fd), 0);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd), 0);
	call_probed(3);
	run(&child);
	assert_int_equal(runs(), 20);
}

static void bad_places_are_refused(void **state)
{
	struct uprobe_place place = place_of_probed();
	struct uprobe_tree *tree = NULL;
	int fd = -1;

	place.path = "/proc/self/no such file";
	assert_int_equal(uprobe_tree_open(&place, getpid(), program_fd, 6, &tree), -EINVAL);
	assert_true(uprobe_event_open(&place, &fd) < 0);
	place.path = "/nonexistent";
	assert_int_equal(uprobe_tree_open(&place, getpid(), program_fd, 6, &tree), -ENOENT);
	assert_int_equal(uprobe_event_open(&place, &fd), -ENOENT);
	place.path = SELF;
	assert_int_equal(uprobe_tree_open(&place, INT32_MAX, program_fd, 6, &tree), -ESRCH);
	place.semaphore_offset = 1ULL << 32;
	assert_int_equal(uprobe_event_open(&place, &fd), -EINVAL);
	assert_null(tree);
	assert_int_equal(fd, -1);
}

static bool is_defined(pid_t pid)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/kernel/tracing/uprobe_events", "re");
	char line[8192], wanted[64];

	assert_non_null(file);
	(void)snprintf(wanted, sizeof(wanted), "pilotlight/p%d_", (int)pid);
	while (fgets(line, sizeof(line), file))
		if (strstr(line, wanted))
			return true;
	return false;
}

static void leave_behind(void)
{
	const struct uprobe_place place = place_of_probed();
	struct uprobe_tree *tree;

	_exit(uprobe_tree_open(&place, getpid(), program_fd, 1, &tree) < 0);
}

static void what_killed_processes_leave_is_swept(void **state)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *own = NULL;
	const struct uprobe_place place = place_of_probed();
	struct child child = begin(leave_behind);

	assert_int_equal(uprobe_tree_open(&place, getpid(), program_fd, 7, &own), 0);
	run(&child);
	assert_true(is_defined(child.pid));
	uprobe_tree_sweep();
	assert_false(is_defined(child.pid));
	assert_true(is_defined(getpid()));
	uprobe_tree_close(TAKE_PTR(own));
	assert_false(is_defined(getpid()));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_tree_counts_a_process_and_what_it_forks, reset),
		cmocka_unit_test_setup(a_tree_goes_on_when_a_child_ends, reset),
		cmocka_unit_test_setup(a_tree_goes_on_after_execve, reset),
		cmocka_unit_test_setup(returns_count, reset),
		cmocka_unit_test_setup(two_trees_of_one_place_count_apart, reset),
		cmocka_unit_test_setup(an_event_counts_all_processes, reset),
		cmocka_unit_test_setup(bad_places_are_refused, reset),
		cmocka_unit_test_setup(what_killed_processes_leave_is_swept, reset),
	};

	if (argc == 2 && strcmp(argv[1], "--call") == 0) {
		call_probed(5);
		return EXIT_SUCCESS;
	}
	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		return EXIT_SUCCESS;
	}
	return cmocka_run_group_tests(tests, load, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process reports of its own code: its perf map, its marker, and its clock's offset. */
#include "base/cleanup.h"
#include "broker/regular_file.h"
#include "tests/broker/jit_files_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void perf_maps_open_by_the_pid_inside(void **state)
{
	struct tree *tree = *state;
	int fd = -1;

	assert_refused(tree, 5, -ENOENT);
	write_file(tree->proc, "77/root/tmp/perf-5.map", "1 2 a map\n");
	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fd), 0);
	assert_reads(fd, "1 2 a map\n");
	write_file(tree->proc, "77/root/tmp/perf-4294967295.map", "");
	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, UINT32_MAX, &fd), 0);
	assert_reads(fd, "");
	assert_refused(tree, 0, -EINVAL);
	assert_refused(tree, 77, -ENOENT);
}

/* A user may give another one's text the name of a map. */
static void only_text_that_begins_as_a_map_opens(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		int result;
	} cases[] = {
#define TEXT(text, result) { (text), sizeof(text) - 1, (result) }
		TEXT("", 0),
		TEXT("7f0012ab 1c LazyCompile:~f\n", 0),
		TEXT("0x7F0012AB 0X1C f", 0),
		TEXT(" \t0000ffff00007fff\t20 void f()\n", 0),
		TEXT("0x0000ffff00007fff $f", -ENOEXEC),
		TEXT("0 0 \0", 0),
		TEXT("\0", 0),
		TEXT("\0\0\0 1 2 f\n", 0),
		TEXT("\0\0\0a key\n", -ENOEXEC),
		TEXT("1 2", -ENOEXEC),
		TEXT("1", -ENOEXEC),
		TEXT("1234\n5678 a", -ENOEXEC),
		TEXT("0x 2 f\n", -ENOEXEC),
		TEXT("00000ffff00007fff 2 more than 64 bits\n", -ENOEXEC),
		TEXT("\n1 2 f\n", -ENOEXEC),
		TEXT("-----BEGIN PRIVATE KEY-----\n", -ENOEXEC),
		TEXT("user:password\n", -ENOEXEC),
#undef TEXT
	};
	struct tree *tree = *state;
	static char zeros[8192];
	int fd;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_bytes(tree->proc, "77/root/tmp/perf-5.map", cases[i].text, cases[i].size);
		if (cases[i].result < 0) {
			assert_refused(tree, 5, cases[i].result);
			continue;
		}
		assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fd), 0);
		assert_int_equal(close(fd), 0);
	}
	/* What a writer leaves whose file was truncated. */
	write_bytes(tree->proc, "77/root/tmp/perf-5.map", zeros, sizeof(zeros));
	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fd), 0);
	assert_int_equal(close(fd), 0);
}

static void the_folder_may_be_a_link_inside_of_the_root(void **state)
{
	struct tree *tree = *state;
	int fd = -1;

	remove_file(tree->proc, "77/root/tmp");
	assert_refused(tree, 5, -ENOENT);
	make_folder(tree->proc, "77/root/elsewhere");
	write_file(tree->proc, "77/root/elsewhere/perf-5.map", "1 2 elsewhere\n");
	make_link(tree->proc, "77/root/tmp", "/elsewhere");
	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fd), 0);
	assert_reads(fd, "1 2 elsewhere\n");

	/* Upwards ends at the root. */
	write_file(tree->proc, "perf-5.map", "outside\n");
	remove_file(tree->proc, "77/root/tmp");
	make_link(tree->proc, "77/root/tmp", "../..");
	assert_refused(tree, 5, -ENOENT);
	remove_file(tree->proc, "77/root/tmp");
	/* Inside of the root that folder, which is in /tmp, leads to itself. */
	make_link(tree->proc, "77/root/tmp", tree->proc);
	assert_refused(tree, 5, -ELOOP);
	remove_file(tree->proc, "77/root/tmp");
	write_file(tree->proc, "77/root/tmp", "no folder\n");
	assert_refused(tree, 5, -ENOTDIR);
}

static void only_regular_files_that_are_no_links_open(void **state)
{
	struct tree *tree = *state;

	write_file(tree->proc, "77/root/tmp/other", "other\n");
	make_link(tree->proc, "77/root/tmp/perf-1.map", "other");
	assert_refused(tree, 1, -ELOOP);
	make_link(tree->proc, "77/root/tmp/perf-2.map", "../../../outside");
	assert_refused(tree, 2, -ELOOP);
	make_link(tree->proc, "77/root/tmp/perf-3.map", "/proc/self/fd/0");
	assert_refused(tree, 3, -ELOOP);
	assert_int_equal(mkfifo(file_path(tree->proc, "77/root/tmp/perf-4.map"), 0644), 0);
	assert_refused(tree, 4, -EINVAL);
	make_folder(tree->proc, "77/root/tmp/perf-5.map");
	assert_refused(tree, 5, -EINVAL);
	if (mknod(file_path(tree->proc, "77/root/tmp/perf-6.map"), S_IFCHR | 0644, 0x0103) == 0)
		assert_refused(tree, 6, -EINVAL);
}

static void maps_of_other_processes_are_not_found(void **state)
{
	struct tree *tree = *state;
	const struct broker_process unknown = { .pid = 78 };
	int fd = -7;

	write_file(tree->proc, "77/root/tmp/perf-5.map", "1 2 a map\n");
	assert_int_equal(broker_open_perf_map(tree->broker, &later_77, 5, &fd), -ESRCH);
	assert_int_equal(broker_open_perf_map(tree->broker, &later_77, 6, &fd), -ESRCH);
	assert_int_equal(broker_open_perf_map(tree->broker, &unknown, 5, &fd), -ESRCH);
	remove_file(tree->proc, "77/root/tmp/perf-5.map");
	remove_file(tree->proc, "77/root/tmp");
	remove_file(tree->proc, "77/root");
	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

/* A zombie has a folder, but no root. */
static void a_process_that_has_ended_is_gone(void **state)
{
	const enum broker_place *place = *state;
	struct placed_broker placed;
	struct broker *broker;
	siginfo_t info;
	pid_t child;
	int fd = -7;

	placed_broker_start(&placed, *place, NULL);
	broker = placed.broker;
	child = fork();
	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(
		broker_open_perf_map(broker, &(struct broker_process){ .pid = child }, 5, &fd),
		-ESRCH);
	assert_int_equal(broker_open_marker(broker, &(struct broker_process){ .pid = child },
				 0x1000, 0x2000, "/tmp/jit-1.dump", &fd),
		-ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(fd, -7);
	placed_broker_stop(&placed);
}

static void markers_may_be_empty(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	write_file(tree->proc, "77/root/tmp/jit-1.dump", "");
	make_link(tree->proc, "77/map_files/1000-2000", "../root/tmp/jit-1.dump");
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd), -EINVAL);
	assert_int_equal(fd, -7);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd), 0);
	assert_reads(fd, "");
	write_file(tree->proc, "77/root/tmp/jit-1.dump", DUMP "a dump\n");
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
	assert_int_equal(broker_open_marker(
				 tree->broker, &process_77, 0x7000, 0x8000, "/tmp/jit-1.dump", &fd),
		0);
	assert_reads(fd, DUMP "a dump\n");
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-1.dump", &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
}

/* A marker may be readable by its owner only, so it must be recognized by its name. */
static void only_markers_open_by_a_name(void **state)
{
	static const char *const others[] = { "/tmp/key", "/tmp/jit-.dump", "/tmp/jit-1.dump~",
		"/tmp/jit-1a.dump", "/tmp/xjit-1.dump", "/tmp/jit-1", "/jit-1.dump/key" };
	struct tree *tree = *state;
	char path[256];
	int fd = -7;

	assert_int_equal(mkdir(file_path(tree->proc, "77/root/jit-1.dump"), 0755), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		(void)snprintf(path, sizeof(path), "77/root%s", others[i]);
		write_file(tree->proc, path, "a key\n");
		assert_int_equal(
			broker_open_marker(tree->broker, &process_77, 0, 0, others[i], &fd),
			-ENOENT);
		assert_int_equal(broker_open_marker(
					 tree->broker, &process_77, 0x7000, 0x8000, others[i], &fd),
			-ENOENT);
	}
	assert_int_equal(fd, -7);
	write_file(tree->proc, "77/root/tmp/jit-1.dump", DUMP "a dump\n");
	assert_int_equal(chmod(file_path(tree->proc, "77/root/tmp/jit-1.dump"), 0600), 0);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-1.dump", &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
}

/* The engine reads these files without a time limit. */
static void files_on_network_file_systems_are_refused(void **state)
{
	const dev_t disk = makedev(8, 1), none = makedev(0, 50);
	const struct {
		uint64_t type, blocks;
		dev_t device;
		int result, anyones_result; /* mounted by the administrator, by anyone */
	} cases[] = {
		{ EXT4_SUPER_MAGIC, 100, disk, 0, 0 },
		{ MSDOS_SUPER_MAGIC, 100, disk, 0, 0 },
		{ 0x12345678, 100, disk, 0, 0 },
		{ TMPFS_MAGIC, 0, none, 0, 0 },
		{ RAMFS_MAGIC, 0, none, 0, 0 },
		{ OVERLAYFS_SUPER_MAGIC, 100, none, 0, -EREMOTE },
		{ BTRFS_SUPER_MAGIC, 100, none, 0, 0 },
		{ 0x65735546 /* FUSE */, 100, none, -EREMOTE, -EREMOTE },
		{ 0x65735546 /* FUSE */, 0, none, -EREMOTE, -EREMOTE },
		{ 0x65735546 /* fuseblk */, 100, disk, -EREMOTE, -EREMOTE },
		{ 0x7461636f /* OCFS2 */, 100, disk, -EREMOTE, -EREMOTE },
		{ NFS_SUPER_MAGIC, 100, none, -EREMOTE, -EREMOTE },
		{ SMB_SUPER_MAGIC, 100, none, -EREMOTE, -EREMOTE },
		{ V9FS_MAGIC, 100, none, -EREMOTE, -EREMOTE },
		{ 0x12345678, 100, none, -EREMOTE, -EREMOTE },
		{ PROC_SUPER_MAGIC, 0, none, -EINVAL, -EINVAL },
		{ DEBUGFS_MAGIC, 0, none, -EINVAL, -EINVAL },
		{ 0x12345678, 0, none, -EINVAL, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(regular_file_check_storage(cases[i].type, cases[i].blocks,
					 cases[i].device, REGULAR_FILE_BY_ADMINISTRATOR),
			cases[i].result);
		assert_int_equal(regular_file_check_storage(cases[i].type, cases[i].blocks,
					 cases[i].device, REGULAR_FILE_BY_ANYONE),
			cases[i].anyones_result);
	}
}

static void markers_must_be_regular_files(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	assert_int_equal(mkfifo(file_path(tree->proc, "77/root/tmp/fifo"), 0644), 0);
	make_link(tree->proc, "77/map_files/1000-2000", "../root/tmp/fifo");
	make_link(tree->proc, "77/map_files/2000-3000", "/proc/version");
	make_link(tree->proc, "77/map_files/3000-4000", "/dev/null");
	make_link(tree->proc, "77/root/tmp/jit-1.dump", "fifo");
	for (uint64_t start = 0x1000; start < 0x4000; start += 0x1000)
		assert_int_equal(broker_open_marker(tree->broker, &process_77, start,
					 start + 0x1000, "/tmp/jit-1.dump", &fd),
			-EINVAL);
	assert_int_equal(broker_open_marker(
				 tree->broker, &process_77, 0x7000, 0x8000, "/tmp/jit-1.dump", &fd),
		-ELOOP);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x7000, 0x8000, NULL, &fd), -ENOENT);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x8000, 0x7000, NULL, &fd), -EINVAL);
	assert_int_equal(broker_open_marker(tree->broker, &process_77, 0, 0, "tmp", &fd), -EINVAL);
	assert_int_equal(
		broker_open_marker(tree->broker, &later_77, 0, 0, "/tmp/jit-1.dump", &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

enum { NO_NAMESPACE = 255 };

/* Runs in a process of its own. Returns the result of opening the kernel's file. */
static int open_bound_file(const struct tree *tree)
{
	int fd = -7;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("/proc/version", file_path(tree->proc, "77/root/tmp/perf-5.map"), NULL,
			MS_BIND, NULL) < 0)
		return NO_NAMESPACE;
	return -broker_open_perf_map(tree->broker, &process_77, 5, &fd);
}

static void files_of_kernel_file_systems_are_refused(void **state)
{
	struct tree *tree = *state;
	int status;
	pid_t child;

	write_file(tree->proc, "77/root/tmp/perf-5.map", "1 2 a map\n");
	child = fork();
	if (child == 0)
		_exit(open_bound_file(tree));
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_NAMESPACE) {
		print_message("skipped: no mount namespace, which needs root\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), EINVAL);
}

static bool write_own(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Its user becomes root there, as overlayfs demands. */
static bool enter_namespaces(int namespaces)
{
	char users[32], groups[32];

	(void)snprintf(users, sizeof(users), "0 %u 1", geteuid());
	(void)snprintf(groups, sizeof(groups), "0 %u 1", getegid());
	if (unshare(namespaces) < 0)
		return false;
	return !(namespaces & CLONE_NEWUSER) || (write_own("/proc/self/setgroups", "deny") &&
							write_own("/proc/self/uid_map", users) &&
							write_own("/proc/self/gid_map", groups));
}

/*
 * Runs in a process of its own. Mounts an overlayfs over a tmpfs in new namespaces, and writes a
 * perf map and a marker there. Then waits until it is killed.
 */
_Noreturn static void hold_overlay(int namespaces, int pipe_fd)
{
	static const char *const folders[] = { "/tmp/lower", "/tmp/upper", "/tmp/work" };
	/* Ends with a test that fails, too. */
	bool is_mounted = enter_namespaces(namespaces) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
			  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			  mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
	int fd = -1;

	for (size_t i = 0; is_mounted && i < sizeof(folders) / sizeof(folders[0]); i++)
		is_mounted = mkdir(folders[i], 0755) == 0;
	if (is_mounted && mount("overlay", "/tmp", "overlay", 0,
				  "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") == 0)
		fd = open("/tmp/perf-5.map", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || open("/tmp/jit-5.dump", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0)
		_exit(NO_NAMESPACE);
	if (write(pipe_fd, "x", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

/*
 * Such an overlayfs may have a layer on a FUSE of the same user, where a read may last for ever.
 * statfs() does not show it.
 */
static void overlays_of_other_user_namespaces_are_refused(void **state)
{
	static const struct {
		int namespaces;
		int result;
	} cases[] = { { CLONE_NEWNS, 0 }, { CLONE_NEWNS | CLONE_NEWUSER, -EREMOTE } };
	struct broker *broker;

	assert_int_equal(broker_new(NULL, &broker), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct broker_process process;
		int pipe_fds[2], map_fd = -1, marker_fd = -1;
		char byte;

		assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
		process = (struct broker_process){ .pid = fork() };
		if (process.pid == 0)
			hold_overlay(cases[i].namespaces, pipe_fds[1]);
		assert_true(process.pid > 0);
		assert_int_equal(close(pipe_fds[1]), 0);
		if (read(pipe_fds[0], &byte, 1) == 1) {
			assert_int_equal(broker_open_perf_map(broker, &process, 5, &map_fd),
				cases[i].result);
			assert_int_equal(broker_open_marker(broker, &process, 0, 0,
						 "/tmp/jit-5.dump", &marker_fd),
				cases[i].result);
		} else {
			print_message("skipped a case: no overlayfs in these namespaces\n");
		}
		assert_int_equal(kill(process.pid, SIGKILL), 0);
		assert_int_equal(waitpid(process.pid, NULL, 0), process.pid);
		closep(&pipe_fds[0]);
		closep(&map_fd);
		closep(&marker_fd);
	}
	broker_free(broker);
}

static void time_offsets_open_if_the_kernel_has_them(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	assert_int_equal(broker_open_process_file(
				 tree->broker, &process_77, BROKER_PROCESS_TIMENS_OFFSETS, &fd),
		-ENOENT);
	assert_int_equal(broker_open_process_file(
				 tree->broker, &later_77, BROKER_PROCESS_TIMENS_OFFSETS, &fd),
		-ESRCH);
	assert_int_equal(fd, -7);
	write_file(tree->proc, "77/timens_offsets", "monotonic 1 2\n");
	assert_int_equal(broker_open_process_file(
				 tree->broker, &process_77, BROKER_PROCESS_TIMENS_OFFSETS, &fd),
		0);
	assert_reads(fd, "monotonic 1 2\n");
	fd = -7;
	assert_int_equal(broker_open_process_file(
				 tree->broker, &later_77, BROKER_PROCESS_TIMENS_OFFSETS, &fd),
		-ESRCH);
	remove_file(tree->proc, "77/timens_offsets");
	remove_file(tree->proc, "77/stat");
	assert_int_equal(broker_open_process_file(
				 tree->broker, &process_77, BROKER_PROCESS_TIMENS_OFFSETS, &fd),
		-ESRCH);
	assert_int_equal(fd, -7);
}

/* A server would not see its client's mount namespace. */
#define IN_TREE_HERE(test) IN_PLACE(#test, test, set_up, tear_down, broker_here)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(perf_maps_open_by_the_pid_inside),
		IN_TREE(only_text_that_begins_as_a_map_opens),
		IN_TREE(the_folder_may_be_a_link_inside_of_the_root),
		IN_TREE(only_regular_files_that_are_no_links_open),
		IN_TREE(maps_of_other_processes_are_not_found),
		IN_BOTH_PLACES(a_process_that_has_ended_is_gone, NULL, NULL),
		IN_TREE(markers_may_be_empty),
		IN_TREE(only_markers_open_by_a_name),
		cmocka_unit_test(files_on_network_file_systems_are_refused),
		IN_TREE(markers_must_be_regular_files),
		IN_TREE_HERE(files_of_kernel_file_systems_are_refused),
		cmocka_unit_test(overlays_of_other_user_namespaces_are_refused),
		IN_TREE(time_offsets_open_if_the_kernel_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

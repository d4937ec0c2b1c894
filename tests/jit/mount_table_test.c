/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With a folder that stands for /proc; and what this kernel says, of mounts of our own too. */
#include "jit/mount_table.h"
#include "tests/broker/proc_tree.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct broker_process process_77 = { .pid = 77 };

static FILE *begin_file(const struct proc_tree *tree)
{
	FILE *file = fopen(proc_tree_path(tree, "77/mountinfo"), "w");

	assert_non_null(file);
	return file;
}

static int set_up(void **state)
{
	struct proc_tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	proc_tree_init(tree);
	proc_tree_folder(tree, "77");
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

static struct mount_table *read_back(const struct proc_tree *tree)
{
	struct mount_table *table = NULL;

	assert_int_equal(mount_table_read(tree->broker, &process_77, &table), 0);
	assert_non_null(table);
	return table;
}

static struct mount_table *table_of(const struct proc_tree *tree, const char *text)
{
	proc_tree_write(tree, "77/mountinfo", text);
	return read_back(tree);
}

struct expected {
	const char *path;
	enum mount_kind kind;
};

static void assert_kinds(const struct proc_tree *tree, const char *text,
	const struct expected *expected, size_t count)
{
	struct mount_table *table = table_of(tree, text);

	for (size_t i = 0; i < count; i++)
		if (mount_table_of_path(table, expected[i].path) != expected[i].kind)
			fail_msg("%s is not %d", expected[i].path, expected[i].kind);
	mount_table_free(table);
}

#define ASSERT_KINDS(tree, text, ...)                                      \
	assert_kinds(tree, text, (const struct expected[]){ __VA_ARGS__ }, \
		sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

#define ROOT "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"

static void devices_are_told_by_their_numbers(void **state)
{
	struct mount_table *table = table_of(*state, ROOT
		"28 27 0:51 /@home /home rw shared:2 master:3 propagate_from:4 - btrfs /dev/b rw\n"
		"29 27 0:52 / /fuse rw - fuse.sshfs host: rw,user_id=0\n"
		"30 27 254:0 /srv /bind rw,noatime unbindable - ext4 /dev/vda rw\n"
		"31 27 0:53 / /both rw - tmpfs tmpfs rw\n"
		"32 27 0:53 / /both/again rw - fuse one rw\n"
		"33 27 0:54 / /again rw - nfs4 a:/b rw\n"
		"34 27 0:54 / /again/both rw - xfs /dev/x rw\n"
		"35 27 4294967295:1048575 / /great rw - ext2 /dev/y rw\n");

	assert_int_equal(mount_table_of_device(table, 254, 0), MOUNT_LOCAL);
	assert_int_equal(mount_table_of_device(table, 0, 51), MOUNT_LOCAL);
	assert_int_equal(mount_table_of_device(table, 0, 52), MOUNT_REMOTE);
	assert_int_equal(mount_table_of_device(table, 0, 53), MOUNT_REMOTE);
	assert_int_equal(mount_table_of_device(table, 0, 54), MOUNT_REMOTE);
	assert_int_equal(mount_table_of_device(table, UINT32_MAX, 1048575), MOUNT_LOCAL);
	assert_int_equal(mount_table_of_device(table, 0, 254), MOUNT_UNKNOWN);
	assert_int_equal(mount_table_of_device(table, 254, 1), MOUNT_UNKNOWN);
	assert_int_equal(mount_table_of_device(table, 51, 0), MOUNT_UNKNOWN);
	mount_table_free(table);
}

static void paths_are_told_by_the_mounts_on_their_way(void **state)
{
	ASSERT_KINDS(*state,
		ROOT "28 27 0:52 / /fuse rw - fuse.sshfs host: rw\n"
		     "29 28 0:53 / /fuse/memory rw - tmpfs tmpfs rw\n"
		     "30 27 0:54 / /mnt rw - tmpfs tmpfs rw\n"
		     "31 30 0:52 /below /mnt/bind rw - fuse.sshfs host: rw\n"
		     "32 27 0:55 / /merged rw - overlay overlay rw,lowerdir=/a:/b\n",
		{ "/", MOUNT_LOCAL }, { "/fuse", MOUNT_REMOTE }, { "/fuse/", MOUNT_REMOTE },
		{ "/fuse/a/jit-1.dump", MOUNT_REMOTE }, { "/fused", MOUNT_LOCAL },
		{ "/fus", MOUNT_LOCAL }, { "/a/fuse/b", MOUNT_LOCAL },
		{ "/fuse/memory/jit-1.dump", MOUNT_REMOTE }, { "/mnt/jit-1.dump", MOUNT_LOCAL },
		{ "/mnt/bind/jit-1.dump", MOUNT_REMOTE }, { "/mnt/binder/a", MOUNT_LOCAL },
		{ "/merged/tmp/perf-1.map", MOUNT_LOCAL });
}

static void points_may_have_any_name(void **state)
{
	ASSERT_KINDS(*state,
		ROOT "28 27 0:52 / /a\\040b\\011c\\012d\\134e rw - fuse x rw\n"
		     "29 27 0:52 / /gone\\040(deleted) rw - fuse x rw\n"
		     "30 27 0:52 //deleted /kept rw - fuse x rw\n"
		     "31 27 0:52 / /\\303\\244\xff rw - fuse x rw\n"
		     "32 27 0:52 / /\\400\\08\\ rw - fuse x rw\n"
		     "33 27 0:52 net:[4026531840] /- rw - fuse x rw\n"
		     "34 27 0:52 / /nul\\000/x rw - fuse x rw\n"
		     "35 27 0:53 / /no\\040source rw - tmpfs  rw\n"
		     "36 27 0:52 / /end\\040 rw - fuse x rw\n",
		{ "/end /f", MOUNT_REMOTE }, { "/end/f", MOUNT_LOCAL },
		{ "/a b\tc\nd\\e/f", MOUNT_REMOTE },
		{ "/a\\040b\\011c\\012d\\134e/f", MOUNT_LOCAL }, { "/a b", MOUNT_LOCAL },
		{ "/gone (deleted)/f", MOUNT_REMOTE }, { "/gone/f", MOUNT_LOCAL },
		{ "/kept/f", MOUNT_REMOTE }, { "/\303\244\xff/f", MOUNT_REMOTE },
		{ "/\\400\\08\\/f", MOUNT_REMOTE }, { "/-", MOUNT_REMOTE }, { "/nul", MOUNT_LOCAL },
		{ "/no source/f", MOUNT_LOCAL });
}

static void paths_that_could_lead_elsewhere_are_not_known(void **state)
{
	ASSERT_KINDS(*state, ROOT "28 27 0:52 / /fuse rw - fuse x rw\n", { "", MOUNT_UNKNOWN },
		{ "a", MOUNT_UNKNOWN }, { "(unreachable)/a", MOUNT_UNKNOWN },
		{ "//fuse/a", MOUNT_UNKNOWN }, { "/a//b", MOUNT_UNKNOWN },
		{ "/a//", MOUNT_UNKNOWN }, { "/a/../fuse/a", MOUNT_UNKNOWN },
		{ "/./fuse/a", MOUNT_UNKNOWN }, { "/a/..", MOUNT_UNKNOWN },
		{ "/a/.", MOUNT_UNKNOWN }, { "/a/...", MOUNT_LOCAL }, { "/.a/..b", MOUNT_LOCAL },
		{ "/a/", MOUNT_LOCAL });
}

static void what_is_mounted_on_top_counts(void **state)
{
	/* The later over the earlier; one that was moved over a later one; and one beneath. */
	ASSERT_KINDS(*state,
		ROOT "28 27 0:52 / /home rw - autofs systemd-1 rw,direct\n"
		     "29 28 254:1 / /home rw - ext4 /dev/vdb rw\n"
		     "30 27 254:1 / /mnt rw - ext4 /dev/vdb rw\n"
		     "31 30 0:53 / /mnt rw - fuse x rw\n"
		     "32 34 0:53 / /moved rw - fuse x rw\n"
		     "33 27 0:54 / /other rw - tmpfs x rw\n"
		     "34 27 0:54 / /moved rw - tmpfs x rw\n"
		     "35 36 254:1 / /three rw - ext4 /dev/vdb rw\n"
		     "36 37 0:53 / /three rw - fuse x rw\n"
		     "37 27 0:53 / /three rw - fuse x rw\n",
		{ "/home/a", MOUNT_LOCAL }, { "/mnt/a", MOUNT_REMOTE },
		{ "/moved/a", MOUNT_REMOTE }, { "/other/a", MOUNT_LOCAL },
		{ "/three/a", MOUNT_LOCAL });

	/* What hides a mount further down does not make it harmless: it may itself be hidden. */
	ASSERT_KINDS(*state,
		ROOT "28 27 0:53 / /a/b rw - tmpfs x rw\n"
		     "29 27 0:52 / /a rw - fuse x rw\n"
		     "30 27 0:52 / /c/d rw - fuse x rw\n"
		     "31 27 0:53 / /c rw - tmpfs x rw\n",
		{ "/a/b/c", MOUNT_REMOTE }, { "/c/d/e", MOUNT_REMOTE }, { "/c/e", MOUNT_LOCAL });

	/* One further down is not on top, whatever the names are. */
	ASSERT_KINDS(*state,
		ROOT "28 27 0:52 / /a rw - fuse x rw\n"
		     "29 27 0:53 / /b rw - tmpfs x rw\n"
		     "30 28 0:53 / /a/b rw - tmpfs x rw\n",
		{ "/a/c", MOUNT_REMOTE }, { "/a/b/c", MOUNT_REMOTE }, { "/b/c", MOUNT_LOCAL });

	/* A walk from the root does not climb to what was mounted on it. */
	ASSERT_KINDS(*state,
		"27 1 0:52 / / rw - fuse x rw\n"
		"28 27 254:0 / / rw - ext4 /dev/vda rw\n",
		{ "/a", MOUNT_REMOTE });

	/* Nothing is on top of itself. */
	ASSERT_KINDS(*state,
		"1 1 0:2 / / rw - rootfs rootfs rw\n"
		"2 2 0:52 / /a rw - fuse x rw\n",
		{ "/a/b", MOUNT_REMOTE }, { "/b", MOUNT_LOCAL });
}

/* In a folder that is no mount the line of what it is on is missing. */
static void roots_may_be_missing(void **state)
{
	ASSERT_KINDS(*state, "28 27 0:52 / /tmp rw - tmpfs x rw\n", { "/tmp/a", MOUNT_LOCAL },
		{ "/a", MOUNT_UNKNOWN }, { "/", MOUNT_UNKNOWN });
	ASSERT_KINDS(*state, "", { "/", MOUNT_UNKNOWN });
}

static void kinds_are_known_by_their_names(void **state)
{
	static const char *const local[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs",
		"bcachefs", "jfs", "reiserfs", "vfat", "exfat", "ntfs3", "iso9660", "udf",
		"squashfs", "erofs", "tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs", "overlay",
		"aufs", "nilfs2", "ubifs", "jffs2", "proc", "sysfs", "cgroup", "cgroup2", "devpts",
		"tracefs", "debugfs", "bpf" };
	static const char *const remote[] = { "fuse", "fuseblk", "fuse.sshfs", "fuse.ext4", "nfs",
		"nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "gfs2", "ocfs2", "coda",
		"autofs", "virtiofs", "ext", "ext44", "Ext4", "tmpfs.x", "x", "-" };
	char text[128];

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		(void)snprintf(text, sizeof(text), "1 0 7:7 / / rw - %s x rw\n", local[i]);
		ASSERT_KINDS(*state, text, { "/a", MOUNT_LOCAL });
	}
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		(void)snprintf(text, sizeof(text), "1 0 7:7 / / rw - %s x rw\n", remote[i]);
		ASSERT_KINDS(*state, text, { "/a", MOUNT_REMOTE });
	}
}

/* What is not understood could be the mount that counts. */
static void lines_that_make_no_sense_leave_paths_unknown(void **state)
{
	static const char *const lines[] = { "", " ", "28", "28 27", "28 27 7:7",
		"x 27 7:7 / /a rw - tmpfs x rw", "28 -1 7:7 / /a rw - tmpfs x rw",
		"28 27 7 / /a rw - tmpfs x rw", "28 27 7:x / /a rw - tmpfs x rw",
		"28 27 :7 / /a rw - tmpfs x rw", "28 27 7: / /a rw - tmpfs x rw",
		"28 27 4294967296:7 / /a rw - tmpfs x rw", "28 4294967296 7:7 / /a rw - tmpfs x rw",
		" 28 27 7:7 / /a rw - tmpfs x rw", "28  27 7:7 / /a rw - tmpfs x rw",
		"28 27 7:7  /a rw - tmpfs x rw", "28 27 7:7 / a rw - tmpfs x rw", "28 27 7:7 / /a",
		"28 27 7:7 / /a rw", "28 27 7:7 / /a rw -", "28 27 7:7 / /a rw - tmpfs",
		"28 27 7:7 / /a rw tmpfs x rw", "28 27 7:7 / /a rw shared:1 tmpfs x rw",
		"28 27 7:7 / /a rw -- tmpfs x rw", "28 27 7:7 / /a rw  - tmpfs x rw",
		"28 27 7:7 / /a rw -  tmpfs x rw" };
	const struct proc_tree *tree = *state;
	char text[256];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct mount_table *table;

		(void)snprintf(
			text, sizeof(text), ROOT "%s\n29 27 0:52 / /f rw - fuse x rw\n", lines[i]);
		table = table_of(tree, text);
		assert_int_equal(mount_table_of_path(table, "/b"), MOUNT_UNKNOWN);
		assert_int_equal(mount_table_of_path(table, "/f/b"), MOUNT_REMOTE);
		assert_int_equal(mount_table_of_device(table, 7, 7), MOUNT_UNKNOWN);
		assert_int_equal(mount_table_of_device(table, 254, 0), MOUNT_LOCAL);
		mount_table_free(table);
	}
	/* A last line without its end is one. */
	ASSERT_KINDS(tree, ROOT "28 27 7:7 / /a rw - fuse x rw", { "/a/b", MOUNT_REMOTE },
		{ "/b", MOUNT_LOCAL });
}

static void write_long(FILE *file, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(fputc('x', file), 'x');
}

static void assert_incomplete(const struct proc_tree *tree, const char *path, enum mount_kind kind)
{
	struct mount_table *table = read_back(tree);

	assert_int_equal(mount_table_of_path(table, path), kind);
	assert_int_equal(mount_table_of_path(table, "/b"), MOUNT_UNKNOWN);
	assert_int_equal(mount_table_of_device(table, 254, 0), MOUNT_LOCAL);
	mount_table_free(table);
}

/* A path within FUSE has no bound, and its mount's point may be short. */
static void lines_that_are_too_long_leave_paths_unknown(void **state)
{
	const struct proc_tree *tree = *state;
	struct mount_table *table;
	FILE *file = begin_file(tree);

	assert_true(fprintf(file, ROOT "28 27 0:52 /") > 0);
	write_long(file, 100 << 10);
	assert_true(fprintf(file, " /a rw - fuse x rw\n") > 0);
	assert_int_equal(fclose(file), 0);
	table = read_back(tree);
	assert_int_equal(mount_table_of_path(table, "/a/b"), MOUNT_REMOTE);
	assert_int_equal(mount_table_of_path(table, "/b"), MOUNT_LOCAL);
	mount_table_free(table);

	file = begin_file(tree);
	assert_true(fprintf(file, ROOT "28 27 0:52 /") > 0);
	write_long(file, 300 << 10);
	assert_true(fprintf(file, " /a rw - fuse x rw\n29 27 0:52 / /c rw - fuse x rw\n") > 0);
	assert_int_equal(fclose(file), 0);
	assert_incomplete(tree, "/a/b", MOUNT_UNKNOWN);
	assert_incomplete(tree, "/c", MOUNT_REMOTE);
}

static void huge_files_leave_paths_unknown(void **state)
{
	const struct proc_tree *tree = *state;
	FILE *file = begin_file(tree);

	/* Too many bytes. */
	assert_true(fprintf(file, ROOT) > 0);
	for (int i = 0; i < 5000; i++)
		assert_true(
			fprintf(file, "%d 27 0:53 / /%01000d rw - tmpfs x rw\n", i + 28, i) > 0);
	assert_true(fprintf(file, "9999 27 0:52 / /a rw - fuse x rw\n") > 0);
	assert_int_equal(fclose(file), 0);
	assert_incomplete(tree, "/a/b", MOUNT_UNKNOWN);

	/* Too many mounts, one upon another. */
	file = begin_file(tree);
	assert_true(fprintf(file, ROOT) > 0);
	for (int i = 0; i < 1 << 16; i++)
		assert_true(fprintf(file, "%d %d 0:52 / /a rw - fuse x rw\n", i + 28, i + 27) > 0);
	assert_int_equal(fclose(file), 0);
	assert_incomplete(tree, "/a/b", MOUNT_REMOTE);
}

static void stacks_are_seen_through(void **state)
{
	enum { DEPTH = 50000 };
	const struct proc_tree *tree = *state;
	FILE *file = begin_file(tree);
	struct mount_table *table;

	assert_true(fprintf(file, ROOT) > 0);
	for (int i = 0; i < DEPTH; i++)
		assert_true(fprintf(file, "%d %d 0:52 / /a rw - %s x rw\n", i + 28, i + 27,
				    i == DEPTH - 1 ? "tmpfs" : "fuse") > 0);
	assert_int_equal(fclose(file), 0);
	table = read_back(tree);
	assert_int_equal(mount_table_of_path(table, "/a/b"), MOUNT_LOCAL);
	mount_table_free(table);
}

static void what_cannot_be_read_is_reported(void **state)
{
	const struct proc_tree *tree = *state;
	struct mount_table *untouched = (struct mount_table *)&process_77, *table = untouched;

	assert_int_equal(mount_table_read(tree->broker, &process_77, &table), -ESRCH);
	assert_int_equal(
		mount_table_read(tree->broker, &(struct broker_process){ .pid = 78 }, &table),
		-ESRCH);
	proc_tree_folder(tree, "77/mountinfo");
	assert_int_equal(mount_table_read(tree->broker, &process_77, &table), -EISDIR);
	assert_ptr_equal(table, untouched);
	mount_table_free(NULL);
}

static void failing_allocations_are_reported(void **state)
{
	const struct proc_tree *tree = *state;
	struct mount_table *table = NULL;
	size_t n;
	int r;

	mount_table_free(table_of(tree, ROOT "28 27 0:52 / /a rw - fuse x rw\n"));
	for (n = 0;; n++) {
		fail_allocation(n);
		r = mount_table_read(tree->broker, &process_77, &table);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(table);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 4);
	mount_table_free(table);
}

static struct mount_table *table_of_process(pid_t pid)
{
	struct mount_table *table = NULL;
	struct broker *broker;

	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(
		mount_table_read(broker, &(struct broker_process){ .pid = pid }, &table), 0);
	broker_free(broker);
	return table;
}

static void the_kernels_own_is_understood(void **state)
{
	struct mount_table *table = table_of_process(getpid());
	struct stat status;
	enum mount_kind root;

	(void)state;
	assert_int_equal(stat("/proc/self/status", &status), 0);
	assert_int_equal(mount_table_of_device(table, major(status.st_dev), minor(status.st_dev)),
		MOUNT_LOCAL);
	root = mount_table_of_path(table, "/");
	/* No line of it but makes sense: where the root is local so is what is below. */
	assert_int_equal(mount_table_of_path(table, "/proc/1/status"),
		root == MOUNT_UNKNOWN ? MOUNT_LOCAL : root);
	mount_table_free(table);
}

static void a_process_that_has_ended_is_gone(void **state)
{
	struct mount_table *table = NULL;
	struct broker *broker;
	siginfo_t info;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(
		mount_table_read(broker, &(struct broker_process){ .pid = child }, &table), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(
		mount_table_read(broker, &(struct broker_process){ .pid = child }, &table), -ESRCH);
	assert_null(table);
	broker_free(broker);
}

static bool mount_fuse(const char *point)
{
	char options[64];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return fd >= 0 && mount("x", point, "fuse.test", 0, options) == 0;
}

static bool mount_memory(const char *point)
{
	return mount("x", point, "tmpfs", 0, NULL) == 0;
}

/* In a namespace of its own, with nobody who would answer for what is FUSE. */
static bool make_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount_memory("/tmp") &&
	       mkdir("/tmp/a b", 0755) == 0 && mkdir("/tmp/c", 0755) == 0 &&
	       mkdir("/tmp/d", 0755) == 0 && mkdir("/tmp/e", 0755) == 0 && mount_fuse("/tmp/a b") &&
	       mount_fuse("/tmp/c") && mount_memory("/tmp/c") && mount_fuse("/tmp/e") &&
	       mount_memory("/tmp/d") && mount("/tmp/e", "/tmp/d", NULL, MS_MOVE, NULL) == 0;
}

static void mount_and_wait(int told_fd, int end_fd)
{
	char byte = make_mounts() ? 'y' : 'n';

	if (write(told_fd, &byte, 1) == 1)
		(void)!read(end_fd, &byte, 1);
	_exit(0);
}

static void mounts_of_this_kernel_are_told_apart(void **state)
{
	static const struct expected expected[] = { { "/tmp/a b/f", MOUNT_REMOTE },
		{ "/tmp/c/f", MOUNT_LOCAL }, { "/tmp/d/f", MOUNT_REMOTE },
		{ "/tmp/e/f", MOUNT_LOCAL }, { "/tmp/f", MOUNT_LOCAL } };
	int told[2], end[2];
	char byte = 'n';
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(end[1]);
		mount_and_wait(told[1], end[0]);
	}
	(void)close(told[1]);
	(void)!read(told[0], &byte, 1);
	if (byte == 'y') {
		struct mount_table *table = table_of_process(child);

		if (mount_table_of_path(table, "/") == MOUNT_REMOTE)
			byte = 'r';
		for (size_t i = 0; byte == 'y' && i < sizeof(expected) / sizeof(expected[0]); i++)
			assert_int_equal(
				mount_table_of_path(table, expected[i].path), expected[i].kind);
		mount_table_free(table);
	}
	assert_int_equal(close(end[1]), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(end[0]);
	(void)close(told[0]);
	if (byte != 'y') {
		print_message("skipped: %s\n",
			byte == 'r' ? "the root is remote" : "not allowed to mount, or no FUSE");
		skip();
	}
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(devices_are_told_by_their_numbers),
		IN_TREE(paths_are_told_by_the_mounts_on_their_way),
		IN_TREE(points_may_have_any_name),
		IN_TREE(paths_that_could_lead_elsewhere_are_not_known),
		IN_TREE(what_is_mounted_on_top_counts),
		IN_TREE(roots_may_be_missing),
		IN_TREE(kinds_are_known_by_their_names),
		IN_TREE(lines_that_make_no_sense_leave_paths_unknown),
		IN_TREE(lines_that_are_too_long_leave_paths_unknown),
		IN_TREE(huge_files_leave_paths_unknown),
		IN_TREE(stacks_are_seen_through),
		IN_TREE(what_cannot_be_read_is_reported),
		IN_TREE(failing_allocations_are_reported),
		cmocka_unit_test(the_kernels_own_is_understood),
		cmocka_unit_test(a_process_that_has_ended_is_gone),
		cmocka_unit_test(mounts_of_this_kernel_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"
#include "tests/harness/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder that stands for /proc, /sys and /usr/lib/debug, with one process: 77. */
struct tree {
	char root[64], proc[80], sys[80], debug[80];
	struct placed_broker placed;
	struct broker *broker; /* that one */
};

static const struct broker_process process_77 = { .pid = 77 };

/* Room for the start of a process that ticks 100 times a second: tick 123456. */
enum { TICK_NS = 10000000 };
#define STAT_77                                                                       \
	"77 (a) b (c) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 2 " \
	"18446744073709551615\n"

static void make_process(struct tree *tree)
{
	char path[512];

	make_folder(tree->proc, "77");
	make_folder(tree->proc, "77/map_files");
	make_folder(tree->proc, "77/root");
	make_folder(tree->proc, "77/root/lib");
	write_file(tree->proc, "77/stat", STAT_77);
	write_file(tree->proc, "77/status", "Name:\ta\n");
	write_file(tree->proc, "77/comm", "a\n");
	write_file(tree->proc, "77/maps", "the maps\n");
	write_file(tree->root, "outside", ELFMAG "outside\n");
	write_file(tree->proc, "77/root/lib/inside", ELFMAG "inside\n");
	(void)snprintf(path, sizeof(path), "%s/77/root/fifo", tree->proc);
	assert_int_equal(mkfifo(path, 0644), 0);
	make_link(tree->proc, "77/map_files/1000-2000", "../../../outside");
	make_link(tree->proc, "77/map_files/2000-3000", "../root/fifo");
	make_link(tree->proc, "77/map_files/4000-5000", "/dev/null");
	make_link(tree->proc, "77/root/absolute", "/lib/inside");
	make_link(tree->proc, "77/root/upwards", "../../../../../lib/inside");
	make_link(tree->proc, "77/root/magic", "/proc/self/fd/0");
}

static int set_up(void **state)
{
	const enum broker_place *place = *state;
	struct tree *tree = calloc(1, sizeof(*tree));
	struct broker_options options;

	assert_non_null(tree);
	strcpy(tree->root, "/tmp/broker_test.XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	(void)snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->root);
	(void)snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->root);
	(void)snprintf(tree->debug, sizeof(tree->debug), "%s/debug", tree->root);
	make_folder(tree->root, "proc");
	make_folder(tree->root, "sys");
	make_folder(tree->root, "debug");
	make_process(tree);
	options = (struct broker_options){
		.proc_root = tree->proc,
		.debug_root = tree->debug,
		.sys_root = tree->sys,
	};
	placed_broker_start(&tree->placed, *place, &options);
	tree->broker = tree->placed.broker;
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	placed_broker_stop(&tree->placed);
	remove_folder(tree->root);
	free(tree);
	return 0;
}

/* Does `fd` read as `text`, and is it O_CLOEXEC and read-only? Closes it. */
static void assert_reads(int fd, const char *text)
{
	char bytes[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
	assert_string_equal(bytes, text);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(close(fd), 0);
}

static void files_of_a_process_open(void **state)
{
	struct tree *tree = *state;
	int fd = -1;

	assert_int_equal(broker_open_maps(tree->broker, &process_77, &fd), 0);
	assert_reads(fd, "the maps\n");
	assert_int_equal(
		broker_open_process_file(tree->broker, &process_77, BROKER_PROCESS_COMM, &fd), 0);
	assert_reads(fd, "a\n");
	assert_int_equal(
		broker_open_process_file(tree->broker, &process_77, BROKER_PROCESS_STATUS, &fd), 0);
	assert_reads(fd, "Name:\ta\n");
	assert_int_equal(
		broker_open_process_file(tree->broker, &process_77, BROKER_PROCESS_STAT, &fd), 0);
	assert_int_equal(close(fd), 0);
	fd = -7;
	assert_int_equal(broker_open_process_file(
				 tree->broker, &process_77, (enum broker_process_file)9, &fd),
		-EINVAL);
	assert_int_equal(fd, -7);
}

static void start_time_tells_processes_apart(void **state)
{
	static const struct {
		uint64_t start_ns;
		int result;
	} cases[] = {
		{ 123456ULL * TICK_NS, 0 },
		{ 123456ULL * TICK_NS + TICK_NS - 1, 0 },
		{ 123457ULL * TICK_NS, 0 },
		{ 123455ULL * TICK_NS, 0 },
		{ 123455ULL * TICK_NS - 1, -ESRCH },
		{ 123458ULL * TICK_NS, -ESRCH },
		{ 1, -ESRCH },
		{ UINT64_MAX, -ESRCH },
	};
	struct tree *tree = *state;

	if (sysconf(_SC_CLK_TCK) != 100) {
		print_message(
			"skipped: the clock ticks %ld times a second\n", sysconf(_SC_CLK_TCK));
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct broker_process process = { .pid = 77, .start_ns = cases[i].start_ns };
		int fd = -7;

		assert_int_equal(broker_open_maps(tree->broker, &process, &fd), cases[i].result);
		if (cases[i].result == 0)
			assert_reads(fd, "the maps\n");
		else
			assert_int_equal(fd, -7);
		fd = -7;
		assert_int_equal(
			broker_open_mapping(tree->broker, &process, 0x1000, 0x2000, NULL, &fd),
			cases[i].result);
		if (cases[i].result == 0)
			assert_reads(fd, ELFMAG "outside\n");
		else
			assert_int_equal(fd, -7);
	}
}

static void unknown_processes_are_gone(void **state)
{
	static const pid_t pids[] = { 78, 0, -1, INT32_MIN };
	struct tree *tree = *state;
	int fd = -7;

	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		struct broker_process process = { .pid = pids[i] };

		assert_int_equal(broker_open_maps(tree->broker, &process, &fd), -ESRCH);
		assert_int_equal(broker_open_mapping(tree->broker, &process, 0x1000, 0x2000,
					 "/lib/inside", &fd),
			-ESRCH);
	}
	assert_int_equal(fd, -7);
}

static void a_process_that_exits_during_a_request_is_gone(void **state)
{
	struct tree *tree = *state;
	char path[512];
	int fd = -7;

	(void)snprintf(path, sizeof(path), "%s/77/maps", tree->proc);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(broker_open_maps(tree->broker, &process_77, &fd), -ESRCH);
	(void)snprintf(path, sizeof(path), "%s/77/stat", tree->proc);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

static void mappings_open_by_address_then_by_path(void **state)
{
	struct tree *tree = *state;
	struct broker *broker = tree->broker;
	int fd = -7;

	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x1000, 0x2000, "/lib/inside", &fd), 0);
	assert_reads(fd, ELFMAG "outside\n");
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x7000, 0x8000, "/lib/inside", &fd), 0);
	assert_reads(fd, ELFMAG "inside\n");
	fd = -7;
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x7000, 0x8000, NULL, &fd), -ENOENT);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x7000, 0x8000, "/nothing", &fd), -ENOENT);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x7000, 0x8000, "lib/inside", &fd),
		-EINVAL);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x2000, 0x2000, NULL, &fd), -EINVAL);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x2000, 0, "/lib/inside", &fd), -EINVAL);
	assert_int_equal(fd, -7);
}

static void without_an_address_the_path_alone_opens(void **state)
{
	struct tree *tree = *state;
	struct broker_process other = { .pid = 77, .start_ns = 1 };
	int fd = -7;

	make_link(tree->proc, "77/map_files/0-0", "../../../outside");
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0, 0, "/lib/inside", &fd), 0);
	assert_reads(fd, ELFMAG "inside\n");
	fd = -7;
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0, 0, "/nothing", &fd), -ENOENT);
	assert_int_equal(broker_open_mapping(tree->broker, &process_77, 0, 0, NULL, &fd), -EINVAL);
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0, 0, "lib/inside", &fd), -EINVAL);
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 0, 0, "/fifo", &fd), -EINVAL);
	assert_int_equal(
		broker_open_mapping(tree->broker, &other, 0, 0, "/lib/inside", &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

static void no_link_in_a_path_is_followed(void **state)
{
	struct tree *tree = *state;
	static const char *const links[] = { "/absolute", "/upwards", "/magic" };
	int fd = -7;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		assert_int_equal(
			broker_open_mapping(tree->broker, &process_77, 1, 2, links[i], &fd),
			-ELOOP);
	assert_int_equal(broker_open_path(tree->broker, "/proc/self/exe", &fd), -ELOOP);
	assert_int_equal(
		broker_open_mapping(tree->broker, &process_77, 1, 2, "/../../../outside", &fd),
		-ENOENT);
	assert_int_equal(fd, -7);
}

/* Opening some of them has effects. */
static void files_of_kernel_file_systems_are_refused(void **state)
{
	struct tree *tree = *state;
	static const char *const paths[] = { "/proc/version", "/sys/kernel/notes",
		"/sys/kernel/tracing/free_buffer", "/sys/fs/cgroup/cgroup.procs" };
	int fd = -7;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], F_OK) == 0)
			assert_int_equal(broker_open_path(tree->broker, paths[i], &fd), -EINVAL);
	assert_int_equal(fd, -7);
}

static void only_regular_files_open(void **state)
{
	struct tree *tree = *state;
	struct broker *broker = tree->broker;
	char path[512];
	int fd = -7;

	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x2000, 0x3000, NULL, &fd), -EINVAL);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x4000, 0x5000, "/lib/inside", &fd),
		-EINVAL);
	assert_int_equal(broker_open_mapping(broker, &process_77, 1, 2, "/fifo", &fd), -EINVAL);
	assert_int_equal(broker_open_mapping(broker, &process_77, 1, 2, "/lib", &fd), -EINVAL);
	(void)snprintf(path, sizeof(path), "%s/77/root/fifo", tree->proc);
	assert_int_equal(broker_open_path(broker, path, &fd), -EINVAL);
	assert_int_equal(broker_open_path(broker, "/dev/null", &fd), -EINVAL);
	assert_int_equal(fd, -7);
}

static void set_mode(const struct tree *tree, const char *name, mode_t mode)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	assert_int_equal(chmod(path, mode), 0);
}

/* For every request by name: a file that others may not read is opened only if it is executable. */
static void secrets_are_not_opened_by_name(void **state)
{
	static const struct {
		mode_t mode;
		int result;
	} cases[] = { { 0600, -EACCES }, { 0640, -EACCES }, { 0660, -EACCES }, { 0, -EACCES },
		{ 0602, -EACCES }, { 0604, 0 }, { 0644, 0 }, { 0700, 0 }, { 0710, 0 },
		{ 0611, 0 } };
	const struct build_id none = { 0 };
	struct tree *tree = *state;
	char path[512], binary[512];

	(void)snprintf(path, sizeof(path), "%s/outside", tree->root);
	(void)snprintf(binary, sizeof(binary), "%s/program", tree->root);
	write_file(tree->debug, "linked", ELFMAG "linked\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fds[5] = { -7, -7, -7, -7, -7 }, result = cases[i].result;

		set_mode(tree, "outside", cases[i].mode);
		set_mode(tree, "proc/77/root/lib/inside", cases[i].mode);
		assert_int_equal(broker_open_path(tree->broker, path, &fds[0]), result);
		assert_int_equal(broker_open_mapping(
					 tree->broker, &process_77, 0, 0, "/lib/inside", &fds[1]),
			result);
		assert_int_equal(broker_open_mapping(tree->broker, &process_77, 0x7000, 0x8000,
					 "/lib/inside", &fds[2]),
			result);
		assert_int_equal(
			broker_open_alternate_file(tree->broker, path, &none, &fds[3]), result);
		/* If several places are searched, the last one's error is returned. */
		assert_int_equal(broker_open_debuglink(tree->broker, binary, "outside", &fds[4]),
			result ? -ENOENT : 0);
		for (size_t j = 0; j < 5; j++) {
			assert_true(result ? fds[j] == -7 : fds[j] >= 0);
			if (fds[j] >= 0)
				assert_int_equal(close(fds[j]), 0);
		}
	}
}

/* For every request for code: nothing else is opened, however it is asked for. */
static void only_elf_files_open(void **state)
{
	/* The last two are core files, of either byte order. */
	static const struct {
		const char *bytes;
		size_t size;
	} files[] = { { "a key\n", 6 }, { "\177EL", 3 }, { "\177ELG", 4 }, { "#!/bin/sh\n", 10 },
		{ ELFMAG "\2\1\1\0\0\0\0\0\0\0\0\0\4\0", 18 },
		{ ELFMAG "\1\2\1\0\0\0\0\0\0\0\0\0\0\4", 18 } };
	static const uint8_t bytes[BUILD_ID_BYTES] = { 0xab, 0xcd };
	const struct build_id none = { 0 };
	struct tree *tree = *state;
	struct broker *broker = tree->broker;
	char path[512], binary[512];
	struct build_id id;
	int fd = -7;

	build_id_set_padded(&id, bytes);
	(void)snprintf(path, sizeof(path), "%s/outside", tree->root);
	(void)snprintf(binary, sizeof(binary), "%s/program", tree->root);
	make_folder(tree->debug, ".build-id");
	make_folder(tree->debug, ".build-id/ab");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		write_bytes(tree->root, "outside", files[i].bytes, files[i].size);
		write_bytes(tree->proc, "77/root/lib/inside", files[i].bytes, files[i].size);
		write_bytes(tree->debug, ".build-id/ab/cd.debug", files[i].bytes, files[i].size);
		write_bytes(tree->debug, ".build-id/ab/cd.dwp", files[i].bytes, files[i].size);
		assert_int_equal(broker_open_mapping(
					 broker, &process_77, 0x1000, 0x2000, "/lib/inside", &fd),
			-ENOEXEC);
		assert_int_equal(broker_open_mapping(
					 broker, &process_77, 0x7000, 0x8000, "/lib/inside", &fd),
			-ENOEXEC);
		assert_int_equal(broker_open_mapping(broker, &process_77, 0, 0, "/lib/inside", &fd),
			-ENOEXEC);
		assert_int_equal(broker_open_path(broker, path, &fd), -ENOEXEC);
		assert_int_equal(broker_open_alternate_file(broker, path, &none, &fd), -ENOEXEC);
		assert_int_equal(broker_open_debug_file(broker, &id, &fd), -ENOEXEC);
		assert_int_equal(broker_open_debug_package(broker, &id, &fd), -ENOEXEC);
		/* The last one of several places has no such file. */
		assert_int_equal(broker_open_debuglink(broker, binary, "outside", &fd), -ENOENT);
	}
	assert_int_equal(fd, -7);
	write_bytes(tree->root, "outside", ELFMAG "\2\1\1\0\0\0\0\0\0\0\0\0\3\0", 18);
	assert_int_equal(broker_open_path(broker, path, &fd), 0);
	assert_int_equal(close(fd), 0);
}

static void paths_open_as_the_caller_sees_them(void **state)
{
	struct tree *tree = *state;
	char path[512];
	int fd = -7;

	(void)snprintf(path, sizeof(path), "%s/outside", tree->root);
	assert_int_equal(broker_open_path(tree->broker, path, &fd), 0);
	assert_reads(fd, ELFMAG "outside\n");
	fd = -7;
	assert_int_equal(broker_open_path(tree->broker, path + 1, &fd), -EINVAL);
	assert_int_equal(broker_open_path(tree->broker, "", &fd), -EINVAL);
	assert_int_equal(broker_open_path(tree->broker, "/no/such/file", &fd), -ENOENT);
	assert_int_equal(broker_open_path(tree->broker, "/proc/self/fd/0", &fd), -ELOOP);
	assert_int_equal(fd, -7);
}

static void debug_files_open_by_build_id(void **state)
{
	static const uint8_t bytes[BUILD_ID_BYTES] = { 0xab, 0xcd, 0xef, 0x01, 0x02 };
	struct tree *tree = *state;
	struct build_id id = { .size = 0 };
	int fd = -7;

	make_folder(tree->debug, ".build-id");
	make_folder(tree->debug, ".build-id/ab");
	assert_int_equal(broker_open_debug_file(tree->broker, &id, &fd), -EINVAL);
	build_id_set_padded(&id, bytes);
	assert_int_equal(id.size, 5);
	assert_int_equal(broker_open_debug_file(tree->broker, &id, &fd), -ENOENT);
	assert_int_equal(fd, -7);
	write_file(tree->debug, ".build-id/ab/cdef0102000000000000000000000000000000.debug",
		ELFMAG "twenty\n");
	assert_int_equal(broker_open_debug_file(tree->broker, &id, &fd), 0);
	assert_reads(fd, ELFMAG "twenty\n");
	write_file(tree->debug, ".build-id/ab/cdef0102.debug", ELFMAG "five\n");
	assert_int_equal(broker_open_debug_file(tree->broker, &id, &fd), 0);
	assert_reads(fd, ELFMAG "five\n");
}

static void kernel_files_open(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	assert_int_equal(broker_open_kernel_file(tree->broker, BROKER_KALLSYMS, &fd), -ENOENT);
	assert_int_equal(
		broker_open_kernel_file(tree->broker, (enum broker_kernel_file)9, &fd), -EINVAL);
	assert_int_equal(fd, -7);
	write_file(tree->proc, "kallsyms", "kallsyms\n");
	write_file(tree->proc, "modules", "modules\n");
	make_folder(tree->sys, "kernel");
	write_file(tree->sys, "kernel/notes", "notes\n");
	assert_int_equal(broker_open_kernel_file(tree->broker, BROKER_KALLSYMS, &fd), 0);
	assert_reads(fd, "kallsyms\n");
	assert_int_equal(broker_open_kernel_file(tree->broker, BROKER_MODULES, &fd), 0);
	assert_reads(fd, "modules\n");
	assert_int_equal(broker_open_kernel_file(tree->broker, BROKER_KERNEL_NOTES, &fd), 0);
	assert_reads(fd, "notes\n");
}

static void module_notes_open_by_name(void **state)
{
	static const char *const bad[] = { "", "..", "a/b", "x.y", "name with space", "ext4\n",
		"a_name_that_is_longer_than_the_kernel_gives_room_to_any_of_its_modules",
		"a_name_that_is_by_one_letter_longer_than_the_kernel_gives_room__" };
	static const char longest[] =
		"a_name_that_is_as_long_as_the_kernel_gives_room_to_its_modules_";
	struct tree *tree = *state;
	int fd = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(broker_open_module_note(tree->broker, bad[i], &fd), -EINVAL);
	assert_int_equal(strlen(longest), 63);
	assert_int_equal(broker_open_module_note(tree->broker, longest, &fd), -ENOENT);
	assert_int_equal(broker_open_module_note(tree->broker, "ext4", &fd), -ENOENT);
	assert_int_equal(fd, -7);
	make_folder(tree->sys, "module");
	make_folder(tree->sys, "module/nf_Conn-9");
	make_folder(tree->sys, "module/nf_Conn-9/notes");
	write_file(tree->sys, "module/nf_Conn-9/notes/.note.gnu.build-id", "note\n");
	assert_int_equal(broker_open_module_note(tree->broker, "nf_Conn-9", &fd), 0);
	assert_reads(fd, "note\n");
}

/* The longest path that the kernel accepts, and a longer one. */
static void texts_are_bounded(void **state)
{
	struct tree *tree = *state;
	char path[PATH_MAX + 1], name[257];
	int fd = -7;

	memset(path, '/', sizeof(path));
	memset(name, 'a', sizeof(name));
	path[PATH_MAX] = name[256] = '\0';
	assert_int_equal(broker_open_path(tree->broker, path, &fd), -ENAMETOOLONG);
	assert_int_equal(broker_open_mapping(tree->broker, &process_77, 0x1000, 0x2000, path, &fd),
		-ENAMETOOLONG);
	assert_int_equal(broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, path, &fd),
		-ENAMETOOLONG);
	assert_int_equal(broker_open_debuglink(tree->broker, path, "a", &fd), -ENAMETOOLONG);
	assert_int_equal(broker_open_debuglink(tree->broker, "/a", name, &fd), -ENAMETOOLONG);
	assert_int_equal(broker_open_module_note(tree->broker, name, &fd), -EINVAL);
	assert_int_equal(broker_open_cgroup(tree->broker, NULL, path, &fd), -ENAMETOOLONG);
	assert_int_equal(broker_open_cgroup(tree->broker, name, "/", &fd), -ENAMETOOLONG);
	path[PATH_MAX - 1] = name[255] = '\0';
	assert_int_equal(broker_open_path(tree->broker, path, &fd), -EINVAL);
	assert_int_equal(broker_open_debuglink(tree->broker, "/a", name, &fd), -ENOENT);
	assert_int_equal(fd, -7);
}

static void failing_allocations_are_reported(void **state)
{
	struct broker *broker = NULL;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = broker_new(NULL, &broker);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(broker);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 4);
	broker_free(broker);
	broker_free(NULL);
}

#define IN_TREE(test) IN_BOTH_PLACES(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(files_of_a_process_open),
		IN_TREE(start_time_tells_processes_apart),
		IN_TREE(unknown_processes_are_gone),
		IN_TREE(a_process_that_exits_during_a_request_is_gone),
		IN_TREE(mappings_open_by_address_then_by_path),
		IN_TREE(without_an_address_the_path_alone_opens),
		IN_TREE(no_link_in_a_path_is_followed),
		IN_TREE(files_of_kernel_file_systems_are_refused),
		IN_TREE(only_regular_files_open),
		IN_TREE(secrets_are_not_opened_by_name),
		IN_TREE(only_elf_files_open),
		IN_TREE(paths_open_as_the_caller_sees_them),
		IN_TREE(debug_files_open_by_build_id),
		IN_TREE(kernel_files_open),
		IN_TREE(module_notes_open_by_name),
		IN_TREE(texts_are_bounded),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

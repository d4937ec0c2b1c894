/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose files the broker opens, and what it takes for perf maps and jitdumps of a process. */
#include "tests/broker/jit_files_fixture.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/syscall.h>

enum { USER = 12345 };

/* Opens the perf map, and the dump both by its mapping and by its name. */
static void assert_all_give(const struct tree *tree, int result)
{
	int fds[3] = { -7, -7, -7 };

	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, 5, &fds[0]), result);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fds[1]),
		result);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-5.dump", &fds[2]),
		result);
	for (size_t i = 0; i < 3; i++) {
		assert_true(result ? fds[i] == -7 : fds[i] >= 0);
		if (fds[i] >= 0)
			assert_int_equal(close(fds[i]), 0);
	}
}

static void make_all_of(const struct tree *tree, uid_t user, mode_t mode)
{
	static const char *const names[] = { "77/root/tmp/perf-5.map", "77/root/tmp/jit-5.dump" };

	for (size_t i = 0; i < 2; i++) {
		const char *path = file_path(tree->proc, names[i]);

		assert_int_equal(chown(path, user, (gid_t)-1), 0);
		assert_int_equal(chmod(path, mode), 0);
	}
}

/* Root's may be read if everyone may, and root's processes stand in for ended children with dumps.
 */
static void files_of_other_users_are_refused(void **state)
{
	static const struct {
		uid_t process, owner;
		mode_t mode;
		int result;
	} cases[] = { { 1000, 1000, 0600, 0 }, { 1000, 1001, 0644, -EPERM },
		{ 1000, 3, 0644, -EPERM }, { 1000, 0, 0600, -EPERM }, { 1000, 0, 0640, -EPERM },
		{ 1000, 0, 0644, 0 } };
	struct tree *tree = *state;
	int fd = -7;

	if (geteuid() != 0) {
		print_message("skipped: only root gives files away\n");
		skip();
	}
	write_file(tree->proc, "77/root/tmp/perf-5.map", "1 2 a map\n");
	write_file(tree->proc, "77/root/tmp/jit-5.dump", DUMP "a dump\n");
	make_link(tree->proc, "77/map_files/1000-2000", "../root/tmp/jit-5.dump");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_user(tree, cases[i].process);
		make_all_of(tree, cases[i].owner, cases[i].mode);
		assert_all_give(tree, cases[i].result);
	}
	write_user(tree, 0);
	make_all_of(tree, 1000, 0600);
	assert_refused(tree, 5, -EPERM);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-5.dump", &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
	/* A mapping proves that the process itself has the file. */
	fd = -7;
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd), -EPERM);
	/* Root of another user namespace. */
	make_folder(tree->proc, "77/ns");
	write_file(tree->proc, "77/ns/user", "");
	assert_all_give(tree, -EPERM);
	assert_int_equal(fd, -7);
}

static void without_a_user_nothing_opens(void **state)
{
	static const char *const texts[] = { "", "Name:\ta\n", "Name:\ta\nUid:\n",
		"Name:\ta\nUid:\t0\n", "Name:\ta\nUid:\tx\t0\t0\t0\n" };
	struct tree *tree = *state;

	write_file(tree->proc, "77/root/tmp/perf-5.map", "1 2 a map\n");
	write_file(tree->proc, "77/root/tmp/jit-5.dump", DUMP "a dump\n");
	make_link(tree->proc, "77/map_files/1000-2000", "../root/tmp/jit-5.dump");
	assert_all_give(tree, 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file(tree->proc, "77/status", texts[i]);
		assert_all_give(tree, -EBADMSG);
	}
	remove_file(tree->proc, "77/status");
	assert_all_give(tree, -ESRCH);
}

/* A hard link gives another file a map's name. A dump may have many. */
static void a_map_has_one_name(void **state)
{
	struct tree *tree = *state;
	char path[512];
	int fd = -1;

	write_file(tree->proc, "77/root/tmp/key", "a key\n");
	(void)snprintf(path, sizeof(path), "%s/77/root/tmp/key", tree->proc);
	assert_int_equal(link(path, file_path(tree->proc, "77/root/tmp/perf-5.map")), 0);
	assert_refused(tree, 5, -EMLINK);
	write_file(tree->proc, "77/root/tmp/jit-5.dump", DUMP "a dump\n");
	(void)snprintf(path, sizeof(path), "%s/77/root/tmp/jit-5.dump", tree->proc);
	assert_int_equal(link(path, file_path(tree->proc, "77/root/tmp/jit-6.dump")), 0);
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-6.dump", &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
}

static void only_jitdumps_open_as_markers(void **state)
{
	static const struct {
		const char *name, *text;
		int result;
	} cases[] = { { "jit-1.dump", DUMP, 0 }, { "jit-1.dump", "JiTD", 0 },
		{ "cache", DUMP "a dump", 0 }, { "jit-1.dump", "", 0 }, { "cache", "", -ENOEXEC },
		{ "jit-1.dump", "DTi", -ENOEXEC }, { "jit-1.dump", "a key\n", -ENOEXEC },
		{ "jit-1.dump", "\177ELF", -ENOEXEC }, { "cache", "a key\n", -ENOEXEC },
		{ "jit-1.dump (deleted)", "", 0 }, { "cache (deleted)", "", -ENOEXEC },
		{ "jit-1.dump (deleted) (deleted)", "", -ENOEXEC } };
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char file[128], target[128];
		int fd = -7;

		(void)snprintf(file, sizeof(file), "77/root/tmp/%s", cases[i].name);
		(void)snprintf(target, sizeof(target), "../root/tmp/%s", cases[i].name);
		write_file(tree->proc, file, cases[i].text);
		make_link(tree->proc, "77/map_files/1000-2000", target);
		assert_int_equal(
			broker_open_marker(tree->broker, &process_77, 0x1000, 0x2000, NULL, &fd),
			cases[i].result);
		if (cases[i].result == 0)
			assert_reads(fd, cases[i].text);
		else
			assert_int_equal(fd, -7);
		remove_file(tree->proc, "77/map_files/1000-2000");
	}
}

static void make_closed(const struct tree *tree, const char *folder, const char *file)
{
	char path[512];

	make_folder(tree->proc, folder);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	write_file(tree->proc, path, ELFMAG "closed\n");
	assert_int_equal(chown(file_path(tree->proc, path), USER, USER), 0);
	assert_int_equal(chown(file_path(tree->proc, folder), USER, USER), 0);
	assert_int_equal(chmod(file_path(tree->proc, folder), 0700), 0);
}

/*
 * By names that a client makes up the server opens what its user can reach. Mapped files and those
 * of known owners are open to it.
 */
static void closed_folders_stay_closed(void **state)
{
	const struct build_id none = { 0 };
	struct tree *tree = *state;
	struct broker *broker = tree->broker;
	char path[512], binary[512];
	int fd = -7;

	if (geteuid() != 0) {
		print_message("skipped: only root gives files away\n");
		skip();
	}
	make_closed(tree, "closed", "program");
	make_closed(tree, "77/root/closed", "program");
	make_link(tree->proc, "77/map_files/5000-6000", "../../closed/program");
	(void)snprintf(path, sizeof(path), "%s/closed/program", tree->proc);
	(void)snprintf(binary, sizeof(binary), "%s/closed/binary", tree->proc);
	assert_int_equal(broker_open_path(broker, path, &fd), -EACCES);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0, 0, "/closed/program", &fd), -EACCES);
	assert_int_equal(
		broker_open_mapping(broker, &process_77, 0x7000, 0x8000, "/closed/program", &fd),
		-EACCES);
	assert_int_equal(broker_open_alternate_file(broker, path, &none, &fd), -EACCES);
	assert_int_equal(broker_open_debuglink(broker, binary, "program", &fd), -ENOENT);
	assert_int_equal(fd, -7);
	assert_int_equal(broker_open_mapping(broker, &process_77, 0x5000, 0x6000, NULL, &fd), 0);
	assert_reads(fd, ELFMAG "closed\n");
	/* It is closed again. */
	fd = -7;
	assert_int_equal(broker_open_path(broker, path, &fd), -EACCES);
	/* A folder that anybody may pass, and a program that its owner alone may read. */
	assert_int_equal(chmod(file_path(tree->proc, "closed"), 0711), 0);
	assert_int_equal(chmod(file_path(tree->proc, "closed/program"), 0711), 0);
	assert_int_equal(broker_open_path(broker, path, &fd), -EACCES);
	assert_int_equal(fd, -7);
	assert_int_equal(chmod(file_path(tree->proc, "closed/program"), 0644), 0);
	assert_int_equal(broker_open_path(broker, path, &fd), 0);
	assert_reads(fd, ELFMAG "closed\n");
}

/* Otherwise a client could learn the names of files in other users' folders. */
static void of_closed_folders_only_dumps_are_known(void **state)
{
	static const char *const paths[] = { "/closed/jit-2.dump", "/closed/jit-3.dump",
		"/closed/folder/jit-1.dump", "/closed/none/jit-1.dump",
		"/closed/program/jit-1.dump", "/closed/folder/../../tmp/jit-1.dump",
		"/closed/folder/../jit-1.dump", "/closed/none/../../tmp/jit-1.dump" };
	struct tree *tree = *state;
	struct broker *broker = tree->broker;
	int fd = -7;

	if (geteuid() != 0) {
		print_message("skipped: only root gives files away\n");
		skip();
	}
	make_closed(tree, "77/root/closed", "program");
	make_folder(tree->proc, "77/root/closed/folder");
	write_file(tree->proc, "77/root/closed/jit-1.dump", DUMP "a dump\n");
	write_file(tree->proc, "77/root/closed/jit-2.dump", "a key\n");
	write_file(tree->proc, "77/root/tmp/jit-1.dump", DUMP "a dump\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(
			broker_open_marker(broker, &process_77, 0, 0, paths[i], &fd), -EACCES);
	assert_int_equal(fd, -7);
	assert_int_equal(
		broker_open_marker(broker, &process_77, 0, 0, "/closed/jit-1.dump", &fd), 0);
	assert_reads(fd, DUMP "a dump\n");
	/* Whoever may look there himself is told more. */
	fd = -7;
	assert_int_equal(chmod(file_path(tree->proc, "77/root/closed"), 0711), 0);
	assert_int_equal(
		broker_open_marker(broker, &process_77, 0, 0, "/closed/jit-2.dump", &fd), -ENOEXEC);
	assert_int_equal(
		broker_open_marker(broker, &process_77, 0, 0, "/closed/jit-3.dump", &fd), -ENOENT);
	assert_int_equal(fd, -7);
}

/* Called after the next walk. */
static void (*after_walk)(const struct tree *tree);
static const struct tree *walked_tree;

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	void (*then)(const struct tree *tree) = after_walk;
	long values[6], result;
	va_list arguments;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(arguments, number);
	for (size_t i = 0; i < 6; i++)
		values[i] = va_arg(arguments, long);
	va_end(arguments);
	result = real(number, values[0], values[1], values[2], values[3], values[4], values[5]);
	if (number == SYS_openat2 && then) {
		after_walk = NULL;
		then(walked_tree);
	}
	return result;
}

static void put_another_file(const struct tree *tree)
{
	remove_file(tree->proc, "77/root/tmp/jit-1.dump");
	write_file(tree->proc, "77/root/tmp/jit-1.dump", "a key\n");
}

/* A second walk could lead through a folder that has been closed meanwhile. */
static void a_path_is_walked_once(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	write_file(tree->proc, "77/root/tmp/jit-1.dump", DUMP "a dump\n");
	walked_tree = tree;
	after_walk = put_another_file;
	assert_int_equal(
		broker_open_marker(tree->broker, &process_77, 0, 0, "/tmp/jit-1.dump", &fd), 0);
	assert_null(after_walk);
	assert_reads(fd, DUMP "a dump\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(files_of_other_users_are_refused),
		IN_TREE(without_a_user_nothing_opens),
		IN_TREE(a_map_has_one_name),
		IN_TREE(only_jitdumps_open_as_markers),
		IN_PLACE("a_path_is_walked_once", a_path_is_walked_once, set_up, tear_down,
			broker_here),
		IN_PLACE("closed_folders_stay_closed", closed_folders_stay_closed, set_up,
			tear_down, broker_served),
		IN_PLACE("of_closed_folders_only_dumps_are_known",
			of_closed_folders_only_dumps_are_known, set_up, tear_down, broker_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/test_folder.h"
#include "tools/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

static bool lacks_unnamed_files, names_are_taken;

/* Instead of the C library's, so that a file system can be one that has no O_TMPFILE. */
int openat(int at, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (lacks_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (names_are_taken && (flags & O_EXCL) && (flags & O_CREAT)) {
		errno = EEXIST;
		return -1;
	}
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
	if (names_are_taken) {
		errno = EEXIST;
		return -1;
	}
	return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

static int enter_folder(void **state)
{
	lacks_unnamed_files = names_are_taken = false;
	(void)umask(022);
	return test_folder_enter(state) == 0 && chmod(test_folder, 0777) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void assert_content(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char content[64] = { 0 };

	assert_non_null(file);
	(void)!fread(content, 1, sizeof(content) - 1, file);
	(void)fclose(file);
	assert_string_equal(content, text);
}

static bool is_held(int signal)
{
	sigset_t mask;

	(void)sigprocmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, signal) == 1;
}

static struct output_file *open_file(const char *path)
{
	struct output_file *file = NULL;
	struct fault fault = { 0 };

	assert_int_equal(output_file_open(path, &file, &fault), 0);
	return file;
}

static int begin(struct output_file *file)
{
	int fd = -1;

	assert_int_equal(output_file_begin(file, &fd, NULL), 0);
	assert_true(fd >= 0);
	return fd;
}

static void write_file(struct output_file *file, const char *text)
{
	assert_int_equal(write(begin(file), text, strlen(text)), strlen(text));
	assert_int_equal(output_file_commit(file, 0, NULL), 0);
	output_file_free(file);
	assert_false(is_held(SIGTERM));
}

static void assert_refused(const char *path, int error)
{
	struct output_file *file = NULL;
	struct fault fault = { 0 };

	assert_int_equal(output_file_open(path, &file, &fault), error);
	assert_null(file);
	assert_non_null(strstr(fault.text, path));
	assert_non_null(strstr(fault.text, strerror(-error)));
}

static void a_new_file_appears_when_it_is_whole(void **state)
{
	struct output_file *file = open_file("x");
	struct stat status;
	int fd = begin(file);

	assert_int_equal(write(fd, "new", 3), 3);
	assert_int_equal(test_folder_count_files(), 0);
	assert_int_equal(output_file_commit(file, 0, NULL), 0);
	output_file_free(file);
	assert_content("x", "new");
	assert_int_equal(test_folder_count_files(), 1);
	assert_int_equal(stat("x", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
}

static void the_last_one_is_kept_on_demand(void **state)
{
	static const char *const contents[] = { "first", "second", "third" };

	for (size_t i = 0; i < 3; i++) {
		struct output_file *file = open_file("x");
		int fd = begin(file);

		output_file_keep_old(file);
		assert_true(write(fd, contents[i], strlen(contents[i])) > 0);
		assert_int_equal(output_file_commit(file, 0, NULL), 0);
		output_file_free(file);
		assert_content("x", contents[i]);
		if (i > 0)
			assert_content("x.old", contents[i - 1]);
		assert_int_equal(test_folder_count_files(), i > 0 ? 2 : 1);
	}
}

static void an_old_file_stays_until_then(void **state)
{
	struct output_file *file;
	struct stat status;
	int fd;

	put("x", "old", 0640);
	if (geteuid() == 0)
		assert_int_equal(chown("x", NOBODY, NOBODY), 0);
	file = open_file("x");
	fd = begin(file);
	assert_int_equal(write(fd, "newer", 5), 5);
	assert_content("x", "old");
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(output_file_commit(file, 0, NULL), 0);
	output_file_free(file);
	assert_content("x", "newer");
	assert_int_equal(test_folder_count_files(), 1);
	assert_int_equal(stat("x", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(status.st_uid, geteuid() == 0 ? NOBODY : geteuid());
}

static void an_uncommitted_file_is_removed(void **state)
{
	struct output_file *file;
	struct fault fault = { 0 };

	put("x", "old", 0644);
	for (int round = 0; round < 2; round++) {
		lacks_unnamed_files = round == 1;
		file = open_file("x");
		output_file_free(file);
		file = open_file("x");
		assert_int_equal(write(begin(file), "new", 3), 3);
		output_file_free(file);
		assert_false(is_held(SIGTERM));
		file = open_file("x");
		(void)begin(file);
		memset(&fault, 0, sizeof(fault));
		assert_int_equal(output_file_commit(file, -ENOSPC, &fault), -ENOSPC);
		assert_non_null(strstr(fault.text, "free some room"));
		assert_false(is_held(SIGTERM));
		output_file_free(file);
		assert_int_equal(test_folder_count_files(), 1);
		assert_content("x", "old");
	}
}

static void a_file_that_appears_meanwhile_is_replaced(void **state)
{
	struct output_file *file = open_file("x");

	put("x", "other", 0644);
	write_file(file, "new");
	assert_content("x", "new");
	assert_int_equal(test_folder_count_files(), 1);
}

static void links_are_followed_and_stay(void **state)
{
	struct stat status;

	assert_int_equal(mkdir("real", 0777), 0);
	put("real/x", "old", 0600);
	assert_int_equal(symlink("x", "real/nearer"), 0);
	assert_int_equal(symlink("real/nearer", "link"), 0);
	write_file(open_file("link"), "new");
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(lstat("real/nearer", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_content("real/x", "new");
	assert_int_equal(stat("real/x", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void links_to_nothing_are_followed_too(void **state)
{
	char absolute[PATH_MAX];
	struct stat status;

	(void)snprintf(absolute, sizeof(absolute), "%s/real/x", test_folder);
	assert_int_equal(mkdir("real", 0777), 0);
	assert_int_equal(symlink("nearer", "real/relative"), 0);
	assert_int_equal(symlink(absolute, "real/nearer"), 0);
	assert_int_equal(symlink("real/relative", "link"), 0);
	write_file(open_file("link"), "new");
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_content("real/x", "new");
}

static void a_link_that_another_planted_is_not_followed(void **state)
{
	if (geteuid() != 0) {
		print_message("making another user's link takes root\n");
		skip();
	}
	assert_int_equal(symlink("nowhere", "link"), 0);
	assert_int_equal(lchown("link", NOBODY, NOBODY), 0);
	assert_refused("link", -EACCES);
	assert_int_equal(test_folder_count_files(), 1);
}

static void wrong_places_are_refused_at_once(void **state)
{
	put("x", "old", 0644);
	assert_int_equal(symlink("circle", "circle"), 0);
	assert_refused(".", -EISDIR);
	assert_refused("missing/", -EISDIR);
	assert_refused("missing/x", -ENOENT);
	assert_refused("x/y", -ENOTDIR);
	assert_refused("circle", -ELOOP);
	assert_int_equal(test_folder_count_files(), 2);
}

static void read_only_places_are_refused_at_once(void **state)
{
	put("x", "old", 0444);
	assert_int_equal(mkdir("closed", 0555), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	assert_refused("x", -EACCES);
	assert_refused("closed/x", -EACCES);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_content("x", "old");
}

static void standard_output_is_not_replaced(void **state)
{
	static const char *const names[] = { "-", "x", "/dev/stdout", "/proc/self/fd/1" };
	int saved = dup(STDOUT_FILENO), fd;
	struct stat before, after;

	put("x", "", 0644);
	assert_int_equal(stat("x", &before), 0);
	fd = open("x", O_WRONLY | O_APPEND);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct output_file *file;

		assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
		file = open_file(names[i]);
		write_file(file, ".");
		assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	}
	(void)close(fd);
	(void)close(saved);
	assert_content("x", "....");
	assert_int_equal(stat("x", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(test_folder_count_files(), 1);
}

static void a_closed_standard_output_is_no_stream(void **state)
{
	struct output_file *file = NULL;
	int fd = -1, wait_status;
	pid_t child;

	put("x", "old", 0644);
	child = fork();
	if (child == 0) {
		/* No assertion here: a failed one would go on with the other tests. */
		(void)close(STDOUT_FILENO);
		_exit(output_file_open("x", &file, NULL) == 0 &&
					output_file_begin(file, &fd, NULL) == 0 &&
					write(fd, "new", 3) == 3 &&
					output_file_commit(file, 0, NULL) == 0
				? 0
				: 1);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_int_equal(wait_status, 0);
	assert_content("x", "new");
}

static void a_file_without_a_name_is_written_as_it_is(void **state)
{
	char path[64], content[8] = { 0 };
	struct output_file *file;
	int fd;

	put("x", "older", 0644);
	fd = open("x", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(unlink("x"), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open_file(path);
	assert_int_equal(pread(fd, content, sizeof(content), 0), 5);
	write_file(file, "new");
	assert_int_equal(pread(fd, content, sizeof(content), 0), 3);
	assert_memory_equal(content, "new", 3);
	assert_int_equal(test_folder_count_files(), 0);
	(void)close(fd);
}

static void devices_are_written_as_they_are(void **state)
{
	struct output_file *file = open_file("/dev/full");
	struct stat status;
	int fd = begin(file);

	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(output_file_commit(file, -errno, NULL), -ENOSPC);
	output_file_free(file);
	write_file(open_file("/dev/zero"), "x");
	assert_int_equal(stat("/dev/full", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

static void a_pipe_is_opened_when_there_is_something_to_write(void **state)
{
	struct output_file *file;
	char content[8];
	int fd;

	assert_int_equal(mkfifo("pipe", 0644), 0);
	/* Would wait for ever if it opened the pipe. */
	file = open_file("pipe");
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	write_file(file, "new");
	assert_int_equal(read(fd, content, sizeof(content)), 3);
	(void)close(fd);
}

static void without_unnamed_files_a_temporary_name_is_used(void **state)
{
	struct output_file *file;
	struct stat status;
	int fd;

	lacks_unnamed_files = true;
	put("x", "old", 0640);
	for (int round = 0; round < 2; round++) {
		const char *name = round ? "y" : "x";

		file = open_file(name);
		assert_int_equal(test_folder_count_files(), 1);
		assert_false(is_held(SIGTERM));
		fd = begin(file);
		assert_int_equal(test_folder_count_files(), 2);
		assert_true(is_held(SIGTERM));
		assert_int_equal(write(fd, "new", 3), 3);
		assert_int_equal(output_file_commit(file, 0, NULL), 0);
		assert_false(is_held(SIGTERM));
		output_file_free(file);
		assert_content(name, "new");
		assert_int_equal(stat(name, &status), 0);
		assert_int_equal(status.st_mode & 07777, round ? 0644 : 0640);
		assert_int_equal(test_folder_count_files(), 1 + round);
	}
}

static void exhausted_temporary_names_are_an_error(void **state)
{
	struct output_file *file = open_file("x");
	struct fault fault = { 0 };

	names_are_taken = true;
	(void)begin(file);
	assert_int_equal(output_file_commit(file, 0, &fault), -EEXIST);
	assert_non_null(strstr(fault.text, "'x'"));
	assert_false(is_held(SIGTERM));
	output_file_free(file);
	lacks_unnamed_files = true;
	assert_refused("x", -EEXIST);
	assert_false(is_held(SIGTERM));
	assert_int_equal(test_folder_count_files(), 0);
}

static void a_kill_leaves_nothing_behind(void **state)
{
	pid_t child = fork();
	int wait_status;

	if (child == 0) {
		(void)!write(begin(open_file("x")), "new", 3);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL);
	assert_int_equal(test_folder_count_files(), 0);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
	static const char *const names[] = { "new", "old", "dangling" };
	struct output_file *file = NULL;

	put("old", "old", 0644);
	assert_int_equal(symlink("nothing", "dangling"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(FAIL_EACH_ALLOCATION(output_file_open(names[i], &file, NULL), -ENOMEM,
				    !file, 0) >= 3);
		output_file_free(file);
		file = NULL;
	}
	assert_int_equal(test_folder_count_files(), 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, test_folder_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_appears_when_it_is_whole),
		TEST(the_last_one_is_kept_on_demand),
		TEST(an_old_file_stays_until_then),
		TEST(an_uncommitted_file_is_removed),
		TEST(a_file_that_appears_meanwhile_is_replaced),
		TEST(links_are_followed_and_stay),
		TEST(links_to_nothing_are_followed_too),
		TEST(a_link_that_another_planted_is_not_followed),
		TEST(wrong_places_are_refused_at_once),
		TEST(read_only_places_are_refused_at_once),
		TEST(standard_output_is_not_replaced),
		TEST(a_closed_standard_output_is_no_stream),
		TEST(a_file_without_a_name_is_written_as_it_is),
		TEST(devices_are_written_as_they_are),
		TEST(a_pipe_is_opened_when_there_is_something_to_write),
		TEST(without_unnamed_files_a_temporary_name_is_used),
		TEST(exhausted_temporary_names_are_an_error),
		TEST(a_kill_leaves_nothing_behind),
		TEST(failing_allocations_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

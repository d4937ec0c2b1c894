/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own /proc: files that are gone from their folders, and processes that end. */
#include "tests/broker/served_broker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

static void a_live_process_opens(void **state)
{
	const enum broker_place *place = *state;
	struct broker_process process = { .pid = getpid() };
	char path[] = "/tmp/broker_test.XXXXXX";
	struct placed_broker placed;
	struct broker *broker;
	void *mapped;
	int file, fd = -1, r;
	pid_t child;

	placed_broker_start(&placed, *place, NULL);
	broker = placed.broker;
	file = mkstemp(path);
	assert_true(file >= 0);
	assert_int_equal(write(file, ELFMAG "deleted\n", 12), 12);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_int_equal(unlink(path), 0);
	r = broker_open_mapping(
		broker, &process, (uintptr_t)mapped, (uintptr_t)mapped + 4096, NULL, &fd);
	if (r == 0)
		assert_reads(fd, ELFMAG "deleted\n");
	else
		assert_true(r == -EPERM || r == -EACCES);
	assert_int_equal(broker_open_maps(broker, &process, &fd), 0);
	assert_int_equal(close(fd), 0);
	process.start_ns = 1;
	assert_int_equal(broker_open_maps(broker, &process, &fd), -ESRCH);
	assert_int_equal(munmap(mapped, 4096), 0);
	assert_int_equal(close(file), 0);

	child = fork();
	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	process = (struct broker_process){ .pid = child };
	assert_int_equal(broker_open_maps(broker, &process, &fd), -ESRCH);
	placed_broker_stop(&placed);
	if (r < 0) {
		print_message("skipped: /proc/PID/map_files: %s\n", strerror(-r));
		skip();
	}
}

/* The first page is executable, the second is not. */
static void only_code_opens(void **state)
{
	const enum broker_place *place = *state;
	struct broker_process process = { .pid = getpid() };
	struct placed_broker placed;
	FILE *file;
	int fd = -7, r, data;
	uintptr_t start;
	void *mapped;

	placed_broker_start(&placed, *place, NULL);
	file = tmpfile();
	assert_non_null(file);
	assert_int_equal(write(fileno(file), ELFMAG, SELFMAG), SELFMAG);
	assert_int_equal(ftruncate(fileno(file), 8192), 0);
	mapped = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	start = (uintptr_t)mapped;
	assert_int_equal(mprotect((char *)mapped + 4096, 4096, PROT_READ), 0);
	r = broker_open_mapping(placed.broker, &process, start, start + 4096, NULL, &fd);
	assert_true(r == 0 || r == -EPERM || r == -EACCES);
	if (r == 0)
		assert_int_equal(close(fd), 0);
	fd = -7;
	data = broker_open_mapping(placed.broker, &process, start + 4096, start + 8192, NULL, &fd);
	if (data == -EINVAL) {
		assert_int_equal(broker_open_marker(placed.broker, &process, start + 4096,
					 start + 8192, NULL, &fd),
			-EINVAL);
		/* Nor by its name: a request for a mapping opens only that mapping. */
		assert_int_equal(broker_open_mapping(placed.broker, &process, start + 4096,
					 start + 8192, "/bin/true", &fd),
			-EINVAL);
		assert_int_equal(broker_open_mapping(
					 placed.broker, &process, start, start + 8192, NULL, &fd),
			-ENOENT);
	}
	assert_int_equal(munmap(mapped, 8192), 0);
	assert_int_equal(fclose(file), 0);
	placed_broker_stop(&placed);
	if (data == -EINVAL) {
		assert_int_equal(fd, -7);
		return;
	}
	if (data == 0)
		assert_int_equal(close(fd), 0);
	print_message("skipped: this kernel does not tell what is mapped as code\n");
	skip();
}

/* Reported by a process of another mount namespace: its child has come and gone, or why not. */
struct news {
	int error;
	pid_t child;
};

static int make_own_file(const char *folder, const char *path)
{
	FILE *file;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", folder, "tmpfs", 0, NULL) < 0)
		return errno;
	file = fopen(path, "w");
	if (!file || fputs(ELFMAG "own\n", file) < 0 || fclose(file) != 0)
		return errno;
	return 0;
}

/* Sends its report and lives until `life` is closed. */
static void live_in_a_namespace(const char *folder, const char *path, int news_fd, int life)
{
	struct news news = { .error = make_own_file(folder, path) };
	char byte;

	if (news.error == 0) {
		news.child = fork();
		if (news.child == 0)
			_exit(0);
		if (news.child < 0 || waitpid(news.child, NULL, 0) != news.child)
			news.error = errno;
	}
	if (write(news_fd, &news, sizeof(news)) == sizeof(news))
		(void)!read(life, &byte, 1);
	_exit(0);
}

/* A short command in a container: its file is found through its parent, which does not map it. */
static void files_of_the_dead_open_through_their_ancestors(void **state)
{
	const enum broker_place *place = *state;
	char folder[] = "/tmp/broker_test.XXXXXX", path[64];
	struct broker_process process = { 0 };
	int news_pipe[2], life_pipe[2], fd = -7;
	struct placed_broker placed;
	struct broker *broker;
	struct news news;
	pid_t parent;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(pipe2(news_pipe, O_CLOEXEC), 0);
	assert_int_equal(pipe2(life_pipe, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		(void)close(life_pipe[1]);
		live_in_a_namespace(folder, path, news_pipe[1], life_pipe[0]);
	}
	assert_int_equal(read(news_pipe[0], &news, sizeof(news)), sizeof(news));
	placed_broker_start(&placed, *place, NULL);
	broker = placed.broker;
	if (news.error == 0) {
		process.pid = news.child;
		assert_int_equal(
			broker_open_mapping(broker, &process, 0x1000, 0x2000, path, &fd), -ESRCH);
		assert_int_equal(broker_open_mapping(broker, &process, 0, 0, path, &fd), -ESRCH);
		assert_int_equal(broker_open_path(broker, path, &fd), -ENOENT);
		process.pid = parent;
		assert_int_equal(broker_open_mapping(broker, &process, 0, 0, path, &fd), 0);
		assert_reads(fd, ELFMAG "own\n");
	}
	placed_broker_stop(&placed);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(close(news_pipe[i]), 0);
		assert_int_equal(close(life_pipe[i]), 0);
	}
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(rmdir(folder), 0);
	if (news.error) {
		print_message("skipped: a mount namespace: %s\n", strerror(news.error));
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH_PLACES(a_live_process_opens, NULL, NULL),
		IN_BOTH_PLACES(only_code_opens, NULL, NULL),
		IN_BOTH_PLACES(files_of_the_dead_open_through_their_ancestors, NULL, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

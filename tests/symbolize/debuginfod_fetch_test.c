/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the fetcher with a server on loopback, which plays the role in the first part of the path.
 * Tests the owner with hostile fetchers: this program, started as `symbol-fetch`, plays the role
 * that it gets in place of servers.
 */
#include "symbolize/debuginfod_fetch.h"

#include "base/array.h"
#include "base/clock.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbolize/debuginfod_roles.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int server_port, closed_port;
static pid_t server_pid;
static char folder[] = "/tmp/debuginfod_fetch_test.XXXXXX";
static const struct build_id example_id = { .bytes = { 0xab, 0xcd, 0xef }, .size = 20 };

static void need_library(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		print_message("skipped: libdebuginfod.so.1 is not installed\n");
		skip();
	}
	(void)dlclose(library);
}

static size_t count_entries(const char *path)
{
	DIR *entries = opendir(path);
	size_t count = 0;

	assert_non_null(entries);
	while (readdir(entries))
		count++;
	(void)closedir(entries);
	return count - 2;
}

static size_t count_descriptors(void)
{
	return count_entries("/proc/self/fd");
}

static struct placed_broker placed;
static struct broker *broker; /* NULL: this process starts the fetchers */

static int serve_fetchers(void **state)
{
	placed_broker_start(&placed, BROKER_SERVED, NULL);
	broker = placed.broker;
	return 0;
}

static int stop_serving(void **state)
{
	broker = NULL;
	placed_broker_stop(&placed);
	return 0;
}

static struct debuginfod_fetch *start(
	const char *urls, uint64_t timeout_ns, const struct build_id *id)
{
	const struct debuginfod_fetch_options options = {
		.urls = urls,
		.broker = broker,
		.directory = folder,
		.timeout_ns = timeout_ns,
		.bytes_max = BYTES_MAX,
	};
	struct debuginfod_fetch *fetch;

	assert_int_equal(debuginfod_fetch_start(&options, id, &fetch), 0);
	return fetch;
}

static int wait_for(struct debuginfod_fetch *fetch, int *ret_fd)
{
	struct pollfd poll_fd = { .fd = debuginfod_fetch_poll_fd(fetch), .events = POLLIN };
	int r;

	do {
		assert_int_equal(poll(&poll_fd, 1, -1), 1);
		r = debuginfod_fetch_take(fetch, ret_fd);
	} while (r == -EAGAIN);
	return r;
}

/* Returns the result; `text` gets the file's contents. Checks that no files are left behind. */
static int fetch_from(
	const char *urls, uint64_t timeout_ns, const struct build_id *id, char text[64])
{
	size_t descriptors = count_descriptors();
	struct debuginfod_fetch *fetch = start(urls, timeout_ns, id);
	int fd = -1;
	int r = wait_for(fetch, &fd);

	text[0] = '\0';
	if (r == 0) {
		ssize_t size = pread(fd, text, 63, 0);

		assert_true(size > 0);
		text[size] = '\0';
		(void)close(fd);
	} else {
		assert_int_equal(fd, -1);
	}
	debuginfod_fetch_free(fetch);
	assert_int_equal(count_entries(folder), 0);
	assert_int_equal(count_descriptors(), descriptors);
	return r;
}

static const char *url_of(const char *role)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s", server_port, role);
	return url;
}

static void file_is_fetched(void **state)
{
	char text[64], urls[256];

	need_library();
	assert_int_equal(fetch_from(url_of("good"), 0, &example_id, text), 0);
	assert_string_equal(text, "a debug file");
	/* The second of two servers has it. */
	(void)snprintf(urls, sizeof(urls), "http://127.0.0.1:%d/ http://127.0.0.1:%d/good",
		closed_port, server_port);
	assert_int_equal(fetch_from(urls, 0, &example_id, text), 0);
}

static void remove_tree(const char *path)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

/* A folder may take the place of a server; its files are open to the fetcher, and no others. */
static void folder_of_files_is_a_server(void **state)
{
	static const char parents[][64] = { "/buildid", "/buildid/abcdef0000000000" };
	char served[] = "/tmp/debuginfod_served.XXXXXX", path[256], urls[600], text[64];
	const struct build_id id = { .bytes = { 0xab, 0xcd, 0xef }, .size = 8 };
	int fd;

	need_library();
	(void)umask(022);
	assert_non_null(mkdtemp(served));
	assert_int_equal(chmod(served, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", served, parents[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)strcat(path, "/debuginfo");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "local", 5), 5);
	(void)close(fd);
	(void)snprintf(urls, sizeof(urls), "%s file://%s", url_of("missing"), served);
	assert_int_equal(fetch_from(urls, 0, &id, text), 0);
	assert_string_equal(text, "local");
	/* What libdebuginfod appends must not get lost: then any file could be read. */
	(void)snprintf(urls, sizeof(urls), "file://%s file://%s#", path, path);
	assert_int_equal(fetch_from(urls, 0, &id, text), -EIO);
	(void)snprintf(urls, sizeof(urls), "file://%s file://%s?", path, path);
	assert_int_equal(fetch_from(urls, 0, &id, text), -EIO);
	remove_tree(served);
}

static void zeros_at_the_end_of_an_id_may_be_missing(void **state)
{
	const struct build_id cut = { .bytes = { 1, 2, 3 }, .size = 17 };
	const struct build_id own = { .bytes = { 1, 2, 3 }, .size = 3 };
	char text[64];

	need_library();
	assert_int_equal(fetch_from(url_of("digits40"), 0, &cut, text), 0);
	assert_string_equal(text, "40 digits");
	assert_int_equal(fetch_from(url_of("digits6"), 0, &own, text), 0);
	assert_string_equal(text, "6 digits");
	assert_int_equal(fetch_from(url_of("digits6"), 0, &cut, text), -ENOENT);
}

static void server_failures_are_reported(void **state)
{
	static const struct {
		const char *role;
		int error;
	} cases[] = {
		{ "missing", -ENOENT },
		{ "huge", -EFBIG },
		{ "endless", -EFBIG },
	};
	/* Some versions of libdebuginfod report most of them as a missing file. */
	static const char *const failing[] = { "broken", "empty", "garbage", "short", "hangup" };
	char text[64], urls[64];
	int r;

	need_library();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		r = fetch_from(url_of(cases[i].role), 0, &example_id, text);
		if (r != cases[i].error)
			print_message("%s: %d\n", cases[i].role, r);
		assert_int_equal(r, cases[i].error);
	}
	for (size_t i = 0; i < ARRAY_SIZE(failing); i++) {
		r = fetch_from(url_of(failing[i]), 0, &example_id, text);
		assert_true(r == -EIO || r == -ENOENT);
	}
	(void)snprintf(urls, sizeof(urls), "http://127.0.0.1:%d", closed_port);
	r = fetch_from(urls, 0, &example_id, text);
	assert_true(r == -EIO || r == -ENOENT);
}

static void slow_servers_run_into_the_timeout(void **state)
{
	static const char *const roles[] = { "silent", "drip" };
	char text[64];
	int r;

	need_library();
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		assert_int_equal(fetch_from(url_of(roles[i]), NSEC_PER_SEC / 2, &example_id, text),
			-ETIMEDOUT);
	/* Some versions of curl stop by themselves. */
	r = fetch_from(url_of("loop"), NSEC_PER_SEC / 2, &example_id, text);
	assert_true(r == -ETIMEDOUT || r == -EIO);
}

/* Fetches in a process of an unprivileged user, and returns its status. */
static int fetch_as_somebody(const char *urls)
{
	const struct debuginfod_fetch_options options = {
		.urls = urls,
		.broker = broker,
		.directory = folder,
		.bytes_max = BYTES_MAX,
	};
	struct debuginfod_fetch *fetch;
	struct pollfd event = { .events = POLLIN };
	int fd, r;

	if (chown(folder, 1, 1) < 0 || setgid(1) < 0 || setuid(1) < 0)
		return 2;
	if (debuginfod_fetch_start(&options, &example_id, &fetch) < 0)
		return 3;
	event.fd = debuginfod_fetch_poll_fd(fetch);
	while ((r = debuginfod_fetch_take(fetch, &fd)) == -EAGAIN)
		if (poll(&event, 1, -1) < 0)
			return 4;
	debuginfod_fetch_free(fetch);
	if (r != (strncmp(urls, "hostile:", 8) == 0 ? -EIO : 0))
		return 5;
	return count_entries(folder) == 0 ? 0 : 6;
}

/* The broker is root, the fetcher is nobody, and the owner is a third user: it must still be able
 * to remove the fetcher's files. */
static void unprivileged_owner_leaves_no_files(void **state)
{
	const char *const urls[] = { url_of("good"), "hostile:leave" };

	need_library();
	if (geteuid() != 0 || chown(folder, 1, 1) < 0 || chown(folder, 0, 0) < 0) {
		print_message("skipped: only root can be several users\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(fetch_as_somebody(urls[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_int_equal(chown(folder, 0, 0), 0);
	}
}

static void free_kills_the_fetcher(void **state)
{
	struct debuginfod_fetch *fetch = start("hostile:sleep", 0, &example_id);
	int fd = -1;

	assert_int_equal(debuginfod_fetch_take(fetch, &fd), -EAGAIN);
	assert_int_equal(count_entries(folder), 1);
	debuginfod_fetch_free(fetch);
	debuginfod_fetch_free(NULL);
	assert_int_equal(count_entries(folder), 0);
}

static void missing_library_is_reported(void **state)
{
	char text[64];

	assert_int_equal(fetch_from("hostile:library", 0, &example_id, text), -ENOSYS);
	assert_non_null(strstr(debuginfod_fetch_explain(-ENOSYS), "libdebuginfod"));
	assert_non_null(strstr(debuginfod_fetch_explain(-ENOENT), "no server"));
	assert_non_null(strstr(debuginfod_fetch_explain(-ECONNREFUSED), "reached"));
}

/* Root's user and group alone would give a hijacked fetcher access to all files of root. */
static void root_fetches_as_another_user(void **state)
{
	char text[64];

	if (geteuid() != 0 || chown(folder, 65534, 65534) < 0 || chown(folder, 0, 0) < 0) {
		print_message("skipped: only root of a namespace with a nobody can become one\n");
		skip();
	}
	assert_int_equal(fetch_from("hostile:root", 0, &example_id, text), -EPERM);
	assert_non_null(strstr(debuginfod_fetch_explain(-EPERM), "CAP_SETUID"));
}

static void fetcher_opens_only_its_own_files(void **state)
{
	char text[64];

	/* Landlock's version, by a number that headers may lack; version 2 can restrict renames. */
	if (syscall(444, NULL, 0, 1) < 2) {
		print_message("skipped: this kernel has no Landlock that is of use\n");
		skip();
	}
	assert_int_equal(fetch_from("hostile:escape", 0, &example_id, text), -HELD_ERROR);
	assert_int_equal(access(ESCAPED_PATH, F_OK), -1);
}

static void replies_of_hostile_fetchers_are_checked(void **state)
{
	static const struct {
		const char *role;
		int error;
	} cases[] = {
		{ "hostile:fifo", -EIO },
		{ "hostile:folder", -EIO },
		{ "hostile:path", -EIO },
		{ "hostile:write", -EIO },
		{ "hostile:none", -EIO },
		{ "hostile:empty", -EIO },
		{ "hostile:most", 0 },
		{ "hostile:more", -EFBIG },
		{ "hostile:several", 0 },
		{ "hostile:garbage", -EIO },
		{ "hostile:version", -EIO },
		{ "hostile:errno", -EIO },
		{ "hostile:crash", -EIO },
		{ "hostile:toobig", -EFBIG },
		{ "hostile:exit", -EIO },
		{ "hostile:environment", 0 },
	};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = fetch_from(cases[i].role, 0, &example_id, text);

		if (r != cases[i].error)
			print_message("%s: %d\n", cases[i].role, r);
		assert_int_equal(r, cases[i].error);
	}
}

/* Folders nested deeper than libdebuginfod makes them stay, and do no harm. */
static void too_deep_folders_are_left_behind(void **state)
{
	struct debuginfod_fetch *fetch = start("hostile:forest", 0, &example_id);
	int fd = -1;

	assert_int_equal(wait_for(fetch, &fd), -EIO);
	debuginfod_fetch_free(fetch);
	assert_int_equal(count_entries(folder), 1);
	assert_true(access("/bin/sh", F_OK) == 0);
	remove_tree(folder);
	assert_int_equal(mkdir(folder, 0700), 0);
}

static void make_dead_folder(const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)strcat(path, "/cache");
	assert_int_equal(mkdir(path, 0700), 0);
	(void)strcat(path, "/debuginfo");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void folders_of_dead_fetchers_are_removed(void **state)
{
	struct debuginfod_fetch *first, *second;

	make_dead_folder("fetch.0123456789abcdef");
	make_dead_folder("somebody.else");
	first = start("hostile:sleep", 0, &example_id);
	assert_int_equal(count_entries(folder), 2);
	second = start("hostile:sleep", 0, &example_id);
	assert_int_equal(count_entries(folder), 3);
	debuginfod_fetch_free(first);
	debuginfod_fetch_free(second);
	assert_int_equal(count_entries(folder), 1);
	remove_tree(folder);
	assert_int_equal(mkdir(folder, 0700), 0);
}

static void invalid_requests_are_refused(void **state)
{
	struct debuginfod_fetch_options options = { .broker = broker, .directory = folder };
	const struct build_id no_id = { .size = 0 };
	struct debuginfod_fetch *fetch = NULL;
	char many[FETCH_URLS_BYTES + 1] = "";

	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -EINVAL);
	memset(many, 'x', sizeof(many) - 1);
	options.urls = many;
	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -E2BIG);
	options.urls = "  ";
	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -EINVAL);
	options.urls = "http://127.0.0.1";
	assert_int_equal(debuginfod_fetch_start(&options, &no_id, &fetch), -EINVAL);
	options.program = "/nonexistent";
	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -ENOENT);
	options.directory = "/nonexistent";
	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -ENOENT);
	assert_null(fetch);
	assert_int_equal(count_entries(folder), 0);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
	const struct debuginfod_fetch_options options = {
		.urls = "hostile:sleep",
		.broker = broker,
		.directory = folder,
	};
	size_t descriptors = count_descriptors();
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct debuginfod_fetch *fetch = NULL;

		fail_allocation(n);
		r = debuginfod_fetch_start(&options, &example_id, &fetch);
		if (!allocation_failed()) {
			debuginfod_fetch_free(fetch);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(fetch);
		assert_int_equal(count_descriptors(), descriptors);
		assert_int_equal(count_entries(folder), 0);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 2);
}

static int set_up(void **state)
{
	int listen_fd = listen_on_loopback(&server_port);

	/* Bound but not listening: the port is reserved, and connections are refused. */
	if (listen_fd < 0 || listen_on_loopback(&closed_port) < 0 || listen(listen_fd, 16) < 0)
		return -1;
	(void)setenv("no_proxy", "127.0.0.1", 1);
	(void)setenv("SECRET", "the owner's", 1);
	server_pid = fork();
	if (server_pid == 0)
		serve_files(listen_fd);
	(void)close(listen_fd);
	return server_pid > 0 && mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)kill(server_pid, SIGKILL);
	(void)waitpid(server_pid, NULL, 0);
	return rmdir(folder);
}

#define BY_A_BROKER(test)                                                        \
	{                                                                        \
#test " (by a broker)", test, serve_fetchers, stop_serving, NULL \
	}
#define IN_BOTH_WAYS(test) cmocka_unit_test(test), BY_A_BROKER(test)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH_WAYS(file_is_fetched),
		IN_BOTH_WAYS(folder_of_files_is_a_server),
		cmocka_unit_test(zeros_at_the_end_of_an_id_may_be_missing),
		IN_BOTH_WAYS(server_failures_are_reported),
		IN_BOTH_WAYS(slow_servers_run_into_the_timeout),
		IN_BOTH_WAYS(free_kills_the_fetcher),
		BY_A_BROKER(unprivileged_owner_leaves_no_files),
		cmocka_unit_test(missing_library_is_reported),
		IN_BOTH_WAYS(root_fetches_as_another_user),
		IN_BOTH_WAYS(fetcher_opens_only_its_own_files),
		IN_BOTH_WAYS(replies_of_hostile_fetchers_are_checked),
		IN_BOTH_WAYS(too_deep_folders_are_left_behind),
		IN_BOTH_WAYS(folders_of_dead_fetchers_are_removed),
		cmocka_unit_test(invalid_requests_are_refused),
		IN_BOTH_WAYS(failing_allocations_leave_nothing_behind),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-fetch") == 0)
		return fetcher(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

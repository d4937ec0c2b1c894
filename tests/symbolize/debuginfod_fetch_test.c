/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fetcher against a server on loopback that plays the role in the first part of the path, and
 * the owner against fetchers that are hostile: this program started anew as `symbol-fetch`, with a
 * role in the place of its servers.
 */
#include "symbolize/debuginfod_fetch.h"

#include "base/array.h"
#include "base/clock.h"
#include "symbolize/fetch_request.h"
#include "tests/harness/failing_allocation.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES_MAX (256 * 1024)

/* --- the server ------------------------------------------------------------------------------- */

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static void say_body(int fd, const char *body)
{
	char headers[128];

	(void)snprintf(headers, sizeof(headers),
		"HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		strlen(body));
	say(fd, headers);
	say(fd, body);
}

static void say_without_end(int fd)
{
	static char chunk[4096 + 1];

	memset(chunk, 'x', sizeof(chunk) - 1);
	for (;;)
		say(fd, chunk);
}

/* A byte each tenth of a second, for as long as somebody listens. */
static void drip(int fd)
{
	say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
	for (;;) {
		say(fd, "x");
		(void)poll(NULL, 0, 100);
	}
}

static bool is_role(const char *request, const char *role)
{
	return strncmp(request + strlen("GET /"), role, strlen(role)) == 0;
}

/* The digits of the build-id that is asked for. */
static size_t asked_digits(const char *request)
{
	const char *id = strstr(request, "/buildid/");

	return id ? strspn(id + strlen("/buildid/"), "0123456789abcdef") : 0;
}

static void answer(int fd, const char *request)
{
	char location[512];

	if (is_role(request, "good")) {
		say_body(fd, "a debug file");
	} else if (is_role(request, "digits40")) {
		say_body(fd, asked_digits(request) == 40 ? "40 digits" : "");
	} else if (is_role(request, "digits6")) {
		if (asked_digits(request) == 6)
			say_body(fd, "6 digits");
		say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	} else if (is_role(request, "missing")) {
		say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	} else if (is_role(request, "broken")) {
		say(fd, "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
	} else if (is_role(request, "empty")) {
		say_body(fd, "");
	} else if (is_role(request, "garbage")) {
		say(fd, "\x7f\x01\x02 this is not HTTP\r\n\r\n\xff\xff");
	} else if (is_role(request, "short")) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
	} else if (is_role(request, "huge")) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n");
		say_without_end(fd);
	} else if (is_role(request, "endless")) {
		say(fd, "HTTP/1.0 200 OK\r\n\r\n");
		say_without_end(fd);
	} else if (is_role(request, "drip")) {
		drip(fd);
	} else if (is_role(request, "silent")) {
		(void)poll(NULL, 0, -1);
	} else if (is_role(request, "loop")) {
		(void)snprintf(location, sizeof(location),
			"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %.*s\r\n\r\n",
			(int)strcspn(request + 4, " "), request + 4);
		say(fd, location);
	}
}

static _Noreturn void serve(int listen_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);
		char request[2048] = "";

		if (fd < 0 || fork() != 0) {
			(void)close(fd);
			continue;
		}
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (recv(fd, request, sizeof(request) - 1, 0) > 5)
			answer(fd, request);
		(void)shutdown(fd, SHUT_WR);
		_exit(0);
	}
}

static int listen_on_loopback(int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* --- hostile fetchers ------------------------------------------------------------------------- */

static void reply_with(const void *bytes, size_t size, const int *fds, size_t fd_count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (fd_count > 0) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
	}
	(void)sendmsg(FETCH_SOCKET_FD, &message, MSG_NOSIGNAL);
}

static void reply_with_fd(int fd)
{
	const struct fetch_reply reply = { .version = FETCH_VERSION };

	reply_with(&reply, sizeof(reply), &fd, fd >= 0);
}

static int file_of(off_t bytes)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	return fd >= 0 && ftruncate(fd, bytes) == 0 ? fd : -1;
}

static _Noreturn void play_hostile_fetcher(const char *role)
{
	struct fetch_reply reply = { .version = FETCH_VERSION };
	int fds[4];

	if (strcmp(role, "fifo") == 0 && pipe(fds) == 0)
		reply_with_fd(fds[0]);
	if (strcmp(role, "folder") == 0)
		reply_with_fd(open("/", O_RDONLY));
	if (strcmp(role, "path") == 0)
		reply_with_fd(open("/proc/self/exe", O_PATH));
	if (strcmp(role, "write") == 0)
		reply_with_fd(open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600));
	if (strcmp(role, "none") == 0)
		reply_with_fd(-1);
	if (strcmp(role, "empty") == 0)
		reply_with_fd(file_of(0));
	if (strcmp(role, "most") == 0)
		reply_with_fd(file_of(BYTES_MAX));
	if (strcmp(role, "more") == 0)
		reply_with_fd(file_of(BYTES_MAX + 1));
	if (strcmp(role, "several") == 0) {
		fds[0] = fds[1] = fds[2] = fds[3] = file_of(1);
		reply_with(&reply, sizeof(reply), fds, 4);
	}
	if (strcmp(role, "garbage") == 0)
		reply_with("garbage, with a descriptor", 26, (const int[]){ 0 }, 1);
	if (strcmp(role, "version") == 0) {
		reply.version++;
		reply_with(&reply, sizeof(reply), NULL, 0);
	}
	if (strcmp(role, "errno") == 0) {
		reply.error = -EAGAIN;
		reply_with(&reply, sizeof(reply), NULL, 0);
	}
	if (strcmp(role, "crash") == 0)
		(void)raise(SIGKILL);
	if (strcmp(role, "toobig") == 0)
		(void)raise(SIGXFSZ);
	if (strcmp(role, "forest") == 0)
		for (int i = 0; i < 10; i++)
			if (mkdir("tree", 0700) < 0 || symlink("/", "tree/link") < 0 ||
				chdir("tree"))
				break;
	if (strcmp(role, "sleep") == 0)
		for (;;)
			(void)pause();
	_exit(0);
}

static int fetcher(int argc, char **argv)
{
	static const char hostile[] = "hostile:";
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && strncmp(urls, hostile, strlen(hostile)) == 0) {
		const char *role = urls + strlen(hostile);

		/* So few that no library can be opened. */
		if (strcmp(role, "library") == 0)
			(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 5, 5 });
		else if (fchdir(FETCH_FOLDER_FD) == 0)
			play_hostile_fetcher(role);
	}
	return debuginfod_fetch_main(argc, argv);
}

/* --- the owner -------------------------------------------------------------------------------- */

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

static struct debuginfod_fetch *start(
	const char *urls, uint64_t timeout_ns, const struct build_id *id)
{
	const struct debuginfod_fetch_options options = {
		.urls = urls,
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

/* The result; a file's contents go to `text`, and nothing else is left. */
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

static void a_file_is_fetched(void **state)
{
	char text[64], urls[256];

	(void)state;
	need_library();
	assert_int_equal(fetch_from(url_of("good"), 0, &example_id, text), 0);
	assert_string_equal(text, "a debug file");
	/* The second of two servers has it. */
	(void)snprintf(urls, sizeof(urls), "http://127.0.0.1:%d/ http://127.0.0.1:%d/good",
		closed_port, server_port);
	assert_int_equal(fetch_from(urls, 0, &example_id, text), 0);
}

static void an_id_may_lack_zeros(void **state)
{
	const struct build_id cut = { .bytes = { 1, 2, 3 }, .size = 17 };
	const struct build_id own = { .bytes = { 1, 2, 3 }, .size = 3 };
	char text[64];

	(void)state;
	need_library();
	assert_int_equal(fetch_from(url_of("digits40"), 0, &cut, text), 0);
	assert_string_equal(text, "40 digits");
	assert_int_equal(fetch_from(url_of("digits6"), 0, &own, text), 0);
	assert_string_equal(text, "6 digits");
	assert_int_equal(fetch_from(url_of("digits6"), 0, &cut, text), -ENOENT);
}

static void what_servers_do_is_told(void **state)
{
	static const struct {
		const char *role;
		int error;
	} cases[] = {
		{ "missing", -ENOENT },
		{ "huge", -EFBIG },
		{ "endless", -EFBIG },
	};
	/* libdebuginfod tells most of them from a file that is not there, or not, by its version.
	 */
	static const char *const failing[] = { "broken", "empty", "garbage", "short", "hangup" };
	char text[64], urls[64];
	int r;

	(void)state;
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

static void nobody_waits_for_a_slow_server(void **state)
{
	static const char *const roles[] = { "silent", "drip" };
	char text[64];
	int r;

	(void)state;
	need_library();
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		assert_int_equal(fetch_from(url_of(roles[i]), NSEC_PER_SEC / 2, &example_id, text),
			-ETIMEDOUT);
	/* Some versions of curl stop by themselves. */
	r = fetch_from(url_of("loop"), NSEC_PER_SEC / 2, &example_id, text);
	assert_true(r == -ETIMEDOUT || r == -EIO);
}

static void freeing_ends_it(void **state)
{
	struct debuginfod_fetch *fetch = start("hostile:sleep", 0, &example_id);
	int fd = -1;

	(void)state;
	assert_int_equal(debuginfod_fetch_take(fetch, &fd), -EAGAIN);
	assert_int_equal(count_entries(folder), 1);
	debuginfod_fetch_free(fetch);
	debuginfod_fetch_free(NULL);
	assert_int_equal(count_entries(folder), 0);
}

static void a_missing_library_is_told(void **state)
{
	char text[64];

	(void)state;
	assert_int_equal(fetch_from("hostile:library", 0, &example_id, text), -ENOSYS);
	assert_non_null(strstr(debuginfod_fetch_explain(-ENOSYS), "libdebuginfod"));
	assert_non_null(strstr(debuginfod_fetch_explain(-ENOENT), "no server"));
	assert_non_null(strstr(debuginfod_fetch_explain(-ECONNREFUSED), "reached"));
}

static void a_hostile_fetcher_is_not_believed(void **state)
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
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = fetch_from(cases[i].role, 0, &example_id, text);

		if (r != cases[i].error)
			print_message("%s: %d\n", cases[i].role, r);
		assert_int_equal(r, cases[i].error);
	}
}

static void remove_tree(const char *path)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

/* What is nested deeper than libdebuginfod does is left, and harms nobody. */
static void a_deep_folder_is_left(void **state)
{
	struct debuginfod_fetch *fetch = start("hostile:forest", 0, &example_id);
	int fd = -1;

	(void)state;
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

static void dead_folders_are_removed(void **state)
{
	struct debuginfod_fetch *first, *second;

	(void)state;
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

static void what_makes_no_sense_is_refused(void **state)
{
	struct debuginfod_fetch_options options = { .directory = folder };
	const struct build_id no_id = { .size = 0 };
	struct debuginfod_fetch *fetch = NULL;

	(void)state;
	assert_int_equal(debuginfod_fetch_start(&options, &example_id, &fetch), -EINVAL);
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
		.directory = folder,
	};
	size_t descriptors = count_descriptors();
	size_t n;
	int r;

	(void)state;
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
	assert_true(n >= 7);
}

static int set_up(void **state)
{
	int listen_fd = listen_on_loopback(&server_port);

	(void)state;
	/* Bound and not listened on: nobody else gets it, and it refuses. */
	if (listen_fd < 0 || listen_on_loopback(&closed_port) < 0 || listen(listen_fd, 16) < 0)
		return -1;
	(void)setenv("no_proxy", "127.0.0.1", 1);
	server_pid = fork();
	if (server_pid == 0)
		serve(listen_fd);
	(void)close(listen_fd);
	return server_pid > 0 && mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)kill(server_pid, SIGKILL);
	(void)waitpid(server_pid, NULL, 0);
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_fetched),
		cmocka_unit_test(an_id_may_lack_zeros),
		cmocka_unit_test(what_servers_do_is_told),
		cmocka_unit_test(nobody_waits_for_a_slow_server),
		cmocka_unit_test(freeing_ends_it),
		cmocka_unit_test(a_missing_library_is_told),
		cmocka_unit_test(a_hostile_fetcher_is_not_believed),
		cmocka_unit_test(a_deep_folder_is_left),
		cmocka_unit_test(dead_folders_are_removed),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(failing_allocations_leave_nothing_behind),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-fetch") == 0)
		return fetcher(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Good and bad debuginfod servers, and hostile fetchers. */
#pragma once

#include "base/array.h"
#include "child/child_request.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/fetch_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES_MAX (256 * 1024) /* the limit of a fetched file */

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

/* Sends a byte every 100 ms until the client disconnects. */
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

/* The number of hex digits in the requested build-id. */
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

static _Noreturn void serve_files(int listen_fd)
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

static int make_tree(void)
{
	(void)umask(0);
	return mkdir("cache", 0777) < 0 || mkdir("cache/abcdef", 0777) < 0 ||
			       mknod("cache/abcdef/debuginfo", S_IFREG | 0600, 0) < 0
		       ? -1
		       : 0;
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
	/* Leaves the same files as libdebuginfod when it is killed. */
	if (strcmp(role, "leave") == 0 && make_tree() == 0)
		(void)raise(SIGKILL);
	if (strcmp(role, "forest") == 0)
		for (int i = 0; i < 10; i++)
			if (mkdir("tree", 0700) < 0 || symlink("/", "tree/link") < 0 ||
				chdir("tree"))
				break;
	/* Only the variables that libraries need for the network are set. */
	if (strcmp(role, "environment") == 0 && getenv("no_proxy") && !getenv("SECRET"))
		reply_with_fd(file_of(1));
	if (strcmp(role, "sleep") == 0)
		for (;;)
			(void)pause();
	_exit(0);
}

/* CAP_SETUID, as in containers whose root may not change its user. */
static void lose_user_changes(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, sets) < 0)
		_exit(98);
	sets[0].effective &= ~(1U << CAP_SETUID);
	sets[0].permitted &= ~(1U << CAP_SETUID);
	if (syscall(SYS_capset, &header, sets) < 0)
		_exit(98);
}

/* From here on no library can be opened. */
static void lose_files(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter ||
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, O_PATH, 0)) < 0 ||
		seccomp_load(filter) < 0)
		_exit(94);
	seccomp_release(filter);
}

/* Peeks at the received request and leaves it in the socket. */
static const char *asked_urls(void)
{
	static struct {
		unsigned char table[16]; /* child/child_request.c */
		struct fetch_request request;
	} message;

	if (recv(FETCH_SOCKET_FD, &message, sizeof(message), MSG_PEEK) != sizeof(message))
		_exit(97);
	return message.request.urls;
}

static _Noreturn void take_role(const char *role)
{
	static struct fetch_request request;

	if (child_request_receive(&request, sizeof(request)) < 0 || fchdir(FETCH_FOLDER_FD) < 0)
		_exit(96);
	play_hostile_fetcher(role);
}

#define ESCAPED_PATH "/tmp/debuginfod_fetch_test.escaped"

/* An error that the owner accepts from a fetcher. */
enum { HELD_ERROR = ENOSPC };

static bool escapes;

static bool is_closed(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC, 0600) < 0 && errno == EACCES;
}

/* Replaces the C library's function: a fetcher calls it first when Landlock confines it. */
int mkdir(const char *path, mode_t mode)
{
	if (!escapes)
		return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	errno = is_closed("/etc/passwd", O_RDONLY) && is_closed("/proc/self/maps", O_RDONLY) &&
				is_closed("/", O_RDONLY | O_DIRECTORY) &&
				is_closed(ESCAPED_PATH, O_WRONLY | O_CREAT) &&
				open("/dev/null", O_RDWR | O_CLOEXEC) >= 0
			? HELD_ERROR
			: EPERM;
	return -1;
}

static int fetcher(int argc, char **argv)
{
	static const char hostile[] = "hostile:";
	const char *urls = asked_urls();

	if (strncmp(urls, hostile, strlen(hostile)) == 0) {
		const char *role = urls + strlen(hostile);

		/* URLs may be secret: they must not be visible to other users. */
		if (getenv("DEBUGINFOD_URLS"))
			_exit(95);
		if (strcmp(role, "root") == 0)
			lose_user_changes();
		else if (strcmp(role, "escape") == 0)
			escapes = true;
		else if (strcmp(role, "library") == 0)
			lose_files();
		else
			take_role(role);
	}
	return debuginfod_fetch_main(argc, argv);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stand-in for ClickHouse's HTTP interface, in a process of its own. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { STAND_IN_REQUEST_BYTES = 1 << 16 };

struct stand_in_answer {
	const char *status; /* "200 OK"; NULL: none, the connection is closed */
	const void *body;
	size_t size;
};

/* `request` has head and body, and a NUL behind. */
typedef struct stand_in_answer (*stand_in_function)(const char *request, size_t size);

struct stand_in {
	char url[64];
	pid_t pid;
	char *last; /* the last request; shared */
};

static inline size_t stand_in_receive(int fd, char *request)
{
	size_t size = 0, whole = SIZE_MAX;

	while (size < whole && size < STAND_IN_REQUEST_BYTES - 1) {
		ssize_t n = recv(fd, request + size, STAND_IN_REQUEST_BYTES - 1 - size, 0);
		const char *end, *length;

		if (n <= 0)
			break;
		size += (size_t)n;
		request[size] = '\0';
		end = strstr(request, "\r\n\r\n");
		length = strcasestr(request, "\r\nContent-Length:");
		if (end)
			whole = (size_t)(end + 4 - request) +
				(length ? strtoul(length + 17, NULL, 10) : 0);
	}
	return size;
}

static inline void stand_in_serve(int listener, char *request, stand_in_function function)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		const size_t size = stand_in_receive(fd, request);
		const struct stand_in_answer answer = function(request, size);

		if (answer.status)
			(void)dprintf(fd,
				"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
				answer.status, answer.size);
		if (answer.size > 0 && write(fd, answer.body, answer.size) < 0)
			_exit(1);
		(void)close(fd);
	}
}

static inline void stand_in_start(struct stand_in *stand_in, stand_in_function function)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(stand_in->url, sizeof(stand_in->url), "http://127.0.0.1:%u",
		ntohs(address.sin_port));
	stand_in->last = mmap(NULL, STAND_IN_REQUEST_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(stand_in->last != MAP_FAILED);
	stand_in->pid = fork();
	assert_true(stand_in->pid >= 0);
	if (stand_in->pid == 0)
		stand_in_serve(fd, stand_in->last, function);
	assert_int_equal(close(fd), 0);
}

static inline void stand_in_stop(struct stand_in *stand_in)
{
	assert_int_equal(kill(stand_in->pid, SIGKILL), 0);
	assert_int_equal(waitpid(stand_in->pid, NULL, 0), stand_in->pid);
	assert_int_equal(munmap(stand_in->last, STAND_IN_REQUEST_BYTES), 0);
}

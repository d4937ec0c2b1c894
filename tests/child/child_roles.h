/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children of all kinds: each plays the role that its request names. */
#pragma once

#include "child/child_request.h"
#include "sandbox/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_NUMBER = 4, SECOND_NUMBER = 7 };

struct request {
	char role[32];
	char filling[10000];
};

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		(void)pause();
}

static void reply(const void *bytes, size_t size, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	(void)sendmsg(CHILD_SOCKET_NUMBER, &message, MSG_NOSIGNAL);
}

/* Says that it is there, by the descriptor that it was given. */
static void tell_pid(void)
{
	pid_t pid = getpid();

	(void)!write(FIRST_NUMBER, &pid, sizeof(pid));
}

static void play(const char *role)
{
	static char bytes[1000];
	int number = 0;

	(void)sscanf(role, "%*s %d", &number);
	if (strncmp(role, "reply", 5) == 0) {
		reply(bytes, (size_t)number, -1);
	} else if (strncmp(role, "copy", 4) == 0) {
		ssize_t size = pread(FIRST_NUMBER, bytes, 100, 0);

		reply(bytes, (size_t)size, SECOND_NUMBER);
	} else if (strncmp(role, "late", 4) == 0) {
		tell_pid();
		if (read(SECOND_NUMBER, bytes, 1) == 1)
			reply("late", 4, -1);
	} else if (strncmp(role, "linger", 6) == 0) {
		reply("linger", 6, -1);
		sleep_for_ever();
	} else if (strncmp(role, "flood", 5) == 0) {
		for (;;)
			reply("flood", 5, STDIN_FILENO);
	} else if (strncmp(role, "close", 5) == 0) {
		(void)close(CHILD_SOCKET_NUMBER);
		sleep_for_ever();
	} else if (strncmp(role, "sleep", 5) == 0) {
		tell_pid();
		sleep_for_ever();
	} else if (strncmp(role, "signal", 6) == 0) {
		(void)signal(number, SIG_DFL);
		(void)raise(number);
	} else if (strncmp(role, "exit", 4) == 0) {
		_exit(number);
	}
}

static int child_role(int argc, char **argv)
{
	struct request request;

	if (argc == 3)
		_exit(strcmp(argv[2], "dies at once") == 0 ? 42 : 43);
	if (argc != 2 || strcmp(argv[0], "pilotlight") != 0 || strcmp(argv[1], "answer") != 0)
		_exit(90);
	if (sandbox_die_with_parent(CHILD_SOCKET_NUMBER) < 0)
		_exit(91);
	if (child_request_receive(&request, sizeof(request)) < 0)
		_exit(92);
	play(request.role);
	_exit(0);
}

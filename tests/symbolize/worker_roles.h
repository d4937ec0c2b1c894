/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Good and bad workers: each plays the role that the origin of its request names. */
#pragma once

#include "child/child_request.h"
#include "pilotlight/symbol_worker.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEST_DESCRIPTORS = 64 };

static void send_report(const struct pilotlight_symbol_report *report)
{
	(void)send(PILOTLIGHT_WORKER_SOCKET_FD, report, sizeof(*report), MSG_NOSIGNAL);
}

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		(void)pause();
}

static _Noreturn void die_of(int signal_number)
{
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
	_exit(99);
}

static uint64_t descriptor_set(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < TEST_DESCRIPTORS; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ULL << fd;
	return open;
}

/* A good worker, which reports its descriptors and limits. */
static void play_good(
	const struct pilotlight_symbol_request *request, struct pilotlight_symbol_report *report)
{
	char text[64];
	ssize_t size = pread(PILOTLIGHT_WORKER_BINARY_FD, text, sizeof(text), 0);

	if (size > 0 && write(PILOTLIGHT_WORKER_OUTPUT_FD, text, (size_t)size) != size)
		report->error = -errno;
	report->output_bytes = descriptor_set();
	report->scratch_bytes = request->scratch_bytes_max;
	report->reserved = request->memory_bytes_max;
	report->cpu_ns = request->cpu_s_max;
	report->units_failed = environ[0] != NULL;
}

/* Writes its pid to the debug file's descriptor, and sleeps. */
static void play_sleeper(void)
{
	pid_t pid = getpid();

	if (sandbox_die_with_parent(PILOTLIGHT_WORKER_SOCKET_FD) < 0)
		_exit(98);
	if (write(PILOTLIGHT_WORKER_DEBUG_FD, &pid, sizeof(pid)) == sizeof(pid))
		sleep_for_ever();
}

static void play_with_sizes(size_t size, int byte)
{
	static char bytes[16 * 1024];

	memset(bytes, byte, sizeof(bytes));
	(void)send(PILOTLIGHT_WORKER_SOCKET_FD, bytes, size, MSG_NOSIGNAL);
}

static void play_fd_smuggler(struct pilotlight_symbol_report *report)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { report, sizeof(*report) };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	const int fd = PILOTLIGHT_WORKER_OUTPUT_FD;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	(void)sendmsg(PILOTLIGHT_WORKER_SOCKET_FD, &message, MSG_NOSIGNAL);
	sleep_for_ever();
}

static void play_waiter(void)
{
	char byte;

	(void)!read(PILOTLIGHT_WORKER_BINARY_FD, &byte, 1);
}

/* The policy can only be polled. The pool's timeout bounds the wait. */
static void wait_for_policy(int policy)
{
	while (sched_getscheduler(0) != policy)
		(void)usleep(1000);
}

/* Returns the exit status of a worker that sends no report, or -1: send the report. */
static int play(const char *role, const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *report)
{
	int number = 0;

	(void)sscanf(role, "%*s %d", &number);
	if (role[0] == '/' || strncmp(role, "…", strlen("…")) == 0) {
		(void)!write(PILOTLIGHT_WORKER_OUTPUT_FD, role, strlen(role));
	} else if (strncmp(role, "good", 4) == 0) {
		play_good(request, report);
	} else if (strncmp(role, "error", 5) == 0) {
		report->error = -number;
	} else if (strncmp(role, "rank", 4) == 0) {
		report->rank = (uint8_t)number;
	} else if (strncmp(role, "version", 7) == 0) {
		report->version = (uint32_t)number;
	} else if (strncmp(role, "taken", 5) == 0) {
		report->has_taken_debug = 1;
	} else if (strncmp(role, "wait", 4) == 0) {
		play_waiter();
	} else if (strncmp(role, "policy", 6) == 0) {
		wait_for_policy(number);
	} else if (strncmp(role, "hurried", 7) == 0) {
		wait_for_policy(SCHED_IDLE);
		(void)!write(PILOTLIGHT_WORKER_OUTPUT_FD, "idle", 4);
		wait_for_policy(SCHED_OTHER);
	} else if (strncmp(role, "huge", 4) == 0) {
		report->error = ftruncate(PILOTLIGHT_WORKER_OUTPUT_FD, number) < 0 ? -errno : 0;
	} else if (strncmp(role, "linger", 6) == 0) {
		send_report(report);
		sleep_for_ever();
	} else if (strncmp(role, "flood", 5) == 0) {
		for (;;)
			send_report(report);
	} else if (strncmp(role, "sleep", 5) == 0) {
		play_sleeper();
	} else if (strncmp(role, "exit", 4) == 0) {
		return number;
	} else if (strncmp(role, "signal", 6) == 0) {
		die_of(number);
	} else if (strncmp(role, "close", 5) == 0) {
		(void)close(PILOTLIGHT_WORKER_SOCKET_FD);
		sleep_for_ever();
	} else if (strncmp(role, "size", 4) == 0) {
		play_with_sizes((size_t)number, 0xa5);
		sleep_for_ever();
	} else if (strncmp(role, "smuggle", 7) == 0) {
		play_fd_smuggler(report);
	} else {
		return 97;
	}
	return -1;
}

static int worker_role_main(int argc, char **argv)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
	};
	struct pilotlight_symbol_request request;
	int status;

	if (argc != 2 || strcmp(argv[0], "pilotlight") != 0 ||
		child_request_receive(&request, sizeof(request)) < 0 ||
		request.version != PILOTLIGHT_WORKER_VERSION)
		return 96;
	status = play(request.origin, &request, &report);
	if (status >= 0)
		_exit(status);
	send_report(&report);
	_exit(0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines of all kinds, played by the test's own program. It is started as `pilotlight engine
 * ROLES`, a list with commas: the n-th engine of a service plays the n-th role, later ones the last
 * role. The first listening socket carries reports to the test.
 */
#pragma once

#include "pilotlight/capture_message.h"
#include "pilotlight/engine_notice.h"
#include "sandbox/sandbox.h"
#include "supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What an engine finds, and reports to the test. */
struct engine_report {
	uint32_t run; /* from 1 on */
	pid_t pid, session;
	uid_t user;
	gid_t group;
	uint64_t open; /* descriptors, by bit */
	uint64_t blocked, ignored, capabilities;
	uint32_t has_own_variables;
};

static void send_notice(uint32_t kind, const char *text)
{
	struct pilotlight_notice notice = { .version = PILOTLIGHT_NOTICE_VERSION, .kind = kind };

	(void)snprintf(notice.text, sizeof(notice.text), "%s", text);
	(void)send(ENGINE_NOTICE_FD, &notice, sizeof(notice), MSG_NOSIGNAL);
}

static uint64_t open_descriptors(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ULL << fd;
	return open;
}

static uint64_t ignored_signals(void)
{
	struct sigaction action;
	uint64_t ignored = 0;

	for (int number = 1; number < 32; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored |= 1ULL << number;
	return ignored;
}

static uint64_t blocked_signals(void)
{
	uint64_t blocked = 0;
	sigset_t mask;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int number = 1; number < 32; number++)
		if (sigismember(&mask, number))
			blocked |= 1ULL << number;
	return blocked;
}

static uint64_t all_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets) < 0)
		return UINT64_MAX;
	return (uint64_t)(sets[1].effective | sets[1].permitted | sets[1].inheritable) << 32 |
	       (sets[0].effective | sets[0].permitted | sets[0].inheritable);
}

/* Counts the engines in a file, if the environment names one. */
static uint32_t count_runs(void)
{
	const char *path = getenv("ENGINE_RUNS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	uint32_t run = 0;

	if (!path)
		return 1;
	if (fd < 0 || pread(fd, &run, sizeof(run), 0) < 0)
		_exit(90);
	run++;
	if (pwrite(fd, &run, sizeof(run), 0) != sizeof(run))
		_exit(91);
	(void)close(fd);
	return run;
}

static uint32_t send_report(void)
{
	struct engine_report report = {
		.pid = getpid(),
		.session = getsid(0),
		.user = getuid(),
		.group = getgid(),
		.open = open_descriptors(),
		.blocked = blocked_signals(),
		.ignored = ignored_signals(),
		.capabilities = all_capabilities(),
		.has_own_variables = getenv("NOTIFY_SOCKET") || getenv("WATCHDOG_USEC") ||
				     getenv("WATCHDOG_PID") || getenv("LISTEN_FDS"),
	};

	report.run = count_runs();
	(void)send(ENGINE_LISTEN_FD, &report, sizeof(report), MSG_NOSIGNAL);
	return report.run;
}

static int open_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* Becomes ready, answers SIGHUP, and ends on SIGTERM. */
static void play_sound(int signal_fd, bool says_more)
{
	struct signalfd_siginfo info;

	send_notice(PILOTLIGHT_NOTICE_READY, "");
	if (says_more) {
		send_notice(PILOTLIGHT_NOTICE_STATUS, "one\nREADY=1\xff\t\x7f two");
		send_notice(PILOTLIGHT_NOTICE_PROGRESS, "");
	}
	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTERM)
			_exit(PILOTLIGHT_ENGINE_EXIT_DONE);
		send_notice(PILOTLIGHT_NOTICE_RELOADING, "");
		send_notice(PILOTLIGHT_NOTICE_READY, "");
	}
}

/* Blocks all signals but SIGKILL. */
static void play_deaf(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	send_notice(PILOTLIGHT_NOTICE_READY, "");
	for (;;)
		(void)pause();
}

static void send_malformed_notices(void)
{
	struct pilotlight_notice notice = { .version = PILOTLIGHT_NOTICE_VERSION,
		.kind = PILOTLIGHT_NOTICE_PROGRESS };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { &notice, sizeof(notice) };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	const int fd = ENGINE_CAPTURE_FD;
	char large[1024] = { 0 };

	(void)send(ENGINE_NOTICE_FD, &notice, sizeof(notice) - 1, MSG_NOSIGNAL);
	(void)send(ENGINE_NOTICE_FD, large, sizeof(large), MSG_NOSIGNAL);
	notice.version++;
	(void)send(ENGINE_NOTICE_FD, &notice, sizeof(notice), MSG_NOSIGNAL);
	notice.version--;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	(void)sendmsg(ENGINE_NOTICE_FD, &message, MSG_NOSIGNAL);
}

/* Sends more than the supervisor reads, and ends on SIGTERM. */
static void play_flood(int signal_fd)
{
	const struct pilotlight_notice notice = { .version = PILOTLIGHT_NOTICE_VERSION,
		.kind = PILOTLIGHT_NOTICE_STATUS,
		.text = "much" };
	struct signalfd_siginfo info;

	(void)fcntl(signal_fd, F_SETFL, O_NONBLOCK);
	send_notice(PILOTLIGHT_NOTICE_READY, "");
	while (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		(void)send(ENGINE_NOTICE_FD, &notice, sizeof(notice), MSG_NOSIGNAL | MSG_DONTWAIT);
	_exit(PILOTLIGHT_ENGINE_EXIT_DONE);
}

/* Sends both servers a request that they refuse. */
static void ask_the_broker(void)
{
	char answer[64];

	(void)send(ENGINE_BROKER_FD, "nonsense", 8, MSG_NOSIGNAL);
	if (recv(ENGINE_BROKER_FD, answer, sizeof(answer), 0) <= 0)
		_exit(92);
	(void)send(ENGINE_CAPTURE_FD, "nonsense", 8, MSG_NOSIGNAL);
	if (recv(ENGINE_CAPTURE_FD, answer, sizeof(answer), MSG_TRUNC) <= 0)
		_exit(93);
}

/* Asks for a rate that is within the bounds of the messages. */
static void ask_for_much(void)
{
	struct pilotlight_capture_request request = { .version = PILOTLIGHT_CAPTURE_VERSION,
		.operation = PILOTLIGHT_CAPTURE_OPEN,
		.rate_hz = 100,
		.sources = 1 << PILOTLIGHT_SOURCE_CPU };
	struct pilotlight_capture_answer answer;

	(void)send(ENGINE_CAPTURE_FD, &request, sizeof(request), MSG_NOSIGNAL);
	if (recv(ENGINE_CAPTURE_FD, &answer, sizeof(answer), 0) != sizeof(answer))
		_exit(94);
	if (answer.result != -EPERM)
		_exit(95);
}

static void play(const char *role, int signal_fd)
{
	if (strncmp(role, "sound", 5) == 0) {
		play_sound(signal_fd, false);
	} else if (strncmp(role, "talkative", 9) == 0) {
		play_sound(signal_fd, true);
	} else if (strncmp(role, "asks", 4) == 0) {
		ask_the_broker();
		play_sound(signal_fd, false);
	} else if (strncmp(role, "greedy", 6) == 0) {
		ask_for_much();
		play_sound(signal_fd, false);
	} else if (strncmp(role, "malformed", 9) == 0) {
		send_malformed_notices();
		play_sound(signal_fd, false);
	} else if (strncmp(role, "silent", 6) == 0) {
		/* Closes its sockets and goes on. */
		(void)close(ENGINE_BROKER_FD);
		(void)close(ENGINE_CAPTURE_FD);
		send_notice(PILOTLIGHT_NOTICE_READY, "");
		(void)close(ENGINE_NOTICE_FD);
		play_sound(signal_fd, false);
	} else if (strncmp(role, "late", 4) == 0) {
		/* Blocks SIGHUP, and becomes ready, only after a message from the test. */
		char byte;

		(void)recv(ENGINE_LISTEN_FD, &byte, 1, 0);
		play_sound(open_signals(), false);
	} else if (strncmp(role, "flood", 5) == 0) {
		play_flood(signal_fd);
	} else if (strncmp(role, "hang", 4) == 0 || strncmp(role, "naked", 5) == 0) {
		send_notice(PILOTLIGHT_NOTICE_READY, "");
		for (;;)
			(void)pause();
	} else if (strncmp(role, "deaf", 4) == 0) {
		play_deaf();
	} else if (strncmp(role, "crash", 5) == 0) {
		(void)raise(SIGKILL);
	} else if (strncmp(role, "exit", 4) == 0) {
		_exit(atoi(role + 4));
	}
}

static int engine_role_main(int argc, char **argv)
{
	const char *role, *next;
	uint32_t run;
	bool is_open;

	if (argc != 3 || strcmp(argv[0], "pilotlight") != 0 ||
		sandbox_drop_privileges_to(getuid(), getgid()) < 0 ||
		sandbox_die_with_parent(ENGINE_NOTICE_FD) < 0)
		return 96;
	run = send_report();
	role = argv[2];
	for (uint32_t i = 1; i < run && (next = strchr(role, ',')); i++)
		role = next + 1;
	/* These roles block no signal. */
	is_open = strncmp(role, "late", 4) == 0 || strncmp(role, "naked", 5) == 0;
	play(role, is_open ? -1 : open_signals());
	return 97;
}

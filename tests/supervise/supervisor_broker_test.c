/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker is this program again; what is started here is the child that it starts. */
#include "supervise/supervisor.h"

#include "base/cleanup.h"
#include "broker/broker.h"
#include "supervise/role_process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { STOPPED = 42 };

/* What the broker is to this process: the one at the other end. */
static pid_t peer_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
	return peer.pid;
}

/* The one child that there is, without waiting for its end. */
static pid_t only_child(void)
{
	siginfo_t info = { 0 };

	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid;
}

static void a_broker_serves_until_it_is_left(void **state)
{
	_cleanup_(broker_freep) struct broker *broker = NULL;
	_cleanup_close_ int broker_fd = -1, capture_fd = -1, maps_fd = -1;
	const struct broker_process self = { .pid = getpid() };
	struct fault fault = { 0 };
	char bytes[64];
	int status;

	(void)state;
	assert_int_equal(supervisor_start_broker(&broker_fd, &capture_fd, &fault), 0);
	assert_string_equal(fault.text, "");
	assert_int_equal(peer_of(broker_fd), getpid());
	assert_int_equal(only_child(), 0);
	assert_int_equal(broker_connect(broker_fd, &broker), 0);
	broker_fd = -1;
	assert_int_equal(broker_open_maps(broker, &self, &maps_fd), 0);
	assert_true(read(maps_fd, bytes, sizeof(bytes)) > 0);
	/* Of another size than a request has: an answer all the same. */
	assert_int_equal(send(capture_fd, "x", 1, MSG_NOSIGNAL), 1);
	assert_true(recv(capture_fd, bytes, sizeof(bytes), MSG_TRUNC) > 0);
	/* One of them is enough to keep it. */
	(void)close(TAKE_FD(capture_fd));
	(void)close(TAKE_FD(maps_fd));
	assert_int_equal(broker_open_maps(broker, &self, &maps_fd), 0);
	broker_free(TAKE_PTR(broker));
	assert_true(wait(&status) > 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As a terminal does it, to everybody in the foreground. */
static void a_terminals_interrupt_does_not_reach_it(void **state)
{
	_cleanup_(broker_freep) struct broker *broker = NULL;
	_cleanup_close_ int broker_fd = -1, capture_fd = -1, maps_fd = -1;
	const struct broker_process self = { .pid = getpid() };
	sighandler_t before;
	int status;

	(void)state;
	assert_int_equal(setpgid(0, 0), 0);
	assert_int_equal(supervisor_start_broker(&broker_fd, &capture_fd, NULL), 0);
	before = signal(SIGINT, SIG_IGN);
	assert_int_equal(kill(0, SIGINT), 0);
	(void)signal(SIGINT, before);
	assert_int_equal(broker_connect(broker_fd, &broker), 0);
	broker_fd = -1;
	assert_int_equal(broker_open_maps(broker, &self, &maps_fd), 0);
	broker_free(TAKE_PTR(broker));
	(void)close(TAKE_FD(capture_fd));
	assert_true(wait(&status) > 0);
	assert_true(WIFEXITED(status));
}

static void it_cannot_be_started_by_hand(void **state)
{
	char *const arguments[] = { "pilotlight", "broker", NULL };
	const struct role_process_options options = {
		.arguments = arguments,
		.environment = environ,
		.keeps_privileges = true,
	};
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(role_process_start(&options, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void a_role_that_cannot_begin_says_why(void **state)
{
	char *const arguments[] = { "pilotlight", NULL };
	struct role_process_options options = {
		.program = "/nonexistent",
		.arguments = arguments,
		.environment = environ,
		.user = getuid(),
		.group = getgid(),
	};
	const struct role_descriptor closed = { .fd = 1000, .number = 3 };
	pid_t pid = STOPPED;

	(void)state;
	assert_int_equal(role_process_start(&options, &pid), -ENOENT);
	options.program = "/etc/passwd";
	assert_int_equal(role_process_start(&options, &pid), -EACCES);
	options.program = NULL;
	options.descriptors = &closed;
	options.descriptor_count = 1;
	assert_int_equal(role_process_start(&options, &pid), -EBADF);
	assert_int_equal(pid, STOPPED);
	/* None of them is left. */
	assert_int_equal(wait(NULL), -1);
	assert_int_equal(errno, ECHILD);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broker_serves_until_it_is_left),
		cmocka_unit_test(a_terminals_interrupt_does_not_reach_it),
		cmocka_unit_test(it_cannot_be_started_by_hand),
		cmocka_unit_test(a_role_that_cannot_begin_says_why),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "broker") == 0)
		return supervisor_serve_main(argc - 1, argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test is the broker and its client. Another process plays systemd: for each connection it
 * executes this program as the service, which executes it once more as the child.
 */
#include "broker/child_service.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker_children.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { CONNECTION = 3, DEADLINE_MS = 60000 };

static char folder[] = "/tmp/child_service_test.XXXXXX", path[64], stale_path[64], program[512];
static pid_t manager;

/* --- systemd, the service, the child ------------------------------------------------------------
 */

static int listen_at(const char *where)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", where);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, 8) < 0)
		return -1;
	return fd;
}

/* Descriptor 3 and the standard ones are all that a service gets. */
static _Noreturn void become_service(int fd)
{
	if (fd != CONNECTION && dup2(fd, CONNECTION) < 0)
		_exit(90);
	if (fcntl(CONNECTION, F_SETFD, 0) < 0 || close_range(CONNECTION + 1, ~0U, 0) < 0)
		_exit(91);
	(void)execl(program, "pilotlightd", "fetch-service", NULL);
	_exit(92);
}

static _Noreturn void manage(int listen_fd)
{
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && fork() == 0) {
			(void)signal(SIGCHLD, SIG_DFL);
			become_service(fd);
		}
		(void)close(fd);
	}
}

static int child_role(int argc, char **argv)
{
	char role[32] = "", text[128];

	if (recv(CONNECTION, role, sizeof(role) - 1, 0) <= 0)
		return 99;
	if (strcmp(role, "exit") == 0)
		return 7;
	(void)snprintf(text, sizeof(text), "%s %s %s %d, user %s, parent is %s", argv[0], argv[1],
		argc > 2 ? argv[2] : "none", argc, geteuid() == 0 ? "root" : "another",
		getppid() == manager ? "the manager" : "a service");
	(void)send(CONNECTION, text, strlen(text), 0);
	for (;;)
		(void)pause();
}

/* --- the tests ----------------------------------------------------------------------------------
 */

static void open_pair(int *ret_ours, int *ret_others)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*ret_ours = pair[0];
	*ret_others = pair[1];
}

/* Starts a child in the service; `fds` are the client's socket and its socket for the end. */
static void start(int fds[2])
{
	int others[CHILD_SERVICE_FDS] = { 0 };

	open_pair(&fds[0], &others[0]);
	open_pair(&fds[1], &others[1]);
	assert_int_equal(child_service_start(path, BROKER_CHILD_SYMBOL_FETCH, others), 0);
	(void)close(others[0]);
	(void)close(others[1]);
}

static void close_both(const int fds[2])
{
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static ssize_t wait_for_message(int fd, void *bytes, size_t room)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&waited, 1, DEADLINE_MS), 1);
	return recv(fd, bytes, room, MSG_DONTWAIT);
}

static struct pilotlight_child_end wait_for_end(const int fds[2])
{
	struct pilotlight_child_end end;

	assert_int_equal(wait_for_message(fds[1], &end, sizeof(end)), sizeof(end));
	return end;
}

static void say(const int fds[2], const char *role)
{
	send_message(fds[0], role, strlen(role), -1, 0);
}

static void a_child_starts_in_the_service(void **state)
{
	char text[128] = "";
	int fds[2];

	start(fds);
	say(fds, "describe");
	assert_true(wait_for_message(fds[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(
		text, "pilotlight symbol-fetch --in-service 3, user another, parent is a service");
	close_both(fds);
}

static void its_end_is_reported(void **state)
{
	struct pilotlight_child_end end;
	char byte;
	int fds[2];

	start(fds);
	say(fds, "exit");
	end = wait_for_end(fds);
	assert_int_equal(end.exit_status, 7);
	assert_int_equal(end.signal, 0);
	/* Then the service ends, too. */
	assert_int_equal(wait_for_message(fds[1], &byte, 1), 0);
	close_both(fds);
}

static void the_client_kills_it(void **state)
{
	char text[128];
	int fds[2];

	start(fds);
	say(fds, "sleep");
	assert_true(wait_for_message(fds[0], text, sizeof(text)) > 0);
	assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
	assert_int_equal(wait_for_end(fds).signal, SIGKILL);
	close_both(fds);
	start(fds);
	say(fds, "sleep");
	assert_true(wait_for_message(fds[0], text, sizeof(text)) > 0);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(wait_for_message(fds[0], text, sizeof(text)), 0);
	(void)close(fds[0]);
}

static void a_missing_service_is_reported(void **state)
{
	const int fds[CHILD_SERVICE_FDS] = { STDIN_FILENO, STDIN_FILENO };
	size_t descriptors = open_descriptors();
	char too_long[200];

	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(
		child_service_start("/nonexistent", BROKER_CHILD_SYMBOL_FETCH, fds), -ENETDOWN);
	assert_int_equal(
		child_service_start(stale_path, BROKER_CHILD_SYMBOL_FETCH, fds), -ENETDOWN);
	assert_int_equal(
		child_service_start(too_long, BROKER_CHILD_SYMBOL_FETCH, fds), -ENAMETOOLONG);
	assert_int_equal(
		child_service_start("/dev/null", BROKER_CHILD_SYMBOL_FETCH, fds), -ENETDOWN);
	assert_int_equal(open_descriptors(), descriptors);
}

static int connect_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The service ends without a child: it closes the descriptors that came, and the connection. */
static void malformed_messages_start_nothing(void **state)
{
	static const struct {
		struct child_service_request request;
		size_t bytes, fds;
	} cases[] = {
		{ { CHILD_SERVICE_VERSION + 1, BROKER_CHILD_SYMBOL_FETCH }, 8, 2 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILD_SYMBOL_WORKER }, 8, 2 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILDREN }, 8, 2 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILD_SYMBOL_FETCH }, 7, 2 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILD_SYMBOL_FETCH }, 8, 0 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILD_SYMBOL_FETCH }, 8, 1 },
		{ { CHILD_SERVICE_VERSION, BROKER_CHILD_SYMBOL_FETCH }, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int ours, others, fd = connect_here();
		char byte;

		open_pair(&ours, &others);
		if (cases[i].bytes > 0)
			send_message(fd, &cases[i].request, cases[i].bytes, others, cases[i].fds);
		else
			assert_int_equal(shutdown(fd, SHUT_WR), 0);
		(void)close(others);
		assert_true(wait_for_message(fd, &byte, 1) <= 0);
		assert_int_equal(wait_for_message(ours, &byte, 1), 0);
		(void)close(ours);
		(void)close(fd);
	}
}

static void a_broker_leaves_fetchers_to_the_service(void **state)
{
	const struct broker_options options = { .fetch_socket = path };
	struct broker_children children;
	size_t descriptors = open_descriptors();
	char text[128] = "";
	int fds[2];

	assert_int_equal(broker_children_init(&children, &options, -1), 0);
	assert_int_equal(broker_children_start(&children, BROKER_CHILD_SYMBOL_FETCH, fds), 0);
	assert_false(broker_children_are_running(&children));
	assert_int_equal(children.counters.started, 1);
	say(fds, "describe");
	assert_true(wait_for_message(fds[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "--in-service"));
	close_both(fds);
	broker_children_done(&children);
	assert_int_equal(open_descriptors(), descriptors);
}

static void a_broker_counts_a_missing_service(void **state)
{
	const struct broker_options options = { .fetch_socket = stale_path };
	struct broker_children children;
	size_t descriptors = open_descriptors();
	int fds[2] = { -7, -7 };

	assert_int_equal(broker_children_init(&children, &options, -1), 0);
	assert_int_equal(
		broker_children_start(&children, BROKER_CHILD_SYMBOL_FETCH, fds), -ENETDOWN);
	assert_int_equal(fds[0], -7);
	assert_int_equal(children.counters.refused, 1);
	assert_int_equal(children.counters.without_service[BROKER_CHILD_SYMBOL_FETCH], 1);
	assert_int_equal(open_descriptors(), descriptors);
	broker_children_done(&children);
}

/* A service that sends hands the configuration on. */
static void a_sender_brings_its_configuration(void **state)
{
	const struct child_service_request request = { CHILD_SERVICE_VERSION,
		BROKER_CHILD_SINK_SEND };
	int pair[2], fds[CHILD_SERVICE_FDS], file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (size_t count = 2; count <= 4; count++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		send_message(pair[0], &request, sizeof(request), file, count);
		assert_int_equal(child_service_receive(pair[1], BROKER_CHILD_SINK_SEND, fds), 0);
		assert_int_equal(fds[CHILD_SERVICE_SOCKETS] > 0, count > 2);
		for (size_t i = 0; i < CHILD_SERVICE_FDS; i++)
			if (fds[i] > 0)
				assert_int_equal(close(fds[i]), 0);
		close_both(pair);
	}
	assert_int_equal(close(file), 0);
}

static int init_and_done(const struct broker_options *options)
{
	struct broker_children children;
	int r = broker_children_init(&children, options, -1);

	broker_children_done(&children);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	const struct broker_options options = { .program = "/bin/false", .fetch_socket = path };

	assert_int_equal(FAIL_EACH_ALLOCATION(init_and_done(&options), -ENOMEM, true, 0), 2);
}

/* However few numbers there are left, either it starts or it leaves nothing. */
static void without_descriptors_nothing_leaks(void **state)
{
	const struct broker_options options = { .fetch_socket = path };
	struct broker_children children;
	size_t descriptors = open_descriptors();
	int fds[2], more, r = -EMFILE;

	assert_int_equal(broker_children_init(&children, &options, -1), 0);
	for (more = 0; r < 0; more++) {
		struct rlimit before = limit_descriptors(more);

		r = broker_children_start(&children, BROKER_CHILD_SYMBOL_FETCH, fds);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(r == 0 || r == -EMFILE);
		if (r < 0)
			assert_int_equal(open_descriptors(), descriptors);
	}
	assert_true(more >= 5);
	close_both(fds);
	broker_children_done(&children);
}

static int set_up(void **state)
{
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int listen_fd, stale_fd;

	if (size < 0 || !mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(stale_path, sizeof(stale_path), "%s/stale", folder);
	listen_fd = listen_at(path);
	stale_fd = listen_at(stale_path);
	if (listen_fd < 0 || stale_fd < 0)
		return -1;
	(void)close(stale_fd);
	manager = fork();
	if (manager == 0)
		manage(listen_fd);
	(void)close(listen_fd);
	return manager > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)kill(manager, SIGKILL);
	(void)waitpid(manager, NULL, 0);
	(void)unlink(path);
	(void)unlink(stale_path);
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_starts_in_the_service),
		cmocka_unit_test(its_end_is_reported),
		cmocka_unit_test(the_client_kills_it),
		cmocka_unit_test(a_missing_service_is_reported),
		cmocka_unit_test(malformed_messages_start_nothing),
		cmocka_unit_test(a_broker_leaves_fetchers_to_the_service),
		cmocka_unit_test(a_broker_counts_a_missing_service),
		cmocka_unit_test(a_sender_brings_its_configuration),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(without_descriptors_nothing_leaks),
	};

	if (argc > 1 && strcmp(argv[1], "fetch-service") == 0)
		return child_service_main(argc - 1, argv + 1);
	if (argc > 1)
		return child_role(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

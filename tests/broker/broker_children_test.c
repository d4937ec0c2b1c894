/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test is the client. Its children are this program executed again; the first message on the
 * socket selects what each does.
 */
#include "broker/broker_children.h"

#include "base/cleanup.h"
#include "broker/child_kind.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { SOCKET_NUMBER = 3, TEXT_BYTES = 512 };

/* --- the child -------------------------------------------------------------------------------- */

static bool is_null_device(int fd)
{
	struct stat file, device;

	return fstat(fd, &file) == 0 && stat("/dev/null", &device) == 0 &&
	       file.st_rdev == device.st_rdev && S_ISCHR(file.st_mode);
}

static bool has_ambient_capabilities(void)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) > 0)
			return true;
	return false;
}

/* The child's arguments. */
static void describe(char *text, int argc, char **argv)
{
	struct sigaction action;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	size_t count = open_descriptors() - 3; /* beside "." and "..", and the folder itself */
	sigset_t blocked;

	(void)sigaction(SIGPIPE, NULL, &action);
	(void)sigprocmask(SIG_SETMASK, NULL, &blocked);
	(void)getsockopt(SOCKET_NUMBER, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	(void)snprintf(text, TEXT_BYTES, "%s %s %d|%zu open, %s|session %s|%s|%s|%s|%s", argv[0],
		argv[1], argc, count,
		is_null_device(0) && is_null_device(1) && is_null_device(2) ? "null" : "not null",
		getsid(0) == getpid() ? "own" : "other",
		action.sa_handler == SIG_DFL && !sigismember(&blocked, SIGTERM) ? "default"
										: "signals",
		peer.pid == getppid() ? "parent" : "stranger",
		getenv("no_proxy") ? getenv("no_proxy") : "no proxy",
		getenv("SECRET") || has_ambient_capabilities() ? "more" : "nothing else");
}

static int child_role(int argc, char **argv)
{
	char role[32] = "", text[TEXT_BYTES];
	int number = 0;

	if (recv(SOCKET_NUMBER, role, sizeof(role) - 1, 0) <= 0)
		return 99;
	(void)sscanf(role, "%*s %d", &number);
	if (strncmp(role, "exit", 4) == 0)
		return number;
	if (strncmp(role, "signal", 6) == 0)
		(void)raise(number);
	if (strncmp(role, "describe", 8) == 0) {
		describe(text, argc, argv);
		(void)send(SOCKET_NUMBER, text, strlen(text), 0);
		return 0;
	}
	if (strcmp(role, "configuration") == 0) {
		const char *path = getenv("PILOTLIGHT_CONFIG");
		int fd = path ? open(path, O_RDONLY) : -1;
		ssize_t size = read(fd, text, sizeof(text));

		(void)send(SOCKET_NUMBER, text, size > 0 ? (size_t)size : 0, 0);
		return 0;
	}
	(void)send(SOCKET_NUMBER, "here", 4, 0);
	for (;;)
		(void)pause();
}

/* --- the tests -------------------------------------------------------------------------------- */

struct setting {
	size_t descriptors; /* that were open before */
	int epoll_fd;
	struct broker_children children;
};

static int set_up_with(void **state, const struct broker_options *options)
{
	struct setting *setting = calloc(1, sizeof(*setting));

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	setting->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(setting->epoll_fd >= 0);
	assert_int_equal(broker_children_init(&setting->children, options, setting->epoll_fd), 0);
	*state = setting;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, NULL);
}

static int set_up_hasty(void **state)
{
	const struct broker_options options = { .child_timeout_ns = 50000000 };

	return set_up_with(state, &options);
}

/* No child is left, and nothing is open. */
static int tear_down(void **state)
{
	struct setting *setting = *state;

	broker_children_done(&setting->children);
	(void)close(setting->epoll_fd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static void start(struct setting *setting, enum broker_child kind, const char *role, int fds[2])
{
	assert_int_equal(broker_children_start(&setting->children, kind, fds), 0);
	if (role)
		send_message(fds[0], role, strlen(role), -1, 0);
}

static void close_both(const int fds[2])
{
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
}

static bool is_told(int end_fd, struct pilotlight_child_end *ret_end)
{
	ssize_t size = recv(end_fd, ret_end, sizeof(*ret_end), MSG_DONTWAIT | MSG_TRUNC);

	assert_true(size == sizeof(*ret_end) || (size < 0 && errno == EAGAIN));
	return size > 0;
}

static void run_once(struct setting *setting)
{
	struct pollfd waited = { .fd = setting->epoll_fd, .events = POLLIN };

	assert_int_equal(poll(&waited, 1, -1), 1);
	broker_children_run(&setting->children);
}

static struct pilotlight_child_end run_until_told(struct setting *setting, int end_fd)
{
	struct pilotlight_child_end end;
	char byte;

	while (!is_told(end_fd, &end))
		run_once(setting);
	/* Once. */
	assert_int_equal(recv(end_fd, &byte, 1, MSG_DONTWAIT), 0);
	return end;
}

static size_t running(const struct setting *setting)
{
	size_t count = 0;

	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		count += setting->children.processes[i].pid > 0;
	return count;
}

static void assert_counted(const struct setting *setting, uint64_t started, uint64_t killed)
{
	assert_int_equal(setting->children.counters.started, started);
	assert_int_equal(setting->children.counters.killed, killed);
}

static void assert_described(struct setting *setting, enum broker_child kind, const char *expected)
{
	char text[TEXT_BYTES] = "";
	int fds[2];

	start(setting, kind, "describe", fds);
	assert_true(recv(fds[0], text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, expected);
	assert_int_equal(run_until_told(setting, fds[1]).exit_status, 0);
	close_both(fds);
}

/* It is killed with its parent by sandbox_die_with_parent(), to which its peer is its parent. */
static void a_child_gets_what_it_needs_and_nothing_else(void **state)
{
	struct setting *setting = *state;
	int careless[] = { fcntl(setting->epoll_fd, F_DUPFD, 20), dup(setting->epoll_fd) };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	sigset_t term;

	assert_int_equal(setenv("no_proxy", "a b=c", 1), 0);
	assert_int_equal(setenv("SECRET", "the broker's", 1), 0);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, NULL), 0);
	assert_int_equal(sigaction(SIGPIPE, &ignore, &before), 0);
	assert_described(setting, BROKER_CHILD_SYMBOL_WORKER,
		"pilotlight symbol-worker 2|4 open, null|session own|default|parent|no proxy|"
		"nothing else");
	assert_described(setting, BROKER_CHILD_SYMBOL_FETCH,
		"pilotlight symbol-fetch 2|4 open, null|session own|default|parent|a b=c|"
		"nothing else");
	assert_described(setting, BROKER_CHILD_ANSWER,
		"pilotlight answer 2|4 open, null|session own|default|parent|no proxy|nothing "
		"else");
	assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &term, NULL), 0);
	for (size_t i = 0; i < 2; i++)
		(void)close(careless[i]);
}

/* No other child does, and what the environment of this process says does not count. */
static void a_sender_gets_the_configuration(void **state)
{
	int fd = memfd_create("configuration", MFD_CLOEXEC), fds[2];
	const struct broker_options options = { .config_fd = fd };
	char text[TEXT_BYTES] = "";
	struct setting *setting;

	assert_int_equal(write(fd, "[sink one]", 10), 10);
	assert_int_equal(setenv("PILOTLIGHT_CONFIG", "/dev/null", 1), 0);
	assert_int_equal(set_up_with((void **)&setting, &options), 0);
	/* The next engine has another one. */
	assert_int_equal(close(fd), 0);
	setting->descriptors--;
	start(setting, BROKER_CHILD_SINK_SEND, "configuration", fds);
	assert_int_equal(recv(fds[0], text, sizeof(text) - 1, 0), 10);
	assert_string_equal(text, "[sink one]");
	(void)run_until_told(setting, fds[1]);
	close_both(fds);
	assert_described(setting, BROKER_CHILD_SYMBOL_WORKER,
		"pilotlight symbol-worker 2|4 open, null|session own|default|parent|no proxy|"
		"nothing else");
	assert_int_equal(unsetenv("PILOTLIGHT_CONFIG"), 0);
	assert_int_equal(tear_down((void **)&setting), 0);
}

static void an_environment_is_bounded(void **state)
{
	char *many[CHILD_KIND_VARIABLES_MAX + 4], **before = environ;
	char *variables[CHILD_KIND_VARIABLES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; i < CHILD_KIND_VARIABLES_MAX + 3; i++)
		many[i] = i % 2 == 0 ? "no_proxy=a" : "NO_PROXY=b";
	many[CHILD_KIND_VARIABLES_MAX + 3] = NULL;
	environ = many;
	child_kind_environment(BROKER_CHILD_SYMBOL_FETCH, variables);
	while (variables[count])
		count++;
	assert_int_equal(count, CHILD_KIND_VARIABLES_MAX);
	many[0] = "no_proxy";
	many[1] = "no_proxyx=a";
	many[2] = NULL;
	child_kind_environment(BROKER_CHILD_SYMBOL_FETCH, variables);
	assert_null(variables[0]);
	environ = NULL;
	child_kind_environment(BROKER_CHILD_SYMBOL_FETCH, variables);
	assert_null(variables[0]);
	environ = before;
}

static void ends_are_reported(void **state)
{
	static const struct {
		const char *role;
		int signal, exit_status;
	} cases[] = { { "exit 0", 0, 0 }, { "exit 7", 0, 7 }, { "signal 15", SIGTERM, 0 },
		{ "signal 9", SIGKILL, 0 } };
	struct setting *setting = *state;
	int fds[2];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pilotlight_child_end end;

		start(setting, BROKER_CHILD_ANSWER, cases[i].role, fds);
		end = run_until_told(setting, fds[1]);
		assert_int_equal(end.signal, cases[i].signal);
		assert_int_equal(end.exit_status, cases[i].exit_status);
		assert_true(end.cpu_ns > 0);
		assert_int_equal(running(setting), 0);
		close_both(fds);
	}
	assert_counted(setting, 4, 0);
}

/* Closing the child's socket does not kill the child: the child sees the end of file. */
static void a_child_outlives_its_socket(void **state)
{
	struct setting *setting = *state;
	int fds[2];

	start(setting, BROKER_CHILD_ANSWER, NULL, fds);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(run_until_told(setting, fds[1]).exit_status, 99);
	assert_int_equal(close(fds[1]), 0);
	assert_counted(setting, 1, 0);
}

static void await_child(const int fds[2])
{
	char text[8];

	assert_int_equal(recv(fds[0], text, sizeof(text), 0), 4);
}

static void a_client_kills_by_shutting_down(void **state)
{
	struct setting *setting = *state;
	int fds[2];

	start(setting, BROKER_CHILD_ANSWER, "sleep", fds);
	await_child(fds);
	assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
	assert_int_equal(run_until_told(setting, fds[1]).signal, SIGKILL);
	assert_counted(setting, 1, 1);
	close_both(fds);
}

static void any_other_message_kills(void **state)
{
	struct setting *setting = *state;
	char bytes[1000] = "";
	int fds[2];

	start(setting, BROKER_CHILD_ANSWER, "sleep", fds);
	await_child(fds);
	send_message(fds[1], bytes, sizeof(bytes), setting->epoll_fd, PASSED_FDS_MAX);
	assert_int_equal(run_until_told(setting, fds[1]).signal, SIGKILL);
	assert_counted(setting, 1, 1);
	close_both(fds);
}

static void send_word(const int fds[2], uint8_t word)
{
	send_message(fds[1], &word, sizeof(word), -1, 0);
}

static void a_client_sets_the_priority_of_a_child(void **state)
{
	struct setting *setting = *state;
	const struct sched_param parameters = { 0 };
	int fds[2], policy = sched_getscheduler(0);
	pid_t pid;

	start(setting, BROKER_CHILD_ANSWER, "sleep", fds);
	await_child(fds);
	pid = setting->children.processes[0].pid;
	assert_int_equal(sched_getscheduler(pid), policy);
	send_word(fds, PILOTLIGHT_CHILD_IDLE);
	run_once(setting);
	assert_int_equal(sched_getscheduler(pid), SCHED_IDLE);
	send_word(fds, PILOTLIGHT_CHILD_NORMAL);
	run_once(setting);
	/* Without privilege it cannot be taken back. */
	if (sched_getscheduler(pid) != SCHED_OTHER)
		assert_int_equal(sched_setscheduler(pid, SCHED_OTHER, &parameters), -1);
	assert_int_equal(running(setting), 1);
	send_word(fds, PILOTLIGHT_CHILD_NORMAL + 1);
	assert_int_equal(run_until_told(setting, fds[1]).signal, SIGKILL);
	assert_counted(setting, 1, 1);
	close_both(fds);
	start(setting, BROKER_CHILD_ANSWER, "sleep", fds);
	send_word(fds, 0);
	assert_int_equal(run_until_told(setting, fds[1]).signal, SIGKILL);
	close_both(fds);
}

static void a_client_kills_by_closing(void **state)
{
	struct setting *setting = *state;
	int fds[2];

	start(setting, BROKER_CHILD_ANSWER, "sleep", fds);
	await_child(fds);
	assert_int_equal(close(fds[1]), 0);
	while (running(setting) > 0)
		run_once(setting);
	assert_counted(setting, 1, 1);
	assert_int_equal(close(fds[0]), 0);
}

static void a_child_is_killed_at_its_timeout(void **state)
{
	struct setting *setting = *state;
	int fds[2];

	start(setting, BROKER_CHILD_ANSWER, NULL, fds);
	assert_int_equal(run_until_told(setting, fds[1]).signal, SIGKILL);
	assert_counted(setting, 1, 1);
	close_both(fds);
}

static void the_number_of_children_is_bounded(void **state)
{
	struct setting *setting = *state;
	int fds[BROKER_CHILDREN_MAX][2], more[2] = { -7, -7 };

	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		start(setting, BROKER_CHILD_SYMBOL_WORKER, "sleep", fds[i]);
	assert_int_equal(
		broker_children_start(&setting->children, BROKER_CHILD_ANSWER, more), -EAGAIN);
	assert_int_equal(more[0], -7);
	assert_int_equal(setting->children.counters.refused, 1);
	await_child(fds[3]);
	close_both(fds[3]);
	while (running(setting) == BROKER_CHILDREN_MAX)
		run_once(setting);
	start(setting, BROKER_CHILD_ANSWER, "exit 3", fds[3]);
	assert_int_equal(run_until_told(setting, fds[3][1]).exit_status, 3);
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		close_both(fds[i]);
	/* The others are left to tear_down(). */
	assert_int_equal(running(setting), BROKER_CHILDREN_MAX - 1);
}

static void only_known_kinds_are_started(void **state)
{
	static const uint32_t kinds[] = { BROKER_CHILDREN, 256, UINT32_MAX };
	struct setting *setting = *state;
	int fds[2];

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(broker_children_start(&setting->children, kinds[i], fds), -EINVAL);
	assert_counted(setting, 0, 0);
	assert_int_equal(setting->children.counters.refused, 3);
}

static void a_failed_start_is_reported(void **state)
{
	const struct broker_options options = { .program = "/nonexistent/program" };
	struct broker_children children;
	struct setting *setting = *state;
	int fds[2] = { -7, -7 };
	size_t descriptors;

	assert_int_equal(broker_children_init(&children, &options, setting->epoll_fd), 0);
	descriptors = open_descriptors();
	assert_int_equal(broker_children_start(&children, BROKER_CHILD_ANSWER, fds), -ENOENT);
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(children.counters.refused, 1);
	broker_children_done(&children);
	assert_int_equal(fds[1], -7);
}

/* The sockets of a child that cannot start are closed, which its client sees. */
static void a_failed_adoption_closes_the_sockets(void **state)
{
	const struct broker_options options = { .program = "/nonexistent/program" };
	static const int errors[] = { -ENOENT, -EAGAIN };
	struct broker_children children;
	struct setting *setting = *state;
	size_t descriptors;

	assert_int_equal(broker_children_init(&children, &options, setting->epoll_fd), 0);
	descriptors = open_descriptors();
	for (size_t i = 0; i < 2; i++) {
		int sockets[2], ends[2], fds[2];
		char byte;

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		fds[0] = sockets[1];
		fds[1] = ends[1];
		for (size_t slot = 0; slot < BROKER_CHILDREN_MAX; slot++)
			children.processes[slot].pid = errors[i] == -EAGAIN ? getpid() : 0;
		assert_int_equal(broker_children_adopt(&children, BROKER_CHILD_SYMBOL_FETCH, fds),
			errors[i]);
		assert_int_equal(recv(sockets[0], &byte, 1, MSG_DONTWAIT), 0);
		assert_int_equal(recv(ends[0], &byte, 1, MSG_DONTWAIT), 0);
		(void)close(sockets[0]);
		(void)close(ends[0]);
		assert_int_equal(open_descriptors(), descriptors);
	}
	for (size_t slot = 0; slot < BROKER_CHILDREN_MAX; slot++)
		children.processes[slot].pid = 0;
	broker_children_done(&children);
}

/* However few numbers there are left, either it starts or it leaves nothing. */
static void without_descriptors_nothing_leaks(void **state)
{
	struct setting *setting = *state;
	size_t descriptors = open_descriptors();
	int fds[2], more, r = -EMFILE;

	for (more = 0; r < 0; more++) {
		struct rlimit before = limit_descriptors(more);

		r = broker_children_start(&setting->children, BROKER_CHILD_ANSWER, fds);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(r == 0 || r == -EMFILE);
		if (r < 0)
			assert_int_equal(open_descriptors(), descriptors);
	}
	assert_true(more >= 6);
	close_both(fds);
}

static void a_failing_allocation_is_reported(void **state)
{
	const struct broker_options options = { .program = "/bin/false" };
	struct broker_children children;

	fail_allocation(0);
	assert_int_equal(broker_children_init(&children, &options, -1), -ENOMEM);
	assert_true(allocation_failed());
	broker_children_done(&children);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_gets_what_it_needs_and_nothing_else),
		cmocka_unit_test(a_sender_gets_the_configuration),
		cmocka_unit_test(an_environment_is_bounded),
		TEST(ends_are_reported),
		TEST(a_child_outlives_its_socket),
		TEST(a_client_kills_by_shutting_down),
		TEST(any_other_message_kills),
		TEST(a_client_kills_by_closing),
		TEST(a_client_sets_the_priority_of_a_child),
		cmocka_unit_test_setup_teardown(
			a_child_is_killed_at_its_timeout, set_up_hasty, tear_down),
		TEST(the_number_of_children_is_bounded),
		TEST(only_known_kinds_are_started),
		TEST(a_failed_start_is_reported),
		TEST(a_failed_adoption_closes_the_sockets),
		TEST(without_descriptors_nothing_leaks),
		cmocka_unit_test(a_failing_allocation_is_reported),
	};

	if (argc > 1)
		return child_role(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

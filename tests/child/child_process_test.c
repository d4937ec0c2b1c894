/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children of all kinds, started by this process and by a broker: each is this program anew, and
 * plays the role that its request names.
 */
#include "child/child_process.h"

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker_socket.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/served_broker.h"
#include "tests/child/child_roles.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define LONG_NS (100 * (uint64_t)NSEC_PER_SEC)

static struct placed_broker placed;
static struct broker *broker; /* NULL: children are started here */
static size_t descriptors;    /* that were open before */

static int set_up_here(void **state)
{
	descriptors = open_descriptors();
	return 0;
}

static int tear_down_here(void **state)
{
	assert_int_equal(open_descriptors(), descriptors);
	return 0;
}

static int set_up_broker(void **state)
{
	placed_broker_start(&placed, BROKER_SERVED, NULL);
	broker = placed.broker;
	return set_up_here(state);
}

/* Neither a child nor a descriptor is left over. */
static int tear_down_broker(void **state)
{
	(void)tear_down_here(state);
	broker = NULL;
	placed_broker_stop(&placed);
	return 0;
}

/* If the test has killed it. */
static int tear_down_dead_broker(void **state)
{
	broker_free(broker);
	broker = NULL;
	assert_int_equal(open_descriptors(), placed.descriptors);
	return waitpid(placed.server, NULL, 0) == placed.server ? 0 : -1;
}

static struct request request_of(const char *role)
{
	struct request request = { .role = "" };

	strcpy(request.role, role);
	return request;
}

static struct child_process *start_with(
	const char *role, int first_fd, int second_fd, uint64_t timeout_ns, bool accepts_fd)
{
	const struct request request = request_of(role);
	const struct child_descriptor passed[] = {
		{ second_fd, SECOND_NUMBER },
		{ first_fd, FIRST_NUMBER },
	};
	const struct child_process_options options = {
		.broker = broker,
		.kind = BROKER_CHILD_ANSWER,
		.descriptors = passed,
		.descriptor_count = ARRAY_SIZE(passed),
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = timeout_ns,
		.accepts_fd = accepts_fd,
	};
	struct child_process *child;

	assert_int_equal(child_process_start(&options, &child), 0);
	assert_int_equal(child_process_id(child) > 0, !broker || !broker_is_remote(broker));
	return child;
}

static struct child_process_end wait_for(struct child_process *child)
{
	struct pollfd waited = { .fd = child_process_poll_fd(child), .events = POLLIN };
	struct child_process_end end;

	do
		assert_int_equal(poll(&waited, 1, -1), 1);
	while (child_process_finish(child, &end) < 0);
	child_process_free(child);
	return end;
}

static struct child_process_end run(const char *role)
{
	return wait_for(start_with(role, -1, -1, LONG_NS, false));
}

static int text_file(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void a_child_answers(void **state)
{
	int first_fd = text_file("some text"), second_fd = text_file("other text");
	struct child_process_end end;
	char text[16] = "";

	end = wait_for(start_with("copy", first_fd, second_fd, LONG_NS, true));
	assert_int_equal(end.reply_bytes, 9);
	assert_memory_equal(end.reply, "some text", 9);
	assert_false(end.has_timed_out);
	assert_true(end.cpu_ns > 0 && end.cpu_ns < LONG_NS);
	assert_int_equal(pread(end.reply_fd, text, sizeof(text), 0), 10);
	assert_string_equal(text, "other text");
	assert_int_equal(fcntl(end.reply_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(end.reply_fd), 0);
	/* An unrequested descriptor is not accepted. */
	end = wait_for(start_with("copy", first_fd, second_fd, LONG_NS, false));
	assert_int_equal(end.reply_bytes, 9);
	assert_int_equal(end.reply_fd, -1);
	assert_int_equal(close(first_fd), 0);
	assert_int_equal(close(second_fd), 0);
}

/* An empty message looks like end-of-file, but its descriptor is received. */
static void an_empty_answer_carries_a_descriptor(void **state)
{
	int first_fd = text_file(""), second_fd = text_file("other text");
	struct child_process_end end =
		wait_for(start_with("copy", first_fd, second_fd, LONG_NS, true));

	assert_int_equal(end.reply_bytes, 0);
	assert_true(end.reply_fd >= 0);
	assert_int_equal(close(end.reply_fd), 0);
	assert_int_equal(close(first_fd), 0);
	assert_int_equal(close(second_fd), 0);
}

static void ends_are_reported(void **state)
{
	static const struct {
		const char *role;
		int signal, exit_status;
		size_t reply_bytes;
	} cases[] = {
		{ "exit 0", 0, 0, 0 },
		{ "exit 7", 0, 7, 0 },
		{ "signal 11", SIGSEGV, 0, 0 },
		{ "signal 9", SIGKILL, 0, 0 },
		{ "close", SIGKILL, 0, 0 },
		{ "linger", SIGKILL, 0, 6 },
		{ "flood", SIGKILL, 0, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct child_process_end end = run(cases[i].role);

		assert_int_equal(end.signal, cases[i].signal);
		assert_int_equal(end.exit_status, cases[i].exit_status);
		assert_int_equal(end.reply_bytes, cases[i].reply_bytes);
		assert_int_equal(end.reply_fd, -1);
		assert_false(end.has_timed_out);
	}
}

static void replies_are_bounded(void **state)
{
	assert_int_equal(run("reply 1").reply_bytes, 1);
	assert_int_equal(run("reply 256").reply_bytes, CHILD_REPLY_BYTES_MAX);
	assert_int_equal(run("reply 257").reply_bytes, 0);
	assert_int_equal(run("reply 1000").reply_bytes, 0);
	assert_int_equal(run("reply 0").reply_bytes, 0);
}

static void a_child_that_dies_at_once_is_reported(void **state)
{
	char *const arguments[] = { "pilotlight", "answer", "dies at once", NULL };
	const struct request request = request_of("reply 1");
	const struct child_process_options options = {
		.kind = BROKER_CHILD_ANSWER,
		.arguments = arguments,
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = LONG_NS,
	};
	struct child_process *child;
	struct child_process_end end;

	assert_int_equal(child_process_start(&options, &child), 0);
	end = wait_for(child);
	/* It is killed when its socket is seen to be closed, unless it has ended by then. */
	assert_true((end.signal == 0 && end.exit_status == 42) || end.signal == SIGKILL);
	assert_int_equal(end.reply_bytes, 0);
}

/* Is a child still alive? `ret_alive` becomes readable when its other end is closed. */
static struct child_process *start_sleeper(uint64_t timeout_ns, int *ret_alive, pid_t *ret_pid)
{
	struct child_process *child;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = start_with("sleep", ends[1], -1, timeout_ns, false);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(read(ends[0], ret_pid, sizeof(*ret_pid)), sizeof(*ret_pid));
	*ret_alive = ends[0];
	return child;
}

static void assert_dead(int alive)
{
	char byte;

	assert_int_equal(read(alive, &byte, 1), 0);
	assert_int_equal(close(alive), 0);
}

static void a_child_that_never_answers_is_killed(void **state)
{
	struct child_process_end end;
	int alive;
	pid_t pid;

	end = wait_for(start_sleeper(NSEC_PER_SEC / 20, &alive, &pid));
	assert_true(end.has_timed_out);
	assert_int_equal(end.signal, SIGKILL);
	assert_dead(alive);
}

static void a_slow_child_may_answer_in_time(void **state)
{
	struct child_process_end end;
	struct child_process *child;
	int ends[2], go[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	/* The longest time that there is. */
	child = start_with("late", ends[1], go[0], UINT64_MAX, false);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(child_process_finish(child, &end), -EAGAIN);
	assert_int_equal(write(go[1], "x", 1), 1);
	end = wait_for(child);
	assert_int_equal(end.reply_bytes, 4);
	assert_memory_equal(end.reply, "late", 4);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(close(ends[i]), 0);
		assert_int_equal(close(go[i]), 0);
	}
}

static void freeing_kills(void **state)
{
	struct child_process *child;
	int alive;
	pid_t pid;

	child = start_sleeper(LONG_NS, &alive, &pid);
	child_process_free(child);
	child_process_free(NULL);
	/* It is waited for, too. */
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_dead(alive);
}

/* The owner is a process of its own, which is killed. */
static void children_end_with_their_owner(void **state)
{
	int ends[2], status;
	pid_t owner, pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	owner = fork();
	assert_true(owner >= 0);
	if (owner == 0) {
		(void)start_with("sleep", ends[1], -1, LONG_NS, false);
		sleep_for_ever();
	}
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_dead(ends[0]);
}

static void children_end_with_the_broker(void **state)
{
	const struct request request = request_of("reply 1");
	const struct child_process_options options = {
		.broker = broker,
		.kind = BROKER_CHILD_ANSWER,
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = LONG_NS,
	};
	struct child_process *child, *other = NULL;
	struct child_process_end end;
	int alive;
	pid_t pid;

	child = start_sleeper(LONG_NS, &alive, &pid);
	assert_int_equal(kill(placed.server, SIGKILL), 0);
	end = wait_for(child);
	assert_int_equal(end.signal, SIGKILL);
	assert_int_equal(end.cpu_ns, 0);
	assert_false(end.has_timed_out);
	assert_dead(alive);
	assert_int_equal(child_process_start(&options, &other), -EPIPE);
	assert_null(other);
}

/* A broker that hangs is not waited for long: closing the end is enough for the child's. */
static void freeing_does_not_wait_for_a_hung_broker(void **state)
{
	struct child_process *child;
	int alive;
	pid_t pid;

	child = start_sleeper(LONG_NS, &alive, &pid);
	assert_int_equal(kill(placed.server, SIGSTOP), 0);
	child_process_free(child);
	assert_int_equal(kill(placed.server, SIGCONT), 0);
	assert_dead(alive);
}

static void the_limit_of_children_is_reported(void **state)
{
	struct child_process *children[8], *other = NULL;
	const struct child_process_options options = {
		.broker = broker,
		.kind = BROKER_CHILD_ANSWER,
		.timeout_ns = LONG_NS,
	};
	int alive[8];
	pid_t pid;

	for (size_t i = 0; i < 8; i++)
		children[i] = start_sleeper(LONG_NS, &alive[i], &pid);
	assert_int_equal(child_process_start(&options, &other), -EAGAIN);
	for (size_t i = 0; i < 8; i++) {
		child_process_free(children[i]);
		assert_dead(alive[i]);
	}
	assert_int_equal(run("exit 3").exit_status, 3);
}

/* A broker as the test plays it: it has answered before it is asked. Returns the end's other side.
 */
static int connect_to_answer(int socket_fd, struct broker **ret_broker, int *ret_server)
{
	const struct pilotlight_broker_answer answer = {
		.version = PILOTLIGHT_BROKER_VERSION,
		.number = 1,
	};
	int pair[2], end[2], fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end), 0);
	fds[0] = socket_fd;
	fds[1] = end[0];
	assert_int_equal(broker_socket_send(pair[1], &answer, sizeof(answer), fds, 2), 0);
	assert_int_equal(broker_connect(pair[0], ret_broker), 0);
	assert_int_equal(close(socket_fd), 0);
	assert_int_equal(close(end[0]), 0);
	*ret_server = pair[1];
	return end[1];
}

static void a_child_gone_before_its_request_is_reported(void **state)
{
	const struct pilotlight_child_end told = { .exit_status = 6, .cpu_ns = 5 };
	struct child_process_end end;
	struct child_process *child;
	int pair[2], end_fd, server;

	/* Once with the broker's report, and once with a malformed one. */
	for (size_t size = sizeof(told); size >= sizeof(told) - 1; size--) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(close(pair[1]), 0);
		end_fd = connect_to_answer(pair[0], &broker, &server);
		assert_int_equal(send(end_fd, &told, size, 0), (ssize_t)size);
		child = start_with("reply 1", -1, -1, LONG_NS, false);
		end = wait_for(child);
		assert_int_equal(end.exit_status, size == sizeof(told) ? 6 : 0);
		assert_int_equal(end.signal, size == sizeof(told) ? 0 : SIGKILL);
		assert_int_equal(end.reply_bytes, 0);
		assert_int_equal(close(end_fd), 0);
		assert_int_equal(close(server), 0);
		broker_free(broker);
		broker = NULL;
	}
}

/* The kernel then tells the reader that the connection was reset, before the report. */
static void an_end_is_reported_although_a_priority_was_not_read(void **state)
{
	const struct pilotlight_child_end told = { .exit_status = 6, .cpu_ns = 5 };
	struct child_process *child;
	int pair[2], end_fd, server;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	end_fd = connect_to_answer(pair[0], &broker, &server);
	child = start_with("reply 1", -1, -1, LONG_NS, false);
	child_process_set_idle(child, true);
	assert_int_equal(send(end_fd, &told, sizeof(told), 0), sizeof(told));
	assert_int_equal(close(end_fd), 0);
	assert_int_equal(wait_for(child).exit_status, 6);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(close(server), 0);
	broker_free(broker);
	broker = NULL;
}

/* A broker in this process starts no children. */
static void a_local_broker_starts_no_children(void **state)
{
	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(wait_for(start_with("exit 5", -1, -1, LONG_NS, false)).exit_status, 5);
	broker_free(broker);
	broker = NULL;
}

static void a_failed_start_is_reported(void **state)
{
	const struct child_descriptor bad = { .fd = 1000, .number = FIRST_NUMBER };
	struct child_process_options options = {
		.kind = BROKER_CHILD_ANSWER,
		.program = "/nonexistent/program",
		.timeout_ns = LONG_NS,
	};
	struct child_process *child = NULL;

	assert_int_equal(child_process_start(&options, &child), -ENOENT);
	options.program = NULL;
	options.descriptors = &bad;
	options.descriptor_count = 1;
	options.broker = broker;
	assert_int_equal(child_process_start(&options, &child), -EBADF);
	assert_null(child);
}

/* However few numbers there are left, either it starts or it leaves nothing. */
static void without_descriptors_nothing_leaks(void **state)
{
	const struct request request = request_of("exit 0");
	const struct child_process_options options = {
		.broker = broker,
		.kind = BROKER_CHILD_ANSWER,
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = LONG_NS,
	};
	struct child_process *child = NULL;
	struct rlimit before, limit;
	int next = dup(STDIN_FILENO), r = -EMFILE, more;

	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (more = 0; r < 0; more++) {
		limit = before;
		limit.rlim_cur = (rlim_t)(next + more);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		r = child_process_start(&options, &child);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(r == 0 || r == -EMFILE);
		if (r < 0)
			assert_int_equal(open_descriptors(), descriptors);
	}
	assert_true(more >= 4);
	assert_int_equal(wait_for(child).signal, 0);
}

static void a_failing_allocation_is_reported(void **state)
{
	const struct child_process_options options = {
		.broker = broker,
		.kind = BROKER_CHILD_ANSWER,
		.timeout_ns = LONG_NS,
	};
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct child_process *child = NULL;

		fail_allocation(n);
		r = child_process_start(&options, &child);
		if (!allocation_failed()) {
			child_process_free(child);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(child);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 1);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, set_up_here, tear_down_here)
#define BY_A_BROKER(test)                                                           \
	{                                                                           \
#test " (by a broker)", test, set_up_broker, tear_down_broker, NULL \
	}
#define IN_BOTH_WAYS(test) HERE(test), BY_A_BROKER(test)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH_WAYS(a_child_answers),
		IN_BOTH_WAYS(an_empty_answer_carries_a_descriptor),
		IN_BOTH_WAYS(ends_are_reported),
		IN_BOTH_WAYS(replies_are_bounded),
		HERE(a_child_that_dies_at_once_is_reported),
		IN_BOTH_WAYS(a_child_that_never_answers_is_killed),
		IN_BOTH_WAYS(a_slow_child_may_answer_in_time),
		IN_BOTH_WAYS(freeing_kills),
		IN_BOTH_WAYS(children_end_with_their_owner),
		cmocka_unit_test_setup_teardown(
			children_end_with_the_broker, set_up_broker, tear_down_dead_broker),
		BY_A_BROKER(freeing_does_not_wait_for_a_hung_broker),
		BY_A_BROKER(the_limit_of_children_is_reported),
		HERE(a_child_gone_before_its_request_is_reported),
		HERE(an_end_is_reported_although_a_priority_was_not_read),
		HERE(a_local_broker_starts_no_children),
		IN_BOTH_WAYS(a_failed_start_is_reported),
		IN_BOTH_WAYS(without_descriptors_nothing_leaks),
		IN_BOTH_WAYS(a_failing_allocation_is_reported),
	};

	if (argc > 1)
		return child_role(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

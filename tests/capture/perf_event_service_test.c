/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each test forks a process that becomes the service. */
#include "capture/perf_event_service.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker_socket.h"
#include "tests/harness/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { CONNECTION = 3, DEADLINE_MS = 60000 };

static const struct perf_event_request cycles = {
	.version = PERF_EVENT_SERVICE_VERSION,
	.attr = {
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = 997,
		.freq = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.precise_ip = 3,
		.disabled = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	},
};

static const struct perf_event_request sideband = {
	.version = PERF_EVENT_SERVICE_VERSION,
	.attr = {
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.cgroup = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	},
};

static void the_events_of_the_profiler_are_allowed(void **state)
{
	struct perf_event_request request = cycles;

	assert_int_equal(perf_event_request_check(&cycles), 0);
	assert_int_equal(perf_event_request_check(&sideband), 0);
	request.attr.type = PERF_TYPE_SOFTWARE;
	request.attr.config = PERF_COUNT_SW_CPU_CLOCK;
	assert_int_equal(perf_event_request_check(&request), 0);
	request.attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	request.attr.freq = 0;
	request.attr.sample_period = 1;
	assert_int_equal(perf_event_request_check(&request), 0);
}

static void events_that_a_user_names_are_allowed(void **state)
{
	static const struct perf_event_attr named[] = {
		{ .type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
			.sample_period = 1 },
		{ .type = PERF_TYPE_HARDWARE,
			.config = PERF_COUNT_HW_CACHE_MISSES,
			.sample_period = 10007,
			.precise_ip = 2,
			.sample_type = PERF_SAMPLE_CALLCHAIN,
			.exclude_kernel = 1,
			.exclude_hv = 1,
			.exclude_guest = 1 },
		{ .type = PERF_TYPE_HW_CACHE, .config = 2, .sample_period = 10007 },
		{ .type = PERF_TYPE_RAW, .config = 0x1c4, .config1 = 1, .sample_period = 1000 },
		{ .type = PERF_TYPE_TRACEPOINT, .config = 300, .sample_period = 1 },
	};
	struct perf_event_request request = cycles;

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		request.attr = named[i];
		request.attr.size = sizeof(request.attr);
		request.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
		request.attr.disabled = 1;
		if (perf_event_request_check(&request) != 0)
			fail_msg("event %zu is refused", i);
	}
}

static void nothing_else_is(void **state)
{
	static const struct perf_event_attr others[] = {
		{ .type = PERF_TYPE_TRACEPOINT, .config = 1 },
		{ .type = PERF_TYPE_BREAKPOINT },
		{ .type = PERF_TYPE_RAW, .config = 1 },
		{ .type = PERF_TYPE_MAX },
		{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
		/* periods that are too short, or of what counts time */
		{ .type = PERF_TYPE_HARDWARE, .sample_period = 1 },
		{ .type = PERF_TYPE_RAW, .sample_period = 999 },
		{ .type = PERF_TYPE_TRACEPOINT, .config = 1, .sample_period = 2 },
		{ .type = PERF_TYPE_TRACEPOINT,
			.config = 1,
			.sample_period = 1,
			.sample_type = PERF_SAMPLE_CALLCHAIN },
		{ .type = PERF_TYPE_BREAKPOINT, .sample_period = 100000 },
		{ .type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_CPU_CLOCK,
			.sample_period = 1 },
		{ .type = PERF_TYPE_HARDWARE,
			.config = PERF_COUNT_SW_PAGE_FAULTS,
			.sample_period = 1 },
		/* content of users' memory and registers, addresses, the hypervisor's branches */
		{ .type = PERF_TYPE_HARDWARE, .sample_type = PERF_SAMPLE_STACK_USER },
		{ .type = PERF_TYPE_HARDWARE, .sample_type = PERF_SAMPLE_REGS_INTR },
		{ .type = PERF_TYPE_HARDWARE, .sample_type = PERF_SAMPLE_ADDR },
		{ .type = PERF_TYPE_HARDWARE, .sample_type = PERF_SAMPLE_RAW },
		{ .type = PERF_TYPE_HARDWARE, .branch_sample_type = PERF_SAMPLE_BRANCH_ANY },
		{ .type = PERF_TYPE_HARDWARE, .sample_stack_user = 4096 },
		{ .type = PERF_TYPE_SOFTWARE, .text_poke = 1 },
		{ .type = PERF_TYPE_SOFTWARE, .sigtrap = 1 },
		{ .type = PERF_TYPE_SOFTWARE, .inherit = 1 },
	};
	struct perf_event_request request = cycles;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		request.attr = others[i];
		request.attr.size = sizeof(request.attr);
		if (perf_event_request_check(&request) != -EPERM)
			fail_msg("event %zu is allowed", i);
	}
	request = cycles;
	request.attr.size += 8;
	assert_int_equal(perf_event_request_check(&request), -EPERM);
	request.attr.size = 0;
	assert_int_equal(perf_event_request_check(&request), -EPERM);
	request = cycles;
	request.version++;
	assert_int_equal(perf_event_request_check(&request), -EBADMSG);
}

/* --- the process -------------------------------------------------------------------------------
 */

static pid_t start(int *ret_fd)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka's descriptors may have this number. */
		if (fds[1] != CONNECTION)
			(void)dup2(fds[1], CONNECTION);
		if (fds[0] != CONNECTION)
			(void)close(fds[0]);
		_exit(perf_event_service_main(1, (char *[]){ "event-service", NULL }));
	}
	(void)close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

/* Returns the exit status, or minus the signal. */
static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void ask(int fd, const struct perf_event_request *request,
	struct perf_event_answer *ret_answer, size_t *ret_fds)
{
	struct pollfd answered = { .fd = fd, .events = POLLIN };
	struct broker_message message;

	assert_int_equal(broker_socket_send(fd, request, sizeof(*request), NULL, 0), 0);
	assert_int_equal(poll(&answered, 1, DEADLINE_MS), 1);
	assert_int_equal(
		broker_socket_receive(fd, ret_answer, sizeof(*ret_answer), 1, &message), 0);
	assert_int_equal(message.size, sizeof(*ret_answer));
	*ret_fds = message.fd_count;
	broker_message_close(&message);
}

/* An unprivileged test gets the kernel's refusal. */
static void it_answers_until_the_client_hangs_up(void **state)
{
	struct perf_event_request request = sideband;
	struct perf_event_answer answer;
	size_t fds;
	int fd;
	pid_t pid = start(&fd);

	ask(fd, &request, &answer, &fds);
	if (answer.result == 0)
		assert_int_equal(fds, 1);
	else
		assert_true(answer.result == -EACCES || answer.result == -EPERM ||
			    answer.result == -ENOSYS);
	request.attr.sample_type |= PERF_SAMPLE_STACK_USER;
	ask(fd, &request, &answer, &fds);
	assert_int_equal(answer.result, -EPERM);
	assert_int_equal(fds, 0);
	(void)close(fd);
	assert_int_equal(end_of(pid), 0);
}

static void a_malformed_request_ends_it(void **state)
{
	static const size_t sizes[] = { 1, sizeof(cycles) - 1, sizeof(cycles) + 1 };
	struct perf_event_request requests[2] = { cycles, cycles };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int fd;
		pid_t pid = start(&fd);

		assert_int_equal(broker_socket_send(fd, requests, sizes[i], NULL, 0), 0);
		assert_int_equal(end_of(pid), EXIT_FAILURE);
		(void)close(fd);
	}
}

static void descriptors_are_not_received(void **state)
{
	int fd;
	pid_t pid = start(&fd);

	assert_int_equal(broker_socket_send(fd, &cycles, sizeof(cycles), &fd, 1), 0);
	assert_int_equal(end_of(pid), EXIT_FAILURE);
	(void)close(fd);
}

static void without_a_connection_it_fails(void **state)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(CONNECTION);
		_exit(perf_event_service_main(1, (char *[]){ "event-service", NULL }));
	}
	assert_int_equal(end_of(pid), EXIT_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_events_of_the_profiler_are_allowed),
		cmocka_unit_test(events_that_a_user_names_are_allowed),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(it_answers_until_the_client_hangs_up),
		cmocka_unit_test(a_malformed_request_ends_it),
		cmocka_unit_test(descriptors_are_not_received),
		cmocka_unit_test(without_a_connection_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

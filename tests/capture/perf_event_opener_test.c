/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel refuses perf events to this process, by a filter. A thread plays systemd and the
 * service: it accepts a connection for each row of a script and answers one request as the row
 * says.
 */
#include "capture/perf_event_opener.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker_socket.h"
#include "capture/perf_event_service.h"
#include "tests/harness/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

struct step {
	bool is_silent; /* never answers */
	bool stays;	/* the next row is for the same connection */
	int32_t result;
	size_t size; /* of the answer */
	size_t fds;
};

static char folder[] = "/tmp/perf_event_opener_test.XXXXXX", path[64];

struct service {
	int listen_fd;
	const struct step *steps;
	size_t count, requests;
	struct perf_event_request last;
	pthread_t thread;
};

static void answer(struct service *service, int fd, const struct step *step)
{
	struct pollfd asked = { .fd = fd, .events = POLLIN };
	struct perf_event_answer answers[2] = { { .result = step->result } };
	int fds[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC),
		open("/dev/zero", O_RDONLY | O_CLOEXEC) };
	struct broker_message message;

	(void)poll(&asked, 1, -1);
	assert_int_equal(
		broker_socket_receive(fd, &service->last, sizeof(service->last), 1, &message), 0);
	assert_int_equal(message.size, sizeof(service->last));
	service->requests++;
	if (step->is_silent)
		(void)poll(&asked, 1, -1); /* until the client hangs up */
	else
		assert_int_equal(broker_socket_send(fd, answers, step->size, fds, step->fds), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void *serve(void *context)
{
	struct service *service = context;
	int fd = -1;

	for (size_t i = 0; i < service->count; i++) {
		if (fd < 0)
			fd = accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		answer(service, fd, &service->steps[i]);
		if (!service->steps[i].stays) {
			(void)close(fd);
			fd = -1;
		}
	}
	return NULL;
}

static void start(struct service *service, const struct step *steps, size_t count)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*service = (struct service){ .steps = steps, .count = count };
	memcpy(address.sun_path, path, strlen(path));
	(void)unlink(path);
	service->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(service->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(service->listen_fd, 4), 0);
	assert_int_equal(pthread_create(&service->thread, NULL, serve, service), 0);
}

static void stop(struct service *service)
{
	assert_int_equal(pthread_join(service->thread, NULL), 0);
	(void)close(service->listen_fd);
	assert_int_equal(service->requests, service->count);
}

static const struct perf_event_attr clock_event = {
	.size = sizeof(clock_event),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.sample_freq = 99,
	.freq = 1,
};

static void without_a_service_the_refusal_stands(void **state)
{
	struct perf_event_opener opener;
	char long_path[200];

	assert_int_equal(perf_event_opener_open(NULL, &clock_event, 0), -EACCES);
	perf_event_opener_init(&opener, NULL);
	assert_int_equal(perf_event_opener_open(&opener, &clock_event, 0), -EACCES);
	perf_event_opener_init(&opener, "/nonexistent/events.sock");
	assert_int_equal(perf_event_opener_open(&opener, &clock_event, 0), -EACCES);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	perf_event_opener_init(&opener, long_path);
	assert_int_equal(perf_event_opener_open(&opener, &clock_event, 0), -ENAMETOOLONG);
	perf_event_opener_done(&opener);
}

static void the_service_opens_it(void **state)
{
	static const struct step steps[] = {
		{ .size = sizeof(struct perf_event_answer), .fds = 1, .stays = true },
		{ .size = sizeof(struct perf_event_answer), .fds = 1 },
	};
	struct perf_event_opener opener;
	struct service service;

	start(&service, steps, ARRAY_SIZE(steps));
	perf_event_opener_init(&opener, path);
	for (uint32_t cpu = 7; cpu < 9; cpu++) {
		_cleanup_close_ int fd = perf_event_opener_open(&opener, &clock_event, cpu);
		struct stat opened, null;

		assert_true(fd >= 0);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(fstat(fd, &opened) | stat("/dev/null", &null), 0);
		assert_int_equal(opened.st_rdev, null.st_rdev);
	}
	stop(&service);
	assert_int_equal(service.last.version, PERF_EVENT_SERVICE_VERSION);
	assert_int_equal(service.last.cpu, 8);
	assert_memory_equal(&service.last.attr, &clock_event, sizeof(clock_event));
	perf_event_opener_done(&opener);
}

static void its_errors_are_reported(void **state)
{
	static const struct {
		struct step step;
		int error;
	} cases[] = {
		{ { .size = sizeof(struct perf_event_answer), .result = -ENODEV }, -ENODEV },
		{ { .size = sizeof(struct perf_event_answer), .result = -EPERM, .fds = 1 },
			-EPERM },
		/* no descriptor, two of them, another length, another number */
		{ { .size = sizeof(struct perf_event_answer) }, -ETIMEDOUT },
		{ { .size = sizeof(struct perf_event_answer), .fds = 2 }, 0 },
		{ { .size = 1, .fds = 1 }, -ETIMEDOUT },
		{ { .size = 2 * sizeof(struct perf_event_answer), .fds = 1 }, -ETIMEDOUT },
		{ { .size = sizeof(struct perf_event_answer), .result = 5, .fds = 1 }, -ETIMEDOUT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_event_opener opener;
		struct service service;
		int r;

		start(&service, &cases[i].step, 1);
		perf_event_opener_init(&opener, path);
		r = perf_event_opener_open(&opener, &clock_event, 0);
		/* Of two descriptors the second is closed by the kernel. */
		if (cases[i].error == 0 && r >= 0) {
			(void)close(r);
			r = 0;
		}
		if (r != cases[i].error)
			fail_msg("case %zu: %d instead of %d", i, r, cases[i].error);
		stop(&service);
		perf_event_opener_done(&opener);
	}
}

/* systemd starts another process for the new connection. */
static void it_is_asked_anew_after_it_has_ended(void **state)
{
	static const struct step steps[] = {
		{ .size = sizeof(struct perf_event_answer), .fds = 1 },
		{ .size = sizeof(struct perf_event_answer), .fds = 1 },
		{ .size = 1 },
		{ .size = sizeof(struct perf_event_answer), .fds = 1 },
	};
	static const int results[] = { 0, 0, -ETIMEDOUT, 0 };
	struct perf_event_opener opener;
	struct service service;

	start(&service, steps, ARRAY_SIZE(steps));
	perf_event_opener_init(&opener, path);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		int fd;

		opener.retry_ns = 0;
		fd = perf_event_opener_open(&opener, &clock_event, 0);
		assert_int_equal(fd < 0 ? fd : 0, results[i]);
		if (fd >= 0)
			(void)close(fd);
	}
	stop(&service);
	perf_event_opener_done(&opener);
}

static void it_is_not_awaited_for_ever(void **state)
{
	static const struct step steps[] = {
		{ .is_silent = true },
		{ .size = sizeof(struct perf_event_answer), .fds = 1 },
	};
	struct perf_event_opener opener;
	struct service service;
	int fd;

	start(&service, steps, ARRAY_SIZE(steps));
	perf_event_opener_init(&opener, path);
	assert_int_equal(perf_event_opener_open(&opener, &clock_event, 0), -ETIMEDOUT);
	/* Not even asked, until a minute has passed. */
	assert_int_equal(perf_event_opener_open(&opener, &clock_event, 1), -ETIMEDOUT);
	opener.retry_ns = 0;
	fd = perf_event_opener_open(&opener, &clock_event, 0);
	assert_true(fd >= 0);
	(void)close(fd);
	stop(&service);
	perf_event_opener_done(&opener);
}

static int refuse_perf_events(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_service_the_refusal_stands),
		cmocka_unit_test(the_service_opens_it),
		cmocka_unit_test(its_errors_are_reported),
		cmocka_unit_test(it_is_asked_anew_after_it_has_ended),
		cmocka_unit_test(it_is_not_awaited_for_ever),
	};
	int failed;

	if (refuse_perf_events() < 0 || !mkdtemp(folder))
		return 2;
	(void)snprintf(path, sizeof(path), "%s/events.sock", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	(void)rmdir(folder);
	return failed;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the socket for split DWARF files: first with this process at both ends, then with a worker.
 * Started as `symbol-worker`, this program requests the file that the origin of its request names.
 */
#include "symbolize/split_channel.h"

#include "base/cleanup.h"
#include "child/child_request.h"
#include "pilotlight/symbol_worker.h"
#include "symbolize/worker_pool.h"
#include "tests/broker/served_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONGEST = PILOTLIGHT_WORKER_PATH_BYTES_MAX };

static struct split_channel channel;
static int epoll_fd, worker_fd;
static int contexts[2]; /* of the opener, and of the job */
static size_t opened;
static char opened_path[LONGEST + 1];

/* "no" does not exist; other files contain their path. */
static int open_split_file(void *context, void *job, const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = -1;

	assert_ptr_equal(context, &contexts[0]);
	assert_ptr_equal(job, &contexts[1]);
	opened++;
	(void)strcpy(opened_path, path);
	if (strcmp(path, "no") == 0)
		return -EACCES;
	fd = memfd_create("split", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(write(fd, path, strlen(path)) > 0);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int set_up(void **state)
{
	opened = 0;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(epoll_fd >= 0);
	assert_int_equal(split_channel_open(&channel, epoll_fd, &worker_fd), 0);
	return 0;
}

static int tear_down(void **state)
{
	split_channel_done(&channel);
	closep(&worker_fd);
	closep(&epoll_fd);
	return 0;
}

static void ask(const void *bytes, size_t size)
{
	assert_int_equal(send(worker_fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

static bool is_ready(void)
{
	struct epoll_event event;
	int n = epoll_wait(epoll_fd, &event, 1, 0);

	assert_true(n >= 0);
	return n == 1;
}

static void serve(void)
{
	split_channel_serve(&channel, open_split_file, &contexts[0], &contexts[1]);
}

/* Returns the error of the reply, or 1 if there is no reply. */
static int take_reply(int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct pilotlight_split_reply reply;
	struct iovec bytes = { &reply, sizeof(reply) };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(worker_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (size < 0)
		return 1;
	assert_int_equal(size, sizeof(reply));
	if (CMSG_FIRSTHDR(&message))
		memcpy(ret_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	assert_int_equal(reply.error == 0, *ret_fd >= 0);
	return reply.error;
}

static void assert_reply(int expected)
{
	int fd;

	assert_int_equal(take_reply(&fd), expected);
	closep(&fd);
}

static void assert_contents(int fd, const char *expected)
{
	char text[LONGEST + 1] = "";

	assert_int_equal(pread(fd, text, LONGEST, 0), (ssize_t)strlen(expected));
	assert_string_equal(text, expected);
}

static void requests_are_answered(void **state)
{
	_cleanup_close_ int fd = -1;

	assert_false(is_ready());
	serve();
	assert_reply(1);
	ask("/src/a.dwo", 10);
	assert_true(is_ready());
	serve();
	assert_false(is_ready());
	assert_string_equal(opened_path, "/src/a.dwo");
	assert_int_equal(take_reply(&fd), 0);
	assert_contents(fd, "/src/a.dwo");
	ask("no", 2);
	serve();
	assert_reply(-EACCES);
	assert_int_equal(opened, 2);
}

static void longest_path_is_accepted(void **state)
{
	char path[LONGEST + 1];

	memset(path, 'x', sizeof(path));
	ask(path, LONGEST);
	serve();
	assert_reply(0);
	assert_int_equal(strlen(opened_path), LONGEST);
	ask(path, LONGEST + 1);
	serve();
	assert_int_equal(channel.fd, -1);
	assert_int_equal(opened, 1);
}

static void invalid_paths_close_the_channel(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = { { "", 0 }, { "", 1 }, { "/a\0b", 4 }, { "/a", 3 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)tear_down(state);
		(void)set_up(state);
		ask(cases[i].bytes, cases[i].size);
		serve();
		assert_int_equal(channel.fd, -1);
		assert_int_equal(opened, 0);
		assert_false(is_ready());
		serve();
	}
}

static void requests_are_bounded(void **state)
{
	channel.requests_left = 2;
	for (int i = 0; i < 4; i++) {
		ask("a", 1);
		serve();
		assert_reply(i < 2 ? 0 : -E2BIG);
	}
	assert_int_equal(opened, 2);
}

static void floods_are_served_a_few_at_a_time(void **state)
{
	for (int i = 0; i < 9; i++)
		ask("a", 1);
	serve();
	assert_true(opened > 0 && opened < 9);
	assert_true(is_ready());
	serve();
	serve();
	assert_int_equal(opened, 9);
	assert_false(is_ready());
}

static void workers_that_read_no_replies_are_disconnected(void **state)
{
	for (int i = 0; i < 100000 && channel.fd >= 0; i++) {
		(void)send(worker_fd, "no", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
		serve();
	}
	assert_int_equal(channel.fd, -1);
	assert_false(is_ready());
}

static void ended_workers_are_forgotten(void **state)
{
	closep(&worker_fd);
	worker_fd = -1;
	assert_true(is_ready());
	serve();
	assert_int_equal(channel.fd, -1);
	assert_false(is_ready());
}

static uint64_t descriptor_set(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ULL << fd;
	return open;
}

static void received_descriptors_are_closed(void **state)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { "no", 2 };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	uint64_t open = descriptor_set();

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(worker_fd));
	memcpy(CMSG_DATA(header), &worker_fd, sizeof(worker_fd));
	assert_int_equal(sendmsg(worker_fd, &message, MSG_NOSIGNAL), 2);
	serve();
	assert_reply(-EACCES);
	assert_true(descriptor_set() == open);
}

/* --- with a worker ---------------------------------------------------------------------------- */

static struct placed_broker placed;
static struct broker *broker; /* NULL: this process starts the workers */

static int serve_workers(void **state)
{
	placed_broker_start(&placed, BROKER_SERVED, NULL);
	broker = placed.broker;
	return 0;
}

static int stop_serving(void **state)
{
	broker = NULL;
	placed_broker_stop(&placed);
	return 0;
}

/* Requests the split file and copies it to the output. */
static int worker_role(void)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
	};
	struct pilotlight_symbol_request request;
	char text[LONGEST];
	int fd = -1;
	ssize_t n;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 90;
	report.units_failed = request.has_split_files;
	report.scratch_bytes = request.has_package;
	if (!request.has_split_files)
		report.error = fcntl(PILOTLIGHT_WORKER_SPLIT_FD, F_GETFD) < 0 ? 0 : -EEXIST;
	else
		report.error = split_channel_ask(NULL, request.origin, &fd);
	if (request.has_package)
		fd = PILOTLIGHT_WORKER_PACKAGE_FD;
	if (fd >= 0) {
		n = pread(fd, text, sizeof(text), 0);
		if (n < 0 || write(PILOTLIGHT_WORKER_OUTPUT_FD, text, (size_t)n) != n)
			return 91;
	}
	(void)send(PILOTLIGHT_WORKER_SOCKET_FD, &report, sizeof(report), MSG_NOSIGNAL);
	return 0;
}

static void keep_result(void *context, const struct worker_result *result)
{
	*(struct worker_result *)context = *result;
}

static struct worker_result run_worker(
	const char *origin, bool has_opener, bool has_split_files, int package_fd, int output_fd)
{
	const struct worker_pool_options options = {
		.broker = broker,
		.open_split_file = has_opener ? open_split_file : NULL,
		.open_split_file_context = &contexts[0],
	};
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_job job = {
		.identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
			.id = { .bytes = { 1 }, .size = 20 } },
		.binary_fd = memfd_create("binary", MFD_CLOEXEC),
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = package_fd,
		.has_split_files = has_split_files,
		.scratch_fd = memfd_create("scratch", MFD_CLOEXEC),
		.output_fd = output_fd,
		.origin = origin,
		.context = &contexts[1],
	};
	struct worker_result result = { .context = NULL };

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	assert_int_equal(worker_pool_add(pool, &job), 0);
	while (!result.context) {
		struct pollfd event = { .fd = worker_pool_poll_fd(pool), .events = POLLIN };

		assert_int_equal(poll(&event, 1, -1), 1);
		assert_int_equal(worker_pool_run(pool, keep_result, &result), 0);
	}
	assert_int_equal(worker_pool_pending(pool), 0);
	return result;
}

static void worker_gets_the_files_that_it_requests(void **state)
{
	_cleanup_close_ int output_fd = memfd_create("output", MFD_CLOEXEC);
	struct worker_result result;

	opened = 0;
	result = run_worker("/src/a.dwo", true, true, -1, output_fd);
	assert_int_equal(result.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(result.report.units_failed, 1);
	assert_contents(output_fd, "/src/a.dwo");
	result = run_worker("no", true, true, -1, output_fd);
	assert_int_equal(result.report.error, -EACCES);
	assert_int_equal(opened, 2);
}

static void worker_without_split_files_has_no_socket(void **state)
{
	_cleanup_close_ int output_fd = memfd_create("output", MFD_CLOEXEC);
	struct worker_result result;

	opened = 0;
	result = run_worker("a", true, false, -1, output_fd);
	assert_int_equal(result.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(result.report.units_failed, 0);
	result = run_worker("a", false, true, -1, output_fd);
	assert_int_equal(result.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(result.report.units_failed, 0);
	assert_int_equal(opened, 0);
}

static void worker_gets_its_package(void **state)
{
	_cleanup_close_ int output_fd = memfd_create("output", MFD_CLOEXEC);
	int package_fd = memfd_create("package", MFD_CLOEXEC);
	struct worker_result result;

	assert_int_equal(write(package_fd, "package", 7), 7);
	result = run_worker("a", true, false, package_fd, output_fd);
	assert_int_equal(result.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(result.report.scratch_bytes, 1);
	assert_contents(output_fd, "package");
	assert_int_equal(fcntl(package_fd, F_GETFD), -1);
}

#define IN_BOTH_WAYS(test)                                                      \
	cmocka_unit_test(test),                                                 \
	{                                                                       \
#test " (by a broker)", test, serve_workers, stop_serving, NULL \
	}
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_answered),
		TEST(longest_path_is_accepted),
		TEST(invalid_paths_close_the_channel),
		TEST(requests_are_bounded),
		TEST(floods_are_served_a_few_at_a_time),
		TEST(workers_that_read_no_replies_are_disconnected),
		TEST(ended_workers_are_forgotten),
		TEST(received_descriptors_are_closed),
		IN_BOTH_WAYS(worker_gets_the_files_that_it_requests),
		IN_BOTH_WAYS(worker_without_split_files_has_no_socket),
		IN_BOTH_WAYS(worker_gets_its_package),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return worker_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

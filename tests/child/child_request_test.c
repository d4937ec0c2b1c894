/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each trial is a child whose owner is the test, which may send malformed requests. The child's
 * exit status reports the result of receiving, and whether anything leaked.
 */
#include "child/child_request.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { STATUS_WRONG = 200, STATUS_LEFT = 201, FDS_MAX = 12 };

struct request {
	uint32_t mark;
	char text[5000];
};

/* As child_request.c has it. */
struct table {
	uint32_t version, count;
	uint8_t numbers[CHILD_DESCRIPTORS_MAX];
};

/* Of the child: before and after it receives. */
struct trial {
	void (*prepare)(void);
	bool (*is_right)(const struct request *request);
};

/* Which of its numbers are open. */
static uint64_t descriptor_set(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ULL << fd;
	return open;
}

static _Noreturn void play_child(int socket_fd, const struct trial *trial)
{
	static struct request request;
	uint64_t before;
	int r;

	if (dup2(socket_fd, CHILD_SOCKET_NUMBER) < 0 || close_range(4, ~0U, 0) < 0)
		_exit(STATUS_WRONG);
	if (trial->prepare)
		trial->prepare();
	before = descriptor_set();
	memset(&request, 0x5a, sizeof(request));
	r = child_request_receive(&request, sizeof(request));
	if (r < 0 && (descriptor_set() != before || request.mark != 0x5a5a5a5a))
		_exit(STATUS_LEFT);
	if (r == 0 && trial->is_right && !trial->is_right(&request))
		_exit(STATUS_WRONG);
	_exit(-r);
}

static void open_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

/* With the second end, which is closed here. */
static pid_t fork_child(const struct trial *trial, const int pair[2])
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)close(pair[0]);
		play_child(pair[1], trial);
	}
	(void)close(pair[1]);
	return child;
}

static pid_t start_child(const struct trial *trial, int *ret_socket_fd)
{
	int pair[2];

	open_pair(pair);
	*ret_socket_fd = pair[0];
	return fork_child(trial, pair);
}

/* The error that it got. */
static int wait_for_child(pid_t child, int socket_fd)
{
	int status;

	if (socket_fd >= 0)
		(void)close(socket_fd);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* That holds its number, so that it is known again. */
static int numbered_file(uint8_t number)
{
	int fd = memfd_create("number", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &number, 1), 1);
	return fd;
}

static bool is_numbered(int number)
{
	uint8_t byte = 0;

	return pread(number, &byte, 1, 0) == 1 && byte == number &&
	       fcntl(number, F_GETFD) == FD_CLOEXEC;
}

static void fill(struct request *request)
{
	memset(request, 0, sizeof(*request));
	request->mark = 0x12345678;
	strcpy(request->text + sizeof(request->text) - 4, "end");
}

static bool is_filled(const struct request *request)
{
	return request->mark == 0x12345678 &&
	       strcmp(request->text + sizeof(request->text) - 4, "end") == 0;
}

/* --- what is sent is what is received --------------------------------------------------------- */

static bool has_no_files(const struct request *request)
{
	return is_filled(request) && descriptor_set() == 0xf;
}

static bool has_some(const struct request *request)
{
	return is_filled(request) && is_numbered(15) && is_numbered(4) && is_numbered(9) &&
	       descriptor_set() == (0xf | 1 << 15 | 1 << 4 | 1 << 9);
}

static bool has_all(const struct request *request)
{
	for (int number = 4; number < 12; number++)
		if (!is_numbered(number))
			return false;
	return is_filled(request) && descriptor_set() == 0xfff;
}

static int send_and_receive(const uint8_t *numbers, size_t count, const struct trial *trial)
{
	struct child_descriptor descriptors[CHILD_DESCRIPTORS_MAX];
	struct request request;
	int socket_fd;
	pid_t child = start_child(trial, &socket_fd);

	fill(&request);
	/* Of 0 there is none. */
	for (size_t i = 0; i < count; i++)
		descriptors[i] = (struct child_descriptor){
			.fd = numbers[i] ? numbered_file(numbers[i]) : -1,
			.number = numbers[i] ? numbers[i] : 11,
		};
	assert_int_equal(
		child_request_send(socket_fd, descriptors, count, &request, sizeof(request)), 0);
	for (size_t i = 0; i < count; i++)
		closep(&descriptors[i].fd);
	return wait_for_child(child, socket_fd);
}

static void requests_are_received_as_sent(void **state)
{
	static const struct trial none = { .is_right = has_no_files },
				  some = { .is_right = has_some }, all = { .is_right = has_all };

	assert_int_equal(send_and_receive(NULL, 0, &none), 0);
	assert_int_equal(send_and_receive((const uint8_t[]){ 0, 0 }, 2, &none), 0);
	assert_int_equal(send_and_receive((const uint8_t[]){ 15, 0, 4, 0, 9 }, 5, &some), 0);
	/* They arrive at numbers that belong to other descriptors. */
	assert_int_equal(send_and_receive((const uint8_t[]){ 9, 15, 4 }, 3, &some), 0);
	assert_int_equal(
		send_and_receive((const uint8_t[]){ 11, 10, 9, 8, 7, 6, 5, 4 }, 8, &all), 0);
	assert_int_equal(
		send_and_receive((const uint8_t[]){ 5, 6, 7, 8, 9, 10, 11, 4 }, 8, &all), 0);
}

static void a_child_may_come_later_than_its_request(void **state)
{
	static const struct trial trial = { .is_right = has_no_files };
	struct request request;
	int pair[2];

	fill(&request);
	open_pair(pair);
	assert_int_equal(child_request_send(pair[0], NULL, 0, &request, sizeof(request)), 0);
	assert_int_equal(wait_for_child(fork_child(&trial, pair), pair[0]), 0);
}

/* --- what no sound owner sends ---------------------------------------------------------------- */

static const struct trial unprepared;

static int send_raw(const void *bytes, size_t size, size_t fd_count, const struct trial *trial)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))] = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;
	int pair[2], fds[FDS_MAX];

	open_pair(pair);
	assert_true(fd_count <= FDS_MAX);
	for (size_t i = 0; i < FDS_MAX; i++)
		fds[i] = STDIN_FILENO;
	if (fd_count > 0) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
	}
	/* Before there is a child, which may end without looking. */
	assert_int_equal(sendmsg(pair[0], &message, MSG_NOSIGNAL), (ssize_t)size);
	return wait_for_child(fork_child(trial, pair), pair[0]);
}

struct message {
	struct table table;
	struct request request;
	char more[16];
};

static int send_table(struct table table, size_t fd_count)
{
	static struct message message;

	fill(&message.request);
	message.table = table;
	return send_raw(&message, sizeof(table) + sizeof(message.request), fd_count, &unprepared);
}

static void malformed_tables_are_refused(void **state)
{
	static const struct {
		struct table table;
		size_t fd_count;
		int error;
	} cases[] = {
		{ { 1, 0, { 0 } }, 0, 0 },
		{ { 1, 1, { 4 } }, 1, 0 },
		{ { 1, 8, { 4, 5, 6, 7, 8, 9, 10, 15 } }, 8, 0 },
		{ { 0, 0, { 0 } }, 0, EPROTO },
		{ { 2, 1, { 4 } }, 1, EPROTO },
		{ { 1, 1, { 4 } }, 0, EPROTO },
		{ { 1, 0, { 0 } }, 1, EPROTO },
		{ { 1, 1, { 4 } }, 2, EPROTO },
		{ { 1, 2, { 4, 5 } }, 1, EPROTO },
		{ { 1, UINT32_MAX, { 4 } }, 1, EPROTO },
		{ { 1, 9, { 4, 5, 6, 7, 8, 9, 10, 11 } }, 8, EPROTO },
		/* More than the buffer holds: the rest is lost. */
		{ { 1, 9, { 4, 5, 6, 7, 8, 9, 10, 11 } }, 9, EMFILE },
		{ { 1, 8, { 4, 5, 6, 7, 8, 9, 10, 11 } }, 12, EMFILE },
		/* Numbers that are no descriptor's, or another one's. */
		{ { 1, 1, { 0 } }, 1, EPROTO },
		{ { 1, 1, { 2 } }, 1, EPROTO },
		{ { 1, 1, { 3 } }, 1, EPROTO },
		{ { 1, 1, { 16 } }, 1, EPROTO },
		{ { 1, 1, { 36 } }, 1, EPROTO },
		{ { 1, 1, { 255 } }, 1, EPROTO },
		{ { 1, 2, { 4, 4 } }, 2, EPROTO },
		{ { 1, 3, { 15, 4, 15 } }, 3, EPROTO },
		{ { 1, 1, { 4, 0, 0, 5 } }, 1, EPROTO },
		{ { 1, 0, { 4 } }, 0, EPROTO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int error = send_table(cases[i].table, cases[i].fd_count);

		if (error != cases[i].error)
			print_message("case %zu\n", i);
		assert_int_equal(error, cases[i].error);
	}
}

static void messages_of_another_size_are_refused(void **state)
{
	static struct message message = { .table = { .version = 1, .count = 1, .numbers = { 4 } } };
	static const size_t sizes[] = { 1, 8, 15, 16, 17, 16 + sizeof(struct request) - 1,
		16 + sizeof(struct request) + 1, sizeof(message) };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(send_raw(&message, sizes[i], 1, &unprepared), EPROTO);
	assert_int_equal(send_raw(&message, 16 + sizeof(struct request), 1, &unprepared), 0);
	/* The same as when the other side closes. */
	assert_int_equal(send_raw(&message, 0, 1, &unprepared), EPIPE);
}

static void a_closed_owner_is_reported(void **state)
{
	int socket_fd;
	pid_t child = start_child(&unprepared, &socket_fd);

	assert_int_equal(wait_for_child(child, socket_fd), EPIPE);
}

/* --- a child that is not as it should be ------------------------------------------------------ */

static void take_number(void)
{
	if (dup2(STDIN_FILENO, 9) < 0)
		_exit(STATUS_WRONG);
}

static void lack_spare_numbers(void)
{
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 17, 17 });
}

static void lack_numbers(void)
{
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 5, 5 });
}

static void lack_memory(void)
{
	fail_allocation(0);
}

static void lose_socket(void)
{
	(void)close(CHILD_SOCKET_NUMBER);
}

static void missing_resources_of_the_child_are_reported(void **state)
{
	static const struct {
		struct trial trial;
		int error;
	} cases[] = {
		{ { .prepare = take_number }, EEXIST },
		{ { .prepare = lack_spare_numbers }, EMFILE },
		{ { .prepare = lack_numbers }, EMFILE },
		{ { .prepare = lack_memory }, ENOMEM },
		{ { .prepare = lose_socket }, EBADF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct message message = {
			.table = { .version = 1, .count = 3, .numbers = { 8, 9, 4 } },
		};

		assert_int_equal(
			send_raw(&message, 16 + sizeof(struct request), 3, &cases[i].trial),
			cases[i].error);
	}
}

/* --- the owner's side ------------------------------------------------------------------------- */

static void a_closed_child_is_reported(void **state)
{
	int pair[2];

	open_pair(pair);
	(void)close(pair[1]);
	assert_int_equal(child_request_send(pair[0], NULL, 0, NULL, 0), -EPIPE);
	(void)close(pair[0]);
}

static void sending_never_waits_for_the_child(void **state)
{
	int pair[2], r, sent = 0;

	open_pair(pair);
	while ((r = child_request_send(pair[0], NULL, 0, "request", 7)) == 0)
		assert_true(sent++ < 100000);
	assert_int_equal(r, -EAGAIN);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void descriptors_that_cannot_be_passed_are_reported(void **state)
{
	const struct child_descriptor descriptor = { .fd = 1000, .number = 4 };
	int pair[2];

	open_pair(pair);
	assert_int_equal(child_request_send(pair[0], &descriptor, 1, NULL, 0), -EBADF);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(child_request_send(pair[0], NULL, 0, NULL, 0), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_received_as_sent),
		cmocka_unit_test(a_child_may_come_later_than_its_request),
		cmocka_unit_test(malformed_tables_are_refused),
		cmocka_unit_test(messages_of_another_size_are_refused),
		cmocka_unit_test(a_closed_owner_is_reported),
		cmocka_unit_test(missing_resources_of_the_child_are_reported),
		cmocka_unit_test(a_closed_child_is_reported),
		cmocka_unit_test(sending_never_waits_for_the_child),
		cmocka_unit_test(descriptors_that_cannot_be_passed_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

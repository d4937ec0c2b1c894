/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_notice.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct pilotlight_notice notice_of(uint32_t kind, const char *text)
{
	struct pilotlight_notice notice = { .version = PILOTLIGHT_NOTICE_VERSION, .kind = kind };

	memcpy(notice.text, text, strlen(text));
	return notice;
}

static int check(const struct pilotlight_notice *notice)
{
	return engine_notice_check(notice, sizeof(*notice));
}

static void notices_of_an_engine_are_received(void **state)
{
	struct pilotlight_notice notice;

	for (uint32_t kind = PILOTLIGHT_NOTICE_READY; kind < PILOTLIGHT_NOTICE_KINDS; kind++) {
		notice = notice_of(kind, "");
		assert_int_equal(check(&notice), 0);
	}
	notice = notice_of(PILOTLIGHT_NOTICE_STATUS, "99 Hz");
	assert_int_equal(check(&notice), 0);
	memset(notice.text, 'x', sizeof(notice.text) - 1);
	assert_int_equal(check(&notice), 0);
}

static void other_messages_are_malformed(void **state)
{
	static const uint32_t others[] = { PILOTLIGHT_NOTICE_READY, PILOTLIGHT_NOTICE_RELOADING,
		PILOTLIGHT_NOTICE_PROGRESS };
	struct pilotlight_notice notice = notice_of(PILOTLIGHT_NOTICE_READY, "");
	unsigned char large[sizeof(notice) + 1] = { 0 };

	memcpy(large, &notice, sizeof(notice));
	assert_int_equal(engine_notice_check(large, sizeof(large)), -EBADMSG);
	assert_int_equal(engine_notice_check(large, sizeof(notice) - 1), -EBADMSG);
	assert_int_equal(engine_notice_check(large, 0), -EBADMSG);
	notice.version = 0;
	assert_int_equal(check(&notice), -EBADMSG);
	notice = notice_of(0, "");
	assert_int_equal(check(&notice), -EBADMSG);
	notice = notice_of(PILOTLIGHT_NOTICE_KINDS, "");
	assert_int_equal(check(&notice), -EBADMSG);
	notice = notice_of(UINT32_MAX, "");
	assert_int_equal(check(&notice), -EBADMSG);
	for (size_t i = 0; i < 3; i++) {
		notice = notice_of(others[i], "text");
		assert_int_equal(check(&notice), -EBADMSG);
	}
	notice = notice_of(PILOTLIGHT_NOTICE_STATUS, "");
	memset(notice.text, 'x', sizeof(notice.text));
	assert_int_equal(check(&notice), -EBADMSG);
}

static void send_with_descriptor(int fd, const struct pilotlight_notice *notice)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)notice, sizeof(*notice) };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(*notice));
}

static void notices_are_returned_one_at_a_time(void **state)
{
	struct pilotlight_notice notice = notice_of(PILOTLIGHT_NOTICE_STATUS, "well"), received;
	int fds[2];

	memset(&received, 0x5a, sizeof(received));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(engine_notice_receive(fds[0], &received), -EAGAIN);
	send_with_descriptor(fds[1], &notice);
	assert_int_equal(send(fds[1], &notice, 12, 0), 12);
	assert_int_equal(send(fds[1], &notice, sizeof(notice), 0), sizeof(notice));
	assert_int_equal(engine_notice_receive(fds[0], &received), -EBADMSG);
	assert_int_equal(engine_notice_receive(fds[0], &received), -EBADMSG);
	assert_int_equal(received.version, 0x5a5a5a5a);
	assert_int_equal(engine_notice_receive(fds[0], &received), 0);
	assert_memory_equal(&received, &notice, sizeof(notice));
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(engine_notice_receive(fds[0], &received), -EPIPE);
	assert_int_equal(close(fds[0]), 0);
	assert_true(engine_notice_receive(-1, &received) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_of_an_engine_are_received),
		cmocka_unit_test(other_messages_are_malformed),
		cmocka_unit_test(notices_are_returned_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

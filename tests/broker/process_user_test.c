/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who answers for processes in user namespaces, as the running kernel tells it. */
#include "broker/process_user.h"

#include "base/cleanup.h"
#include "broker/broker_roots.h"
#include "broker/process_request.h"
#include "pilotlight/broker_request.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CREATOR = 12345, SUBORDINATE = 100000 };

/* A process in namespaces of its own, which waits for its end. */
struct child {
	pid_t pid;
	int process_fd; /* its folder in /proc */
};

/* Ends the process if the kernel allows no namespaces. */
static void enter(unsigned levels, int ready_fd, int mapped_fd)
{
	char byte;

	for (unsigned i = 0; i < levels; i++) {
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(1);
		if (i > 0)
			continue;
		/* The maps of the first one are the parent's to write. */
		if (write(ready_fd, "r", 1) != 1 || read(mapped_fd, &byte, 1) != 1 ||
			setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
			_exit(1);
	}
	(void)!write(ready_fd, "r", 1);
	for (;;)
		(void)pause();
}

static void write_map(pid_t pid, const char *name)
{
	char path[64], map[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)snprintf(map, sizeof(map), "0 %u 65536\n", SUBORDINATE);
	assert_int_equal(write(fd, map, strlen(map)), (ssize_t)strlen(map));
	(void)close(fd);
}

/* False: the kernel allows no namespaces. */
static bool start(uid_t creator, unsigned levels, struct child *ret_child)
{
	int ready[2], mapped[2];
	char path[64], byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(mapped, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ready[0]);
		if (creator != 0 && setresuid(creator, creator, creator) < 0)
			_exit(1);
		enter(levels, ready[1], mapped[0]);
	}
	(void)close(ready[1]);
	ret_child->pid = pid;
	if (levels > 0 && read(ready[0], &byte, 1) == 1) {
		write_map(pid, "uid_map");
		write_map(pid, "gid_map");
		assert_int_equal(write(mapped[1], "m", 1), 1);
	}
	levels = (unsigned)read(ready[0], &byte, 1);
	(void)close(ready[0]);
	(void)close(mapped[0]);
	(void)close(mapped[1]);
	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	ret_child->process_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(ret_child->process_fd >= 0);
	return levels == 1;
}

static void stop(struct child *child)
{
	(void)kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
	(void)close(child->process_fd);
}

/* For whom its requests count. */
static uint64_t user_of_requests(const struct child *child)
{
	const struct pilotlight_broker_request request = { .pid = child->pid };
	struct broker_roots roots;
	uint64_t user;

	assert_int_equal(broker_roots_init(&roots, NULL), 0);
	user = process_request_user(&roots, &request);
	broker_roots_done(&roots);
	return user;
}

static void creators_answer_for_their_namespaces(void **state)
{
	static const struct {
		uid_t creator;
		unsigned levels;
		int result;
	} cases[] = {
		{ CREATOR, 0, -ENODATA },
		{ CREATOR, 1, 0 },
		{ CREATOR, 2, 0 },
		/* As a container with subordinate uids that a service of root has made. */
		{ 0, 1, -ENODATA },
		{ 0, 2, -ENODATA },
	};

	if (geteuid() != 0) {
		print_message("skipped: only root becomes another user\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uid_t user = 7;
		struct child child;

		if (!start(cases[i].creator, cases[i].levels, &child)) {
			stop(&child);
			print_message("skipped: no user namespaces here\n");
			skip();
		}
		assert_int_equal(
			process_user_find_creator(child.process_fd, &user), cases[i].result);
		assert_int_equal(user, cases[i].result == 0 ? CREATOR : 7);
		assert_int_equal(process_user_read(child.process_fd, &user), 0);
		assert_int_equal(user, cases[i].levels > 0 ? SUBORDINATE : CREATOR);
		assert_int_equal(
			user_of_requests(&child), cases[i].creator != 0 ? CREATOR : SUBORDINATE);
		stop(&child);
	}
}

static void a_process_that_is_gone_has_no_creator(void **state)
{
	struct child child;
	uid_t user = 7;

	assert_true(start(0, 0, &child));
	(void)kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_true(process_user_find_creator(child.process_fd, &user) < 0);
	assert_true(process_user_read(child.process_fd, &user) < 0);
	assert_int_equal(user, 7);
	(void)close(child.process_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creators_answer_for_their_namespaces),
		cmocka_unit_test(a_process_that_is_gone_has_no_creator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An opener with a test's server: the first byte of each message selects what it does. */
#include "broker/file_opener.h"

#include "base/clock.h"
#include "broker/broker_socket.h"
#include "sandbox/sandbox.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	HERE,
	SERVER,
	MS = 1000000,
};

struct setting {
	size_t descriptors; /* that were open before */
	int epoll_fd;
	int sockets[2];
	struct file_opener opener;
};

/* What an opener has, sent to the test. */
struct possession {
	uint64_t capabilities;
	pid_t self;
	bool has_standard_error;
};

static uint64_t own_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets) < 0)
		return UINT64_MAX;
	return (uint64_t)(sets[1].effective | sets[1].permitted) << 32 |
	       (sets[0].effective | sets[0].permitted);
}

/* --- the opener --------------------------------------------------------------------------------
 */

static bool leads_nowhere(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
	       status.st_rdev == makedev(1, 3);
}

static void send_possession(int socket_fd)
{
	const struct possession own = {
		.capabilities = own_capabilities(),
		.self = getpid(),
		.has_standard_error = !leads_nowhere(STDERR_FILENO),
	};

	(void)send(socket_fd, &own, sizeof(own), MSG_NOSIGNAL);
}

static int serve(void *context, int socket_fd)
{
	const struct file_opener *opener = context;
	struct broker_message message;
	char word = 0;
	int r = broker_socket_peek(socket_fd, &word, 1, &message);

	if (r < 0)
		return r;
	if (word == 'o')
		return file_opener_hand_over(opener);
	if (file_opener_begin(opener) < 0)
		return -EIO;
	if (word == 'h')
		(void)poll(NULL, 0, -1);
	/* The filter does. */
	if (word == 'k')
		(void)kill(getpid(), 0);
	if (word == 'p')
		send_possession(socket_fd);
	else
		(void)send(socket_fd, &word, 1, MSG_NOSIGNAL);
	file_opener_end(opener);
	r = broker_socket_receive(socket_fd, &word, 1, 0, &message);
	return word == 'q' ? -EPIPE : r;
}

/* --- an opener of the test's -------------------------------------------------------------------
 */

static int set_up_with(void **state, uint64_t timeout_ns)
{
	struct setting *setting = calloc(1, sizeof(*setting));

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	setting->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(setting->epoll_fd >= 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, setting->sockets), 0);
	file_opener_init(&setting->opener, setting->epoll_fd, timeout_ns, NULL);
	*state = setting;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, 3600ULL * NSEC_PER_SEC);
}

static int set_up_hasty(void **state)
{
	return set_up_with(state, 20 * MS);
}

static int tear_down(void **state)
{
	struct setting *setting = *state;

	file_opener_done(&setting->opener);
	(void)close(setting->epoll_fd);
	(void)close(setting->sockets[HERE]);
	(void)close(setting->sockets[SERVER]);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static void start(struct setting *setting)
{
	assert_int_equal(file_opener_start(&setting->opener, setting->sockets[SERVER], serve,
				 &setting->opener),
		0);
	assert_true(file_opener_is_running(&setting->opener));
}

static void say(struct setting *setting, char word)
{
	send_message(setting->sockets[HERE], &word, 1, -1, 0);
}

static void assert_echo(struct setting *setting, char word)
{
	char answer = 0;

	assert_int_equal(recv(setting->sockets[HERE], &answer, 1, 0), 1);
	assert_int_equal(answer, word);
}

static enum file_opener_event next_event(struct setting *setting)
{
	enum file_opener_event event;
	struct epoll_event ready;

	while ((event = file_opener_run(&setting->opener)) == FILE_OPENER_NOTHING)
		assert_true(epoll_wait(setting->epoll_fd, &ready, 1, -1) == 1 || errno == EINTR);
	return event;
}

/* The message that the opener left in the socket for the server. */
static void assert_left(struct setting *setting, char expected)
{
	struct broker_message message;
	char word = 0;

	assert_int_equal(broker_socket_receive(setting->sockets[SERVER], &word, 1, 0, &message), 0);
	assert_int_equal(word, expected);
	assert_int_equal(
		broker_socket_receive(setting->sockets[SERVER], &word, 1, 0, &message), -EAGAIN);
}

/* That was answered, too, and is there until its file is closed. */
static void wait_until_nothing_is_left(struct setting *setting)
{
	struct broker_message message;
	char word;

	while (broker_socket_peek(setting->sockets[SERVER], &word, 1, &message) == 0)
		(void)sched_yield();
}

static void an_opener_serves_messages(void **state)
{
	struct setting *setting = *state;
	struct epoll_event ready;

	assert_false(file_opener_is_running(&setting->opener));
	assert_int_equal(file_opener_run(&setting->opener), FILE_OPENER_NOTHING);
	say(setting, 'a');
	start(setting);
	assert_echo(setting, 'a');
	say(setting, 'b');
	say(setting, 'c');
	assert_echo(setting, 'b');
	assert_echo(setting, 'c');
	/* Nothing of that is the server's. */
	assert_int_equal(epoll_wait(setting->epoll_fd, &ready, 1, 0), 0);
	assert_int_equal(file_opener_run(&setting->opener), FILE_OPENER_NOTHING);
}

static size_t descriptors_of(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	assert_int_equal(closedir(folder), 0);
	return count;
}

/* A number of /proc/PID/status. */
static int status_of(pid_t pid, const char *key)
{
	char path[64], line[256];
	int value = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			value = atoi(line + strlen(key));
	assert_int_equal(fclose(file), 0);
	return value;
}

static void an_opener_has_only_its_descriptors_and_capabilities(void **state)
{
	const uint64_t needed = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
				1ULL << CAP_CHECKPOINT_RESTORE | 1ULL << CAP_SYSLOG;
	struct setting *setting = *state;
	int standard_error = dup(STDERR_FILENO), pipe_fds[2];
	struct possession own;

	assert_true(standard_error >= 0);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(dup2(pipe_fds[1], STDERR_FILENO), STDERR_FILENO);
	say(setting, 'p');
	start(setting);
	assert_int_equal(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
	(void)close(standard_error);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	assert_int_equal(recv(setting->sockets[HERE], &own, sizeof(own), 0), sizeof(own));
	assert_int_equal(own.capabilities, own_capabilities() & needed);
	assert_int_equal(own.self, setting->opener.processes[0].pid);
	assert_int_equal(getsid(own.self), own.self);
	/* The standard ones, the socket, the server, the timer. */
	assert_int_equal(descriptors_of(own.self), 6);
	assert_int_equal(status_of(own.self, "NoNewPrivs:"), 1);
	assert_int_equal(status_of(own.self, "Seccomp:"), 2);
	/* A reader of the server's standard error must see its end. */
	assert_int_equal(own.has_standard_error, SANDBOX_HAS_SANITIZER);
}

static void an_opener_hands_messages_to_the_server(void **state)
{
	struct setting *setting = *state;

	say(setting, 'o');
	say(setting, 'a');
	start(setting);
	assert_int_equal(next_event(setting), FILE_OPENER_HANDS_OVER);
	/* It waits until the message is gone. */
	{
		struct broker_message message;
		char word = 0;

		assert_int_equal(
			broker_socket_receive(setting->sockets[SERVER], &word, 1, 0, &message), 0);
		assert_int_equal(word, 'o');
	}
	file_opener_hand_back(&setting->opener);
	assert_echo(setting, 'a');
}

static void a_late_opener_is_killed(void **state)
{
	struct setting *setting = *state;

	say(setting, 'h');
	start(setting);
	assert_int_equal(next_event(setting), FILE_OPENER_LATE);
	assert_false(file_opener_is_running(&setting->opener));
	assert_int_equal(setting->opener.timeouts, 1);
	assert_int_equal(setting->opener.timer_fd, -1);
	assert_left(setting, 'h');
	/* Another one goes on, with nothing of that one's time. */
	setting->opener.timeout_ns = 3600ULL * NSEC_PER_SEC;
	say(setting, 'a');
	start(setting);
	assert_echo(setting, 'a');
	assert_int_equal(file_opener_run(&setting->opener), FILE_OPENER_NOTHING);
}

/* The time stays shortened until a minute after the first timeout, and never becomes zero. */
static void timeouts_shorten_the_next_request(void **state)
{
	struct setting *setting = *state;
	struct itimerspec timer;
	uint64_t first_ns = 0;

	for (int i = 0; i < 4; i++) {
		say(setting, 'h');
		start(setting);
		assert_int_equal(next_event(setting), FILE_OPENER_LATE);
		assert_left(setting, 'h');
		if (i == 0)
			first_ns = setting->opener.first_timeout_ns;
	}
	/* Those that followed have not put that off. */
	assert_int_equal(setting->opener.first_timeout_ns, first_ns);
	assert_int_equal(setting->opener.timeouts, 2);
	setting->opener.timeout_ns = 1600ULL * NSEC_PER_SEC;
	start(setting);
	assert_int_equal(file_opener_begin(&setting->opener), 0);
	assert_int_equal(timerfd_gettime(setting->opener.timer_fd, &timer), 0);
	assert_true(timer.it_value.tv_sec > 0 && timer.it_value.tv_sec <= 100);
	setting->opener.first_timeout_ns -= 61ULL * NSEC_PER_SEC;
	assert_int_equal(file_opener_begin(&setting->opener), 0);
	assert_int_equal(timerfd_gettime(setting->opener.timer_fd, &timer), 0);
	assert_true(timer.it_value.tv_sec > 100);
	file_opener_end(&setting->opener);
}

static void the_end_of_an_opener_is_reported(void **state)
{
	struct setting *setting = *state;

	/* As it is killed over a message, and in between. */
	say(setting, 'k');
	start(setting);
	assert_int_equal(next_event(setting), FILE_OPENER_FAILED);
	assert_left(setting, 'k');
	say(setting, 'a');
	start(setting);
	assert_echo(setting, 'a');
	wait_until_nothing_is_left(setting);
	assert_int_equal(kill(setting->opener.processes[0].pid, SIGKILL), 0);
	assert_int_equal(next_event(setting), FILE_OPENER_FAILED);
	assert_false(file_opener_is_running(&setting->opener));
	/* As it ends by itself, and as its client does. */
	say(setting, 'q');
	start(setting);
	assert_echo(setting, 'q');
	assert_int_equal(next_event(setting), FILE_OPENER_ENDED);
	start(setting);
	assert_int_equal(shutdown(setting->sockets[HERE], SHUT_WR), 0);
	assert_int_equal(next_event(setting), FILE_OPENER_ENDED);
}

static void an_opener_blocks_signals(void **state)
{
	struct setting *setting = *state;

	say(setting, 'a');
	start(setting);
	assert_echo(setting, 'a');
	assert_int_equal(kill(setting->opener.processes[0].pid, SIGTERM), 0);
	assert_int_equal(kill(setting->opener.processes[0].pid, SIGINT), 0);
	say(setting, 'b');
	assert_echo(setting, 'b');
}

/* Killed ones that do not end, which others stand for. */
static void the_number_of_openers_is_bounded(void **state)
{
	struct setting *setting = *state;
	struct file_opener *opener = &setting->opener;

	for (size_t i = 0; i < FILE_OPENERS_MAX; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
			for (;;)
				(void)pause();
		opener->processes[i].pid = pid;
		opener->processes[i].pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		assert_true(opener->processes[i].pidfd >= 0);
	}
	assert_int_equal(
		file_opener_start(opener, setting->sockets[SERVER], serve, opener), -EAGAIN);
	assert_false(file_opener_is_running(opener));
	/* One that ends makes room, whichever it is. */
	assert_int_equal(kill(opener->processes[7].pid, SIGKILL), 0);
	assert_int_equal(kill(opener->processes[0].pid, SIGKILL), 0);
	while (opener->processes[7].pid > 0 || opener->processes[0].pid > 0)
		assert_int_equal(file_opener_run(opener), FILE_OPENER_NOTHING);
	say(setting, 'a');
	start(setting);
	assert_echo(setting, 'a');
}

static void without_descriptors_no_opener_starts(void **state)
{
	struct setting *setting = *state;

	for (int room = 0; room < 4; room++) {
		struct rlimit before = limit_descriptors(room);

		assert_int_equal(file_opener_start(&setting->opener, setting->sockets[SERVER],
					 serve, &setting->opener),
			-EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_false(file_opener_is_running(&setting->opener));
		/* One that was there already ends. */
		while (setting->opener.processes[0].pid > 0)
			assert_int_equal(file_opener_run(&setting->opener), FILE_OPENER_NOTHING);
	}
	start(setting);
}

#define WITH_OPENER(test)	cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_HASTY_OPENER(test) cmocka_unit_test_setup_teardown(test, set_up_hasty, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_OPENER(an_opener_serves_messages),
		WITH_OPENER(an_opener_has_only_its_descriptors_and_capabilities),
		WITH_OPENER(an_opener_hands_messages_to_the_server),
		WITH_HASTY_OPENER(a_late_opener_is_killed),
		WITH_HASTY_OPENER(timeouts_shorten_the_next_request),
		WITH_OPENER(the_end_of_an_opener_is_reported),
		WITH_OPENER(an_opener_blocks_signals),
		WITH_OPENER(the_number_of_openers_is_bounded),
		WITH_OPENER(without_descriptors_no_opener_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

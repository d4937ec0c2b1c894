/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An opener whose work is the test's: the byte of each message says what it does, and what it was
 * is answered. Then one of a server, with a file system that does not answer, where the kernel lets
 * us have one.
 */
#include "broker/file_opener.h"

#include "base/clock.h"
#include "broker/broker_socket.h"
#include "pilotlight/broker_request.h"
#include "sandbox/sandbox.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
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

/* What an opener has, for the test to look at. */
struct possession {
	uint64_t capabilities;
	size_t descriptors;
	pid_t session, self;
	bool has_new_privileges, has_standard_error;
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
		/* Beside "." and "..", and the folder itself. */
		.descriptors = open_descriptors() - 3,
		.session = getsid(0),
		.self = getpid(),
		.has_standard_error = !leads_nowhere(STDERR_FILENO),
		.has_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1,
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
		(void)pause();
	if (word == 'k')
		(void)kill(getpid(), SIGKILL);
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

/* What the server finds of the message that the opener has left. */
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
	assert_int_equal(own.session, own.self);
	/* The standard ones, the socket, the server, the timer. */
	assert_int_equal(own.descriptors, 6);
	assert_false(own.has_new_privileges);
	/* Who reads the server's errors sees their end. */
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

/* The time is not what it was until a minute after the first, and never becomes nothing. */
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

/* --- that of a server --------------------------------------------------------------------------
 */

/* A file system of which nobody ever answers a word. */
struct dead_files {
	char folder[64], file[96];
	int fd; /* of who should answer */
};

/* Returns false where nobody lets us mount. */
static bool mount_dead_files(struct dead_files *files)
{
	char options[128];

	files->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (files->fd < 0)
		return false;
	strcpy(files->folder, "/tmp/file_opener_test.XXXXXX");
	assert_non_null(mkdtemp(files->folder));
	(void)snprintf(files->file, sizeof(files->file), "%s/file", files->folder);
	(void)snprintf(options, sizeof(options),
		"fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", files->fd, getuid(),
		getgid());
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("dead", files->folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0)
		return true;
	(void)close(files->fd);
	(void)rmdir(files->folder);
	return false;
}

static void unmount_dead_files(struct dead_files *files)
{
	assert_int_equal(umount2(files->folder, MNT_DETACH), 0);
	assert_int_equal(close(files->fd), 0);
	assert_int_equal(rmdir(files->folder), 0);
}

static struct pilotlight_broker_request request_of(
	uint64_t number, enum pilotlight_broker_operation operation)
{
	struct pilotlight_broker_request request;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_BROKER_VERSION;
	request.operation = operation;
	request.number = number;
	return request;
}

static void ask_for_path(int fd, uint64_t number, const char *path)
{
	struct pilotlight_broker_request request = request_of(number, PILOTLIGHT_BROKER_PATH);

	request.has_path = 1;
	strcpy(request.path, path);
	send_message(fd, &request, sizeof(request), -1, 0);
}

static void ask_for_child(int fd, uint64_t number)
{
	struct pilotlight_broker_request request =
		request_of(number, PILOTLIGHT_BROKER_START_CHILD);

	request.file = BROKER_CHILD_ANSWER;
	send_message(fd, &request, sizeof(request), -1, 0);
}

/* Runs the server until the answer is there. Returns its result, with its descriptors closed. */
static int answer_of(struct broker_server *server, int fd, uint64_t number)
{
	struct pollfd waited[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = broker_server_poll_fd(server), .events = POLLIN },
	};
	struct pilotlight_broker_answer answer;
	struct broker_message message;

	while (broker_socket_receive(fd, &answer, sizeof(answer), 2, &message) == -EAGAIN) {
		assert_true(poll(waited, 2, -1) > 0 || errno == EINTR);
		assert_int_equal(broker_server_run(server), 0);
	}
	assert_int_equal(message.size, sizeof(answer));
	assert_int_equal(answer.number, number);
	assert_int_equal(message.passed_fd >= 0, answer.result == 0);
	if (message.passed_fd >= 0)
		(void)close(message.passed_fd);
	if (message.second_fd >= 0)
		(void)close(message.second_fd);
	return answer.result;
}

static pid_t only_child(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	pid_t pid = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	(void)fclose(file);
	return pid;
}

static void a_server_survives_a_hung_file_system(void **state)
{
	const struct broker_options options = { .request_timeout_ns = 50 * MS };
	const struct broker_server_counters *counters;
	struct broker_server *server;
	struct dead_files files;
	int pair[2];

	(void)state;
	if (!mount_dead_files(&files)) {
		print_message("skipped: no file system can be mounted here\n");
		skip();
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(broker_server_new(pair[SERVER], &options, &server), 0);
	counters = broker_server_counters(server);
	ask_for_path(pair[HERE], 1, "/proc/self/exe");
	assert_int_equal(answer_of(server, pair[HERE], 1), -ELOOP);
	ask_for_path(pair[HERE], 2, files.file);
	ask_for_path(pair[HERE], 3, "/no/such/file");
	assert_int_equal(answer_of(server, pair[HERE], 2), -ETIMEDOUT);
	assert_int_equal(answer_of(server, pair[HERE], 3), -ENOENT);
	ask_for_child(pair[HERE], 4);
	assert_int_equal(answer_of(server, pair[HERE], 4), 0);
	ask_for_path(pair[HERE], 5, files.file);
	assert_int_equal(answer_of(server, pair[HERE], 5), -ETIMEDOUT);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_LATE], 2);
	assert_int_equal(counters->refused[PILOTLIGHT_BROKER_PATH], 4);
	assert_int_equal(counters->opened[PILOTLIGHT_BROKER_START_CHILD], 1);
	/* It ends with a request of its client's under way. */
	ask_for_path(pair[HERE], 6, files.file);
	assert_int_equal(broker_server_run(server), 0);
	broker_server_free(server);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(close(pair[HERE]), 0);
	unmount_dead_files(&files);
}

/*
 * Holds a process as a file system would: killed, it has not ended for its parent while somebody
 * else traces it. Returns who does, or 0 where nobody may.
 */
static pid_t hold(pid_t held)
{
	char byte = 0;
	int pipe_fds[2];
	pid_t pid;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
			ptrace(PTRACE_SEIZE, held, NULL, NULL) < 0 ||
			write(pipe_fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) != 1) {
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		pid = 0;
	}
	(void)close(pipe_fds[0]);
	return pid;
}

static void let_go(pid_t holder)
{
	assert_int_equal(kill(holder, SIGKILL), 0);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
}

/* It counts for the next server, which waits for its end. */
static void a_hung_opener_outlives_its_server(void **state)
{
	struct file_opener_lost lost = { .count = 0 };
	const struct broker_options options = {
		.request_timeout_ns = 3600ULL * NSEC_PER_SEC,
		.lost_openers = &lost,
	};
	const size_t before = open_descriptors();
	struct broker_server *server;
	pid_t opener = 0, holder = 0;

	(void)state;
	for (uint64_t number = 1; number <= 3; number++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(broker_server_new(pair[SERVER], &options, &server), 0);
		assert_int_equal(lost.count, 0);
		ask_for_path(pair[HERE], number, "/no/such/file");
		assert_int_equal(answer_of(server, pair[HERE], number), -ENOENT);
		if (number == 1) {
			opener = only_child();
			holder = hold(opener);
		}
		if (number == 3) {
			let_go(holder);
			while (kill(opener, 0) == 0)
				assert_int_equal(broker_server_run(server), 0);
			assert_int_equal(errno, ESRCH);
		}
		broker_server_free(server);
		assert_int_equal(close(pair[HERE]), 0);
		if (holder == 0) {
			print_message("skipped: nobody can be traced here\n");
			skip();
		}
		assert_int_equal(lost.count, number < 3 ? 1 : 0);
		assert_int_equal(lost.pids[0], opener);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(open_descriptors(), before);
}

/* Where it cannot have another process it opens nothing, and starts children all the same. */
static void a_server_without_an_opener_refuses(void **state)
{
	const struct broker_options options = { .request_timeout_ns = 3600ULL * NSEC_PER_SEC };
	struct broker_server *server;
	struct rlimit before;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(broker_server_new(pair[SERVER], &options, &server), 0);
	before = limit_descriptors(0);
	ask_for_path(pair[HERE], 1, "/no/such/file");
	assert_int_equal(answer_of(server, pair[HERE], 1), -EAGAIN);
	ask_for_child(pair[HERE], 2);
	assert_int_equal(answer_of(server, pair[HERE], 2), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	ask_for_path(pair[HERE], 3, "/no/such/file");
	assert_int_equal(answer_of(server, pair[HERE], 3), -ENOENT);
	assert_int_equal(broker_server_counters(server)->refusals[BROKER_REFUSAL_EXHAUSTED], 2);
	assert_int_equal(close(pair[HERE]), 0);
	while (broker_server_run(server) == 0) {
		struct pollfd waited = { .fd = broker_server_poll_fd(server), .events = POLLIN };

		assert_true(poll(&waited, 1, -1) > 0 || errno == EINTR);
	}
	broker_server_free(server);
}

/* An opener that is gone over a request is not to be the end of the next one. */
static void a_request_that_kills_is_answered(void **state)
{
	const struct broker_options options = { .request_timeout_ns = 3600ULL * NSEC_PER_SEC };
	struct broker_server *server;
	struct dead_files files;
	pid_t opener;
	int pair[2];

	(void)state;
	if (!mount_dead_files(&files)) {
		print_message("skipped: no file system can be mounted here\n");
		skip();
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(broker_server_new(pair[SERVER], &options, &server), 0);
	ask_for_path(pair[HERE], 1, files.file);
	assert_int_equal(broker_server_run(server), 0);
	opener = only_child();
	assert_int_equal(kill(opener, SIGKILL), 0);
	assert_int_equal(answer_of(server, pair[HERE], 1), -EIO);
	ask_for_path(pair[HERE], 2, "/no/such/file");
	assert_int_equal(answer_of(server, pair[HERE], 2), -ENOENT);
	broker_server_free(server);
	assert_int_equal(close(pair[HERE]), 0);
	unmount_dead_files(&files);
}

static void failing_allocations_are_reported(void **state)
{
	const struct broker_options options = { .request_timeout_ns = NSEC_PER_SEC };
	struct broker_server *server = NULL;
	size_t before = open_descriptors(), n;
	int pair[2], r;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (n = 0;; n++) {
		fail_allocation(n);
		r = broker_server_new(pair[SERVER], &options, &server);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(open_descriptors(), before + 2);
	}
	assert_int_equal(r, 0);
	broker_server_free(server);
	assert_int_equal(close(pair[HERE]), 0);
	assert_int_equal(open_descriptors(), before);
}

#define WITH_OPENER(test)	cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_HASTY_OPENER(test) cmocka_unit_test_setup_teardown(test, set_up_hasty, tear_down)

int main(int argc, char **argv)
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
		cmocka_unit_test(a_server_survives_a_hung_file_system),
		cmocka_unit_test(a_hung_opener_outlives_its_server),
		cmocka_unit_test(a_server_without_an_opener_refuses),
		cmocka_unit_test(a_request_that_kills_is_answered),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	(void)argv;
	/* A child of the server, which ends at once. */
	if (argc > 1)
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

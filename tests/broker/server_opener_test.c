/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A broker_server with its opener beside a file system that never answers, if the kernel lets the
 * test mount one.
 */
#include "broker/broker_server.h"

#include "base/clock.h"
#include "broker/broker_socket.h"
#include "broker/file_opener.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	HERE,
	SERVER,
	MS = 1000000,
};

/* A FUSE file system whose server never answers. */
struct dead_files {
	char folder[64], file[96];
	int fd; /* of the server */
};

/* Returns false if mounting is not permitted. */
static bool mount_dead_files(struct dead_files *files)
{
	char options[128];

	files->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (files->fd < 0)
		return false;
	strcpy(files->folder, "/tmp/server_opener_test.XXXXXX");
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
	assert_int_equal(message.fd_count > 0, answer.result == 0);
	broker_message_close(&message);
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
 * Holds a process as a hung file system would: a tracer keeps its end from its parent after it is
 * killed. Returns the tracer, or 0 if tracing is not permitted.
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

/* Without an opener the server refuses files, but still starts children. */
static void a_server_without_an_opener_refuses(void **state)
{
	const struct broker_options options = { .request_timeout_ns = 3600ULL * NSEC_PER_SEC };
	struct broker_server *server;
	struct rlimit before;
	int pair[2];

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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of the broker's opener, and of the service that opens perf events. */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>

static int socket_fds[2], timer_fd;

static int forbid(void)
{
	static const int kept[] = { CAP_DAC_READ_SEARCH };
	int r = sandbox_keep_capabilities(kept, ARRAY_SIZE(kept));

	return r == 0 ? sandbox_forbid_opener() : r;
}

static void opens_and_answers(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	const struct itimerspec time = { .it_value = { .tv_sec = 60 } };
	struct pollfd waited = { .fd = socket_fds[1], .events = POLLIN };
	int found_fd = (int)syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how));
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct statfs system;
	struct stat status;
	char bytes[64];
	uid_t user;

	REQUIRE(fd >= 0);
	REQUIRE(found_fd >= 0 || errno == ENOSYS);
	REQUIRE(fstat(fd, &status) == 0 && fstatfs(fd, &system) == 0);
	REQUIRE(stat("/proc/self/ns/user", &status) == 0 || errno == ENOENT);
	REQUIRE(readlinkat(AT_FDCWD, "/proc/self/exe", bytes, sizeof(bytes)) > 0);
	REQUIRE(pread(fd, bytes, 4, 0) == 4 && read(fd, bytes, 4) == 4);
	REQUIRE(timerfd_settime(timer_fd, 0, &time, NULL) == 0);
	REQUIRE(send(socket_fds[0], "x", 1, MSG_NOSIGNAL) == 1);
	REQUIRE(poll(&waited, 1, -1) == 1);
	REQUIRE(recv(socket_fds[1], bytes, 1, 0) == 1);
	REQUIRE(sandbox_lower_capability(CAP_DAC_READ_SEARCH) == 0);
	(void)sandbox_raise_capability(CAP_DAC_READ_SEARCH);
	free(malloc(1 << 20));
	REQUIRE(close(fd) == 0);
	fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd < 0 || ioctl(fd, NS_GET_OWNER_UID, &user) == 0);
	REQUIRE(fd < 0 || ioctl(fd, NS_GET_PARENT) >= 0 || errno == EPERM);
}

static void opens_for_writing(void)
{
	(void)!open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static void makes_a_file(void)
{
	(void)!open("/tmp/sandbox_opener_test", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void truncates(void)
{
	(void)!open("/dev/null", O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static void removes(void)
{
	(void)unlink("/tmp/sandbox_opener_test/none");
}

static void changes_a_mode(void)
{
	(void)fchmod(socket_fds[0], 0666);
}

static void makes_a_socket(void)
{
	(void)!socket(AF_UNIX, SOCK_STREAM, 0);
}

static void forks(void)
{
	(void)fork();
}

static void executes(void)
{
	char *const arguments[] = { "true", NULL };

	(void)execv("/bin/true", arguments);
}

static void maps_code(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void traces(void)
{
	(void)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static void reads_memory(void)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };

	(void)!process_vm_readv(getppid(), &part, 1, &part, 1, 0);
}

static void kills(void)
{
	(void)kill(getppid(), 0);
}

static void controls(void)
{
	int waiting;

	(void)ioctl(socket_fds[0], FIONREAD, &waiting);
}

static void an_opener_works(void **state)
{
	assert_passes(forbid, opens_and_answers);
}

static void all_other_calls_kill(void **state)
{
	static void (*const trials[])(void) = { opens_for_writing, makes_a_file, truncates, removes,
		changes_a_mode, makes_a_socket, forks, executes, maps_code, traces, reads_memory,
		kills, controls };

	for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
		assert_dies_of(SIGSYS, forbid, trials[i]);
}

static void opens_events_and_answers(void)
{
	struct perf_event_attr event = {
		.size = sizeof(event), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY
	};
	struct pollfd waited = { .fd = socket_fds[1], .events = POLLIN };
	char byte;

	/* The kernel may refuse it, but the filter does not. */
	(void)syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	REQUIRE(send(socket_fds[0], "x", 1, MSG_NOSIGNAL) == 1);
	REQUIRE(poll(&waited, 1, -1) == 1);
	REQUIRE(recvmsg(socket_fds[1],
			&(struct msghdr){ .msg_iov = &(struct iovec){ &byte, 1 }, .msg_iovlen = 1 },
			0) == 1);
	free(malloc(1 << 20));
}

static void opens_for_reading(void)
{
	(void)!open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static void changes_capabilities(void)
{
	(void)sandbox_raise_capability(CAP_SYS_ADMIN);
}

static void an_event_service_works(void **state)
{
	assert_passes(sandbox_forbid_event_service, opens_events_and_answers);
}

static void an_event_service_does_nothing_else(void **state)
{
	static void (*const trials[])(void) = { opens_for_reading, opens_for_writing, makes_a_file,
		removes, changes_a_mode, makes_a_socket, forks, executes, maps_code, traces,
		reads_memory, kills, controls, changes_capabilities };

	for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
		assert_dies_of(SIGSYS, sandbox_forbid_event_service, trials[i]);
}

static int set_up(void **state)
{
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return timer_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socket_fds) < 0
		       ? -1
		       : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opener_works),
		cmocka_unit_test(all_other_calls_kill),
		cmocka_unit_test(an_event_service_works),
		cmocka_unit_test(an_event_service_does_nothing_else),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

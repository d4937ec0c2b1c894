/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of a worker. */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The open descriptors of a trial. */
static int file_fd, socket_fds[2];

static int drop_privileges(void)
{
	return sandbox_drop_privileges(SANDBOX_ROOT_FAILS);
}

/* As a worker does it. */
static int forbid(void)
{
	const struct sandbox_limits limits = { .descriptors = 1 };
	int r;

	r = drop_privileges();
	if (r == 0)
		r = sandbox_limit(&limits);
	return r == 0 ? sandbox_forbid_calls() : r;
}

static void works_with_what_it_has(void)
{
	char text[16] = "";
	struct stat stat;
	char *memory;

	REQUIRE(ftruncate(file_fd, 0) == 0);
	REQUIRE(pwrite(file_fd, "hello", 5, 0) == 5);
	REQUIRE(pread(file_fd, text, sizeof(text), 0) == 5 && strcmp(text, "hello") == 0);
	REQUIRE(lseek(file_fd, 0, SEEK_END) == 5);
	REQUIRE(ftruncate(file_fd, 8192) == 0);
	REQUIRE(fallocate(file_fd, 0, 0, 65536) == 0);
	REQUIRE(fallocate(file_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0);
	REQUIRE(fstat(file_fd, &stat) == 0 && stat.st_size == 65536);
	REQUIRE(fdatasync(file_fd) == 0);
	REQUIRE(fcntl(file_fd, F_GETFD) >= 0);
	memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
	REQUIRE(memory != MAP_FAILED);
	memory[65535] = 1;
	REQUIRE(munmap(memory, 65536) == 0);
	memory = malloc(50 << 20);
	REQUIRE(memory);
	memory[49 << 20] = 1;
	memory = realloc(memory, 60 << 20);
	REQUIRE(memory && memory[49 << 20] == 1);
	free(memory);
	REQUIRE(send(socket_fds[1], "done", 4, MSG_NOSIGNAL) == 4);
}

static void is_refused_names(void)
{
	char text[16];
	struct stat status;

	REQUIRE(open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM);
	REQUIRE(openat(AT_FDCWD, "/etc/passwd", O_RDONLY) < 0 && errno == EPERM);
	REQUIRE(!fopen("/etc/passwd", "re") && errno == EPERM);
	REQUIRE(stat("/etc/passwd", &status) < 0 && errno == EPERM);
	REQUIRE(access("/etc/passwd", R_OK) < 0 && errno == EPERM);
	REQUIRE(readlink("/proc/self/exe", text, sizeof(text)) < 0 && errno == EPERM);
	REQUIRE(!isatty(0) && errno == EPERM);
}

static void makes_a_socket(void)
{
	(void)socket(AF_INET, SOCK_STREAM, 0);
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
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_fd, 0);
}

static void makes_code(void)
{
	static _Alignas(4096) char page[4096];

	(void)mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static void maps_uncounted_memory(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void maps_a_stack(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
		-1, 0);
}

static void takes_uncounted_disk(void)
{
	(void)fallocate(file_fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
}

static void duplicates(void)
{
	(void)!dup(file_fd);
}

static void changes_flags(void)
{
	(void)fcntl(file_fd, F_SETFL, O_APPEND);
}

static void raises_a_limit(void)
{
	const struct rlimit limit = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &limit);
}

static void kills(void)
{
	(void)kill(getpid(), SIGTERM);
}

static void traces(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void open_files_can_be_used(void **state)
{
	assert_passes(forbid, works_with_what_it_has);
	assert_passes(forbid, is_refused_names);
}

static void all_other_calls_kill(void **state)
{
	static void (*const trials[])(void) = { makes_a_socket, forks, executes, maps_code,
		makes_code, maps_uncounted_memory, maps_a_stack, takes_uncounted_disk, duplicates,
		changes_flags, raises_a_limit, kills, traces };

	for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
		assert_dies_of(SIGSYS, forbid, trials[i]);
}

static int forbid_with_signals(void)
{
	(void)signal(SIGABRT, SIG_DFL);
	return forbid();
}

static void an_abort_is_reported_as_sigabrt(void **state)
{
	assert_dies_of(SIGABRT, forbid_with_signals, abort);
}

static int set_up(void **state)
{
	file_fd = memfd_create("test", MFD_CLOEXEC);
	return file_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socket_fds) < 0
		       ? -1
		       : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_files_can_be_used),
		cmocka_unit_test(all_other_calls_kill),
		cmocka_unit_test(an_abort_is_reported_as_sigabrt),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each trial is a process of its own, as an engine is. */
#include "tools/record/record_sandbox.h"

#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { LANDLOCK_CREATE_RULESET = 444 }; /* a system call that headers may not know */

static char folder[] = "/tmp/record-sandbox-test.XXXXXX";

/* Checks a trial; a failure prints the line. */
#define REQUIRE(condition)                                                           \
	do {                                                                         \
		if (!(condition)) {                                                  \
			static const char failure_[] = "not so: " #condition "\n";   \
			(void)!write(STDERR_FILENO, failure_, sizeof(failure_) - 1); \
			_exit(1);                                                    \
		}                                                                    \
	} while (0)

static void try(void (*trial)(int socket_fd))
{
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		trial(pair[1]);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A line of /proc/self/status, as a number of base 16. */
static uint64_t status_of(const char *key)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			return strtoull(line + strlen(key) + 1, NULL, 16);
	return UINT64_MAX;
}

static void drop(int socket_fd)
{
	bool keeps_privileges = true;
	int signal_number = 0;

	REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, NULL) == 0);
	REQUIRE(!keeps_privileges);
	REQUIRE(status_of("CapEff") == 0);
	REQUIRE(status_of("CapPrm") == 0);
	REQUIRE(status_of("CapAmb") == 0);
	REQUIRE(status_of("NoNewPrivs") == 1);
	REQUIRE(prctl(PR_GET_PDEATHSIG, &signal_number, 0, 0, 0) == 0);
	REQUIRE(signal_number == SIGKILL);
	REQUIRE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void privileges_are_dropped(void **state)
{
	try(drop);
}

static void drop_under_another_parent(int socket_fd)
{
	struct fault fault = { 0 };
	bool keeps_privileges;
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, &fault) ==
			-ESRCH);
		REQUIRE(strstr(fault.text, "cannot give up privileges"));
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_child_whose_parent_is_gone_does_not_start(void **state)
{
	try(drop_under_another_parent);
}

static void refuse_maps(int socket_fd)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	uint64_t before = status_of("CapEff");
	bool keeps_privileges = false;

	REQUIRE(context);
	REQUIRE(seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 0) == 0);
	REQUIRE(seccomp_load(context) == 0);
	seccomp_release(context);
	REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, NULL) == 0);
	REQUIRE(keeps_privileges);
	REQUIRE(status_of("CapEff") == before);
}

static void privileges_stay_if_maps_are_refused(void **state)
{
	try(refuse_maps);
}

static bool can_make(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)unlink(path);
	return fd >= 0;
}

static bool can_open(const char *path, int flags)
{
	_cleanup_close_ int fd = open(path, flags | O_CLOEXEC);

	return fd >= 0;
}

static void confine(int socket_fd)
{
	uint64_t key = 0, value;
	bool keeps_privileges;
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/draft", folder);
	REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, NULL) == 0);
	record_sandbox_confine(folder);
	REQUIRE(can_make(path));
	REQUIRE(can_open("/tmp", O_TMPFILE | O_RDWR) || errno == EOPNOTSUPP);
	REQUIRE(can_open("/proc", O_RDONLY | O_DIRECTORY));
	REQUIRE(can_open("/proc/self/maps", O_RDONLY));
	REQUIRE(can_open("/sys/devices/system/cpu/possible", O_RDONLY));
	REQUIRE(bpf_map_lookup_elem(-1, &key, &value) == -EBADF);
	REQUIRE(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	REQUIRE(fork() < 0);
	REQUIRE(kill(getppid(), 0) < 0);
}

static void confine_files(int socket_fd)
{
	bool keeps_privileges;

	REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, NULL) == 0);
	record_sandbox_confine(NULL);
	REQUIRE(!can_open("/etc/passwd", O_RDONLY) && errno == EACCES);
	REQUIRE(!can_open("/proc/1/status", O_RDONLY) && errno == EACCES);
	REQUIRE(!can_make("/dev/shm/record-sandbox-test") && errno == EACCES);
}

/* As a kernel without Landlock answers. */
static void confine_without_landlock(int socket_fd)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	bool keeps_privileges, is_root = geteuid() == 0;
	char text[512] = "";
	int told[2];

	REQUIRE(context);
	REQUIRE(seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), LANDLOCK_CREATE_RULESET, 0) == 0);
	REQUIRE(seccomp_load(context) == 0);
	seccomp_release(context);
	REQUIRE(pipe2(told, O_NONBLOCK) == 0);
	REQUIRE(dup2(told[1], STDERR_FILENO) >= 0);
	REQUIRE(record_sandbox_drop_privileges(socket_fd, &keeps_privileges, NULL) == 0);
	REQUIRE(geteuid() != 0);
	REQUIRE(!can_open(folder, O_RDONLY | O_DIRECTORY) == is_root);
	record_sandbox_confine(NULL);
	(void)!read(told[0], text, sizeof(text) - 1);
	if (is_root)
		REQUIRE(strstr(text, "Landlock") && strstr(text, "the user nobody"));
	else
		REQUIRE(text[0] == '\0');
}

static void unconfined_root_becomes_nobody(void **state)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		skip();
	try(confine_without_landlock);
}

static void the_sandbox_allows_only_what_an_engine_does(void **state)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		skip();
	try(confine);
}

static void no_file_is_left_but_its_own(void **state)
{
	/* Its version. */
	if (syscall(LANDLOCK_CREATE_RULESET, NULL, 0, 1) < 1) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	try(confine_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(privileges_are_dropped),
		cmocka_unit_test(a_child_whose_parent_is_gone_does_not_start),
		cmocka_unit_test(privileges_stay_if_maps_are_refused),
		cmocka_unit_test(unconfined_root_becomes_nobody),
		cmocka_unit_test(the_sandbox_allows_only_what_an_engine_does),
		cmocka_unit_test(no_file_is_left_but_its_own),
	};
	int r;

	if (!mkdtemp(folder))
		return EXIT_FAILURE;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return r;
}

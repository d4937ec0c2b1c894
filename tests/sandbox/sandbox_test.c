/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* The open descriptors of a trial. */
static int file_fd, socket_fds[2];

/* --- privileges ------------------------------------------------------------------------------- */

static void has_no_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	REQUIRE(!sets[0].effective && !sets[0].permitted && !sets[0].inheritable);
	REQUIRE(!sets[1].effective && !sets[1].permitted && !sets[1].inheritable);
	REQUIRE(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	REQUIRE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	REQUIRE(geteuid() == 0 || setuid(0) < 0);
	/* Root may still use root's own files. */
	REQUIRE(geteuid() == 0 || chown("/proc/self/fd/0", 0, 0) < 0);
}

static uint64_t kept_capabilities(uint64_t *ret_inheritable)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	REQUIRE(sets[0].effective == sets[0].permitted && sets[1].effective == sets[1].permitted);
	*ret_inheritable = (uint64_t)sets[1].inheritable << 32 | sets[0].inheritable;
	return (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	return (uint64_t)sets[1].effective << 32 | sets[0].effective;
}

static int nothing_to_prepare(void)
{
	return 0;
}

/*
 * One capability of each 32-bit word of the kernel's sets; keeping an absent one does not add it.
 */
static void some_capabilities_are_kept(void)
{
	static const int both[] = { CAP_SYS_PTRACE, CAP_SYSLOG }, one[] = { CAP_SYSLOG };
	const uint64_t ptrace = 1ULL << CAP_SYS_PTRACE, syslog = 1ULL << CAP_SYSLOG;
	uint64_t inheritable, before = kept_capabilities(&inheritable);

	REQUIRE(sandbox_keep_capabilities(both, ARRAY_SIZE(both)) == 0);
	REQUIRE(kept_capabilities(&inheritable) == (before & (ptrace | syslog)));
	REQUIRE(inheritable == 0);
	REQUIRE(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	REQUIRE(sandbox_keep_capabilities(one, ARRAY_SIZE(one)) == 0);
	REQUIRE(kept_capabilities(&inheritable) == (before & syslog));
	REQUIRE(sandbox_keep_capabilities(both, ARRAY_SIZE(both)) == 0);
	REQUIRE(kept_capabilities(&inheritable) == (before & syslog));
	REQUIRE(sandbox_lower_capability(CAP_SYSLOG) == 0);
	REQUIRE(sandbox_lower_capability(CAP_SYSLOG) == 0);
	REQUIRE(effective_capabilities() == 0);
	REQUIRE(!sandbox_raise_capability(CAP_SYS_PTRACE));
	REQUIRE(effective_capabilities() == 0);
	REQUIRE(sandbox_raise_capability(CAP_SYSLOG) == !!(before & syslog));
	REQUIRE(!sandbox_raise_capability(CAP_SYSLOG));
	REQUIRE(effective_capabilities() == (before & syslog));
	REQUIRE(sandbox_keep_capabilities(NULL, 0) == 0);
	REQUIRE(kept_capabilities(&inheritable) == 0);
}

static void capabilities_can_be_kept(void **state)
{
	assert_passes(nothing_to_prepare, some_capabilities_are_kept);
}

static void is_nobody(void)
{
	uid_t users[3];
	gid_t groups[3];

	REQUIRE(getresuid(&users[0], &users[1], &users[2]) == 0);
	REQUIRE(getresgid(&groups[0], &groups[1], &groups[2]) == 0);
	for (size_t i = 0; i < 3; i++)
		REQUIRE(users[i] == NOBODY && groups[i] == NOBODY);
	REQUIRE(getgroups(0, NULL) == 0);
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		REQUIRE(prctl(PR_CAPBSET_READ, capability, 0, 0, 0) <= 0);
}

static int drop_privileges(void)
{
	return sandbox_drop_privileges(SANDBOX_ROOT_FAILS);
}

static int become_somebody_first(void)
{
	/* A user namespace may map no user but root. */
	if (geteuid() == 0 && (setgid(1234) < 0 || setuid(1234) < 0) && errno != EINVAL)
		return -errno;
	return drop_privileges();
}

static void privileges_are_dropped(void **state)
{
	assert_passes(drop_privileges, has_no_privileges);
	assert_passes(become_somebody_first, has_no_privileges);
}

static int become_nobody(void)
{
	return setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0
		       ? -errno
		       : 0;
}

static int do_nothing(void)
{
	return 0;
}

static void pass(void)
{
}

static void root_becomes_nobody(void **state)
{
	if (run_trial(become_nobody, pass) != 0) {
		print_message("skipped: only root of a namespace with a nobody can become one\n");
		skip();
	}
	assert_passes(drop_privileges, is_nobody);
}

static int lose_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	sets[capability / 32].effective &= ~(1U << capability % 32);
	sets[capability / 32].permitted &= ~(1U << capability % 32);
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

static int lose_user_changes(void)
{
	return lose_capability(CAP_SETUID);
}

static int lose_group_changes(void)
{
	return lose_capability(CAP_SETGID);
}

static void cannot_stop_being_root(void)
{
	REQUIRE(sandbox_drop_privileges(SANDBOX_ROOT_FAILS) == -EPERM);
}

static void may_stay_root(void)
{
	REQUIRE(sandbox_drop_privileges(SANDBOX_ROOT_STAYS) == 0);
	has_no_privileges();
}

static void root_that_cannot_change_fails(void **state)
{
	static int (*const preparations[])(void) = { lose_user_changes, lose_group_changes };

	if (run_trial(become_nobody, pass) != 0) {
		print_message("skipped: only root of a namespace with a nobody can become one\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(preparations); i++) {
		assert_passes(preparations[i], cannot_stop_being_root);
		assert_passes(preparations[i], may_stay_root);
	}
}

static int write_file(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* In a user namespace that maps only root. */
static int become_lonely_root(void)
{
	char users[32], groups[32];

	(void)snprintf(users, sizeof(users), "0 %u 1", geteuid());
	(void)snprintf(groups, sizeof(groups), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER) < 0 || write_file("/proc/self/setgroups", "deny") < 0 ||
		write_file("/proc/self/uid_map", users) < 0 ||
		write_file("/proc/self/gid_map", groups) < 0)
		return -1;
	return 0;
}

static void drops_what_it_can(void)
{
	REQUIRE(geteuid() == 0);
	REQUIRE(drop_privileges() == 0);
	has_no_privileges();
}

static void root_without_a_nobody_stays(void **state)
{
	if (run_trial(become_lonely_root, pass) != 0) {
		print_message("skipped: user namespaces are refused here\n");
		skip();
	}
	assert_passes(become_lonely_root, drops_what_it_can);
}

static void takes_a_user(void)
{
	REQUIRE(sandbox_drop_privileges_to(1234, 4321) == 0);
	REQUIRE(getuid() == 1234 && geteuid() == 1234 && getgid() == 4321 && getegid() == 4321);
	REQUIRE(getgroups(0, NULL) == 0);
	has_no_privileges();
	/* As a program does that was started so. */
	REQUIRE(sandbox_drop_privileges_to(1234, 4321) == 0);
	REQUIRE(sandbox_drop_privileges_to(0, 0) == -EPERM);
}

static void keeps_its_user(void)
{
	uid_t user = getuid();

	REQUIRE(sandbox_drop_privileges_to(user, getgid()) == 0);
	REQUIRE(getuid() == user);
	has_no_privileges();
}

static void the_user_can_be_chosen(void **state)
{
	assert_passes(do_nothing, keeps_its_user);
	if (run_trial(become_nobody, pass) != 0) {
		print_message("skipped: only root of a namespace with others can become one\n");
		skip();
	}
	assert_passes(do_nothing, takes_a_user);
}

/* Root without capabilities has none in programs that it executes. */
static void executes_without_privileges(void)
{
	char *const arguments[] = { "sh", "-c",
		"while read name value; do case $name in Cap[IPEBA]*) "
		"[ $value = 0000000000000000 ] || exit 3;; esac; done </proc/self/status",
		NULL };

	REQUIRE(sandbox_drop_privileges_to(getuid(), getgid()) == 0);
	(void)execv("/bin/sh", arguments);
	_exit(2);
}

static void programs_inherit_no_privileges(void **state)
{
	if (prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0) != 1 || geteuid() != 0) {
		print_message("skipped: without privileges there is nothing to inherit\n");
		skip();
	}
	assert_passes(do_nothing, executes_without_privileges);
}

static void follows_its_parent(void)
{
	int death_signal = 0;

	REQUIRE(drop_privileges() == 0);
	REQUIRE(sandbox_die_with_parent(socket_fds[1]) == 0);
	REQUIRE(prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0) == 0);
	REQUIRE(death_signal == SIGKILL);
}

static void knows_a_stranger(void)
{
	int sockets[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
	REQUIRE(sandbox_die_with_parent(sockets[0]) == -ESRCH);
	REQUIRE(sandbox_die_with_parent(file_fd) == -ENOTSOCK);
}

static void the_parent_is_the_maker_of_the_socket(void **state)
{
	assert_passes(do_nothing, follows_its_parent);
	assert_passes(do_nothing, knows_a_stranger);
}

/* --- limits ----------------------------------------------------------------------------------- */

static int limit_much(void)
{
	const struct sandbox_limits limits = {
		.memory_bytes = 48 << 20,
		.address_bytes = 1ULL << 33,
		.file_bytes = 10000,
		.stack_bytes = 3 << 20,
		.cpu_s = 1,
		.descriptors = 1,
	};
	int r = drop_privileges();

	return r == 0 ? sandbox_limit(&limits) : r;
}

static int limit_little(void)
{
	const struct sandbox_limits limits = { .has_threads = true };

	return sandbox_limit(&limits);
}

static rlim_t soft_limit(__rlimit_resource_t resource)
{
	struct rlimit limit;

	REQUIRE(getrlimit(resource, &limit) == 0);
	return limit.rlim_cur;
}

static void is_limited(void)
{
	REQUIRE(soft_limit(RLIMIT_CORE) == 0);
	REQUIRE(soft_limit(RLIMIT_FSIZE) == 10000);
	REQUIRE(soft_limit(RLIMIT_STACK) == 3 << 20);
	REQUIRE(soft_limit(RLIMIT_CPU) == 1);
	REQUIRE(fork() < 0 && errno == EAGAIN);
	REQUIRE(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
	REQUIRE(dup(0) < 0 && errno == EMFILE);
	REQUIRE(pwrite(file_fd, "x", 1, 9999) == 1);
}

static void writes_too_much(void)
{
	(void)!pwrite(file_fd, "x", 1, 10000);
}

static void lengthens_too_much(void)
{
	(void)!ftruncate(file_fd, 10001);
}

static void computes_for_ever(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
}

static void has_little_memory(void)
{
	size_t bytes = 64 << 20;
	void *memory;

	REQUIRE(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		MAP_FAILED);
	/* Reserved memory does not count until it is used. */
	memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(mprotect(memory, bytes, PROT_READ | PROT_WRITE) < 0);
	REQUIRE(mprotect(memory, bytes / 4, PROT_READ | PROT_WRITE) == 0);
	REQUIRE(mmap(NULL, 1ULL << 34, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		MAP_FAILED);
}

static void is_hardly_limited(void)
{
	REQUIRE(soft_limit(RLIMIT_CORE) == 0);
	REQUIRE(soft_limit(RLIMIT_FSIZE) == RLIM_INFINITY);
	REQUIRE(soft_limit(RLIMIT_NOFILE) > 3);
	REQUIRE(soft_limit(RLIMIT_NPROC) > 0);
}

static void limits_hold(void **state)
{
	assert_passes(limit_much, is_limited);
	assert_dies_of(SIGXFSZ, limit_much, writes_too_much);
	assert_dies_of(SIGXFSZ, limit_much, lengthens_too_much);
	assert_dies_of(SIGXCPU, limit_much, computes_for_ever);
	assert_passes(limit_little, is_hardly_limited);
}

static void the_memory_limit_holds(void **state)
{
	if (SANDBOX_HAS_SANITIZER) {
		print_message("skipped: a sanitizer's memory cannot be limited\n");
		skip();
	}
	assert_passes(limit_much, has_little_memory);
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
		cmocka_unit_test(privileges_are_dropped),
		cmocka_unit_test(root_becomes_nobody),
		cmocka_unit_test(root_that_cannot_change_fails),
		cmocka_unit_test(root_without_a_nobody_stays),
		cmocka_unit_test(the_user_can_be_chosen),
		cmocka_unit_test(capabilities_can_be_kept),
		cmocka_unit_test(programs_inherit_no_privileges),
		cmocka_unit_test(the_parent_is_the_maker_of_the_socket),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(the_memory_limit_holds),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void filter_release(scmp_filter_ctx filter)
{
	seccomp_release(filter);
}
DEFINE_CLEANUP(void, filter_release);

/* Calls on what is open, and on oneself. */
static const int allowed_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(lseek),
	SCMP_SYS(_llseek),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fdatasync),
	SCMP_SYS(close),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(msync),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#if SANDBOX_HAS_SANITIZER
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(prctl),
	SCMP_SYS(pipe2),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
#endif
};

/* What a library tries, and can do without. */
static const int refused_calls[] = {
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(creat),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(stat),
	SCMP_SYS(stat64),
	SCMP_SYS(lstat),
	SCMP_SYS(lstat64),
	SCMP_SYS(statx),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(ioctl),
};

/* What an unprivileged process has no use for here, and exploits have. */
static const int forbidden_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(setsid),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(fsopen),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(personality),
};

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = seccomp_rule_add(filter, action, calls[i], 0);
	return r;
}

#define ADD_CALLS(filter, action, calls) add_calls((filter), (action), (calls), ARRAY_SIZE(calls))

/* A call that is harmless with some arguments only. */
struct conditional_call {
	int call;
	uint32_t action;
	unsigned int condition_count;
	struct scmp_arg_cmp conditions[2];
};

#define IS(number, value)                                                            \
	{                                                                            \
		.arg = (number), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(value) \
	}
#define HAS_BITS(number, mask, value)                                                            \
	{                                                                                        \
		.arg = (number), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value) \
	}

/*
 * Memory without code, and only such as RLIMIT_DATA counts: not shared anonymous memory, and not
 * mappings that grow as stacks do.
 */
#define MAPPING_KIND (MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_HUGETLB)
#define MAPPING_OF(kind)                                                             \
	{                                                                            \
		SCMP_SYS(mmap), SCMP_ACT_ALLOW, 2,                                   \
		{                                                                    \
			HAS_BITS(2, PROT_EXEC, 0), HAS_BITS(3, MAPPING_KIND, (kind)) \
		}                                                                    \
	}

static const struct conditional_call conditional_calls[] = {
	MAPPING_OF(0),
	MAPPING_OF(MAP_SHARED),
	MAPPING_OF(MAP_ANONYMOUS),
	{ SCMP_SYS(mprotect), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, PROT_EXEC, 0) } },
	/* fstat() is this one, with an empty name. */
	{ SCMP_SYS(newfstatat), SCMP_ACT_ALLOW, 1, { HAS_BITS(3, AT_EMPTY_PATH, AT_EMPTY_PATH) } },
	{ SCMP_SYS(newfstatat), SCMP_ACT_ERRNO(EPERM), 1, { HAS_BITS(3, AT_EMPTY_PATH, 0) } },
	/* A file that keeps its length can take more of the disk than RLIMIT_FSIZE. */
	{ SCMP_SYS(fallocate), SCMP_ACT_ALLOW, 1, { IS(1, 0) } },
	{ SCMP_SYS(fallocate), SCMP_ACT_ALLOW, 1,
		{ IS(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) } },
	{ SCMP_SYS(fcntl), SCMP_ACT_ALLOW, 1, { IS(1, F_GETFD) } },
	{ SCMP_SYS(fcntl), SCMP_ACT_ALLOW, 1, { IS(1, F_GETFL) } },
	{ SCMP_SYS(prlimit64), SCMP_ACT_ALLOW, 2, { IS(0, 0), IS(2, 0) } },
};

/* The arguments are compared as the kernel reads them, by their lower half. */
#define HAS_FLAG(number, flag) HAS_BITS((number), (flag), (flag))
#define CLONE_WITH(flag)                                   \
	{                                                  \
		SCMP_SYS(clone), SCMP_ACT_ERRNO(EPERM), 1, \
		{                                          \
			HAS_FLAG(0, (flag))                \
		}                                          \
	}

static const struct conditional_call forbidden_conditional_calls[] = {
	/* Threads only, as another process would be left when this one is killed. */
	{ SCMP_SYS(clone), SCMP_ACT_ERRNO(EPERM), 1, { HAS_BITS(0, CLONE_THREAD, 0) } },
	CLONE_WITH(CLONE_NEWNS),
	CLONE_WITH(CLONE_NEWCGROUP),
	CLONE_WITH(CLONE_NEWUTS),
	CLONE_WITH(CLONE_NEWIPC),
	CLONE_WITH(CLONE_NEWUSER),
	CLONE_WITH(CLONE_NEWPID),
	CLONE_WITH(CLONE_NEWNET),
	/* Its flags are in memory, where a filter cannot look; libraries then use clone(). */
	{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), 0, {} },
	{ SCMP_SYS(prctl), SCMP_ACT_ERRNO(EPERM), 1,
		{ HAS_BITS(0, UINT32_MAX, PR_SET_PDEATHSIG) } },
};

static int add_conditional_call(scmp_filter_ctx filter, const struct conditional_call *call)
{
	return seccomp_rule_add_array(
		filter, call->action, call->call, call->condition_count, call->conditions);
}

static int add_conditional_calls(scmp_filter_ctx filter)
{
	/* abort() */
	const struct conditional_call kill_oneself = { SCMP_SYS(tgkill), SCMP_ACT_ALLOW, 2,
		{ IS(0, getpid()), IS(2, SIGABRT) } };
	int r = add_conditional_call(filter, &kill_oneself);

	for (size_t i = 0; i < ARRAY_SIZE(conditional_calls) && r == 0; i++)
		r = add_conditional_call(filter, &conditional_calls[i]);
	return r;
}

int sandbox_forbid_calls(void)
{
	_cleanup_(filter_releasep) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!filter)
		return -ENOMEM;
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* Reading is what a worker does most: a search rather than a list. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = ADD_CALLS(filter, SCMP_ACT_ALLOW, allowed_calls);
	if (r == 0)
		r = ADD_CALLS(filter, SCMP_ACT_ERRNO(EPERM), refused_calls);
	if (r == 0)
		r = add_conditional_calls(filter);
	return r == 0 ? seccomp_load(filter) : r;
}

int sandbox_forbid_programs(void)
{
	_cleanup_(filter_releasep) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return -ENOMEM;
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = ADD_CALLS(filter, SCMP_ACT_ERRNO(EPERM), forbidden_calls);
	for (size_t i = 0; i < ARRAY_SIZE(forbidden_conditional_calls) && r == 0; i++)
		r = add_conditional_call(filter, &forbidden_conditional_calls[i]);
	return r == 0 ? seccomp_load(filter) : r;
}

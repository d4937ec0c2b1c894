/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/call_filter.h"

#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sys/mman.h>

static void filter_release(scmp_filter_ctx filter)
{
	seccomp_release(filter);
}
DEFINE_CLEANUP(void, filter_release);

static const int own_call_array[] = {
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
};
const struct call_list own_calls = CALL_LIST(SCMP_ACT_ALLOW, own_call_array);

static const struct conditional_call own_conditional_call_array[] = {
	{ SCMP_SYS(mprotect), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, PROT_EXEC, 0) } },
	{ SCMP_SYS(prlimit64), SCMP_ACT_ALLOW, 2, { IS(0, 0), IS(2, 0) } },
};
const struct conditional_call_list own_conditional_calls =
	CONDITIONAL_CALL_LIST(own_conditional_call_array);

static int add_list(scmp_filter_ctx context, const struct call_list *list)
{
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++)
		r = seccomp_rule_add(context, list->action, list->calls[i], 0);
	return r;
}

static int add_conditional_call(scmp_filter_ctx context, const struct conditional_call *call)
{
	return seccomp_rule_add_array(
		context, call->action, call->call, call->condition_count, call->conditions);
}

static int add_conditional_list(scmp_filter_ctx context, const struct conditional_call_list *list)
{
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++)
		r = add_conditional_call(context, &list->calls[i]);
	return r;
}

/* Allows abort() and raise(). A thread can only be recognized as the process's own by getpid(). */
static int add_own_signal(scmp_filter_ctx context, int signal_number)
{
	const struct conditional_call calls[] = {
		{ SCMP_SYS(tgkill), SCMP_ACT_ALLOW, signal_number > 0 ? 2 : 1,
			{ IS(0, getpid()), IS(2, signal_number) } },
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, 1, { IS(0, getpid()) } },
	};
	int r = 0;

	if (signal_number >= 0)
		r = add_conditional_call(context, &calls[0]);
	if (r == 0 && signal_number == 0)
		r = add_conditional_call(context, &calls[1]);
	return r;
}

int call_filter_load(const struct call_filter *filter)
{
	_cleanup_(filter_releasep) scmp_filter_ctx context = seccomp_init(filter->default_action);
	int r;

	if (!context)
		return -ENOMEM;
	r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A binary search rather than a list, so that read and write, the most frequent calls, stay
	 * cheap. */
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; i < filter->list_count && r == 0; i++)
		r = add_list(context, &filter->lists[i]);
	for (size_t i = 0; i < filter->conditional_list_count && r == 0; i++)
		r = add_conditional_list(context, &filter->conditional_lists[i]);
	if (r == 0)
		r = add_own_signal(context, filter->own_signal);
	return r == 0 ? seccomp_load(context) : r;
}

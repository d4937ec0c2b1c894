/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filters of processes that open files, or perf events, with privileges for others. */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <sys/mman.h>

#if SANDBOX_HAS_SANITIZER
#define SANITIZER_CALLS                                                                  \
	SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack), SCMP_SYS(prctl), SCMP_SYS(pipe2), \
		SCMP_SYS(sched_getaffinity), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
#else
#define SANITIZER_CALLS
#endif

static const int opener_calls[] = {
	/* What is to be opened is in memory; the capabilities do not permit writing. */
	SCMP_SYS(openat2), SCMP_SYS(newfstatat), SCMP_SYS(fstatat64), SCMP_SYS(statx),
	SCMP_SYS(stat), SCMP_SYS(fstatfs), SCMP_SYS(fstatfs64), SCMP_SYS(readlinkat),
	SCMP_SYS(recvfrom), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(timerfd_settime),
	SCMP_SYS(timerfd_settime64), /* a process's context */ SCMP_SYS(memfd_create),
	SCMP_SYS(capget), SCMP_SYS(capset), SANITIZER_CALLS
};

#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC)

static const struct conditional_call opener_conditional_calls[] = {
	{ SCMP_SYS(open), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, WRITING, 0) } },
	{ SCMP_SYS(openat), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, WRITING, 0) } },
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, UINT32_MAX, MAPPING_QUERY) } },
	/* who created a user namespace */
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, UINT32_MAX, NS_GET_PARENT) } },
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, UINT32_MAX, NS_GET_OWNER_UID) } },
	{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, 2,
		{ HAS_BITS(2, PROT_EXEC, 0), HAS_BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS) } },
};

static const int event_service_calls[] = { SCMP_SYS(perf_event_open), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SANITIZER_CALLS };

static const struct conditional_call event_service_conditional_calls[] = {
	{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, 2,
		{ HAS_BITS(2, PROT_EXEC, 0), HAS_BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS) } },
};

static int forbid(
	const struct call_list *calls, const struct conditional_call_list *conditional_calls)
{
	const struct call_list lists[] = { own_calls, *calls };
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		*conditional_calls,
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_KILL_PROCESS,
		.lists = lists,
		.list_count = ARRAY_SIZE(lists),
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
		.own_signal = SIGABRT,
	};

	return call_filter_load(&filter);
}

int sandbox_forbid_opener(void)
{
	const struct call_list calls = CALL_LIST(SCMP_ACT_ALLOW, opener_calls);
	const struct conditional_call_list conditional_calls =
		CONDITIONAL_CALL_LIST(opener_conditional_calls);

	return forbid(&calls, &conditional_calls);
}

int sandbox_forbid_event_service(void)
{
	const struct call_list calls = CALL_LIST(SCMP_ACT_ALLOW, event_service_calls);
	const struct conditional_call_list conditional_calls =
		CONDITIONAL_CALL_LIST(event_service_conditional_calls);

	return forbid(&calls, &conditional_calls);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of a process that needs the network, threads, and files of its own. */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

/* An unprivileged process here never needs these calls; exploits do. */
static const int forbidden_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(setsid),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(pidfd_send_signal),
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

/* Compares the lower half of an argument, as the kernel reads it. */
#define HAS_FLAG(number, flag) HAS_BITS((number), (flag), (flag))
#define CLONE_WITH(flag)                                   \
	{                                                  \
		SCMP_SYS(clone), SCMP_ACT_ERRNO(EPERM), 1, \
		{                                          \
			HAS_FLAG(0, (flag))                \
		}                                          \
	}

static const struct conditional_call forbidden_conditional_calls[] = {
	/* Only threads: a process would survive when this one is killed. */
	{ SCMP_SYS(clone), SCMP_ACT_ERRNO(EPERM), 1, { HAS_BITS(0, CLONE_THREAD, 0) } },
	CLONE_WITH(CLONE_NEWNS),
	CLONE_WITH(CLONE_NEWCGROUP),
	CLONE_WITH(CLONE_NEWUTS),
	CLONE_WITH(CLONE_NEWIPC),
	CLONE_WITH(CLONE_NEWUSER),
	CLONE_WITH(CLONE_NEWPID),
	CLONE_WITH(CLONE_NEWNET),
	/*
	 * Its flags are in memory, which a filter cannot read. With ENOSYS libraries fall back to
	 * clone().
	 */
	{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), 0, {} },
	{ SCMP_SYS(prctl), SCMP_ACT_ERRNO(EPERM), 1,
		{ HAS_BITS(0, UINT32_MAX, PR_SET_PDEATHSIG) } },
};

/* Compares the whole argument, which is stricter than what the kernel reads. */
#define IS_NOT(number, value)                                                        \
	{                                                                            \
		.arg = (number), .op = SCMP_CMP_NE, .datum_a = (scmp_datum_t)(value) \
	}
#define FCNTL_OF(command)                                  \
	{                                                  \
		SCMP_SYS(fcntl), SCMP_ACT_ERRNO(EPERM), 1, \
		{                                          \
			HAS_BITS(1, UINT32_MAX, (command)) \
		}                                          \
	}
#define IOCTL_OF(request)                                  \
	{                                                  \
		SCMP_SYS(ioctl), SCMP_ACT_ERRNO(EPERM), 1, \
		{                                          \
			HAS_BITS(1, UINT32_MAX, (request)) \
		}                                          \
	}

int sandbox_forbid_programs(void)
{
	/* Signals to other processes of the user, and their limits. */
	const struct conditional_call reaching_calls[] = {
		{ SCMP_SYS(tgkill), SCMP_ACT_ERRNO(EPERM), 1, { IS_NOT(0, getpid()) } },
		{ SCMP_SYS(prlimit64), SCMP_ACT_ERRNO(EPERM), 1, { IS_NOT(0, 0) } },
		FCNTL_OF(F_SETOWN),
		FCNTL_OF(F_SETOWN_EX),
		IOCTL_OF(FIOSETOWN),
		IOCTL_OF(SIOCSPGRP),
	};
	const struct call_list lists[] = {
		CALL_LIST(SCMP_ACT_ERRNO(EPERM), forbidden_calls),
	};
	const struct conditional_call_list conditional_lists[] = {
		CONDITIONAL_CALL_LIST(forbidden_conditional_calls),
		CONDITIONAL_CALL_LIST(reaching_calls),
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_ALLOW,
		.lists = lists,
		.list_count = ARRAY_SIZE(lists),
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
		.own_signal = -1,
	};

	return call_filter_load(&filter);
}

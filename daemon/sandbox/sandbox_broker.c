/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter of the process that holds the capabilities. Its children inherit it and add their own,
 * so this is a list of what any role needs, from its first instruction on. All other calls fail
 * with EPERM, as in the service's unit. Killed are those that would turn the capabilities against
 * other processes and that no library makes.
 */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const int broker_calls[] = {
	/* starting children, watching and ending them */
	SCMP_SYS(execve),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(tgkill),
	SCMP_SYS(setsid),
	SCMP_SYS(alarm),
	SCMP_SYS(sched_setscheduler),
	/* a program or a thread begins */
	SCMP_SYS(arch_prctl),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	/* giving up privileges */
	SCMP_SYS(capset),
	SCMP_SYS(setgroups),
	SCMP_SYS(setuid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(landlock_create_ruleset),
	SCMP_SYS(landlock_add_rule),
	SCMP_SYS(landlock_restrict_self),
	SCMP_SYS(seccomp),
	/* sampling */
	SCMP_SYS(perf_event_open),
	/* files of other processes; what engines do with their own; sockets */
	SCMP_SYS(openat2),
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(lchown),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(sendmmsg),
};

#if SANDBOX_HAS_SANITIZER
/* The leak checker traces its process. */
static const int sanitizer_calls[] = {
	SCMP_SYS(personality),
	SCMP_SYS(prctl),
	SCMP_SYS(ptrace),
	SCMP_SYS(getdents),
};
#else
static const int tracing_calls[] = {
	SCMP_SYS(ptrace),
};
#endif

#define IOCTL_OF(command)                                  \
	{                                                  \
		SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1,        \
		{                                          \
			HAS_BITS(1, UINT32_MAX, (command)) \
		}                                          \
	}

static const struct conditional_call broker_conditional_calls[] = {
	/* Libraries, but no memory that can be written and executed. */
	{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, PROT_WRITE | PROT_EXEC, PROT_EXEC) } },
	/* No other groups, and not all processes of the user. */
	{ SCMP_SYS(kill), SCMP_ACT_ALLOW, 1, { HAS_BITS(0, 1U << 31, 0) } },
	{ SCMP_SYS(clone), SCMP_ACT_ALLOW, 1, { HAS_BITS(0, NEW_NAMESPACES, 0) } },
	{ SCMP_SYS(socket), SCMP_ACT_ALLOW, 1, { IS(0, AF_UNIX) } },
	SOCKETS_OF(AF_INET),
	SOCKETS_OF(AF_INET6),
	BPF_OF(BPF_MAP_CREATE),
	BPF_OF(BPF_MAP_FREEZE),
	BPF_OF(BPF_PROG_LOAD),
	BPF_OF(BPF_PROG_BIND_MAP),
	BPF_OF(BPF_BTF_LOAD),
	BPF_OF(BPF_LINK_CREATE),
	BPF_OF(BPF_RAW_TRACEPOINT_OPEN),
	BPF_OF(BPF_ITER_CREATE),
	BPF_OF(BPF_ENABLE_STATS),
	IOCTL_OF(PERF_EVENT_IOC_ENABLE),
	IOCTL_OF(PERF_EVENT_IOC_DISABLE),
	IOCTL_OF(PERF_EVENT_IOC_PERIOD),
	IOCTL_OF(PERF_EVENT_IOC_SET_BPF),
	IOCTL_OF(MAPPING_QUERY),
	IOCTL_OF(NS_GET_PARENT), /* who created a user namespace */
	IOCTL_OF(NS_GET_OWNER_UID),
	IOCTL_OF(TCGETS), /* isatty() */
	/* Not PR_SET_MM, PR_SET_PTRACER, PR_SET_KEEPCAPS and others. */
	PRCTL_OF(PR_CAPBSET_READ),
	PRCTL_OF(PR_CAPBSET_DROP),
	PRCTL_OF(PR_CAP_AMBIENT),
	PRCTL_OF(PR_SET_NO_NEW_PRIVS),
	PRCTL_OF(PR_GET_DUMPABLE),
	PRCTL_OF(PR_SET_DUMPABLE),
	PRCTL_OF(PR_SET_PDEATHSIG),
	/* Modes of own files; no set-user-id or set-group-id ones. */
	{ SCMP_SYS(fchmod), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, LENT_RIGHTS, 0) } },
	{ SCMP_SYS(fchmodat), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, LENT_RIGHTS, 0) } },
	{ SCMP_SYS(chmod), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, LENT_RIGHTS, 0) } },
};

int sandbox_forbid_broker(void)
{
	const struct call_list lists[] = {
		own_calls,
		killing_calls,
		program_calls,
		engine_calls,
		CALL_LIST(SCMP_ACT_ALLOW, broker_calls),
#if SANDBOX_HAS_SANITIZER
		CALL_LIST(SCMP_ACT_ALLOW, sanitizer_calls),
#else
		CALL_LIST(SCMP_ACT_KILL_PROCESS, tracing_calls),
#endif
	};
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		program_conditional_calls,
		opening_calls,
		engine_conditional_calls,
		CONDITIONAL_CALL_LIST(broker_conditional_calls),
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_ERRNO(EPERM),
		.lists = lists,
		.list_count = ARRAY_SIZE(lists),
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
		.own_signal = -1,
	};

	return call_filter_load(&filter);
}

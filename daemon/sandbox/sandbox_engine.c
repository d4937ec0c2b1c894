/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of engines and queries. Both use much code and many libraries. So most forbidden
 * calls fail with EPERM, like a missing privilege, which libraries must handle. Only calls that no
 * library makes, but an intruder would, kill.
 */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const int engine_call_array[] = {
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(utimensat),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(syncfs),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(listen),
	SCMP_SYS(epoll_create),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(eventfd2),
	SCMP_SYS(signalfd4),
};
const struct call_list engine_calls = CALL_LIST(SCMP_ACT_ALLOW, engine_call_array);

/*
 * No open file becomes set-user-id or set-group-id, or writable for others. An engine that is root
 * without capabilities still owns root's files, and the broker opens such files for it.
 */
#define OTHERS_RIGHTS (LENT_RIGHTS | S_IWGRP | S_IWOTH)

static const struct conditional_call engine_conditional_call_array[] = {
	{ SCMP_SYS(fchmod), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, OTHERS_RIGHTS, 0) } },
	/*
	 * Another protocol could make the kernel load a module. A datagram socket could send to any
	 * process's socket.
	 */
	PAIRS_OF(SOCK_STREAM),
	PAIRS_OF(SOCK_SEQPACKET),
	/* Only maps whose descriptors it was given; no command that loads, finds, pins or attaches.
	 */
	BPF_OF(BPF_MAP_LOOKUP_ELEM),
	BPF_OF(BPF_MAP_UPDATE_ELEM),
	BPF_OF(BPF_MAP_DELETE_ELEM),
	BPF_OF(BPF_MAP_GET_NEXT_KEY),
	BPF_OF(BPF_MAP_LOOKUP_AND_DELETE_ELEM),
	BPF_OF(BPF_MAP_LOOKUP_BATCH),
	BPF_OF(BPF_MAP_LOOKUP_AND_DELETE_BATCH),
	BPF_OF(BPF_MAP_UPDATE_BATCH),
	BPF_OF(BPF_MAP_DELETE_BATCH),
	BPF_OF(BPF_OBJ_GET_INFO_BY_FD),
	/* Its own limits, which a library may lower; hard limits never rise. */
	{ SCMP_SYS(prlimit64), SCMP_ACT_ALLOW, 1, { IS(0, 0) } },
	{ SCMP_SYS(setrlimit), SCMP_ACT_ALLOW, 0, {} },
};
const struct conditional_call_list engine_conditional_calls =
	CONDITIONAL_CALL_LIST(engine_conditional_call_array);

/* None of these flags set: the call neither creates nor changes a file. */
#define WRITING_FLAGS (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

static const struct conditional_call query_conditional_calls[] = {
	{ SCMP_SYS(open), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, WRITING_FLAGS, O_RDONLY) } },
	{ SCMP_SYS(openat), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, WRITING_FLAGS, O_RDONLY) } },
};

int sandbox_forbid_engine(void)
{
	const struct call_list lists[] = {
		own_calls,
		killing_calls,
		process_calls,
		program_calls,
		engine_calls,
	};
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		program_conditional_calls,
		opening_calls,
		engine_conditional_calls,
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_ERRNO(EPERM),
		.lists = lists,
		.list_count = ARRAY_SIZE(lists),
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
	};

	return call_filter_load(&filter);
}

int sandbox_forbid_query(void)
{
	const struct call_list lists[] = {
		own_calls,
		killing_calls,
		process_calls,
		program_calls,
	};
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		program_conditional_calls,
		CONDITIONAL_CALL_LIST(query_conditional_calls),
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_ERRNO(EPERM),
		.lists = lists,
		.list_count = ARRAY_SIZE(lists),
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
	};

	return call_filter_load(&filter);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of a symbol worker, which reads the files that it was given and opens no others. */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#if SANDBOX_HAS_SANITIZER
static const int sanitizer_calls[] = {
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(prctl),
	SCMP_SYS(pipe2),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
};
#endif

/* Libraries try these calls and can do without them. */
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

/*
 * Allows memory without code, and only kinds that RLIMIT_DATA counts: not shared anonymous memory,
 * and not mappings that grow like stacks.
 */
#define MAPPING_KIND (MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_HUGETLB)
#define MAPPING_OF(kind)                                                             \
	{                                                                            \
		SCMP_SYS(mmap), SCMP_ACT_ALLOW, 2,                                   \
		{                                                                    \
			HAS_BITS(2, PROT_EXEC, 0), HAS_BITS(3, MAPPING_KIND, (kind)) \
		}                                                                    \
	}

static const struct conditional_call worker_conditional_calls[] = {
	MAPPING_OF(0),
	MAPPING_OF(MAP_SHARED),
	MAPPING_OF(MAP_ANONYMOUS),
	/* libc implements fstat() by this call with an empty name. */
	{ SCMP_SYS(newfstatat), SCMP_ACT_ALLOW, 1, { HAS_BITS(3, AT_EMPTY_PATH, AT_EMPTY_PATH) } },
	{ SCMP_SYS(newfstatat), SCMP_ACT_ERRNO(EPERM), 1, { HAS_BITS(3, AT_EMPTY_PATH, 0) } },
	/*
	 * Otherwise a file could take more of the disk than RLIMIT_FSIZE allows without growing in
	 * length.
	 */
	{ SCMP_SYS(fallocate), SCMP_ACT_ALLOW, 1, { IS(1, 0) } },
	{ SCMP_SYS(fallocate), SCMP_ACT_ALLOW, 1,
		{ IS(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) } },
	{ SCMP_SYS(fcntl), SCMP_ACT_ALLOW, 1, { IS(1, F_GETFD) } },
	{ SCMP_SYS(fcntl), SCMP_ACT_ALLOW, 1, { IS(1, F_GETFL) } },
};

int sandbox_forbid_calls(void)
{
	const struct call_list lists[] = {
		own_calls,
		CALL_LIST(SCMP_ACT_ERRNO(EPERM), refused_calls),
#if SANDBOX_HAS_SANITIZER
		CALL_LIST(SCMP_ACT_ALLOW, sanitizer_calls),
#endif
	};
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		CONDITIONAL_CALL_LIST(worker_conditional_calls),
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

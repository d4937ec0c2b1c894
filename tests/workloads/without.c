/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * without landlock|perf-events COMMAND...: runs the command as on a kernel that lacks Landlock, or
 * that refuses perf events to everyone without CAP_SYS_ADMIN.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LANDLOCK_CREATE_RULESET = 444 }; /* its headers may be older */

static const struct missing {
	const char *name;
	uint32_t call, error;
} missing[] = {
	{ "landlock", LANDLOCK_CREATE_RULESET, ENOSYS },
	{ "perf-events", SYS_perf_event_open, EACCES },
};

static int forbid(const struct missing *item)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, item->call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | item->error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(missing) / sizeof(missing[0]); i++)
		if (strcmp(argv[1], missing[i].name) == 0) {
			if (forbid(&missing[i]) < 0) {
				perror("without");
				return 3;
			}
			(void)execvp(argv[2], argv + 2);
			perror(argv[2]);
			return 127;
		}
	return 2;
}

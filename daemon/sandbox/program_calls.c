/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists for processes that use much code and many libraries: engine, query and fetcher. */
#include "sandbox/call_filter.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static const int process_call_array[] = {
	SCMP_SYS(execve),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(ptrace),
};

const struct call_list process_calls = CALL_LIST(SCMP_ACT_KILL_PROCESS, process_call_array);

static const int killing_call_array[] = {
	SCMP_SYS(execveat),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
};

const struct call_list killing_calls = CALL_LIST(SCMP_ACT_KILL_PROCESS, killing_call_array);

/* Calls of a whole program rather than a worker: its own state, time, and files. */
static const int program_call_array[] = {
	/* itself */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getresgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(getppid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(getsid),
	SCMP_SYS(capget),
	SCMP_SYS(uname),
	SCMP_SYS(times),
	SCMP_SYS(getcpu),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(umask),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	/* what is open */
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(close_range),
	SCMP_SYS(preadv2),
	SCMP_SYS(pwritev2),
	SCMP_SYS(sendfile),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(fallocate),
	SCMP_SYS(fsync),
	SCMP_SYS(flock),
	SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64),
	SCMP_SYS(memfd_create),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(recvfrom),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	/* names */
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(chdir),
	SCMP_SYS(fchdir),
};

const struct call_list program_calls = CALL_LIST(SCMP_ACT_ALLOW, program_call_array);

/* Not F_SETOWN and similar commands: they send signals to other processes. */
static const struct conditional_call program_conditional_call_array[] = {
	{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, PROT_EXEC, 0) } },
	/*
	 * Its flags are in memory, which a filter cannot read. With ENOSYS libraries fall back to
	 * clone().
	 */
	{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), 0, {} },
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1, { IS(1, FIONREAD) } },
	{ SCMP_SYS(ioctl), SCMP_ACT_ALLOW, 1, { IS(1, FIONBIO) } },
	PRCTL_OF(PR_SET_NAME),
	PRCTL_OF(PR_GET_NAME),
	PRCTL_OF(PR_SET_VMA),
	FCNTL_OF(F_DUPFD),
	FCNTL_OF(F_DUPFD_CLOEXEC),
	FCNTL_OF(F_GETFD),
	FCNTL_OF(F_SETFD),
	FCNTL_OF(F_GETFL),
	FCNTL_OF(F_SETFL),
	FCNTL_OF(F_GETLK),
	FCNTL_OF(F_SETLK),
	FCNTL_OF(F_SETLKW),
	FCNTL_OF(F_OFD_GETLK),
	FCNTL_OF(F_OFD_SETLK),
	FCNTL_OF(F_OFD_SETLKW),
	FCNTL_OF(F_ADD_SEALS),
	FCNTL_OF(F_GET_SEALS),
};
const struct conditional_call_list program_conditional_calls =
	CONDITIONAL_CALL_LIST(program_conditional_call_array);

#define MAKING_FLAGS (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

static const struct conditional_call opening_call_array[] = {
	/*
	 * The mode matters only if the call creates a file; otherwise the register may hold
	 * anything.
	 */
	{ SCMP_SYS(open), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, MAKING_FLAGS, 0) } },
	{ SCMP_SYS(open), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, LENT_RIGHTS, 0) } },
	{ SCMP_SYS(openat), SCMP_ACT_ALLOW, 1, { HAS_BITS(2, MAKING_FLAGS, 0) } },
	{ SCMP_SYS(openat), SCMP_ACT_ALLOW, 1, { HAS_BITS(3, LENT_RIGHTS, 0) } },
	{ SCMP_SYS(creat), SCMP_ACT_ALLOW, 1, { HAS_BITS(1, LENT_RIGHTS, 0) } },
};
const struct conditional_call_list opening_calls = CONDITIONAL_CALL_LIST(opening_call_array);

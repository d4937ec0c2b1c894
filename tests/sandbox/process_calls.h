/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on processes and on the kernel, with which a process of its own tests a filter. Each
 * function returns -1 and errno, or anything else.
 */
#pragma once

#include "tests/sandbox/open_calls.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/utsname.h>

/* A map, if one could be made before. */
static int map_fd = -1;

static long know_oneself(void)
{
	struct utsname name;
	struct rusage usage;
	struct rlimit limit;
	cpu_set_t cpus;

	if (uname(&name) < 0 || getrusage(RUSAGE_SELF, &usage) < 0 ||
		getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;
	return sched_getaffinity(0, sizeof(cpus), &cpus);
}

static long take_a_name(void)
{
	return prctl(PR_SET_NAME, "engine", 0, 0, 0);
}

static long live_on(void)
{
	return prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

static long be_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long run_bpf(int command)
{
	uint32_t key = 0;
	uint64_t value = 7;
	union bpf_attr attributes = { 0 };

	attributes.map_fd = (uint32_t)map_fd;
	attributes.key = (uintptr_t)&key;
	attributes.value = (uintptr_t)&value;
	return syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

/* Without a map the kernel is reached all the same, and says so. */
static long use_map(int command)
{
	long r = run_bpf(command);

	return map_fd < 0 && r < 0 && errno == EBADF ? 0 : r;
}

static long write_map(void)
{
	return use_map(BPF_MAP_UPDATE_ELEM);
}

static long read_map(void)
{
	return use_map(BPF_MAP_LOOKUP_ELEM);
}

static long make_map(void)
{
	union bpf_attr attributes = { 0 };

	attributes.map_type = BPF_MAP_TYPE_ARRAY;
	attributes.key_size = 4;
	attributes.value_size = 8;
	attributes.max_entries = 1;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
}

static long find_map(void)
{
	union bpf_attr attributes = { 0 };

	return syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &attributes, sizeof(attributes));
}

static long freeze_map(void)
{
	return run_bpf(BPF_MAP_FREEZE);
}

static long sample(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long make_process(void)
{
	return fork();
}

static long make_process_in_memory(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* The kernel answers EINVAL if the filter allows the call; a thread would share this one's stack.
 */
static long make_thread(void)
{
	return syscall(SYS_clone, CLONE_THREAD | CLONE_VM, NULL, NULL, NULL, NULL);
}

static long signal_parent(void)
{
	return kill(getppid(), 0);
}

static long signal_everybody(void)
{
	return kill(-1, 0);
}

static long signal_a_strange_thread(void)
{
	return syscall(SYS_tgkill, getppid(), getppid(), 0);
}

static long signal_oneself(void)
{
	return kill(getpid(), 0);
}

static long have_signals_sent(void)
{
	return fcntl(sockets[0], F_SETOWN, getppid());
}

static long forge_input(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static long change_user(void)
{
	return setuid(getuid());
}

static long limit_another(void)
{
	struct rlimit limit;

	return prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
}

/* What the kernel allows among processes of one user. */
static long move_another(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return sched_setaffinity(getppid(), sizeof(cpus), &cpus);
}

static long slow_another(void)
{
	return setpriority(PRIO_PROCESS, (id_t)getppid(), 0);
}

static long slow_the_disk_of_another(void)
{
	return syscall(SYS_ioprio_set, 1, getppid(), 0);
}

static long share_memory(void)
{
	return shmget(IPC_PRIVATE, 4096, 0600);
}

static long execute(void)
{
	char *const arguments[] = { "true", NULL };

	return execv("/bin/true", arguments);
}

static long execute_open_file(void)
{
	return syscall(SYS_execveat, file_fd, "", NULL, NULL, AT_EMPTY_PATH);
}

static long trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long read_memory(void)
{
	return syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static long write_memory(void)
{
	return syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0);
}

static long open_process(void)
{
	return syscall(SYS_pidfd_open, getpid(), 0);
}

static long steal_descriptor(void)
{
	return syscall(SYS_pidfd_getfd, file_fd, 0, 0);
}

static long signal_by_descriptor(void)
{
	return syscall(SYS_pidfd_send_signal, file_fd, 0, NULL, 0);
}

static long mount_something(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long open_tree_of_mounts(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 0);
}

static long change_root(void)
{
	return chroot("/");
}

static long leave_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long enter_namespace(void)
{
	return setns(file_fd, 0);
}

static long use_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long use_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, 0);
}

static long use_keys(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
}

static long load_module(void)
{
	return syscall(SYS_finit_module, file_fd, "", 0);
}

static long open_by_handle(void)
{
	return syscall(SYS_open_by_handle_at, folder_fd, NULL, 0);
}

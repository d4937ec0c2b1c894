/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes another process issue system calls, as an intruder in that process would, and prints their
 * results. Its registers and stack are restored afterwards.
 *
 *	intruder THREAD CALL...
 *	intruder --spawned-by PID ROLE CALL...
 *
 * The second form waits for the next child of PID that starts as ROLE and has its seccomp filter.
 * "ready" on standard error means that PID is traced. Prints a line for each call: its name and an
 * errno name, "allowed", or "SIGSYS", which also ends the process and the list. The call "status"
 * prints the lines of /proc/PID/status about privileges; "open=PATH" opens a file for reading, and
 * "write=PATH" for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

enum { RED_ZONE_BYTES = 128, STAGE_BYTES = 512 };

static void fail(const char *what)
{
	(void)fprintf(stderr, "intruder: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* A text argument; the call gets its address. */
#define TEXT	 (-1000001L)
#define PARENT	 (-1000002L)
#define ZEROS	 (-1000004L)
#define UNOPENED 999L

static const struct call {
	const char *name;
	long number;
	const char *text;
	long arguments[6];
} calls[] = {
	{ "getpid", SYS_getpid, NULL, { 0 } },
	/* files */
	{ "open_passwd", SYS_openat, "/etc/passwd", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "open_program", SYS_openat, "/bin/sh", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "open_init_maps", SYS_openat, "/proc/1/maps", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "open_own_memory", SYS_openat, "/proc/self/mem", { AT_FDCWD, TEXT, O_RDWR } },
	{ "open_null", SYS_openat, "/dev/null", { AT_FDCWD, TEXT, O_RDWR } },
	{ "make_file", SYS_openat, "/tmp/intruder", { AT_FDCWD, TEXT, O_CREAT | O_WRONLY, 0600 } },
	{ "make_folder", SYS_mkdirat, "/tmp/intruder", { AT_FDCWD, TEXT, 0700 } },
	{ "remove_passwd", SYS_unlinkat, "/etc/passwd.intruder", { AT_FDCWD, TEXT, 0 } },
	{ "openat2", SYS_openat2, "/etc/passwd", { AT_FDCWD, TEXT, ZEROS, 24 } },
	{ "symlink", SYS_symlinkat, "/tmp/intruder", { TEXT, AT_FDCWD, TEXT } },
	{ "chmod", SYS_fchmodat, "/tmp", { AT_FDCWD, TEXT, 01777 } },
	{ "chown", SYS_fchownat, "/tmp", { AT_FDCWD, TEXT, 0, 0, 0 } },
	{ "make_setuid", SYS_fchmod, NULL, { STDERR_FILENO, 04755 } },
	{ "make_writable", SYS_fchmod, NULL, { STDERR_FILENO, 0666 } },
	/* sockets */
	{ "socket_inet", SYS_socket, NULL, { AF_INET, SOCK_STREAM, 0 } },
	{ "socket_unix", SYS_socket, NULL, { AF_UNIX, SOCK_STREAM, 0 } },
	{ "socket_netlink", SYS_socket, NULL, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "socket_raw", SYS_socket, NULL, { AF_INET, SOCK_RAW, 1 } },
	{ "socket_packet", SYS_socket, NULL, { AF_PACKET, SOCK_RAW, 0 } },
	{ "pair_datagram", SYS_socketpair, NULL, { AF_UNIX, SOCK_DGRAM, 0, ZEROS } },
	{ "connect", SYS_connect, NULL, { 3, ZEROS, 16 } },
	{ "bind", SYS_bind, NULL, { 3, ZEROS, 16 } },
	/* processes */
	{ "execve", SYS_execve, "/bin/true", { TEXT, 0, 0 } },
	{ "execveat", SYS_execveat, "/bin/true", { AT_FDCWD, TEXT, 0, 0, 0 } },
	{ "fork", SYS_fork, NULL, { 0 } },
	{ "vfork", SYS_vfork, NULL, { 0 } },
	{ "clone_process", SYS_clone, NULL, { SIGCHLD, 0, 0, 0, 0 } },
	{ "clone_namespace", SYS_clone, NULL, { CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0 } },
	{ "clone3", SYS_clone3, NULL, { ZEROS, 64 } },
	{ "kill_parent", SYS_kill, NULL, { PARENT, 0 } },
	{ "kill_init", SYS_kill, NULL, { 1, 0 } },
	{ "kill_all", SYS_kill, NULL, { -1, 0 } },
	{ "tgkill_parent", SYS_tgkill, NULL, { PARENT, PARENT, 0 } },
	{ "tkill_parent", SYS_tkill, NULL, { PARENT, 0 } },
	{ "sigqueue_parent", SYS_rt_sigqueueinfo, NULL, { PARENT, 0, ZEROS } },
	{ "ptrace_parent", SYS_ptrace, NULL, { PTRACE_SEIZE, PARENT, 0, 0 } },
	{ "read_parent", SYS_process_vm_readv, NULL, { PARENT, ZEROS, 0, ZEROS, 0, 0 } },
	{ "pidfd_parent", SYS_pidfd_open, NULL, { PARENT, 0 } },
	{ "prlimit_parent", SYS_prlimit64, NULL, { PARENT, 0, 0, 0 } },
	{ "setns", SYS_setns, NULL, { UNOPENED, 0 } },
	{ "unshare", SYS_unshare, NULL, { CLONE_NEWUSER } },
	/* privileges */
	{ "setuid", SYS_setuid, NULL, { 0 } },
	{ "setresgid", SYS_setresgid, NULL, { 0, 0, 0 } },
	{ "setgroups", SYS_setgroups, NULL, { 0, 0 } },
	{ "capset", SYS_capset, NULL, { ZEROS, ZEROS } },
	{ "dumpable", SYS_prctl, NULL, { PR_SET_DUMPABLE, 1, 0, 0, 0 } },
	{ "outlive", SYS_prctl, NULL, { PR_SET_PDEATHSIG, 0, 0, 0, 0 } },
	/* the kernel */
	{ "mmap_code", SYS_mmap, NULL,
		{ 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0 } },
	{ "bpf_program", SYS_bpf, NULL, { BPF_PROG_LOAD, ZEROS, 64 } },
	{ "bpf_map", SYS_bpf, NULL, { BPF_MAP_CREATE, ZEROS, 64 } },
	{ "bpf_pin", SYS_bpf, NULL, { BPF_OBJ_PIN, ZEROS, 64 } },
	{ "bpf_find", SYS_bpf, NULL, { BPF_MAP_GET_FD_BY_ID, ZEROS, 64 } },
	{ "perf_event", SYS_perf_event_open, NULL, { ZEROS, 0, -1, -1, 0 } },
	{ "io_uring", SYS_io_uring_setup, NULL, { 1, ZEROS } },
	{ "userfaultfd", SYS_userfaultfd, NULL, { 0 } },
	{ "keyctl", SYS_keyctl, NULL, { 0, 0, 0 } },
	{ "mount", SYS_mount, "/tmp", { TEXT, TEXT, 0, 0, 0 } },
	{ "chroot", SYS_chroot, "/tmp", { TEXT } },
	{ "module", SYS_init_module, NULL, { ZEROS, 0, ZEROS } },
	{ "handle", SYS_open_by_handle_at, NULL, { AT_FDCWD, ZEROS, 0 } },
	{ "inject_input", SYS_ioctl, NULL, { STDERR_FILENO, 0x5412, ZEROS } },
};

static bool is_named_open(const char *name, struct call *call)
{
	static const struct {
		const char *prefix;
		long flags;
	} ways[] = { { "open=", O_RDONLY }, { "write=", O_WRONLY } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		size_t length = strlen(ways[i].prefix);

		if (strncmp(name, ways[i].prefix, length) != 0)
			continue;
		*call = (struct call){ name, SYS_openat, name + length,
			{ AT_FDCWD, TEXT, ways[i].flags } };
		return strlen(call->text) < STAGE_BYTES / 2;
	}
	return false;
}

static const struct call *find_call(const char *name)
{
	static struct call named_open;

	if (is_named_open(name, &named_open))
		return &named_open;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	(void)fprintf(stderr, "intruder: '%s' is none of its calls\n", name);
	exit(2);
}

/* --- state of a process ------------------------------------------------------------------------
 */

/* Returns the value of a line of /proc/THREAD/status; if `key` is NULL, prints the lines about
 * privileges. */
static long status_of(pid_t thread, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file)) {
		if (key && strncmp(line, key, strlen(key)) == 0)
			value = strtol(line + strlen(key), NULL, 10);
		if (!key &&
			(strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs", 10) == 0 ||
				strncmp(line, "Uid:", 4) == 0 || strncmp(line, "Seccomp:", 8) == 0))
			(void)fputs(line, stdout);
	}
	(void)fclose(file);
	return value;
}

static bool is_role(pid_t pid, const char *role)
{
	char path[64], arguments[256] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, arguments, sizeof(arguments) - 1) < 0)
		return false;
	(void)close(fd);
	return strcmp(arguments + strlen(arguments) + 1, role) == 0;
}

/* --- one call ----------------------------------------------------------------------------------
 */

static void move_bytes(pid_t thread, unsigned long address, unsigned long *words, bool is_read)
{
	for (size_t i = 0; i < STAGE_BYTES / sizeof(*words); i++) {
		unsigned long at = address + i * sizeof(*words);

		errno = 0;
		if (is_read)
			words[i] = (unsigned long)ptrace(PTRACE_PEEKDATA, thread, at, 0);
		else
			(void)ptrace(PTRACE_POKEDATA, thread, at, words[i]);
		if (errno)
			fail("its stack");
	}
}

static unsigned long argument_of(long value, pid_t pid, unsigned long text, unsigned long zeros)
{
	switch (value) {
	case TEXT:
		return text;
	case ZEROS:
		return zeros;
	case PARENT:
		return (unsigned long)status_of(pid, "PPid:");
	default:
		return (unsigned long)value;
	}
}

static void say(const char *name, long result)
{
	if (result < 0 && result > -4096)
		(void)printf("%s %s\n", name, strerrorname_np((int)-result));
	else
		(void)printf("%s allowed\n", name);
	(void)fflush(stdout);
}

/* Returns false if the call ended the process. */
static bool step(pid_t thread, const char *name)
{
	int status;

	do {
		if (ptrace(PTRACE_SINGLESTEP, thread, 0, 0) < 0 ||
			waitpid(thread, &status, __WALL) < 0)
			fail("a step");
		if (WIFSIGNALED(status) || WIFEXITED(status)) {
			(void)printf("%s %s\n", name,
				WIFEXITED(status)	     ? "exit"
				: WTERMSIG(status) == SIGSYS ? "SIGSYS"
							     : "signal");
			return false;
		}
	} while (WSTOPSIG(status) != SIGTRAP);
	return true;
}

static bool is_at_call(pid_t thread)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, thread, 0, &registers) < 0)
		fail("its registers");
	return (ptrace(PTRACE_PEEKTEXT, thread, registers.rip - 2, 0) & 0xffff) == 0x050f;
}

/* The thread has stopped after a system call, so the instruction two bytes before is one. */
static bool make_call(pid_t thread, const struct call *call)
{
	unsigned long kept[STAGE_BYTES / sizeof(long)], staged[STAGE_BYTES / sizeof(long)] = { 0 };
	struct user_regs_struct before, registers;
	unsigned long values[6], text, zeros;

	if (ptrace(PTRACE_GETREGS, thread, 0, &before) < 0)
		fail("its registers");
	if (!is_at_call(thread)) {
		errno = EINVAL;
		fail("it is not at a system call");
	}
	zeros = (before.rsp - RED_ZONE_BYTES - STAGE_BYTES) & ~15UL;
	text = zeros + STAGE_BYTES / 2;
	move_bytes(thread, zeros, kept, true);
	if (call->text)
		strcpy((char *)staged + STAGE_BYTES / 2, call->text);
	move_bytes(thread, zeros, staged, false);
	for (size_t i = 0; i < 6; i++)
		values[i] = argument_of(call->arguments[i], thread, text, zeros);
	registers = before;
	registers.rip -= 2;
	registers.rax = (unsigned long)call->number;
	/* The kernel must not restart an interrupted call. */
	registers.orig_rax = (unsigned long)-1;
	registers.rdi = values[0];
	registers.rsi = values[1];
	registers.rdx = values[2];
	registers.r10 = values[3];
	registers.r8 = values[4];
	registers.r9 = values[5];
	if (ptrace(PTRACE_SETREGS, thread, 0, &registers) < 0)
		fail("its registers");
	if (!step(thread, call->name))
		return false;
	if (ptrace(PTRACE_GETREGS, thread, 0, &registers) < 0)
		fail("its registers");
	say(call->name, (long)registers.rax);
	move_bytes(thread, zeros, kept, false);
	if (ptrace(PTRACE_SETREGS, thread, 0, &before) < 0)
		fail("its registers");
	return true;
}

static void intrude(pid_t thread, char **names)
{
	for (; *names; names++)
		if (strcmp(*names, "status") == 0)
			(void)status_of(thread, NULL);
		else if (!make_call(thread, find_call(*names)))
			return;
	if (ptrace(PTRACE_DETACH, thread, 0, 0) < 0)
		fail("letting it go");
}

/* --- finding the process
 * ----------------------------------------------------------------------------
 */

static int wait_for(pid_t thread)
{
	int status;

	if (waitpid(thread, &status, __WALL) < 0)
		fail("waiting");
	if (!WIFSTOPPED(status)) {
		errno = ESRCH;
		fail("it has ended");
	}
	return status;
}

/* A process that stopped outside of a system call runs until its next call and need not wait in it.
 */
static void stop_running(pid_t thread)
{
	if (ptrace(PTRACE_SEIZE, thread, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, thread, 0, 0) < 0)
		fail("stopping it");
	(void)wait_for(thread);
	if (is_at_call(thread))
		return;
	if (ptrace(PTRACE_SYSCALL, thread, 0, 0) < 0)
		fail("its next call");
	(void)wait_for(thread);
	if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) < 0 || ptrace(PTRACE_CONT, thread, 0, 0) < 0)
		fail("stopping it");
	(void)wait_for(thread);
}

/* Delivers the signal that stopped the process, except one that ptrace itself made. */
static void go_on(pid_t thread, int status, enum __ptrace_request how)
{
	bool is_signal = status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP;

	if (ptrace(how, thread, 0, is_signal ? WSTOPSIG(status) : 0) < 0 && errno != ESRCH)
		fail("going on");
}

static void let_go(pid_t thread)
{
	if (ptrace(PTRACE_DETACH, thread, 0, 0) < 0 && errno != ESRCH)
		fail("letting it go");
}

/* Children other than the one waited for come and go. */
static void has_ended(pid_t pid, pid_t parent, pid_t found)
{
	if (pid != parent && pid != found)
		return;
	errno = ESRCH;
	fail(pid == parent ? "who starts them" : "who was started");
}

/*
 * Returns the next child of `parent` that starts as `role`, stopped once its calls are filtered.
 * Until then all traced processes continue, because one may have to serve the other: the parent,
 * and its children until they execute a program, which some forks never do. Processes that are
 * still traced continue when the tracer ends.
 */
static pid_t stop_spawned(pid_t parent, const char *role)
{
	const long options =
		PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	pid_t found = 0;

	if (ptrace(PTRACE_SEIZE, parent, 0, options) < 0)
		fail("watching it");
	(void)fputs("ready\n", stderr);
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0)
			fail("waiting");
		if (!WIFSTOPPED(status)) {
			has_ended(pid, parent, found);
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			if (found || !is_role(pid, role)) {
				let_go(pid);
				continue;
			}
			found = pid;
		}
		if (pid == found && status_of(pid, "Seccomp:") == 2)
			return found;
		go_on(pid, status, pid == found ? PTRACE_SYSCALL : PTRACE_CONT);
	}
}

int main(int argc, char **argv)
{
	pid_t thread;

	if (argc > 4 && strcmp(argv[1], "--spawned-by") == 0) {
		thread = stop_spawned(atoi(argv[2]), argv[3]);
		argv += 4;
	} else if (argc > 2) {
		thread = atoi(argv[1]);
		stop_running(thread);
		argv += 2;
	} else {
		(void)fputs("usage: intruder [--spawned-by PID ROLE | THREAD] CALL...\n", stderr);
		return 2;
	}
	intrude(thread, argv);
	return 0;
}

#else

int main(void)
{
	(void)fputs("intruder: x86_64 only\n", stderr);
	return 77;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries what an intruder in another process could: makes system calls as that process, and prints
 * their results.
 *
 *	intruder THREAD ATTEMPT...
 *	intruder --spawned-by PID ROLE ATTEMPT...
 *
 * The second form waits for the next child of PID that starts as ROLE and has a seccomp filter
 * which its parent lacks. "ready" on standard error means that PID is traced.
 *
 * The process itself makes only one call, a fork with its filters suspended, and goes on. The copy
 * has the same user, capabilities, filters, Landlock rules, descriptors and memory. Each attempt is
 * made by a copy of that copy, so none affects another, and all can be tried even if some kill.
 *
 * Prints a line for each attempt (intruder_calls.h): its name and an errno name, "yes", or
 * "SIGSYS". "all" stands for all of them. "status" prints the lines of /proc/PID/status about
 * privileges.
 */
#include "intruder_calls.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>

#ifdef __x86_64__

/* What is staged below the stack: zeros, ones, and a text of up to a page. */
enum { RED_ZONE_BYTES = 128, ZEROS_BYTES = 256, ONES_BYTES = 64, TEXT_BYTES = 512 };

struct stage {
	char zeros[ZEROS_BYTES];
	char ones[ONES_BYTES];
	char text[TEXT_BYTES];
};

enum { CALL_INSTRUCTION = 0x050f, CALL_BYTES = 2 };

static pid_t parent; /* of the process that is intruded into */

static void fail(const char *what)
{
	(void)fprintf(stderr, "intruder: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- state of a process ------------------------------------------------------------------------
 */

/* Returns the number in a line of /proc/THREAD/status; -1: there is no such line. */
static long status_of(pid_t thread, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtol(line + strlen(key), NULL, 10);
	(void)fclose(file);
	return value;
}

static void print_status(pid_t thread)
{
	static const char *const keys[] = { "Cap", "NoNewPrivs:", "Uid:", "Seccomp:" };
	char path[64], line[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				(void)fputs(line, stdout);
	(void)fclose(file);
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

/* --- texts and arguments -----------------------------------------------------------------------
 */

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (value)
		return value;
	(void)fprintf(stderr, "intruder: %s is not set\n", name);
	exit(2);
}

/* Replaces $NAME and %d. */
static void expand(const char *text, char ret_text[TEXT_BYTES])
{
	size_t length = 0;

	while (*text && length < TEXT_BYTES - 1) {
		char name[64];
		size_t size = 0;

		if (strncmp(text, "%d", 2) == 0) {
			length += (size_t)snprintf(
				ret_text + length, TEXT_BYTES - length, "%d", parent);
			text += 2;
		} else if (*text == '$') {
			size = strspn(++text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
			(void)snprintf(name, sizeof(name), "%.*s", (int)size, text);
			length += (size_t)snprintf(
				ret_text + length, TEXT_BYTES - length, "%s", environment(name));
			text += size;
		} else {
			ret_text[length++] = *text++;
		}
	}
	if (length >= TEXT_BYTES) {
		errno = ENAMETOOLONG;
		fail(text);
	}
	ret_text[length] = '\0';
}

/* Writes the socket address that the text names. Returns its length, or 0: the text is no address.
 */
static size_t address_of(const char *text, char ret_address[TEXT_BYTES])
{
	static const char unix_path[] = "unix:", abstract[] = "abstract:";
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	const struct sockaddr_in internet = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	bool is_abstract = strncmp(text, abstract, strlen(abstract)) == 0;

	if (strcmp(text, "inet:") == 0) {
		memcpy(ret_address, &internet, sizeof(internet));
		return sizeof(internet);
	}
	if (!is_abstract && strncmp(text, unix_path, strlen(unix_path)) != 0)
		return 0;
	text += strlen(is_abstract ? abstract : unix_path);
	(void)snprintf(local.sun_path + is_abstract, sizeof(local.sun_path) - 1, "%s", text);
	memcpy(ret_address, &local, sizeof(local));
	return offsetof(struct sockaddr_un, sun_path) + strlen(text) + 1;
}

struct staged {
	unsigned long address;
	size_t address_bytes; /* of a socket */
	long result;	      /* of the last step */
};

static unsigned long argument_of(long value, const struct staged *staged)
{
	switch (value) {
	case TEXT:
		return staged->address + offsetof(struct stage, text);
	case BYTES:
		return staged->address_bytes;
	case ZEROS:
		return staged->address;
	case ONES:
		return staged->address + offsetof(struct stage, ones);
	case STACK:
		return staged->address & ~4095UL;
	case RESULT:
		return (unsigned long)staged->result;
	case PARENT:
		return (unsigned long)parent;
	case SIBLING:
		return strtoul(environment("SIBLING"), NULL, 10);
	case OTHER:
		return strtoul(environment("OTHER"), NULL, 10);
	default:
		return (unsigned long)value;
	}
}

/* --- one call ----------------------------------------------------------------------------------
 */

static void write_stage(pid_t pid, unsigned long address, const struct stage *stage)
{
	const char *bytes = (const char *)stage;

	_Static_assert(sizeof(*stage) % sizeof(long) == 0, "whole words");
	for (size_t i = 0; i < sizeof(*stage); i += sizeof(long)) {
		long word;

		memcpy(&word, bytes + i, sizeof(word));
		if (ptrace(PTRACE_POKEDATA, pid, address + i, word) < 0)
			fail("its stack");
	}
}

static bool is_at_call(pid_t thread)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, thread, 0, &registers) < 0)
		fail("its registers");
	return (ptrace(PTRACE_PEEKTEXT, thread, registers.rip - CALL_BYTES, 0) & 0xffff) ==
	       CALL_INSTRUCTION;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/*
 * Executes one instruction. Returns 0; 1: a new process was made, which is stopped, or a program
 * was executed; -1: the process has ended.
 */
static int step(pid_t thread, int *ret_status, pid_t *ret_new)
{
	int event = 0;

	do {
		if (ptrace(PTRACE_SINGLESTEP, thread, 0, 0) < 0 ||
			waitpid(thread, ret_status, __WALL) < 0)
			fail("a step");
		if (WIFSIGNALED(*ret_status) || WIFEXITED(*ret_status))
			return -1;
		event = *ret_status >> 16;
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
			event == PTRACE_EVENT_CLONE) {
			unsigned long message;

			if (ptrace(PTRACE_GETEVENTMSG, thread, 0, &message) < 0)
				fail("a new process");
			*ret_new = (pid_t)message;
			while (waitpid(*ret_new, ret_status, __WALL) < 0)
				if (errno != EINTR)
					fail("a new process");
			return 1;
		}
		/* It has executed a program, and nothing of it is left. */
		if (event == PTRACE_EVENT_EXEC)
			return 1;
	} while (event != 0 || WSTOPSIG(*ret_status) != SIGTRAP);
	return 0;
}

/* The thread has stopped after a system call, so the instruction before is one. */
static void set_call(pid_t thread, const struct user_regs_struct *before, long number,
	const unsigned long values[6])
{
	struct user_regs_struct registers = *before;

	registers.rip -= CALL_BYTES;
	registers.rax = (unsigned long)number;
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
}

/* --- copies ------------------------------------------------------------------------------------
 */

static void set_options(pid_t pid, long options)
{
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, options) < 0)
		fail("suspending its filters");
}

/*
 * Forks a stopped process, which may have no right to that, and returns the copy, stopped. The
 * process gets its registers back.
 */
static pid_t copy(pid_t pid)
{
	static const unsigned long none[6];
	struct user_regs_struct before;
	pid_t copied = 0;
	int status;

	set_options(pid, PTRACE_O_TRACEFORK | PTRACE_O_SUSPEND_SECCOMP);
	if (ptrace(PTRACE_GETREGS, pid, 0, &before) < 0)
		fail("its registers");
	set_call(pid, &before, SYS_fork, none);
	if (step(pid, &status, &copied) != 1) {
		errno = ECHILD;
		fail("copying it");
	}
	/* The fork returns. */
	if (step(pid, &status, &copied) != 0 || ptrace(PTRACE_SETREGS, pid, 0, &before) < 0 ||
		ptrace(PTRACE_SETREGS, copied, 0, &before) < 0)
		fail("copying it");
	set_options(pid, 0);
	set_options(copied, PTRACE_O_EXITKILL);
	return copied;
}

/* Makes the steps of an attempt. Returns the last result; 1 if the process has ended. */
static long make_calls(pid_t pid, const struct call *call)
{
	struct user_regs_struct before, registers;
	struct staged staged = { 0 };
	const char *name = call->name;
	int status;

	if (ptrace(PTRACE_GETREGS, pid, 0, &before) < 0)
		fail("its registers");
	staged.address = (before.rsp - RED_ZONE_BYTES - sizeof(struct stage)) & ~15UL;
	for (; call->name && strcmp(call->name, name) == 0 && staged.result >= 0; call++) {
		struct stage stage = { 0 };
		char text[TEXT_BYTES];
		unsigned long values[6];
		pid_t made = 0;
		int r;

		memset(stage.ones, 0xff, sizeof(stage.ones));
		if (call->text) {
			expand(call->text, text);
			staged.address_bytes = address_of(text, stage.text);
			if (staged.address_bytes == 0)
				memcpy(stage.text, text, sizeof(text));
		}
		write_stage(pid, staged.address, &stage);
		for (size_t i = 0; i < 6; i++)
			values[i] = argument_of(call->arguments[i], &staged);
		set_call(pid, &before, call->number, values);
		r = step(pid, &status, &made);
		if (made > 0)
			end(made);
		if (r < 0)
			return 1;
		if (r > 0)
			return 0;
		if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0)
			fail("its registers");
		staged.result = (long)registers.rax;
		if (call->number == SYS_socketpair && staged.result == 0)
			staged.result =
				ptrace(PTRACE_PEEKDATA, pid, staged.address, 0) & 0xffffffff;
	}
	return staged.result < 0 && staged.result > -4096 ? staged.result : 0;
}

static void attempt(pid_t original, const struct call *call)
{
	pid_t pid = copy(original);
	long result;

	set_options(pid, PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC);
	result = make_calls(pid, call);
	if (result <= 0)
		end(pid);
	(void)printf("%s %s\n", call->name,
		result == 0  ? "yes"
		: result < 0 ? strerrorname_np((int)-result)
			     : "SIGSYS");
	(void)fflush(stdout);
}

static const struct call *find_call(const char *name)
{
	for (const struct call *call = calls; call->name; call++)
		if (strcmp(call->name, name) == 0)
			return call;
	(void)fprintf(stderr, "intruder: '%s' is none of its attempts\n", name);
	exit(2);
}

static void attempt_all(pid_t original)
{
	for (const struct call *call = calls; call->name; call++)
		if (call == calls || strcmp(call->name, call[-1].name) != 0)
			attempt(original, call);
}

static void intrude(pid_t thread, char **names)
{
	pid_t copied;

	if (!is_at_call(thread)) {
		errno = EINVAL;
		fail("it is not at a system call");
	}
	parent = (pid_t)status_of(thread, "PPid:");
	copied = copy(thread);
	if (ptrace(PTRACE_DETACH, thread, 0, 0) < 0)
		fail("letting it go");
	for (; *names; names++)
		if (strcmp(*names, "status") == 0)
			print_status(copied);
		else if (strcmp(*names, "all") == 0)
			attempt_all(copied);
		else
			attempt(copied, find_call(*names));
	end(copied);
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

/*
 * The process is about to limit its number of processes, or has just been kept from it: without a
 * limit it can be copied. Its filter forbids processes as well.
 */
static void skip_limit(pid_t pid)
{
	const unsigned long skipped = (unsigned long)-1;
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0)
		return;
	if (registers.orig_rax == SYS_prlimit64 && registers.rsi == RLIMIT_NPROC && registers.rdx)
		registers.orig_rax = skipped;
	else if (registers.orig_rax == skipped)
		registers.rax = 0;
	else
		return;
	if (ptrace(PTRACE_SETREGS, pid, 0, &registers) < 0)
		fail("its registers");
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
static void has_ended(pid_t pid, pid_t parent_pid, pid_t found)
{
	if (pid != parent_pid && pid != found)
		return;
	errno = ESRCH;
	fail(pid == parent_pid ? "who starts them" : "who was started");
}

/*
 * Returns the next child of `parent_pid` that starts as `role`, stopped once its calls are
 * filtered. Until then all traced processes continue, because one may have to serve the other: the
 * parent, and its children until they execute a program, which some forks never do. Processes that
 * are still traced continue when the tracer ends.
 */
static pid_t stop_spawned(pid_t parent_pid, const char *role)
{
	const long options =
		PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	pid_t found = 0;

	if (ptrace(PTRACE_SEIZE, parent_pid, 0, options) < 0)
		fail("watching it");
	(void)fputs("ready\n", stderr);
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0)
			fail("waiting");
		if (!WIFSTOPPED(status)) {
			has_ended(pid, parent_pid, found);
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			if (pid == parent_pid) {
				go_on(pid, status, PTRACE_CONT);
				continue;
			}
			if (found || !is_role(pid, role)) {
				let_go(pid);
				continue;
			}
			found = pid;
		}
		if (pid == found && status_of(pid, "Seccomp_filters:") >
					    status_of(parent_pid, "Seccomp_filters:"))
			return found;
		if (pid == found)
			skip_limit(pid);
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
		(void)fputs(
			"usage: intruder [--spawned-by PID ROLE | THREAD] ATTEMPT...\n", stderr);
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

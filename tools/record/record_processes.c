/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_processes.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct record_processes {
	int epoll_fd;
	size_t alive;
	size_t count;
	struct record_process {
		pid_t pid;
		int fd; /* -1: ended */
	} items[];
};

void record_processes_free(struct record_processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < processes->count; i++)
		if (processes->items[i].fd >= 0)
			(void)close(processes->items[i].fd);
	if (processes->epoll_fd >= 0)
		(void)close(processes->epoll_fd);
	free(processes);
}

/* The process of a thread, or 0. */
static pid_t read_tgid(pid_t tid)
{
	_cleanup_fclose_ FILE *status = NULL;
	char path[64], line[256];
	int tgid = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	return (pid_t)tgid;
}

static bool has_ended(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* A PID of no process, or of a thread, is a mistake that is reported now. */
static int open_process(pid_t pid, int *ret_fd, struct fault *fault)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int error = -errno;
	pid_t tgid;

	if (fd < 0 && (error == -EMFILE || error == -ENFILE || error == -ENOMEM))
		return fault_set(
			fault, error, "cannot watch process %d: %s", (int)pid, strerror(-error));
	tgid = read_tgid(pid);
	if (tgid != 0 && tgid != pid)
		return fault_set(fault, -ESRCH,
			"%d is a thread of process %d, and -p takes processes; use -p %d", (int)pid,
			(int)tgid, (int)tgid);
	if (fd < 0 && error != -ESRCH)
		return fault_set(
			fault, error, "cannot watch process %d: %s", (int)pid, strerror(-error));
	if (fd < 0 || has_ended(fd))
		return fault_set(fault, -ESRCH,
			"there is no process %d to sample; `ps -e` lists the processes", (int)pid);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* -p takes more processes than the default limit of descriptors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int record_processes_open(const pid_t *pids, size_t count, struct record_processes **ret_processes,
	struct fault *fault)
{
	_cleanup_(record_processes_freep) struct record_processes *processes =
		calloc(1, sizeof(*processes) + count * sizeof(processes->items[0]));
	int r;

	if (!processes)
		return fault_set(fault, -ENOMEM, "out of memory");
	raise_descriptor_limit();
	processes->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (processes->epoll_fd < 0)
		return fault_set(fault, -errno, "cannot watch processes: %s", strerror(errno));
	for (size_t i = 0; i < count; i++) {
		struct record_process *process = &processes->items[i];
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		process->pid = pids[i];
		r = open_process(pids[i], &process->fd, fault);
		if (r < 0)
			return r;
		processes->count = processes->alive = i + 1;
		if (epoll_ctl(processes->epoll_fd, EPOLL_CTL_ADD, process->fd, &event) < 0)
			return fault_set(fault, -errno, "cannot watch process %d: %s", (int)pids[i],
				strerror(errno));
	}
	*ret_processes = TAKE_PTR(processes);
	return 0;
}

int record_processes_check(const struct record_processes *processes, struct fault *fault)
{
	for (size_t i = 0; i < processes->count; i++)
		if (processes->items[i].fd < 0 || has_ended(processes->items[i].fd))
			return fault_set(fault, -ESRCH,
				"process %d ended before it could be sampled; omit its -p",
				(int)processes->items[i].pid);
	return 0;
}

int record_processes_poll_fd(const struct record_processes *processes)
{
	return processes->epoll_fd;
}

size_t record_processes_count(struct record_processes *processes)
{
	struct epoll_event events[64];
	int n;

	while ((n = epoll_wait(processes->epoll_fd, events, 64, 0)) > 0)
		for (int i = 0; i < n; i++) {
			struct record_process *process = &processes->items[events[i].data.u32];

			/* Closing also removes it from the epoll set. */
			(void)close(TAKE_FD(process->fd));
			processes->alive--;
		}
	return processes->alive;
}

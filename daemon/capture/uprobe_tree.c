/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/uprobe_tree.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP "pilotlight"

enum {
	NAME_BYTES = 48,
	/* Threads that already run. What a thread beyond them forks is not followed. */
	THREADS_MAX = 256,
};

struct uprobe_tree {
	char name[NAME_BYTES]; /* of the definition; "": none */
	int link_fd;	       /* of the program that has a cookie; -1: none */
	size_t count;
	int fds[THREADS_MAX]; /* an event for each thread */
};

static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/* Opens a file of the tracing file system. Returns a descriptor, or -errno. */
static int open_tracing(const char *name, int flags)
{
	char path[PATH_MAX];
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(roots); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", roots[i], name);
		fd = open(path, flags | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/* The file takes a line with each write. */
static int write_line(const char *line)
{
	_cleanup_close_ int fd = open_tracing("uprobe_events", O_WRONLY | O_APPEND);

	if (fd < 0)
		return fd;
	return write(fd, line, strlen(line)) < 0 ? -errno : 0;
}

static void undefine(const char *name)
{
	char line[NAME_BYTES + 16];

	(void)snprintf(line, sizeof(line), "-:" GROUP "/%s\n", name);
	(void)write_line(line);
}

static int define(struct uprobe_tree *tree, const struct uprobe_place *place, uint32_t number)
{
	char line[PATH_MAX + 128], semaphore[32] = "";
	int r;

	(void)snprintf(tree->name, sizeof(tree->name), "p%d_%" PRIu32, (int)getpid(), number);
	if (place->semaphore_offset)
		(void)snprintf(
			semaphore, sizeof(semaphore), "(0x%" PRIx64 ")", place->semaphore_offset);
	(void)snprintf(line, sizeof(line), "%c:" GROUP "/%s %s:0x%" PRIx64 "%s\n",
		place->is_return ? 'r' : 'p', tree->name, place->path, place->offset, semaphore);
	r = strpbrk(place->path, ": \t\n") ? -EINVAL : write_line(line);
	if (r < 0)
		tree->name[0] = '\0';
	return r;
}

static int read_id(const struct uprobe_tree *tree, uint64_t *ret_id)
{
	char path[NAME_BYTES + 64], text[24];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "events/" GROUP "/%s/id", tree->name);
	fd = open_tracing(path, O_RDONLY);
	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	text[n] = '\0';
	*ret_id = strtoull(text, NULL, 10);
	return 0;
}

static int open_thread(struct uprobe_tree *tree, uint64_t id, pid_t tid, bool is_inherited)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.inherit = is_inherited,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	tree->fds[tree->count++] = fd;
	return 0;
}

/*
 * All events of a definition run the program that one of them has. That one is not inherited: Linux
 * 6.18 gives the heirs the program, too, and the first of them that ends takes it from all.
 */
static int attach_program(
	struct uprobe_tree *tree, uint64_t id, pid_t pid, int program_fd, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	int r = open_thread(tree, id, pid, false);

	if (r < 0)
		return r;
	if (cookie == 0)
		return ioctl(tree->fds[0], PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ? -errno : 0;
	tree->link_fd = bpf_link_create(program_fd, tree->fds[0], BPF_PERF_EVENT, &options);
	return tree->link_fd < 0 ? tree->link_fd : 0;
}

/* A thread that ends meanwhile needs no event, but the process needs one. */
static int open_threads(struct uprobe_tree *tree, uint64_t id, pid_t pid)
{
	int r = open_thread(tree, id, pid, true);
	const struct dirent *entry;
	char path[64];
	DIR *folder;

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && tree->count < THREADS_MAX && (entry = readdir(folder))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != pid)
			(void)open_thread(tree, id, tid, true);
	}
	if (folder)
		(void)closedir(folder);
	return 0;
}

int uprobe_tree_open(const struct uprobe_place *place, pid_t pid, int program_fd, uint32_t number,
	struct uprobe_tree **ret_tree)
{
	_cleanup_(uprobe_tree_closep) struct uprobe_tree *tree = calloc(1, sizeof(*tree));
	uint64_t id = 0;
	int r;

	if (!tree)
		return -ENOMEM;
	tree->link_fd = -1;
	r = define(tree, place, number);
	if (r == 0)
		r = read_id(tree, &id);
	if (r == 0)
		r = attach_program(tree, id, pid, program_fd, place->cookie);
	if (r == 0)
		r = open_threads(tree, id, pid);
	if (r < 0)
		return r;
	*ret_tree = TAKE_PTR(tree);
	return 0;
}

void uprobe_tree_close(struct uprobe_tree *tree)
{
	if (!tree)
		return;
	/* What was inherited ends with the event it comes from. */
	while (tree->count > 0)
		(void)close(tree->fds[--tree->count]);
	if (tree->link_fd >= 0)
		(void)close(tree->link_fd);
	if (tree->name[0])
		undefine(tree->name);
	free(tree);
}

const char *uprobe_tree_missing(void)
{
	_cleanup_close_ int fd = open_tracing("uprobe_events", O_WRONLY | O_APPEND);

	switch (fd) {
	case -EACCES:
	case -EPERM:
		return "the tracing file system is root's";
	case -ENOENT:
		return "the kernel has no CONFIG_UPROBE_EVENTS, or there is no tracing file system "
		       "at /sys/kernel/tracing";
	default:
		return fd < 0 ? strerror(-fd) : "";
	}
}

/* Of a line "p:pilotlight/p123_4 PATH:0x..." of a process that is gone. */
static bool is_left_behind(const char *line, char name[NAME_BYTES])
{
	int pid, number;

	if (strlen(line) < 2 || sscanf(line + 1, ":" GROUP "/p%d_%d", &pid, &number) != 2)
		return false;
	(void)snprintf(name, NAME_BYTES, "p%d_%d", pid, number);
	return kill(pid, 0) < 0 && errno == ESRCH;
}

void uprobe_tree_sweep(void)
{
	_cleanup_fclose_ FILE *file = NULL;
	int fd = open_tracing("uprobe_events", O_RDONLY);
	char line[PATH_MAX + 128], name[NAME_BYTES];

	if (fd < 0)
		return;
	file = fdopen(fd, "r");
	if (!file) {
		(void)close(fd);
		return;
	}
	while (fgets(line, sizeof(line), file))
		if (is_left_behind(line, name))
			undefine(name);
}

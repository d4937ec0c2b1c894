/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_scan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/line_reader.h"
#include "process/maps_line.h"
#include "process/process_status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The default limit of 65530 mappings, with paths of 128 bytes each, gives 13 MiB. */
enum { MAPS_BYTES_MAX = 16 << 20 };

/* The context of scanning one process. */
struct scan {
	struct process_table *table;
	pid_t pid;
	uint64_t time_ns;
	char path[MAPS_LINE_BYTES_MAX];
};

static int add_line(struct scan *scan, const char *text, size_t size)
{
	struct maps_line line;
	struct process_mapping_event event;

	if (maps_line_parse(text, size, &line) < 0 || !line.is_executable ||
		maps_line_path(&line, scan->path, sizeof(scan->path)) < 0)
		return 0;
	event = (struct process_mapping_event){
		.start = line.start,
		.end = line.end,
		.offset = line.offset,
		.path = scan->path,
		.inode = line.inode,
		.device_major = line.device_major,
		.device_minor = line.device_minor,
		.was_there = true,
	};
	return process_table_map(scan->table, scan->pid, scan->time_ns, &event, NULL);
}

/* If a bound refuses one mapping, the others may still fit. */
static int add_lines(struct scan *scan, struct line_reader *reader)
{
	size_t line_count = 0, size;
	bool was_refused = false;
	const char *line;
	int r;

	while ((r = line_reader_next(reader, &line, &size)) > 0) {
		line_count++;
		r = add_line(scan, line, size);
		if (r == -E2BIG)
			was_refused = true;
		else if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (line_count == 0)
		return -ESRCH;
	return was_refused ? -E2BIG : 0;
}

static int read_status(struct broker *broker, pid_t pid, struct process_status *ret_status)
{
	struct broker_process process = { .pid = pid };
	_cleanup_close_ int fd = -1;
	int r = broker_open_process_file(broker, &process, BROKER_PROCESS_STATUS, &fd);

	return r < 0 ? r : process_status_read(fd, ret_status);
}

static int scan_mappings(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct broker_process process = { .pid = pid };
	struct scan scan = { .table = table, .pid = pid, .time_ns = time_ns };
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	_cleanup_close_ int fd = -1;
	int r = broker_open_maps(broker, &process, &fd);

	if (r < 0)
		return r;
	r = line_reader_init(&reader, fd, MAPS_LINE_BYTES_MAX, MAPS_BYTES_MAX);
	if (r < 0)
		return r;
	return add_lines(&scan, &reader);
}

/* The kernel's name of a descriptor equals the path in maps. */
static int read_path(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, PATH_MAX);
	if (size < 0)
		return -errno;
	if (size == PATH_MAX || size == 0 || path[0] != '/')
		return -ENOENT;
	path[size] = '\0';
	return 0;
}

/* Fills in the file of an event; `path` is its room. */
static int describe_file(int fd, char path[PATH_MAX], struct process_mapping_event *event)
{
	struct statx status;
	int r;

	/* DONT_SYNC: cached attributes suffice, and the file system may not respond. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status) < 0)
		return -errno;
	r = read_path(fd, path);
	if (r < 0)
		return r;
	event->path = path;
	event->inode = status.stx_ino;
	event->device_major = status.stx_dev_major;
	event->device_minor = status.stx_dev_minor;
	event->was_there = true;
	return 0;
}

static int scan_executable(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct broker_process process = { .pid = pid };
	struct process_mapping_event event = { 0 };
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int r = broker_open_executable(broker, &process, &fd);

	if (r == 0)
		r = describe_file(fd, path, &event);
	return r < 0 ? r : process_table_set_executable(table, pid, time_ns, &event);
}

int process_scan_mapping(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping, int fd)
{
	struct process_mapping_event event = {
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
	};
	char path[PATH_MAX];
	int r = describe_file(fd, path, &event);

	return r < 0 ? r : process_table_map(table, pid, time_ns, &event, NULL);
}

int process_scan_one(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns)
{
	int r = scan_mappings(broker, table, pid, time_ns);
	int checked;

	if (r < 0 && r != -E2BIG)
		return r;
	/* The mappings are useful even if the rest fails. */
	if (scan_executable(broker, table, pid, time_ns) == -ENOMEM)
		return -ENOMEM;
	checked = process_scan_check(broker, table, pid);
	return checked == -ENOMEM ? checked : r;
}

int process_scan_check(struct broker *broker, struct process_table *table, pid_t pid)
{
	uint64_t time_ns = clock_monotonic_ns();
	struct process_status status;
	int r = read_status(broker, pid, &status);

	if (r < 0 && r != -ESRCH)
		return r;
	/* The first thread stays, and is counted, until the last thread ends. */
	if (r == 0 && status.is_zombie && status.threads > 0)
		status.threads--;
	if (r == -ESRCH || status.threads == 0)
		process_table_gone(table, pid, time_ns);
	else
		process_table_set_threads(table, pid, time_ns, status.threads);
	if (r == 0 && status.has_uid)
		process_table_set_user(table, pid, time_ns, status.uid);
	return 0;
}

static bool parse_pid(const char *name, pid_t *ret_pid)
{
	char *end;
	long pid;

	if (name[0] < '1' || name[0] > '9')
		return false;
	errno = 0;
	pid = strtol(name, &end, 10);
	if (errno || *end || pid > INT32_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

/*
 * Other errors may not affect the next process: the process may have ended, or the broker may lack
 * something for a moment.
 */
static bool ends_scan(int error)
{
	return error == -ENOMEM || error == -EPIPE;
}

void process_rescan_done(struct process_rescan *rescan)
{
	if (rescan->folder)
		(void)closedir(rescan->folder);
	*rescan = (struct process_rescan){ 0 };
}

int process_rescan_begin(struct process_rescan *rescan, const char *proc_root)
{
	process_rescan_done(rescan);
	rescan->folder = opendir(proc_root);
	return rescan->folder ? 0 : -errno;
}

static int rescan_step(struct process_rescan *rescan, struct broker *broker,
	struct process_table *table, uint64_t time_ns)
{
	struct dirent *entry;
	pid_t pid;
	int r;

	if (!rescan->has_checked && process_table_next_live(table, &rescan->cursor, &pid)) {
		(void)process_scan_check(broker, table, pid);
		return 1;
	}
	rescan->has_checked = true;
	errno = 0;
	entry = readdir(rescan->folder);
	if (!entry)
		return -errno;
	if (!parse_pid(entry->d_name, &pid))
		return 1;
	r = process_scan_one(broker, table, pid, time_ns);
	return ends_scan(r) ? r : 1;
}

int process_rescan_run(struct process_rescan *rescan, struct broker *broker,
	struct process_table *table, uint64_t time_ns, uint64_t until_ns)
{
	int r;

	if (!rescan->folder)
		return 0;
	do
		r = rescan_step(rescan, broker, table, time_ns);
	while (r == 1 && clock_monotonic_ns() < until_ns);
	if (r != 1)
		process_rescan_done(rescan);
	return r;
}

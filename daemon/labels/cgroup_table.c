/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/cgroup_table.h"

#include "base/array.h"
#include "base/clock.h"
#include "labels/path_cache.h"
#include "labels/process_cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PROCESS_SHARE = 4, /* 1/4 of the bounds is for processes */
	ROOT_ID = 1,
	INIT_PID = 1,
	GENERATIONS_MAX = 8, /* searched for a live ancestor */
};
/* Marks a key's start time as the version of a process's image. */
#define KEY_OF_VERSION (1ULL << 63)

/* Folders that were found and still have to be read. */
struct scan {
	char **folders;
	size_t count, capacity, limit;
	size_t bytes, bytes_limit;
	size_t found; /* in all; bounds a scan while cgroups are being created */
};

struct cgroup_table {
	struct broker *broker;
	const struct process_table *processes;
	char *mount; /* or NULL */
	struct cgroup_table_limits limits;
	uint64_t root_id; /* as seen from here: within a cgroup namespace, that namespace's root */
	bool has_v1;
	bool has_perf_event_v1;
	struct path_cache by_id;
	/* Answers of processes; "" if they had none. */
	struct path_cache by_process;
	struct process_cgroups asked;
	struct scan scan; /* zeros: none is running */
	uint64_t ask_left_ns;
	struct cgroup_table_counters counters;
};

const struct cgroup_table_limits cgroup_table_default_limits = {
	.cgroups = 16384,
	.path_bytes = 4 << 20,
};

static int read_process(struct cgroup_table *table, const struct broker_process *process)
{
	_cleanup_close_ int fd = -1;
	int r = broker_open_process_file(table->broker, process, BROKER_PROCESS_CGROUP, &fd);

	return r < 0 ? r : process_cgroups_read(fd, &table->asked);
}

/* Detects the hierarchies. If that fails, processes are asked. */
static int read_hierarchies(struct cgroup_table *table)
{
	const struct broker_process ourselves = { .pid = getpid() };
	int r = read_process(table, &ourselves);

	if (r == -ENOMEM)
		return r;
	table->has_v1 = r < 0 || table->asked.has_v1;
	table->has_perf_event_v1 = r == 0 && table->asked.has_perf_event_v1;
	return 0;
}

int cgroup_table_new(const struct cgroup_table_limits *limits, struct broker *broker,
	const struct process_table *processes, const char *mount, struct cgroup_table **ret_table)
{
	_cleanup_(cgroup_table_freep) struct cgroup_table *table = calloc(1, sizeof(*table));
	size_t asked = limits->cgroups / PROCESS_SHARE;
	size_t asked_bytes = limits->path_bytes / PROCESS_SHARE;
	int r;

	if (!table)
		return -ENOMEM;
	table->broker = broker;
	table->processes = processes;
	table->ask_left_ns = UINT64_MAX;
	table->limits = *limits;
	table->root_id = ROOT_ID;
	if (mount) {
		table->mount = strdup(mount);
		if (!table->mount)
			return -ENOMEM;
	}
	r = path_cache_init(&table->by_process, asked, asked_bytes);
	if (r == 0)
		r = path_cache_init(
			&table->by_id, limits->cgroups - asked, limits->path_bytes - asked_bytes);
	if (r == 0)
		r = read_hierarchies(table);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

static void scan_done(struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++)
		free(scan->folders[i]);
	free(scan->folders);
	*scan = (struct scan){ 0 };
}

void cgroup_table_free(struct cgroup_table *table)
{
	if (!table)
		return;
	path_cache_done(&table->by_id);
	path_cache_done(&table->by_process);
	scan_done(&table->scan);
	free(table->mount);
	free(table);
}

static int put_path(struct cgroup_table *table, uint64_t id, const char *path)
{
	const struct path_key key = { .id = id };
	int r = path_cache_put(&table->by_id, &key, path);

	if (r == -E2BIG)
		table->counters.refused++;
	return r;
}

int cgroup_table_add(struct cgroup_table *table, uint64_t id, const char *path)
{
	if (path[0] != '/')
		return -EINVAL;
	return table->has_perf_event_v1 ? 0 : put_path(table, id, path);
}

/* --- the scan --- */

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

static int push_folder(struct scan *scan, const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy;
	int r;

	if (scan->found == scan->limit || bytes > scan->bytes_limit - scan->bytes)
		return -E2BIG;
	r = ARRAY_RESERVE(scan->folders, &scan->capacity, scan->count + 1, scan->limit);
	if (r < 0)
		return r;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	scan->folders[scan->count++] = copy;
	scan->bytes += bytes;
	scan->found++;
	return 0;
}

static int add_child(struct cgroup_table *table, const char *parent, const struct dirent *entry)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", parent[1] ? parent : "", entry->d_name);
	int r;

	if (length < 0 || (size_t)length >= sizeof(path)) {
		table->counters.refused++;
		return 0;
	}
	r = put_path(table, entry->d_ino, path);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	r = push_folder(&table->scan, path);
	if (r == -E2BIG) {
		table->counters.refused++;
		return 0;
	}
	return r;
}

static bool is_cgroup(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

static int open_folder(struct cgroup_table *table, const char *path, DIR **ret_folder)
{
	_cleanup_close_ int fd = -1;
	int r = broker_open_cgroup(table->broker, table->mount, path, &fd);
	DIR *folder;

	if (r < 0)
		return r;
	folder = fdopendir(fd);
	if (!folder)
		return -errno;
	(void)TAKE_FD(fd);
	*ret_folder = folder;
	return 0;
}

static int scan_folder(struct cgroup_table *table, const char *path)
{
	_cleanup_(closedirp) DIR *folder = NULL;
	struct dirent *entry;
	struct stat status;
	int r = open_folder(table, path, &folder);

	if (r < 0)
		return r;
	if (!path[1] && fstat(dirfd(folder), &status) == 0) {
		table->root_id = status.st_ino;
		r = put_path(table, table->root_id, "/");
	}
	while (r == 0 && (errno = 0, entry = readdir(folder)))
		if (is_cgroup(entry))
			r = add_child(table, path, entry);
	return r < 0 ? r : -errno;
}

static bool is_of_the_folder(int error)
{
	return error == -ENOENT || error == -ENODEV || error == -EACCES || error == -EPERM;
}

int cgroup_table_scan_begin(struct cgroup_table *table)
{
	int r;

	scan_done(&table->scan);
	table->scan.limit = table->by_id.limit;
	table->scan.bytes_limit = table->limits.path_bytes;
	r = scan_folder(table, "/");
	if (r == 0 && table->scan.count > 0)
		return 1;
	scan_done(&table->scan);
	return r;
}

static int scan_next(struct cgroup_table *table)
{
	_cleanup_free_ char *path = table->scan.folders[--table->scan.count];
	int r;

	table->scan.bytes -= strlen(path) + 1;
	r = scan_folder(table, path);
	return is_of_the_folder(r) ? 0 : r;
}

int cgroup_table_scan_run(struct cgroup_table *table, uint64_t until_ns)
{
	int r = 0;

	while (r == 0 && table->scan.count > 0) {
		r = scan_next(table);
		if (r == 0 && table->scan.count > 0 && clock_monotonic_ns() >= until_ns)
			return 1;
	}
	scan_done(&table->scan);
	return r;
}

bool cgroup_table_is_scanning(const struct cgroup_table *table)
{
	return table->scan.count > 0;
}

/* --- questions --- */

/* Says whether `path` has that id: the process may have moved to another cgroup meanwhile. */
static bool has_id(struct cgroup_table *table, const char *path, uint64_t id)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	return path[0] && broker_open_cgroup(table->broker, table->mount, path, &fd) == 0 &&
	       fstat(fd, &status) == 0 && status.st_ino == id;
}

/* The query: the cgroup of a thread, by its id, or the one in /proc. */
struct question {
	uint64_t id;
	bool is_root;
};

/* The path is "" if the process has no answer. Returns 0 or -ENOMEM. */
static int read_answer(struct cgroup_table *table, const struct question *question,
	const struct broker_process *process, const char **ret_path)
{
	int r = read_process(table, process);

	if (r == -ENOMEM)
		return r;
	*ret_path = "";
	if (r < 0)
		return 0;
	if (question->is_root)
		*ret_path = process_cgroups_path(&table->asked);
	else if (has_id(table, table->asked.unified, question->id))
		*ret_path = table->asked.unified;
	return 0;
}

/* As read_answer(), or -ETIME: the window's budget is used up. */
static int ask_process(struct cgroup_table *table, const struct question *question,
	const struct broker_process *process, const char **ret_path)
{
	uint64_t begin_ns, took_ns;
	int r;

	*ret_path = "";
	if (process->pid <= 0)
		return 0; /* no process, or one of another pid namespace */
	if (table->ask_left_ns == 0)
		return -ETIME;
	begin_ns = clock_monotonic_ns();
	r = read_answer(table, question, process, ret_path);
	took_ns = clock_monotonic_ns() - begin_ns;
	table->ask_left_ns -= took_ns < table->ask_left_ns ? took_ns : table->ask_left_ns;
	return r;
}

/*
 * Returns "" if there is no answer. The answer "" of a process is cached; a failure to ask is not.
 */
static const char *find_by_key(struct cgroup_table *table, const struct question *question,
	const struct path_key *key, const struct broker_process *process)
{
	const char *path = path_cache_get(&table->by_process, key);

	if (path)
		return path;
	if (ask_process(table, question, process, &path) < 0)
		return "";
	if (!path[0])
		table->counters.unknown++;
	else if (!question->is_root)
		(void)put_path(table, question->id, path);
	/* If it is not cached, the process is asked again. */
	(void)path_cache_put(&table->by_process, key, path);
	return path;
}

/* Moves `pid` and `time_ns` to the parent and the time of the fork. */
static bool step_to_parent(const struct cgroup_table *table, pid_t *pid, uint64_t *time_ns)
{
	return process_table_birth(table->processes, *pid, *time_ns, pid, time_ns) &&
	       *pid != INIT_PID && process_table_has(table->processes, *pid, *time_ns);
}

/*
 * Identifies a parent by its image, since its pid may have been reused. Its own cache entry cannot
 * be used: the start time in that key is in another clock.
 */
static const char *find_by_ancestor(
	struct cgroup_table *table, const struct question *question, pid_t pid, uint64_t time_ns)
{
	const char *path = "";

	for (int i = 0; i < GENERATIONS_MAX && step_to_parent(table, &pid, &time_ns); i++) {
		const struct broker_process parent = { .pid = pid };
		const struct path_key key = {
			.id = question->is_root ? 0 : question->id,
			.pid = pid,
			.start_ns = KEY_OF_VERSION |
				    process_table_version(table->processes, pid, time_ns),
		};

		if (process_table_has_ended(table->processes, pid, time_ns))
			path = path_cache_get(&table->by_process, &key);
		else
			return find_by_key(table, question, &key, &parent);
		if (path && path[0])
			return path;
	}
	table->counters.unknown++;
	return "";
}

static const char *find_by_process(struct cgroup_table *table, const struct question *question,
	const struct broker_process *process, uint64_t time_ns)
{
	const struct path_key key = {
		.id = question->is_root ? 0 : question->id,
		.pid = process->pid,
		.start_ns = process->start_ns,
	};
	const char *path = path_cache_get(&table->by_process, &key);
	uint64_t born_ns;
	pid_t parent;

	if (path)
		return path;
	/* If the fork was not observed, the end may have been reported too early. */
	if (process_table_has_ended(table->processes, process->pid, time_ns) &&
		process_table_birth(table->processes, process->pid, time_ns, &parent, &born_ns))
		return find_by_ancestor(table, question, process->pid, time_ns);
	return find_by_key(table, question, &key, process);
}

void cgroup_table_begin_window(struct cgroup_table *table, uint64_t ask_ns)
{
	table->ask_left_ns = ask_ns;
}

const char *cgroup_table_find(struct cgroup_table *table, uint64_t id,
	const struct broker_process *process, uint64_t time_ns)
{
	const struct question question = {
		.id = id,
		.is_root = id == 0 || id == ROOT_ID || id == table->root_id,
	};
	const struct path_key key = { .id = id };
	const char *path;

	if (question.is_root && id != 0 && !table->has_v1)
		return "/";
	path = question.is_root ? NULL : path_cache_get(&table->by_id, &key);
	if (path)
		return path;
	if (process)
		return find_by_process(table, &question, process, time_ns);
	table->counters.unknown++;
	return "";
}

void cgroup_table_counters(
	const struct cgroup_table *table, struct cgroup_table_counters *ret_counters)
{
	*ret_counters = table->counters;
	ret_counters->evicted = table->by_id.evicted + table->by_process.evicted;
}

size_t cgroup_table_bytes(const struct cgroup_table *table)
{
	return sizeof(*table) + path_cache_bytes(&table->by_id) +
	       path_cache_bytes(&table->by_process);
}

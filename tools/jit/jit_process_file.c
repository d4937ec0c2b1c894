/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_process_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "jit/jit_file.h"
#include "process/process_scan.h"
#include "process/process_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of the search for one process. */
struct search {
	struct broker *broker;
	struct process_table *processes;
	struct broker_process process;
	struct jit_process_facts facts;
};

static void search_done(struct search *search)
{
	process_table_free(search->processes);
	broker_free(search->broker);
}

/* Returns 0, -ENOENT if it maps no marker, or the -errno of the last one. */
static int open_jitdump(const struct search *search, int *ret_fd, char **ret_path)
{
	const struct process_mapping *mappings;
	size_t count;
	int r = -ENOENT;

	count = process_table_mappings(
		search->processes, search->process.pid, clock_monotonic_ns(), &mappings);
	/* The marker that was mapped last mostly has the lowest address. */
	for (size_t i = 0; i < count; i++) {
		_cleanup_close_ int fd = -1;
		struct jit_marker marker;
		struct mapped_file file;

		process_table_file(search->processes, mappings[i].file, &file);
		if (!jit_file_is_marker(file.path))
			continue;
		marker = (struct jit_marker){
			.start = mappings[i].start,
			.end = mappings[i].end,
			.path = file.path,
		};
		r = jit_file_open_jitdump(
			search->broker, &search->process, &marker, &search->facts, &fd);
		if (r < 0)
			continue;
		*ret_path = strdup(file.path);
		if (!*ret_path)
			return -ENOMEM;
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	return r;
}

static int open_perf_map(const struct search *search, int *ret_fd, char **ret_path)
{
	const struct broker_process nobody = { 0 };
	_cleanup_close_ int fd = -1;
	char path[64];
	int r;

	r = jit_file_open_perf_map(search->broker, &search->process, &nobody, &search->facts, &fd);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", search->facts.ns_pid);
	*ret_path = strdup(path);
	if (!*ret_path)
		return -ENOMEM;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int find_process(struct search *search, pid_t pid)
{
	int r;

	r = broker_new(NULL, &search->broker);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &search->processes);
	if (r < 0)
		return r;
	search->process.pid = pid;
	r = jit_file_read_facts(search->broker, &search->process, &search->facts);
	if (r < 0)
		return r;
	search->process.start_ns = search->facts.start_ns;
	r = process_scan_one(search->broker, search->processes, pid, clock_monotonic_ns());
	/* A truncated list may still be enough. */
	return r == -E2BIG ? 0 : r;
}

const char *jit_process_file_explain(int error)
{
	switch (error) {
	case -EREMOTE:
		return "it is on a file system that need not answer";
	case -ELOOP:
		return "it is a link";
	case -EPERM:
		return "it belongs to somebody else";
	case -ESTALE:
		return "it was written by an earlier process";
	case -EMLINK:
		return "it has more than one link";
	case -EINVAL:
		return "it is no regular file";
	case -ENOEXEC:
		return "it does not start as a jitdump does";
	default:
		return strerror(-error);
	}
}

int jit_process_file_open(pid_t pid, struct jit_process_file *ret_file, struct fault *fault)
{
	_cleanup_(search_done) struct search search = { 0 };
	struct jit_process_file file = { .fd = -1 };
	int r, map_error;

	r = find_process(&search, pid);
	if (r < 0)
		return fault_set(fault, r, "cannot look at process %d: %s", (int)pid, strerror(-r));
	r = open_jitdump(&search, &file.fd, &file.path);
	file.is_jitdump = r == 0;
	if (r == -ENOENT) {
		map_error = open_perf_map(&search, &file.fd, &file.path);
		if (map_error == -ENOENT)
			return fault_set(fault, map_error,
				"process %d has neither a jitdump file nor a perf map; its runtime "
				"needs an option for either",
				(int)pid);
		if (map_error < 0)
			return fault_set(fault, map_error,
				"process %d has no jitdump file, and its perf map cannot be "
				"opened: %s",
				(int)pid, jit_process_file_explain(map_error));
	} else if (r < 0) {
		return fault_set(fault, r, "the jitdump file of process %d cannot be opened: %s",
			(int)pid, jit_process_file_explain(r));
	}
	*ret_file = file;
	return 0;
}

void jit_process_file_done(struct jit_process_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	free(file->path);
	*file = (struct jit_process_file){ .fd = -1 };
}

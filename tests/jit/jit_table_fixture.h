/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A jit_table over processes that are made up: a folder that stands for /proc, and in it dumps and
 * perf maps that are written as a test goes on. All belong to whoever runs the test. Times are in
 * milliseconds where they are called `ms`. A step that fails ends the test.
 */
#pragma once

#include "jit/jit_table.h"
#include "tests/harness/files.h"
#include "tests/jit/jitdump_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ULL

enum {
	MARKER_START = 0x7f0000000000,
	MARKER_END = 0x7f0000001000,
	CODE = 0x10000, /* where tests put code */
	CODE_BYTES = 64,
};

struct jit_fixture {
	char proc[64];
	struct broker *broker;
	struct process_table *processes;
	struct jit_table *table;
};

/* A dump that is being written: to add records, then jit_fixture_flush(). */
struct jit_dump {
	struct jitdump_fixture records;
	char path[128];
	int fd;
	size_t flushed;
};

/* How fast the machine is decides nothing here, nor does how long it has been on. */
static inline void jit_fixture_limit(
	struct jit_fixture *fixture, const struct jit_table_limits *limits)
{
	struct jit_table_limits used = *limits;

	used.cpu_per_mille = 1000000;
	if (!used.latest_ns)
		used.latest_ns = UINT64_MAX;
	jit_table_free(fixture->table);
	assert_int_equal(
		jit_table_new(&used, fixture->broker, fixture->processes, &fixture->table), 0);
}

static inline void jit_fixture_open(struct jit_fixture *fixture)
{
	struct broker_options options = { .proc_root = fixture->proc };

	strcpy(fixture->proc, "/tmp/jit_table_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->proc));
	assert_int_equal(broker_new(&options, &fixture->broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &fixture->processes), 0);
	fixture->table = NULL;
	jit_fixture_limit(fixture, &jit_table_default_limits);
}

static inline void jit_fixture_close(struct jit_fixture *fixture)
{
	jit_table_free(fixture->table);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
	remove_folder(fixture->proc);
}

static inline void jit_fixture_write(
	const struct jit_fixture *fixture, pid_t pid, const char *name, const char *text)
{
	char folder[96];

	(void)snprintf(folder, sizeof(folder), "%s/%d", fixture->proc, (int)pid);
	write_file(folder, name, text);
}

/* A process of that user; `ns_pid` is its pid in its own namespace. */
static inline void jit_fixture_process_of(
	const struct jit_fixture *fixture, pid_t pid, uint32_t ns_pid, uid_t uid)
{
	static const char *const folders[] = { "", "/map_files", "/root", "/root/tmp" };
	char path[192], text[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%d%s", fixture->proc, (int)pid, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)snprintf(text, sizeof(text),
		"Name:\trt\nState:\tS (sleeping)\nUid:\t%u\t%u\t%u\t%u\nNStgid:\t%d\t%u\n"
		"Threads:\t1\n",
		uid, uid, uid, uid, (int)pid, ns_pid);
	jit_fixture_write(fixture, pid, "status", text);
	(void)snprintf(text, sizeof(text),
		"%d (rt) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 1000 2 3\n", (int)pid);
	jit_fixture_write(fixture, pid, "stat", text);
	jit_fixture_write(fixture, pid, "comm", "rt\n");
}

static inline void jit_fixture_process(const struct jit_fixture *fixture, pid_t pid)
{
	jit_fixture_process_of(fixture, pid, (uint32_t)pid, getuid());
}

/* Whose child it is, as /proc tells. */
static inline void jit_fixture_parent(const struct jit_fixture *fixture, pid_t pid, pid_t parent)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		"Name:\trt\nState:\tS (sleeping)\nPPid:\t%d\nUid:\t%u\t%u\t%u\t%u\n"
		"NStgid:\t%d\nThreads:\t1\n",
		(int)parent, getuid(), getuid(), getuid(), getuid(), (int)pid);
	jit_fixture_write(fixture, pid, "status", text);
}

static inline void jit_fixture_gone(const struct jit_fixture *fixture, pid_t pid)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/%d", fixture->proc, (int)pid);
	remove_folder(path);
}

/* Empty as yet; its name says that `number` writes it. */
static inline void jit_fixture_dump(
	const struct jit_fixture *fixture, struct jit_dump *dump, uint32_t number)
{
	*dump = (struct jit_dump){ 0 };
	(void)snprintf(dump->path, sizeof(dump->path), "%s/jit-%u.dump", fixture->proc, number);
	dump->fd = open(dump->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(dump->fd >= 0);
}

static inline void jit_fixture_flush(struct jit_dump *dump)
{
	assert_true(jitdump_fixture_append(&dump->records, dump->fd, dump->flushed));
	dump->flushed = dump->records.size;
}

static inline void jit_fixture_dump_done(struct jit_dump *dump)
{
	(void)close(dump->fd);
	jitdump_fixture_done(&dump->records);
}

/* A LOAD, written at once. */
static inline void jit_fixture_load(
	struct jit_dump *dump, uint64_t ms, uint32_t pid, uint64_t address, const char *name)
{
	jitdump_fixture_load_without_code(
		&dump->records, ms * MS, pid, address, CODE_BYTES, 1, name);
	jit_fixture_flush(dump);
}

/* What the side-band tells of a mapping. */
static inline struct process_mapping jit_fixture_map(
	struct jit_fixture *fixture, pid_t pid, uint64_t ms, const char *path)
{
	const struct process_mapping_event event = {
		.start = MARKER_START,
		.end = MARKER_END,
		.path = path,
		.inode = 7,
		.device_major = 8,
		.device_minor = 1,
	};
	struct process_mapping mapping = { .start = event.start, .end = event.end };

	assert_int_equal(
		process_table_map(fixture->processes, pid, ms * MS, &event, &mapping.file), 0);
	return mapping;
}

static inline void jit_fixture_link(
	const struct jit_fixture *fixture, pid_t pid, const struct jit_dump *dump)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", fixture->proc, (int)pid,
		(unsigned long long)MARKER_START, (unsigned long long)MARKER_END);
	(void)unlink(path);
	assert_int_equal(symlink(dump->path, path), 0);
}

static inline void jit_fixture_fork(
	struct jit_fixture *fixture, pid_t pid, pid_t parent, uint64_t ms)
{
	assert_int_equal(process_table_fork(fixture->processes, pid, parent, ms * MS), 0);
}

static inline void jit_fixture_exec(struct jit_fixture *fixture, pid_t pid, uint64_t ms)
{
	assert_int_equal(process_table_exec(fixture->processes, pid, ms * MS), 0);
}

static inline void jit_fixture_exit(struct jit_fixture *fixture, pid_t pid, uint64_t ms)
{
	process_table_exit(fixture->processes, pid, ms * MS);
}

static inline void jit_fixture_retire(struct jit_fixture *fixture, uint64_t ms)
{
	process_table_retire(fixture->processes, ms * MS);
	jit_table_retire(fixture->table, ms * MS);
}

/* The process, which is another one if its pid has ended, has memory with generated code. */
static inline void jit_fixture_memory(struct jit_fixture *fixture, pid_t pid, uint64_t ms)
{
	const struct process_mapping_event event = { .start = CODE, .end = 2 * CODE, .path = "" };

	if (process_table_has(fixture->processes, pid, UINT64_MAX) &&
		!process_table_is_live(fixture->processes, pid))
		jit_fixture_fork(fixture, pid, 4000, ms);
	assert_int_equal(process_table_map(fixture->processes, pid, ms * MS, &event, NULL), 0);
	assert_int_equal(jit_table_note_memory(fixture->table, pid, ms * MS, 0), 0);
}

/* The process maps its dump, and that is noted. */
static inline void jit_fixture_marker(
	struct jit_fixture *fixture, pid_t pid, uint64_t ms, const struct jit_dump *dump)
{
	struct process_mapping mapping;

	jit_fixture_link(fixture, pid, dump);
	mapping = jit_fixture_map(fixture, pid, ms, dump->path);
	assert_int_equal(jit_table_note_marker(fixture->table, pid, ms * MS, &mapping), 0);
}

/* A process with a dump that has a header. */
static inline void jit_fixture_runtime(
	struct jit_fixture *fixture, pid_t pid, uint64_t ms, struct jit_dump *dump)
{
	jit_fixture_process(fixture, pid);
	jit_fixture_dump(fixture, dump, (uint32_t)pid);
	jitdump_fixture_header(&dump->records, (uint32_t)pid);
	jit_fixture_flush(dump);
	jit_fixture_marker(fixture, pid, ms, dump);
}

static inline void jit_fixture_run(struct jit_fixture *fixture, uint64_t ms)
{
	assert_int_equal(jit_table_run(fixture->table, ms * MS), 0);
}

/* The name of what was there then; NULL: nothing is known. */
static inline const char *jit_fixture_name(
	const struct jit_fixture *fixture, pid_t pid, uint64_t ms, uint64_t address)
{
	struct code_found found;

	return jit_table_find(fixture->table, pid, ms * MS, ms * MS, address, false, &found) ==
			       JIT_FOUND
		       ? found.name
		       : NULL;
}

static inline const char *jit_fixture_shared_name(
	const struct jit_fixture *fixture, pid_t pid, uint64_t ms, uint64_t address)
{
	struct code_found found;

	return jit_table_find(fixture->table, pid, ms * MS, ms * MS, address, true, &found) ==
			       JIT_FOUND
		       ? found.name
		       : NULL;
}

/* Does the newest process with that pid have a valid file? */
static inline bool jit_fixture_has_names(const struct jit_fixture *fixture, pid_t pid)
{
	struct jit_process_report report;
	struct process_image image;
	size_t cursor = 0;

	if (!process_table_image(fixture->processes, pid, UINT64_MAX, &image))
		return false;
	while (jit_table_next(fixture->table, &cursor, &report))
		if (report.pid == pid && report.has_ended == (image.end_ns != PROCESS_LIVE) &&
			report.path[0] && (!report.is_jitdump || report.jitdump.has_header))
			return true;
	return false;
}

static inline int jit_fixture_set_up(void **state)
{
	struct jit_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	jit_fixture_open(fixture);
	*state = fixture;
	return 0;
}

static inline int jit_fixture_tear_down(void **state)
{
	jit_fixture_close(*state);
	free(*state);
	return 0;
}

#define WITH_JIT(test) \
	cmocka_unit_test_setup_teardown(test, jit_fixture_set_up, jit_fixture_tear_down)

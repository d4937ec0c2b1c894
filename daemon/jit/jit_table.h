/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that generate code, and the names of that code: from their jitdump files, which are
 * followed while they are written, or from their perf maps. A process with a valid jitdump never
 * takes a name from its perf map. A file is followed once, however many processes map it: a fork
 * inherits its parent's. Each process sees the code that it has written itself, and that its
 * parents had written before the fork; in shared memory it sees what any of them has written. A
 * fork with a file of its own still finds its parents' older code in theirs.
 *
 * The table follows the images of the process table (struct process_follower), which reports forks
 * and ends; the caller reports only memory and markers. Runtimes buffer what they write, so an
 * answer may change until jit_table_is_final(): records with later times have been read from the
 * same writer, or there will be no more.
 *
 * Bounds (I4): processes, files, and one budget in bytes for all code. Where the bytes are used up,
 * the biggest file gives way; where processes or files are, the one without a sample for longest,
 * which is looked for again at the next sample. Each run has a budget of steps and of CPU time,
 * shared by the files that have anything to read: a file that grows faster lags alone. One owner,
 * one thread. Times are CLOCK_MONOTONIC in ns.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker.h"
#include "jit/code_index.h"
#include "jit/jitdump_reader.h"
#include "jit/perf_map_reader.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_table;

struct jit_table_limits {
	size_t processes; /* 4096 */
	size_t files;	  /* 512, each with a descriptor */
	size_t bytes;	  /* 16 MiB */
	/* That one run may take for each second since the last, and at most for 10 of these. */
	int64_t steps_per_s;	/* 100000 */
	unsigned cpu_per_mille; /* of one CPU; 50 */
	uint64_t latest_ns;	/* of records, as jitdump_reader_options have it: 0 */
};
extern const struct jit_table_limits jit_table_default_limits;

struct jit_table_counters {
	uint64_t processes_evicted, files_evicted; /* live ones, to make room */
	uint64_t files_distrusted;		   /* another user's, a link, no regular file */
};

/*
 * `limits` is copied; the others are borrowed and must outlive the table, which is the follower of
 * `images` from here on.
 */
int jit_table_new(const struct jit_table_limits *limits, struct broker *broker,
	struct process_table *images, struct jit_table **ret_table);
void jit_table_free(struct jit_table *table);
DEFINE_CLEANUP(struct jit_table, jit_table_free);

/*
 * Facts about processes that the process table knows; others are ignored. `time_ns` 0 stands for
 * the newest image. A marker opens its file at once. A file that cannot be opened is counted, so
 * that these return 0 or -ENOMEM.
 */
int jit_table_note_marker(struct jit_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping);

/*
 * It has executable memory that no file is behind: it may have a perf map, now or later. `start_ns`
 * is when it started, CLOCK_BOOTTIME, to the nanosecond that /proc does not tell; 0: not known.
 */
int jit_table_note_memory(struct jit_table *table, pid_t pid, uint64_t time_ns, uint64_t start_ns);

/* Notes markers and memory of all live processes of the process table. 0 or -ENOMEM. */
int jit_table_note_all(struct jit_table *table);

/* Looks for files that were not there, and reads what has been written. Returns 0 or -ENOMEM. */
int jit_table_run(struct jit_table *table, uint64_t now_ns);

/*
 * When it is to be run next, unless more becomes known before; UINT64_MAX: then only. Files that
 * are written to are read ten times a second, others less and less often, down to once a second,
 * unless somebody waits for what they may tell (`is_awaited`).
 */
uint64_t jit_table_due_ns(const struct jit_table *table, bool is_awaited);

/*
 * Reads all there is, whatever it costs up to `steps` and `cpu_ns` of CPU time: at the end. Returns
 * 0 or -ENOMEM.
 */
int jit_table_finish(struct jit_table *table, uint64_t now_ns, int64_t steps, uint64_t cpu_ns);

/* No sample from before this will be asked for: older code goes. */
void jit_table_retire(struct jit_table *table, uint64_t time_ns);

enum jit_answer {
	JIT_UNKNOWN, /* nothing is known of that address at that time */
	JIT_FOUND,
	JIT_AMBIGUOUS, /* not the same code all the time */
};

/*
 * What was at `address` in the process that had `pid` at `first_ns`, from then to `last_ns`.
 * `is_shared`: the memory is shared with other processes. Strings are borrowed until the next fact.
 */
enum jit_answer jit_table_find(const struct jit_table *table, pid_t pid, uint64_t first_ns,
	uint64_t last_ns, uint64_t address, bool is_shared, struct code_found *ret_found);

/*
 * Can records that are still to be read no longer change the answer for this time? `is_named`: all
 * addresses have names. From a perf map, which has no times, no better answer can come.
 */
bool jit_table_is_final(const struct jit_table *table, pid_t pid, uint64_t time_ns, bool is_named);

/* Changes when more becomes known about the process's code; 0: nothing is known. */
uint64_t jit_table_code_version(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* Has the process a valid file with names of its code? */
bool jit_table_has_names(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* "V8", "" where it is not known. */
const char *jit_table_runtime(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* For people: a process and the file that names its code. */
struct jit_process_report {
	pid_t pid;
	uint32_t ns_pid;
	bool has_ended;
	char comm[16];
	const char *path; /* borrowed; "" where it has no file */
	bool is_jitdump;
	uint32_t sharers; /* processes that the file is of, this one included */
	const char *runtime;
	int open_error;		 /* why there is no file, or 0 */
	size_t symbols, bytes;	 /* of memory */
	uint64_t last_record_ns; /* 0: none, or a perf map */
	struct jitdump_reader_state jitdump;
	struct perf_map_reader_state perf_map;
	struct code_index_counters code;
};
/* Each process that generates code, in no order; `*cursor` starts at 0. False: there are no more.
 */
bool jit_table_next(
	const struct jit_table *table, size_t *cursor, struct jit_process_report *ret_report);

void jit_table_counters(const struct jit_table *table, struct jit_table_counters *ret_counters);
size_t jit_table_bytes(const struct jit_table *table);

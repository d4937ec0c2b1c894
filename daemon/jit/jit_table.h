/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that generate code, and the names of that code. Names come from a process's
 * jitdump, which the table follows while the process writes it, or from its perf map. A process
 * with a valid jitdump never takes a name from its perf map. The table follows a file once, however
 * many processes map it; a fork inherits its parent's file. A process sees its own code, and what
 * its parents had written before the fork. In shared memory it sees what any of them has written. A
 * fork with its own file still finds its parents' older code in theirs.
 *
 * The process table reports forks and ends (struct process_follower); the caller reports only
 * memory and markers. Runtimes buffer their writes, so an answer may change until
 * jit_table_is_final(). It is final once records with later times from the same writer were read,
 * or if no more can arrive.
 *
 * Bounds (I4): processes, files, and one budget in bytes for all code. When the bytes are used up,
 * the biggest file of the user with the most bytes drops code. At the limits of processes and of
 * files, the user with the most of them loses the one without a sample for longest. The next sample
 * starts a new search. Each run has a budget of steps and of CPU time. Users take turns in it; a
 * user's files that grow too fast delay only that user's.
 * One owner, one thread. Times are CLOCK_MONOTONIC in ns.
 */
#pragma once

#include "base/cleanup.h"
#include "base/user_share.h"
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
	/* A run's budgets for each second since the last run, counting at most one second. */
	int64_t steps_per_s;	/* 100000 */
	unsigned cpu_per_mille; /* of one CPU; 50 */
	uint64_t latest_ns;	/* of records, as in jitdump_reader_options; default 0 */
};
extern const struct jit_table_limits jit_table_default_limits;

struct jit_table_counters {
	uint64_t processes_evicted, files_evicted; /* live ones, to make room */
	uint64_t files_distrusted; /* another user's, a link, or not a regular file */
	uint64_t maps_cut;	   /* perf maps of ended processes, too long for their last read */
};

/*
 * `limits` is copied. The others are borrowed and must outlive the table. From now on the table is
 * the follower of `images`. Returns 0 or -ENOMEM.
 */
int jit_table_new(const struct jit_table_limits *limits, struct broker *broker,
	struct process_table *images, struct jit_table **ret_table);
void jit_table_free(struct jit_table *table);
DEFINE_CLEANUP(struct jit_table, jit_table_free);

/*
 * Facts about processes of the process table; facts about other processes are ignored. `time_ns` 0
 * means the newest image. A marker opens its jitdump at once. A file that cannot be opened is
 * counted and is no error. Both return 0 or -ENOMEM.
 */
int jit_table_note_marker(struct jit_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping);

/*
 * Notes executable anonymous memory: the process may have a perf map, now or later. `start_ns` is
 * its start in CLOCK_BOOTTIME, more exact than /proc reports; 0: unknown. Returns 0 or -ENOMEM.
 */
int jit_table_note_memory(struct jit_table *table, pid_t pid, uint64_t time_ns, uint64_t start_ns);

/* Notes markers and memory of all live processes of the process table. Returns 0 or -ENOMEM. */
int jit_table_note_all(struct jit_table *table);

/* Looks for missing files and reads new records. Returns 0 or -ENOMEM. */
int jit_table_run(struct jit_table *table, uint64_t now_ns);

/*
 * Returns the time of the next run; a new fact may bring it forward. UINT64_MAX: only a new fact
 * does. Files with new records are read ten times a second, others ever less often, down to once a
 * second. If a client waits for their records (`is_awaited`), all are read ten times a second.
 */
uint64_t jit_table_due_ns(const struct jit_table *table, bool is_awaited);

/* Reads everything at the end, in `cpu_ns` of CPU time. Returns 0 or -ENOMEM. */
int jit_table_finish(struct jit_table *table, uint64_t now_ns, uint64_t cpu_ns);

/* Drops code that only samples before `time_ns` could need; no such sample will follow. */
void jit_table_retire(struct jit_table *table, uint64_t time_ns);

enum jit_answer {
	JIT_UNKNOWN, /* no code is known at that address and time */
	JIT_FOUND,
	JIT_AMBIGUOUS, /* the code changed in between */
};

/*
 * Finds the code at `address` from `first_ns` to `last_ns` in the process that had `pid` at
 * `first_ns`. `is_shared`: other processes share that memory. Strings are borrowed until the next
 * fact.
 */
enum jit_answer jit_table_find(const struct jit_table *table, pid_t pid, uint64_t first_ns,
	uint64_t last_ns, uint64_t address, bool is_shared, struct code_found *ret_found);

/*
 * Says whether unread records can no longer change the answer for this time. `is_named`: all
 * addresses have names. A perf map has no times, so a named answer from it cannot improve.
 */
bool jit_table_is_final(const struct jit_table *table, pid_t pid, uint64_t time_ns, bool is_named);

/* Returns a version of the process's code, which changes with new records; 0: no code is known. */
uint64_t jit_table_code_version(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* Returns the runtime, such as "V8"; "": unknown. */
const char *jit_table_runtime(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* Report for users: a process and the file that names its code. */
struct jit_process_report {
	pid_t pid;
	uint32_t ns_pid;
	bool has_ended;
	char comm[16];
	const char *path; /* borrowed; "": no file */
	bool is_jitdump;
	uint32_t sharers; /* processes that use the file, this one included */
	const char *runtime;
	int open_error;		 /* why the file could not be opened, or 0 */
	size_t symbols, bytes;	 /* of memory */
	uint64_t last_record_ns; /* 0: none, or a perf map */
	struct jitdump_reader_state jitdump;
	struct perf_map_reader_state perf_map;
	struct code_index_counters code;
};
/*
 * Iterates over the processes that generate code, in no order; `*cursor` starts at 0. False: no
 * more.
 */
bool jit_table_next(
	const struct jit_table *table, size_t *cursor, struct jit_process_report *ret_report);

/* Bytes of code by user, and what left (USER_JIT). */
const struct user_share *jit_table_share(const struct jit_table *table);
const struct user_excess *jit_table_excess(const struct jit_table *table);

void jit_table_counters(const struct jit_table *table, struct jit_table_counters *ret_counters);
size_t jit_table_bytes(const struct jit_table *table);

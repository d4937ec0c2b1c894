/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to jit_table*.c: processes, which are the data of images in the process table, and the
 * files that they share. Each source uses only earlier ones in this order: files, processes, run,
 * jit_table.c. find is parallel to run.
 */
#pragma once

#include "base/user_share.h"
#include "base/user_time.h"
#include "jit/counter_clock.h"
#include "jit/jit_file.h"
#include "jit/jit_table.h"

#include <sys/stat.h>

enum {
	JIT_NO_FILE = UINT32_MAX,
	JIT_NO_USER = UINT32_MAX,
	/* One index may hold 1/2 of all bytes. */
	JIT_INDEX_SHARE = 2,
};

/* An image of a process that generates code. */
struct jit_process {
	uint32_t image;	   /* in the process table */
	uint32_t position; /* in jit_table.processes */
	pid_t pid;
	pid_t parent;		   /* 0: not known */
	uint64_t start_ns, end_ns; /* 0: not known; PROCESS_LIVE */
	uint64_t since_ns;	   /* older code in its files belongs to another program */
	uint64_t sampled_ns;	   /* newest sample in its code; 0: none */
	bool has_facts;
	bool is_fork;			 /* its parent's code at start_ns is its own, too */
	bool has_forks;			 /* another process may refer to it by forked_from */
	bool has_own_map;		 /* `map` is not its parent's */
	bool was_sampled;		 /* since the last search for its perf map */
	bool is_start_rounded;		 /* start_ns comes from /proc */
	bool lacks_marker_scan;		 /* its mappings have not been searched for a marker */
	bool is_finished;		 /* it has ended, and all that it wrote was read */
	uint64_t final_bytes;		 /* file size when first checked after the end */
	struct jit_process_facts facts;	 /* uid is JIT_NO_USER until it is known */
	struct jit_process *forked_from; /* files are inherited from it; NULL: none, or gone */
	uint32_t dump, map; /* files, or JIT_NO_FILE; the map counts until the dump is valid */
	int open_error;	    /* of the last attempt */
	uint64_t next_look_ns, look_interval_ns; /* for a perf map */
	uint64_t *until_ns; /* by writer: the end of its valid records; NULL: all are valid */
	uint32_t until_count;
	uint64_t view_version; /* table version for which until_ns was computed */
};

/* A followed file. */
struct jit_followed {
	uint32_t references; /* processes that use it; 0: the slot is free */
	dev_t device;
	ino_t inode;
	char *path;
	struct jitdump_reader *jitdump; /* either this or perf_map */
	struct perf_map_reader *perf_map;
	struct code_index *index;
	bool is_valid;	     /* it is a perf map, or has a jitdump header */
	bool is_final;	     /* a perf map that was read after all its writers ended */
	uint64_t live_bytes; /* of a perf map: read before the last look that found a live writer */
	bool has_more;	     /* the last run did not reach the end */
	bool was_read;	     /* in the last run */
	uint64_t sampled_ns; /* newest of its processes; valid only during eviction */
	size_t code_bytes;   /* of the index, at the last jit_table_measure() */
	uint64_t user;	     /* of one of its processes, at the last jit_table_charge_files() */
	/* In this round of reading: its place among its user's files with unread data, the time
	 * that was spent on its user lately, and the steps of its turn. */
	uint32_t rank;
	uint64_t level_ns;
	int64_t turn_steps;
	uint8_t gone[JITDUMP_WRITERS_MAX / 8]; /* known writers that have ended */
};

struct jit_table {
	struct jit_table_limits limits;
	struct broker *broker;
	struct process_table *images;
	struct jit_process **processes; /* in no order */
	size_t process_count, process_capacity;
	struct jit_followed *files;
	size_t file_count, file_capacity;
	size_t code_bytes;			  /* of all files */
	struct user_share code_share, file_share; /* bytes; files */
	struct user_time time;			  /* of reading */
	struct user_excess excess;
	uint32_t *order; /* of the files with unread data in this run */
	size_t order_capacity;
	uint64_t version; /* changes when a process may see different code */
	uint64_t last_run_ns, run_version;
	uint64_t interval_ns, due_ns; /* interval between reads; time of the next run */
	struct shared_counter_clock counter_clock;
	size_t first_file; /* the file with which the next run starts */
	struct jit_table_counters counters;
};

/* --- jit_table_files.c --- */

/* Reads the process's facts if they are missing. Returns 0, -ENOMEM, or -ESRCH if it has ended. */
int jit_table_read_facts(struct jit_table *table, struct jit_process *process);
/* Return 0 or -ENOMEM; any other error becomes process->open_error. */
int jit_table_open_jitdump(struct jit_table *table, struct jit_process *process,
	const struct process_mapping *mapping, const char *path);
int jit_table_open_perf_map(struct jit_table *table, struct jit_process *process);
/* Opens the dumps that the process's mappings mark; the last one wins. */
int jit_table_open_marked(struct jit_table *table, struct jit_process *process, uint64_t now_ns);
/* Who answers for the process: the process table knows, or else its effective uid counts. */
uint64_t jit_table_user_of(const struct jit_table *table, const struct jit_process *process);

void jit_table_drop_dump(struct jit_table *table, struct jit_process *process);
void jit_table_drop_map(struct jit_table *table, struct jit_process *process);
/* Charges the files to the users of their processes: samples tell these after files are opened. */
void jit_table_charge_files(struct jit_table *table);
/* Updates code_bytes of the file and of the table. */
void jit_table_measure(struct jit_table *table, struct jit_followed *file);

static inline bool jit_table_has_dump(
	const struct jit_table *table, const struct jit_process *process)
{
	return process->dump != JIT_NO_FILE && table->files[process->dump].is_valid;
}

/* Returns the file that names the process's code, else a dump that is not valid yet, else NULL. */
static inline struct jit_followed *jit_table_file(
	const struct jit_table *table, const struct jit_process *process)
{
	if (process->map != JIT_NO_FILE && !jit_table_has_dump(table, process))
		return &table->files[process->map];
	return process->dump == JIT_NO_FILE ? NULL : &table->files[process->dump];
}

/* --- jit_table_processes.c --- */

/* Start and stop following the process table. */
void jit_table_attach(struct jit_table *table);
void jit_table_detach(struct jit_table *table);
/*
 * Finds the process that had `pid` and was live at `time_ns`. NULL: none, or it generates no code.
 */
struct jit_process *jit_table_at(const struct jit_table *table, pid_t pid, uint64_t time_ns);
/* Finds the process of the newest image, live or not. */
struct jit_process *jit_table_newest(const struct jit_table *table, pid_t pid);
/*
 * Finds or adds the process of the image that had `pid` at `time_ns` (0: of the newest image).
 * Returns 0, with NULL if the process table has no such image; or -ENOMEM.
 */
int jit_table_add(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process);

/* --- jit_table_run.c --- */

/* Brings the next run forward if the process's files must be searched for. */
void jit_table_schedule_look(struct jit_table *table, const struct jit_process *process);

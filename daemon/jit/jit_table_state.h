/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of a jit_table: processes, which hang on the images of the process table, and the
 * files that they share. For jit_table*.c alone, each of which uses only the ones before it:
 * files, processes, run, and jit_table.c itself; find stands beside run.
 */
#pragma once

#include "jit/counter_clock.h"
#include "jit/jit_file.h"
#include "jit/jit_table.h"

#include <sys/stat.h>

enum {
	JIT_NO_FILE = UINT32_MAX,
	/* One index may hold 1/2 of the bytes of all. */
	JIT_INDEX_SHARE = 2,
};

/* An image of a process that generates code. */
struct jit_process {
	uint32_t image;	   /* in the process table */
	uint32_t position; /* in jit_table.processes */
	pid_t pid;
	pid_t parent;		   /* 0: not known */
	uint64_t start_ns, end_ns; /* 0: not known; PROCESS_LIVE */
	uint64_t since_ns;	   /* older code in its files is another program's */
	uint64_t sampled_ns;	   /* time of the newest sample in its code; 0: none */
	bool has_facts;
	bool is_fork;		/* code that its parent had at start_ns is its own, too */
	bool has_forks;		/* another process may have it as forked_from */
	bool has_own_map;	/* not its parent's */
	bool was_sampled;	/* since the last look for its perf map */
	bool is_start_rounded;	/* start_ns comes from /proc */
	bool lacks_marker_scan; /* its mappings have not been searched for a marker */
	bool is_finished;	/* it has ended, and all that it had written by then was read */
	uint64_t final_bytes;	/* of its file, when that was first looked at after the end */
	struct jit_process_facts facts;
	struct jit_process *forked_from; /* whose files it inherited; NULL: none, or it is gone */
	uint32_t dump, map; /* files, or JIT_NO_FILE. The map counts until the dump is valid */
	int open_error;	    /* of the last attempt */
	uint64_t next_look_ns, look_interval_ns; /* for a perf map */
	uint64_t *until_ns; /* by writer: until when its records count; NULL: all of them */
	uint32_t until_count;
	uint64_t view_version; /* version of the table that until_ns was computed from */
};

/* A file that is followed. */
struct jit_followed {
	uint32_t references; /* processes; 0: the slot is free */
	dev_t device;
	ino_t inode;
	char *path;
	struct jitdump_reader *jitdump; /* one of the two */
	struct perf_map_reader *perf_map;
	struct code_index *index;
	bool is_valid;	     /* it has the header of a jitdump, or is a perf map */
	bool is_final;	     /* a perf map whose writers all ended, and that was read since */
	bool has_more;	     /* the last run did not reach its end */
	bool was_read;	     /* in the last run */
	uint64_t sampled_ns; /* the newest of its processes'; valid within eviction alone */
	size_t code_bytes;   /* of the index, at the last jit_table_measure() */
	uint8_t gone[JITDUMP_WRITERS_MAX / 8]; /* writers that were processes and have ended */
};

struct jit_table {
	struct jit_table_limits limits;
	struct broker *broker;
	struct process_table *images;
	struct jit_process **processes; /* in no order */
	size_t process_count, process_capacity;
	struct jit_followed *files;
	size_t file_count, file_capacity;
	size_t code_bytes; /* of all files */
	uint64_t version;  /* changes when a process may see other code than before */
	uint64_t last_run_ns, run_version;
	uint64_t interval_ns, due_ns; /* between reads of the files; of the next run */
	struct shared_counter_clock counter_clock;
	size_t first_file; /* the first to be read in the next run */
	struct jit_table_counters counters;
};

/* --- jit_table_files.c --- */

/* Reads the process's facts if they are missing. Returns 0, -ENOMEM, or -ESRCH: it is gone. */
int jit_table_read_facts(struct jit_table *table, struct jit_process *process);
/* Return 0 or -ENOMEM; any other error becomes process->open_error. */
int jit_table_open_jitdump(struct jit_table *table, struct jit_process *process,
	const struct process_mapping *mapping, const char *path);
int jit_table_open_perf_map(struct jit_table *table, struct jit_process *process);
/* Opens the dumps that the process's mappings mark; the last one counts. */
int jit_table_open_marked(struct jit_table *table, struct jit_process *process, uint64_t now_ns);
void jit_table_drop_dump(struct jit_table *table, struct jit_process *process);
void jit_table_drop_map(struct jit_table *table, struct jit_process *process);
/* Updates code_bytes. */
void jit_table_measure(struct jit_table *table, struct jit_followed *file);

static inline bool jit_table_has_dump(
	const struct jit_table *table, const struct jit_process *process)
{
	return process->dump != JIT_NO_FILE && table->files[process->dump].is_valid;
}

/* The file that names the process's code, or a dump that is not valid; or NULL. */
static inline struct jit_followed *jit_table_file(
	const struct jit_table *table, const struct jit_process *process)
{
	if (process->map != JIT_NO_FILE && !jit_table_has_dump(table, process))
		return &table->files[process->map];
	return process->dump == JIT_NO_FILE ? NULL : &table->files[process->dump];
}

/* --- jit_table_processes.c --- */

/* Begins and ends to follow the process table. */
void jit_table_attach(struct jit_table *table);
void jit_table_detach(struct jit_table *table);
/* The process that had `pid` then and was live; NULL: there is none, or it generates no code. */
struct jit_process *jit_table_at(const struct jit_table *table, pid_t pid, uint64_t time_ns);
/* The same for the newest image, live or not. */
struct jit_process *jit_table_newest(const struct jit_table *table, pid_t pid);
/*
 * The process of the image that had `pid` at `time_ns` (0: of the newest), which is added where it
 * is missing. Returns 0, with NULL where the process table has no such image; or -ENOMEM.
 */
int jit_table_add(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process);

/* --- jit_table_run.c --- */

/* Sets the next run early enough to look for the process's files, if that has to be done. */
void jit_table_schedule_look(struct jit_table *table, const struct jit_process *process);

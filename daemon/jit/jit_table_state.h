/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a jit_table is made of: processes in chains by pid, newest first, and the files that they
 * refer to. Of the jit_table*.c alone.
 */
#pragma once

#include "jit/counter_clock.h"
#include "jit/jit_file.h"
#include "jit/jit_table.h"

#include <sys/stat.h>

#define JIT_LIVE UINT64_MAX

enum { JIT_NONE = UINT32_MAX };

/* One index may hold this part of all that may be held. */
enum { JIT_INDEX_SHARE = 2 };

/* One image of a process: from fork or execve() to the next execve() or its end. */
struct jit_process {
	pid_t pid;		   /* 0: the slot is free */
	pid_t parent;		   /* 0: not known */
	uint64_t start_ns, end_ns; /* 0: not known; JIT_LIVE */
	uint64_t asked_ns;	   /* of the newest sample that it was asked about; 0: none */
	uint64_t since_ns;	   /* from when on code may be its own or its parents' */
	bool has_facts;
	bool is_fork;	       /* what its parent knew by start_ns is its own too */
	bool has_own_map;      /* not that of its parent */
	bool is_asked;	       /* a sample was in it, since the last look for its perf map */
	bool is_start_rounded; /* what it knows of its start is /proc's */
	bool wants_markers; /* its mappings are to be gone through for one, when a sample was in it
			     */
	bool is_over;	    /* it has ended, and what it had written has been read */
	uint64_t final_bytes; /* of its files, when they were first looked at after its end */
	struct jit_process_facts facts;
	uint64_t serial;	     /* no two images have the same */
	uint32_t forked_from;	     /* with its files; JIT_NONE: none */
	uint64_t forked_from_serial; /* if it is another's now, that one is gone */
	uint32_t dump, map; /* files; JIT_NONE: none. The map counts until the dump is one */
	int open_error;	    /* of the last attempt */
	uint64_t next_look_ns, look_interval_ns; /* for a perf map */
	uint64_t *until_ns;			 /* of its view, or NULL: everything; by writer */
	uint32_t until_count;
	uint64_t view_version; /* of the table, when until_ns was made */
	uint32_t older, next;  /* of this pid; in the bucket, or of the free ones */
	uint32_t ended_after;  /* the next that ended */
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
	bool is_valid;	   /* it has been found to be what its name says */
	bool is_final;	   /* a perf map: all who had it are gone, and it was read since */
	bool has_more;	   /* the last run did not come to its end */
	uint64_t asked_ns; /* of the newest sample in a process that has it; for make_room alone */
	bool was_read;	   /* it had its turn in the last run */
	size_t code_bytes; /* of the index, when it was last looked at */
	uint8_t gone[JITDUMP_WRITERS_MAX / 8]; /* writers that were processes and are none now */
};

struct jit_table {
	struct jit_table_limits limits;
	struct broker *broker;
	struct process_table *known;
	struct jit_process *processes;
	size_t process_count, process_capacity;
	uint32_t free_process;
	uint32_t first_ended, last_ended;
	uint64_t last_serial;
	uint32_t *buckets; /* newest of each pid */
	size_t bucket_count;
	struct jit_followed *files;
	size_t file_count, file_capacity;
	size_t code_bytes; /* of all files */
	uint64_t version;  /* grows when who sees what may have changed */
	uint64_t last_run_ns, run_version;
	uint64_t interval_ns, due_ns; /* of the files; when the next run is to be */
	struct shared_counter_clock counter_clock;
	size_t first_file; /* whose turn it is to be read first */
	struct jit_table_counters counters;
};

/* --- jit_table.c --- */

/* Opens what the marker among the process's mappings marks, if there is one. 0 or -ENOMEM. */
int jit_table_note_markers(struct jit_table *table, pid_t pid, uint64_t now_ns);

/* --- jit_table_run.c --- */

/* The next run is to be in time for looking for the process's file, if that is to be looked for. */
void jit_table_note_look(struct jit_table *table, const struct jit_process *process);

/* --- jit_table_processes.c --- */

struct jit_process *jit_table_newest(const struct jit_table *table, pid_t pid);
struct jit_process *jit_table_at(const struct jit_table *table, pid_t pid, uint64_t time_ns);

/* The next image of `pid`, which ends the one before. Returns 0, -ENOMEM, or -E2BIG (counted). */
int jit_table_begin(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process);
void jit_table_end(struct jit_table *table, struct jit_process *process, uint64_t time_ns);
/* The one that ended first; NULL: none has. */
struct jit_process *jit_table_first_ended(const struct jit_table *table);
/* Takes that one out, and its file where it was the last to refer to it. */
void jit_table_remove_first_ended(struct jit_table *table);
/* Whose fork it is; NULL: nobody's, or that one is gone. */
struct jit_process *jit_table_forked_from(
	const struct jit_table *table, const struct jit_process *process);

/* --- jit_table_files.c --- */

/* Reads the facts once they are needed. Returns 0, -ENOMEM, or -ESRCH: the process is gone. */
int jit_table_know(struct jit_table *table, struct jit_process *process);
/* Return 0 or -ENOMEM; anything else becomes process->open_error. */
int jit_table_open_jitdump(struct jit_table *table, struct jit_process *process,
	const struct process_mapping *mapping, const char *path);
int jit_table_open_perf_map(struct jit_table *table, struct jit_process *process);
void jit_table_drop_dump(struct jit_table *table, struct jit_process *process);
void jit_table_drop_map(struct jit_table *table, struct jit_process *process);
/* Takes note of what the file's index holds now. */
void jit_table_measure(struct jit_table *table, struct jit_followed *file);

static inline bool jit_table_has_dump(
	const struct jit_table *table, const struct jit_process *process)
{
	return process->dump != JIT_NONE && table->files[process->dump].is_valid;
}

/* The file that names the process's code, or would, were it what it seems to be; or NULL. */
static inline struct jit_followed *jit_table_file(
	const struct jit_table *table, const struct jit_process *process)
{
	if (process->map != JIT_NONE && !jit_table_has_dump(table, process))
		return &table->files[process->map];
	return process->dump == JIT_NONE ? NULL : &table->files[process->dump];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows a jitdump file while it is written. Whole records are read as they appear; the reader
 * waits for the rest of one that ends past the end of the file. A file that shrinks, or whose
 * header changes, was rewritten and is read from its start. A record that contradicts itself is
 * skipped. An impossible record size or header ends the reading until the file is rewritten. Code
 * bytes are not read.
 *
 * The file is read by pread(), since its writer may truncate it at any time. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/code_index.h"
#include "jit/jitdump_record.h"
#include "jit/jitdump_runtime.h"
#include "jit/jitdump_writers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump_reader;
struct shared_counter_clock;

/* "a record of an impossible size", for messages. */
const char *jitdump_fault_name(enum jitdump_fault fault);

struct jitdump_counters {
	uint64_t bytes;	  /* of all records that were read or skipped, and of the header */
	uint64_t records; /* of every kind */
	uint64_t loads, moves, debug_infos, closes, unwindings, unknown;
	uint64_t damaged;	  /* records that contradict themselves */
	uint64_t lines_damaged;	  /* DEBUG_INFOs that were useless, at least in part */
	uint64_t lines_unclaimed; /* DEBUG_INFOs whose LOAD did not come */
	/* Time stamps more than a second later than the reading, which count as of the reading. A
	   converted clock may be off by less. */
	uint64_t future;
	uint64_t backward; /* time stamps before that of the record before */
	uint64_t restarts; /* how often the file was rewritten */
};

struct jitdump_reader_options {
	size_t buffer_bytes; /* 0: 256 KiB; at least 4 KiB. Payloads are parsed up to this size. It
				is allocated only while the reader runs. */
	const char *path;    /* a sign of the runtime; may be NULL; not kept */
	/* The offset of the writer's time namespace, which is subtracted from time stamps, except
	   from the CPU's counter: that has no namespaces. */
	int64_t monotonic_offset_ns;
	/* Later time stamps count as this. 0: the time of reading; UINT64_MAX: no limit, for a file
	   of another machine or another time. */
	uint64_t latest_ns;
	/* For CPU time stamps; borrowed. NULL: the reader measures its own, which takes 5 ms. */
	struct shared_counter_clock *counter_clock;
};

/*
 * Takes ownership of `fd`, a seekable file, on failure, too. Returns 0 or -ENOMEM. Writers of
 * code_view are numbered as jitdump_reader_writer() says.
 */
int jitdump_reader_new(
	int fd, const struct jitdump_reader_options *options, struct jitdump_reader **ret_reader);
void jitdump_reader_free(struct jitdump_reader *reader);
DEFINE_CLEANUP(struct jitdump_reader, jitdump_reader_free);

/*
 * A watcher sees each record before the index does, for commands that show records. `file_offset`
 * is where the record begins, `error` the result of jitdump_record_parse(): after -EBADMSG and
 * -EMSGSIZE only the prefix is valid. Code, unwinding tables and unknown payloads are not there. A
 * negative result stops the reading before that record and is returned.
 */
typedef int (*jitdump_record_function)(void *context, uint64_t file_offset,
	const struct jitdump_header *header, const struct jitdump_record *record, int error);
void jitdump_reader_set_watcher(
	struct jitdump_reader *reader, jitdump_record_function function, void *context);

/*
 * Reads new records into `index` (NULL: nowhere) until the end of the file or until `steps` are
 * used up: one for each record, each 4 KiB and each 32 source lines. Returns the steps that are
 * left (0: there may be more to read), -ENOMEM, or the watcher's error. A fault of the file is not
 * an error. After -ENOMEM the next run reads the same record again.
 */
int64_t jitdump_reader_run(struct jitdump_reader *reader, struct code_index *index, int64_t steps);

struct jitdump_reader_state {
	enum jitdump_fault fault;
	uint64_t fault_offset; /* of the fault in the file */
	bool has_header;
	struct jitdump_header header;
	enum jitdump_runtime runtime;
	uint64_t last_record_ns; /* the latest time of a record; 0: none */
	uint64_t file_bytes;	 /* at the last run */
	uint64_t unread_bytes;	 /* of them; includes the start of an unfinished record */
	struct jitdump_counters counters;
};
void jitdump_reader_state(
	const struct jitdump_reader *reader, struct jitdump_reader_state *ret_state);

/*
 * The id of the writer with `pid` (in its own namespace). False: it has written no code. The first
 * 255 writers have their own ids, in the order of arrival; all later ones share one, which is also
 * the answer for a pid without an id. `ret_last_record_ns`: the latest time of its LOADs and MOVEs.
 */
bool jitdump_reader_writer(const struct jitdump_reader *reader, uint32_t pid, uint32_t *ret_writer,
	uint64_t *ret_last_record_ns);
/* The number of ids. */
uint32_t jitdump_reader_writer_count(const struct jitdump_reader *reader);

/* The memory of the reader, without the index. */
size_t jitdump_reader_bytes(const struct jitdump_reader *reader);

/* Drops the source lines that wait, to free memory; they count as unclaimed. */
void jitdump_reader_forget_lines(struct jitdump_reader *reader);

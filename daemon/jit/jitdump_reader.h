/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows a jitdump file while it is being written. Whole records are taken as they come; one that
 * ends beyond the file's end is waited for; a file that has become shorter, or begins with another
 * header, was written anew and is read from its start. A record that lies about itself costs
 * itself, one whose size cannot be true costs the rest of the file, and so does a header that is
 * none: until it is written anew. Code bytes are not read.
 *
 * Source lines come before the code that they are of: they wait, bounded, for the LOAD with their
 * address, whoever's records stand between.
 *
 * The file is read by pread(): the writer may cut it off at any time. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/code_index.h"
#include "jit/jitdump_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump_reader;
struct shared_counter_clock;

enum jitdump_fault {
	JITDUMP_FAULT_NONE,
	JITDUMP_FAULT_NO_HEADER,   /* shorter than a header, as yet */
	JITDUMP_FAULT_NOT_JITDUMP, /* its magic is another one */
	JITDUMP_FAULT_VERSION,
	JITDUMP_FAULT_HEADER_SIZE,
	JITDUMP_FAULT_RECORD_SIZE, /* below 16 bytes or above the bound */
	JITDUMP_FAULT_CLOCK,	   /* CPU time stamps, which cannot be converted here */
	JITDUMP_FAULT_READ,	   /* the file cannot be read */
};
/* "a record of an impossible size", for messages. */
const char *jitdump_fault_name(enum jitdump_fault fault);

/* Whose runtime it is, as far as the dump shows. */
enum jitdump_runtime {
	JITDUMP_RUNTIME_UNKNOWN,
	JITDUMP_RUNTIME_V8,
	JITDUMP_RUNTIME_ERLANG,
	JITDUMP_RUNTIME_PHP,
	JITDUMP_RUNTIME_JVM,
	JITDUMP_RUNTIME_LLVM,
	JITDUMP_RUNTIME_PYTHON,
	JITDUMP_RUNTIME_DOTNET,
	JITDUMP_RUNTIME_WASMTIME,
	JITDUMP_RUNTIMES,
};
/* "V8", "JVM"; "" where it is not known. */
const char *jitdump_runtime_name(enum jitdump_runtime runtime);

struct jitdump_counters {
	uint64_t bytes;	  /* of records that were taken or passed over, and of the header */
	uint64_t records; /* all of them */
	uint64_t loads, moves, debug_infos, closes, unwindings, unknown;
	uint64_t damaged;	  /* records that lie about themselves */
	uint64_t lines_damaged;	  /* DEBUG_INFOs of which a part, or all, was of no use */
	uint64_t lines_unclaimed; /* that no LOAD asked for while they waited */
	/* Time stamps that are later than when they were read, which are taken as of then. Not
	   those by less than a second, which a clock that is converted may be off. */
	uint64_t future;
	uint64_t backward; /* time stamps before the one before */
	uint64_t restarts; /* the file was written anew */
};

struct jitdump_reader_options {
	size_t buffer_bytes; /* 0: 256 KiB; at least 4 KiB; a payload is seen no further. It is
				held while the reader runs, and no longer. */
	const char *path;    /* of the file, for its runtime; may be NULL; not kept */
	/* Of the writer's time namespace from the initial one; subtracted, but not from the CPU's
	   counter, which knows no namespaces. */
	int64_t monotonic_offset_ns;
	/* No time stamp is later. 0: than when it is read; UINT64_MAX: each is believed, as of
	   another machine, or of another time. */
	uint64_t latest_ns;
	/* For CPU time stamps; borrowed. NULL: one of its own, which takes 5 ms to measure. */
	struct shared_counter_clock *counter_clock;
};

/*
 * Takes `fd`, a file that can be read at any offset, whatever becomes of it. Writers' ids for
 * code_view are given by `pid`, in the order of their coming, see jitdump_reader_writer(). Returns
 * 0 or -ENOMEM.
 */
int jitdump_reader_new(
	int fd, const struct jitdump_reader_options *options, struct jitdump_reader **ret_reader);
void jitdump_reader_free(struct jitdump_reader *reader);
DEFINE_CLEANUP(struct jitdump_reader, jitdump_reader_free);

/*
 * Called for each record, before what it says is put into the index; `file_offset` is where it
 * begins. `error` is what jitdump_record_parse() returned: -EBADMSG or -EMSGSIZE of a record of
 * which the prefix alone is known. Of records of no known kind, of code and of unwinding tables the
 * bytes are not there to be seen. A negative answer ends the reading before that record, and is
 * returned. For those who show records; the profiler needs none.
 */
typedef int (*jitdump_record_function)(void *context, uint64_t file_offset,
	const struct jitdump_header *header, const struct jitdump_record *record, int error);
void jitdump_reader_set_watcher(
	struct jitdump_reader *reader, jitdump_record_function function, void *context);

/*
 * Reads on and puts what it finds into `index` (NULL: nowhere), until the file's end or until
 * `steps` are used up: about one for each record, for each 4 KiB that is read, and for each 32
 * source lines. Returns how many steps are left (0: there may be more
 * to read), or -ENOMEM, or what the watcher returned; a fault of the file is none of these. After
 * -ENOMEM the record that it failed at is read again.
 */
int64_t jitdump_reader_run(struct jitdump_reader *reader, struct code_index *index, int64_t steps);

struct jitdump_reader_state {
	enum jitdump_fault fault;
	uint64_t fault_offset; /* in the file, where there is one */
	bool has_header;
	struct jitdump_header header;
	enum jitdump_runtime runtime;
	uint64_t told_ns;      /* the greatest time that a record had; 0: none had any */
	uint64_t file_bytes;   /* at the last look */
	uint64_t unread_bytes; /* of them, the beginning of a record included */
	struct jitdump_counters counters;
};
void jitdump_reader_state(
	const struct jitdump_reader *reader, struct jitdump_reader_state *ret_state);

/*
 * The id of the writer with `pid` (in its own namespace), who has put code there; false: it has
 * not. The first 255 have ids of their own; all later ones share one, and whoever has none may be
 * one of them. `ret_told_ns`: the greatest time of its LOADs and MOVEs, others tell no writer.
 */
enum { JITDUMP_WRITERS_MAX = 256 };
bool jitdump_reader_writer(const struct jitdump_reader *reader, uint32_t pid, uint32_t *ret_writer,
	uint64_t *ret_told_ns);
/* How many ids there are, and whose: 0 of the one that is shared. */
uint32_t jitdump_reader_writer_count(const struct jitdump_reader *reader);
uint32_t jitdump_reader_writer_pid(const struct jitdump_reader *reader, uint32_t writer);

/* Memory that it holds. */
size_t jitdump_reader_bytes(const struct jitdump_reader *reader);

/* Forgets the source lines that wait for their LOAD, for want of room: they count as unclaimed. */
void jitdump_reader_forget_lines(struct jitdump_reader *reader);

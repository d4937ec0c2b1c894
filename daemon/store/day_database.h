/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One day's SQLite database, of version 1 (I9), open for writing or for reading. A connection is
 * one owner's and one thread's.
 *
 * Journal mode is WAL, so that readers and the writer do not wait for each other, with
 * synchronous=FULL: a transaction is on the disk when it is told to be written, and outlives a loss
 * of power (I7). That is one fsync() a window; NORMAL would lose whole windows then.
 *
 * A file may have been damaged or made by somebody else (I8): its tables must be exactly ours,
 * there are no triggers and no views, and memory-mapped reading is off.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum day_statement {
	DAY_ADD_DICTIONARY,   /* part, generation, body */
	DAY_ADD_WINDOW,	      /* the columns of struct day_window without the id */
	DAY_ADD_BODY,	      /* window, body */
	DAY_DICTIONARY,	      /* part, generation -> body, in the order they were written */
	DAY_LAST_GENERATION,  /* part */
	DAY_FIRST_GENERATION, /* of the stacks; NULL, which reads 0: there is none */
	DAY_WINDOWS,	      /* start below, end above -> columns of struct day_window */
	DAY_FOLDS,	      /* the same, of folds and by their ids */
	DAY_BODY,	      /* window -> body */
	DAY_NEXT_MERGE,	      /* level below, start below -> start of the first such window */
	DAY_SLOT,	      /* level below, start from, start below -> windows */
	DAY_NEXT_FOLD,	      /* fold, start below -> start of the first such window */
	DAY_FOLD_SLOT,	      /* fold, start from, start below -> windows */
	DAY_SET_LEVEL,	      /* level, window */
	DAY_SET_FOLD,	      /* fold, window */
	DAY_MOVE_FOLD,	      /* fold, the one that it takes the place of */
	DAY_REMOVE_WINDOW,    /* window */
	DAY_REMOVE_BODY,      /* window */
	DAY_DROP_DICTIONARY,  /* generation of the stacks */
	DAY_DROP_RUN,	      /* part, generation, id from */
	DAY_DROP_THREADS,     /* generation of the threads that stays: others without windows go */
	DAY_DROP_BODIES,      /* generation */
	DAY_DROP_WINDOWS,     /* generation */
	DAY_GENERATION_BYTES, /* generation -> bytes of its windows' bodies */
	DAY_PAGES,
	DAY_PAGE_BYTES,
	DAY_FREE_PAGES,
	DAY_VACUUM,
	DAY_SUMMARY, /* -> windows, first start, last end */
	DAY_STATEMENTS,
};

/*
 * The dictionaries of a day, each with generations of its own. A window refers to two: in a fold
 * that of the folded threads has the place of the threads.
 */
enum day_part { DAY_STACKS, DAY_THREADS, DAY_PARTS, DAY_FOLDED = DAY_PARTS };

/*
 * A window of this level or above is a fold: what some windows hold, with their threads merged by
 * comm, exe and cgroup. They refer to it, stay, and keep their accounts.
 */
enum { DAY_FOLD_LEVEL = 8 };
/* Of a window: it is not in a fold as yet; it is in none and will not be. Or the fold's id. */
enum { DAY_FOLD_NOT_YET = 0, DAY_FOLD_NEVER = -1 };

struct day_database {
	sqlite3 *connection;
	sqlite3_stmt *statements[DAY_STATEMENTS]; /* prepared when they are first needed */
	uint32_t day;
	/* Of one that is read without locks: what its file was like. */
	bool is_immutable;
	uint64_t bytes;
	struct timespec changed;
	/* Of one that is written: whether a reader kept its -wal from being given back. */
	bool is_held;
	/* And which file it is. */
	dev_t device;
	ino_t inode;
};

/* -EBADMSG: it is damaged, or not ours, or of another version, or no file that may be read. */
enum day_access { DAY_WRITE, DAY_READ };

/*
 * DAY_WRITE makes the database where there is none; DAY_READ is -ENOENT then. One that was closed
 * cleanly is also read where nothing can be written beside it, such as on a read-only file system:
 * without locks, then, and day_database_has_changed() tells whether to believe what was read.
 * Returns 0 or -errno with `fault`.
 */
int day_database_open(const char *folder, uint32_t day, enum day_access access,
	struct day_database **ret_database, struct fault *fault);
void day_database_close(struct day_database *database);
DEFINE_CLEANUP(struct day_database, day_database_close);
bool day_database_has_changed(const struct day_database *database);
/* Of one that is written: whether its path still leads to it, and readers may follow. */
bool day_database_is_in_place(const struct day_database *database);

/* The -errno of what SQLite said last. With a sentence of what could not be done. */
int day_database_error(
	struct day_database *database, int code, const char *what, struct fault *fault);

int day_database_begin(struct day_database *database, struct fault *fault);
/* Of a reader: from the first statement on it sees one state, until the connection is closed. */
int day_database_begin_reading(struct day_database *database, struct fault *fault);
int day_database_commit(struct day_database *database, struct fault *fault);
/* Also where there is none. */
void day_database_rollback(struct day_database *database);

/* The statement, reset and with nothing bound. Returns 0 or -errno with `fault`. */
int day_database_statement(struct day_database *database, enum day_statement name,
	sqlite3_stmt **ret_statement, struct fault *fault);

/* Runs it. Returns 1 where there is a row, 0 at the end (the statement is reset), or -errno. */
int day_database_step(struct day_database *database, sqlite3_stmt *statement, struct fault *fault);

/* The first column of the one row that it gives. Returns 0 or -errno. */
int day_database_number(struct day_database *database, enum day_statement name, int64_t parameter,
	int64_t *ret_number, struct fault *fault);

/* Of the pages that are in use, wherever they are. */
int day_database_used(struct day_database *database, uint64_t *ret_bytes, struct fault *fault);

/*
 * Gives some of the pages that are free back to the file system, and what is in the -wal to the
 * database. Returns 1 where there are more, 0, or -errno.
 */
int day_database_shrink(struct day_database *database, struct fault *fault);

/* A row of the table of windows. */
struct day_window {
	int64_t id;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;
	uint64_t period_ns;
	uint64_t samples;
	uint64_t body_bytes;
	uint32_t level; /* 0: as it was appended, 1: of a minute, 2: of ten; DAY_FOLD_LEVEL */
	uint32_t cpu_count;
	int64_t fold; /* of a fold itself: DAY_FOLD_NEVER */
	int64_t generations[DAY_PARTS];
	bool is_supplement;
	uint8_t boot_id[16];
	char event[64];
	uint8_t accounts[1024]; /* accounts_blob.h */
	size_t accounts_size;
};

/* Writes a window and its body. Within a transaction. */
int day_database_add_window(struct day_database *database, const struct day_window *window,
	const void *body, size_t body_size, int64_t *ret_id, struct fault *fault);

/* Writes what a dictionary has got (day_tables_write()). Within a transaction. */
int day_database_add_dictionary(struct day_database *database, enum day_part part,
	int64_t generation, const void *blob, size_t size, int64_t *ret_id, struct fault *fault);

/* Of a dictionary that has none as yet, 1. Returns 0 or -errno. */
int day_database_last_generation(struct day_database *database, enum day_part part,
	int64_t *ret_generation, struct fault *fault);

/* A statement of one or two numbers that gives no rows. */
int day_database_change(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, struct fault *fault);

/* Of a row of DAY_WINDOWS, DAY_FOLDS, DAY_SLOT or DAY_FOLD_SLOT. Returns 0 or -EBADMSG with
 * `fault`. */
int day_database_get_window(struct day_database *database, sqlite3_stmt *statement,
	struct day_window *ret_window, struct fault *fault);

/* The body of a window, borrowed until the statement is reset. Returns 0 or -errno. */
int day_database_get_body(struct day_database *database, int64_t window, const void **ret_body,
	size_t *ret_size, struct fault *fault);

struct day_tables;

/* Adds all that the generation's dictionary has on disk to the tables, which must be empty. */
int day_database_load(struct day_database *database, enum day_part part, int64_t generation,
	struct day_tables *tables, struct fault *fault);

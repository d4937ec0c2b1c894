/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SQLite database of one day, version 3 (I9), open for writing or reading. A connection has one
 * owner and one thread. In version 1 threads have no owner, versions 1 and 2 keep no times of
 * samples (times_blob.h); a writer makes such a day version 3.
 *
 * Journal mode is WAL, so readers and the writer do not block each other. synchronous=FULL puts a
 * committed transaction on disk, so it survives a loss of power (I7). That costs one fsync() a
 * window; NORMAL would lose whole windows.
 *
 * A file may be damaged or come from somebody else (I8). Its tables must therefore be exactly ours,
 * triggers and views are refused, and memory-mapped reading is off.
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
	DAY_DICTIONARY,	      /* part, generation -> body, in the order of writing */
	DAY_LAST_GENERATION,  /* part -> its last generation; 1: there is none yet */
	DAY_FIRST_GENERATION, /* of the stacks; NULL, which reads as 0, if there is none */
	DAY_WINDOWS,	      /* start below, end above -> columns of struct day_window */
	DAY_FOLDS,	      /* the same for folds, ordered by id */
	DAY_BODY,	      /* window -> body */
	DAY_ADD_TIMES,	      /* window, its start, bytes, body */
	DAY_TIMES,	      /* window -> body of its times, if it has them */
	DAY_REMOVE_TIMES,     /* window */
	DAY_OLD_TIMES,	 /* start from, start below -> windows with times, their starts and bytes */
	DAY_TIMES_BYTES, /* -> of all times */
	DAY_FIRST_TIMES, /* start from -> that of the first window with times, or INT64_MAX */
	DAY_DROP_TIMES,	 /* generation */
	DAY_NEXT_MERGE,	 /* level, start below -> start of the first such window, or INT64_MAX */
	DAY_SLOT,	 /* level below, start from, start below -> windows */
	DAY_NEXT_FOLD,	 /* fold, start below -> the same */
	DAY_FOLD_SLOT,	 /* fold, start from, start below -> windows */
	DAY_SET_LEVEL,	 /* level, window */
	DAY_SET_FOLD,	 /* fold, window */
	DAY_MOVE_FOLD,	 /* new fold, the fold that it replaces */
	DAY_REMOVE_WINDOW,   /* window */
	DAY_REMOVE_BODY,     /* window */
	DAY_DROP_DICTIONARY, /* generation of the stacks */
	DAY_DROP_RUN,	     /* part, generation, id from */
	DAY_DROP_THREADS, /* generation of the threads to keep; drops others that have no windows */
	DAY_DROP_BODIES,  /* generation */
	DAY_DROP_WINDOWS, /* generation */
	DAY_GENERATION_BYTES, /* generation -> bytes of its windows' bodies */
	DAY_SHORT_BYTES,      /* level, length below -> bytes of such windows' bodies */
	DAY_USED_BYTES,	      /* of the pages in use */
	DAY_FREE_PAGES,
	DAY_VACUUM,
	DAY_SUMMARY, /* -> windows, first start, last end */
	DAY_STATEMENTS,
};

/*
 * The dictionaries of a day, each with its own generations. A window refers to two: stacks and
 * threads. A fold refers to stacks and folded threads.
 */
enum day_part { DAY_STACKS, DAY_THREADS, DAY_PARTS, DAY_FOLDED = DAY_PARTS };

/*
 * A window of this level or above is a fold: the sum of some windows, with threads merged by comm,
 * exe and cgroup. The windows refer to the fold, stay in the database and keep their accounts.
 */
enum { DAY_FOLD_LEVEL = 8 };
/* The `fold` of a window: not in a fold yet, never to be folded, or else the fold's id. */
enum { DAY_FOLD_NOT_YET = 0, DAY_FOLD_NEVER = -1 };

struct day_database {
	sqlite3 *connection;
	sqlite3_stmt *statements[DAY_STATEMENTS]; /* prepared on first use */
	uint32_t day;
	/* For a database read without locks: the size and time of its file when it was opened. */
	bool is_immutable;
	bool has_times; /* version 3 or later */
	uint64_t bytes;
	struct timespec changed;
	/* For a writer: a reader prevented the last checkpoint from releasing the -wal. */
	bool is_held;
	/* For a writer: the identity of the file. */
	dev_t device;
	ino_t inode;
};

/* -EBADMSG means: damaged, not ours, of another version, or not a file that may be read. */
enum day_access { DAY_WRITE, DAY_READ };

/*
 * Opens a day. If it is missing, DAY_WRITE creates it and DAY_READ returns -ENOENT. A cleanly
 * closed database can also be read where SQLite cannot write beside it, such as on a read-only file
 * system. It is then read without locks, and day_database_has_changed() tells whether the results
 * are valid. Returns 0 or -errno with `fault`.
 */
int day_database_open(const char *folder, uint32_t day, enum day_access access,
	struct day_database **ret_database, struct fault *fault);
void day_database_close(struct day_database *database);
DEFINE_CLEANUP(struct day_database, day_database_close);
bool day_database_has_changed(const struct day_database *database);
/* For a writer: whether its path still leads to the open file, so that readers find it. */
bool day_database_is_in_place(const struct day_database *database);

enum { DAY_BUSY_MS = 2000 };

/* The -errno of a result of SQLite; the connection may be NULL. */
int day_database_error_number(sqlite3 *connection, int code);

/* Returns the -errno of SQLite's last error. `fault` says that `what` could not be done. */
int day_database_error(
	struct day_database *database, int code, const char *what, struct fault *fault);

/* Runs SQL without parameters and results. Returns 0 or -errno with `fault`. */
int day_database_execute(struct day_database *database, const char *sql, struct fault *fault);

int day_database_begin(struct day_database *database, struct fault *fault);
/*
 * For a reader: from the first statement on it sees one snapshot, until the connection is closed.
 */
int day_database_begin_reading(struct day_database *database, struct fault *fault);
int day_database_commit(struct day_database *database, struct fault *fault);
/* May be called without an open transaction. */
void day_database_rollback(struct day_database *database);

/* Gets the statement, reset and with nothing bound. Returns 0 or -errno with `fault`. */
int day_database_statement(struct day_database *database, enum day_statement name,
	sqlite3_stmt **ret_statement, struct fault *fault);

/*
 * Steps the statement. Returns 1 for a row, 0 at the end (the statement is then reset), or -errno.
 */
int day_database_step(struct day_database *database, sqlite3_stmt *statement, struct fault *fault);

/*
 * Runs a statement that takes up to two numbers and has one row, and returns its first column.
 * Returns 0 or -errno.
 */
int day_database_number(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, int64_t *ret_number, struct fault *fault);

/* Runs a statement that takes up to two numbers and returns no rows. */
int day_database_change(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, struct fault *fault);

/*
 * Returns some free pages to the file system, and moves the -wal into the database. Returns 1 if
 * more are left, 0 if not, or -errno.
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
	uint32_t level; /* 0: as appended, 1: one minute, 2: ten minutes; DAY_FOLD_LEVEL */
	uint32_t cpu_count;
	int64_t fold; /* in a fold's own row: DAY_FOLD_NEVER */
	int64_t generations[DAY_PARTS];
	/*
	 * The window was too large for one row, and this is a further one: its samples are in the
	 * accounts of the first row, and the time is the same.
	 */
	bool is_supplement;
	uint8_t boot_id[16];
	char event[64];
	uint8_t accounts[1024]; /* accounts_blob.h */
	size_t accounts_size;
};

/* Writes a window and its body. Call within a transaction. */
int day_database_add_window(struct day_database *database, const struct day_window *window,
	const void *body, size_t body_size, int64_t *ret_id, struct fault *fault);

/* Writes the times of a window. Call within a transaction. */
int day_database_add_times(struct day_database *database, int64_t window, uint64_t start_ns,
	const void *body, size_t body_size, struct fault *fault);

/*
 * Gets the times of a window, borrowed until the statement is reset; NULL: it has none. Returns 0
 * or -errno.
 */
int day_database_get_times(struct day_database *database, int64_t window, const void **ret_body,
	size_t *ret_size, struct fault *fault);

/* Writes a dictionary's new elements (day_tables_write()). Call within a transaction. */
int day_database_add_dictionary(struct day_database *database, enum day_part part,
	int64_t generation, const void *blob, size_t size, int64_t *ret_id, struct fault *fault);

/*
 * Reads a row of DAY_WINDOWS, DAY_FOLDS, DAY_SLOT or DAY_FOLD_SLOT. Returns 0 or -EBADMSG with
 * `fault`.
 */
int day_database_get_window(struct day_database *database, sqlite3_stmt *statement,
	struct day_window *ret_window, struct fault *fault);

/* Gets the body of a window, borrowed until the statement is reset. Returns 0 or -errno. */
int day_database_get_body(struct day_database *database, int64_t window, const void **ret_body,
	size_t *ret_size, struct fault *fault);

struct day_tables;

/* Adds the generation's whole dictionary on disk to the tables, which must be empty. */
int day_database_load(struct day_database *database, enum day_part part, int64_t generation,
	struct day_tables *tables, struct fault *fault);

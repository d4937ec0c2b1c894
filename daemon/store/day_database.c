/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DAY_FOLD_LEVEL. */
#define FOLD_LEVEL "8"

#define WINDOW_COLUMNS                                                            \
	"start_ns, end_ns, monotonic_ns, period_ns, samples, body_bytes, level, " \
	"cpu_count, fold, generation, thread_generation, is_supplement, boot_id, event, accounts"

static const char *const statements[DAY_STATEMENTS] = {
	[DAY_ADD_DICTIONARY] = "INSERT INTO dictionary(part, generation, body) VALUES(?, ?, ?)",
	[DAY_ADD_WINDOW] = "INSERT INTO windows(" WINDOW_COLUMNS
			   ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[DAY_ADD_BODY] = "INSERT OR REPLACE INTO bodies(window, body) VALUES(?, ?)",
	[DAY_DICTIONARY] = "SELECT body FROM dictionary "
			   "WHERE part = ? AND generation = ? ORDER BY id",
	[DAY_LAST_GENERATION] = "SELECT ifnull(max(generation), 1) FROM dictionary WHERE part = ?",
	[DAY_FIRST_GENERATION] = "SELECT min(generation) FROM dictionary WHERE part = 0",
	[DAY_WINDOWS] = "SELECT id, " WINDOW_COLUMNS " FROM windows WHERE level < " FOLD_LEVEL
			" AND start_ns < ? AND end_ns > ? ORDER BY start_ns, id",
	[DAY_FOLDS] = "SELECT id, " WINDOW_COLUMNS " FROM windows WHERE level >= " FOLD_LEVEL
		      " AND start_ns < ? AND end_ns > ? ORDER BY id",
	[DAY_BODY] = "SELECT body FROM bodies WHERE window = ?",
	[DAY_ADD_TIMES] = "INSERT OR REPLACE INTO times(window, start_ns, bytes, body) "
			  "VALUES(?, ?, ?, ?)",
	[DAY_TIMES] = "SELECT body FROM times WHERE window = ?",
	[DAY_REMOVE_TIMES] = "DELETE FROM times WHERE window = ?",
	[DAY_OLD_TIMES] = "SELECT window, start_ns, bytes FROM times WHERE start_ns >= ? AND "
			  "start_ns < ? ORDER BY start_ns LIMIT 64",
	[DAY_TIMES_BYTES] = "SELECT ifnull(sum(bytes), 0) FROM times",
	[DAY_FIRST_TIMES] = "SELECT ifnull(min(start_ns), 0x7fffffffffffffff) FROM times "
			    "WHERE start_ns >= ?",
	[DAY_DROP_TIMES] = "DELETE FROM times WHERE window IN "
			   "(SELECT id FROM windows WHERE generation = ?)",
	[DAY_NEXT_MERGE] = "SELECT ifnull(min(start_ns), 0x7fffffffffffffff) FROM windows "
			   "WHERE level = ? AND start_ns < ?",
	[DAY_SLOT] = "SELECT id, " WINDOW_COLUMNS " FROM windows"
		     " WHERE level = ? AND start_ns >= ? AND start_ns < ? ORDER BY start_ns, id",
	[DAY_NEXT_FOLD] = "SELECT ifnull(min(start_ns), 0x7fffffffffffffff) FROM windows "
			  "WHERE fold = ? AND start_ns < ?",
	[DAY_FOLD_SLOT] =
		"SELECT id, " WINDOW_COLUMNS " FROM windows"
		" WHERE fold = ? AND start_ns >= ? AND start_ns < ? ORDER BY start_ns, id",
	[DAY_SET_LEVEL] = "UPDATE windows SET level = ? WHERE id = ?",
	[DAY_SET_FOLD] = "UPDATE windows SET fold = ? WHERE id = ?",
	[DAY_MOVE_FOLD] = "UPDATE windows SET fold = ? WHERE fold = ?",
	[DAY_REMOVE_WINDOW] = "DELETE FROM windows WHERE id = ?",
	[DAY_REMOVE_BODY] = "DELETE FROM bodies WHERE window = ?",
	[DAY_DROP_DICTIONARY] = "DELETE FROM dictionary WHERE part = 0 AND generation = ?",
	[DAY_DROP_RUN] = "DELETE FROM dictionary WHERE part = ? AND generation = ? AND id >= ?",
	[DAY_DROP_THREADS] =
		"DELETE FROM dictionary WHERE (part = 1 AND generation <> ? AND "
		"generation NOT IN (SELECT thread_generation FROM windows "
		"WHERE level < " FOLD_LEVEL ")) OR (part = 2 AND generation NOT IN "
		"(SELECT thread_generation FROM windows WHERE level >= " FOLD_LEVEL "))",
	[DAY_DROP_BODIES] = "DELETE FROM bodies WHERE window IN "
			    "(SELECT id FROM windows WHERE generation = ?)",
	[DAY_DROP_WINDOWS] = "DELETE FROM windows WHERE generation = ?",
	[DAY_GENERATION_BYTES] = "SELECT sum(body_bytes) FROM windows WHERE generation = ?",
	[DAY_SHORT_BYTES] = "SELECT ifnull(sum(body_bytes), 0) FROM windows "
			    "WHERE level = ? AND end_ns - start_ns < ?",
	[DAY_USED_BYTES] = "SELECT (page_count - freelist_count) * page_size "
			   "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	[DAY_FREE_PAGES] = "PRAGMA freelist_count",
	[DAY_VACUUM] = "PRAGMA incremental_vacuum(64)",
	[DAY_SUMMARY] = "SELECT count(*), min(start_ns), max(end_ns) FROM windows "
			"WHERE is_supplement = 0 AND level < " FOLD_LEVEL,
};

int day_database_error_number(sqlite3 *connection, int code)
{
	int system_error = connection ? sqlite3_system_errno(connection) : 0;

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
	case SQLITE_MISMATCH:
	case SQLITE_FORMAT:
	case SQLITE_ERROR: /* our statements are correct, so the schema is wrong */
		return -EBADMSG;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		if (code == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		return system_error > 0 ? -system_error : -EIO;
	}
}

int day_database_error(
	struct day_database *database, int code, const char *what, struct fault *fault)
{
	const char *text =
		database->connection ? sqlite3_errmsg(database->connection) : sqlite3_errstr(code);
	const char *name =
		database->connection ? sqlite3_db_filename(database->connection, "main") : NULL;

	return fault_set(fault, day_database_error_number(database->connection, code),
		"cannot %s %s: %s", what, name ? name : "a database of the history", text);
}

int day_database_execute(struct day_database *database, const char *sql, struct fault *fault)
{
	int code = sqlite3_exec(database->connection, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : day_database_error(database, code, "use", fault);
}

int day_database_begin(struct day_database *database, struct fault *fault)
{
	return day_database_execute(database, "BEGIN IMMEDIATE", fault);
}

int day_database_begin_reading(struct day_database *database, struct fault *fault)
{
	return day_database_execute(database, "BEGIN", fault);
}

int day_database_commit(struct day_database *database, struct fault *fault)
{
	int r = day_database_execute(database, "COMMIT", fault);

	if (r < 0)
		day_database_rollback(database);
	return r;
}

void day_database_rollback(struct day_database *database)
{
	for (size_t i = 0; i < DAY_STATEMENTS; i++)
		if (database->statements[i])
			(void)sqlite3_reset(database->statements[i]);
	if (!sqlite3_get_autocommit(database->connection))
		(void)sqlite3_exec(database->connection, "ROLLBACK", NULL, NULL, NULL);
}

int day_database_statement(struct day_database *database, enum day_statement name,
	sqlite3_stmt **ret_statement, struct fault *fault)
{
	sqlite3_stmt **statement = &database->statements[name];
	int code;

	if (*statement) {
		(void)sqlite3_reset(*statement);
		(void)sqlite3_clear_bindings(*statement);
	} else {
		code = sqlite3_prepare_v3(database->connection, statements[name], -1,
			SQLITE_PREPARE_PERSISTENT, statement, NULL);
		if (code != SQLITE_OK)
			return day_database_error(database, code, "read", fault);
	}
	*ret_statement = *statement;
	return 0;
}

int day_database_step(struct day_database *database, sqlite3_stmt *statement, struct fault *fault)
{
	int code = sqlite3_step(statement), r = 0;

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE)
		r = day_database_error(database, code,
			sqlite3_stmt_readonly(statement) ? "read" : "write to", fault);
	(void)sqlite3_reset(statement);
	return r;
}

/* Runs a statement with as many of the numbers as it takes, up to its first row. */
static int step_with(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, sqlite3_stmt **ret_statement, struct fault *fault)
{
	int r = day_database_statement(database, name, ret_statement, fault);

	if (r < 0)
		return r;
	if (sqlite3_bind_parameter_count(*ret_statement) > 0)
		(void)sqlite3_bind_int64(*ret_statement, 1, first);
	if (sqlite3_bind_parameter_count(*ret_statement) > 1)
		(void)sqlite3_bind_int64(*ret_statement, 2, second);
	return day_database_step(database, *ret_statement, fault);
}

int day_database_number(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, int64_t *ret_number, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = step_with(database, name, first, second, &statement, fault);

	if (r < 0)
		return r;
	*ret_number = sqlite3_column_int64(statement, 0);
	(void)sqlite3_reset(statement);
	return 0;
}

int day_database_change(struct day_database *database, enum day_statement name, int64_t first,
	int64_t second, struct fault *fault)
{
	sqlite3_stmt *statement;

	return step_with(database, name, first, second, &statement, fault);
}

int day_database_shrink(struct day_database *database, struct fault *fault)
{
	sqlite3_stmt *statement;
	int64_t pages, left;
	int r = day_database_number(database, DAY_FREE_PAGES, 0, 0, &pages, fault);

	if (r == 0 && pages > 0) {
		r = day_database_statement(database, DAY_VACUUM, &statement, fault);
		while (r >= 0 && (r = day_database_step(database, statement, fault)) == 1)
			;
		if (r == 0)
			r = day_database_number(database, DAY_FREE_PAGES, 0, 0, &left, fault);
		/* A damaged header can make SQLite keep its free pages for ever. */
		if (r == 0 && left < pages)
			return 1;
	}
	if (r < 0)
		return r;
	/* If a reader is in the way, the next call tries again. */
	(void)sqlite3_busy_timeout(database->connection, 0);
	database->is_held = sqlite3_wal_checkpoint_v2(database->connection, NULL,
				    SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) != SQLITE_OK;
	(void)sqlite3_busy_timeout(database->connection, DAY_BUSY_MS);
	return 0;
}

void day_database_close(struct day_database *database)
{
	if (!database)
		return;
	for (size_t i = 0; i < DAY_STATEMENTS; i++)
		(void)sqlite3_finalize(database->statements[i]);
	(void)sqlite3_close(database->connection);
	free(database);
}

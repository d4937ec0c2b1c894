/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_database.h"

#include "base/array.h"
#include "store/column_blob.h"
#include "store/day_file.h"
#include "store/day_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* DAY_FOLD_LEVEL. */
#define FOLD_LEVEL "8"

enum {
	BUSY_MS = 2000,
	PAGES_BYTES_MAX = 1 << 18,
	LENGTH_MAX = COLUMN_BLOB_PLAIN_MAX + (1 << 20), /* of a blob that we write */
};

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
	[DAY_USED_BYTES] = "SELECT (page_count - freelist_count) * page_size "
			   "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	[DAY_FREE_PAGES] = "PRAGMA freelist_count",
	[DAY_VACUUM] = "PRAGMA incremental_vacuum(64)",
	[DAY_SUMMARY] = "SELECT count(*), min(start_ns), max(end_ns) FROM windows "
			"WHERE is_supplement = 0 AND level < " FOLD_LEVEL,
};

static int error_number(sqlite3 *connection, int code)
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

	return fault_set(fault, error_number(database->connection, code), "cannot %s %s: %s", what,
		name ? name : "a database of the history", text);
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
	(void)sqlite3_busy_timeout(database->connection, BUSY_MS);
	return 0;
}

/* --- opening --- */

static int configure(struct day_database *database, enum day_access access, struct fault *fault)
{
	sqlite3 *connection = database->connection;
	char cache[64];
	int r;

	(void)sqlite3_extended_result_codes(connection, 1);
	(void)sqlite3_busy_timeout(connection, BUSY_MS);
	(void)sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	(void)snprintf(cache, sizeof(cache), "PRAGMA cache_size = -%d; PRAGMA mmap_size = 0",
		PAGES_BYTES_MAX / 1024);
	r = day_database_execute(database, cache, fault);
	if (r == 0)
		r = day_database_execute(
			database, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY", fault);
	/* auto_vacuum takes effect in an empty database only. */
	if (r == 0 && access == DAY_WRITE)
		r = day_database_execute(database,
			"PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
			"PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304",
			fault);
	return r;
}

/* The owner and group may read history. SQLite gives -wal and -shm the mode of the database. */
static int make_file(const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	return fd >= 0 || errno == EEXIST ? 0 : -errno;
}

static int find_file(const char *path, enum day_access access)
{
	if (access == DAY_WRITE)
		return make_file(path);
	return faccessat(AT_FDCWD, path, F_OK, 0) < 0 ? -errno : 0;
}

/* True if no -wal holds data that the database lacks. */
static bool has_no_log(const char *path)
{
	char log[DAY_PATH_BYTES + 8];
	struct stat status;

	(void)snprintf(log, sizeof(log), "%s-wal", path);
	return stat(log, &status) == 0 ? status.st_size == 0 : errno == ENOENT;
}

/* True if the -wal has no data and SQLite can neither write nor create its -shm. */
static bool needs_no_locks(const char *folder, const char *path)
{
	char companion[DAY_PATH_BYTES + 8];

	(void)snprintf(companion, sizeof(companion), "%s-shm", path);
	return has_no_log(path) && faccessat(AT_FDCWD, companion, R_OK | W_OK, AT_EACCESS) < 0 &&
	       (errno != ENOENT || faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) < 0);
}

/* Formats "file:PATH?immutable=1", with the characters %, ? and # percent-encoded. */
static void format_address(char address[3 * DAY_PATH_BYTES + 32], const char *path)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t size = (size_t)sprintf(address, "file:");

	for (const char *c = path; *c; c++) {
		if (strchr("%?#", *c)) {
			address[size++] = '%';
			address[size++] = digits[(unsigned char)*c >> 4];
			address[size++] = digits[(unsigned char)*c & 15];
		} else {
			address[size++] = *c;
		}
	}
	(void)strcpy(address + size, "?immutable=1");
}

static int look_at(const char *path, struct day_database *database)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	database->bytes = (uint64_t)status.st_size;
	database->changed = status.st_mtim;
	return 0;
}

bool day_database_has_changed(const struct day_database *database)
{
	struct day_database now = { 0 };

	return database->is_immutable &&
	       (look_at(sqlite3_db_filename(database->connection, "main"), &now) < 0 ||
		       now.bytes != database->bytes ||
		       now.changed.tv_sec != database->changed.tv_sec ||
		       now.changed.tv_nsec != database->changed.tv_nsec);
}

static bool may_be_read(const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || errno != EACCES;
}

bool day_database_is_in_place(const struct day_database *database)
{
	const char *path = sqlite3_db_filename(database->connection, "main");
	struct stat status;

	return lstat(path, &status) == 0 && status.st_dev == database->device &&
	       status.st_ino == database->inode && may_be_read(path);
}

/* The path may lead to any kind of file. */
static int check_file(struct day_database *database, const char *path, struct fault *fault)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return fault_set(fault, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fault_set(fault, -EBADMSG, "%s is no regular file", path);
	if (!may_be_read(path))
		return fault_set(fault, -EBADMSG, "%s may not be read", path);
	database->device = status.st_dev;
	database->inode = status.st_ino;
	return 0;
}

static int open_connection(struct day_database *database, const char *path, enum day_access access,
	struct fault *fault)
{
	char address[3 * DAY_PATH_BYTES + 32];
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, code, r;

	flags |= access == DAY_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	if (database->is_immutable) {
		r = look_at(path, database);
		if (r < 0)
			return fault_set(fault, r, "cannot open %s: %s", path, strerror(-r));
		format_address(address, path);
		flags |= SQLITE_OPEN_URI;
	}
	code = sqlite3_open_v2(
		database->is_immutable ? address : path, &database->connection, flags, NULL);
	if (code == SQLITE_OK)
		return 0;
	r = error_number(database->connection, code);
	return fault_set(fault, r, "cannot open %s: %s", path,
		r == -EIO ? sqlite3_errstr(code) : strerror(-r));
}

static int open_checked(struct day_database *database, const char *path, enum day_access access,
	struct fault *fault)
{
	int r = open_connection(database, path, access, fault);

	if (r == 0)
		r = configure(database, access, fault);
	if (r == 0)
		r = day_schema_check(database, access, fault);
	/* The database exists; its -shm is missing and cannot be created. */
	if (r == -ENOENT && (sqlite3_errcode(database->connection) & 0xff) == SQLITE_CANTOPEN &&
		faccessat(AT_FDCWD, path, F_OK, 0) == 0)
		r = -EROFS;
	return r;
}

/* A sandbox may forbid what the file modes allow. Only an attempt shows that. */
static int open_without_locks(struct day_database *database, const char *path, struct fault *fault)
{
	(void)sqlite3_close(database->connection);
	database->connection = NULL;
	database->is_immutable = true;
	return open_checked(database, path, DAY_READ, fault);
}

int day_database_open(const char *folder, uint32_t day, enum day_access access,
	struct day_database **ret_database, struct fault *fault)
{
	_cleanup_(day_database_closep) struct day_database *database = calloc(1, sizeof(*database));
	char path[DAY_PATH_BYTES];
	struct fault locked = { 0 };
	int r;

	if (!database)
		return -ENOMEM;
	database->day = day;
	r = day_file_path(path, folder, day);
	if (r < 0)
		return fault_set(fault, r, "the path of the history's folder is too long");
	r = find_file(path, access);
	if (r < 0)
		return fault_set(fault, r, "cannot open %s: %s", path, strerror(-r));
	r = check_file(database, path, fault);
	if (r < 0)
		return r;
	database->is_immutable = access == DAY_READ && needs_no_locks(folder, path);
	r = open_checked(database, path, access, &locked);
	if (r == -EROFS && access == DAY_READ && !database->is_immutable && has_no_log(path))
		r = open_without_locks(database, path, fault);
	else if (r < 0 && locked.text[0])
		(void)fault_set(fault, r, "%s", locked.text);
	if (r < 0)
		return r;
	*ret_database = TAKE_PTR(database);
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

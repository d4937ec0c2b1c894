/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the database of a day, with locks or, where SQLite cannot make them, without. */
#include "store/column_blob.h"
#include "store/day_file.h"
#include "store/day_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PAGES_BYTES_MAX = 1 << 18,
	LENGTH_MAX = COLUMN_BLOB_PLAIN_MAX + (1 << 20), /* of a blob that we write */
};

static int configure(struct day_database *database, enum day_access access, struct fault *fault)
{
	sqlite3 *connection = database->connection;
	char cache[64];
	int r;

	(void)sqlite3_extended_result_codes(connection, 1);
	(void)sqlite3_busy_timeout(connection, DAY_BUSY_MS);
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
	r = day_database_error_number(database->connection, code);
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

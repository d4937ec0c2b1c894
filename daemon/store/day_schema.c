/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_schema.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "Pday": identifies the file to file(1) and to this program. */
#define APPLICATION_ID "1348755833"
#define VERSION	       "3"

/* The first version with the table `times`. */
enum { VERSION_OF_TIMES = 3 };

/* The rows of sqlite_schema, by name. Permanent for this version (I9). */
static const struct schema_entry {
	const char *name, *sql;
	bool is_of_times;
} schema[] = {
	{ "bodies", "CREATE TABLE bodies(window INTEGER PRIMARY KEY, body BLOB)", false },
	{ "dictionary",
		"CREATE TABLE dictionary(id INTEGER PRIMARY KEY, part INTEGER, "
		"generation INTEGER, body BLOB)",
		false },
	{ "dictionary_part", "CREATE INDEX dictionary_part ON dictionary(part, generation)",
		false },
	{ "times",
		"CREATE TABLE times(window INTEGER PRIMARY KEY, start_ns INTEGER, bytes INTEGER, "
		"body BLOB)",
		true },
	{ "times_start", "CREATE INDEX times_start ON times(start_ns, bytes)", true },
	{ "windows",
		"CREATE TABLE windows(id INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER, "
		"monotonic_ns INTEGER, period_ns INTEGER, samples INTEGER, body_bytes INTEGER, "
		"level INTEGER, cpu_count INTEGER, fold INTEGER, generation INTEGER, "
		"thread_generation INTEGER, "
		"is_supplement INTEGER, "
		"boot_id BLOB, event TEXT, accounts BLOB)",
		false },
	{ "windows_fold", "CREATE INDEX windows_fold ON windows(fold, start_ns)", false },
	{ "windows_level", "CREATE INDEX windows_level ON windows(level, start_ns)", false },
};

static int read_number(
	struct day_database *database, const char *sql, int64_t *ret_number, struct fault *fault)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(database->connection, sql, -1, &statement, NULL), r;

	if (code != SQLITE_OK)
		return day_database_error(database, code, "open", fault);
	r = day_database_step(database, statement, fault);
	if (r == 1)
		*ret_number = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

/* The next entry of the schema, from `at` on, that a database has with times or without. */
static size_t next_entry(size_t at, bool has_times)
{
	while (at < ARRAY_SIZE(schema) && schema[at].is_of_times && !has_times)
		at++;
	return at;
}

/* Returns 0 if the schema is exactly ours, -EBADMSG if not, or another -errno. */
static int check_schema(struct day_database *database, struct fault *fault)
{
	sqlite3_stmt *statement = NULL;
	size_t count = next_entry(0, database->has_times);
	int code, r;

	code = sqlite3_prepare_v2(database->connection,
		"SELECT name, sql FROM sqlite_schema ORDER BY name", -1, &statement, NULL);
	if (code != SQLITE_OK)
		return day_database_error(database, code, "open", fault);
	while ((r = day_database_step(database, statement, fault)) == 1) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		const char *sql = (const char *)sqlite3_column_text(statement, 1);

		if (count == ARRAY_SIZE(schema) || !name || !sql ||
			strcmp(name, schema[count].name) != 0 ||
			strcmp(sql, schema[count].sql) != 0)
			break;
		count = next_entry(count + 1, database->has_times);
	}
	(void)sqlite3_finalize(statement);
	if (r < 0)
		return r;
	return r == 0 && count == ARRAY_SIZE(schema) ? 0 : -EBADMSG;
}

static int make_schema(struct day_database *database, bool has_others, struct fault *fault)
{
	int r = day_database_begin(database, fault);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(schema); i++)
		if (!has_others || schema[i].is_of_times)
			r = day_database_execute(database, schema[i].sql, fault);
	if (r == 0)
		r = day_database_execute(database,
			"PRAGMA application_id = " APPLICATION_ID
			"; PRAGMA user_version = " VERSION,
			fault);
	if (r == 0)
		r = day_database_commit(database, fault);
	else
		day_database_rollback(database);
	database->has_times = r == 0;
	return r;
}

/*
 * Version 1 differs in one column of day_tables_blob.c, and versions 1 and 2 lack times, so a
 * writer just goes on.
 */
static int continue_day(struct day_database *database, enum day_access access, struct fault *fault)
{
	return access == DAY_WRITE ? make_schema(database, true, fault) : 0;
}

int day_schema_check(struct day_database *database, enum day_access access, struct fault *fault)
{
	int64_t version = 0, application = 0, entries = 0;
	int r = read_number(database, "PRAGMA user_version", &version, fault);

	if (r == 0)
		r = read_number(database, "PRAGMA application_id", &application, fault);
	if (r == 0)
		r = read_number(database, "SELECT count(*) FROM sqlite_schema", &entries, fault);
	if (r < 0)
		return r;
	/* A new database, or one whose creation was interrupted. */
	if (version == 0 && application == 0 && entries == 0)
		return access == DAY_WRITE ? make_schema(database, false, fault) : -ENOENT;
	if (version < 1 || version > strtol(VERSION, NULL, 10) ||
		application != strtol(APPLICATION_ID, NULL, 10))
		return fault_set(fault, -EBADMSG,
			"%s is not a history of version 1 to " VERSION
			" (application %lld, version %lld)",
			sqlite3_db_filename(database->connection, "main"), (long long)application,
			(long long)version);
	database->has_times = version >= VERSION_OF_TIMES;
	r = check_schema(database, fault);
	if (r == -EBADMSG)
		return fault_set(fault, r, "%s has other tables than a history",
			sqlite3_db_filename(database->connection, "main"));
	return r == 0 && !database->has_times ? continue_day(database, access, fault) : r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes windows and dictionaries as rows. */
#include "store/day_database.h"

#include "store/day_tables.h"

#include <errno.h>
#include <string.h>

static int bind_all(sqlite3_stmt *statement, const struct day_window *window)
{
	int code = 0, i = 1;

	/* The codes are only combined; the connection remembers which error it was. */
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->start_ns);
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->end_ns);
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->monotonic_ns);
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->period_ns);
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->samples);
	code |= sqlite3_bind_int64(statement, i++, (int64_t)window->body_bytes);
	code |= sqlite3_bind_int64(statement, i++, window->level);
	code |= sqlite3_bind_int64(statement, i++, window->cpu_count);
	code |= sqlite3_bind_int64(statement, i++, window->fold);
	code |= sqlite3_bind_int64(statement, i++, window->generations[DAY_STACKS]);
	code |= sqlite3_bind_int64(statement, i++, window->generations[DAY_THREADS]);
	code |= sqlite3_bind_int64(statement, i++, window->is_supplement);
	code |= sqlite3_bind_blob(
		statement, i++, window->boot_id, sizeof(window->boot_id), SQLITE_STATIC);
	code |= sqlite3_bind_text(statement, i++, window->event, -1, SQLITE_STATIC);
	code |= sqlite3_bind_blob(
		statement, i++, window->accounts, (int)window->accounts_size, SQLITE_STATIC);
	return code;
}

int day_database_add_window(struct day_database *database, const struct day_window *window,
	const void *body, size_t body_size, int64_t *ret_id, struct fault *fault)
{
	sqlite3_stmt *statement;
	int64_t id;
	int r = day_database_statement(database, DAY_ADD_WINDOW, &statement, fault);

	if (r < 0)
		return r;
	if (bind_all(statement, window) != SQLITE_OK)
		return day_database_error(
			database, sqlite3_errcode(database->connection), "write to", fault);
	r = day_database_step(database, statement, fault);
	(void)sqlite3_clear_bindings(statement);
	if (r == 0)
		r = day_database_statement(database, DAY_ADD_BODY, &statement, fault);
	if (r < 0)
		return r;
	id = sqlite3_last_insert_rowid(database->connection);
	(void)sqlite3_bind_int64(statement, 1, id);
	if (sqlite3_bind_blob(statement, 2, body, (int)body_size, SQLITE_STATIC) != SQLITE_OK)
		return day_database_error(
			database, sqlite3_errcode(database->connection), "write to", fault);
	r = day_database_step(database, statement, fault);
	(void)sqlite3_clear_bindings(statement);
	if (r == 0)
		*ret_id = id;
	return r;
}

/* Copies a blob or text of a row into `room` bytes; false if it is longer. */
static bool get_bytes(
	sqlite3_stmt *statement, int column, void *place, size_t room, size_t *ret_size)
{
	const void *bytes = sqlite3_column_blob(statement, column);
	size_t size = (size_t)sqlite3_column_bytes(statement, column);

	if (size > room)
		return false;
	if (size > 0)
		memcpy(place, bytes, size);
	*ret_size = size;
	return true;
}

static uint64_t get_number(sqlite3_stmt *statement, int column)
{
	return (uint64_t)sqlite3_column_int64(statement, column);
}

int day_database_get_window(struct day_database *database, sqlite3_stmt *statement,
	struct day_window *ret_window, struct fault *fault)
{
	size_t boot_size = 0, event_size = 0;
	struct day_window window = {
		.id = sqlite3_column_int64(statement, 0),
		.start_ns = get_number(statement, 1),
		.end_ns = get_number(statement, 2),
		.monotonic_ns = get_number(statement, 3),
		.period_ns = get_number(statement, 4),
		.samples = get_number(statement, 5),
		.body_bytes = get_number(statement, 6),
		.level = (uint32_t)get_number(statement, 7),
		.cpu_count = (uint32_t)get_number(statement, 8),
		.fold = sqlite3_column_int64(statement, 9),
		.generations = { sqlite3_column_int64(statement, 10),
			sqlite3_column_int64(statement, 11) },
		.is_supplement = get_number(statement, 12) != 0,
	};

	if (get_bytes(statement, 13, window.boot_id, sizeof(window.boot_id), &boot_size) &&
		get_bytes(statement, 14, window.event, sizeof(window.event) - 1, &event_size) &&
		get_bytes(statement, 15, window.accounts, sizeof(window.accounts),
			&window.accounts_size) &&
		boot_size == sizeof(window.boot_id) && window.period_ns > 0 &&
		window.start_ns <= window.end_ns && window.end_ns <= INT64_MAX) {
		*ret_window = window;
		return 0;
	}
	return fault_set(fault, -EBADMSG, "a window of %s is damaged",
		sqlite3_db_filename(database->connection, "main"));
}

int day_database_get_body(struct day_database *database, int64_t window, const void **ret_body,
	size_t *ret_size, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_BODY, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, window);
	r = day_database_step(database, statement, fault);
	if (r < 0)
		return r;
	if (r == 0)
		return fault_set(fault, -EBADMSG, "a window of %s has no body",
			sqlite3_db_filename(database->connection, "main"));
	*ret_body = sqlite3_column_blob(statement, 0);
	*ret_size = (size_t)sqlite3_column_bytes(statement, 0);
	if (!*ret_body && *ret_size > 0)
		return -ENOMEM;
	return 0;
}

int day_database_add_times(struct day_database *database, int64_t window, uint64_t start_ns,
	const void *body, size_t body_size, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_ADD_TIMES, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, window);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)start_ns);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)body_size);
	if (sqlite3_bind_blob(statement, 4, body, (int)body_size, SQLITE_STATIC) != SQLITE_OK)
		return day_database_error(
			database, sqlite3_errcode(database->connection), "write to", fault);
	r = day_database_step(database, statement, fault);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

int day_database_get_times(struct day_database *database, int64_t window, const void **ret_body,
	size_t *ret_size, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r;

	*ret_body = NULL;
	*ret_size = 0;
	if (!database->has_times)
		return 0;
	r = day_database_statement(database, DAY_TIMES, &statement, fault);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, window);
	r = day_database_step(database, statement, fault);
	if (r <= 0)
		return r;
	*ret_body = sqlite3_column_blob(statement, 0);
	*ret_size = (size_t)sqlite3_column_bytes(statement, 0);
	return 0;
}

int day_database_add_dictionary(struct day_database *database, enum day_part part,
	int64_t generation, const void *blob, size_t size, int64_t *ret_id, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_ADD_DICTIONARY, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, part);
	(void)sqlite3_bind_int64(statement, 2, generation);
	if (sqlite3_bind_blob(statement, 3, blob, (int)size, SQLITE_STATIC) != SQLITE_OK)
		return day_database_error(
			database, sqlite3_errcode(database->connection), "write to", fault);
	r = day_database_step(database, statement, fault);
	(void)sqlite3_clear_bindings(statement);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(database->connection);
	return r;
}

int day_database_load(struct day_database *database, enum day_part part, int64_t generation,
	struct day_tables *tables, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_DICTIONARY, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, part);
	(void)sqlite3_bind_int64(statement, 2, generation);
	while ((r = day_database_step(database, statement, fault)) == 1) {
		r = day_tables_read(tables, sqlite3_column_blob(statement, 0),
			(size_t)sqlite3_column_bytes(statement, 0));
		if (r == -EPROTONOSUPPORT)
			r = -EBADMSG;
		if (r < 0) {
			(void)sqlite3_reset(statement);
			return fault_set(fault, r, "the dictionary of %s is damaged",
				sqlite3_db_filename(database->connection, "main"));
		}
	}
	return r;
}

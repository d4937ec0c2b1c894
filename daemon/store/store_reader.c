/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "store/accounts_blob.h"
#include "store/reader_days.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>

int store_reader_each_day(const char *folder, uint64_t start_ns, uint64_t end_ns,
	reader_day_function function, void *context, uint64_t *ret_damaged, struct fault *fault)
{
	uint64_t damaged = 0;
	struct day_files files;
	int r = day_files_read(&files, folder, fault);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < files.count; i++) {
		const struct day_file *file = &files.items[i];
		struct day_database *database = NULL;
		struct fault damage = { 0 };

		/* A window may begin on the day before. */
		if (file->damaged > 0 || file->day * DAY_NS >= end_ns ||
			(file->day + 2ULL) * DAY_NS <= start_ns)
			continue;
		r = day_database_open(folder, file->day, DAY_READ, &database, &damage);
		if (r == 0)
			r = day_database_begin_reading(database, &damage);
		if (r == 0)
			r = function(context, database, &damage);
		if ((r == 0 || r == -EBADMSG) && database && day_database_has_changed(database))
			r = fault_set(&damage, -EBUSY,
				"the history was written to while it was read; try again");
		day_database_close(database);
		/* The day was deleted meanwhile, or not yet begun. */
		if (r == -ENOENT)
			r = 0;
		if (r == -EBADMSG) {
			damaged++;
			r = 0;
		}
		if (r < 0)
			(void)fault_set(fault, r, "cannot read the history: %s",
				damage.text[0] ? damage.text : strerror(-r));
	}
	day_files_done(&files);
	if (r == 0)
		*ret_damaged = damaged;
	return r;
}

/* --- the list of windows --- */

struct listing {
	uint64_t start_ns, end_ns;
	store_window_function function;
	void *context;
};

static int list_window(const struct listing *listing, const struct day_window *window)
{
	struct store_window_line line = {
		.event = window->event,
		.start_ns = window->start_ns,
		.end_ns = window->end_ns,
		.monotonic_ns = window->monotonic_ns,
		.period_ns = window->period_ns,
		.samples = window->samples,
		.bytes = window->body_bytes,
	};
	int r = accounts_blob_read(&line.accounts, window->accounts, window->accounts_size);

	memcpy(line.boot_id, window->boot_id, sizeof(line.boot_id));
	return r < 0 ? r : listing->function(listing->context, &line);
}

int day_database_windows(struct day_database *database, enum day_statement name, uint64_t start_ns,
	uint64_t end_ns, sqlite3_stmt **ret_statement, struct fault *fault)
{
	int r = day_database_statement(database, name, ret_statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(
		*ret_statement, 1, (int64_t)(end_ns < INT64_MAX ? end_ns : INT64_MAX));
	(void)sqlite3_bind_int64(
		*ret_statement, 2, (int64_t)(start_ns < INT64_MAX ? start_ns : INT64_MAX));
	return 0;
}

static int list_day(void *context, struct day_database *database, struct fault *fault)
{
	struct listing *listing = context;
	struct day_window window;
	sqlite3_stmt *statement;
	int r = day_database_windows(
		database, DAY_WINDOWS, listing->start_ns, listing->end_ns, &statement, fault);

	while (r >= 0 && (r = day_database_step(database, statement, fault)) == 1) {
		r = day_database_get_window(database, statement, &window, fault);
		if (r == 0)
			r = list_window(listing, &window);
	}
	return r;
}

int store_reader_each(const char *folder, uint64_t start_ns, uint64_t end_ns,
	store_window_function function, void *context, struct fault *fault)
{
	struct listing listing = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.function = function,
		.context = context,
	};
	uint64_t damaged;

	return store_reader_each_day(folder, start_ns, end_ns, list_day, &listing, &damaged, fault);
}

/* --- the summary --- */

static int sum_day(void *context, struct day_database *database, struct fault *fault)
{
	struct store_summary *summary = context;
	sqlite3_stmt *statement;
	uint64_t windows;
	int r = day_database_statement(database, DAY_SUMMARY, &statement, fault);

	if (r == 0)
		r = day_database_step(database, statement, fault);
	if (r < 0)
		return r;
	summary->days++;
	windows = (uint64_t)sqlite3_column_int64(statement, 0);
	if (windows > 0) {
		uint64_t first_ns = (uint64_t)sqlite3_column_int64(statement, 1);
		uint64_t last_ns = (uint64_t)sqlite3_column_int64(statement, 2);

		if (summary->windows == 0 || first_ns < summary->first_ns)
			summary->first_ns = first_ns;
		if (last_ns > summary->last_ns)
			summary->last_ns = last_ns;
		summary->windows += windows;
	}
	(void)sqlite3_reset(statement);
	return 0;
}

int store_reader_summary(const char *folder, struct store_summary *ret_summary, struct fault *fault)
{
	struct store_summary summary = { 0 };
	struct day_files files;
	uint64_t damaged;
	int r = store_reader_each_day(folder, 0, UINT64_MAX, sum_day, &summary, &damaged, fault);

	if (r == 0)
		r = day_files_read(&files, folder, fault);
	if (r < 0)
		return r;
	summary.bytes = files.bytes;
	summary.days_set_aside = files.others_set_aside;
	for (size_t i = 0; i < files.count; i++)
		summary.days_set_aside += files.items[i].damaged > 0;
	day_files_done(&files);
	*ret_summary = summary;
	return 0;
}

/* --- times of samples --- */

struct times_search {
	uint64_t from_ns, first_ns;
};

static int find_times(void *context, struct day_database *database, struct fault *fault)
{
	struct times_search *search = context;
	int64_t start_ns = INT64_MAX;
	int r = database->has_times ? day_database_number(database, DAY_FIRST_TIMES,
					      (int64_t)search->from_ns, 0, &start_ns, fault)
				    : 0;

	if (r == 0 && start_ns < INT64_MAX && (uint64_t)start_ns < search->first_ns)
		search->first_ns = (uint64_t)start_ns;
	return r;
}

int store_reader_first_times(
	const char *folder, uint64_t start_ns, uint64_t *ret_start_ns, struct fault *fault)
{
	struct times_search search = { .from_ns = start_ns, .first_ns = UINT64_MAX };
	uint64_t damaged;
	int r = store_reader_each_day(
		folder, start_ns, UINT64_MAX, find_times, &search, &damaged, fault);

	if (r == 0)
		*ret_start_ns = search.first_ns;
	return r;
}

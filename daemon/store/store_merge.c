/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows become coarser with age: those of a minute become one, later those of ten. A step takes
 * the first slot that has windows of the level, and of those the first and all that go with it; the
 * others are the next step's. One transaction a step: a crash leaves the one or the other.
 */
#include "base/clock.h"
#include "store/accounts_blob.h"
#include "store/day_file.h"
#include "store/store_state.h"
#include "store/window_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 64 /* windows that are merged at once */ };

/* Further apart than that in any clock, two windows are not one stretch of time. */
static const uint64_t gap_ns = NSEC_PER_SEC;
static const uint64_t width_ns[STORE_LEVELS] = {
	60ULL * NSEC_PER_SEC,
	600ULL * NSEC_PER_SEC,
};

struct group {
	struct day_database *database;
	struct day_window *windows; /* GROUP_MAX of room */
	size_t count;
	struct day_window merged;
	struct fault *fault;
};

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= gap_ns;
}

/* Does it go on where the group ends, by both clocks? */
static bool belongs(const struct group *group, const struct day_window *window)
{
	const struct day_window *merged = &group->merged;

	return memcmp(window->generations, merged->generations, sizeof(merged->generations)) == 0 &&
	       window->period_ns == merged->period_ns &&
	       memcmp(window->boot_id, merged->boot_id, sizeof(merged->boot_id)) == 0 &&
	       strcmp(window->event, merged->event) == 0 &&
	       window->start_ns <= merged->end_ns + gap_ns &&
	       is_near(window->start_ns - merged->start_ns,
		       window->monotonic_ns - merged->monotonic_ns);
}

static int take_accounts(struct accounts *sum, const struct day_window *window)
{
	struct accounts accounts;
	int r = accounts_blob_read(&accounts, window->accounts, window->accounts_size);

	if (r == 0)
		accounts_add(sum, &accounts);
	return r;
}

static void join(struct group *group, const struct day_window *window)
{
	struct day_window *merged = &group->merged;

	if (group->count == 0)
		*merged = *window;
	if (window->end_ns > merged->end_ns)
		merged->end_ns = window->end_ns;
	if (window->cpu_count > merged->cpu_count)
		merged->cpu_count = window->cpu_count;
	merged->is_supplement = merged->is_supplement && window->is_supplement;
	group->windows[group->count++] = *window;
}

static int read_group(struct group *group, int level, uint64_t first_ns, uint64_t end_ns)
{
	sqlite3_stmt *statement;
	struct day_window window;
	int r = day_database_statement(group->database, DAY_SLOT, &statement, group->fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, level);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)first_ns);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)end_ns);
	while (group->count < GROUP_MAX &&
		(r = day_database_step(group->database, statement, group->fault)) == 1) {
		r = day_database_get_window(group->database, statement, &window, group->fault);
		if (r < 0)
			break;
		if (group->count == 0 || belongs(group, &window))
			join(group, &window);
	}
	(void)sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

/* --- rows --- */

struct source {
	struct window_reader reader;
	struct window_row row;
	bool has_row;
};

static int advance(struct source *source)
{
	int r = window_reader_next(&source->reader, &source->row);

	source->has_row = r == 1;
	return r < 0 ? r : 0;
}

static bool is_before(const struct window_row *a, const struct window_row *b)
{
	return a->thread != b->thread ? a->thread < b->thread : a->node < b->node;
}

static int open_sources(const struct group *group, struct source *sources)
{
	for (size_t i = 0; i < group->count; i++) {
		const void *body;
		size_t size;
		int r = day_database_get_body(
			group->database, group->windows[i].id, &body, &size, group->fault);

		/* Which ids are valid is their readers' affair. */
		if (r == 0)
			r = window_reader_init(
				&sources[i].reader, body, size, UINT32_MAX, UINT32_MAX);
		if (r == 0)
			r = advance(&sources[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The next row of all sources, summed up; false at the end. */
static int next_row(struct source *sources, size_t count, struct window_row *ret_row)
{
	struct window_row row = { 0 };
	bool has_row = false;

	for (size_t i = 0; i < count; i++)
		if (sources[i].has_row && (!has_row || is_before(&sources[i].row, &row))) {
			row = sources[i].row;
			has_row = true;
		}
	if (!has_row)
		return 0;
	row.count = 0;
	for (size_t i = 0; i < count; i++) {
		int r;

		if (!sources[i].has_row || is_before(&row, &sources[i].row))
			continue;
		if (__builtin_add_overflow(row.count, sources[i].row.count, &row.count))
			return -EBADMSG;
		r = advance(&sources[i]);
		if (r < 0)
			return r;
	}
	*ret_row = row;
	return 1;
}

static int merge_rows(struct group *group, uint8_t **ret_body, size_t *ret_size)
{
	_cleanup_free_ struct source *sources = calloc(group->count, sizeof(*sources));
	struct window_writer writer;
	struct window_row row;
	int r;

	if (!sources)
		return -ENOMEM;
	window_writer_init(&writer);
	r = open_sources(group, sources);
	while (r >= 0 && (r = next_row(sources, group->count, &row)) == 1 &&
		writer.rows <= WINDOW_ROWS_MAX)
		window_writer_add(&writer, &row);
	if (r >= 0)
		r = window_writer_finish(&writer, STORE_MERGE_EFFORT, ret_body, ret_size);
	group->merged.samples = writer.samples;
	window_writer_done(&writer);
	for (size_t i = 0; i < group->count; i++)
		window_reader_done(&sources[i].reader);
	return r;
}

/* --- steps --- */

static int change(struct group *group, enum day_statement name, int64_t first, int64_t second)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(group->database, name, &statement, group->fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, first);
	if (sqlite3_bind_parameter_count(statement) > 1)
		(void)sqlite3_bind_int64(statement, 2, second);
	return day_database_step(group->database, statement, group->fault);
}

/* What cannot be merged stays as it is, and is not looked at again. */
static int keep(struct group *group, int level)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++)
		r = change(group, DAY_SET_LEVEL, level, group->windows[i].id);
	return r;
}

static int replace(struct group *group, const void *body, size_t size)
{
	int r = day_database_add_window(group->database, &group->merged, body, size, group->fault);

	for (size_t i = 0; r == 0 && i < group->count; i++) {
		r = change(group, DAY_REMOVE_WINDOW, group->windows[i].id, 0);
		if (r == 0)
			r = change(group, DAY_REMOVE_BODY, group->windows[i].id, 0);
	}
	return r;
}

static int combine(struct group *group, uint8_t **ret_body, size_t *ret_size)
{
	struct day_window *merged = &group->merged;
	struct accounts accounts = { 0 };
	int r = group->count > 1 ? 0 : -E2BIG;

	for (size_t i = 0; r == 0 && i < group->count; i++)
		r = take_accounts(&accounts, &group->windows[i]);
	if (r == 0)
		r = merge_rows(group, ret_body, ret_size);
	if (r < 0)
		return r;
	merged->body_bytes = *ret_size;
	merged->accounts_size = accounts_blob_write(&accounts, merged->accounts);
	return 0;
}

static int merge_group(struct group *group, int level)
{
	_cleanup_free_ uint8_t *body = NULL;
	size_t size = 0;
	int r = combine(group, &body, &size);

	/* A window that is damaged, or too large in sum, stays as it is. */
	if (r < 0 && r != -EBADMSG && r != -E2BIG)
		return r;
	day_database_rollback(group->database);
	group->merged.level = (uint32_t)level + 1;
	r = day_database_begin(group->database, group->fault);
	if (r < 0)
		return r;
	r = body ? replace(group, body, size) : keep(group, level + 1);
	if (r == 0)
		return day_database_commit(group->database, group->fault);
	day_database_rollback(group->database);
	return r;
}

static int merge_slot(struct day_database *database, int level, uint64_t first_ns, uint64_t end_ns,
	struct fault *fault)
{
	struct group group = { .database = database, .fault = fault };
	int r;

	group.windows = calloc(GROUP_MAX, sizeof(*group.windows));
	if (!group.windows)
		return -ENOMEM;
	r = read_group(&group, level, first_ns, end_ns);
	if (r == 0 && group.count > 0)
		r = merge_group(&group, level);
	free(group.windows);
	return r;
}

/* The start of the first window of the level; UINT64_MAX: there is none. */
static int find_first(struct day_database *database, int level, uint64_t end_ns,
	uint64_t *ret_first_ns, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_NEXT_MERGE, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, level);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)end_ns);
	r = day_database_step(database, statement, fault);
	if (r < 0)
		return r;
	*ret_first_ns = sqlite3_column_type(statement, 0) == SQLITE_INTEGER
				? (uint64_t)sqlite3_column_int64(statement, 0)
				: UINT64_MAX;
	(void)sqlite3_reset(statement);
	return 0;
}

/* One slot of the day before `end_ns`; 0: it has none, and no page to give back. */
static int merge_in_day(struct store *store, struct day_database *database, int level,
	uint64_t end_ns, struct fault *fault)
{
	uint64_t first_ns, slot_end_ns;
	int r = find_first(database, level, end_ns, &first_ns, fault);

	if (r < 0)
		return r;
	/* The pages of the day that is appended to are soon used again. */
	if (first_ns == UINT64_MAX)
		return database == store->database ? 0 : day_database_shrink(database, fault);
	slot_end_ns = (first_ns / width_ns[level] + 1) * width_ns[level];
	r = merge_slot(database, level, first_ns, slot_end_ns, fault);
	return r < 0 ? r : 1;
}

/* The first day from `day` on that there is; UINT32_MAX: none. */
static int find_day(struct store *store, uint32_t day, uint32_t *ret_day, struct fault *fault)
{
	struct day_files files;
	uint32_t found = UINT32_MAX;
	int r = day_files_read(&files, store->folder, fault);

	if (r < 0)
		return r;
	for (size_t i = 0; i < files.count && found == UINT32_MAX; i++)
		if (files.items[i].damaged == 0 && files.items[i].day >= day)
			found = files.items[i].day;
	day_files_done(&files);
	*ret_day = found;
	return 0;
}

/* The connection to a day, which may be the one that is appended to. */
static int use_database(
	struct store *store, uint32_t day, struct day_database **ret_database, struct fault *fault)
{
	int r = 0;

	if (store->database && store->database->day == day) {
		*ret_database = store->database;
		return 0;
	}
	if (!store->old || store->old->day != day) {
		day_database_close(TAKE_PTR(store->old));
		r = store_open_database(store, day, &store->old, fault);
	}
	if (r == 0)
		*ret_database = store->old;
	return r;
}

static int set_aside(struct store *store, uint32_t day, struct fault *fault)
{
	if (store->old && store->old->day == day)
		day_database_close(TAKE_PTR(store->old));
	if (store->database && store->database->day == day)
		store_leave_day(store);
	return store_set_aside(store, day, fault);
}

/* A step within the first day that is not known to be done. */
static int merge_first_day(struct store *store, int level, uint64_t horizon_ns, struct fault *fault)
{
	uint64_t *merged_ns = &store->merged_ns[level], end_ns;
	struct day_database *database;
	struct fault damage = { 0 };
	uint32_t day;
	int r = find_day(store, day_of(*merged_ns), &day, fault);

	if (r < 0)
		return r;
	if (day > day_of(horizon_ns)) {
		*merged_ns = horizon_ns;
		day_database_close(TAKE_PTR(store->old));
		return 0;
	}
	end_ns = (day + 1) * DAY_NS < horizon_ns ? (day + 1) * DAY_NS : horizon_ns;
	r = use_database(store, day, &database, &damage);
	if (r == 0)
		r = merge_in_day(store, database, level, end_ns, &damage);
	if (r == -EBADMSG)
		r = set_aside(store, day, fault);
	else if (r < 0)
		return fault_set(fault, r, "cannot make history coarser: %s",
			damage.text[0] ? damage.text : strerror(-r));
	else if (r == 0)
		*merged_ns = end_ns;
	return r < 0 ? r : 1;
}

int store_merge_step(struct store *store, uint64_t now_ns, struct fault *fault)
{
	const uint64_t age_s[STORE_LEVELS] = { store->limits.minute_s, store->limits.minutes_s };

	for (int level = 0; level < STORE_LEVELS; level++) {
		uint64_t age_ns, horizon_ns;

		if (__builtin_mul_overflow(age_s[level], (uint64_t)NSEC_PER_SEC, &age_ns) ||
			age_ns > now_ns || now_ns > INT64_MAX)
			continue;
		/* Slots that are over as a whole. */
		horizon_ns = (now_ns - age_ns) / width_ns[level] * width_ns[level];
		if (store->merged_ns[level] < horizon_ns) {
			int r = merge_first_day(store, level, horizon_ns, fault);

			if (r != 0)
				return r;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops times of samples (times_blob.h), while their windows stay. */
#include "base/array.h"
#include "base/clock.h"
#include "store/store_state.h"

#include <errno.h>

enum {
	OLD_MAX = 64,	 /* windows that DAY_OLD_TIMES lists at a time */
	TIMES_PARTS = 8, /* of the byte limit, for a day's times: two days have a quarter */
};

/* The longest window that keeps times. */
#define WINDOW_NS (60ULL * 1000000000ULL)

struct old_times {
	int64_t window;
	uint64_t start_ns, bytes;
};

static int list_old(struct day_database *database, uint64_t from_ns, uint64_t end_ns,
	struct old_times *old, size_t *ret_count, struct fault *fault)
{
	sqlite3_stmt *statement;
	size_t count = 0;
	int r = day_database_statement(database, DAY_OLD_TIMES, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, (int64_t)from_ns);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)end_ns);
	while (count < OLD_MAX && (r = day_database_step(database, statement, fault)) == 1)
		old[count++] = (struct old_times){
			.window = sqlite3_column_int64(statement, 0),
			.start_ns = (uint64_t)sqlite3_column_int64(statement, 1),
			.bytes = (uint64_t)sqlite3_column_int64(statement, 2),
		};
	(void)sqlite3_reset(statement);
	*ret_count = count;
	return r < 0 ? r : 0;
}

static int drop(struct store *store, struct day_database *database, const struct old_times *old,
	uint64_t *from_ns, struct fault *fault)
{
	int r;

	/* Those of windows that begin at the same time may be in the next list. */
	*from_ns = old->start_ns;
	if (incident_times_keep(&store->incidents, old->start_ns, old->start_ns + WINDOW_NS)) {
		++*from_ns;
		return 0;
	}
	r = day_database_change(database, DAY_REMOVE_TIMES, old->window, 0, fault);
	/* The list is from the index alone: a damaged one would name the window for ever. */
	return r == 0 && sqlite3_changes(database->connection) == 0 ? -EBADMSG : r;
}

int store_drop_times(struct store *store, struct day_database *database, uint64_t *from_ns,
	uint64_t end_ns, uint64_t enough_bytes, struct fault *fault)
{
	struct old_times old[OLD_MAX];
	uint64_t freed_bytes = 0, next_ns = *from_ns;
	size_t count;
	int r = list_old(database, *from_ns, end_ns, old, &count, fault);

	if (r < 0 || count == 0)
		return r;
	r = day_database_begin(database, fault);
	for (size_t i = 0; r == 0 && i < count && freed_bytes < enough_bytes; i++) {
		r = drop(store, database, &old[i], &next_ns, fault);
		freed_bytes += next_ns > old[i].start_ns ? 0 : old[i].bytes;
	}
	if (r == 0)
		r = day_database_commit(database, fault);
	if (r < 0) {
		day_database_rollback(database);
		return r;
	}
	*from_ns = next_ns;
	return 1;
}

int store_bound_times(struct store *store, uint64_t until_ns, struct fault *fault)
{
	const uint64_t limit = store->limits.bytes / TIMES_PARTS;
	int64_t bytes;
	int r;

	if (!store->database)
		return 0;
	do {
		r = day_database_number(store->database, DAY_TIMES_BYTES, 0, 0, &bytes, fault);
		if (r < 0 || (uint64_t)bytes <= limit)
			return r;
		r = store_drop_times(store, store->database, &store->spared_ns, INT64_MAX,
			(uint64_t)bytes - limit, fault);
	} while (r == 1 && clock_monotonic_ns() < until_ns);
	return r;
}

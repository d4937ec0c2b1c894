/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "store/accounts_blob.h"
#include "store/day_file.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>

/* What is on the disk. */
struct overlap {
	uint64_t windows;
	uint64_t end_ns; /* of the last one, CLOCK_MONOTONIC */
	struct accounts accounts;
};

static uint64_t monotonic_end_ns(const struct day_window *window)
{
	return window->monotonic_ns + (window->end_ns - window->start_ns);
}

static bool is_within(
	const struct day_window *written, uint64_t since_ns, const struct day_window *window)
{
	return written->level == 0 && !written->is_supplement &&
	       memcmp(written->boot_id, window->boot_id, sizeof(window->boot_id)) == 0 &&
	       written->monotonic_ns >= since_ns &&
	       monotonic_end_ns(written) <= monotonic_end_ns(window);
}

/* Adds what the day has of it. */
static int read_day(struct day_database *database, uint64_t since_ns, uint64_t start_ns,
	const struct day_window *window, struct overlap *overlap, struct fault *fault)
{
	sqlite3_stmt *statement;
	int r = day_database_statement(database, DAY_WINDOWS, &statement, fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, (int64_t)window->end_ns);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)start_ns);
	while ((r = day_database_step(database, statement, fault)) > 0) {
		struct day_window written;
		struct accounts accounts;

		r = day_database_get_window(database, statement, &written, fault);
		if (r < 0)
			return r;
		if (!is_within(&written, since_ns, window))
			continue;
		r = accounts_blob_read(&accounts, written.accounts, written.accounts_size);
		if (r < 0)
			return r;
		accounts_add(&overlap->accounts, &accounts);
		overlap->windows++;
		if (monotonic_end_ns(&written) > overlap->end_ns)
			overlap->end_ns = monotonic_end_ns(&written);
	}
	return r;
}

/* In the day in which it ends and the one before. Of a connection of its own, as a reader, so that
 * no day is made, and none is left. */
static int read_overlap(const struct store *store, uint64_t since_ns,
	const struct day_window *window, struct overlap *overlap, struct fault *fault)
{
	/* It may begin later than that. */
	uint64_t before_ns = since_ns < window->monotonic_ns ? window->monotonic_ns - since_ns : 0;
	uint64_t start_ns = before_ns < window->start_ns ? window->start_ns - before_ns : 0;
	uint32_t last = day_of(window->end_ns);
	uint32_t day = day_of(start_ns) < last ? last - 1 : last;
	int r = 0;

	for (; r == 0 && day <= last; day++) {
		_cleanup_(day_database_closep) struct day_database *database = NULL;

		r = day_database_open(store->folder, day, DAY_READ, &database, fault);
		if (r == 0)
			r = read_day(database, since_ns, start_ns, window, overlap, fault);
		else if (r == -ENOENT)
			r = 0;
	}
	return r;
}

void store_leave_out_written(
	const struct store *store, uint64_t since_ns, struct day_window *window)
{
	struct overlap overlap = { 0 };
	struct accounts accounts;
	struct fault fault = { 0 };
	int r = read_overlap(store, since_ns, window, &overlap, &fault);

	if (r == 0)
		r = accounts_blob_read(&accounts, window->accounts, window->accounts_size);
	if (r < 0)
		log_debug("cannot tell what the last engine had written (%s), continuing as if "
			  "that were nothing",
			fault.text[0] ? fault.text : strerror(-r));
	if (r < 0 || overlap.windows == 0 || !accounts_take_back(&accounts, &overlap.accounts))
		return;
	log_debug("the last engine had written %llu of the samples that it was thought to have "
		  "taken with it",
		(unsigned long long)overlap.accounts.fired);
	window->accounts_size = accounts_blob_write(&accounts, window->accounts);
	if (overlap.end_ns > window->monotonic_ns) {
		window->start_ns += overlap.end_ns - window->monotonic_ns;
		window->monotonic_ns = overlap.end_ns;
	}
}

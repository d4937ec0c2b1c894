/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/loss_record.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "base/state_file.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* "PLLOSS", and the version of the layout. */
#define MAGIC 0x010053534f4c4c50ULL

struct totals {
	struct source_accounts drained, closed;
	uint64_t closed_until_ns;
	uint64_t service; /* the service that wrote closed_until_ns */
};

struct loss_record {
	uint64_t magic;
	uint64_t bytes; /* of this struct: accounts may have grown */
	uint8_t boot_id[16];
	uint64_t service, engines, lost_samples;
	/* Of the sources from PILOTLIGHT_SOURCE_COUNTED on. */
	char events[PILOTLIGHT_COUNTED_EVENTS][PILOTLIGHT_EVENT_NAME_BYTES];
	uint64_t current; /* the valid one of the two; the other is written next */
	struct totals totals[2];
};

static const struct totals *current_totals(const struct loss_record *record)
{
	return &record->totals[record->current % 2];
}

static bool is_of_this_boot(const struct loss_record *record, const uint8_t boot_id[16])
{
	return record->magic == MAGIC && record->bytes == sizeof(*record) &&
	       memcmp(record->boot_id, boot_id, sizeof(record->boot_id)) == 0 &&
	       source_accounts_close(&current_totals(record)->drained) &&
	       source_accounts_close(&current_totals(record)->closed);
}

int loss_record_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct loss_record **ret_record, struct fault *fault)
{
	struct loss_record *record;
	void *memory;
	int r = state_file_map(path, sizeof(*record), &memory);

	if (r < 0)
		return fault_set(fault, r, "cannot use the file %s: %s", path, strerror(-r));
	record = memory;
	if (!is_of_this_boot(record, boot_id)) {
		memset(record, 0, sizeof(*record));
		memcpy(record->boot_id, boot_id, sizeof(record->boot_id));
		record->bytes = sizeof(*record);
		record->magic = MAGIC;
	}
	if (record->service != service) {
		record->service = service;
		record->engines = record->lost_samples = 0;
	}
	*ret_record = record;
	return 0;
}

void loss_record_close(struct loss_record *record)
{
	if (record)
		(void)munmap(record, sizeof(*record));
}

/* --- what the history holds --- */

/* What the last engine drained and did not close. It can claim no more than `drained` as lost, even
 * if it corrupted its own record. */
static struct source_accounts open_accounts(const struct totals *totals)
{
	struct source_accounts open = totals->drained;

	(void)source_accounts_subtract(&open, &totals->closed);
	return open;
}

static bool has_fired(const struct source_accounts *accounts)
{
	bool has = false;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		has |= accounts->of[i].fired > 0;
	return has;
}

bool loss_record_needs_history(
	const struct loss_record *record, struct loss_record_sealed *ret_sealed)
{
	const struct totals *totals = current_totals(record);
	const struct source_accounts open = open_accounts(totals);

	*ret_sealed = (struct loss_record_sealed){
		.since_ns = totals->closed_until_ns,
		.until_ns = totals->closed_until_ns,
	};
	memcpy(ret_sealed->boot_id, record->boot_id, sizeof(ret_sealed->boot_id));
	memcpy(ret_sealed->events, record->events, sizeof(ret_sealed->events));
	/* 0: the last engine never began a window, so the history has none of it. */
	return has_fired(&open) && totals->closed_until_ns > 0;
}

/* Finds the source of an event, also of one that a user has named. */
static bool find_source(const struct loss_record_sealed *sealed, const char *event,
	enum pilotlight_source *ret_source)
{
	if (event_source_index(event, ret_source))
		return true;
	for (unsigned i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (*event && strncmp(event, sealed->events[i], sizeof(sealed->events[i])) == 0) {
			*ret_source = (enum pilotlight_source)(PILOTLIGHT_SOURCE_COUNTED + i);
			return true;
		}
	return false;
}

static int add_sealed(void *context, const struct store_window_line *line)
{
	struct loss_record_sealed *sealed = context;
	uint64_t end_ns = line->monotonic_ns + (line->end_ns - line->start_ns);
	enum pilotlight_source source;

	/* The last engine sealed no window of another event. What lives is not counted. */
	if (!find_source(sealed, line->event, &source) || event_sources[source].is_live ||
		line->monotonic_ns < sealed->since_ns ||
		memcmp(line->boot_id, sealed->boot_id, sizeof(line->boot_id)) != 0)
		return 0;
	accounts_add(&sealed->accounts.of[source], &line->accounts);
	if (end_ns > sealed->until_ns)
		sealed->until_ns = end_ns;
	return 0;
}

/*
 * Includes windows that begin in the future, which exist after the clock was set back, and those of
 * two days more than CLOCK_MONOTONIC says, which a suspend or a clock set ahead may have added.
 */
void loss_record_read_sealed(const char *history, struct loss_record_sealed *sealed)
{
	uint64_t now_ns = clock_realtime_ns();
	uint64_t ago_ns = clock_monotonic_ns() - sealed->since_ns + 2ULL * 86400 * NSEC_PER_SEC;
	struct fault fault = { 0 };
	int r = store_reader_each(history, ago_ns < now_ns ? now_ns - ago_ns : 0, UINT64_MAX,
		add_sealed, sealed, &fault);

	if (r < 0)
		log_debug("cannot read what the last engine sealed (%s), continuing with the loss "
			  "record alone",
			fault.text[0] ? fault.text : strerror(-r));
	sealed->error = r;
}

/* --- an engine --- */

static void write_totals(struct loss_record *record, const struct totals *totals)
{
	uint64_t next = (record->current + 1) % 2;

	record->totals[next] = *totals;
	__atomic_store_n(&record->current, next, __ATOMIC_RELEASE);
}

/* Subtracts from `lost` the windows that the history holds. Returns until when it has windows. */
static uint64_t subtract_sealed(
	struct source_accounts *lost, const struct loss_record_sealed *sealed)
{
	if (sealed->error == 0 && source_accounts_subtract(lost, &sealed->accounts))
		return sealed->until_ns;
	/* All of it is reported now. The engine after this one must not subtract it from its own.
	 */
	return clock_monotonic_ns();
}

/* Moves all stored samples to the dropped ones. Returns their number. */
static uint64_t drop_stored(struct accounts *lost)
{
	uint64_t samples = 0;

	for (int path = 0; path < PILOTLIGHT_PATH_COUNT; path++) {
		samples += lost->stored[path];
		accounts_move(lost, path, PILOTLIGHT_DROP_ENGINE, lost->stored[path]);
	}
	return samples;
}

void loss_record_begin(struct loss_record *record, const struct loss_record_sealed *sealed,
	const struct source_accounts *left_behind, struct loss_record_beginning *ret_beginning)
{
	struct totals totals = *current_totals(record);
	struct source_accounts lost = open_accounts(&totals);
	uint64_t lost_samples = 0;

	if (sealed)
		totals.closed_until_ns = subtract_sealed(&lost, sealed);
	source_accounts_add(&lost, left_behind);
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		uint64_t samples = drop_stored(&lost.of[i]);

		/* What is counted in all is samples of CPU time: periods of others are no samples.
		 */
		lost_samples += i == PILOTLIGHT_SOURCE_CPU ? samples : 0;
	}
	totals.drained = lost;
	totals.closed = (struct source_accounts){ 0 };
	write_totals(record, &totals);
	record->lost_samples += lost_samples;
	*ret_beginning = (struct loss_record_beginning){
		.engines = ++record->engines,
		.lost = lost,
		.lost_samples = record->lost_samples,
		.closed_until_ns = totals.service == record->service ? totals.closed_until_ns : 0,
	};
}

void loss_record_name_events(struct loss_record *record,
	const struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS],
	struct loss_record_beginning *beginning)
{
	struct totals totals = *current_totals(record);
	uint64_t lost = 0;

	for (unsigned i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++) {
		unsigned source = PILOTLIGHT_SOURCE_COUNTED + i;

		if (strncmp(record->events[i], counted[i].name, sizeof(record->events[i])) == 0)
			continue;
		lost += accounts_lost(&beginning->lost.of[source]);
		beginning->lost.of[source] = (struct accounts){ 0 };
		totals.drained.of[source] = totals.closed.of[source] = (struct accounts){ 0 };
	}
	/* The counts go first: a killed engine must not leave them to another event. */
	write_totals(record, &totals);
	record->lost_samples += lost;
	beginning->lost_samples = record->lost_samples;
	for (unsigned i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		memcpy(record->events[i], counted[i].name, sizeof(record->events[i]));
}

void loss_record_update(struct loss_record *record, const struct source_accounts *drained,
	const struct source_accounts *closed, uint64_t closed_until_ns)
{
	struct totals totals = {
		.drained = *drained,
		.closed = *closed,
		.closed_until_ns = closed_until_ns,
		.service = record->service,
	};

	/* A killed engine loses no amount of it: the next one begins to follow what lives. */
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (event_sources[i].is_live)
			totals.drained.of[i] = (struct accounts){ 0 };
	write_totals(record, &totals);
}

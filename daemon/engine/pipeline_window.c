/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "engine/pipeline_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_source(const struct pipeline *pipeline, enum pilotlight_source source)
{
	return pipeline->settings.capture.sources & 1U << source;
}

static int make_room(const struct pipeline *pipeline, struct pipeline_room **ret_room)
{
	const size_t budget = pipeline->settings.profile_budget_bytes;
	struct pipeline_room *room = calloc(1, sizeof(*room));

	if (!room)
		return -ENOMEM;
	room->pool.limit_bytes = budget;
	aggregator_quota_init(&room->all, budget, NULL);
	aggregator_quota_init(&room->others, budget / 4 * 3, &room->all);
	*ret_room = room;
	return 0;
}

static const char *event_of(const struct pipeline *pipeline, enum pilotlight_source source)
{
	return event_source_is_counted(source)
		       ? pipeline->settings.capture.counted[source - PILOTLIGHT_SOURCE_COUNTED].name
		       : event_sources[source].name;
}

static int begin_part(struct pipeline *pipeline, enum pilotlight_source source,
	struct pipeline_room *room, struct pipeline_part *part)
{
	int r = profile_new(pipeline->settings.profile_budget_bytes, &part->profile);

	if (r == 0)
		r = aggregator_new(part->profile, pipeline->binaries, &pipeline->report.excess,
			&part->aggregator);
	if (r < 0)
		return r;
	aggregator_set_quota(
		part->aggregator, source == PILOTLIGHT_SOURCE_CPU ? &room->all : &room->others);
	part->profile->pool = &room->pool;
	room->pool.members[room->pool.count++] = part->profile;
	part->profile->period_ns = pipeline_period_ns(pipeline, source);
	part->profile->keeps_spans = pipeline->settings.keeps_spans;
	/* Now, while there is room for sure. */
	if (source != PILOTLIGHT_SOURCE_CPU)
		r = profile_add_string(
			part->profile, event_of(pipeline, source), &part->profile->event);
	return r;
}

int pipeline_window_begin(struct pipeline *pipeline, uint32_t number, uint64_t monotonic_ns,
	struct pipeline_window *ret_window)
{
	struct pipeline_window window = {
		.is_there = true,
		.number = number,
		.monotonic_ns = monotonic_ns,
		.keeps_times = pipeline->settings.keeps_times,
	};
	int r = make_room(pipeline, &window.room);

	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (has_source(pipeline, i))
			r = begin_part(pipeline, i, window.room, &window.parts[i]);
	/* pipeline_start() adds it to the first window. */
	if (r == 0)
		r = pipeline_window_name_event(pipeline, &window);
	if (r < 0) {
		pipeline_window_done(&window);
		return r;
	}
	/* A delay between the two clock reads makes this late, never early. A window that ended
	 * early by its own times would miss the time up to which a client waits for it. */
	pipeline_window_set_start(&window, clock_realtime_at(monotonic_ns));
	*ret_window = window;
	return 0;
}

void pipeline_window_done(struct pipeline_window *window)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		aggregator_free(window->parts[i].aggregator);
		profile_free(window->parts[i].profile);
	}
	free(window->room);
	*window = (struct pipeline_window){ 0 };
}

void pipeline_window_set_start(struct pipeline_window *window, uint64_t start_ns)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		struct profile *profile = window->parts[i].profile;

		if (!profile)
			continue;
		profile->start_ns = start_ns;
		/* What lives has no time. */
		if (window->keeps_times && !event_sources[i].is_live)
			profile_keep_times(profile, window->monotonic_ns);
	}
}

int pipeline_window_name_event(struct pipeline *pipeline, struct pipeline_window *window)
{
	struct profile *profile = window->parts[PILOTLIGHT_SOURCE_CPU].profile;

	return profile_add_string(profile, capture_event_name(pipeline->capture), &profile->event);
}

/* The length follows CLOCK_MONOTONIC, so a change of the wall clock does not affect it. */
void pipeline_window_end(
	struct pipeline *pipeline, struct pipeline_window *window, uint64_t end_monotonic_ns)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		struct profile *profile = window->parts[i].profile;

		if (!profile)
			continue;
		profile->end_ns = profile->start_ns + (end_monotonic_ns - window->monotonic_ns);
		profile->cpu_count = capture_cpu_count(pipeline->capture);
	}
}

void pipeline_window_account(struct pipeline *pipeline, struct pipeline_window *window)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		struct pipeline_part *part = &window->parts[i];

		for (int path = 0; path < PILOTLIGHT_PATH_COUNT; path++) {
			uint64_t count = part->late_refused[path];

			accounts_move(&part->accounts, path, PILOTLIGHT_DROP_PROFILE_FULL, count);
			accounts_move(&pipeline->report.accounts.of[i], path,
				PILOTLIGHT_DROP_PROFILE_FULL, count);
			part->late_refused[path] = 0;
		}
	}
}

/* What lives has the accounts of its samples: not all that was lost lived to the window's end. */
static struct accounts live_accounts(const struct profile *profile)
{
	struct accounts accounts = { 0 };

	for (size_t i = 0; i < profile->samples.count; i++)
		accounts.fired += profile->samples.items[i].count;
	accounts.stored[PILOTLIGHT_PATH_RING] = accounts.fired;
	return accounts;
}

void pipeline_window_set_accounts(struct pipeline_window *window)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		struct profile *profile = window->parts[i].profile;

		if (!profile)
			continue;
		profile->accounts = event_sources[i].is_live ? live_accounts(profile)
							     : window->parts[i].accounts;
	}
}

int pipeline_count(struct pipeline *pipeline, const struct source_accounts *accounts)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (!accounts_close(&accounts->of[i]) ||
			(!pipeline->open.parts[i].profile && accounts->of[i].fired > 0))
			return -EPROTO;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		accounts_add(&pipeline->open.parts[i].accounts, &accounts->of[i]);
	source_accounts_add(&pipeline->report.accounts, accounts);
	return 0;
}

bool pipeline_has_window(const struct pipeline *pipeline)
{
	return pipeline->ended.is_there;
}

/* Removes binaries that neither the taken window nor the open one uses. */
static void collect_binaries(struct pipeline *pipeline, uint32_t taken)
{
	if (!binary_table_begin_collection(pipeline->binaries, taken))
		return;
	if (pipeline->unwinding)
		unwinding_spare_binaries(pipeline->unwinding);
	if (pipeline->live)
		live_table_spare(pipeline->live, pipeline->binaries);
	binary_table_end_collection(pipeline->binaries);
}

int pipeline_take_window(struct pipeline *pipeline, bool is_hurried,
	struct profile_set *ret_profiles, uint64_t *ret_monotonic_ns, struct fault *fault)
{
	struct pipeline_window *window = &pipeline->ended;
	int r;

	if (!window->is_there)
		return -EAGAIN;
	if (window->waiting > 0 && is_hurried) {
		r = late_samples_finish(pipeline->late);
		if (r < 0)
			return fault_set(fault, r, "cannot name JIT code: %s", strerror(-r));
	}
	if (window->waiting > 0)
		return -EAGAIN;
	/* Late samples may have added binaries. */
	pipeline_request_symbols(pipeline, window);
	pipeline_window_account(pipeline, window);
	pipeline_window_set_accounts(window);
	*ret_monotonic_ns = window->monotonic_ns;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		ret_profiles->of[i] = TAKE_PTR(window->parts[i].profile);
		/* The pool goes with the window. Nothing is added to the profile any more. */
		if (ret_profiles->of[i])
			ret_profiles->of[i]->pool = NULL;
	}
	collect_binaries(pipeline, window->number);
	pipeline_window_done(window);
	return 0;
}

void pipeline_left_behind(const struct pipeline *pipeline, struct source_accounts *ret_accounts)
{
	const struct pilotlight_counters *counters = capture_left_behind(pipeline->capture);
	struct source_accounts accounts = { 0 };

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		accounts_add_counters(&accounts.of[i], &counters[i]);
	/* The earlier engine could write to the counters, so check them. */
	if (!source_accounts_close(&accounts)) {
		log_warning("the accounts of what an engine has left do not close, continuing "
			    "without them");
		accounts = (struct source_accounts){ 0 };
	}
	*ret_accounts = accounts;
}

static bool has_any(const struct source_accounts *accounts)
{
	bool has = false;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		has |= accounts->of[i].fired > 0;
	return has;
}

uint64_t pipeline_add_lost(
	struct pipeline *pipeline, const struct source_accounts *lost, uint64_t since_ns)
{
	struct pipeline_window *open = &pipeline->open;
	const uint64_t start_ns = open->parts[PILOTLIGHT_SOURCE_CPU].profile->start_ns;
	/* Without a takeover or losses, nothing was sampled since then. */
	bool has_earlier = capture_is_taken_over(pipeline->capture) || has_any(lost);
	uint64_t earlier_ns = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (open->parts[i].profile)
			accounts_add(&open->parts[i].accounts, &lost->of[i]);
	source_accounts_add(&pipeline->report.accounts, lost);
	if (has_earlier && since_ns > 0 && since_ns < open->monotonic_ns)
		earlier_ns = open->monotonic_ns - since_ns;
	/* A wall clock near the epoch leaves no room for an earlier start. */
	if (earlier_ns < start_ns) {
		open->monotonic_ns -= earlier_ns;
		pipeline_window_set_start(open, start_ns - earlier_ns);
	}
	return open->monotonic_ns;
}

int pipeline_set_rate(struct pipeline *pipeline, uint32_t rate_hz, struct fault *fault)
{
	int r = capture_set_rate(pipeline->capture, rate_hz);

	if (r < 0)
		return fault_set(fault, r, "cannot sample at %u Hz: %s", rate_hz, strerror(-r));
	pipeline->settings.capture.rate_hz = rate_hz;
	return 0;
}

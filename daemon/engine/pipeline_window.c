/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "engine/pipeline_state.h"

#include <errno.h>
#include <string.h>

int pipeline_window_begin(struct pipeline *pipeline, uint32_t number, uint64_t monotonic_ns,
	struct pipeline_window *ret_window)
{
	struct pipeline_window window = { .number = number, .monotonic_ns = monotonic_ns };
	uint64_t since_ns = clock_monotonic_ns() - monotonic_ns;
	int r;

	r = profile_new(pipeline->settings.profile_budget_bytes, &window.profile);
	if (r == 0)
		r = aggregator_new(window.profile, pipeline->binaries, &pipeline->report.excess,
			&window.aggregator);
	/* Now, while there is room for sure. pipeline_start() adds it to the first window. */
	if (r == 0)
		r = pipeline_window_name_event(pipeline, &window);
	if (r < 0) {
		pipeline_window_done(&window);
		return r;
	}
	/* A delay between the two clock reads makes this late, never early. A window that ended
	 * early by its own times would miss the time up to which a client waits for it. */
	window.profile->start_ns = clock_realtime_ns() - since_ns;
	window.profile->period_ns = NSEC_PER_SEC / pipeline->settings.capture.rate_hz;
	*ret_window = window;
	return 0;
}

void pipeline_window_done(struct pipeline_window *window)
{
	aggregator_free(window->aggregator);
	profile_free(window->profile);
	*window = (struct pipeline_window){ 0 };
}

int pipeline_window_name_event(struct pipeline *pipeline, struct pipeline_window *window)
{
	return profile_add_string(
		window->profile, capture_event_name(pipeline->capture), &window->profile->event);
}

/* The length follows CLOCK_MONOTONIC, so a change of the wall clock does not affect it. */
void pipeline_window_end(
	struct pipeline *pipeline, struct pipeline_window *window, uint64_t end_monotonic_ns)
{
	struct profile *profile = window->profile;

	profile->end_ns = profile->start_ns + (end_monotonic_ns - window->monotonic_ns);
	profile->cpu_count = capture_cpu_count(pipeline->capture);
}

void pipeline_window_account(struct pipeline *pipeline, struct pipeline_window *window)
{
	for (int path = 0; path < PILOTLIGHT_PATH_COUNT; path++) {
		uint64_t count = window->late_refused[path];

		accounts_move(&window->accounts, path, PILOTLIGHT_DROP_PROFILE_FULL, count);
		accounts_move(
			&pipeline->report.accounts, path, PILOTLIGHT_DROP_PROFILE_FULL, count);
		window->late_refused[path] = 0;
	}
}

bool pipeline_has_window(const struct pipeline *pipeline)
{
	return pipeline->ended.profile;
}

/* Removes binaries that neither the taken window nor the open one uses. */
static void collect_binaries(struct pipeline *pipeline, uint32_t taken)
{
	if (!binary_table_begin_collection(pipeline->binaries, taken))
		return;
	if (pipeline->unwinding)
		unwinding_spare_binaries(pipeline->unwinding);
	binary_table_end_collection(pipeline->binaries);
}

int pipeline_take_window(struct pipeline *pipeline, bool is_hurried, struct profile **ret_profile,
	uint64_t *ret_monotonic_ns, struct fault *fault)
{
	struct pipeline_window *window = &pipeline->ended;
	int r;

	if (!window->profile)
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
	window->profile->accounts = window->accounts;
	*ret_monotonic_ns = window->monotonic_ns;
	*ret_profile = TAKE_PTR(window->profile);
	collect_binaries(pipeline, window->number);
	pipeline_window_done(window);
	return 0;
}

void pipeline_left_behind(const struct pipeline *pipeline, struct accounts *ret_accounts)
{
	struct accounts accounts = { 0 };

	accounts_add_counters(
		&accounts, &capture_left_behind(pipeline->capture)[PILOTLIGHT_SOURCE_CPU]);
	/* The earlier engine could write to the counters, so check them. */
	if (!accounts_close(&accounts)) {
		log_warning("the accounts of what an engine has left do not close, continuing "
			    "without them");
		accounts = (struct accounts){ 0 };
	}
	*ret_accounts = accounts;
}

uint64_t pipeline_add_lost(
	struct pipeline *pipeline, const struct accounts *lost, uint64_t since_ns)
{
	struct pipeline_window *open = &pipeline->open;
	/* Without a takeover or losses, nothing was sampled since then. */
	bool has_earlier = capture_is_taken_over(pipeline->capture) || lost->fired > 0;
	uint64_t earlier_ns = 0;

	accounts_add(&open->accounts, lost);
	accounts_add(&pipeline->report.accounts, lost);
	if (has_earlier && since_ns > 0 && since_ns < open->monotonic_ns)
		earlier_ns = open->monotonic_ns - since_ns;
	/* A wall clock near the epoch leaves no room for an earlier start. */
	if (earlier_ns < open->profile->start_ns) {
		open->profile->start_ns -= earlier_ns;
		open->monotonic_ns -= earlier_ns;
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

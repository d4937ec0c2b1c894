/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_watch.h"

#include "base/clock.h"

static const uint64_t pause_min_ns = NSEC_PER_SEC / 10;
static const uint64_t pause_after_progress_max_ns = NSEC_PER_SEC;
static const uint64_t pause_max_ns = 5ULL * NSEC_PER_SEC;
/* An engine that ran this long was healthy: its end resets the backoff. */
static const uint64_t healthy_ns = 60ULL * NSEC_PER_SEC;
/* A renewal sooner than this would repeat for ever, so it gets a backoff. */
static const uint64_t renewal_min_ns = NSEC_PER_SEC;
/* The time to log a last message after SIGABRT, and to seal the window after SIGTERM. */
static const uint64_t abort_timeout_ns = NSEC_PER_SEC;
static const uint64_t stop_timeout_ns = 20ULL * NSEC_PER_SEC;
static const uint64_t default_progress_timeout_ns = 60ULL * NSEC_PER_SEC;

void engine_watch_init(struct engine_watch *watch, uint64_t watchdog_ns)
{
	*watch = (struct engine_watch){
		.progress_timeout_ns =
			watchdog_ns > 0 ? watchdog_ns / 2 : default_progress_timeout_ns,
		.pause_ns = pause_min_ns,
	};
}

void engine_watch_started(struct engine_watch *watch, uint64_t now_ns)
{
	watch->progress_ns = now_ns;
	watch->has_progressed = false;
	watch->kill_ns = 0;
	watch->start_ns = 0;
}

void engine_watch_progressed(struct engine_watch *watch, uint64_t now_ns)
{
	watch->progress_ns = now_ns;
	watch->has_progressed = true;
}

void engine_watch_extend(struct engine_watch *watch, uint64_t duration_ns)
{
	if (watch->progress_ns)
		watch->progress_ns += duration_ns;
}

void engine_watch_stopping(struct engine_watch *watch, uint64_t now_ns)
{
	watch->kill_ns = now_ns + stop_timeout_ns;
	watch->start_ns = 0;
}

uint64_t engine_watch_ended(
	struct engine_watch *watch, bool is_renewed, uint64_t lived_ns, uint64_t now_ns)
{
	uint64_t pause = 0;

	if (lived_ns >= healthy_ns)
		watch->pause_ns = pause_min_ns;
	if (!is_renewed || lived_ns < renewal_min_ns) {
		pause = watch->pause_ns;
		if (watch->has_progressed && pause > pause_after_progress_max_ns)
			pause = pause_after_progress_max_ns;
		watch->pause_ns = pause < pause_max_ns / 2 ? 2 * pause : pause_max_ns;
	}
	watch->progress_ns = 0;
	watch->kill_ns = 0;
	watch->start_ns = now_ns + pause;
	return pause;
}

/* The deadline for progress; UINT64_MAX: none. An engine that is ending has kill_ns instead. */
static uint64_t progress_deadline_ns(const struct engine_watch *watch)
{
	if (!watch->progress_ns || watch->kill_ns)
		return UINT64_MAX;
	return watch->progress_ns + watch->progress_timeout_ns;
}

enum engine_watch_action engine_watch_next_action(struct engine_watch *watch, uint64_t now_ns)
{
	if (watch->start_ns && watch->start_ns <= now_ns) {
		watch->start_ns = 0;
		return ENGINE_WATCH_START;
	}
	if (watch->kill_ns && watch->kill_ns <= now_ns) {
		/* Repeats the kill if the kernel takes long to end it. */
		watch->kill_ns = now_ns + abort_timeout_ns;
		return ENGINE_WATCH_KILL;
	}
	if (progress_deadline_ns(watch) > now_ns)
		return ENGINE_WATCH_NOTHING;
	watch->kill_ns =
		now_ns + (watch->progress_timeout_ns < abort_timeout_ns ? watch->progress_timeout_ns
									: abort_timeout_ns);
	return ENGINE_WATCH_ABORT;
}

uint64_t engine_watch_next_ns(const struct engine_watch *watch)
{
	uint64_t next = progress_deadline_ns(watch);

	if (watch->start_ns && watch->start_ns < next)
		next = watch->start_ns;
	if (watch->kill_ns && watch->kill_ns < next)
		next = watch->kill_ns;
	return next;
}

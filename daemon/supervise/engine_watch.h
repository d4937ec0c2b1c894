/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timers of an engine: its progress timeout, its stop timeout, and the backoff before the next
 * start. The watch only computes times; the supervisor kills and starts. All times are
 * CLOCK_MONOTONIC in ns; 0 means never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine_watch {
	uint64_t progress_timeout_ns;
	uint64_t progress_ns; /* time of the last progress, or of the start; 0: not running */
	uint64_t kill_ns;     /* deadline for the engine to end after SIGTERM or SIGABRT */
	uint64_t start_ns;    /* when the next engine starts */
	uint64_t pause_ns;    /* backoff after the next crash */
	bool has_progressed;  /* the current engine */
};

enum engine_watch_action {
	ENGINE_WATCH_NOTHING,
	ENGINE_WATCH_ABORT, /* progress timed out; comes once, then KILL */
	ENGINE_WATCH_KILL,  /* the engine missed its deadline to end */
	ENGINE_WATCH_START,
};

/*
 * `watchdog_ns` is the timeout of the service manager's watchdog; 0: none. The engine gets half of
 * it, which leaves the other half for the next engine to start; one minute without a watchdog.
 */
void engine_watch_init(struct engine_watch *watch, uint64_t watchdog_ns);
void engine_watch_started(struct engine_watch *watch, uint64_t now_ns);
void engine_watch_progressed(struct engine_watch *watch, uint64_t now_ns);

/* Extends the progress deadline by time that the engine spent waiting for this process. */
void engine_watch_extend(struct engine_watch *watch, uint64_t duration_ns);

/* The engine got SIGTERM: starts its stop timeout. */
void engine_watch_stopping(struct engine_watch *watch, uint64_t now_ns);

/*
 * The engine ended after `lived_ns`: schedules the next start, and returns the pause before it. An
 * engine that `is_renewed` restarts at once if it ran for 1 s. After a crash the pause doubles from
 * 100 ms. It stays at most 1 s if the engine made progress, which bounds the gap in the history,
 * and at most 5 s otherwise. It resets after an engine that ran for a minute.
 */
uint64_t engine_watch_ended(
	struct engine_watch *watch, bool is_renewed, uint64_t lived_ns, uint64_t now_ns);

/* Returns the action that is due. The caller must do it: the next call returns another. */
enum engine_watch_action engine_watch_next_action(struct engine_watch *watch, uint64_t now_ns);

/* When the next action is due; UINT64_MAX: never. */
uint64_t engine_watch_next_ns(const struct engine_watch *watch);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When an engine is to be killed, and when the next one is to be started: the times alone. All are
 * CLOCK_MONOTONIC in ns, with 0 for never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine_watch {
	uint64_t patience_ns; /* that it may go without progress; 0: for ever */
	uint64_t progress_ns; /* the last one, or its start; 0: it does not run */
	uint64_t kill_ns;     /* it was told to end, and has until then */
	uint64_t start_ns;    /* of the next one */
	uint64_t pause_ns;    /* before the next one after that, if it crashes too */
	uint64_t stop_patience_ns;
	bool has_progressed; /* the one that runs */
};

enum engine_watch_action {
	ENGINE_WATCH_NOTHING,
	ENGINE_WATCH_ABORT, /* it makes no progress: once, and then KILL */
	ENGINE_WATCH_KILL,  /* it was told to end, and has not */
	ENGINE_WATCH_START,
};

/*
 * How long an engine may go without progress where the service's manager waits so long for the
 * service's: half of that, the other half is for the next one to begin. 0, as there is no such
 * manager: a minute.
 */
uint64_t engine_watch_patience_ns(uint64_t watchdog_ns);

void engine_watch_init(struct engine_watch *watch, uint64_t patience_ns);
void engine_watch_started(struct engine_watch *watch, uint64_t now_ns);
void engine_watch_progressed(struct engine_watch *watch, uint64_t now_ns);

/* It could not make any for so long, as it was waiting for us. */
void engine_watch_held_up(struct engine_watch *watch, uint64_t duration_ns);

/* It was told to end. */
void engine_watch_stopping(struct engine_watch *watch, uint64_t now_ns);

/*
 * It has ended, after so long, of which nobody has to be told again. One that `is_renewed` is
 * followed at once, unless it did not last; a crash by a pause that grows until one of them lasts,
 * to a second after one that made progress, so that its history has no greater gap, and to five
 * after one that did not get so far. Returns the pause.
 */
uint64_t engine_watch_ended(
	struct engine_watch *watch, bool is_renewed, uint64_t lived_ns, uint64_t now_ns);

/* What is due, of which the watch knows from then on that it was done. */
enum engine_watch_action engine_watch_take(struct engine_watch *watch, uint64_t now_ns);

/* When something will be; UINT64_MAX: never. */
uint64_t engine_watch_next_ns(const struct engine_watch *watch);

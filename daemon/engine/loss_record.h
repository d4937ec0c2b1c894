/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a killed engine took with it (I1, I7). An engine holds drained samples in memory until their
 * window is sealed. The loss record is a file of a few KiB in the runtime folder, mapped by the
 * engine, that survives it. It keeps two running totals: what the engine has drained, and what of
 * that is closed, that is, in a window that was sealed or dropped. The next engine subtracts:
 *
 *	lost = drained - closed - windows that the history holds since then
 *
 * The last term covers the moment between SQLite's commit and the engine's note of it: the history
 * itself answers what it holds. The result is reported as PILOTLIGHT_DROP_ENGINE in the next
 * engine's first window, and counts as drained by that engine, so a second kill loses nothing.
 *
 * The cases:
 *  - killed before a drain: the samples are still in the BPF maps. Nothing is lost, unless the maps
 *    go too (`left_behind`).
 *  - killed after a drain and before the commit: lost, as drained - closed says.
 *  - killed after the commit: the history has the window, noted or not. It is not lost.
 *  - the whole service was killed: the same, but the next engine's first window does not begin
 *    where the last one ended, because nothing was sampled in between.
 *  - reboot: another boot_id. The totals begin at zero; CLOCK_MONOTONIC did too.
 *  - midnight, or a clock set back: windows are compared by boot_id and CLOCK_MONOTONIC. A suspend
 *    or a clock set ahead by more than two days between a commit and the restart can hide that
 *    window; it is then reported as lost, too.
 *  - a window that was dropped (full disk): closed. The status counts it; it is no loss by a kill.
 *  - no history: a window is closed when it ends.
 *  - a history that cannot be read, or not in time: the record alone counts.
 */
#pragma once

#include "base/fault.h"
#include "drain/accounts.h"
#include "pilotlight/counted_event.h"

#include <stdbool.h>
#include <stdint.h>

struct loss_record;

/*
 * Opens or creates the file. A record of another boot, or of another layout, is cleared. `service`,
 * any number but 0, identifies the service that starts the engines: those of an earlier service are
 * not counted, but their losses are reported. Returns 0 or -errno with `fault`.
 */
int loss_record_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct loss_record **ret_record, struct fault *fault);
void loss_record_close(struct loss_record *record);

struct loss_record_beginning {
	uint64_t engines;	     /* started by this service, with this one */
	struct source_accounts lost; /* by the last engine, all of it dropped */
	uint64_t lost_samples; /* of CPU time, and of events that are on no more, by all engines of
				* this service */
	/* When the last closed window ended, CLOCK_MONOTONIC. 0: unknown, or an earlier service's.
	 */
	uint64_t closed_until_ns;
};

/* The last engine's windows that the history holds and the record does not list as closed. */
struct loss_record_sealed {
	uint8_t boot_id[16];
	char events[PILOTLIGHT_COUNTED_EVENTS][PILOTLIGHT_EVENT_NAME_BYTES];
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	int error;	   /* -errno of reading; `accounts` and `until_ns` are not valid then */
	struct source_accounts accounts;
	uint64_t until_ns; /* the end of the last one, CLOCK_MONOTONIC */
};

/*
 * Returns whether the history must be read before loss_record_begin(), that is, whether the record
 * alone says that something is lost. Fills in what loss_record_read_sealed() needs.
 */
bool loss_record_needs_history(
	const struct loss_record *record, struct loss_record_sealed *ret_sealed);

/* Reads the history in the folder `history`. The disk may hang: call it in a thread of its own. */
void loss_record_read_sealed(const char *history, struct loss_record_sealed *sealed);

/*
 * Begins an engine: subtracts, and records the result as drained by this engine. `sealed` is NULL
 * if no history is kept or none is needed. `left_behind` was in BPF maps that are gone.
 */
void loss_record_begin(struct loss_record *record, const struct loss_record_sealed *sealed,
	const struct source_accounts *left_behind, struct loss_record_beginning *ret_beginning);

/*
 * Says which events the sources from PILOTLIGHT_SOURCE_COUNTED on are of, from this engine on. Call
 * it after loss_record_begin(), which subtracts windows of the events that they had before. What
 * was lost of an event whose place another one takes moves from `lost` to `lost_samples`.
 */
void loss_record_name_events(struct loss_record *record,
	const struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS],
	struct loss_record_beginning *beginning);

/*
 * Records the engine's totals. Required after each drain, before a window is handed to the history,
 * and when its fate is known. Windows since `closed_until_ns` (CLOCK_MONOTONIC) may be in the
 * history without being in `closed`. If the engine is killed meanwhile, the previous totals hold.
 */
void loss_record_update(struct loss_record *record, const struct source_accounts *drained,
	const struct source_accounts *closed, uint64_t closed_until_ns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last measurements that thresholds were compared with (service_incidents.h), in a file of the
 * runtime folder that the engine maps. The next engine compares its first window with them: a
 * measurement that was low and is high has risen; one that was high has not. The file describes the
 * last window whose incident is in the history: if a kill takes an incident along, the next engine
 * notes it. One owner, one thread.
 */
#pragma once

#include "base/fault.h"

#include <stdint.h>

struct incident_state;
struct service_incidents;

/* Opens or creates the file. A state of another boot, or of another layout, is cleared. Returns 0
 * or -errno with `fault`. */
int incident_state_open(const char *path, const uint8_t boot_id[16],
	struct incident_state **ret_state, struct fault *fault);
void incident_state_close(struct incident_state *state);

/* `now_ns` of CLOCK_MONOTONIC. Without a state (NULL) these do nothing. */
void incident_state_save(
	struct incident_state *state, const struct service_incidents *incidents, uint64_t now_ns);
/* Goes on with a state of the same thresholds that is no older than five minutes. Call it after
 * service_incidents_configure(). */
void incident_state_restore(
	const struct incident_state *state, struct service_incidents *incidents, uint64_t now_ns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What thresholds were measured at (service_incidents.h), in a file of the runtime folder that the
 * engine maps. The next engine goes on with it: what was low before it started has risen if its
 * first window finds it high, and what was high has not. It is as of the last window that is in the
 * history, and not of one whose incident is not there yet, so that an incident that a kill takes
 * along rises again. One owner, one thread.
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

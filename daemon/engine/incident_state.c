/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/incident_state.h"

#include "base/clock.h"
#include "base/state_file.h"
#include "engine/service_incidents.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* "PLINCID", and the version of the layout. */
#define MAGIC 0x0144494349434c50ULL

/* What was low longer ago may have risen at any time since. */
#define AGE_MAX_NS (300ULL * NSEC_PER_SEC)

struct incident_state {
	uint64_t magic;
	uint64_t bytes; /* of this struct: there may be more causes than before */
	uint8_t boot_id[16];
	uint64_t saved_ns; /* CLOCK_MONOTONIC; 0: never, or not completely */
	double kills;
	struct incident_trigger trigger;
	struct unit_usage units;
	struct throttling throttling;
};

int incident_state_open(const char *path, const uint8_t boot_id[16],
	struct incident_state **ret_state, struct fault *fault)
{
	struct incident_state *state;
	void *memory;
	int r = state_file_map(path, sizeof(*state), &memory);

	if (r < 0)
		return fault_set(fault, r, "cannot use the file %s: %s", path, strerror(-r));
	state = memory;
	if (state->magic != MAGIC || state->bytes != sizeof(*state) ||
		memcmp(state->boot_id, boot_id, sizeof(state->boot_id)) != 0) {
		memset(state, 0, sizeof(*state));
		memcpy(state->boot_id, boot_id, sizeof(state->boot_id));
		state->bytes = sizeof(*state);
		state->magic = MAGIC;
	}
	*ret_state = state;
	return 0;
}

void incident_state_close(struct incident_state *state)
{
	if (state)
		(void)munmap(state, sizeof(*state));
}

void incident_state_save(
	struct incident_state *state, const struct service_incidents *incidents, uint64_t now_ns)
{
	if (!state || incidents->unwritten > 0)
		return;
	/* The engine may be killed meanwhile. */
	state->saved_ns = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	state->kills = incidents->kills;
	state->trigger = incidents->trigger;
	state->units = incidents->units;
	state->throttling = incidents->throttling;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	state->saved_ns = now_ns;
}

/* Of other thresholds nothing is known. */
static bool has_same_thresholds(
	const struct incident_state *state, const struct service_incidents *incidents)
{
	return memcmp(state->trigger.settings.thresholds, incidents->trigger.settings.thresholds,
		       sizeof(state->trigger.settings.thresholds)) == 0 &&
	       state->units.settings.percent == incidents->units.settings.percent &&
	       state->units.settings.times == incidents->units.settings.times;
}

void incident_state_restore(
	const struct incident_state *state, struct service_incidents *incidents, uint64_t now_ns)
{
	const int folder_fd = incidents->throttling.folder_fd;

	if (!state || state->saved_ns == 0 || now_ns < state->saved_ns ||
		now_ns - state->saved_ns > AGE_MAX_NS || !has_same_thresholds(state, incidents))
		return;
	incidents->kills = state->kills;
	incidents->trigger.has_measured = state->trigger.has_measured;
	memcpy(incidents->trigger.is_high, state->trigger.is_high,
		sizeof(incidents->trigger.is_high));
	memcpy(incidents->trigger.risen_ns, state->trigger.risen_ns,
		sizeof(incidents->trigger.risen_ns));
	incidents->units = state->units;
	incidents->throttling = state->throttling;
	incidents->throttling.folder_fd = folder_fd;
}

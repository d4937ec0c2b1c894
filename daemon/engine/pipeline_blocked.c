/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that are still blocked when a window or a recording ends. */
#include "engine/pipeline_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* How long blocked threads' time may be taken at the end of a window. The rest of them keep theirs
 * for the next window. */
#define TAKE_NS_AT_CUT (1ULL * NSEC_PER_SEC)
/* ... at the end of sampling: the rest is lost. A million threads take some seconds. */
#define TAKE_NS_AT_END (20ULL * NSEC_PER_SEC)

/* Each drain empties the ring for more threads. */
static int take(struct pipeline *pipeline, uint64_t before_ns, uint64_t limit_ns,
	struct fault *fault, int *ret_error)
{
	uint64_t end_ns = clock_monotonic_ns() + limit_ns;
	int error, r;

	while ((error = capture_take_blocked(pipeline->capture, before_ns)) == -EAGAIN) {
		if (clock_monotonic_ns() >= end_ns) {
			error = -ETIMEDOUT;
			break;
		}
		r = pipeline_drain(pipeline, fault);
		if (r < 0)
			return r;
	}
	*ret_error = error;
	return 0;
}

int pipeline_take_blocked(
	struct pipeline *pipeline, uint64_t before_ns, bool is_last, struct fault *fault)
{
	uint64_t limit_ns = is_last ? TAKE_NS_AT_END : TAKE_NS_AT_CUT;
	int error = 0, r = 0;

	if (pipeline->settings.capture.sources & ~pipeline->settings.capture.surveyed &
		1U << PILOTLIGHT_SOURCE_OFFCPU)
		r = take(pipeline, before_ns, limit_ns, fault, &error);
	if (r < 0)
		return r;
	if (error < 0 && !pipeline->misses_blocked)
		log_warning("cannot take the time of all threads that are still blocked: %s, "
			    "continuing with those that wake",
			strerror(-error));
	pipeline->misses_blocked = error < 0;
	pipeline->open.asked_blocked_ns = clock_monotonic_ns();
	return 0;
}

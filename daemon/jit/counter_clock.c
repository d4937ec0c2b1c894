/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/counter_clock.h"

#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>

enum {
	READINGS = 8,
	FIRST_SPAN_NS = 5000000,
	RATE_BITS = 32,
	/* Bounds the measurement if the counter stands still. */
	FIRST_SPAN_READINGS_MAX = 1000000,
	/* How far a reading may be from the line: NTP slews clocks by up to 500 ppm. */
	STRAY_NS = 1000000,
	STRAY_PARTS = 1000,
};
#define RATE_MIN ((1ULL << RATE_BITS) / 100) /* 100 GHz */
#define RATE_MAX (1000ULL << RATE_BITS)	     /* 1 MHz */

#if defined(__x86_64__)
#include <x86intrin.h>

static bool read_counter(uint64_t *ret_counter)
{
	*ret_counter = __rdtsc();
	return true;
}
#elif defined(__aarch64__)
static bool read_counter(uint64_t *ret_counter)
{
	uint64_t counter;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(counter)::"memory");
	*ret_counter = counter;
	return true;
}
#else
static bool read_counter(uint64_t *ret_counter)
{
	(void)ret_counter;
	return false;
}
#endif

int counter_reading_take(struct counter_reading *ret_reading)
{
	uint64_t closest = UINT64_MAX;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t before, after, now_ns;

		if (!read_counter(&before))
			return -EOPNOTSUPP;
		now_ns = clock_monotonic_ns();
		(void)read_counter(&after);
		if (after - before >= closest)
			continue;
		closest = after - before;
		ret_reading->counter = before + closest / 2;
		ret_reading->time_ns = now_ns;
	}
	return closest == UINT64_MAX ? -EOPNOTSUPP : 0;
}

int counter_clock_from(const struct counter_reading *first, const struct counter_reading *last,
	struct counter_clock *ret_clock)
{
	unsigned __int128 rate;

	if (last->counter <= first->counter || last->time_ns <= first->time_ns)
		return -EINVAL;
	rate = ((unsigned __int128)(last->time_ns - first->time_ns) << RATE_BITS) /
	       (last->counter - first->counter);
	if (rate < RATE_MIN || rate > RATE_MAX)
		return -EINVAL;
	*ret_clock = (struct counter_clock){
		.first = *first,
		.last = *last,
		.ns_per_tick = (uint64_t)rate,
	};
	return 0;
}

uint64_t counter_clock_to_ns(const struct counter_clock *clock, uint64_t counter)
{
	const bool is_before = counter < clock->last.counter;
	const uint64_t ticks =
		is_before ? clock->last.counter - counter : counter - clock->last.counter;
	const unsigned __int128 distance_ns =
		((unsigned __int128)ticks * clock->ns_per_tick) >> RATE_BITS;

	if (is_before)
		return distance_ns > clock->last.time_ns
			       ? 0
			       : clock->last.time_ns - (uint64_t)distance_ns;
	return distance_ns > UINT64_MAX - clock->last.time_ns
		       ? UINT64_MAX
		       : clock->last.time_ns + (uint64_t)distance_ns;
}

void counter_clock_add(struct counter_clock *clock, const struct counter_reading *reading)
{
	const uint64_t expected_ns = counter_clock_to_ns(clock, reading->counter);
	const uint64_t stray_ns = expected_ns > reading->time_ns ? expected_ns - reading->time_ns
								 : reading->time_ns - expected_ns;
	const uint64_t span_ns =
		reading->time_ns > clock->last.time_ns ? reading->time_ns - clock->last.time_ns : 0;
	struct counter_clock longer;

	if (stray_ns > STRAY_NS + span_ns / STRAY_PARTS) {
		clock->first = clock->last = *reading;
		return;
	}
	/* A shorter span than the first would make the rate worse. */
	if (reading->time_ns < clock->first.time_ns + FIRST_SPAN_NS ||
		counter_clock_from(&clock->first, reading, &longer) < 0) {
		clock->last = *reading;
		return;
	}
	*clock = longer;
}

static int measure(struct counter_clock *ret_clock)
{
	struct counter_reading first, last;
	int r;

	r = counter_reading_take(&first);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < FIRST_SPAN_READINGS_MAX; i++) {
		r = counter_reading_take(&last);
		if (r < 0)
			return r;
		if (last.time_ns - first.time_ns >= FIRST_SPAN_NS)
			return counter_clock_from(&first, &last, ret_clock) < 0 ? -EOPNOTSUPP : 0;
	}
	return -EOPNOTSUPP;
}

const struct counter_clock *shared_counter_clock_get(struct shared_counter_clock *shared)
{
	struct counter_reading reading;

	if (!shared->is_measured)
		shared->error = measure(&shared->clock);
	else if (shared->error == 0 && counter_reading_take(&reading) == 0)
		counter_clock_add(&shared->clock, &reading);
	shared->is_measured = true;
	return shared->error < 0 ? NULL : &shared->clock;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/live_age.h"

#include "base/clock.h"

#include <string.h>

static const struct {
	uint32_t least_s;
	const char *least, *frame;
} ages[LIVE_AGES] = {
	{ 0, "0 s", "[age below 1 s]" },
	{ 1, "1 s", "[age 1 s to 10 s]" },
	{ 10, "10 s", "[age 10 s to 1 min]" },
	{ 60, "1 min", "[age 1 min to 10 min]" },
	{ 600, "10 min", "[age 10 min to 1 h]" },
	{ 3600, "1 h", "[age 1 h or more]" },
};

size_t live_age_of(uint64_t age_ns)
{
	size_t age = LIVE_AGES - 1;

	while (age > 0 && age_ns < (uint64_t)ages[age].least_s * NSEC_PER_SEC)
		age--;
	return age;
}

const char *live_age_frame(size_t age)
{
	return ages[age].frame;
}

size_t live_age_find(const char *frame, size_t size)
{
	size_t age = 0;

	while (age < LIVE_AGES &&
		(strlen(ages[age].frame) != size || memcmp(ages[age].frame, frame, size) != 0))
		age++;
	return age;
}

const char *live_age_least(size_t age)
{
	return ages[age].least;
}

uint32_t live_age_least_s(size_t age)
{
	return ages[age].least_s;
}

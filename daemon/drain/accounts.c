/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/accounts.h"

#include "base/array.h"

#include <assert.h>

enum { COUNTERS = sizeof(struct accounts) / sizeof(uint64_t) };

void accounts_add(struct accounts *sum, const struct accounts *part)
{
	uint64_t *sums = (uint64_t *)sum;
	const uint64_t *parts = (const uint64_t *)part;

	for (size_t i = 0; i < COUNTERS; i++)
		sums[i] += parts[i];
}

static void add_weighted(uint64_t *sums, const uint64_t *parts, size_t count, uint64_t weight)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (__builtin_mul_overflow(parts[i], weight, &value) ||
			__builtin_add_overflow(sums[i], value, &sums[i]))
			sums[i] = UINT64_MAX;
	}
}

void accounts_add_weighted(struct accounts *sum, const struct accounts *part, uint64_t weight)
{
	add_weighted(&sum->fired, &part->fired, 1, weight);
	add_weighted(sum->stored, part->stored, ARRAY_SIZE(sum->stored), weight);
	add_weighted(sum->dropped, part->dropped, ARRAY_SIZE(sum->dropped), weight);
	add_weighted(sum->walked, part->walked, ARRAY_SIZE(sum->walked), weight);
	add_weighted(sum->ends, part->ends, ARRAY_SIZE(sum->ends), weight);
	add_weighted(&sum->run_ns, &part->run_ns, 1, 1);
	add_weighted(&sum->watch_ns, &part->watch_ns, 1, 1);
	add_weighted(sum->events, part->events, ARRAY_SIZE(sum->events), 1);
}

/* Returns the remainder of the last division. */
static uint64_t divide(uint64_t *values, size_t count, uint64_t rest, uint64_t divisor)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t sum;

		if (__builtin_add_overflow(values[i], rest, &sum))
			sum = UINT64_MAX;
		values[i] = sum / divisor;
		rest = sum % divisor;
	}
	return rest;
}

void accounts_divide(struct accounts *accounts, uint64_t divisor)
{
	bool closes = accounts_close(accounts);
	uint64_t rest = divide(accounts->stored, ARRAY_SIZE(accounts->stored), 0, divisor);

	(void)divide(accounts->dropped, ARRAY_SIZE(accounts->dropped), rest, divisor);
	(void)divide(accounts->walked, ARRAY_SIZE(accounts->walked), 0, divisor);
	(void)divide(accounts->ends, ARRAY_SIZE(accounts->ends), 0, divisor);
	(void)divide(&accounts->fired, 1, 0, divisor);
	if (!closes)
		return;
	accounts->fired = accounts_stored(accounts);
	for (size_t i = 0; i < ARRAY_SIZE(accounts->dropped); i++)
		accounts->fired += accounts->dropped[i];
}

void accounts_add_counters(struct accounts *sum, const struct pilotlight_counters *counters)
{
	sum->fired += counters->fired;
	sum->run_ns += counters->run_ns;
	sum->watch_ns += counters->watch_ns;
	for (size_t i = 0; i < ARRAY_SIZE(counters->stored); i++)
		sum->stored[i] += counters->stored[i];
	for (size_t i = 0; i < ARRAY_SIZE(counters->dropped); i++)
		sum->dropped[i] += counters->dropped[i];
	for (size_t i = 0; i < ARRAY_SIZE(counters->events); i++)
		sum->events[i] += counters->events[i];
	for (size_t i = 0; i < ARRAY_SIZE(sum->walked); i++)
		sum->walked[i] += counters->walked[i];
	for (size_t i = 0; i < ARRAY_SIZE(sum->ends); i++)
		sum->ends[i] += counters->ends[i];
}

void accounts_move(struct accounts *accounts, enum pilotlight_path path,
	enum pilotlight_drop reason, uint64_t count)
{
	assert(accounts->stored[path] >= count);
	accounts->stored[path] -= count;
	accounts->dropped[reason] += count;
}

bool accounts_subtract(struct accounts *accounts, const struct accounts *part)
{
	uint64_t *counters = (uint64_t *)accounts;
	const uint64_t *parts = (const uint64_t *)part;

	if (!accounts_close(part))
		return false;
	for (size_t i = 0; i < COUNTERS; i++)
		if (counters[i] < parts[i])
			return false;
	for (size_t i = 0; i < COUNTERS; i++)
		counters[i] -= parts[i];
	return true;
}

/* Scales each value by part / whole, rounded so that the sum is right. */
static void weigh(uint64_t *values, size_t count, uint64_t part, uint64_t whole)
{
	unsigned __int128 sum = 0;
	uint64_t given = 0;

	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		values[i] = (uint64_t)(sum * part / whole) - given;
		given += values[i];
	}
}

void accounts_select(struct accounts *accounts, uint64_t selected)
{
	uint64_t *dropped = accounts->dropped;
	uint64_t stored = accounts_stored(accounts), lost = accounts_lost(accounts);
	uint64_t idle = dropped[PILOTLIGHT_DROP_IDLE], filtered = dropped[PILOTLIGHT_DROP_FILTERED];

	if (selected >= stored)
		return;
	weigh(accounts->stored, ARRAY_SIZE(accounts->stored), selected, stored);
	weigh(accounts->walked, ARRAY_SIZE(accounts->walked), selected, stored);
	weigh(accounts->ends, ARRAY_SIZE(accounts->ends), selected, stored);
	dropped[PILOTLIGHT_DROP_IDLE] = dropped[PILOTLIGHT_DROP_FILTERED] = 0;
	weigh(dropped, ARRAY_SIZE(accounts->dropped), selected, stored);
	dropped[PILOTLIGHT_DROP_IDLE] = idle;
	filtered += stored - selected + lost - accounts_lost(accounts);
	dropped[PILOTLIGHT_DROP_FILTERED] = filtered;
}

uint64_t accounts_stored(const struct accounts *accounts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(accounts->stored); i++)
		sum += accounts->stored[i];
	return sum;
}

uint64_t accounts_lost(const struct accounts *accounts)
{
	uint64_t sum = 0;

	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++)
		if (accounts_drop_is_loss(reason))
			sum += accounts->dropped[reason];
	return sum;
}

bool accounts_close(const struct accounts *accounts)
{
	return accounts->fired == accounts_stored(accounts) + accounts_lost(accounts) +
					  accounts->dropped[PILOTLIGHT_DROP_IDLE] +
					  accounts->dropped[PILOTLIGHT_DROP_FILTERED];
}

const char *accounts_drop_name(enum pilotlight_drop reason)
{
	switch (reason) {
	case PILOTLIGHT_DROP_IDLE:
		return "idle";
	case PILOTLIGHT_DROP_FILTERED:
		return "filtered";
	case PILOTLIGHT_DROP_RING_FULL:
		return "ring full";
	case PILOTLIGHT_DROP_BPF_ERROR:
		return "BPF error";
	case PILOTLIGHT_DROP_BUSY:
		return "sampler busy";
	case PILOTLIGHT_DROP_LIVE_FULL:
		return "too many live";
	case PILOTLIGHT_DROP_UNREAD:
		return "unread";
	case PILOTLIGHT_DROP_MALFORMED:
		return "malformed";
	case PILOTLIGHT_DROP_PROFILE_FULL:
		return "profile full";
	case PILOTLIGHT_DROP_ENGINE:
		return "engine killed";
	case PILOTLIGHT_DROP_COUNT:
		break;
	}
	assert(false);
	return "";
}

bool accounts_drop_is_loss(enum pilotlight_drop reason)
{
	return reason != PILOTLIGHT_DROP_IDLE && reason != PILOTLIGHT_DROP_FILTERED;
}

void source_accounts_add(struct source_accounts *sum, const struct source_accounts *part)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		accounts_add(&sum->of[i], &part->of[i]);
}

bool source_accounts_close(const struct source_accounts *accounts)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (!accounts_close(&accounts->of[i]))
			return false;
	return true;
}

bool source_accounts_subtract(struct source_accounts *accounts, const struct source_accounts *part)
{
	struct source_accounts left = *accounts;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (!accounts_subtract(&left.of[i], &part->of[i]))
			return false;
	*accounts = left;
	return true;
}

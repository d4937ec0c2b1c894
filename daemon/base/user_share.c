/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/user_share.h"

#include "base/hash_index.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

enum { FREE_TIMES = 2 }; /* a user may hold this many times as much as is free */

size_t user_share_counter(uint64_t user)
{
	return hash_pair(user, 0) % USER_SHARE_COUNTERS;
}

bool user_share_has_room(const struct user_share *share, uint64_t user, uint64_t amount)
{
	uint64_t held = share->counters[user_share_counter(user)].held;

	if (share->used >= share->capacity || amount > share->capacity - share->used)
		return false;
	return held + amount <= FREE_TIMES * (share->capacity - share->used - amount);
}

uint64_t user_share_held(const struct user_share *share, uint64_t user)
{
	return share->counters[user_share_counter(user)].held;
}

void user_share_add(struct user_share *share, uint64_t user, uint64_t amount)
{
	struct user_counter *counter = &share->counters[user_share_counter(user)];

	share->used += amount;
	counter->user = user;
	counter->held += amount;
}

void user_share_remove(struct user_share *share, uint64_t user, uint64_t amount)
{
	struct user_counter *counter = &share->counters[user_share_counter(user)];

	assert(counter->held >= amount && share->used >= amount);
	share->used -= amount;
	counter->held -= amount;
}

const struct user_counter *user_share_greatest(const struct user_share *share)
{
	const struct user_counter *greatest = &share->counters[0];

	for (size_t i = 1; i < USER_SHARE_COUNTERS; i++)
		if (share->counters[i].held > greatest->held)
			greatest = &share->counters[i];
	return greatest;
}

bool user_share_is_counter(
	const struct user_share *share, const struct user_counter *counter, uint64_t user)
{
	return counter == &share->counters[user_share_counter(user)];
}

uint64_t user_share_level(const struct user_share *share, uint64_t total)
{
	uint64_t level = 0, next;

	if (share->used <= total)
		return UINT64_MAX;
	/* Raises the level by what users below it have left, until all of them hold more. */
	do {
		uint64_t low = 0, high_count = 0;

		next = level;
		for (size_t i = 0; i < USER_SHARE_COUNTERS; i++) {
			uint64_t held = share->counters[i].held;

			low += held <= level ? held : 0;
			high_count += held > level;
		}
		if (high_count > 0)
			level = (total - low) / high_count;
	} while (level > next);
	return level;
}

static uint64_t sum_of(const struct user_excess_line *line)
{
	uint64_t sum = 0;

	for (int i = 0; i < USER_RESOURCES; i++)
		sum += line->refused[i];
	return sum;
}

bool user_excess_is_used(const struct user_excess_line *line)
{
	return sum_of(line) > 0;
}

const char *user_excess_name(uint64_t user, char name[USER_EXCESS_NAME_BYTES])
{
	if (user == USER_UNKNOWN)
		(void)snprintf(name, USER_EXCESS_NAME_BYTES, "unknown");
	else if (user >> 32)
		(void)snprintf(
			name, USER_EXCESS_NAME_BYTES, "container %08x", (uint32_t)(user >> 32));
	else
		(void)snprintf(name, USER_EXCESS_NAME_BYTES, "user %u", (uint32_t)user);
	return name;
}

static struct user_excess_line *line_of(struct user_excess *excess, uint64_t user)
{
	struct user_excess_line *smallest = &excess->lines[0];

	for (size_t i = 0; i < USER_EXCESS_LINES; i++) {
		struct user_excess_line *line = &excess->lines[i];

		if (line->user == user && sum_of(line) > 0)
			return line;
		if (sum_of(line) < sum_of(smallest))
			smallest = line;
	}
	*smallest = (struct user_excess_line){ .user = user };
	return smallest;
}

void user_excess_add(
	struct user_excess *excess, uint64_t user, enum user_resource resource, uint64_t count)
{
	if (count == 0)
		return;
	excess->total[resource] += count;
	line_of(excess, user)->refused[resource] += count;
}

void user_excess_merge(struct user_excess *into, const struct user_excess *from)
{
	for (int i = 0; i < USER_RESOURCES; i++)
		into->total[i] += from->total[i];
	for (size_t n = 0; n < USER_EXCESS_LINES; n++) {
		const struct user_excess_line *line = &from->lines[n];

		for (int i = 0; i < USER_RESOURCES; i++)
			if (line->refused[i] > 0)
				line_of(into, line->user)->refused[i] += line->refused[i];
	}
}

/* --- what is held --- */

bool user_holding_is_used(const struct user_holding *line)
{
	for (int i = 0; i < USER_RESOURCES; i++)
		if (line->held[i] > 0)
			return true;
	return false;
}

/* The greatest part of any resource that the user holds. */
static double part_of(const struct user_holdings *holdings, const struct user_holding *line)
{
	double most = 0;

	for (int i = 0; i < USER_RESOURCES; i++) {
		double part = holdings->capacity[i] > 0
				      ? (double)line->held[i] / (double)holdings->capacity[i]
				      : 0;

		if (part > most)
			most = part;
	}
	return most;
}

static void hold(
	struct user_holdings *holdings, uint64_t user, enum user_resource resource, uint64_t amount)
{
	struct user_holding added = { .user = user }, *smallest = &holdings->lines[0];

	for (size_t i = 0; i < USER_EXCESS_LINES; i++) {
		struct user_holding *line = &holdings->lines[i];

		if (line->user == user && user_holding_is_used(line)) {
			line->held[resource] += amount;
			return;
		}
		if (part_of(holdings, line) < part_of(holdings, smallest))
			smallest = line;
	}
	added.held[resource] = amount;
	if (!user_holding_is_used(smallest) ||
		part_of(holdings, smallest) < part_of(holdings, &added))
		*smallest = added;
}

void user_holdings_add(
	struct user_holdings *holdings, enum user_resource resource, const struct user_share *share)
{
	holdings->capacity[resource] += share->capacity;
	for (size_t i = 0; i < USER_SHARE_COUNTERS; i++)
		if (share->counters[i].held > 0)
			hold(holdings, share->counters[i].user, resource, share->counters[i].held);
}

void user_holdings_merge(struct user_holdings *into, const struct user_holdings *from)
{
	for (int i = 0; i < USER_RESOURCES; i++)
		into->capacity[i] += from->capacity[i];
	for (size_t n = 0; n < USER_EXCESS_LINES; n++)
		for (int i = 0; i < USER_RESOURCES; i++)
			if (from->lines[n].held[i] > 0)
				hold(into, from->lines[n].user, i, from->lines[n].held[i]);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/unit_usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define USUAL_S	     3600
#define FALLEN	     0.75 /* of its threshold, so that a unit near it does not rise again and again */
#define CHANCE_LEAST 5.0 /* samples */
#define CHANCE_TIMES 5.0 /* the standard deviation of the usual number of samples */

void unit_usage_begin(struct unit_usage *usage)
{
	for (size_t i = 0; i < usage->count; i++)
		usage->entries[i].current = 0;
}

static struct unit_usage_entry *find(struct unit_usage *usage, const char *name)
{
	for (size_t i = 0; i < usage->count; i++)
		if (strncmp(usage->entries[i].name, name, UNIT_USAGE_NAME_BYTES - 1) == 0)
			return &usage->entries[i];
	return NULL;
}

/* The place of the one that usually takes the least, of those that take nothing now. */
static struct unit_usage_entry *make_place(struct unit_usage *usage)
{
	struct unit_usage_entry *least = NULL;

	if (usage->count < UNIT_USAGE_MAX)
		return &usage->entries[usage->count++];
	for (size_t i = 0; i < usage->count; i++) {
		struct unit_usage_entry *entry = &usage->entries[i];

		if (entry->current == 0 && (!least || entry->usual < least->usual))
			least = entry;
	}
	return least;
}

void unit_usage_add(struct unit_usage *usage, const char *name, double percent)
{
	struct unit_usage_entry *entry = find(usage, name);

	if (!entry) {
		entry = make_place(usage);
		if (!entry)
			return;
		*entry = (struct unit_usage_entry){ 0 };
		(void)snprintf(entry->name, sizeof(entry->name), "%s", name);
	}
	entry->current += percent;
}

static bool exceeds(
	const struct unit_usage *usage, const struct unit_usage_entry *entry, double percent)
{
	const struct unit_usage_settings *settings = &usage->settings;

	if (settings->percent > 0 && percent >= settings->percent)
		return true;
	return settings->times > 0 && entry->windows >= UNIT_USAGE_LEARNING &&
	       percent >= UNIT_USAGE_FLOOR && percent >= entry->usual * settings->times;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/*
 * More than its usual share has by chance, where a sample is so many percent of a CPU. The number
 * of samples varies at most as that of independent events does. A new unit took nothing before it
 * was known, so that the first part of an incident does not make the rest usual.
 */
static bool is_certain(
	const struct unit_usage *usage, const struct unit_usage_entry *entry, double sample_percent)
{
	double known = at_most(entry->windows, UNIT_USAGE_LEARNING);
	double all = at_most(usage->windows, UNIT_USAGE_LEARNING);
	double usual = entry->usual * known / all / sample_percent;

	return entry->current / sample_percent >= usual + CHANCE_LEAST + CHANCE_TIMES * sqrt(usual);
}

/* A plain mean until an hour has passed. */
static void learn(struct unit_usage_entry *entry, uint64_t window_ns)
{
	double weight = 1 - exp(-(double)window_ns / 1e9 / USUAL_S);

	entry->windows++;
	if (weight < 1.0 / entry->windows)
		weight = 1.0 / entry->windows;
	entry->usual += weight * (entry->current - entry->usual);
}

/* Notes whether the unit is high, unless it waits. Returns whether it has risen. */
static bool has_risen(const struct unit_usage *usage, struct unit_usage_entry *entry,
	double sample_percent, uint64_t now_ns)
{
	const bool was_high = entry->is_high || entry->risen_ns > 0;
	const bool is_now = exceeds(usage, entry, entry->current / (was_high ? FALLEN : 1));

	if (!is_now || entry->is_high || usage->windows == 0) {
		entry->is_high = is_now;
		entry->risen_ns = 0;
		return false;
	}
	if (entry->risen_ns == 0 && is_certain(usage, entry, sample_percent))
		entry->risen_ns = now_ns;
	return entry->risen_ns > 0;
}

void unit_usage_end(struct unit_usage *usage, uint64_t window_ns, uint64_t period_ns,
	uint64_t now_ns, struct unit_usage_entry *ret_risen)
{
	const double sample_percent = 100.0 * (double)period_ns / (double)window_ns;
	struct unit_usage_entry risen = { 0 };

	for (size_t i = 0; i < usage->count; i++) {
		struct unit_usage_entry *entry = &usage->entries[i];

		/* As long as it waits to be noted, it does not become usual. */
		if (!has_risen(usage, entry, sample_percent, now_ns))
			learn(entry, window_ns);
		else if (entry->current > risen.current)
			risen = *entry;
	}
	usage->windows++;
	*ret_risen = risen;
}

static void tell(struct unit_usage_entry *entry)
{
	entry->is_high = true;
	entry->risen_ns = 0;
}

void unit_usage_tell(struct unit_usage *usage, const char *name)
{
	tell(find(usage, name));
}

void unit_usage_tell_until(struct unit_usage *usage, uint64_t time_ns)
{
	for (size_t i = 0; i < usage->count; i++)
		if (usage->entries[i].risen_ns > 0 && usage->entries[i].risen_ns <= time_ns)
			tell(&usage->entries[i]);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/unit_usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USUAL_S = 3600 };

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

static bool is_high(const struct unit_usage *usage, const struct unit_usage_entry *entry)
{
	const struct unit_usage_settings *settings = &usage->settings;

	if (settings->percent > 0 && entry->current >= settings->percent)
		return true;
	return settings->times > 0 && entry->windows >= UNIT_USAGE_LEARNING &&
	       entry->current >= UNIT_USAGE_FLOOR &&
	       entry->current >= entry->usual * settings->times;
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

void unit_usage_end(
	struct unit_usage *usage, uint64_t window_ns, struct unit_usage_entry *ret_risen)
{
	struct unit_usage_entry risen = { 0 };

	for (size_t i = 0; i < usage->count; i++) {
		struct unit_usage_entry *entry = &usage->entries[i];
		bool is_now = is_high(usage, entry);

		if (is_now && !entry->is_high && usage->has_measured &&
			entry->current > risen.current)
			risen = *entry;
		entry->is_high = is_now;
		learn(entry, window_ns);
	}
	usage->has_measured = true;
	*ret_risen = risen;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"
#include "config/config_private.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_BYTES = 512 };

/* Lists a section's keys as "A, B, C", or the sections if `section` is NULL. */
static void list_names(const char *section, char names[NAMES_BYTES])
{
	const char *last = "";
	size_t used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < config_knob_count; i++) {
		const struct config_knob *knob = &config_knobs[i];
		const char *name = section ? knob->key : knob->section;
		int n;

		if (section ? strcmp(knob->section, section) != 0 : strcmp(name, last) == 0)
			continue;
		n = snprintf(names + used, NAMES_BYTES - used, section ? "%s%s" : "%s[%s]",
			used > 0 ? ", " : "", name);
		if (n < 0 || (size_t)n >= NAMES_BYTES - used)
			return;
		used += (size_t)n;
		last = name;
	}
}

static bool is_section(const char *name)
{
	for (size_t i = 0; i < config_knob_count; i++)
		if (strcmp(config_knobs[i].section, name) == 0)
			return true;
	return false;
}

int config_enter_section(struct config_reading *reading, const char *section)
{
	char names[NAMES_BYTES];

	if (is_section(section))
		return 0;
	list_names(NULL, names);
	return config_problem_add(reading->problems, reading->file, reading->line,
		"[%.100s]: unknown section, all its settings are ignored: use one of %s", section,
		names);
}

/* Returns the section of a key, or NULL unless exactly one section has it. */
static const char *section_of(const char *key)
{
	const char *section = NULL;

	for (size_t i = 0; i < config_knob_count; i++)
		if (strcmp(config_knobs[i].key, key) == 0) {
			if (section)
				return NULL;
			section = config_knobs[i].section;
		}
	return section;
}

static int report_unknown_key(struct config_reading *reading, const char *section, const char *key)
{
	const char *other = section_of(key);
	char names[NAMES_BYTES];

	if (*section && !is_section(section))
		return 0; /* config_enter_section() has reported it */
	if (other)
		return config_problem_add(reading->problems, reading->file, reading->line,
			"%s%s%s%s: this key belongs to [%s]: move it there", *section ? "[" : "",
			section, *section ? "] " : "", key, other);
	if (!*section)
		return config_problem_add(reading->problems, reading->file, reading->line,
			"%.100s: no section before this key: add one, such as [Sampling]", key);
	list_names(section, names);
	return config_problem_add(reading->problems, reading->file, reading->line,
		"[%s] %.100s: unknown key: use one of %s", section, key, names);
}

static void forget_origin(struct config_origin *origin)
{
	free(origin->file);
	free(origin->text);
	*origin = (struct config_origin){ 0 };
}

/* Restores the state before any file set the knob. */
static int reset(struct config *config, size_t knob)
{
	char reason[CONFIG_REASON_BYTES];

	forget_origin(&config->origins[knob]);
	if (!config_knob_is_list(&config_knobs[knob]))
		return config_knob_set(
			&config_knobs[knob], config_knobs[knob].default_text, config, reason);
	config_knob_clear(&config_knobs[knob], config);
	return 0;
}

static int note_origin(const struct config_reading *reading, size_t knob, const char *text)
{
	_cleanup_free_ char *file = strdup(reading->file), *copy = strdup(text);
	struct config_origin *origin = &reading->config->origins[knob];

	if (!file || !copy)
		return -ENOMEM;
	forget_origin(origin);
	*origin = (struct config_origin){ TAKE_PTR(file), reading->line, TAKE_PTR(copy) };
	return 0;
}

static int set(struct config_reading *reading, size_t knob, const char *text)
{
	char reason[CONFIG_REASON_BYTES];
	int r = config_knob_set(&config_knobs[knob], text, reading->config, reason);

	if (r == 0)
		return note_origin(reading, knob, text);
	if (r != -EINVAL)
		return r;
	return config_problem_add(reading->problems, reading->file, reading->line,
		"[%s] %s: '%.200s' %s", config_knobs[knob].section, config_knobs[knob].key, text,
		reason);
}

static int add_items(struct config_reading *reading, size_t knob, char *texts)
{
	char *item;

	while ((item = strsep(&texts, " \t"))) {
		int r = *item ? set(reading, knob, item) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int config_assign(
	struct config_reading *reading, const char *section, const char *key, const char *text)
{
	size_t knob = config_knob_find(section, key);
	_cleanup_free_ char *copy = NULL;

	if (knob == config_knob_count)
		return report_unknown_key(reading, section, key);
	if (!*text)
		return reset(reading->config, knob);
	if (!config_knob_is_list(&config_knobs[knob]))
		return set(reading, knob, text);
	copy = strdup(text);
	return copy ? add_items(reading, knob, copy) : -ENOMEM;
}

/* Reports two contradicting knobs at the first one if a file sets it, else at the other one. */
static int contradict(struct config *config, struct config_problems *problems, const char *section,
	const char *key, const char *other_section, const char *other, const char *sentence)
{
	const struct config_origin *origin = &config->origins[config_knob_find(section, key)];
	const struct config_origin *second =
		&config->origins[config_knob_find(other_section, other)];

	if (!origin->file) {
		origin = second;
		section = other_section;
		key = other;
	}
	return config_problem_add(problems, origin->file ? origin->file : "defaults", origin->line,
		"[%s] %s: %s", section, key, sentence);
}

int config_check_together(struct config *config, struct config_problems *problems)
{
	int r = 0;

	if (config->jit_bytes > config->max_bytes / 2)
		r = contradict(config, problems, "Memory", "JitBytes", "Memory", "MaxBytes",
			"JitBytes is more than half of MaxBytes: lower JitBytes, or raise "
			"MaxBytes");
	if (r == 0 && config->minute_after_ns >= config->ten_minutes_after_ns)
		r = contradict(config, problems, "History", "TenMinutesAfter", "History",
			"MinuteAfter",
			"TenMinutesAfter is not longer than MinuteAfter: make it longer");
	if (r == 0 && config->minute_after_ns > config->history_age_ns)
		r = contradict(config, problems, "History", "MaxAge", "History", "MinuteAfter",
			"MaxAge is shorter than MinuteAfter, so profiles would expire before they "
			"are merged: raise MaxAge");
	return r;
}

int config_check_group(struct config *config, struct config_problems *problems)
{
	const struct config_origin *origin = &config->origins[config_knob_find("Api", "Group")];

	if (!origin->file || getgrnam(config->group))
		return 0;
	return config_problem_add(problems, origin->file, origin->line,
		"[Api] Group: no group '%.100s': create it with groupadd --system, or set another",
		config->group);
}

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
	const struct config_named *named = section ? config_named_find(section) : NULL;
	const struct config_knob *knobs = named ? named->knobs : config_knobs;
	const size_t count = named ? *named->knob_count : config_knob_count;
	const char *last = "";
	size_t used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct config_knob *knob = &knobs[i];
		const char *name = section ? knob->key : knob->section;
		int n;

		if (section && !named ? strcmp(knob->section, section) != 0
				      : !section && strcmp(name, last) == 0)
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

static int enter_named(
	struct config_reading *reading, const struct config_named *named, const char *section)
{
	void *item;
	int r = config_named_enter(named, reading->config, section, &item);

	if (r == -EINVAL)
		return config_problem_add(reading->problems, reading->file, reading->line,
			"[%.100s]: not the name of a %s, all its settings are ignored: write "
			"[%s NAME] with up to %d letters, digits, '-' and '_'",
			section, named->word, named->word, CONFIG_NAME_BYTES - 1);
	if (r == -E2BIG)
		return config_problem_add(reading->problems, reading->file, reading->line,
			"[%.100s]: too many %s, all its settings are ignored: have at most %zu",
			section, named->plural, named->most);
	return r;
}

int config_enter_section(struct config_reading *reading, const char *section)
{
	const struct config_named *named = config_named_find(section);
	char names[NAMES_BYTES];

	if (named)
		return enter_named(reading, named, section);
	if (is_section(section))
		return 0;
	list_names(NULL, names);
	return config_problem_add(reading->problems, reading->file, reading->line,
		"[%.100s]: unknown section, all its settings are ignored: use one of %s, [sink "
		"NAME], [metric NAME]",
		section, names);
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
	const struct config_named *named = config_named_find(section);
	const char *other = section_of(key);
	char names[NAMES_BYTES];

	/* config_enter_section() has reported an invalid section. */
	if (named ? config_named_knob_find(named, key) < *named->knob_count
		  : *section && !is_section(section))
		return 0;
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

/* What an assignment sets: a knob's field in the configuration, or in an item that has a name. */
struct target {
	const struct config_knob *knob;
	void *owner;
	struct config_origin *origin;
};

/* Returns 0, -ENOENT or -ENOMEM. */
static int find_target(
	struct config *config, const char *section, const char *key, struct target *ret_target)
{
	const struct config_named *named = config_named_find(section);
	void *item;
	size_t knob;
	int r;

	if (!named) {
		knob = config_knob_find(section, key);
		if (knob == config_knob_count)
			return -ENOENT;
		*ret_target =
			(struct target){ &config_knobs[knob], config, &config->origins[knob] };
		return 0;
	}
	knob = config_named_knob_find(named, key);
	r = config_named_enter(named, config, section, &item);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || knob == *named->knob_count)
		return -ENOENT;
	*ret_target = (struct target){ &named->knobs[knob], item,
		&config_named_origins(named, item)[knob] };
	return 0;
}

/* Restores the state before any file set the knob. */
static int reset(const struct target *target)
{
	char reason[CONFIG_REASON_BYTES];

	config_origin_done(target->origin);
	if (!config_knob_is_list(target->knob))
		return config_knob_set(
			target->knob, target->knob->default_text, target->owner, reason);
	config_knob_clear(target->knob, target->owner);
	return 0;
}

static int note_origin(
	const struct config_reading *reading, const struct target *target, const char *text)
{
	_cleanup_free_ char *file = strdup(reading->file), *copy = strdup(text);

	if (!file || !copy)
		return -ENOMEM;
	config_origin_done(target->origin);
	*target->origin = (struct config_origin){ TAKE_PTR(file), reading->line, TAKE_PTR(copy) };
	return 0;
}

static int set(struct config_reading *reading, const struct target *target, const char *section,
	const char *text)
{
	char reason[CONFIG_REASON_BYTES];
	int r = config_knob_set(target->knob, text, target->owner, reason);

	if (r == 0)
		return note_origin(reading, target, text);
	if (r != -EINVAL)
		return r;
	return config_problem_add(reading->problems, reading->file, reading->line,
		"[%.100s] %s: '%.200s' %s", section, target->knob->key, text, reason);
}

static int add_items(struct config_reading *reading, const struct target *target,
	const char *section, char *texts)
{
	char *item;

	while ((item = strsep(&texts, " \t"))) {
		int r = *item ? set(reading, target, section, item) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int config_assign(
	struct config_reading *reading, const char *section, const char *key, const char *text)
{
	_cleanup_free_ char *copy = NULL;
	struct target target;
	int r = find_target(reading->config, section, key, &target);

	if (r == -ENOENT)
		return report_unknown_key(reading, section, key);
	if (r < 0)
		return r;
	if (!*text)
		return reset(&target);
	if (!config_knob_is_list(target.knob) || config_knob_is_line(target.knob))
		return set(reading, &target, section, text);
	copy = strdup(text);
	return copy ? add_items(reading, &target, section, copy) : -ENOMEM;
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

/* What a metric takes of a question: names of parameters, values, and a NUL behind each. */
static size_t metric_bytes(const struct config_metric *metric)
{
	enum { OVERHEAD = 64 };
	size_t bytes = OVERHEAD + strlen(metric->name) + strlen(metric->function);

	for (size_t i = 0; i < metric->select.count; i++)
		bytes += strlen(metric->select.items[i]) + 2;
	return bytes;
}

/* Reports it at the metric that is too much. */
static int check_metrics(const struct config *config, struct config_problems *problems)
{
	size_t bytes = 0;

	for (size_t i = 0; i < config->metric_count; i++) {
		const struct config_metric *metric = &config->metrics[i];

		bytes += metric_bytes(metric);
		if (bytes <= CONFIG_METRICS_BYTES_MAX)
			continue;
		for (size_t knob = 0; knob < config_metric_knob_count; knob++)
			if (metric->origins[knob].file)
				return config_problem_add(problems, metric->origins[knob].file,
					metric->origins[knob].line,
					"[metric %s]: the selections and patterns of all metrics "
					"are too long together: shorten them, use globs",
					metric->name);
	}
	return 0;
}

/* What the keys of one sink say together. */
static int check_sink(const struct config_sink *sink, struct config_problems *problems)
{
	const struct config_named *named = config_named_find("sink");
	const struct config_origin *type = &sink->origins[config_named_knob_find(named, "Type")];
	const struct config_origin *labels =
		&sink->origins[config_named_knob_find(named, "Labels")];
	const struct config_origin *key = &sink->origins[config_named_knob_find(named, "KeyFile")];
	const bool is_sent = strcmp(sink->type, "pprof") != 0;
	int r = 0;

	if (is_sent && !*sink->url)
		r = config_problem_add(problems, type->file ? type->file : "defaults", type->line,
			"[sink %s] Url: Type=%s needs it: write the address of the receiver, such "
			"as https://collector:4318",
			sink->name, sink->type);
	/* A configuration with the line for Type=pyroscope may be in use (warn_of_labels()). */
	if (r == 0 && labels->file && strcmp(sink->type, "parca") == 0)
		r = config_problem_add(problems, labels->file, labels->line,
			"[sink %s] Labels: samples of Type=%s have no labels: remove this line",
			sink->name, sink->type);
	if (r == 0 && *sink->key_file && !*sink->certificate_file)
		r = config_problem_add(problems, key->file ? key->file : "defaults", key->line,
			"[sink %s] KeyFile: there is no certificate for it: set CertificateFile=",
			sink->name);
	return r;
}

int config_check_together(struct config *config, struct config_problems *problems)
{
	int r = check_metrics(config, problems);

	for (size_t i = 0; r == 0 && i < config->sink_count; i++)
		r = check_sink(&config->sinks[i], problems);
	if (r == 0 && config->jit_bytes > config->max_bytes / 2)
		r = contradict(config, problems, "Memory", "JitBytes", "Memory", "MaxBytes",
			"JitBytes is more than half of MaxBytes: lower JitBytes, or raise "
			"MaxBytes");
	if (r == 0 && config->minute_after_ns >= config->ten_minutes_after_ns)
		r = contradict(config, problems, "History", "TenMinutesAfter", "History",
			"MinuteAfter",
			"TenMinutesAfter is not longer than MinuteAfter: make it longer");
	if (r == 0 && config->sink_count > 0 && !config->history_enabled)
		r = contradict(config, problems, "History", "Enabled", "History", "Enabled",
			"sinks take their profiles from the history: set Enabled=yes, or remove "
			"the sinks");
	if (r == 0 && config->metric_count > 0 && !config->history_enabled)
		r = contradict(config, problems, "History", "Enabled", "History", "Enabled",
			"metrics are measured in the history: set Enabled=yes, or remove the "
			"metrics");
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

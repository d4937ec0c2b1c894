/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor_report.h"

#include "base/output.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct state_look {
	const char *word;
	const char *colour;
} looks[] = {
	[DOCTOR_OK] = { "ok", "\033[32m" },
	[DOCTOR_LIMITED] = { "limited", "\033[33m" },
	[DOCTOR_MISSING] = { "missing", "\033[31m" },
	[DOCTOR_UNKNOWN] = { "unknown", "\033[36m" },
};

static size_t count_required(const struct doctor_report *report, enum doctor_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++)
		if (report->entries[i].check->is_required &&
			report->entries[i].finding.state == state)
			count++;
	return count;
}

bool doctor_report_is_ready(const struct doctor_report *report)
{
	return !count_required(report, DOCTOR_MISSING) && !count_required(report, DOCTOR_UNKNOWN);
}

static const char *lost_of(const struct doctor_entry *entry)
{
	return entry->finding.lost ? entry->finding.lost : entry->check->lost;
}

static const char *remedy_of(const struct doctor_entry *entry)
{
	return entry->finding.remedy ? entry->finding.remedy : entry->check->remedy;
}

/* What was found has been read from files and from the environment. */
static const char *clean_text(const char *text, char clean[UTF8_CLEAN_BYTES])
{
	(void)utf8_clean(clean, text, strlen(text));
	return clean;
}

/* https://no-color.org */
static bool wants_colour(void)
{
	const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(refusal && *refusal) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

static int name_width(const struct doctor_group *group)
{
	size_t width = 0;

	for (size_t i = 0; i < group->count; i++)
		if (strlen(group->checks[i].name) > width)
			width = strlen(group->checks[i].name);
	return (int)width;
}

static void print_entry(struct output *output, const struct doctor_entry *entry, bool has_colour)
{
	const struct state_look *look = &looks[entry->finding.state];
	int width = name_width(entry->group);
	char clean[UTF8_CLEAN_BYTES];

	output_printf(output, "  %s%-7s%s  %-*s  %s\n", has_colour ? look->colour : "", look->word,
		has_colour ? "\033[0m" : "", width, entry->check->name,
		clean_text(entry->finding.found, clean));
	for (size_t i = 0; i < entry->finding.detail_count; i++)
		output_printf(
			output, "           %s\n", clean_text(entry->finding.details[i], clean));
	if (entry->finding.state == DOCTOR_OK)
		return;
	if (lost_of(entry) && entry->finding.state != DOCTOR_UNKNOWN)
		output_printf(output, "           lost    %s\n", lost_of(entry));
	if (remedy_of(entry))
		output_printf(output, "           remedy  %s\n", remedy_of(entry));
}

static void print_obstacles(struct output *output, const struct doctor_report *report)
{
	size_t unknown = count_required(report, DOCTOR_UNKNOWN), printed = 0;
	/* What is missing is often why the rest cannot be told. */
	enum doctor_state worst =
		count_required(report, DOCTOR_MISSING) ? DOCTOR_MISSING : DOCTOR_UNKNOWN;

	output_string(output, "\nNot ready: pilotlight record needs ");
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_entry *entry = &report->entries[i];

		if (entry->check->is_required && entry->finding.state == worst)
			output_printf(output, "%s%s", printed++ ? ", " : "", entry->check->name);
	}
	if (worst == DOCTOR_UNKNOWN)
		output_string(output, ", of which nothing can be told here");
	else if (unknown)
		output_printf(output, "; %zu more cannot be told without", unknown);
	output_string(output, ".\n");
}

static void print_verdict(struct output *output, const struct doctor_report *report)
{
	size_t limits = 0;

	if (!doctor_report_is_ready(report)) {
		print_obstacles(output, report);
		return;
	}
	for (size_t i = 0; i < report->count; i++)
		if (report->entries[i].finding.state != DOCTOR_OK)
			limits++;
	output_string(output, "\nReady: pilotlight record works here");
	if (limits)
		output_printf(output, "; %zu %s less than fully available, see above", limits,
			limits == 1 ? "thing is" : "things are");
	output_string(output, ".\n");
}

int doctor_report_print(const struct doctor_report *report)
{
	bool has_colour = wants_colour();
	struct output output;

	output_init_fd(&output, STDOUT_FILENO);
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_entry *entry = &report->entries[i];

		if (i == 0 || entry->group != report->entries[i - 1].group)
			output_printf(&output, "%s%s\n", i ? "\n" : "", entry->group->title);
		print_entry(&output, entry, has_colour);
	}
	print_verdict(&output, report);
	return output_finish(&output);
}

/* Clean text has no control characters left, so that two characters are all that needs an escape.
 */
static void print_json_string(struct output *output, const char *string)
{
	char clean[UTF8_CLEAN_BYTES];

	(void)utf8_clean(clean, string, strlen(string));
	output_char(output, '"');
	for (const char *c = clean; *c; c++) {
		if (*c == '"' || *c == '\\')
			output_char(output, '\\');
		output_char(output, *c);
	}
	output_char(output, '"');
}

static void print_json_member(struct output *output, const char *key, const char *value)
{
	output_printf(output, ", \"%s\": ", key);
	if (value)
		print_json_string(output, value);
	else
		output_string(output, "null");
}

static void print_json_details(struct output *output, const struct doctor_finding *finding)
{
	output_string(output, ", \"details\": [");
	for (size_t i = 0; i < finding->detail_count; i++) {
		output_string(output, i ? ", " : "");
		print_json_string(output, finding->details[i]);
	}
	output_char(output, ']');
}

int doctor_report_print_json(const struct doctor_report *report)
{
	struct output output;

	output_init_fd(&output, STDOUT_FILENO);
	output_string(&output, "{\n  \"format\": 1,\n  \"version\": ");
	print_json_string(&output, PILOTLIGHT_VERSION);
	output_printf(&output, ",\n  \"ready\": %s,\n  \"checks\": [",
		doctor_report_is_ready(report) ? "true" : "false");
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_entry *entry = &report->entries[i];
		bool is_ok = entry->finding.state == DOCTOR_OK;

		output_printf(&output, "%s\n    {\"required\": %s", i ? "," : "",
			entry->check->is_required ? "true" : "false");
		print_json_member(&output, "group", entry->group->title);
		print_json_member(&output, "name", entry->check->name);
		print_json_member(&output, "state", looks[entry->finding.state].word);
		print_json_member(&output, "found", entry->finding.found);
		print_json_details(&output, &entry->finding);
		print_json_member(&output, "lost", is_ok ? NULL : lost_of(entry));
		print_json_member(&output, "remedy", is_ok ? NULL : remedy_of(entry));
		output_char(&output, '}');
	}
	output_string(&output, "\n  ]\n}\n");
	return output_finish(&output);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report.h"
#include "api/report_fields.h"
#include "api/report_sinks.h"
#include "api/report_words.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

static void write_text(struct json *json, const char *key, const char *text, size_t size)
{
	json_key(json, key);
	json_string_bytes(json, text, strnlen(text, size));
}
#define WRITE_TEXT(json, key, text) write_text(json, key, text, sizeof(text))

static void write_number(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void write_field(
	struct json *json, const struct report_field *field, const struct report *report)
{
	uint64_t value = report_field_get(field, report);

	json_key(json, field->key);
	switch (field->unit) {
	case REPORT_NUMBER:
	case REPORT_PPM:
	case REPORT_PPM_DOUBLE:
		json_u64(json, value);
		break;
	case REPORT_BOOLEAN:
		json_bool(json, value != 0);
		break;
	case REPORT_NANOSECONDS:
		json_seconds(json, (double)value / NSEC_PER_SEC);
		break;
	}
}

static void write_jit_processes(struct json *json, const struct service_status *service)
{
	json_key(json, "processes");
	json_begin_array(json);
	for (size_t i = 0; i < service->jit_count && i < ARRAY_SIZE(service->jit); i++) {
		const struct service_status_jit *jit = &service->jit[i];

		json_begin_object(json);
		write_number(json, "pid", jit->pid);
		WRITE_TEXT(json, "comm", jit->comm);
		WRITE_TEXT(json, "kind", jit->kind);
		WRITE_TEXT(json, "runtime", jit->runtime);
		write_number(json, "symbols", jit->symbols);
		write_number(json, "bytes", jit->bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_held(struct json *json, const char *key, const uint64_t held[USER_RESOURCES])
{
	json_key(json, key);
	json_begin_object(json);
	for (size_t i = 0; i < USER_RESOURCES; i++)
		write_number(json, report_resources[i].key, held[i]);
	json_end_object(json);
}

static void write_holdings(struct json *json, const struct user_holdings *holdings)
{
	char text[USER_EXCESS_NAME_BYTES];

	write_held(json, "capacity", holdings->capacity);
	json_key(json, "holding");
	json_begin_array(json);
	for (size_t i = 0; i < ARRAY_SIZE(holdings->lines); i++) {
		const struct user_holding *line = &holdings->lines[i];

		if (!user_holding_is_used(line))
			continue;
		json_begin_object(json);
		json_key(json, "user");
		json_string(json, user_excess_name(line->user, text));
		write_held(json, "held", line->held);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_most_over(struct json *json, const struct user_excess *excess)
{
	char text[USER_EXCESS_NAME_BYTES], key[REPORT_NAME_BYTES];

	json_key(json, "most_over");
	json_begin_array(json);
	for (size_t i = 0; i < ARRAY_SIZE(excess->lines); i++) {
		const struct user_excess_line *line = &excess->lines[i];

		if (!user_excess_is_used(line))
			continue;
		json_begin_object(json);
		json_key(json, "user");
		json_string(json, user_excess_name(line->user, text));
		for (size_t n = 0; n < USER_RESOURCES; n++) {
			(void)snprintf(key, sizeof(key), "over_%s", report_resources[n].key);
			write_number(json, key, line->refused[n]);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_users(struct json *json, const struct service_status *service)
{
	write_most_over(json, &service->excess);
	write_holdings(json, &service->holdings);
}

static void write_statuses(struct json *json, const struct http_counters *http)
{
	json_key(json, "statuses");
	json_begin_object(json);
	for (size_t i = 1; i < ARRAY_SIZE(http->statuses); i++) {
		const char name[] = { (char)('0' + i), 'x', 'x', '\0' };

		write_number(json, name, http->statuses[i]);
	}
	json_end_object(json);
}

static void write_rules(
	struct json *json, const char *key, const struct cgroup_choice *choice, bool are_excluding)
{
	char text[CGROUP_RULE_BYTES + 16];

	json_key(json, key);
	json_begin_array(json);
	for (size_t i = 0; i < choice->count; i++) {
		const struct cgroup_rule *rule = &choice->rules[i];
		int size = snprintf(
			text, sizeof(text), "%s:%s", cgroup_rule_kind_name(rule->kind), rule->text);

		if (rule->is_excluding == are_excluding)
			json_string_bytes(json, text, (size_t)size);
	}
	json_end_array(json);
}

static void write_sampling(struct json *json, const struct service_status *service)
{
	WRITE_TEXT(json, "event", service->event);
	write_rules(json, "include", &service->choice, false);
	write_rules(json, "exclude", &service->choice, true);
}

/* Writes the fields of a group that the table does not hold. */
static void write_rest(struct json *json, const char *group, const struct report *report)
{
	const struct service_status *service = &report->service;

	if (strcmp(group, "service") == 0)
		WRITE_TEXT(json, "version", service->version);
	else if (strcmp(group, "sampling") == 0)
		write_sampling(json, service);
	else if (strcmp(group, "history") == 0)
		WRITE_TEXT(json, "fault", service->history_fault);
	else if (strcmp(group, "jit") == 0)
		write_jit_processes(json, service);
	else if (strcmp(group, "users") == 0)
		write_users(json, service);
	else if (strcmp(group, "http") == 0)
		write_statuses(json, &report->http);
}

static void write_groups(struct json *json, const struct report *report)
{
	const char *group = NULL;

	for (size_t i = 0; i < report_field_count; i++) {
		const struct report_field *field = &report_fields[i];

		if (!group || strcmp(group, field->group) != 0) {
			if (group)
				json_end_object(json);
			group = field->group;
			json_key(json, group);
			json_begin_object(json);
			write_rest(json, group, report);
		}
		write_field(json, field, report);
	}
	if (group)
		json_end_object(json);
}

/* Into the object that is open. */
static void write_counts(struct json *json, const struct accounts *accounts)
{
	char name[REPORT_NAME_BYTES];

	write_number(json, "fired", accounts->fired);
	write_number(json, "lost", accounts_lost(accounts));
	for (size_t i = 0; i < REPORT_COUNTERS; i++) {
		const struct report_counters *counters = &report_counters[i];

		json_key(json, counters->key);
		json_begin_object(json);
		for (size_t n = 0; n < counters->count; n++)
			write_number(json, report_counter_name(counters, n, name),
				report_counter_get(counters, accounts, n));
		json_end_object(json);
	}
}

static void write_accounts(struct json *json, const char *key, const struct accounts *accounts)
{
	json_key(json, key);
	json_begin_object(json);
	write_counts(json, accounts);
	json_end_object(json);
}

static void write_live(struct json *json, const struct live_counters *counters)
{
	json_key(json, "live");
	json_begin_object(json);
	for (size_t i = 0; i < REPORT_OUTCOMES; i++)
		write_number(json, report_outcomes[i].key,
			report_outcome_get(&report_outcomes[i], counters));
	json_end_object(json);
}

/* Those that are sampled. A sample is one period of its source. */
static void write_sources(struct json *json, const struct service_status *service)
{
	static const char *const periods[] = {
		[EVENT_UNIT_TIME] = "period_nanoseconds",
		[EVENT_UNIT_BYTES] = "period_bytes",
		[EVENT_UNIT_COUNT] = "period_events",
	};

	json_key(json, "by_source");
	json_begin_object(json);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(service->sources & 1U << i))
			continue;
		json_key(json, report_event_name(service, i));
		json_begin_object(json);
		write_number(json, periods[event_source_unit(&event_sources[i])],
			service->periods_ns[i]);
		if (service->surveyed & 1U << i) {
			json_key(json, "is_surveyed");
			json_bool(json, true);
		}
		write_counts(json, &service->by_source.of[i]);
		if (event_sources[i].is_live)
			write_live(json, &service->live[i]);
		json_end_object(json);
	}
	json_end_object(json);
}

void report_write_json(const struct report *report, struct output *output)
{
	struct json json;

	json_init(&json, output);
	json_begin_object(&json);
	write_groups(&json, report);
	report_sinks_write_json(&report->service, &json);
	json_key(&json, "samples");
	json_begin_object(&json);
	write_accounts(&json, "since_start", &report->service.accounts);
	write_accounts(&json, "last_window", &report->service.last_window);
	write_sources(&json, &report->service);
	write_number(&json, "lost_with_engines", report->service.lost_by_engines);
	json_end_object(&json);
	json_end_object(&json);
	json_end_line(&json);
}

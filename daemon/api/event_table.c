/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/event_table.h"

#include "api/report_words.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATE_BYTES = TIME_TEXT_BYTES + 32, PERIOD_BYTES = 32, COST_BYTES = 160 };

/* Those of the table, then wall, then events of perf that a client may turn on. */
enum { ROWS_MAX = PILOTLIGHT_SOURCES + 1 + SERVICE_STATUS_COUNTED_MAX };

struct row {
	const struct event_source *source;
	const char *name, *title;
	/* What the machine lacks for it; "": nothing, or not known. */
	const char *missing;
	/* PILOTLIGHT_SOURCES: it has no place in the service, as wall, or an event that is off. */
	enum pilotlight_source place;
	bool is_allowed;
};

static bool is_on(const struct service_status *service, const struct row *row)
{
	return service && row->place < PILOTLIGHT_SOURCES && service->sources & 1U << row->place;
}

/* The service cannot sample heaps: what it lacks for them says nothing of `record`. */
static const char *missing_of(const struct service_status *service,
	const struct event_table_missing *missing, enum pilotlight_source place)
{
	if (service && event_sources[place].service_period > 0)
		return service->missing[place];
	return missing && !service ? missing->of[place] : "";
}

/* False: no event has the place. */
static bool describe_source(const struct service_status *service,
	const struct event_table_missing *missing, enum pilotlight_source place,
	struct row *ret_row)
{
	const struct event_source *source = &event_sources[place];
	const char *name = source->name;

	if (event_source_is_counted(place)) {
		name = service ? service->counted[place - PILOTLIGHT_SOURCE_COUNTED] : "";
		if (!*name || !(service->wanted_sources & 1U << place))
			return false;
	}
	*ret_row = (struct row){
		.source = source,
		.name = name,
		.title = source->title ? source->title : "events, by the kernel's name",
		.missing = missing_of(service, missing, place),
		.place = place,
		.is_allowed = service && (service->allowed_events & 1U << place ||
						 event_source_is_counted(place)),
	};
	return true;
}

static bool is_listed(const struct row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return true;
	return false;
}

static size_t list_rows(const struct service_status *service,
	const struct event_table_missing *missing, struct row rows[ROWS_MAX])
{
	size_t count = 0;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		count += describe_source(service, missing, i, &rows[count]);
	rows[count++] = (struct row){
		.source = &event_source_wall,
		.name = event_source_wall.name,
		.title = event_source_wall.title,
		.missing = "",
		.place = PILOTLIGHT_SOURCES,
	};
	for (size_t i = 0; service && i < service->allowed_counted_count; i++) {
		const struct event_source *source = &event_sources[PILOTLIGHT_SOURCE_COUNTED];

		if (is_listed(rows, count, service->allowed_counted[i]))
			continue;
		rows[count++] = (struct row){
			.source = source,
			.name = service->allowed_counted[i],
			.title = "events, by the kernel's name",
			.missing = "",
			.place = PILOTLIGHT_SOURCES,
			.is_allowed = true,
		};
	}
	return count;
}

static uint64_t period_of(const struct service_status *service, const struct row *row)
{
	if (is_on(service, row))
		return service->periods_ns[row->place];
	return row->source == &event_sources[PILOTLIGHT_SOURCE_COUNTED]
		       ? 0
		       : row->source->default_period;
}

static const char *period_text(
	const struct service_status *service, const struct row *row, char text[PERIOD_BYTES])
{
	const struct event_source *source = row->source;
	uint64_t period = period_of(service, row);
	char duration[TIME_TEXT_BYTES], bytes[REPORT_NUMBER_BYTES];

	if (service && event_source_is_cpu(source))
		(void)snprintf(text, PERIOD_BYTES, "%" PRIu32 " Hz", service->rate_hz);
	else if (period == 0)
		(void)snprintf(text, PERIOD_BYTES, "-");
	else if (event_source_unit(source) == EVENT_UNIT_TIME)
		(void)snprintf(
			text, PERIOD_BYTES, "%s", time_text_format_duration(period, duration));
	else if (event_source_unit(source) == EVENT_UNIT_BYTES)
		(void)snprintf(text, PERIOD_BYTES, "%s", report_bytes(period, bytes));
	else
		(void)snprintf(text, PERIOD_BYTES, "%" PRIu64, period);
	return text;
}

/* Of the machine's CPU time since the engine started, taking samples alone. */
static double cost_ppm(const struct service_status *service, const struct row *row)
{
	double machine_ns = (double)(service->now_ns - service->started_ns) * service->cpu_count;

	return machine_ns > 0 ? (double)service->by_source.of[row->place].run_ns * 1e6 / machine_ns
			      : 0;
}

static const char *state_text(
	const struct service_status *service, const struct row *row, char text[STATE_BYTES])
{
	uint64_t until_ns =
		row->place < PILOTLIGHT_SOURCES ? service->ordered_until_ns[row->place] : 0;
	char time[TIME_TEXT_BYTES];

	if (*row->missing)
		(void)snprintf(text, STATE_BYTES, "missing");
	else if (until_ns)
		(void)snprintf(text, STATE_BYTES, "until %s", time_text_format(until_ns, time));
	else if (is_on(service, row))
		(void)snprintf(text, STATE_BYTES, "%s",
			service->surveyed & 1U << row->place ? "on, by surveys" : "on");
	else if (row->source->service_period == 0)
		(void)snprintf(text, STATE_BYTES, "-");
	else
		(void)snprintf(text, STATE_BYTES, "%s", row->is_allowed ? "off" : "not allowed");
	return text;
}

static const char *cost_text(
	const struct service_status *service, const struct row *row, char text[COST_BYTES])
{
	const bool is_surveyed = is_on(service, row) && service->surveyed & 1U << row->place;
	const char *cost = is_surveyed ? "some us for each thread that is not idle, in each survey"
				       : row->source->cost;
	int size = 0;

	text[0] = '\0';
	if (is_on(service, row))
		size = snprintf(text, COST_BYTES, "%.4f%% for its samples%s",
			cost_ppm(service, row) / 1e4, cost ? "; " : "");
	if (cost)
		(void)snprintf(text + size, COST_BYTES - (size_t)size, "%s", cost);
	return text;
}

static void write_row(const struct service_status *service, const struct row *row, int width,
	struct output *output)
{
	char period[PERIOD_BYTES], state[STATE_BYTES], cost[COST_BYTES], clean[UTF8_CLEAN_BYTES];

	output_printf(output, "%-*s %-8s ", width, row->name, period_text(service, row, period));
	if (service)
		output_printf(output, "%-25s ", state_text(service, row, state));
	output_printf(output, "%s\n", row->title);
	if (*row->missing)
		output_printf(output, "%*snot here: %s\n", width + 10, "",
			report_clean(row->missing, PILOTLIGHT_MISSING_BYTES, clean));
	if (*cost_text(service, row, cost))
		output_printf(output, "%*scosts %s\n", width + 10, "", cost);
}

void event_table_write_text(const struct service_status *service,
	const struct event_table_missing *missing, struct output *output)
{
	struct row rows[ROWS_MAX];
	size_t count = list_rows(service, missing, rows);
	int width = 0;

	for (size_t i = 0; i < count; i++)
		if ((int)strlen(rows[i].name) > width)
			width = (int)strlen(rows[i].name);
	output_printf(output, "%-*s %-8s ", width, "EVENT", "PERIOD");
	if (service)
		output_printf(output, "%-25s ", "SERVICE");
	output_printf(output, "%s\n", "WHAT A SAMPLE COUNTS");
	for (size_t i = 0; i < count; i++)
		write_row(service, &rows[i], width, output);
}

static void write_state(
	struct json *json, const struct service_status *service, const struct row *row)
{
	json_key(json, "is_on");
	json_bool(json, is_on(service, row));
	if (row->source == &event_source_wall)
		return;
	json_key(json, "is_allowed");
	json_bool(json, row->is_allowed);
	json_key(json, "until_seconds");
	json_seconds(json, row->place < PILOTLIGHT_SOURCES
				   ? (double)service->ordered_until_ns[row->place] / NSEC_PER_SEC
				   : 0);
	if (!is_on(service, row))
		return;
	json_member_u64(json, "service_period", service->periods_ns[row->place]);
	json_key(json, "is_surveyed");
	json_bool(json, service->surveyed & 1U << row->place);
	json_member_u64(json, "samples_cost_ppm", (uint64_t)cost_ppm(service, row));
}

void event_table_write_json(const struct service_status *service,
	const struct event_table_missing *missing, struct json *json)
{
	struct row rows[ROWS_MAX];
	size_t count = list_rows(service, missing, rows);

	for (size_t i = 0; i < count; i++) {
		const struct event_source *source = rows[i].source;

		json_begin_object(json);
		json_member_string(json, "name", rows[i].name);
		json_member_string(json, "title", rows[i].title);
		json_member_string(json, "unit", source->unit);
		/* An event of perf has its own name, in pprof's letters. */
		if (source->pprof_type)
			json_member_string(json, "pprof_type", source->pprof_type);
		json_member_u64(json, "period", source->default_period);
		if (source->cost)
			json_member_string(json, "cost", source->cost);
		if (*rows[i].missing)
			json_member_string(json, "missing", rows[i].missing);
		if (service)
			write_state(json, service, &rows[i]);
		json_end_object(json);
		json_end_line(json);
	}
}

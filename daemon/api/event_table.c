/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/event_table.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATE_BYTES = TIME_TEXT_BYTES + 32, PERIOD_BYTES = 32, COST_BYTES = 160 };

static const struct event_source *event_of(size_t i)
{
	return i < PILOTLIGHT_SOURCES ? &event_sources[i] : &event_source_wall;
}

static const char *period_text(
	const struct event_source *source, uint64_t period, char text[PERIOD_BYTES])
{
	char duration[TIME_TEXT_BYTES];

	if (period == 0)
		(void)snprintf(text, PERIOD_BYTES, "-");
	else if (event_source_unit(source) == EVENT_UNIT_TIME)
		(void)snprintf(
			text, PERIOD_BYTES, "%s", time_text_format_duration(period, duration));
	else
		(void)snprintf(text, PERIOD_BYTES, "%" PRIu64, period);
	return text;
}

static bool is_on(const struct service_status *service, size_t i)
{
	return i < PILOTLIGHT_SOURCES && service->sources & 1U << i;
}

/* Of the machine's CPU time since the engine started, taking samples alone. */
static double cost_ppm(const struct service_status *service, size_t i)
{
	double machine_ns = (double)(service->now_ns - service->started_ns) * service->cpu_count;

	return machine_ns > 0 ? (double)service->by_source.of[i].run_ns * 1e6 / machine_ns : 0;
}

static const char *state_text(
	const struct service_status *service, size_t i, char text[STATE_BYTES])
{
	uint64_t until_ns = i < PILOTLIGHT_SOURCES ? service->ordered_until_ns[i] : 0;
	char time[TIME_TEXT_BYTES];

	if (until_ns)
		(void)snprintf(text, STATE_BYTES, "until %s", time_text_format(until_ns, time));
	else if (is_on(service, i))
		(void)snprintf(text, STATE_BYTES, "on");
	else if (event_of(i)->service_period == 0)
		(void)snprintf(text, STATE_BYTES, "-");
	else if (i < PILOTLIGHT_SOURCES && service->allowed_events & 1U << i)
		(void)snprintf(text, STATE_BYTES, "off");
	else
		(void)snprintf(text, STATE_BYTES, "not allowed");
	return text;
}

static const char *cost_text(const struct service_status *service, size_t i, char text[COST_BYTES])
{
	const char *cost = event_of(i)->cost;
	int size = 0;

	text[0] = '\0';
	if (service && is_on(service, i))
		size = snprintf(text, COST_BYTES, "%.4f%% for its samples%s",
			cost_ppm(service, i) / 1e4, cost ? "; " : "");
	if (cost)
		(void)snprintf(text + size, COST_BYTES - (size_t)size, "%s", cost);
	return text;
}

void event_table_write_text(const struct service_status *service, struct output *output)
{
	char period[PERIOD_BYTES], state[STATE_BYTES], cost[COST_BYTES];

	output_printf(output, "%-10s %-7s ", "EVENT", "PERIOD");
	if (service)
		output_printf(output, "%-25s ", "SERVICE");
	output_printf(output, "%s\n", "WHAT A SAMPLE COUNTS");
	for (size_t i = 0; i <= PILOTLIGHT_SOURCES; i++) {
		const struct event_source *source = event_of(i);
		uint64_t shown = service && is_on(service, i) ? service->periods_ns[i]
							      : source->default_period;

		if (event_source_is_counted((enum pilotlight_source)i))
			continue;
		output_printf(
			output, "%-10s %-7s ", source->name, period_text(source, shown, period));
		if (service)
			output_printf(output, "%-25s ", state_text(service, i, state));
		output_printf(output, "%s\n", source->title);
		if (*cost_text(service, i, cost))
			output_printf(output, "%19scosts %s\n", "", cost);
	}
}

static void write_state(struct json *json, const struct service_status *service, size_t i)
{
	json_key(json, "is_on");
	json_bool(json, is_on(service, i));
	if (i >= PILOTLIGHT_SOURCES)
		return;
	json_key(json, "is_allowed");
	json_bool(json, service->allowed_events & 1U << i);
	json_key(json, "until_seconds");
	json_seconds(json, (double)service->ordered_until_ns[i] / NSEC_PER_SEC);
	if (!is_on(service, i))
		return;
	json_member_u64(json, "service_period", service->periods_ns[i]);
	json_member_u64(json, "samples_cost_ppm", (uint64_t)cost_ppm(service, i));
}

void event_table_write_json(const struct service_status *service, struct json *json)
{
	for (size_t i = 0; i <= PILOTLIGHT_SOURCES; i++) {
		const struct event_source *source = event_of(i);

		if (event_source_is_counted((enum pilotlight_source)i))
			continue;
		json_begin_object(json);
		json_member_string(json, "name", source->name);
		json_member_string(json, "title", source->title);
		json_member_string(json, "unit", source->unit);
		json_member_string(json, "pprof_type", source->pprof_type);
		json_member_u64(json, "period", source->default_period);
		if (source->cost)
			json_member_string(json, "cost", source->cost);
		if (service)
			write_state(json, service, i);
		json_end_object(json);
		json_end_line(json);
	}
}

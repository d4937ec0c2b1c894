/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/events.h"

#include "base/event_source.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>

static void write_json(struct json *json, const struct event_source *source)
{
	json_begin_object(json);
	json_member_string(json, "name", source->name);
	json_member_string(json, "title", source->title);
	json_member_string(json, "unit", source->unit);
	json_member_string(json, "pprof_type", source->pprof_type);
	json_member_u64(json, "period", source->default_period);
	json_end_object(json);
	json_end_line(json);
}

static const char *format_period(const struct event_source *source, char text[TIME_TEXT_BYTES])
{
	if (source->default_period == 0)
		return "-";
	if (event_source_unit(source) == EVENT_UNIT_TIME)
		return time_text_format_duration(source->default_period, text);
	(void)snprintf(text, TIME_TEXT_BYTES, "%" PRIu64, source->default_period);
	return text;
}

static void write_row(struct output *output, const struct event_source *source)
{
	char period[TIME_TEXT_BYTES];

	output_printf(output, "%-9s %-7s %s\n", source->name, format_period(source, period),
		source->title);
}

static int run(void *own)
{
	struct invocation *invocation = own;
	struct output *output = &invocation->output;

	if (!invocation->is_json)
		output_printf(output, "%-9s %-7s %s\n", "EVENT", "PERIOD", "WHAT A SAMPLE COUNTS");
	for (size_t i = 0; i <= PILOTLIGHT_SOURCES; i++) {
		const struct event_source *source =
			i < PILOTLIGHT_SOURCES ? &event_sources[i] : &event_source_wall;

		if (invocation->is_json)
			write_json(&invocation->json, source);
		else
			write_row(output, source);
	}
	return command_flush(invocation);
}

const struct command events_command = {
	.name = "events",
	.summary = "list what can be sampled",
	.synopsis = "[OPTION...]",
	.description = "List the events that -e takes: of `record`, and of the commands that read "
		       "the history. A period is what one sample of `record` stands for. CPU time "
		       "has a rate instead, and wall is the sum of CPU time, time off CPU and time "
		       "waiting for a CPU.",
	.has_json = true,
	.bytes = sizeof(struct invocation),
	.run = run,
};

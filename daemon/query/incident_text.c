/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/incident_text.h"

#include "base/clock.h"
#include "base/time_text.h"
#include "query/incident_subject.h"

#include <inttypes.h>

void incident_list_write(const struct incident_list *list, struct output *output)
{
	char time[TIME_TEXT_BYTES];

	if (list->count == 0)
		output_string(output, "No incidents.\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct incident *incident = &list->items[i];

		output_printf(output, "%5" PRIu64 "  %s  %-16s %s\n", incident->number,
			time_text_format(incident->time_ns, time), incident->cause, incident->text);
	}
}

static void write_time(struct json *json, const char *key, uint64_t ns)
{
	json_key(json, key);
	json_seconds(json, (double)ns / NSEC_PER_SEC);
}

/* A page selects the samples of this subject. */
static void write_subject(const struct incident *incident, struct json *json)
{
	char value[INCIDENT_SUBJECT_BYTES];
	const char *parameter;

	if (!incident_subject_value(incident, &parameter, value))
		return;
	json_key(json, "subject");
	json_begin_array(json);
	json_string(json, parameter);
	json_string(json, value);
	json_end_array(json);
}

void incident_write_json(const struct incident *incident, struct json *json)
{
	json_begin_object(json);
	json_member_u64(json, "number", incident->number);
	write_time(json, "time", incident->time_ns);
	write_time(json, "from", incident->kept_from_ns);
	write_time(json, "to", incident->kept_to_ns);
	json_member_string(json, "cause", incident->cause);
	json_member_string(json, "text", incident->text);
	write_subject(incident, json);
	json_end_object(json);
}

void incident_list_write_json(const struct incident_list *list, struct output *output)
{
	struct json json;

	json_init(&json, output);
	json_begin_object(&json);
	json_key(&json, "incidents");
	json_begin_array(&json);
	for (size_t i = 0; i < list->count; i++)
		incident_write_json(&list->items[i], &json);
	json_end_array(&json);
	json_end_object(&json);
	json_end_line(&json);
}

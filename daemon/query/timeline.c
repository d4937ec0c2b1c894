/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/timeline.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "query/incident_text.h"
#include "store/event_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Windows of a service that runs follow one another; a start takes longer. */
#define GAP_NS_MIN (NSEC_PER_SEC / 2)

struct reading {
	struct timeline *timeline;
	struct event_choice choice;
	uint64_t step_ns;    /* of a bucket; windows that begin in one step share it */
	uint64_t step;	     /* the last bucket's */
	uint8_t boot_id[16]; /* the last window's */
	uint64_t end_ns;     /* of all windows so far; 0: there was none */
};

bool timeline_is_of_time(const struct event_source *source)
{
	return strcmp(source->unit, "nanoseconds") == 0;
}

static int add_bucket(struct reading *reading, uint64_t start_ns)
{
	struct timeline *timeline = reading->timeline;
	int r = ARRAY_RESERVE(timeline->buckets, &timeline->capacity, timeline->count + 1,
		TIMELINE_BUCKETS_MAX + 1);

	if (r < 0)
		return r;
	timeline->buckets[timeline->count++] = (struct timeline_bucket){ .start_ns = start_ns };
	return 0;
}

/* Windows come in the order of their starts, those of several events one after another. */
static int add_window(void *context, const struct store_window_line *line)
{
	struct reading *reading = context;
	struct timeline *timeline = reading->timeline;
	struct timeline_bucket *bucket;
	uint64_t step;
	double unit;
	int r = 0;

	if (!event_choice_takes(&reading->choice, line->event))
		return 0;
	step = line->start_ns > timeline->start_ns
		       ? (line->start_ns - timeline->start_ns) / reading->step_ns
		       : 0;
	if (timeline->count == 0 || step > reading->step) {
		r = add_bucket(reading, line->start_ns);
		reading->step = step;
	}
	if (r < 0)
		return r;
	bucket = &timeline->buckets[timeline->count - 1];
	bucket->last_ns = line->start_ns;
	/* The first window of all tells nothing about what was before it. */
	if (bucket != timeline->buckets || bucket->end_ns > 0)
		bucket->is_of_new_boot |=
			memcmp(reading->boot_id, line->boot_id, sizeof(reading->boot_id)) != 0;
	memcpy(reading->boot_id, line->boot_id, sizeof(reading->boot_id));
	if (reading->end_ns > 0 && line->start_ns > reading->end_ns + GAP_NS_MIN)
		bucket->gap_ns += line->start_ns - reading->end_ns;
	if (line->end_ns > reading->end_ns)
		reading->end_ns = line->end_ns;
	if (line->end_ns > bucket->end_ns)
		bucket->end_ns = line->end_ns;
	unit = timeline_is_of_time(event_source_of(line->event)) ? 1e-9 : 1;
	/* What lives adds up over space, not over time: that of the last window. */
	if (event_source_of(line->event)->is_live)
		bucket->amount = 0;
	bucket->amount += (double)line->samples * (double)line->period_ns * unit;
	bucket->lost += (double)accounts_lost(&line->accounts) * (double)line->period_ns * unit;
	if (line->period_ns > bucket->period)
		bucket->period = line->period_ns;
	return 0;
}

/* What the history has of the time, so that its buckets are not wasted on time before it. */
static int cut_to_history(const char *folder, struct timeline *timeline, struct fault *fault)
{
	struct store_summary summary;
	int r = store_reader_summary(folder, &summary, fault);

	if (r < 0)
		return r;
	if (timeline->start_ns < summary.first_ns)
		timeline->start_ns = summary.first_ns;
	if (timeline->end_ns > summary.last_ns)
		timeline->end_ns = summary.last_ns;
	return 0;
}

int timeline_read(const char *folder, const struct store_selection *asked, size_t bucket_count,
	struct timeline *ret_timeline, struct fault *fault)
{
	struct timeline timeline = { .start_ns = asked->start_ns, .end_ns = asked->end_ns };
	struct reading reading = { .timeline = &timeline };
	int r = cut_to_history(folder, &timeline, fault);

	event_choice_init(&reading.choice, asked->event);
	timeline.source =
		reading.choice.source ? reading.choice.source : event_source_of(asked->event);
	if (r == 0 && timeline.start_ns < timeline.end_ns) {
		reading.step_ns = (timeline.end_ns - timeline.start_ns) / bucket_count + 1;
		r = store_reader_each(
			folder, timeline.start_ns, timeline.end_ns, add_window, &reading, fault);
	}
	if (r == 0)
		r = incident_log_read(folder, &timeline.incidents, fault);
	if (r < 0) {
		timeline_done(&timeline);
		return r;
	}
	*ret_timeline = timeline;
	return 0;
}

void timeline_done(struct timeline *timeline)
{
	incident_list_done(&timeline->incidents);
	for (size_t i = 0; i < timeline->part_count; i++)
		free(timeline->parts[i].amounts);
	free(timeline->parts);
	profile_free(timeline->names);
	timeline->parts = NULL;
	timeline->names = NULL;
	timeline->part_count = 0;
	free(timeline->buckets);
	timeline->buckets = NULL;
	timeline->count = 0;
}

static double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static double start_of(const struct timeline_bucket *bucket)
{
	return seconds(bucket->start_ns);
}

static double end_of(const struct timeline_bucket *bucket)
{
	return seconds(bucket->end_ns);
}

static double amount_of(const struct timeline_bucket *bucket)
{
	return bucket->amount;
}

static double lost_of(const struct timeline_bucket *bucket)
{
	return bucket->lost;
}

static double gap_of(const struct timeline_bucket *bucket)
{
	return seconds(bucket->gap_ns);
}

static void write_numbers(const struct timeline *timeline, struct json *json)
{
	json_key(json, "period");
	json_begin_array(json);
	for (size_t i = 0; i < timeline->count; i++)
		json_u64(json, timeline->buckets[i].period);
	json_end_array(json);
	json_key(json, "boot");
	json_begin_array(json);
	for (size_t i = 0; i < timeline->count; i++)
		json_u64(json, timeline->buckets[i].is_of_new_boot);
	json_end_array(json);
}

static void write_buckets(const struct timeline *timeline, struct json *json)
{
	static const struct {
		const char *key;
		double (*value_of)(const struct timeline_bucket *bucket);
	} columns[] = {
		{ "start", start_of },
		{ "end", end_of },
		{ "amount", amount_of },
		{ "lost", lost_of },
		{ "gap", gap_of },
	};

	json_key(json, "buckets");
	json_begin_object(json);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		json_key(json, columns[i].key);
		json_begin_array(json);
		for (size_t j = 0; j < timeline->count; j++)
			json_seconds(json, columns[i].value_of(&timeline->buckets[j]));
		json_end_array(json);
	}
	write_numbers(timeline, json);
	json_end_object(json);
}

static void write_parts(const struct timeline *timeline, struct json *json)
{
	json_key(json, "parts");
	json_begin_array(json);
	for (size_t i = 0; i < timeline->part_count; i++) {
		json_begin_object(json);
		json_member_string(json, "name", timeline->parts[i].name);
		json_key(json, "amount");
		json_begin_array(json);
		for (size_t j = 0; j < timeline->count; j++)
			json_seconds(json, timeline->parts[i].amounts[j]);
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

void timeline_write(const struct timeline *timeline, struct output *output)
{
	const struct event_source *source = timeline->source;
	struct json json;

	json_init(&json, output);
	json_begin_object(&json);
	json_member_u64(&json, "version", 1);
	json_member_string(&json, "event", source->name);
	json_member_string(&json, "unit", timeline_is_of_time(source) ? "seconds" : source->unit);
	json_member_bool(&json, "is_cpu", event_source_is_cpu(source));
	json_member_bool(&json, "is_live", source->is_live);
	json_key(&json, "from");
	json_seconds(&json, seconds(timeline->start_ns));
	json_key(&json, "to");
	json_seconds(&json, seconds(timeline->end_ns));
	write_buckets(timeline, &json);
	if (timeline->parts)
		write_parts(timeline, &json);
	json_key(&json, "incidents");
	json_begin_array(&json);
	for (size_t i = 0; i < timeline->incidents.count; i++)
		if (timeline->incidents.items[i].time_ns >= timeline->start_ns &&
			timeline->incidents.items[i].time_ns <= timeline->end_ns)
			incident_write_json(&timeline->incidents.items[i], &json);
	json_end_array(&json);
	json_end_object(&json);
	json_end_line(&json);
}

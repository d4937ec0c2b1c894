/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/profile_json.h"

#include "base/clock.h"
#include "base/json.h"
#include "render/caption.h"
#include "render/frame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Positions in a list, in the order in which they first occur. */
struct numbering {
	uint32_t *numbers; /* by what is numbered; FRAME_NONE: it did not occur */
	uint32_t *items;   /* in their order */
	size_t count;
};

struct writer {
	const struct profile *profile;
	const struct frame_tree *tree;
	struct numbering labels, binaries, files;
	struct json json;
};

static int numbering_init(struct numbering *numbering, size_t size)
{
	numbering->numbers = malloc((size + 1) * sizeof(*numbering->numbers));
	numbering->items = malloc((size + 1) * sizeof(*numbering->items));
	if (!numbering->numbers || !numbering->items)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		numbering->numbers[i] = FRAME_NONE;
	return 0;
}

static void numbering_done(struct numbering *numbering)
{
	free(numbering->numbers);
	free(numbering->items);
}

static void numbering_add(struct numbering *numbering, uint32_t item)
{
	if (numbering->numbers[item] != FRAME_NONE)
		return;
	numbering->numbers[item] = (uint32_t)numbering->count;
	numbering->items[numbering->count++] = item;
}

static const struct frame_place *place_of(const struct writer *writer, const struct frame *frame)
{
	return frame->place == FRAME_NONE ? NULL : &writer->tree->places->items[frame->place];
}

static int number_all(struct writer *writer)
{
	const struct frame_tree *tree = writer->tree;
	int r = numbering_init(&writer->labels, tree->labels->count);

	if (r == 0)
		r = numbering_init(&writer->binaries, writer->profile->binaries.count);
	if (r == 0)
		r = numbering_init(&writer->files, tree->places->count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];

		numbering_add(&writer->labels, frame->label);
		if (frame->binary != FRAME_NONE)
			numbering_add(&writer->binaries, frame->binary);
		if (frame->place != FRAME_NONE)
			numbering_add(&writer->files, frame->place);
	}
	return 0;
}

static const char *string_of(const struct writer *writer, uint32_t string)
{
	return string_pool_get(&writer->profile->strings, string);
}

static void write_labels(struct writer *writer)
{
	struct json *json = &writer->json;
	char name[FRAME_NAME_BYTES];

	json_key(json, "labels");
	json_begin_array(json);
	for (size_t i = 0; i < writer->labels.count; i++) {
		const struct frame_label *label =
			&writer->tree->labels->items[writer->labels.items[i]];
		size_t size = frame_label_format(label, name);

		json_begin_array(json);
		json_string_bytes(json, name, size);
		json_u64(json, label->kind);
		json_end_array(json);
	}
	json_end_array(json);
	json_key(json, "kinds");
	json_begin_array(json);
	for (enum frame_kind i = 0; i < FRAME_KIND_COUNT; i++)
		json_string(json, frame_kind_name(i));
	json_end_array(json);
}

static void write_binaries(struct writer *writer)
{
	struct json *json = &writer->json;

	json_key(json, "binaries");
	json_begin_array(json);
	for (size_t i = 0; i < writer->binaries.count; i++) {
		const struct profile_binary *binary =
			&writer->profile->binaries.items[writer->binaries.items[i]];
		char text[BUILD_ID_HEX_BYTES];

		json_begin_array(json);
		json_string(json, string_of(writer, binary->path));
		json_string(json, build_id_format(&binary->build_id, text));
		json_end_array(json);
	}
	json_end_array(json);
}

/* A place of the frames is a file and a line; each has its entry, so a file may come twice. */
static void write_files(struct writer *writer)
{
	struct json *json = &writer->json;

	json_key(json, "files");
	json_begin_array(json);
	for (size_t i = 0; i < writer->files.count; i++)
		json_string(
			json, string_of(writer,
				      writer->tree->places->items[writer->files.items[i]].file));
	json_end_array(json);
}

static void write_depth(struct writer *writer, const struct frame *frame)
{
	json_u64(&writer->json, frame->depth);
}

static void write_label(struct writer *writer, const struct frame *frame)
{
	json_u64(&writer->json, writer->labels.numbers[frame->label]);
}

static void write_total(struct writer *writer, const struct frame *frame)
{
	json_u64(&writer->json, frame->total);
}

static void write_self(struct writer *writer, const struct frame *frame)
{
	json_u64(&writer->json, frame->self);
}

static void write_number(struct writer *writer, const struct numbering *numbering, uint32_t item)
{
	json_i64(&writer->json, item == FRAME_NONE ? -1 : (int64_t)numbering->numbers[item]);
}

static void write_binary(struct writer *writer, const struct frame *frame)
{
	write_number(writer, &writer->binaries, frame->binary);
}

static void write_file(struct writer *writer, const struct frame *frame)
{
	write_number(writer, &writer->files, frame->place);
}

static void write_line(struct writer *writer, const struct frame *frame)
{
	const struct frame_place *place = place_of(writer, frame);

	json_u64(&writer->json, place ? place->line : 0);
}

static void write_frames(struct writer *writer)
{
	static const struct {
		const char *key;
		void (*write)(struct writer *writer, const struct frame *frame);
	} columns[] = {
		{ "label", write_label },
		{ "depth", write_depth },
		{ "total", write_total },
		{ "self", write_self },
		{ "binary", write_binary },
		{ "file", write_file },
		{ "line", write_line },
	};
	struct json *json = &writer->json;

	json_key(json, "frames");
	json_begin_object(json);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_key(json, columns[i].key);
		json_begin_array(json);
		for (size_t j = 0; j < writer->tree->count; j++)
			columns[i].write(writer, &writer->tree->frames[j]);
		json_end_array(json);
	}
	json_end_object(json);
}

static void write_time(struct json *json, const char *key, uint64_t ns)
{
	json_key(json, key);
	json_seconds(json, (double)ns / NSEC_PER_SEC);
}

/* Seconds by which local time is ahead of UTC. */
static int64_t zone_seconds(uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
	struct tm when;

	return localtime_r(&seconds, &when) ? when.tm_gmtoff : 0;
}

static void write_head(struct writer *writer, const char *title)
{
	const struct profile *profile = writer->profile;
	const struct event_source *source = caption_event_source(profile);
	uint64_t lost = accounts_lost(&profile->accounts);
	struct json *json = &writer->json;

	json_member_u64(json, "version", 1);
	json_member_string(json, "title", title ? title : "Flame graph");
	json_member_string(json, "event", string_of(writer, profile->event));
	json_member_string(
		json, "event_title", event_source_title(string_of(writer, profile->event)));
	json_member_string(json, "unit", source->unit);
	json_member_u64(json, "period", profile->period_ns);
	json_member_bool(json, "is_cpu", event_source_is_cpu(source));
	json_member_u64(json, "cpus", profile->cpu_count);
	write_time(json, "start", profile->start_ns);
	write_time(json, "end", profile->end_ns);
	json_key(json, "zone");
	json_i64(json, zone_seconds(profile->start_ns)); /* as the title has it */
	write_time(json, "covered",
		profile->covered_ns ? profile->covered_ns : profile->end_ns - profile->start_ns);
	json_member_u64(json, "stored", writer->tree->frames[0].total - lost);
	json_member_u64(json, "lost", lost);
	json_member_u64(json, "elided", writer->tree->elided);
	json_member_u64(json, "elided_count", writer->tree->elided_count);
}

static int write_all(struct writer *writer, const char *title, struct output *output)
{
	int r = number_all(writer);

	if (r < 0)
		return r;
	json_init(&writer->json, output);
	json_begin_object(&writer->json);
	write_head(writer, title);
	write_labels(writer);
	write_binaries(writer);
	write_files(writer);
	write_frames(writer);
	json_end_object(&writer->json);
	json_end_line(&writer->json);
	return 0;
}

int profile_json_write(const struct profile *profile, const struct profile_json_options *options,
	struct output *output)
{
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	struct writer writer = { .profile = profile };
	const size_t frames_max = options->frames_max;
	const struct frame_budget budget = {
		.frames = frames_max > 0 && frames_max < PROFILE_JSON_FRAMES_MAX
				  ? frames_max
				  : PROFILE_JSON_FRAMES_MAX,
		.label_bytes = SIZE_MAX,
		.below = options->below,
	};
	int r = frame_tree_new_within(profile, options->detail, &budget, &tree);

	if (r < 0)
		return r;
	writer.tree = tree;
	r = write_all(&writer, options->title, output);
	numbering_done(&writer.labels);
	numbering_done(&writer.binaries);
	numbering_done(&writer.files);
	return r;
}

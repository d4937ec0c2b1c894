/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lives: kept from drain to drain, and put into each window at its end. */
#include "engine/pipeline_state.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "drain/live_map.h"
#include "resolve/live_age.h"

#include <errno.h>
#include <string.h>

enum {
	LIVE_BYTES = 16 << 20,
	ENTRIES_SHARE = 2, /* the other half is for their stacks */
	VICTIMS_MAX = 64,  /* whose memory expires in one sweep; the notes of more of them stay */
};

struct sweeping {
	struct pipeline *pipeline;
	uint32_t victims[VICTIMS_MAX]; /* processes that lost entries */
	size_t victim_count;
};

/* After a day a free was more probably missed than an allocation is of interest. */
#define AGE_NS_MAX (24ULL * 3600 * NSEC_PER_SEC)

static int map_fd(const struct pipeline *pipeline)
{
	return capture_maps(pipeline->capture)->live_fd;
}

static bool has_live_source(const struct pipeline *pipeline)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (event_sources[i].is_live && pipeline->settings.capture.sources & 1U << i)
			return true;
	return false;
}

int pipeline_open_live(struct pipeline *pipeline)
{
	const size_t slots = capture_maps(pipeline->capture)->sizes.live_slots;
	const size_t bytes =
		pipeline->settings.live_bytes ? pipeline->settings.live_bytes : LIVE_BYTES;
	struct live_table_limits limits = {
		.entries_max = bytes / ENTRIES_SHARE / LIVE_ENTRY_BYTES,
		.bytes_max = bytes - bytes / ENTRIES_SHARE,
		.age_ns_max = AGE_NS_MAX,
	};
	int r;

	if (!has_live_source(pipeline))
		return 0;
	if (limits.entries_max > slots)
		limits.entries_max = slots;
	/* The samples of an earlier engine went with it. */
	r = live_map_clear(map_fd(pipeline));
	return r < 0 ? r : live_table_new(&limits, &pipeline->live);
}

bool pipeline_lives(const struct pipeline *pipeline, const struct raw_sample *sample)
{
	const struct pilotlight_live_key key = live_key_of(sample);

	return !event_sources[sample->source].is_live ||
	       live_map_has(map_fd(pipeline), &key, sample->first_ns);
}

void pipeline_forget_live(const struct pipeline *pipeline, const struct raw_sample *sample)
{
	const struct pilotlight_live_key key = live_key_of(sample);

	if (event_sources[sample->source].is_live)
		live_map_forget(map_fd(pipeline), &key);
}

static enum heap_holder holder_of(
	const struct pipeline *pipeline, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	if (key->source != PILOTLIGHT_SOURCE_HEAP_LIVE || !pipeline->heap)
		return HEAP_HOLDER_PROCESS;
	return heap_watch_holder(pipeline->heap, (pid_t)key->tgid, time_ns);
}

static void note_victim(struct sweeping *sweeping, uint32_t tgid)
{
	for (size_t i = 0; i < sweeping->victim_count; i++)
		if (sweeping->victims[i] == tgid)
			return;
	if (sweeping->victim_count < VICTIMS_MAX)
		sweeping->victims[sweeping->victim_count++] = tgid;
}

static void forget(void *context, const struct pilotlight_live_key *key)
{
	struct sweeping *sweeping = context;

	if (holder_of(sweeping->pipeline, key, 0) == HEAP_HOLDER_VICTIM)
		note_victim(sweeping, key->tgid);
	live_map_forget(map_fd(sweeping->pipeline), key);
}

static bool lives(void *context, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	const struct sweeping *sweeping = context;

	if (!live_map_has(map_fd(sweeping->pipeline), key, time_ns))
		return false;
	if (holder_of(sweeping->pipeline, key, time_ns) != HEAP_HOLDER_NONE)
		return true;
	/* Its process has ended, so no free will come. */
	forget(context, key);
	return false;
}

/* A live_function. */
static int find_any(void *context, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count)
{
	(void)context;
	(void)sample;
	(void)labels;
	(void)frames;
	(void)count;
	return 1;
}

/* That a process was killed is of no use when the table has none of its memory. */
static void forget_victims(const struct sweeping *sweeping)
{
	struct pipeline *pipeline = sweeping->pipeline;

	for (size_t i = 0; i < sweeping->victim_count; i++) {
		const struct pilotlight_live_key note = { .tgid = sweeping->victims[i],
			.source = PILOTLIGHT_SOURCE_HEAP_LIVE };

		if (live_table_visit(pipeline->live, PILOTLIGHT_SOURCE_HEAP_LIVE, note.tgid,
			    find_any, NULL) == 0)
			live_map_forget(map_fd(pipeline), &note);
	}
}

static int sweep(struct pipeline *pipeline)
{
	struct sweeping sweeping = { .pipeline = pipeline };
	const struct live_objects objects = {
		.lives = lives,
		.forget = forget,
		.context = &sweeping,
	};
	int r = live_table_sweep(pipeline->live, clock_monotonic_ns(), &objects);

	forget_victims(&sweeping);
	return r;
}

static bool thin(struct pipeline *pipeline, uint64_t share_user)
{
	struct sweeping sweeping = { .pipeline = pipeline };
	const struct live_objects objects = { .forget = forget, .context = &sweeping };
	size_t thinned = live_table_thin(pipeline->live, share_user, &objects);

	forget_victims(&sweeping);
	return thinned > 0;
}

int pipeline_keep_live(struct pipeline *pipeline, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count)
{
	int r = live_table_add(pipeline->live, sample, labels, frames, count);

	/* Once a drain: if all that it holds lives, another sweep finds no room. */
	if (r == -E2BIG && !pipeline->has_swept_live) {
		pipeline->has_swept_live = true;
		r = sweep(pipeline);
		if (r == 0)
			r = live_table_add(pipeline->live, sample, labels, frames, count);
	}
	while (r == -E2BIG && thin(pipeline, sample->share_user))
		r = live_table_add(pipeline->live, sample, labels, frames, count);
	if (r == -E2BIG)
		live_table_refuse(pipeline->live, sample);
	if (r != 0)
		pipeline_forget_live(pipeline, sample);
	return r == LIVE_TABLE_THINNED ? 0 : r;
}

/* What lives at the end of a window. */
struct living {
	struct pipeline *pipeline;
	uint64_t now_ns;
};

/* The last frame: the process was killed, or how old the memory is. */
static const char *mark_of(const struct living *living, const struct raw_sample *sample)
{
	const struct pilotlight_live_key key = live_key_of(sample);
	const uint64_t now_ns = living->now_ns, then_ns = sample->first_ns;

	return holder_of(living->pipeline, &key, then_ns) == HEAP_HOLDER_VICTIM
		       ? "[killed: out of memory]"
		       : live_age_frame(live_age_of(now_ns > then_ns ? now_ns - then_ns : 0));
}

static const struct resolved_frame *mark(const struct resolved_frame *frames, size_t *count,
	const char *name, struct resolved_frame marked[RESOLVED_FRAMES_MAX])
{
	if (*count == RESOLVED_FRAMES_MAX)
		return frames;
	memcpy(marked, frames, *count * sizeof(*frames));
	marked[(*count)++] = (struct resolved_frame){ .binary = RESOLVED_SYNTHETIC, .name = name };
	return marked;
}

/* A live_function. */
static int add_to_window(void *context, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count)
{
	const struct living *living = context;
	struct pipeline *pipeline = living->pipeline;
	const struct aggregator_labels own = {
		.exe = labels->exe, .cgroup = labels->cgroup, .claims = ""
	};
	struct resolved_frame marked[RESOLVED_FRAMES_MAX];
	int r;

	frames = mark(frames, &count, mark_of(living, sample), marked);
	r = aggregator_add(pipeline->open.parts[sample->source].aggregator, sample,
		pipeline->cgroups ? &own : NULL, frames, count);
	pipeline->lacks_live_room |= r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

int pipeline_add_live(struct pipeline *pipeline)
{
	struct living living = { .pipeline = pipeline, .now_ns = clock_monotonic_ns() };
	bool lacked_room = pipeline->lacks_live_room;
	int r;

	/* Another attempt to end the window must not add it again. */
	if (!pipeline->live || pipeline->open.has_live)
		return 0;
	pipeline->open.has_live = true;
	r = sweep(pipeline);
	if (r < 0)
		log_debug("cannot shrink the table of what lives: %s", strerror(-r));
	pipeline->lacks_live_room = false;
	r = 0;
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (event_sources[i].is_live && pipeline->open.parts[i].profile)
			r = live_table_visit(pipeline->live, i, 0, add_to_window, &living);
	if (pipeline->lacks_live_room && !lacked_room)
		log_warning("the profile's memory budget is used up, continuing without some of "
			    "what lives");
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/pipeline_state.h"

#include "base/array.h"
#include "base/event_source.h"
#include "base/log.h"
#include "labels/cgroup_path.h"
#include "resolve/block_frame.h"
#include "resolve/kmem_frame.h"
#include "resolve/tracing_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Facts about a sample's thread, without what its process claims; needs cgroups. */
static void find_labels(struct pipeline *pipeline, const struct raw_sample *sample,
	struct aggregator_labels *ret_labels)
{
	const struct broker_process process = {
		.pid = (pid_t)sample->process.tgid,
		.start_ns = sample->process.start_ns,
	};
	struct mapped_file executable;

	*ret_labels = (struct aggregator_labels){ .exe = "", .cgroup = "", .claims = "" };
	if (process_table_executable(
		    pipeline->processes, process.pid, sample->first_ns, &executable))
		ret_labels->exe = executable.path;
	ret_labels->cgroup =
		cgroup_table_find(pipeline->cgroups, sample->cgroup_id, &process, sample->first_ns);
}

static const char *find_claims(
	struct pipeline *pipeline, const struct raw_sample *sample, const char *cgroup)
{
	const struct broker_process process = {
		.pid = (pid_t)sample->process.tgid,
		.start_ns = sample->process.start_ns,
	};

	return claim_table_find(pipeline->claims, &process, cgroup_path_user(sample->user, cgroup),
		sample->last_ns);
}

static int aggregate(struct pipeline *pipeline, struct pipeline_window *window,
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count)
{
	struct aggregator *aggregator = window->parts[sample->source].aggregator;
	struct aggregator_labels labels = { .exe = "", .cgroup = "", .claims = "" };

	if (pipeline->cgroups)
		find_labels(pipeline, sample, &labels);
	if (event_sources[sample->source].is_live)
		return pipeline_keep_live(pipeline, sample,
			&(struct live_labels){ .exe = labels.exe, .cgroup = labels.cgroup }, frames,
			count);
	if (pipeline->claims)
		labels.claims = find_claims(pipeline, sample, labels.cgroup);
	return aggregator_add(
		aggregator, sample, pipeline->cgroups ? &labels : NULL, frames, count);
}

/* Who answers for the sample (base/user_share.h). */
static uint64_t user_of(struct pipeline *pipeline, const struct raw_sample *sample)
{
	struct aggregator_labels labels = { .cgroup = "" };

	if (pipeline->cgroups)
		find_labels(pipeline, sample, &labels);
	return cgroup_path_user(sample->user, labels.cgroup);
}

void pipeline_add_code(void *context, const struct raw_code *code)
{
	struct pipeline *pipeline = context;
	const struct raw_sample sample = {
		.process = code->process,
		.cgroup_id = code->cgroup_id,
		.user = code->user,
		.first_ns = code->time_ns,
	};
	struct aggregator_labels labels = { .cgroup = "" };

	if (pipeline->cgroups)
		find_labels(pipeline, &sample, &labels);
	runtime_names_add(pipeline->names, cgroup_path_user(code->user, labels.cgroup),
		labels.cgroup[0] == '/' ? 0 : code->cgroup_id, code);
}

static int resolve(struct pipeline *pipeline, const struct raw_sample *sample, uint64_t user,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], bool *ret_lacks_build_ids)
{
	struct raw_sample shared = *sample;
	int count;

	shared.share_user = user;
	process_table_set_user(
		pipeline->processes, (pid_t)sample->process.tgid, sample->first_ns, user);
	binary_table_set_user(pipeline->binaries, user);
	count = resolver_resolve(pipeline->resolver, &shared, frames, ret_lacks_build_ids);
	binary_table_set_user(pipeline->binaries, USER_UNKNOWN);
	return count;
}

static int add_jit_sample(struct pipeline *pipeline, const struct raw_sample *sample, uint64_t user,
	const struct resolved_frame *frames, size_t count)
{
	struct raw_sample numbered = *sample;
	int r = jit_table_note_memory(pipeline->jit, (pid_t)sample->process.tgid, sample->first_ns,
		sample->process.start_ns);

	if (r == 0) {
		numbered.window = pipeline->open.number;
		numbered.share_user = user;
		pipeline->open.waiting++;
		r = late_samples_add(pipeline->late, &numbered, frames, count);
		if (r < 0)
			pipeline->open.waiting--;
	}
	if (r < 0)
		pipeline_forget_live(pipeline, sample);
	return r;
}

enum {
	LABEL_BYTES = (int)KMEM_FRAME_BYTES > (int)BLOCK_FRAME_BYTES ? (int)KMEM_FRAME_BYTES
								     : (int)BLOCK_FRAME_BYTES
};

/* Appends a last frame that has only a name. Returns the number of frames. */
static size_t append_label(
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count, const char *name)
{
	if (count == RESOLVED_FRAMES_MAX)
		count--;
	frames[count] = (struct resolved_frame){ .binary = RESOLVED_SYNTHETIC, .name = name };
	return count + 1;
}

/*
 * Of kernel memory: says what it is, in a last frame in place of those of our tracing. `text` holds
 * its name. Returns the number of frames; 0: it counts already.
 */
static size_t describe_memory(const struct pipeline *pipeline, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count, char text[LABEL_BYTES])
{
	count -= tracing_frames_count(frames, count);
	if (kmem_frame_is_slab(sample, frames, count))
		return 0;
	return append_label(frames, count,
		kmem_frame_of(sample, capture_maps(pipeline->capture)->cache_names_fd, text));
}

/* Adds the disk of block I/O as a last frame in the same way. */
static size_t describe_disk(const struct pipeline *pipeline, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count, char text[LABEL_BYTES])
{
	return append_label(frames, count - tracing_frames_count(frames, count),
		block_frame_of(sample, capture_maps(pipeline->capture)->block_disks_fd, text));
}

/* Of time blocked: appends who ended the wait, if that is known. Returns the number of frames. */
static size_t describe_waker(struct pipeline *pipeline, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count, char text[LABEL_BYTES])
{
	const struct raw_sample *waker = pipeline_take_waker(pipeline, sample);
	struct resolved_frame waker_frames[RESOLVED_FRAMES_MAX];
	bool lacks_build_ids;
	int waker_count;

	if (!waker)
		return count;
	waker_count =
		resolve(pipeline, waker, user_of(pipeline, waker), waker_frames, &lacks_build_ids);
	if (waker_count < 0)
		return count;
	return pipeline_join_waker(sample,
		&(struct pipeline_waker){
			.comm = waker->comm, .frames = waker_frames, .count = (size_t)waker_count },
		frames, count, text);
}

int pipeline_add_sample(void *context, const struct raw_sample *sample)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	struct pipeline *pipeline = context;
	struct raw_sample told;
	char text[LABEL_BYTES];
	uint64_t user;
	bool lacks_build_ids;
	int count, r;

	if (sample->is_waker) {
		pipeline_keep_waker(pipeline, sample);
		return 0;
	}

	/* It is refused, and pipeline_count() finds it in the accounts. */
	if (!pipeline->open.parts[sample->source].profile)
		return -EPROTO;
	if (!span_choice_takes(&pipeline->settings.spans, &sample->context)) {
		pipeline_forget_live(pipeline, sample);
		return DRAIN_NOT_WANTED;
	}
	/* Most allocations are freed at once, so their stacks need no names. */
	if (!pipeline_lives(pipeline, sample))
		return 0;
	user = user_of(pipeline, sample);
	count = resolve(pipeline, sample, user, frames, &lacks_build_ids);
	if (count < 0) {
		pipeline_forget_live(pipeline, sample);
		return count;
	}
	if (event_source_is_kmem(sample->source)) {
		count = (int)describe_memory(pipeline, sample, frames, (size_t)count, text);
		if (count == 0) {
			pipeline_forget_live(pipeline, sample);
			return DRAIN_NOT_WANTED;
		}
	} else if (event_source_is_block(sample->source)) {
		count = (int)describe_disk(pipeline, sample, frames, (size_t)count, text);
	} else if (sample->source == PILOTLIGHT_SOURCE_OFFCPU && sample->address) {
		told = *sample;
		r = (int)describe_waker(pipeline, sample, frames, (size_t)count, text);
		told.is_told_by_frames = r > count;
		count = r;
		sample = &told;
	}
	if (resolved_has_jit(frames, (size_t)count))
		r = add_jit_sample(pipeline, sample, user, frames, (size_t)count);
	else
		r = aggregate(pipeline, &pipeline->open, sample, frames, (size_t)count);
	if (r < 0)
		return r;
	return lacks_build_ids ? DRAIN_ASK_AGAIN : 0;
}

int pipeline_add_late_sample(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count)
{
	struct pipeline *pipeline = context;
	struct pipeline_window *window = &pipeline->open;
	int r = 0;

	if (pipeline->ended.is_there && sample->window == pipeline->ended.number)
		window = &pipeline->ended;
	/* It may have been freed during the wait. */
	if (pipeline_lives(pipeline, sample))
		r = aggregate(pipeline, window, sample, frames, count);
	if (r < 0 && r != -E2BIG)
		return r;
	window->waiting--;
	if (r == -E2BIG)
		window->parts[sample->source].late_refused[sample->path] += sample->count;
	return 0;
}

/* Is this still the file that gave the addresses? It may have been modified since. */
static bool has_image(int fd, const struct elf_image *image)
{
	struct elf_image now;

	return elf_image_read(fd, &now) == 0 && build_id_equal(&now.build_id, &image->build_id) &&
	       now.segment_count == image->segment_count &&
	       memcmp(now.segments, image->segments, now.segment_count * sizeof(*now.segments)) ==
		       0;
}

static int open_binary(struct pipeline *pipeline, const struct pipeline_part *part,
	uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	uint32_t id = aggregator_table_binary(part->aggregator, profile_binary);
	struct symbol_binary opened = { .fd = -1, .debug_fd = -1 };
	struct binary binary;

	if (id == UINT32_MAX)
		return -ENOENT;
	binary_table_get(pipeline->binaries, id, &binary);
	if (!binary.image)
		return -ENOENT; /* its addresses are offsets */
	opened.build_id = binary.build_id;
	opened.path = binary.path;
	opened.user = binary.user;
	if (id < pipeline->symbol_state_count &&
		pipeline->symbol_states[id].serial == binary.serial)
		opened.identity = pipeline->symbol_states[id].identity;
	/* The identity finds the symbols even after the file is gone. */
	if (opened.identity.id.size > 0) {
		*ret_binary = opened;
		return 0;
	}
	if (binary.fd >= 0)
		opened.fd = fcntl(binary.fd, F_DUPFD_CLOEXEC, 3);
	else if (binary.path[0] == '/')
		(void)broker_open_path(pipeline->broker, binary.path, &opened.fd);
	if (opened.fd >= 0 && !has_image(opened.fd, binary.image))
		(void)close(TAKE_FD(opened.fd));
	if (opened.fd < 0 && opened.build_id.size == 0)
		return -ENOENT;
	*ret_binary = opened;
	return 0;
}

int pipeline_open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	const struct pipeline_naming *naming = context;

	return open_binary(naming->pipeline, naming->part, profile_binary, ret_binary);
}

/* Requests symbols while the file exists, and stores the identity that finds them. */
static void request_symbols(struct pipeline *pipeline, const struct pipeline_part *part,
	uint32_t profile_binary, struct pipeline_symbols *state)
{
	struct symbol_binary binary;
	int r;

	state->is_requested = true;
	if (open_binary(pipeline, part, profile_binary, &binary) < 0)
		return;
	r = symbol_identity_of_binary(binary.fd, &binary.build_id, &state->identity);
	if (r == 0)
		r = symbolizer_request(pipeline->symbolizer, &binary);
	/* The user's other binaries wait: try again in the next window. */
	state->is_requested = r != -E2BIG;
	if (r < 0)
		log_debug("cannot look for symbols of '%s': %s, continuing without them",
			binary.path, strerror(-r));
	if (binary.fd >= 0)
		(void)close(binary.fd);
}

static int find_symbol_state(
	struct pipeline *pipeline, uint32_t id, struct pipeline_symbols **ret_state)
{
	int r = ARRAY_RESERVE(pipeline->symbol_states, &pipeline->symbol_state_capacity,
		(size_t)id + 1, pipeline->binary_limits.binaries_max);

	if (r < 0)
		return r;
	while (pipeline->symbol_state_count <= id)
		pipeline->symbol_states[pipeline->symbol_state_count++] =
			(struct pipeline_symbols){ 0 };
	*ret_state = &pipeline->symbol_states[id];
	return 0;
}

static void request_part(struct pipeline *pipeline, struct pipeline_part *part)
{
	struct profile *profile = part->profile;

	while (part->binaries_seen < profile->binaries.count) {
		uint32_t profile_binary = (uint32_t)part->binaries_seen++;
		uint32_t id = aggregator_table_binary(part->aggregator, profile_binary);
		struct pipeline_symbols *state;
		struct binary binary;

		if (id == UINT32_MAX || find_symbol_state(pipeline, id, &state) < 0)
			continue;
		binary_table_get(pipeline->binaries, id, &binary);
		if (state->serial != binary.serial)
			*state = (struct pipeline_symbols){ .serial = binary.serial };
		if (!state->is_requested)
			request_symbols(pipeline, part, profile_binary, state);
		/* The profile stores a build-id already. */
		if (state->identity.kind != PILOTLIGHT_SYMBOL_BUILD_ID)
			profile->binaries.items[profile_binary].symbols = state->identity;
	}
}

void pipeline_request_symbols(struct pipeline *pipeline, struct pipeline_window *window)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (window->parts[i].profile)
			request_part(pipeline, &window->parts[i]);
}

static int name_part(struct pipeline *pipeline, const struct pipeline_part *part)
{
	struct pipeline_naming naming = { .pipeline = pipeline, .part = part };
	struct naming_counters counters = { 0 }, *sum = &pipeline->report.naming;
	int r = naming_run(part->profile, symbolizer_source(pipeline->symbolizer),
		pipeline_open_binary, &naming, &counters);

	sum->binaries += counters.binaries;
	sum->binaries_failed += counters.binaries_failed;
	sum->locations += counters.locations;
	sum->named += counters.named;
	if (r != -E2BIG)
		return r;
	log_warning("the profile's memory budget is used up, continuing without some names");
	return 0;
}

int pipeline_name(struct pipeline *pipeline, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (pipeline->open.parts[i].profile)
			r = name_part(pipeline, &pipeline->open.parts[i]);
	return r < 0 ? fault_set(fault, r, "cannot read symbols: %s", strerror(-r)) : 0;
}

void pipeline_stamp_times(struct pipeline *pipeline)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (pipeline->open.parts[i].profile)
			profile_stamp_times(pipeline->open.parts[i].profile);
}

void pipeline_choose_interpreted(struct pipeline *pipeline, enum interpreted_frames choice)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (pipeline->open.parts[i].profile)
			interpreted_frames_choose(pipeline->open.parts[i].profile, choice);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline_state.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void find_labels(struct pipeline *pipeline, const struct raw_sample *sample,
	struct aggregator_labels *ret_labels)
{
	const struct broker_process process = {
		.pid = (pid_t)sample->process.tgid,
		.start_ns = sample->process.start_ns,
	};
	struct mapped_file executable;

	*ret_labels = (struct aggregator_labels){ .exe = "", .cgroup = "" };
	if (process_table_executable(
		    pipeline->processes, process.pid, sample->first_ns, &executable))
		ret_labels->exe = executable.path;
	ret_labels->cgroup = cgroup_table_find(pipeline->cgroups, sample->cgroup_id, &process);
}

static int aggregate(struct pipeline *pipeline, struct pipeline_window *window,
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count)
{
	struct aggregator_labels labels;

	if (!pipeline->cgroups)
		return aggregator_add(window->aggregator, sample, NULL, frames, count);
	find_labels(pipeline, sample, &labels);
	return aggregator_add(window->aggregator, sample, &labels, frames, count);
}

static int add_jit_sample(struct pipeline *pipeline, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count)
{
	struct raw_sample numbered = *sample;
	int r = jit_table_note_memory(pipeline->jit, (pid_t)sample->process.tgid, sample->first_ns,
		sample->process.start_ns);

	if (r < 0)
		return r;
	numbered.window = pipeline->open.number;
	pipeline->open.waiting++;
	r = late_samples_add(pipeline->late, &numbered, frames, count);
	if (r < 0)
		pipeline->open.waiting--;
	return r;
}

int pipeline_take_sample(void *context, const struct raw_sample *sample)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	struct pipeline *pipeline = context;
	bool lacks_build_ids;
	int count, r;

	count = resolver_resolve(pipeline->resolver, sample, frames, &lacks_build_ids);
	if (count < 0)
		return count;
	if (resolved_has_jit(frames, (size_t)count))
		r = add_jit_sample(pipeline, sample, frames, (size_t)count);
	else
		r = aggregate(pipeline, &pipeline->open, sample, frames, (size_t)count);
	if (r < 0)
		return r;
	return lacks_build_ids ? DRAIN_ASK_AGAIN : 0;
}

int pipeline_take_late(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count)
{
	struct pipeline *pipeline = context;
	struct pipeline_window *window = &pipeline->open;
	int r;

	if (pipeline->ended.profile && sample->window == pipeline->ended.number)
		window = &pipeline->ended;
	window->waiting--;
	r = aggregate(pipeline, window, sample, frames, count);
	if (r != -E2BIG)
		return r;
	window->late_refused[sample->path] += sample->count;
	return 0;
}

/* Is it still the file that the addresses were found in? It may have been written to since. */
static bool has_image(int fd, const struct elf_image *image)
{
	struct elf_image now;

	return elf_image_read(fd, &now) == 0 && build_id_equal(&now.build_id, &image->build_id) &&
	       now.segment_count == image->segment_count &&
	       memcmp(now.segments, image->segments, now.segment_count * sizeof(*now.segments)) ==
		       0;
}

static int open_binary(struct pipeline *pipeline, const struct pipeline_window *window,
	uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	uint32_t id = aggregator_table_binary(window->aggregator, profile_binary);
	struct symbol_binary opened = { .fd = -1, .debug_fd = -1 };
	struct binary binary;

	if (id == UINT32_MAX)
		return -ENOENT;
	binary_table_get(pipeline->binaries, id, &binary);
	if (!binary.image)
		return -ENOENT; /* its addresses are offsets */
	opened.build_id = binary.build_id;
	opened.path = binary.path;
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
	struct pipeline *pipeline = context;

	return open_binary(pipeline, &pipeline->open, profile_binary, ret_binary);
}

/* Has it been wanted before, in another window or by another of its segments? Then not again. */
static bool is_new(
	struct pipeline *pipeline, const struct pipeline_window *window, uint32_t profile_binary)
{
	uint32_t id = aggregator_table_binary(window->aggregator, profile_binary);
	uint8_t bit;

	if (id == UINT32_MAX || id / 8 >= pipeline->wanted_bytes)
		return false;
	bit = (uint8_t)(1 << id % 8);
	if (pipeline->wanted[id / 8] & bit)
		return false;
	pipeline->wanted[id / 8] |= bit;
	return true;
}

void pipeline_want_symbols(struct pipeline *pipeline, struct pipeline_window *window)
{
	while (window->binaries_seen < window->profile->binaries.count) {
		uint32_t profile_binary = (uint32_t)window->binaries_seen++;
		struct symbol_binary binary;
		int r;

		if (!is_new(pipeline, window, profile_binary) ||
			open_binary(pipeline, window, profile_binary, &binary) < 0)
			continue;
		r = symbolizer_want(pipeline->symbolizer, &binary);
		if (r < 0)
			log_debug("cannot look for symbols of '%s': %s, continuing without them",
				binary.path, strerror(-r));
		if (binary.fd >= 0)
			(void)close(binary.fd);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/ring_record.h"

#include "base/event_source.h"

#include <errno.h>
#include <string.h>

enum { BLOCK_OPERATION_MASK = (1 << PILOTLIGHT_BLOCK_DISK_SHIFT) - 1 };

bool ring_record_has_wait(enum pilotlight_source source, uint16_t wait)
{
	if (event_source_is_kmem(source))
		return wait < PILOTLIGHT_KMEM_KINDS;
	if (event_source_is_block(source))
		return (wait & BLOCK_OPERATION_MASK) < PILOTLIGHT_WAITS &&
		       wait >> PILOTLIGHT_BLOCK_DISK_SHIFT <= PILOTLIGHT_BLOCK_DISKS;
	return wait < PILOTLIGHT_WAITS;
}

void ring_record_set_wait(struct raw_sample *sample, enum pilotlight_source source, uint16_t wait)
{
	sample->source = source;
	if (event_source_is_kmem(source)) {
		sample->kind = wait;
		return;
	}
	if (event_source_is_block(source)) {
		sample->kind = wait >> PILOTLIGHT_BLOCK_DISK_SHIFT;
		wait &= BLOCK_OPERATION_MASK;
	}
	sample->wait = (enum pilotlight_wait)wait;
}

int ring_record_header(const void *bytes, size_t size, struct pilotlight_ring_header *ret_header)
{
	struct pilotlight_ring_header header;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	if (header.kind >= PILOTLIGHT_RING_KINDS || header.set >= PILOTLIGHT_SET_COUNT ||
		header.source >= PILOTLIGHT_SOURCES ||
		!ring_record_has_wait((enum pilotlight_source)header.source, header.wait))
		return -EINVAL;
	*ret_header = header;
	return 0;
}

static const char *terminate(const char bytes[], char comm[PILOTLIGHT_COMM_BYTES])
{
	memcpy(comm, bytes, PILOTLIGHT_COMM_BYTES);
	comm[PILOTLIGHT_COMM_BYTES - 1] = '\0';
	return comm;
}

static void set_wait(struct raw_sample *sample, const struct pilotlight_ring_header *header)
{
	ring_record_set_wait(sample, (enum pilotlight_source)header->source, header->wait);
}

static int parse_sample(const void *bytes, size_t size, struct raw_sample *ret_sample,
	char comm[PILOTLIGHT_COMM_BYTES])
{
	const struct pilotlight_ring_sample *header = bytes;
	const uint64_t *ips = (const void *)(header + 1);

	if (size < sizeof(*header) || header->periods == 0 ||
		header->kernel_count > PILOTLIGHT_STACK_DEPTH ||
		header->user_count > PILOTLIGHT_STACK_DEPTH ||
		size != sizeof(*header) + header->kernel_count * sizeof(*ips) +
				header->user_count * sizeof(struct pilotlight_user_frame))
		return -EINVAL;
	*ret_sample = (struct raw_sample){
		.process = header->process,
		.tid = header->tid,
		.cgroup_id = header->cgroup_id,
		.user = header->user,
		.comm = terminate(header->comm, comm),
		.count = header->periods,
		.address = header->address,
		.first_ns = header->time_ns,
		.last_ns = header->time_ns,
		.path = PILOTLIGHT_PATH_RING,
		.kernel_ips = ips,
		.kernel_count = header->kernel_count,
		.user_frames = (const void *)(ips + header->kernel_count),
		.user_count = header->user_count,
	};
	set_wait(ret_sample, &header->header);
	return 0;
}

static int parse_walk(const void *bytes, size_t size, struct raw_sample *ret_sample,
	char comm[PILOTLIGHT_COMM_BYTES])
{
	const struct pilotlight_ring_walk *header = bytes;
	const uint64_t *frames = (const void *)(header + 1);
	const struct pilotlight_runtime_frame *runtime_frames;
	const struct pilotlight_thread_context *context;

	if (size < sizeof(*header) || header->periods == 0 ||
		header->count > PILOTLIGHT_WALK_DEPTH ||
		header->kernel_count > PILOTLIGHT_STACK_DEPTH ||
		header->end >= PILOTLIGHT_WALK_ENDS ||
		header->runtime_count > PILOTLIGHT_RUNTIME_FRAMES_MAX ||
		header->runtime_end >= PILOTLIGHT_RUNTIME_ENDS ||
		header->runtime_language >= PILOTLIGHT_RUNTIME_LANGUAGES ||
		size != sizeof(*header) +
				((size_t)header->count + header->kernel_count) * sizeof(*frames) +
				header->runtime_count * sizeof(*runtime_frames) +
				header->has_context * sizeof(*context))
		return -EINVAL;
	runtime_frames = (const void *)(frames + header->count);
	context = (const void *)(runtime_frames + header->runtime_count);
	*ret_sample = (struct raw_sample){
		.process = header->process,
		.tid = header->tid,
		.cgroup_id = header->cgroup_id,
		.user = header->user,
		.comm = terminate(header->comm, comm),
		.count = header->periods,
		.address = header->address,
		.first_ns = header->time_ns,
		.last_ns = header->time_ns,
		.path = PILOTLIGHT_PATH_RING,
		.kernel_ips = (const void *)(context + header->has_context),
		.kernel_count = header->kernel_count,
		.walker = PILOTLIGHT_WALKER_TABLES,
		.walk_frames = frames,
		.walk_count = header->count,
		.walk_end = (enum pilotlight_walk_end)header->end,
		.walk_hash = header->hash,
		.runtime_frames = runtime_frames,
		.runtime_count = header->runtime_count,
		.runtime_end = (enum pilotlight_runtime_end)header->runtime_end,
		.runtime_file = header->runtime_file,
		.runtime_language = (enum pilotlight_runtime_language)header->runtime_language,
	};
	if (header->has_context)
		ret_sample->context = *context;
	ret_sample->is_waker = header->header.kind == PILOTLIGHT_RING_WAKER;
	set_wait(ret_sample, &header->header);
	return 0;
}

int ring_record_parse(const void *bytes, size_t size, struct raw_sample *ret_sample,
	char comm[PILOTLIGHT_COMM_BYTES])
{
	struct pilotlight_ring_header header;
	int r = ring_record_header(bytes, size, &header);

	if (r < 0)
		return r;
	if (header.kind == PILOTLIGHT_RING_CODE)
		return -EINVAL;
	return header.kind == PILOTLIGHT_RING_SAMPLE ? parse_sample(bytes, size, ret_sample, comm)
						     : parse_walk(bytes, size, ret_sample, comm);
}

int ring_record_parse_code(const void *bytes, size_t size, struct raw_code *ret_code)
{
	const struct pilotlight_ring_code *record = bytes;
	struct pilotlight_ring_header header;
	const size_t contents_at = offsetof(struct pilotlight_ring_code, code);
	int r = ring_record_header(bytes, size, &header);

	if (r < 0)
		return r;
	if (header.kind != PILOTLIGHT_RING_CODE || size < contents_at)
		return -EINVAL;
	*ret_code = (struct raw_code){
		.process = record->process,
		.cgroup_id = record->cgroup_id,
		.user = record->user,
		.time_ns = record->time_ns,
		.contents = &record->code,
		.size = size - contents_at,
	};
	return 0;
}

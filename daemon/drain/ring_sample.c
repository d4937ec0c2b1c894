/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/ring_sample.h"

#include <errno.h>
#include <string.h>

static int read_header(const void *bytes, size_t size, struct pilotlight_ring_header *header)
{
	if (size < sizeof(*header))
		return -EINVAL;
	memcpy(header, bytes, sizeof(*header));
	if (header->kind >= PILOTLIGHT_RING_KINDS || header->set >= PILOTLIGHT_SET_COUNT)
		return -EINVAL;
	return 0;
}

int ring_record_kind(const void *bytes, size_t size)
{
	struct pilotlight_ring_header header;
	int r = read_header(bytes, size, &header);

	return r < 0 ? r : (int)header.kind;
}

int ring_record_set(const void *bytes, size_t size)
{
	struct pilotlight_ring_header header;
	int r = read_header(bytes, size, &header);

	return r < 0 ? r : (int)header.set;
}

int ring_sample_parse(const void *bytes, size_t size, struct ring_sample *ret_sample)
{
	struct ring_sample sample;
	const char *frames = (const char *)bytes + sizeof(sample.header);
	size_t kernel_bytes, user_bytes;

	if (size < sizeof(sample.header) || ring_record_kind(bytes, size) != PILOTLIGHT_RING_SAMPLE)
		return -EINVAL;
	memcpy(&sample.header, bytes, sizeof(sample.header));
	if (sample.header.kernel_count > PILOTLIGHT_STACK_DEPTH ||
		sample.header.user_count > PILOTLIGHT_STACK_DEPTH)
		return -EINVAL;
	kernel_bytes = sample.header.kernel_count * sizeof(*sample.kernel_ips);
	user_bytes = sample.header.user_count * sizeof(*sample.user_frames);
	if (size != sizeof(sample.header) + kernel_bytes + user_bytes)
		return -EINVAL;
	sample.header.comm[PILOTLIGHT_COMM_BYTES - 1] = '\0';
	sample.kernel_ips = (const __u64 *)(const void *)frames;
	sample.user_frames =
		(const struct pilotlight_user_frame *)(const void *)(frames + kernel_bytes);
	*ret_sample = sample;
	return 0;
}

int ring_walk_parse(const void *bytes, size_t size, struct ring_walk *ret_walk)
{
	int kind = ring_record_kind(bytes, size);
	struct ring_walk walk;

	if (size < sizeof(walk.header) ||
		(kind != PILOTLIGHT_RING_WALK && kind != PILOTLIGHT_RING_WALKED_SAMPLE))
		return -EINVAL;
	memcpy(&walk.header, bytes, sizeof(walk.header));
	if (walk.header.count > PILOTLIGHT_WALK_DEPTH ||
		walk.header.kernel_count > PILOTLIGHT_STACK_DEPTH ||
		walk.header.end >= PILOTLIGHT_WALK_ENDS ||
		size != sizeof(walk.header) +
				(walk.header.count + walk.header.kernel_count) * sizeof(__u64))
		return -EINVAL;
	walk.header.comm[PILOTLIGHT_COMM_BYTES - 1] = '\0';
	walk.frames = (const __u64 *)(const void *)((const char *)bytes + sizeof(walk.header));
	walk.kernel_ips = walk.frames + walk.header.count;
	*ret_walk = walk;
	return 0;
}

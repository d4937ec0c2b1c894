/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the ring buffer: samples, and stacks that the sampler has unwound. */
#include "drain/ring_sample.h"
#include "drain/walk_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { STACKS_MAX = 2 };

static uint64_t sum_of_sample(const void *record, size_t size)
{
	struct ring_sample sample;
	uint64_t sum;

	if (ring_sample_parse(record, size, &sample) < 0)
		return 0;
	sum = strlen(sample.header.comm);
	for (size_t i = 0; i < sample.header.kernel_count; i++)
		sum += sample.kernel_ips[i];
	for (size_t i = 0; i < sample.header.user_count; i++)
		sum += sample.user_frames[i].offset_or_ip + sample.user_frames[i].build_id[19];
	return sum;
}

static uint64_t sum_of_walk(const void *record, size_t size)
{
	const struct walked_stack *stack;
	struct walk_table table;
	struct ring_walk walk;
	uint64_t sum;

	if (ring_walk_parse(record, size, &walk) < 0)
		return 0;
	sum = strlen(walk.header.comm);
	for (size_t i = 0; i < walk.header.kernel_count; i++)
		sum += walk.kernel_ips[i];
	walk_table_init(&table, STACKS_MAX);
	if (walk_table_add(&table, &walk) == 0) {
		stack = walk_table_find(&table, walk.header.hash);
		if (!stack)
			abort();
		for (size_t i = 0; i < stack->count; i++)
			sum += table.frames[stack->first_frame + i];
	}
	walk_table_done(&table);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* BPF aligns its records. A copy of exactly the record's length exposes reads beyond it. */
	void *record = malloc(size ? size : 1);
	uint64_t sum = 0;

	if (!record)
		return 0;
	memcpy(record, bytes, size);
	switch (ring_record_kind(record, size)) {
	case PILOTLIGHT_RING_SAMPLE:
		sum = sum_of_sample(record, size);
		break;
	case PILOTLIGHT_RING_WALK:
	case PILOTLIGHT_RING_WALKED_SAMPLE:
		sum = sum_of_walk(record, size);
		break;
	default:
		break;
	}
	free(record);
	return sum == 42 ? 1 : 0;
}

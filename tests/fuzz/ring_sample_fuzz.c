/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the ring buffer: samples, and stacks that the sampler has unwound. */
#include "drain/ring_record.h"
#include "drain/walk_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { STACKS_MAX = 2 };

static uint64_t sum_of_stack(const struct raw_sample *sample)
{
	const struct walked_stack *stack;
	struct walk_table table;
	uint64_t sum = 0;

	walk_table_init(&table, STACKS_MAX);
	if (walk_table_add(&table, sample) == 0) {
		stack = walk_table_find(&table, sample->walk_hash);
		if (!stack)
			abort();
		for (size_t i = 0; i < stack->count; i++)
			sum += table.frames[stack->first_frame + i];
	}
	walk_table_done(&table);
	return sum;
}

static uint64_t sum_of_sample(const struct raw_sample *sample)
{
	uint64_t sum = strlen(sample->comm);

	if (sample->count == 0 || sample->source >= PILOTLIGHT_SOURCES ||
		sample->wait >= PILOTLIGHT_WAITS || sample->kind >= PILOTLIGHT_KMEM_KINDS)
		abort();
	for (size_t i = 0; i < sample->kernel_count; i++)
		sum += sample->kernel_ips[i];
	for (size_t i = 0; i < sample->user_count; i++)
		sum += sample->user_frames[i].offset_or_ip + sample->user_frames[i].build_id[19];
	return sum + (sample->walker == PILOTLIGHT_WALKER_TABLES ? sum_of_stack(sample) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* BPF aligns its records. A copy of exactly the record's length exposes reads beyond it. */
	void *record = malloc(size ? size : 1);
	char comm[PILOTLIGHT_COMM_BYTES];
	struct raw_sample sample;
	uint64_t sum = 0;

	if (!record)
		return 0;
	memcpy(record, bytes, size);
	if (ring_record_parse(record, size, &sample, comm) == 0)
		sum = sum_of_sample(&sample);
	free(record);
	return sum == 42 ? 1 : 0;
}

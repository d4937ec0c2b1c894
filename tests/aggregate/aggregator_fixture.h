/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile, and the tables that samples are resolved by. */
#pragma once

#include "aggregate/aggregator.h"
#include "labels/cgroup_path.h"
#include "process/process_scan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct broker *broker;
	struct process_table *processes;
	struct binary_table *binaries;
	struct profile *profile;
	struct aggregator *aggregator;
	uint32_t kernel, jit;
	struct user_excess excess;
	struct user_share seen; /* the users of floods */
};

static inline int open_fixture(struct fixture *fixture, size_t profile_budget)
{
	const struct broker_options options = { .proc_root = "/proc",
		.debug_root = "/usr/lib/debug" };
	const struct kernel_image image = { .name = "[kernel.kallsyms]" };
	int r;

	*fixture = (struct fixture){ 0 };
	r = broker_new(&options, &fixture->broker);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &fixture->processes);
	if (r == 0)
		r = binary_table_new(&binary_table_default_limits, fixture->broker,
			fixture->processes, &fixture->binaries);
	if (r == 0)
		r = profile_new(profile_budget, &fixture->profile);
	if (r == 0)
		r = aggregator_new(fixture->profile, fixture->binaries, &fixture->excess,
			&fixture->aggregator);
	if (r == 0)
		r = binary_table_find_jit(fixture->binaries, 7, 1, &fixture->jit);
	if (r == 0)
		r = binary_table_find_kernel_image(fixture->binaries, 0, &image, &fixture->kernel);
	return r;
}

static inline void close_fixture(struct fixture *fixture)
{
	aggregator_free(fixture->aggregator);
	profile_free(fixture->profile);
	binary_table_free(fixture->binaries);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

static inline struct raw_sample sample_of(uint32_t tid, const char *comm)
{
	return (struct raw_sample){
		.process = { .tgid = 7, .start_ns = 1 },
		.tid = tid,
		.comm = comm,
		.count = 2,
		.first_ns = 10,
		.last_ns = 20,
	};
}

/* The samples in the profile. */
static inline uint64_t stored(const struct fixture *fixture)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < fixture->profile->samples.count; i++)
		sum += fixture->profile->samples.items[i].count;
	return sum;
}

static inline const char *string_of(const struct fixture *fixture, uint32_t id)
{
	return string_pool_get(&fixture->profile->strings, id);
}

/* The frame of the location that node `node` is of. */
static inline const struct profile_frame *frame_of(const struct fixture *fixture, size_t node)
{
	const struct profile *profile = fixture->profile;
	const struct profile_location *location =
		&profile->locations.items[profile->nodes.items[node].location];

	assert_int_equal(location->frame_count, 1);
	return &profile->frames.items[location->first_frame];
}

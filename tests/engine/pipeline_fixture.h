/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipeline that is fed by made_up_capture.h. For one test program each. */
#pragma once

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "engine/pipeline.h"
#include "tests/engine/made_up_capture.h"

#include <errno.h>
#include <poll.h>

#define CPU	 PILOTLIGHT_SOURCE_CPU
#define OFFCPU	 PILOTLIGHT_SOURCE_OFFCPU
#define RUNQUEUE PILOTLIGHT_SOURCE_RUNQUEUE

enum {
	IMAGES_MAX = 4096,
	/* More than there are processes. */
	FIRST_PID = 5000000,
	RUNS = 6, /* turns: more than anything that is due takes */
};

static const uint64_t CODE = 0x7000000000;

static struct broker *broker; /* of the test, as the next */
static struct pipeline *pipeline;
static struct accounts drained; /* pipeline_accounts() when drained() was last called */
static uint64_t fired, taken;	/* put into the maps; and in windows that were taken */

static inline void note_accounts(void *context)
{
	drained = pipeline_accounts(pipeline)->of[CPU];
}

static inline int set_up(void **state)
{
	world_reset();
	memset(&drained, 0, sizeof(drained));
	fired = taken = 0;
	return broker_new(NULL, &broker);
}

static inline int tear_down(void **state)
{
	world.check = NULL;
	pipeline_free(TAKE_PTR(pipeline));
	broker_free(TAKE_PTR(broker));
	world_reset();
	return 0;
}

static inline void open_pipeline_with(uint32_t sources, uint32_t surveyed, uint64_t survey_ns)
{
	struct process_table_limits processes = process_table_default_limits;
	const struct pipeline_settings settings = {
		.capture = {
			.rate_hz = 99,
			.sources = sources,
			.surveyed = surveyed,
			.periods = { [OFFCPU] = surveyed ? survey_ns : 1000000,
				[RUNQUEUE] = surveyed ? survey_ns : 2000000,
				[PILOTLIGHT_SOURCE_KMEM_ALLOC] = 4096,
				[PILOTLIGHT_SOURCE_KMEM_LIVE] = 4096,
				[PILOTLIGHT_SOURCE_HEAP_LIVE] = 4096 },
		},
		.broker = broker,
		.capture_fd = -1,
		.profile_budget_bytes = 4 << 20,
		.process_limits = &processes,
		.drained = note_accounts,
		.survey_ppm = 500000,
	};
	struct fault fault = { 0 };

	processes.images = IMAGES_MAX;
	if (pipeline_open(&settings, &pipeline, &fault) < 0 || pipeline_start(pipeline, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(world.starts, 1);
}

static inline void open_pipeline_of(uint32_t sources)
{
	open_pipeline_with(sources, 0, 0);
}

static inline void open_pipeline(void)
{
	open_pipeline_of(0);
}

/* Waits for what it waits for. */
static inline void run(unsigned times)
{
	struct pollfd waited = { .fd = pipeline_poll_fd(pipeline), .events = POLLIN };
	struct fault fault = { 0 };

	while (times-- > 0) {
		assert_int_equal(poll(&waited, 1, -1), 1);
		if (pipeline_run(pipeline, &fault) < 0)
			fail_msg("%s", fault.text);
	}
}

static inline void put_sample_of(enum pilotlight_source source, uint64_t count, uint64_t user_ip)
{
	assert_true(world.sample_count < MADE_UP_SAMPLES_MAX);
	world.samples[world.sample_count++] = (struct made_up_sample){
		.tgid = (uint32_t)getpid(),
		.count = count,
		.time_ns = clock_monotonic_ns(),
		.user_ip = user_ip,
		.source = source,
	};
	fired += count;
}

static inline void put_sample(uint64_t count, uint64_t user_ip)
{
	put_sample_of(CPU, count, user_ip);
}

static inline struct sideband_record *put_records(size_t count)
{
	assert_null(world.records);
	world.records = calloc(count, sizeof(*world.records));
	assert_non_null(world.records);
	world.record_count = count;
	return world.records;
}

/* This process generates code without a jitdump or a perf map. */
static inline void generate_code(void)
{
	*put_records(1) = (struct sideband_record){
		.time_ns = clock_monotonic_ns(),
		.kind = SIDEBAND_MAP,
		.pid = getpid(),
		.tid = getpid(),
		.start = CODE,
		.end = CODE + 4096,
		.text = "[anon:jit code]",
	};
}

/* As many processes as there is room for have come and gone. */
static inline void come_and_go(void)
{
	struct sideband_record *records = put_records(2 * IMAGES_MAX);

	for (int i = 0; i < IMAGES_MAX; i++) {
		records[2 * i] = (struct sideband_record){
			.time_ns = clock_monotonic_ns(),
			.kind = SIDEBAND_FORK,
			.pid = FIRST_PID + i,
			.tid = FIRST_PID + i,
			.parent = 1,
		};
		records[2 * i + 1] = records[2 * i];
		records[2 * i + 1].kind = SIDEBAND_EXIT;
	}
}

static inline void cut(void)
{
	struct fault fault = { 0 };

	if (pipeline_cut(pipeline, &fault) < 0)
		fail_msg("%s", fault.text);
}

static inline int take(bool is_hurried, struct accounts *ret_accounts)
{
	struct profile_set profiles = { 0 };
	struct fault fault = { 0 };
	uint64_t monotonic_ns;
	int r = pipeline_take_window(pipeline, is_hurried, &profiles, &monotonic_ns, &fault);

	if (r == 0) {
		*ret_accounts = profiles.of[CPU]->accounts;
		assert_true(accounts_close(ret_accounts));
		taken += ret_accounts->fired;
	}
	profile_set_done(&profiles);
	return r;
}

#define PIPELINE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

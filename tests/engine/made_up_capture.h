/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture and a drain as a test wants them, in the place of those that need a kernel and
 * privileges: this defines the functions of capture/capture.h, capture/sideband.h, drain/drain.h
 * and drain/live_map.h that a pipeline uses. Samples and records are what the test puts there;
 * whenever the pipeline asks for anything, the test's own check is made.
 */
#pragma once

#include "capture/capture.h"
#include "capture/sideband.h"
#include "drain/drain.h"
#include "drain/live_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
	MADE_UP_SAMPLES_MAX = 8,
	/* So long that no drain of any test is due by itself. */
	MADE_UP_PERIOD_MS = 3600000,
};

struct made_up_sample {
	uint32_t tgid;
	uint64_t count, time_ns;
	uint64_t user_ip; /* 0: it has no frames */
	enum pilotlight_source source;
	uint64_t address; /* of what was allocated */
	uint16_t kind;
};

static struct {
	bool is_taken_over;
	int follow_error, blocked_error;
	uint64_t blocked_before_ns;		/* of the last capture_take_blocked() */
	unsigned blocked_takes, blocked_pauses; /* that many calls need another one */
	/* Of capture_survey(): its answers, and what was asked for. */
	int survey_us;
	unsigned surveys, survey_pauses;
	uint64_t survey_periods;
	uint32_t survey_periods_max;
	uint32_t cpus; /* that are sampled */
	struct pilotlight_counters left_behind[PILOTLIGHT_SOURCES];
	uint32_t lacks; /* sources that the machine cannot sample */
	struct made_up_sample samples[MADE_UP_SAMPLES_MAX]; /* in the maps */
	size_t sample_count;
	struct sideband_record *records; /* freed when they are read */
	size_t record_count;
	void (*check)(void);
	struct map_sizes *sizes; /* of the capture that is open */
	/* Addresses from here to there live; how many are forgotten. */
	uint64_t lives_from, lives_to;
	unsigned forgotten, live_clears;
	/* What was done. */
	unsigned starts, stops, follows, flips, windows;
	uint64_t records_read;
} world;

struct capture {
	struct capture_maps maps;
	uint32_t active_window, rate_hz;
	struct sideband *sideband;
};

struct sideband {
	int poll_fd; /* always readable */
};

struct drain {
	int poll_fd; /* never */
};

static void check(void)
{
	if (world.check)
		world.check();
}

static inline void world_reset(void)
{
	free(world.records);
	memset(&world, 0, sizeof(world));
	world.cpus = 1;
}

static inline uint64_t world_samples(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < world.sample_count; i++)
		sum += world.samples[i].count;
	return sum;
}

/* --- capture --- */

int capture_connect(int fd, const struct capture_settings *settings, struct capture **ret_capture,
	struct fault *fault)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	(void)fd;
	(void)fault;
	assert_non_null(capture);
	capture->sideband = calloc(1, sizeof(*capture->sideband));
	assert_non_null(capture->sideband);
	capture->sideband->poll_fd = eventfd(1, EFD_CLOEXEC);
	assert_true(capture->sideband->poll_fd >= 0);
	capture->maps.active_window = &capture->active_window;
	capture->maps.sizes.drain_period_ms = MADE_UP_PERIOD_MS;
	capture->maps.sizes.cpu_count = 2;
	capture->maps.sizes.live_slots = 64;
	capture->maps.live_fd = capture->maps.cache_names_fd = capture->maps.block_disks_fd = -1;
	world.sizes = &capture->maps.sizes;
	capture->rate_hz = settings->rate_hz;
	*ret_capture = capture;
	return 0;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	(void)close(capture->sideband->poll_fd);
	free(capture->sideband);
	free(capture);
}

bool capture_is_taken_over(const struct capture *capture)
{
	(void)capture;
	return world.is_taken_over;
}

const struct pilotlight_counters *capture_left_behind(const struct capture *capture)
{
	(void)capture;
	return world.left_behind;
}

const char *capture_missing(const struct capture *capture, enum pilotlight_source source)
{
	(void)capture;
	return world.lacks & 1U << source ? "the kernel lacks it" : "";
}

int capture_take_blocked(struct capture *capture, uint64_t before_ns)
{
	(void)capture;
	check();
	world.blocked_before_ns = before_ns;
	world.blocked_takes++;
	if (world.blocked_pauses > 0) {
		world.blocked_pauses--;
		return -EAGAIN;
	}
	return world.blocked_error;
}

int capture_survey(struct capture *capture, uint32_t periods)
{
	(void)capture;
	check();
	if (world.survey_pauses > 0) {
		world.survey_pauses--;
		return -EAGAIN;
	}
	world.surveys++;
	world.survey_periods += periods;
	if (periods > world.survey_periods_max)
		world.survey_periods_max = periods;
	return world.survey_us;
}

int capture_set_probe(struct capture *capture, const struct pilotlight_capture_probe *probe)
{
	(void)capture;
	(void)probe;
	return -EOPNOTSUPP;
}

int capture_set_runtime(
	struct capture *capture, uint32_t number, const struct pilotlight_runtime *runtime)
{
	(void)capture;
	(void)number;
	(void)runtime;
	return -EOPNOTSUPP;
}

int capture_start(struct capture *capture, struct fault *fault)
{
	(void)capture;
	(void)fault;
	check();
	world.starts++;
	return 0;
}

void capture_stop(struct capture *capture)
{
	(void)capture;
	check();
	world.stops++;
}

int capture_list_files(struct capture *capture)
{
	(void)capture;
	return -EOPNOTSUPP;
}

int capture_follow_cpus(struct capture *capture)
{
	(void)capture;
	check();
	world.follows++;
	return world.follow_error < 0 ? world.follow_error : 1;
}

int capture_forget(struct capture *capture)
{
	(void)capture;
	return 0;
}

int capture_follow(struct capture *capture, pid_t pid)
{
	(void)capture;
	(void)pid;
	return 0;
}

int capture_set_rate(struct capture *capture, uint32_t rate_hz)
{
	capture->rate_hz = rate_hz;
	return 0;
}

uint32_t capture_rate_hz(const struct capture *capture)
{
	return capture->rate_hz;
}

const char *capture_event_name(const struct capture *capture)
{
	(void)capture;
	return "cpu-clock";
}

uint32_t capture_cpu_count(const struct capture *capture)
{
	(void)capture;
	return world.cpus;
}

const struct capture_maps *capture_maps(const struct capture *capture)
{
	return &capture->maps;
}

const struct walk_maps *capture_walk_maps(const struct capture *capture)
{
	(void)capture;
	return NULL;
}

struct sideband *capture_sideband(struct capture *capture)
{
	return capture->sideband;
}

uint64_t capture_expected_samples(struct capture *capture)
{
	(void)capture;
	return 0;
}

void capture_read_cost(const struct capture *capture, struct capture_cost *ret_cost)
{
	(void)capture;
	*ret_cost = (struct capture_cost){ 0 };
}

/* --- the side-band --- */

int sideband_poll_fd(const struct sideband *sideband)
{
	return sideband->poll_fd;
}

bool sideband_reports_cgroups(const struct sideband *sideband)
{
	(void)sideband;
	return true;
}

int sideband_read(
	struct sideband *sideband, uint64_t until_ns, sideband_function function, void *context)
{
	struct sideband_record *records = TAKE_PTR(world.records);
	size_t count = world.record_count;

	(void)sideband;
	(void)until_ns;
	check();
	world.record_count = 0;
	for (size_t i = 0; i < count; i++)
		function(context, &records[i]);
	world.records_read += count;
	free(records);
	return 0;
}

void sideband_counters(const struct sideband *sideband, struct sideband_counters *ret_counters)
{
	(void)sideband;
	*ret_counters = (struct sideband_counters){ .records = world.records_read };
}

/* --- what lives --- */

bool live_map_has(int map_fd, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	(void)map_fd;
	(void)time_ns;
	return key->address >= world.lives_from && key->address < world.lives_to;
}

void live_map_forget(int map_fd, const struct pilotlight_live_key *key)
{
	(void)map_fd;
	(void)key;
	world.forgotten++;
}

int live_map_clear(int map_fd)
{
	(void)map_fd;
	world.live_clears++;
	return 0;
}

/* --- drain --- */

int drain_new(const struct capture_maps *maps, struct drain **ret_drain)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	(void)maps;
	assert_non_null(drain);
	drain->poll_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(drain->poll_fd >= 0);
	*ret_drain = drain;
	return 0;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	(void)close(drain->poll_fd);
	free(drain);
}

void drain_set_codes(struct drain *drain, drain_code_function function, void *context)
{
	(void)drain;
	(void)function;
	(void)context;
}

int drain_poll_fd(const struct drain *drain)
{
	return drain->poll_fd;
}

int drain_flip(struct drain *drain)
{
	(void)drain;
	check();
	world.flips++;
	return 0;
}

static void hand_out(const struct made_up_sample *made_up, drain_function function, void *context,
	struct accounts *accounts)
{
	const struct raw_sample sample = {
		.process = { .tgid = made_up->tgid },
		.tid = made_up->tgid,
		.comm = "made-up",
		.source = made_up->source,
		.kind = made_up->kind,
		.address = made_up->address,
		.count = made_up->count,
		.first_ns = made_up->time_ns,
		.last_ns = made_up->time_ns,
		.path = PILOTLIGHT_PATH_MAP,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.user_ips = &made_up->user_ip,
		.user_ip_count = made_up->user_ip ? 1 : 0,
	};
	int r;

	accounts->fired += sample.count;
	accounts->stored[sample.path] += sample.count;
	r = function(context, &sample);
	if (r < 0 || r == DRAIN_NOT_WANTED)
		accounts_move(accounts, sample.path,
			r < 0 ? PILOTLIGHT_DROP_PROFILE_FULL : PILOTLIGHT_DROP_FILTERED,
			sample.count);
}

int drain_window(struct drain *drain, drain_function function, void *context,
	struct accounts ret_accounts[PILOTLIGHT_SOURCES])
{
	struct accounts accounts[PILOTLIGHT_SOURCES] = { 0 };

	(void)drain;
	check();
	for (size_t i = 0; i < world.sample_count; i++)
		hand_out(&world.samples[i], function, context, &accounts[world.samples[i].source]);
	world.sample_count = 0;
	world.windows++;
	memcpy(ret_accounts, accounts, sizeof(accounts));
	return 0;
}

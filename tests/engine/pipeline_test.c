/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a pipeline drains, and what its windows and accounts are, whatever it is fed with. */
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

static void note_accounts(void *context)
{
	drained = pipeline_accounts(pipeline)->of[CPU];
}

static int set_up(void **state)
{
	world_reset();
	memset(&drained, 0, sizeof(drained));
	fired = taken = 0;
	return broker_new(NULL, &broker);
}

static int tear_down(void **state)
{
	world.check = NULL;
	pipeline_free(TAKE_PTR(pipeline));
	broker_free(TAKE_PTR(broker));
	world_reset();
	return 0;
}

static void open_pipeline_of(uint32_t sources)
{
	struct process_table_limits processes = process_table_default_limits;
	const struct pipeline_settings settings = {
		.capture = {
			.rate_hz = 99,
			.sources = sources,
			.periods = { [OFFCPU] = 1000000, [RUNQUEUE] = 2000000 },
		},
		.broker = broker,
		.capture_fd = -1,
		.profile_budget_bytes = 4 << 20,
		.process_limits = &processes,
		.drained = note_accounts,
	};
	struct fault fault = { 0 };

	processes.images = IMAGES_MAX;
	if (pipeline_open(&settings, &pipeline, &fault) < 0 || pipeline_start(pipeline, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(world.starts, 1);
}

static void open_pipeline(void)
{
	open_pipeline_of(0);
}

/* Waits for what it waits for. */
static void run(unsigned times)
{
	struct pollfd waited = { .fd = pipeline_poll_fd(pipeline), .events = POLLIN };
	struct fault fault = { 0 };

	while (times-- > 0) {
		assert_int_equal(poll(&waited, 1, -1), 1);
		if (pipeline_run(pipeline, &fault) < 0)
			fail_msg("%s", fault.text);
	}
}

static void put_sample_of(enum pilotlight_source source, uint64_t count, uint64_t user_ip)
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

static void put_sample(uint64_t count, uint64_t user_ip)
{
	put_sample_of(CPU, count, user_ip);
}

static struct sideband_record *put_records(size_t count)
{
	assert_null(world.records);
	world.records = calloc(count, sizeof(*world.records));
	assert_non_null(world.records);
	world.record_count = count;
	return world.records;
}

/* This process generates code without a jitdump or a perf map. */
static void generate_code(void)
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
static void come_and_go(void)
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

static void cut(void)
{
	struct fault fault = { 0 };

	if (pipeline_cut(pipeline, &fault) < 0)
		fail_msg("%s", fault.text);
}

static int take(bool is_hurried, struct accounts *ret_accounts)
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

static void no_drain_comes_early(void **state)
{
	open_pipeline();
	run(RUNS);
	assert_int_equal(world.windows, 0);
	assert_int_equal(pipeline_drains(pipeline), 0);
}

static void samples_of_an_earlier_engine_are_drained_at_once(void **state)
{
	world.is_taken_over = true;
	put_sample(7, 0);
	open_pipeline();
	run(RUNS);
	assert_int_equal(world.windows, 1);
	assert_int_equal(accounts_stored(&pipeline_accounts(pipeline)->of[CPU]), 7);
}

/* The end of a window drains as well. */
static void a_cut_postpones_the_next_drain(void **state)
{
	world.is_taken_over = true; /* one is due at once */
	open_pipeline();
	cut();
	run(RUNS);
	assert_int_equal(pipeline_drains(pipeline), 1);
	/* It may always be sooner than the next is due: what else is looked after then is. */
	assert_int_equal(world.follows, 1);
}

/* A process can fill a window with names. The engine must not end over it. */
static void a_window_without_room_for_strings_ends_like_any_other(void **state)
{
	struct profile_set profiles;
	struct profile *profile;
	struct fault fault = { 0 };
	uint64_t monotonic_ns;
	char text[1000];
	uint32_t id;

	open_pipeline();
	for (int turn = 0; turn < 2; turn++) {
		/* The test fills the window in place of samples: to the last byte. */
		profile = (struct profile *)pipeline_profile(pipeline, CPU);
		for (int size = sizeof(text) - 1; size > 0; size /= 10)
			for (int i = 0, r = 0; r == 0; i++) {
				assert_in_range(snprintf(text, sizeof(text), "%0*d", size, i), size,
					sizeof(text) - 1);
				r = profile_add_string(profile, text, &id);
			}
		cut();
		assert_int_equal(
			pipeline_take_window(pipeline, false, &profiles, &monotonic_ns, &fault), 0);
		assert_string_equal(
			string_pool_get(&profiles.of[CPU]->strings, profiles.of[CPU]->event),
			"cpu-clock");
		profile_set_done(&profiles);
	}
}

/* The text of a sample's last frame; "" if it has no name. */
static const char *last_frame(const struct profile *profile, size_t sample)
{
	uint32_t node = profile->samples.items[sample].node;
	const struct profile_location *location =
		&profile->locations.items[profile->nodes.items[node].location];

	if (location->frame_count == 0)
		return "";
	return string_pool_get(
		&profile->strings, profile->frames.items[location->first_frame].function);
}

static void expect_profile(const struct profile *profile, const char *event, uint64_t period_ns,
	uint64_t stored, const char *frame)
{
	uint64_t sum = 0;

	assert_non_null(profile);
	assert_string_equal(string_pool_get(&profile->strings, profile->event), event);
	assert_int_equal(profile->period_ns, period_ns);
	assert_int_equal(accounts_stored(&profile->accounts), stored);
	assert_true(accounts_close(&profile->accounts));
	for (size_t i = 0; i < profile->samples.count; i++) {
		sum += profile->samples.items[i].count;
		assert_string_equal(last_frame(profile, i), frame);
	}
	assert_int_equal(sum, stored);
}

static void sources_have_profiles_of_their_own(void **state)
{
	struct profile_set profiles;
	struct fault fault = { 0 };
	uint64_t monotonic_ns;

	open_pipeline_of(1U << OFFCPU | 1U << RUNQUEUE);
	assert_int_equal(pipeline_sources(pipeline), 7);
	generate_code();
	put_sample(3, 0);
	put_sample_of(OFFCPU, 700, 0);
	put_sample_of(OFFCPU, 50, CODE + 64); /* waits for names */
	put_sample_of(RUNQUEUE, 5, 0);
	cut();
	assert_int_equal(pipeline_take_window(pipeline, true, &profiles, &monotonic_ns, &fault), 0);
	expect_profile(profiles.of[CPU], "cpu-clock", NSEC_PER_SEC / 99, 3, "[no stack]");
	expect_profile(profiles.of[OFFCPU], "offcpu", 1000000, 750, "[blocked]");
	expect_profile(profiles.of[RUNQUEUE], "runqueue", 2000000, 5, "[waiting for a CPU]");
	for (size_t i = CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		assert_int_equal(profiles.of[i]->start_ns, profiles.of[CPU]->start_ns);
		assert_int_equal(profiles.of[i]->end_ns, profiles.of[CPU]->end_ns);
		assert_int_equal(profiles.of[i]->cpu_count, profiles.of[CPU]->cpu_count);
	}
	assert_int_equal(pipeline_accounts(pipeline)->of[OFFCPU].fired, 750);
	assert_int_equal(pipeline_accounts(pipeline)->of[CPU].fired, 3);
	profile_set_done(&profiles);
}

/* Fills a profile of the window to the last byte, in place of samples. */
static void fill(enum pilotlight_source source)
{
	struct profile *profile = (struct profile *)pipeline_profile(pipeline, source);
	struct profile_binary binary = { .kind = BINARY_EXECUTABLE };
	uint32_t id, location;

	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	for (uint64_t i = 0; profile_add_location(profile, id, i, &location) == 0; i++)
		;
}

/* None of them takes what the others hold. */
static void sources_share_the_budget(void **state)
{
	size_t sum = 0;

	open_pipeline_of(1U << OFFCPU | 1U << RUNQUEUE);
	fill(OFFCPU);
	fill(CPU);
	fill(RUNQUEUE);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		sum += profile_bytes(pipeline_profile(pipeline, i));
	assert_in_range(sum, 2 << 20, 4 << 20);
}

/* At the end of a window those that have been blocked all the time, and at last all. */
static void blocked_threads_are_taken_before_the_last_drain(void **state)
{
	uint64_t begun_ns = clock_monotonic_ns(), cut_ns;
	struct fault fault = { 0 };

	open_pipeline_of(1U << OFFCPU);
	cut();
	cut_ns = clock_monotonic_ns();
	assert_int_equal(world.blocked_takes, 1);
	assert_in_range(world.blocked_before_ns, begun_ns, cut_ns);
	assert_int_equal(pipeline_prepare_end(pipeline, true, &fault), 0);
	assert_int_equal(world.blocked_takes, 1);
	assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0);
	assert_int_equal(world.blocked_takes, 2);
	assert_true(world.blocked_before_ns >= cut_ns);
	world.blocked_error = -EIO;
	assert_int_equal(pipeline_finish(pipeline, &fault), 0);
	assert_int_equal(world.blocked_takes, 3);
}

/* The engine empties the ring until all threads are visited. */
static void taking_blocked_threads_goes_on_after_a_drain(void **state)
{
	struct fault fault = { 0 };

	open_pipeline_of(1U << OFFCPU);
	world.blocked_pauses = 3;
	cut();
	assert_int_equal(world.blocked_takes, 4);
	assert_int_equal(world.flips, 4);
	world.blocked_pauses = 3;
	assert_int_equal(pipeline_finish(pipeline, &fault), 0);
	assert_int_equal(world.blocked_takes, 8);
	assert_int_equal(world.blocked_pauses, 0);
}

/* Threads without end do not hold up the end of a window. */
static void taking_blocked_threads_is_bounded(void **state)
{
	uint64_t begun_ns = clock_monotonic_ns();

	open_pipeline_of(1U << OFFCPU);
	world.blocked_pauses = ~0U;
	cut();
	assert_in_range(clock_monotonic_ns() - begun_ns, NSEC_PER_SEC, 60ULL * NSEC_PER_SEC);
	world.blocked_pauses = 0;
}

/* The first drain of a window asks early, for names, and the last for the rest of the time. */
static void blocked_threads_are_taken_early_too(void **state)
{
	world.is_taken_over = true; /* one is due at once */
	open_pipeline_of(1U << OFFCPU);
	run(RUNS);
	assert_int_equal(world.windows, 1);
	assert_int_equal(world.blocked_takes, 1);
	cut();
	assert_int_equal(world.blocked_takes, 2);
}

static void without_time_off_cpu_no_threads_are_taken(void **state)
{
	open_pipeline_of(1U << RUNQUEUE);
	cut();
	assert_int_equal(world.blocked_takes, 0);
}

/* As if another engine's settings were in force. */
static void a_source_that_is_off_is_an_error(void **state)
{
	struct fault fault = { 0 };

	open_pipeline_of(1U << RUNQUEUE);
	put_sample_of(OFFCPU, 2, 0);
	assert_int_equal(pipeline_cut(pipeline, &fault), -EPROTO);
}

static void losses_belong_to_their_source(void **state)
{
	const struct source_accounts
		lost = { .of = {
				 [CPU] = { .fired = 6,
					 .dropped = { [PILOTLIGHT_DROP_ENGINE] = 6 } },
				 [OFFCPU] = { .fired = 7,
					 .dropped = { [PILOTLIGHT_DROP_ENGINE] = 7 } },
				 [RUNQUEUE] = { .fired = 8,
					 .dropped = { [PILOTLIGHT_DROP_ENGINE] = 8 } },
			 } };
	struct source_accounts left;
	struct profile_set profiles;
	struct fault fault = { 0 };
	uint64_t begun_ns;

	world.left_behind[OFFCPU] =
		(struct pilotlight_counters){ .fired = 9, .stored = { [PILOTLIGHT_PATH_MAP] = 9 } };
	open_pipeline_of(1U << OFFCPU);
	pipeline_left_behind(pipeline, &left);
	assert_int_equal(left.of[OFFCPU].fired, 9);
	assert_int_equal(left.of[CPU].fired, 0);
	(void)pipeline_add_lost(pipeline, &lost, 0);
	cut();
	assert_int_equal(pipeline_take_window(pipeline, true, &profiles, &begun_ns, &fault), 0);
	assert_int_equal(profiles.of[CPU]->accounts.fired, 6);
	assert_int_equal(profiles.of[OFFCPU]->accounts.fired, 7);
	/* It is off now: no window has its losses, the total does. */
	assert_null(profiles.of[RUNQUEUE]);
	assert_int_equal(pipeline_accounts(pipeline)->of[RUNQUEUE].fired, 8);
	profile_set_done(&profiles);
}

/* Images of processes that have ended would go whose samples are still to be read. */
static void many_short_processes_bring_the_drain_forward(void **state)
{
	open_pipeline();
	/* Not before a part of its period has passed, */
	come_and_go();
	run(RUNS);
	assert_int_equal(world.record_count, 0);
	assert_int_equal(world.windows, 0);
	/* as it has of a shorter one, */
	world.sizes->drain_period_ms = 1;
	come_and_go();
	while (world.record_count > 0)
		run(1);
	world.sizes->drain_period_ms = MADE_UP_PERIOD_MS;
	run(RUNS);
	assert_int_equal(world.windows, 1);
	/* nor again before as much has passed since. */
	come_and_go();
	run(RUNS);
	assert_int_equal(world.record_count, 0);
	assert_int_equal(world.windows, 1);
}

static void cpus_that_cannot_be_followed_delay_nothing(void **state)
{
	world.is_taken_over = true;
	world.follow_error = -EMFILE;
	put_sample(3, 0);
	open_pipeline();
	run(RUNS);
	assert_int_equal(world.follows, 1);
	assert_int_equal(world.windows, 1);
	assert_int_equal(pipeline_accounts(pipeline)->of[CPU].fired, 3);
}

static void a_window_waits_for_the_names_of_its_code(void **state)
{
	struct accounts accounts;

	open_pipeline();
	assert_int_equal(take(true, &accounts), -EAGAIN);
	generate_code();
	put_sample(5, CODE + 64);
	put_sample(2, 0);
	cut();
	assert_true(pipeline_has_window(pipeline));
	assert_int_equal(take(false, &accounts), -EAGAIN);
	/* That of the next window is not waited for. */
	put_sample(11, CODE + 128);
	run(RUNS);
	assert_int_equal(take(false, &accounts), -EAGAIN);
	assert_int_equal(take(true, &accounts), 0);
	assert_int_equal(accounts_stored(&accounts), 7);
	assert_false(pipeline_has_window(pipeline));
	cut();
	assert_int_equal(take(true, &accounts), 0);
	assert_int_equal(accounts_stored(&accounts), 11);
}

static bool follows_code_of(pid_t pid)
{
	struct jit_process_report report;
	size_t cursor = 0;

	while (jit_table_next(pipeline_jit(pipeline), &cursor, &report))
		if (report.pid == pid)
			return true;
	return false;
}

/* What its files say of it was read: samples of another process may wait on. */
static void an_ended_process_is_not_kept_for_the_names_of_another(void **state)
{
	const struct sideband_record fork = {
		.kind = SIDEBAND_FORK,
		.pid = FIRST_PID,
		.tid = FIRST_PID,
		.parent = getpid(),
	};
	struct sideband_record *records;
	struct fault fault = { 0 };

	open_pipeline();
	generate_code();
	put_sample(5, CODE + 64);
	assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0); /* drains */
	records = put_records(2);
	records[0] = records[1] = fork;
	records[1].kind = SIDEBAND_EXIT;
	records[0].time_ns = records[1].time_ns = clock_monotonic_ns();
	run(RUNS);
	assert_true(follows_code_of(FIRST_PID));
	assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0);
	assert_false(follows_code_of(FIRST_PID));
	assert_true(follows_code_of(getpid()));
}

static void assert_all_is_counted(void)
{
	assert_int_equal(world_samples() + drained.fired, fired);
}

/*
 * Whenever the pipeline calls capture, and after each of its runs, a sample that fired is either in
 * the maps or in the accounts that the loss record gets.
 */
static void each_sample_is_in_the_maps_or_in_the_accounts(void **state)
{
	struct accounts accounts;

	open_pipeline();
	world.check = assert_all_is_counted;
	generate_code();
	for (uint64_t i = 1; i <= 3; i++) {
		put_sample(i, CODE + 64);
		put_sample(10 * i, 0);
		cut();
		assert_all_is_counted();
		run(RUNS);
		assert_int_equal(take(true, &accounts), 0);
		note_accounts(NULL); /* as the service does after each run */
		assert_true(accounts_close(&drained));
		assert_all_is_counted();
	}
	assert_int_equal(fired, 66);
	assert_int_equal(taken, 66);
	assert_int_equal(drained.fired, taken);
}

/* One set is the next pipeline's, if there is one. */
static void finishing_drains_both_sets(void **state)
{
	struct accounts accounts;
	struct fault fault = { 0 };

	open_pipeline();
	put_sample(3, 0);
	assert_int_equal(pipeline_prepare_end(pipeline, true, &fault), 0);
	assert_int_equal(world.stops, 0);
	assert_int_equal(world.windows, 0);
	assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0);
	assert_int_equal(world.stops, 1);
	assert_int_equal(world.windows, 1);
	put_sample(4, 0);
	cut();
	assert_int_equal(world.windows, 2);
	assert_int_equal(world.follows, 0); /* it would sample CPUs that come */
	assert_int_equal(take(true, &accounts), 0);
	assert_int_equal(accounts_stored(&accounts), 7);
}

/* What counts is how many the maps were made for, not how many could be sampled at first. */
static void more_cpus_than_the_maps_hold_are_an_error(void **state)
{
	struct fault fault = { 0 };

	open_pipeline();
	world.cpus = 2;
	assert_false(pipeline_needs_restart(pipeline));
	assert_int_equal(pipeline_prepare_end(pipeline, true, &fault), 0);
	assert_int_equal(world.stops, 0);
	world.cpus = 3;
	assert_true(pipeline_needs_restart(pipeline));
	assert_int_equal(pipeline_prepare_end(pipeline, true, &fault), 0);
	assert_int_equal(world.stops, 1);
}

static void left_behind_accounts_count_if_they_close(void **state)
{
	struct source_accounts all;
	const struct accounts *accounts = &all.of[CPU];

	world.left_behind[PILOTLIGHT_SOURCE_CPU] = (struct pilotlight_counters){
		.fired = 9,
		.stored = { [PILOTLIGHT_PATH_MAP] = 3, [PILOTLIGHT_PATH_RING] = 1 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 5 },
	};
	open_pipeline();
	pipeline_left_behind(pipeline, &all);
	assert_int_equal(accounts->fired, 9);
	assert_int_equal(accounts_stored(accounts), 4);
	assert_int_equal(accounts->dropped[PILOTLIGHT_DROP_IDLE], 5);
	world.left_behind[PILOTLIGHT_SOURCE_CPU].fired = 8;
	pipeline_left_behind(pipeline, &all);
	assert_int_equal(accounts->fired + accounts_stored(accounts), 0);
}

/* Else there would be more in the window than its time allows. */
static void the_first_window_continues_the_last_one(void **state)
{
	const struct source_accounts lost = {
		.of = { [CPU] = { .fired = 6, .dropped = { [PILOTLIGHT_DROP_ENGINE] = 6 } } }
	};
	const uint64_t unknown[] = { 0, UINT64_MAX }, away_ns = 5000000000;
	uint64_t now_ns, since_ns, start_ns, begun_ns;
	struct accounts accounts;
	struct profile_set profiles;
	const struct profile *profile;
	struct fault fault = { 0 };

	world.is_taken_over = true;
	open_pipeline();
	now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		begun_ns = pipeline_add_lost(pipeline, &(struct source_accounts){ 0 }, unknown[i]);
		assert_in_range(begun_ns, 1, now_ns);
	}
	since_ns = begun_ns - away_ns;
	start_ns = pipeline_profile(pipeline, CPU)->start_ns;
	assert_int_equal(pipeline_add_lost(pipeline, &lost, since_ns), since_ns);
	put_sample(4, 0);
	cut();
	assert_int_equal(pipeline_take_window(pipeline, true, &profiles, &begun_ns, &fault), 0);
	profile = profiles.of[CPU];
	assert_int_equal(begun_ns, since_ns);
	assert_int_equal(profile->start_ns, start_ns - away_ns);
	assert_true(profile->end_ns >= start_ns);
	accounts = profile->accounts;
	assert_true(accounts_close(&accounts));
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_ENGINE], 6);
	assert_int_equal(accounts_stored(&accounts), 4);
	profile_set_done(&profiles);
}

/* But where nothing was sampled meanwhile, that is no time of which anything is known. */
static void without_an_earlier_engine_the_first_window_begins_with_sampling(void **state)
{
	const struct source_accounts lost = {
		.of = { [CPU] = { .fired = 1, .dropped = { [PILOTLIGHT_DROP_ENGINE] = 1 } } }
	};
	uint64_t since_ns;

	open_pipeline();
	since_ns = clock_monotonic_ns() - 5000000000;
	assert_true(
		pipeline_add_lost(pipeline, &(struct source_accounts){ 0 }, since_ns) > since_ns);
	/* Of maps that are gone. */
	assert_int_equal(pipeline_add_lost(pipeline, &lost, since_ns), since_ns);
}

#define PIPELINE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIPELINE_TEST(no_drain_comes_early),
		PIPELINE_TEST(samples_of_an_earlier_engine_are_drained_at_once),
		PIPELINE_TEST(a_cut_postpones_the_next_drain),
		PIPELINE_TEST(a_window_without_room_for_strings_ends_like_any_other),
		PIPELINE_TEST(sources_have_profiles_of_their_own),
		PIPELINE_TEST(sources_share_the_budget),
		PIPELINE_TEST(blocked_threads_are_taken_before_the_last_drain),
		PIPELINE_TEST(taking_blocked_threads_goes_on_after_a_drain),
		PIPELINE_TEST(taking_blocked_threads_is_bounded),
		PIPELINE_TEST(blocked_threads_are_taken_early_too),
		PIPELINE_TEST(without_time_off_cpu_no_threads_are_taken),
		PIPELINE_TEST(a_source_that_is_off_is_an_error),
		PIPELINE_TEST(losses_belong_to_their_source),
		PIPELINE_TEST(many_short_processes_bring_the_drain_forward),
		PIPELINE_TEST(cpus_that_cannot_be_followed_delay_nothing),
		PIPELINE_TEST(a_window_waits_for_the_names_of_its_code),
		PIPELINE_TEST(an_ended_process_is_not_kept_for_the_names_of_another),
		PIPELINE_TEST(each_sample_is_in_the_maps_or_in_the_accounts),
		PIPELINE_TEST(finishing_drains_both_sets),
		PIPELINE_TEST(more_cpus_than_the_maps_hold_are_an_error),
		PIPELINE_TEST(left_behind_accounts_count_if_they_close),
		PIPELINE_TEST(the_first_window_continues_the_last_one),
		PIPELINE_TEST(without_an_earlier_engine_the_first_window_begins_with_sampling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

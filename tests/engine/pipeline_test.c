/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a pipeline drains, and what its windows and accounts are, whatever it is fed with. */
#include "tests/engine/pipeline_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIPELINE_TEST(no_drain_comes_early),
		PIPELINE_TEST(samples_of_an_earlier_engine_are_drained_at_once),
		PIPELINE_TEST(a_cut_postpones_the_next_drain),
		PIPELINE_TEST(a_window_without_room_for_strings_ends_like_any_other),
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

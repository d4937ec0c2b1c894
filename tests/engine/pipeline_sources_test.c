/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows of several sources: each has a profile and accounts of its own, in common room. */
#include "tests/engine/pipeline_fixture.h"

enum { PERIOD_NS = 10000000 };

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
	for (size_t i = OFFCPU; i <= RUNQUEUE; i++) {
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
	for (enum pilotlight_source i = CPU; i <= RUNQUEUE; i++)
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
	uint64_t asked_ns;

	world.is_taken_over = true; /* one is due at once */
	open_pipeline_of(1U << OFFCPU);
	run(RUNS);
	assert_int_equal(world.windows, 1);
	assert_int_equal(world.blocked_takes, 1);
	asked_ns = world.blocked_before_ns;
	cut();
	assert_int_equal(world.blocked_takes, 2);
	/* What was taken counts as blocked since then, not since before the window. */
	assert_true(world.blocked_before_ns > asked_ns);
	assert_true(world.blocked_before_ns <= clock_monotonic_ns());
}

static void without_time_off_cpu_no_threads_are_taken(void **state)
{
	open_pipeline_of(1U << RUNQUEUE);
	cut();
	assert_int_equal(world.blocked_takes, 0);
}

static void what_the_machine_lacks_is_left_out(void **state)
{
	struct profile_set profiles;
	struct fault fault = { 0 };
	uint64_t monotonic_ns;

	world.lacks = 1U << RUNQUEUE | 1U << PILOTLIGHT_SOURCE_LOCK;
	open_pipeline_of(1U << RUNQUEUE | 1U << OFFCPU);
	assert_int_equal(pipeline_sources(pipeline), 1U << CPU | 1U << OFFCPU);
	assert_int_equal(pipeline_period_ns(pipeline, RUNQUEUE), 0);
	assert_string_equal(pipeline_missing(pipeline, RUNQUEUE), "the kernel lacks it");
	assert_string_equal(pipeline_missing(pipeline, OFFCPU), "");
	cut();
	assert_int_equal(pipeline_take_window(pipeline, true, &profiles, &monotonic_ns, &fault), 0);
	assert_non_null(profiles.of[OFFCPU]);
	assert_null(profiles.of[RUNQUEUE]);
	profile_set_done(&profiles);
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

/* Returns a time before the last one, and after all others. */
static uint64_t run_surveys(unsigned surveys)
{
	uint64_t before_ns = 0;

	while (world.surveys < surveys) {
		before_ns = clock_monotonic_ns();
		run(1);
	}
	return before_ns;
}

/* They stand for all the time, whatever the moments, and nobody asks for what switches noted. */
static void surveys_stand_for_all_the_time(void **state)
{
	uint64_t begun_ns = clock_monotonic_ns(), opened_ns, before_ns, sampled_ns;

	open_pipeline_with(1U << OFFCPU | 1U << RUNQUEUE, 1U << OFFCPU | 1U << RUNQUEUE, PERIOD_NS);
	opened_ns = clock_monotonic_ns();
	world.survey_pauses = 2;
	before_ns = run_surveys(20);
	sampled_ns = world.survey_periods * PERIOD_NS;
	assert_int_equal(world.survey_pauses, 0);
	assert_true(sampled_ns <= clock_monotonic_ns() - begun_ns + PERIOD_NS);
	assert_true(sampled_ns + PERIOD_NS >= before_ns - opened_ns);
	cut();
	assert_int_equal(world.blocked_takes, 0);
}

/* Half of the time is allowed, so five periods for 25 ms. */
static void surveys_that_cost_much_are_rarer(void **state)
{
	world.cpus = 1;
	world.survey_us = 25000;
	open_pipeline_with(1U << RUNQUEUE, 1U << RUNQUEUE, PERIOD_NS);
	(void)run_surveys(4);
	assert_true(world.survey_periods >= 1 + 3 * 5);
	/* One that fails is tried again, as often as the last ones have cost. */
	world.survey_us = -EIO;
	(void)run_surveys(5);
	assert_true(world.survey_periods >= 1 + 4 * 5);
}

static void surveys_make_up_for_those_that_failed(void **state)
{
	uint64_t begun_ns = clock_monotonic_ns(), opened_ns, before_ns, sampled_ns;

	world.survey_us = -EIO;
	open_pipeline_with(1U << OFFCPU, 1U << OFFCPU, PERIOD_NS);
	opened_ns = clock_monotonic_ns();
	(void)run_surveys(5);
	world.survey_us = 0;
	world.survey_periods = 0;
	before_ns = run_surveys(6);
	sampled_ns = world.survey_periods * PERIOD_NS;
	assert_true(sampled_ns <= clock_monotonic_ns() - begun_ns + PERIOD_NS);
	assert_true(sampled_ns + PERIOD_NS >= before_ns - opened_ns);
}

/* The ring never has room; the thread goes on meanwhile, and the survey later. */
static void a_survey_that_cannot_go_on_holds_up_nothing(void **state)
{
	open_pipeline_with(1U << OFFCPU, 1U << OFFCPU, PERIOD_NS);
	world.survey_pauses = 1U << 30;
	while (world.survey_pauses == 1U << 30)
		run(1);
	assert_int_equal(world.surveys, 0);
	world.survey_pauses = 0;
	(void)run_surveys(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIPELINE_TEST(sources_have_profiles_of_their_own),
		PIPELINE_TEST(sources_share_the_budget),
		PIPELINE_TEST(blocked_threads_are_taken_before_the_last_drain),
		PIPELINE_TEST(taking_blocked_threads_goes_on_after_a_drain),
		PIPELINE_TEST(taking_blocked_threads_is_bounded),
		PIPELINE_TEST(blocked_threads_are_taken_early_too),
		PIPELINE_TEST(without_time_off_cpu_no_threads_are_taken),
		PIPELINE_TEST(surveys_stand_for_all_the_time),
		PIPELINE_TEST(surveys_that_cost_much_are_rarer),
		PIPELINE_TEST(surveys_make_up_for_those_that_failed),
		PIPELINE_TEST(a_survey_that_cannot_go_on_holds_up_nothing),
		PIPELINE_TEST(what_the_machine_lacks_is_left_out),
		PIPELINE_TEST(a_source_that_is_off_is_an_error),
		PIPELINE_TEST(losses_belong_to_their_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

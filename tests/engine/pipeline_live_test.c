/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lives is in each window, until it is freed. */
#include "tests/engine/pipeline_fixture.h"

#define LIVE  PILOTLIGHT_SOURCE_KMEM_LIVE
#define HEAP  PILOTLIGHT_SOURCE_HEAP_LIVE
#define ALLOC PILOTLIGHT_SOURCE_KMEM_ALLOC

static void open_live_pipeline(void)
{
	world.lives_to = UINT64_MAX;
	open_pipeline_of(1U << LIVE | 1U << ALLOC);
	assert_int_equal(world.live_clears, 1);
}

static void put_memory(enum pilotlight_source source, uint64_t count, uint64_t address)
{
	put_sample_of(source, count, 0);
	world.samples[world.sample_count - 1].address = address;
	world.samples[world.sample_count - 1].kind = PILOTLIGHT_KMEM_KMALLOC + 3;
}

/* Ends a window and returns its profiles. */
static struct profile_set end_window(void)
{
	struct profile_set profiles = { 0 };
	struct fault fault = { 0 };
	uint64_t monotonic_ns;

	cut();
	assert_int_equal(pipeline_take_window(pipeline, true, &profiles, &monotonic_ns, &fault), 0);
	return profiles;
}

static void expect_live(uint64_t periods, size_t samples)
{
	struct profile_set profiles = end_window();
	const struct profile *profile = profiles.of[LIVE];
	uint64_t sum = 0;

	assert_string_equal(string_pool_get(&profile->strings, profile->event), "kmem:live");
	for (size_t i = 0; i < profile->samples.count; i++)
		sum += profile->samples.items[i].count;
	assert_int_equal(sum, periods);
	assert_int_equal(profile->samples.count, samples);
	assert_int_equal(profile->accounts.fired, periods);
	assert_true(accounts_close(&profile->accounts));
	profile_set_done(&profiles);
}

static void what_lives_is_in_each_window(void **state)
{
	open_live_pipeline();
	put_memory(LIVE, 3, 0x100);
	put_memory(LIVE, 4, 0x200);
	expect_live(7, 1); /* of one stack and one thread */
	expect_live(7, 1);
	put_memory(LIVE, 5, 0x300);
	expect_live(12, 1);
	world.lives_from = 0x200;
	expect_live(9, 1);
	world.lives_from = UINT64_MAX;
	expect_live(0, 0);
	assert_int_equal(pipeline_accounts(pipeline)->of[LIVE].fired, 12);
	assert_int_equal(world.forgotten, 0);
}

/* The leaves of the last window's profile are the two frames, in any order. */
static void expect_frames(enum pilotlight_source source, const char *first, const char *second)
{
	struct profile_set profiles = end_window();
	const struct profile *profile = profiles.of[source];
	bool has_first = false, has_second = false;

	for (size_t i = 0; i < profile->frames.count; i++) {
		const char *name =
			string_pool_get(&profile->strings, profile->frames.items[i].function);

		has_first |= strcmp(name, first) == 0;
		has_second |= strcmp(name, second) == 0;
	}
	assert_true(has_first && has_second);
	profile_set_done(&profiles);
}

static void what_lives_has_an_age(void **state)
{
	open_live_pipeline();
	put_memory(LIVE, 3, 0x100);
	world.samples[0].time_ns = clock_monotonic_ns() - 5ULL * NSEC_PER_SEC;
	put_memory(LIVE, 3, 0x200);
	world.samples[1].time_ns = clock_monotonic_ns() - 700ULL * NSEC_PER_SEC;
	expect_frames(LIVE, "[age 1 s to 10 s]", "[age 10 min to 1 h]");
}

static void what_is_freed_at_once_is_in_no_window(void **state)
{
	open_live_pipeline();
	world.lives_from = 0x200;
	put_memory(LIVE, 3, 0x100);
	put_memory(LIVE, 4, 0x200);
	expect_live(4, 1);
	assert_int_equal(pipeline_accounts(pipeline)->of[LIVE].fired, 7);
}

static void memory_ends_in_its_kind(void **state)
{
	struct profile_set profiles;
	const struct profile *profile;

	open_live_pipeline();
	put_memory(ALLOC, 3, 0);
	profiles = end_window();
	profile = profiles.of[ALLOC];
	assert_int_equal(profile->samples.count, 1);
	assert_int_equal(profile->locations.count, 1);
	assert_string_equal(string_pool_get(&profile->strings, profile->frames.items[0].function),
		"[kmalloc-64]");
	assert_int_equal(profile->accounts.fired, 3);
	profile_set_done(&profiles);
}

/* More than the table holds, even after it was swept: two thirds of 64 for the only user. */
static void what_does_not_fit_is_counted(void **state)
{
	struct pipeline_report report;
	struct profile_set profiles;
	uint64_t lost;

	open_live_pipeline();
	for (uint64_t i = 0; i < 60;) {
		struct fault fault = { 0 };

		for (int j = 0; j < 6; j++)
			put_memory(LIVE, 1, ++i);
		assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0);
	}
	profiles = end_window();
	lost = pipeline_accounts(pipeline)->of[LIVE].dropped[PILOTLIGHT_DROP_PROFILE_FULL];
	assert_in_range(lost, 10, 30);
	assert_int_equal(world.forgotten, lost);
	/* Each once, though a sweep was tried in between. */
	pipeline_report(pipeline, &report);
	assert_int_equal(report.live[LIVE].refused, lost);
	assert_int_equal(report.excess.total[USER_LIVE], lost);
	assert_int_equal(profiles.of[LIVE]->accounts.fired, 60 - lost);
	profile_set_done(&profiles);
	world.lives_from = UINT64_MAX;
	expect_live(0, 0);
}

/* What a process held that is not there is taken out of the map, too. */
static void what_nobody_holds_is_forgotten(void **state)
{
	struct profile_set profiles;

	world.lives_to = UINT64_MAX;
	open_pipeline_of(1U << HEAP);
	for (uint64_t i = 1; i <= 2; i++) {
		put_sample_of(HEAP, 1, 0);
		world.samples[world.sample_count - 1].address = i;
		world.samples[world.sample_count - 1].tgid = FIRST_PID;
	}
	profiles = end_window();
	assert_int_equal(profiles.of[HEAP]->samples.count, 0);
	assert_true(accounts_close(&profiles.of[HEAP]->accounts));
	assert_int_equal(world.forgotten, 2);
	profile_set_done(&profiles);
}

static void what_is_freed_while_it_waits_for_names_is_in_no_window(void **state)
{
	struct profile_set profiles;
	struct fault fault = { 0 };

	open_live_pipeline();
	generate_code();
	run(RUNS);
	for (uint64_t i = 1; i <= 4; i++) {
		put_sample_of(LIVE, i, CODE + 16);
		world.samples[world.sample_count - 1].address = i * 0x100;
		world.samples[world.sample_count - 1].kind = PILOTLIGHT_KMEM_KMALLOC + 3;
	}
	assert_int_equal(pipeline_prepare_end(pipeline, false, &fault), 0);
	world.lives_from = 0x300;
	/* The names come after the window has ended. */
	profiles = end_window();
	assert_int_equal(profiles.of[LIVE]->accounts.fired, 0);
	profile_set_done(&profiles);
	expect_live(7, 1);
	assert_int_equal(pipeline_accounts(pipeline)->of[LIVE].fired, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_lives_is_in_each_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_freed_at_once_is_in_no_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lives_has_an_age, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_ends_in_its_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_counted, set_up, tear_down),
		PIPELINE_TEST(what_nobody_holds_is_forgotten),
		PIPELINE_TEST(what_is_freed_while_it_waits_for_names_is_in_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

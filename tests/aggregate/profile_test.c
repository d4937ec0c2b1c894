/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile.h"
#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { PLENTY = 64 << 20 };

static void equal_stacks_are_one_node(void **state)
{
	struct profile_binary binary = { .kind = BINARY_EXECUTABLE };
	struct profile *profile;
	uint32_t id, main_location, work_location, node, again, other;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	assert_int_equal(profile_add_location(profile, id, 0x1000, &main_location), 0);
	assert_int_equal(profile_add_location(profile, id, 0x2000, &work_location), 0);
	assert_int_equal(profile_add_location(profile, id, 0x1000, &again), 0);
	assert_int_equal(again, main_location);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, main_location, &node), 0);
	assert_int_equal(profile_add_node(profile, node, work_location, &other), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, main_location, &again), 0);
	assert_int_equal(again, node);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, work_location, &again), 0);
	assert_int_not_equal(again, other);
	assert_int_equal(profile->nodes.items[other].parent, node);
	profile_free(profile);
}

static void profiles_of_a_pool_share_its_budget(void **state)
{
	enum { POOL = 256 << 10 };
	struct profile_pool pool = { .limit_bytes = POOL };
	struct profile *profiles[3];
	struct profile_binary binary = { .kind = BINARY_EXECUTABLE };
	size_t sum = 0, strings = 0;
	uint32_t id;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(profile_new(POOL, &profiles[i]), 0);
		profiles[i]->pool = &pool;
		pool.members[pool.count++] = profiles[i];
		assert_int_equal(profile_add_binary(profiles[i], &binary, &id), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		char text[32];
		int r = 0;

		/* The first takes what there is, and the others find it taken. */
		for (uint64_t n = 0; r == 0; n++) {
			(void)snprintf(text, sizeof(text), "string %llu", (unsigned long long)n);
			r = profile_add_string(profiles[i], text, &id);
		}
		assert_int_equal(r, -E2BIG);
		for (uint64_t n = 0; (r = profile_add_location(profiles[i], 0, n, &id)) == 0; n++)
			;
		assert_int_equal(r, -E2BIG);
	}
	for (size_t i = 0; i < 3; i++) {
		sum += profile_bytes(profiles[i]);
		strings += profiles[i]->strings.size;
	}
	/* Strings are weighed when elements grow: they may come on top, as of a single profile. */
	assert_in_range(sum, POOL / 4, POOL + POOL / PROFILE_STRING_PARTS);
	assert_in_range(strings, POOL / 8, POOL / PROFILE_STRING_PARTS);
	/* What the others hold is free without the pool. */
	profiles[2]->pool = NULL;
	assert_int_equal(profile_add_string(profiles[2], "another string", &(uint32_t){ 0 }), 0);
	for (size_t i = 0; i < 3; i++)
		profile_free(profiles[i]);
}

static void the_same_address_in_two_binaries_is_two_locations(void **state)
{
	struct profile_binary binary = { .kind = BINARY_LIBRARY };
	struct profile *profile;
	uint32_t first, second, a, b;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &first), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &second), 0);
	assert_int_equal(profile_add_location(profile, first, 0x1000, &a), 0);
	assert_int_equal(profile_add_location(profile, second, 0x1000, &b), 0);
	assert_int_not_equal(a, b);
	profile_free(profile);
}

static void another_function_at_the_same_address_is_another_location(void **state)
{
	struct profile_binary binary = { .kind = BINARY_JIT };
	struct profile_frame first = { .line = 1 }, second = { .line = 1 }, elsewhere;
	uint32_t jit, a, b, again, other_line, plain;
	struct profile *profile;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &jit), 0);
	assert_int_equal(profile_add_string(profile, "first", &first.function), 0);
	assert_int_equal(profile_add_string(profile, "second", &second.function), 0);
	elsewhere = first;
	elsewhere.line = 99;
	assert_int_equal(profile_add_jit_location(profile, jit, 0x1000, &first, &a), 0);
	assert_int_equal(profile_add_jit_location(profile, jit, 0x1000, &second, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(profile_add_jit_location(profile, jit, 0x1000, &first, &again), 0);
	assert_int_equal(again, a);
	/* The same function, compiled again from another place. */
	assert_int_equal(
		profile_add_jit_location(profile, jit, 0x1000, &elsewhere, &other_line), 0);
	assert_int_not_equal(other_line, a);
	assert_int_equal(profile_add_location(profile, jit, 0x1000, &plain), 0);
	assert_int_not_equal(plain, a);
	assert_int_equal(profile->locations.items[a].function, first.function);
	assert_int_equal(profile->locations.items[b].function, second.function);
	assert_int_equal(profile->locations.items[plain].function, 0);
	assert_int_equal(profile->locations.items[plain].frame_count, 0);
	assert_int_equal(
		profile->frames.items[profile->locations.items[other_line].first_frame].line, 99);
	assert_int_equal(profile->locations.count, 4);
	profile_free(profile);
}

static void samples_of_one_stack_and_thread_add_up(void **state)
{
	struct profile_thread thread = { .tgid = 1, .tid = 2 };
	struct profile_sample sample = { .count = 3, .first_ns = 50, .last_ns = 60 };
	struct profile *profile;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	sample.first_ns = 10;
	sample.last_ns = 20;
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(profile->samples.count, 1);
	assert_int_equal(profile->samples.items[0].count, 6);
	assert_int_equal(profile->samples.items[0].first_ns, 10);
	assert_int_equal(profile->samples.items[0].last_ns, 60);
	thread.tid = 3;
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(profile->samples.count, 2);
	profile_free(profile);
}

static void add_timed(struct profile *profile, uint32_t tid, uint64_t slice)
{
	const struct profile_thread thread = { .tgid = 1, .tid = tid };
	struct profile_sample sample = {
		.count = 1,
		.first_ns = 1000 * PROFILE_SLICE_NS + slice * PROFILE_SLICE_NS,
		.last_ns = 1000 * PROFILE_SLICE_NS + slice * PROFILE_SLICE_NS,
	};

	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static void counts_of_one_slice_are_one_time(void **state)
{
	struct profile *profile;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	profile_keep_times(profile, 1000 * PROFILE_SLICE_NS);
	for (uint32_t i = 0; i < 70000; i++) {
		add_timed(profile, 1, 7);
		add_timed(profile, 2, 7);
	}
	/* A count has 16 bits. */
	assert_int_equal(profile->times.count, 4);
	assert_int_equal(profile->times.items[0].slice, 7);
	assert_int_equal(profile->times.items[0].count, UINT16_MAX);
	add_timed(profile, 1, 8);
	assert_int_equal(profile->times.count, 5);
	profile_free(profile);
}

/* Times have an eighth of the budget, and of that of a pool. They leave room for stacks. */
static void times_have_a_share(void **state)
{
	enum { BUDGET = 1 << 20 };
	struct profile_pool pool = { .limit_bytes = BUDGET };
	struct profile *profiles[2];
	size_t bytes = 0;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(profile_new(BUDGET, &profiles[i]), 0);
		profile_keep_times(profiles[i], 1000 * PROFILE_SLICE_NS);
		pool.members[pool.count++] = profiles[i];
	}
	for (uint64_t slice = 0; slice < 60000; slice++)
		add_timed(profiles[0], 1, slice);
	assert_in_range(profiles[0]->times.count, BUDGET / 16 / 8, BUDGET / 8 / 8);
	assert_in_range(profiles[0]->times.capacity, 0, BUDGET / 8 / 8);
	assert_int_equal(profiles[0]->times_left_out, 60000 - profiles[0]->times.count);
	for (size_t i = 0; i < 2; i++)
		profiles[i]->pool = &pool;
	for (uint64_t slice = 0; slice < 60000; slice++)
		add_timed(profiles[1], 1, slice);
	for (size_t i = 0; i < 2; i++) {
		bytes += profiles[i]->times.capacity * sizeof(struct profile_time);
		assert_int_equal(profiles[i]->samples.items[0].count, 60000);
		profile_free(profiles[i]);
	}
	assert_in_range(bytes, 0, BUDGET / 8);
}

static void synthetic_frames_are_known_by_their_text(void **state)
{
	struct profile *profile;
	uint32_t first, second, third;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	assert_int_equal(profile_add_synthetic(profile, "[unknown]", &first), 0);
	assert_int_equal(profile_add_synthetic(profile, "[no stack]", &second), 0);
	assert_int_equal(profile_add_synthetic(profile, "[unknown]", &third), 0);
	assert_int_equal(first, third);
	assert_int_not_equal(first, second);
	assert_int_equal(profile->binaries.count, 1);
	assert_int_equal(profile->binaries.items[0].kind, BINARY_SYNTHETIC);
	assert_string_equal(
		string_pool_get(&profile->strings,
			profile->frames.items[profile->locations.items[first].first_frame]
				.function),
		"[unknown]");
	profile_free(profile);
}

static void the_budget_holds(void **state)
{
	const size_t budget = 256 * 1024;
	struct profile_binary binary = { .kind = BINARY_LIBRARY };
	struct profile *profile;
	uint32_t id, location, node = PROFILE_ROOT;
	size_t depth = 0;
	int r = 0;

	assert_int_equal(profile_new(budget, &profile), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	while (r == 0) {
		r = profile_add_location(profile, id, depth, &location);
		if (r == 0)
			r = profile_add_node(profile, node, location, &node);
		depth++;
		assert_true(profile_bytes(profile) <= budget);
	}
	assert_int_equal(r, -E2BIG);
	assert_true(depth > 1000);
	/* What is there can still be found. */
	assert_int_equal(profile_add_location(profile, id, 5, &location), 0);
	profile_free(profile);
}

/* Adds an element of the kind, the `number`th. */
static int add_element(struct profile *profile, int kind, uint32_t number)
{
	const struct profile_thread thread = { .tgid = 2, .tid = number };
	struct profile_sample sample = { .count = 1 };
	const struct profile_frame frame = { .line = number };
	uint32_t id;
	int r;

	switch (kind) {
	case 0:
		return profile_add_node(profile, number, 0, &id);
	case 1:
		return profile_add_location(profile, 0, number, &id);
	case 2:
		return profile_add_thread(profile, &thread, &id);
	case 3:
		r = profile_add_node(profile, number, 0, &sample.node);
		return r < 0 ? r : profile_add_sample(profile, &sample);
	default:
		return profile_name_location(profile, 0, &frame, 1);
	}
}

/* As many strings of the length as may be. */
static void fill_strings(struct profile *profile, int length)
{
	char text[256];
	uint32_t id;

	for (unsigned i = 0;
		profile_string_bytes(profile) + sizeof(text) <= profile->strings.limit_bytes; i++) {
		(void)snprintf(text, sizeof(text), "%0*x", length, i);
		assert_int_equal(profile_add_string(profile, text, &id), 0);
	}
}

/* Whatever the elements are, how long the strings, and when the arrays have just grown. */
static void elements_fit_as_far_as_it_is_said(void **state)
{
	enum { KINDS = 5 };
	static const int lengths[] = { 1, 20, 60, 200 };
	const struct profile_binary binary = { .kind = BINARY_LIBRARY };
	const struct profile_thread thread = { .tgid = 1 };

	for (size_t limit = 256 * 1024; limit < 8 << 20; limit += limit / 4) {
		for (size_t i = 0; i < KINDS * ARRAY_SIZE(lengths); i++) {
			_cleanup_(profile_freep) struct profile *profile = NULL;
			uint32_t id;

			assert_int_equal(profile_new(limit, &profile), 0);
			assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
			assert_int_equal(profile_add_location(profile, 0, UINT64_MAX, &id), 0);
			assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
			fill_strings(profile, lengths[i / KINDS]);
			for (uint32_t number = 0; profile_element_bytes(profile) + 128 <=
						  profile_sure_element_bytes(profile->limit_bytes);
				number++)
				assert_int_equal(add_element(profile, (int)(i % KINDS), number), 0);
			assert_true(profile_bytes(profile) <= limit);
		}
	}
}

static int build_something(struct profile **ret_profile)
{
	struct profile_binary binary = { .kind = BINARY_LIBRARY };
	struct profile_thread thread = { .tgid = 1 };
	struct profile_frame frames[40] = { 0 };
	struct profile_sample sample = { .count = 1 };
	uint32_t id, location;
	int r;

	r = profile_new(PLENTY, ret_profile);
	if (r < 0)
		return r;
	r = profile_add_binary(*ret_profile, &binary, &id);
	if (r == 0)
		r = profile_add_location(*ret_profile, id, 1, &location);
	if (r == 0)
		r = profile_name_location(*ret_profile, location, frames, 40);
	if (r == 0)
		r = profile_add_node(*ret_profile, PROFILE_ROOT, location, &sample.node);
	if (r == 0)
		r = profile_add_thread(*ret_profile, &thread, &sample.thread);
	if (r == 0)
		r = profile_add_sample(*ret_profile, &sample);
	if (r == 0)
		r = profile_add_synthetic(*ret_profile, "[unknown]", &location);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = NULL;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = build_something(&profile);
		profile_free(profile);
		profile = NULL;
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one_node),
		cmocka_unit_test(profiles_of_a_pool_share_its_budget),
		cmocka_unit_test(the_same_address_in_two_binaries_is_two_locations),
		cmocka_unit_test(another_function_at_the_same_address_is_another_location),
		cmocka_unit_test(samples_of_one_stack_and_thread_add_up),
		cmocka_unit_test(counts_of_one_slice_are_one_time),
		cmocka_unit_test(times_have_a_share),
		cmocka_unit_test(synthetic_frames_are_known_by_their_text),
		cmocka_unit_test(the_budget_holds),
		cmocka_unit_test(elements_fit_as_far_as_it_is_said),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

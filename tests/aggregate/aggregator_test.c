/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/aggregate/aggregator_fixture.h"
#include "tests/harness/failing_allocation.h"

static void one_stack_of_two_threads_is_one_node(void **state)
{
	struct raw_sample first = sample_of(7, "main"), second = sample_of(8, "worker");
	struct fixture fixture;
	struct resolved_frame frames[2];

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	frames[0] = (struct resolved_frame){ .binary = fixture.jit, .address = 0x7000 };
	frames[1] = (struct resolved_frame){
		.binary = fixture.kernel,
		.address = 0x10,
		.name = "do_idle",
	};
	assert_int_equal(aggregator_add(fixture.aggregator, &first, NULL, frames, 2), 0);
	assert_int_equal(aggregator_add(fixture.aggregator, &second, NULL, frames, 2), 0);
	assert_int_equal(aggregator_add(fixture.aggregator, &first, NULL, frames, 2), 0);
	assert_int_equal(fixture.profile->nodes.count, 3);
	assert_int_equal(fixture.profile->threads.count, 2);
	assert_int_equal(fixture.profile->samples.count, 2);
	assert_int_equal(fixture.profile->samples.items[0].count, 4);
	assert_int_equal(fixture.profile->samples.items[1].count, 2);
	close_fixture(&fixture);
}

static void binaries_are_found_from_both_sides(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;
	struct resolved_frame frames[2];
	uint32_t jit;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	frames[0] = (struct resolved_frame){ .binary = RESOLVED_SYNTHETIC, .name = "[unknown]" };
	frames[1] = (struct resolved_frame){ .binary = fixture.jit, .address = 0x7000 };
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, frames, 2), 0);
	jit = fixture.profile->locations.items[fixture.profile->nodes.items[2].location].binary;
	assert_int_equal(fixture.profile->binaries.items[jit].kind, BINARY_JIT);
	assert_int_equal(aggregator_table_binary(fixture.aggregator, jit), fixture.jit);
	assert_int_equal(
		aggregator_table_binary(fixture.aggregator, fixture.profile->synthetic_binary),
		UINT32_MAX);
	assert_int_equal(aggregator_table_binary(fixture.aggregator, 1000), UINT32_MAX);
	close_fixture(&fixture);
}

static void names_of_the_kernel_come_at_once(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;
	struct resolved_frame frame;
	const struct profile_location *location;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	frame = (struct resolved_frame){
		.binary = fixture.kernel,
		.address = 0x10,
		.name = "do_idle",
	};
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	location = &fixture.profile->locations.items[0];
	assert_int_equal(location->frame_count, 1);
	assert_string_equal(string_pool_get(&fixture.profile->strings,
				    fixture.profile->frames.items[location->first_frame].function),
		"do_idle");
	close_fixture(&fixture);
}

static void generated_code_arrives_with_its_place_in_the_source(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	const struct profile_frame *named;
	struct resolved_frame frame;
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	frame = (struct resolved_frame){
		.binary = fixture.jit,
		.address = 0x7000,
		.jit = RESOLVED_JIT,
		.name = "JS:*hot",
		.file = "a.js",
		.line = 12,
		.column = 7,
	};
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	assert_int_equal(fixture.profile->locations.count, 1);
	assert_int_equal(fixture.profile->samples.items[0].count, 4);
	named = frame_of(&fixture, 1);
	assert_string_equal(string_of(&fixture, named->function), "JS:*hot");
	assert_string_equal(string_of(&fixture, named->file), "a.js");
	assert_int_equal(named->line, 12);
	assert_int_equal(named->column, 7);
	close_fixture(&fixture);
}

static void one_address_is_as_many_locations_as_functions_were_there(void **state)
{
	static const char *const names[] = { "first", "second", "first", "[jit: unknown]" };
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct resolved_frame frame = {
			.binary = fixture.jit,
			.address = 0x7000,
			.jit = RESOLVED_JIT_SHARED,
			.name = names[i],
		};

		assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	}
	assert_int_equal(fixture.profile->locations.count, 3);
	assert_int_equal(fixture.profile->samples.count, 3);
	assert_int_equal(fixture.profile->samples.items[0].count, 4);
	assert_string_equal(string_of(&fixture, frame_of(&fixture, 1)->function), "first");
	assert_string_equal(string_of(&fixture, frame_of(&fixture, 2)->function), "second");
	assert_string_equal(string_of(&fixture, frame_of(&fixture, 3)->function), "[jit: unknown]");
	assert_int_equal(frame_of(&fixture, 1)->file, 0);
	assert_int_equal(frame_of(&fixture, 1)->line, 0);
	close_fixture(&fixture);
}

/* Whatever its name becomes: of the kernel's code an address is one location. */
static void names_of_the_kernel_are_no_part_of_a_location(void **state)
{
	static const char *const names[] = { "do_idle", "do_idle.cold" };
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct resolved_frame frame = {
			.binary = fixture.kernel,
			.address = 0x10,
			.name = names[i],
		};

		assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	}
	assert_int_equal(fixture.profile->locations.count, 1);
	assert_string_equal(string_of(&fixture, frame_of(&fixture, 1)->function), "do_idle");
	close_fixture(&fixture);
}

static void a_sample_without_frames_is_still_one(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, NULL, 0), 0);
	assert_int_equal(fixture.profile->samples.count, 1);
	assert_int_equal(fixture.profile->samples.items[0].count, 2);
	assert_int_equal(
		fixture.profile->binaries.items[fixture.profile->locations.items[0].binary].kind,
		BINARY_SYNTHETIC);
	close_fixture(&fixture);
}

/* Many users fill it: one alone does not. */
static void a_full_profile_refuses(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	struct resolved_frame frame = { 0 };
	struct fixture fixture;
	uint64_t added = 0;
	int r = 0;

	assert_int_equal(open_fixture(&fixture, 64 << 10), 0);
	frame.binary = fixture.jit;
	while (r == 0) {
		frame.address++;
		sample.user++;
		r = aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1);
		added += r == 0 ? sample.count : 0;
	}
	assert_int_equal(r, -E2BIG);
	assert_true(added > 200);
	assert_int_equal(stored(&fixture), added);
	close_fixture(&fixture);
}

/* One thread, as if it moved from cgroup to cgroup: nobody's in a container, or if unknown. */
static void threads_have_owners(void **state)
{
	static const struct {
		const char *cgroup;
		uint32_t user, owner;
	} cases[] = {
		{ "/user.slice", 1000, 1001 },
		{ "/user.slice", 0, 1 },
		{ "/docker/4ad1e6a0f0e1d2c3b4a5968778695a4b3c2d1e0f4ad1e6a0f0e1d2c3b4a59687", 1000,
			0 },
		{ "", 1000, 0 },
		{ NULL, 1000, 0 },
	};
	struct raw_sample sample = sample_of(7, "one");
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct aggregator_labels labels = { .exe = "", .cgroup = cases[i].cgroup };

		sample.user = cases[i].user;
		assert_int_equal(aggregator_add(fixture.aggregator, &sample,
					 cases[i].cgroup ? &labels : NULL, NULL, 0),
			0);
	}
	/* The last two are the same. */
	assert_int_equal(fixture.profile->threads.count, sizeof(cases) / sizeof(*cases) - 1);
	for (size_t i = 0; i < fixture.profile->threads.count; i++)
		assert_int_equal(fixture.profile->threads.items[i].owner, cases[i].owner);
	close_fixture(&fixture);
}

static void failing_allocations_are_reported(void **state)
{
	struct raw_sample sample = sample_of(7, "main");
	struct fixture fixture;
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct resolved_frame frames[2] = { { .name = "do_idle" } };

		fail_allocation(n);
		r = open_fixture(&fixture, 1 << 20);
		if (r == 0) {
			frames[0].binary = fixture.kernel;
			frames[1] = (struct resolved_frame){
				.binary = fixture.jit,
				.jit = RESOLVED_JIT,
				.name = "hot",
				.file = "a.js",
			};
			r = aggregator_add(fixture.aggregator, &sample, NULL, frames, 2);
		}
		close_fixture(&fixture);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stack_of_two_threads_is_one_node),
		cmocka_unit_test(binaries_are_found_from_both_sides),
		cmocka_unit_test(names_of_the_kernel_come_at_once),
		cmocka_unit_test(generated_code_arrives_with_its_place_in_the_source),
		cmocka_unit_test(one_address_is_as_many_locations_as_functions_were_there),
		cmocka_unit_test(names_of_the_kernel_are_no_part_of_a_location),
		cmocka_unit_test(a_sample_without_frames_is_still_one),
		cmocka_unit_test(a_full_profile_refuses),
		cmocka_unit_test(threads_have_owners),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

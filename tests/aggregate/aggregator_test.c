/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/aggregator.h"
#include "labels/cgroup_path.h"
#include "process/process_scan.h"
#include "tests/harness/distinct_users.h"
#include "tests/harness/failing_allocation.h"

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

static int open_fixture(struct fixture *fixture, size_t profile_budget)
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

static void close_fixture(struct fixture *fixture)
{
	aggregator_free(fixture->aggregator);
	profile_free(fixture->profile);
	binary_table_free(fixture->binaries);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

static struct raw_sample sample_of(uint32_t tid, const char *comm)
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
static uint64_t stored(const struct fixture *fixture)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < fixture->profile->samples.count; i++)
		sum += fixture->profile->samples.items[i].count;
	return sum;
}

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

static const char *string_of(const struct fixture *fixture, uint32_t id)
{
	return string_pool_get(&fixture->profile->strings, id);
}

/* The frame of the location that node `node` is of. */
static const struct profile_frame *frame_of(const struct fixture *fixture, size_t node)
{
	const struct profile *profile = fixture->profile;
	const struct profile_location *location =
		&profile->locations.items[profile->nodes.items[node].location];

	assert_int_equal(location->frame_count, 1);
	return &profile->frames.items[location->first_frame];
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

/* The name of the node that was added last. */
static const char *newest_name(const struct fixture *fixture)
{
	return string_of(fixture, frame_of(fixture, fixture->profile->nodes.count - 1)->function);
}

static uint64_t over_quota(const struct fixture *fixture)
{
	return fixture->excess.total[USER_WINDOW];
}

/* What a user may add in each of many samples. */
struct flood {
	bool has_names, has_threads, has_stacks, has_cgroups;
};

/*
 * Adds samples of `users` users in turn, with new names, threads or stacks, until each user has
 * some over quota.
 */
static uint64_t flood(struct fixture *fixture, uint32_t users, const struct flood *flood)
{
	char name[200] = "name", comm[16] = "flood", cgroup[64] = "/user.slice";
	struct aggregator_labels labels = { .exe = "/usr/bin/node", .cgroup = cgroup };
	struct raw_sample sample = sample_of(7, comm);
	struct resolved_frame frames[2] = { 0 };
	uint64_t added = 0;
	uint32_t uids[8];

	for (uint32_t i = 0; i < users; i++)
		uids[i] = (uint32_t)distinct_user(&fixture->seen, 1000 + i);
	for (int i = 0; i < 2; i++)
		frames[i] = (struct resolved_frame){
			.jit = RESOLVED_JIT, .binary = fixture->jit, .name = name, .address = 1
		};
	while (over_quota(fixture) < 200 * users) {
		added++;
		sample.user = uids[added % users];
		if (flood->has_names)
			(void)snprintf(name, sizeof(name), "%0150llu", (unsigned long long)added);
		if (flood->has_stacks)
			frames[0].address = added;
		if (flood->has_cgroups)
			(void)snprintf(cgroup, sizeof(cgroup), "/user.slice/%llu",
				(unsigned long long)added);
		if (flood->has_threads) {
			sample.tid = (uint32_t)added;
			(void)snprintf(comm, sizeof(comm), "%llu", (unsigned long long)added);
		}
		assert_int_equal(
			aggregator_add(fixture->aggregator, &sample, &labels, frames, 2), 0);
	}
	return added;
}

/* Another user's sample with new labels and names. */
static void expect_room_for_others(struct fixture *fixture)
{
	const struct aggregator_labels labels = { .exe = "/usr/bin/other",
		.cgroup = "/system.slice/other.service" };
	struct raw_sample other = sample_of(8, "innocent");
	const uint64_t before = over_quota(fixture);

	other.user = (uint32_t)distinct_user(&fixture->seen, 0);
	for (uint64_t i = 0; i < 50; i++) {
		char name[64];
		const struct resolved_frame frame = { .binary = fixture->jit,
			.jit = RESOLVED_JIT,
			.name = name,
			.address = 1000000 + i };

		(void)snprintf(name, sizeof(name), "innocent_%llu", (unsigned long long)i);
		assert_int_equal(
			aggregator_add(fixture->aggregator, &other, &labels, &frame, 1), 0);
		assert_string_equal(newest_name(fixture), name);
	}
	assert_int_equal(over_quota(fixture), before);
}

/* The names, threads or stacks of users fill their shares. Their samples stay, and others have
 * room. */
static void a_user_cannot_fill_the_profile(void **state)
{
	static const struct flood floods[] = {
		{ .has_names = true },
		{ .has_threads = true },
		{ .has_stacks = true },
		{ .has_cgroups = true, .has_threads = true },
		{ .has_names = true, .has_threads = true, .has_stacks = true },
	};

	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		struct fixture fixture;
		uint64_t added;

		for (uint32_t users = 1; users <= 8; users += 7) {
			assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
			added = flood(&fixture, users, &floods[i]);
			assert_int_equal(stored(&fixture), 2 * added);
			assert_true(added > 500);
			expect_room_for_others(&fixture);
			close_fixture(&fixture);
		}
	}
}

/* A user fills the part of other sources, and has as much of the whole for CPU time. */
static void a_part_of_a_quota_leaves_the_rest(void **state)
{
	const struct flood names = { .has_names = true, .has_stacks = true };
	struct resolved_frame frame = { .jit = RESOLVED_JIT, .name = "new", .address = 7 };
	const struct raw_sample sample = sample_of(9, "late");
	struct aggregator_quota all, others;
	struct fixture fixture;
	uint64_t before, added;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	aggregator_quota_init(&all, 1 << 20, NULL);
	aggregator_quota_init(&others, 3 << 18, &all);
	aggregator_set_quota(fixture.aggregator, &others);
	(void)flood(&fixture, 1, &names);
	assert_int_equal(others.strings.used, all.strings.used);
	assert_int_equal(others.elements.used, all.elements.used);
	aggregator_set_quota(fixture.aggregator, &all);
	before = over_quota(&fixture);
	added = all.strings.used;
	expect_room_for_others(&fixture);
	assert_int_equal(over_quota(&fixture), before);
	/* What is charged to the whole is not charged to the part. */
	assert_true(all.strings.used > added);
	assert_int_equal(others.strings.used, added);
	/* The part is full for all its users only if the whole is. */
	all.strings.used = all.strings.capacity;
	aggregator_set_quota(fixture.aggregator, &others);
	before = over_quota(&fixture);
	frame.binary = fixture.jit;
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, NULL, &frame, 1), 0);
	assert_int_equal(over_quota(&fixture), before + sample.count);
	close_fixture(&fixture);
}

/* What is in the profile already costs nothing. */
static void a_user_over_quota_keeps_known_names(void **state)
{
	const struct flood names = { .has_names = true };
	const struct aggregator_labels labels = { .exe = "/usr/bin/node", .cgroup = "/user.slice" };
	struct raw_sample sample = sample_of(7, "flood");
	struct resolved_frame frames[2];
	struct fixture fixture;
	char name[200];
	uint64_t before;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	sample.user = 1000;
	(void)flood(&fixture, 1, &names);
	before = over_quota(&fixture);
	(void)snprintf(name, sizeof(name), "%0150d", 1);
	for (int i = 0; i < 2; i++)
		frames[i] = (struct resolved_frame){
			.jit = RESOLVED_JIT, .binary = fixture.jit, .name = name, .address = 1
		};
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, &labels, frames, 2), 0);
	assert_int_equal(over_quota(&fixture), before);
	frames[1].name = "new";
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, &labels, frames, 2), 0);
	assert_int_equal(over_quota(&fixture), before + 2);
	assert_int_equal(fixture.excess.lines[0].user, 1000);
	close_fixture(&fixture);
}

/* Each sample with a time of its own: the times, too, are of the user's share. */
static void a_user_over_quota_notes_no_times(void **state)
{
	const struct flood names = { .has_names = true };
	const struct aggregator_labels labels = { .exe = "/usr/bin/node", .cgroup = "/user.slice" };
	struct raw_sample sample = sample_of(7, "flood");
	struct fixture fixture;
	size_t times;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	profile_keep_times(fixture.profile, 1);
	sample.user = 1000;
	(void)flood(&fixture, 1, &names);
	times = fixture.profile->times.count;
	for (uint64_t i = 0; i < 5000; i++) {
		const struct resolved_frame frame = {
			.jit = RESOLVED_JIT, .binary = fixture.jit, .name = "new", .address = i
		};

		sample.first_ns = sample.last_ns = i * PROFILE_SLICE_NS;
		assert_int_equal(
			aggregator_add(fixture.aggregator, &sample, &labels, &frame, 1), 0);
	}
	assert_int_equal(fixture.profile->times.count, times);
	expect_room_for_others(&fixture);
	assert_true(fixture.profile->times.count > times);
	close_fixture(&fixture);
}

/* A new thread of a user over quota loses its name, and not its stack. */
static void a_known_stack_stays_with_a_nameless_thread(void **state)
{
	const struct flood threads = { .has_threads = true };
	const struct aggregator_labels labels = { .exe = "/usr/bin/node", .cgroup = "/user.slice" };
	struct raw_sample sample = sample_of(99, "unheard-of");
	struct resolved_frame frames[2];
	const struct profile_sample *added = NULL;
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	sample.user = 1000;
	(void)flood(&fixture, 1, &threads);
	for (int i = 0; i < 2; i++)
		frames[i] = (struct resolved_frame){
			.jit = RESOLVED_JIT, .binary = fixture.jit, .name = "name", .address = 1
		};
	assert_int_equal(aggregator_add(fixture.aggregator, &sample, &labels, frames, 2), 0);
	/* The sample of a nameless thread with that stack is there, from the flood. */
	for (size_t i = 0; i < fixture.profile->samples.count; i++) {
		added = &fixture.profile->samples.items[i];
		if (fixture.profile->threads.items[added->thread].tgid == 0)
			break;
	}
	assert_non_null(added);
	assert_int_equal(fixture.profile->threads.items[added->thread].tgid, 0);
	assert_int_equal(fixture.profile->threads.items[added->thread].owner,
		fixture.profile->threads.items[added->thread].user + 1);
	assert_string_equal(string_of(&fixture, frame_of(&fixture, added->node)->function), "name");
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

/* Root in a container answers for itself, not root of the host. */
static void root_in_a_container_is_a_user_of_its_own(void **state)
{
	static const char container[] =
		"/docker/"
		"4ad1e6a0f0e1d2c3b4a5968778695a4b3c2d1e0f4ad1e6a0f0e1d2c3b4a59687";
	const struct aggregator_labels labels = { .exe = "/a", .cgroup = container };
	struct raw_sample sample = sample_of(7, "root");
	struct resolved_frame frame = { .jit = RESOLVED_JIT };
	struct fixture fixture;
	char name[200];
	uint64_t i;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	frame.binary = fixture.jit;
	frame.name = name;
	for (i = 0; over_quota(&fixture) == 0; i++) {
		(void)snprintf(name, sizeof(name), "%0150llu", (unsigned long long)i);
		assert_int_equal(
			aggregator_add(fixture.aggregator, &sample, &labels, &frame, 1), 0);
	}
	assert_int_not_equal(fixture.excess.lines[0].user, 0);
	assert_int_equal((uint32_t)fixture.excess.lines[0].user, 0);
	user_share_add(&fixture.seen, cgroup_path_user(0, container), 1);
	expect_room_for_others(&fixture); /* root of the host */
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
		cmocka_unit_test(a_user_cannot_fill_the_profile),
		cmocka_unit_test(a_part_of_a_quota_leaves_the_rest),
		cmocka_unit_test(a_user_over_quota_keeps_known_names),
		cmocka_unit_test(a_user_over_quota_notes_no_times),
		cmocka_unit_test(a_known_stack_stays_with_a_nameless_thread),
		cmocka_unit_test(threads_have_owners),
		cmocka_unit_test(root_in_a_container_is_a_user_of_its_own),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

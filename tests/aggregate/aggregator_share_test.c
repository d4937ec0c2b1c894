/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile is shared by users: one over quota loses names, and nobody else does. */
#include "tests/aggregate/aggregator_fixture.h"
#include "tests/harness/distinct_users.h"

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

/* A new span in each sample, of one stack. Returns how many were noted. */
static size_t add_spans(struct fixture *fixture, uint32_t user, uint32_t count)
{
	const struct aggregator_labels labels = { .exe = "/usr/bin/node", .cgroup = "/user.slice" };
	const struct resolved_frame frame = {
		.jit = RESOLVED_JIT, .binary = fixture->jit, .name = "f"
	};
	const size_t before = fixture->profile->spans.count;
	struct raw_sample sample = sample_of(user, "spans");

	sample.user = user;
	sample.context.trace_id[0] = 1;
	for (uint32_t i = 1; i <= count; i++) {
		memcpy(sample.context.span_id, &i, sizeof(i));
		memcpy(sample.context.trace_id + 4, &user, sizeof(user));
		assert_int_equal(
			aggregator_add(fixture->aggregator, &sample, &labels, &frame, 1), 0);
	}
	return fixture->profile->spans.count - before;
}

/* The samples of a user whose threads change spans all the time stay, and so do others' spans. */
static void a_user_cannot_take_all_spans(void **state)
{
	const uint32_t user = 1000;
	struct fixture fixture;

	assert_int_equal(open_fixture(&fixture, 1 << 20), 0);
	fixture.profile->keeps_spans = true;
	(void)distinct_user(&fixture.seen, user);
	assert_in_range(add_spans(&fixture, user, 5000), 500, 2000);
	assert_int_equal(add_spans(&fixture, user, 100), 0);
	assert_int_equal(add_spans(&fixture, (uint32_t)distinct_user(&fixture.seen, 0), 100), 100);
	assert_int_equal(stored(&fixture), 2 * 5200);
	assert_int_equal(over_quota(&fixture), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_cannot_fill_the_profile),
		cmocka_unit_test(a_part_of_a_quota_leaves_the_rest),
		cmocka_unit_test(a_user_over_quota_keeps_known_names),
		cmocka_unit_test(a_user_over_quota_notes_no_times),
		cmocka_unit_test(a_user_cannot_take_all_spans),
		cmocka_unit_test(a_known_stack_stays_with_a_nameless_thread),
		cmocka_unit_test(root_in_a_container_is_a_user_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

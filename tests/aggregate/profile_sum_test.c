/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile_sum.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

enum { BUDGET = 4 << 20, PARTS = 3 };

struct parts {
	struct profile *own[PARTS];
};

static struct profile *part(const char *event, uint64_t period_ns, const char *const stacks[])
{
	struct profile *profile = example_empty();

	for (size_t i = 0; stacks[i]; i++)
		example_add(profile, stacks[i]);
	profile->event = example_string(profile, event);
	profile->period_ns = period_ns;
	profile->start_ns = 1000;
	profile->end_ns = 11000;
	profile->cpu_count = 4;
	return profile;
}

/* CPU time in 10 ms, time off CPU in 1 ms, time waiting in 4 ms. */
static struct parts make_parts(void)
{
	static const char *const cpu[] = { "c|3|x:main#/src/m.c:5|l:read|k:do_read", "d|1|x:main",
		"c|2|j:compiled", NULL };
	static const char *const offcpu[] = {
		"c|700|x:main#/src/m.c:5|l:read|k:do_read|s:[blocked]", "e|20|x:+1a40",
		"c|1|j:compiled", NULL
	};
	static const char *const runqueue[] = { "c|5|x:main#/src/m.c:5|s:[waiting for a CPU]",
		NULL };

	return (struct parts){ { part("cpu-clock", 10000000, cpu), part("offcpu", 1000000, offcpu),
		part("runqueue", 4000000, runqueue) } };
}

static void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < PARTS; i++)
		profile_free(parts->own[i]);
}

static int make_sum(const struct parts *parts, size_t limit_bytes, struct profile **ret_sum)
{
	return profile_sum_new(
		(const struct profile *const *)parts->own, PARTS, "wall", limit_bytes, ret_sum);
}

static const char *string(const struct profile *profile, uint32_t id)
{
	return string_pool_get(&profile->strings, id);
}

static void describe_location(const struct profile *profile, uint32_t id, char *text, size_t room)
{
	const struct profile_location *location = &profile->locations.items[id];
	const struct profile_binary *binary = &profile->binaries.items[location->binary];
	size_t used = (size_t)snprintf(text, room, "%d %s %llx", (int)binary->kind,
		string(profile, binary->path),
		binary->kind == BINARY_SYNTHETIC ? 0 : (unsigned long long)location->address);

	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct profile_frame *frame =
			&profile->frames.items[location->first_frame + i];

		used += (size_t)snprintf(text + used, room - used, " %s@%s:%u",
			string(profile, frame->function), string(profile, frame->file),
			frame->line);
	}
}

static void describe_sample(const struct profile *profile, size_t number, char *text, size_t room)
{
	const struct profile_sample *sample = &profile->samples.items[number];
	size_t used = (size_t)snprintf(
		text, room, "%s", string(profile, profile->threads.items[sample->thread].comm));

	for (uint32_t node = sample->node; node != PROFILE_ROOT;
		node = profile->nodes.items[node].parent) {
		char location[256];

		describe_location(
			profile, profile->nodes.items[node].location, location, sizeof(location));
		used += (size_t)snprintf(text + used, room - used, "; %s", location);
	}
}

/* The sum's count of a part's sample: the same thread and stack, by their names. */
static uint64_t count_in_sum(const struct profile *sum, const struct profile *of, size_t number)
{
	char wanted[2048], text[2048];
	uint64_t count = 0;

	describe_sample(of, number, wanted, sizeof(wanted));
	for (size_t i = 0; i < sum->samples.count; i++) {
		describe_sample(sum, i, text, sizeof(text));
		if (strcmp(text, wanted) == 0)
			count += sum->samples.items[i].count;
	}
	return count;
}

static void amounts_and_names_are_kept(void **state)
{
	struct parts parts = make_parts();
	struct profile *sum;
	uint64_t total = 0;

	assert_int_equal(make_sum(&parts, BUDGET, &sum), 0);
	assert_string_equal(string(sum, sum->event), "wall");
	assert_int_equal(sum->period_ns, 1000000);
	assert_int_equal(sum->longest_period_ns, 10000000);
	assert_int_equal(sum->start_ns, 1000);
	assert_int_equal(sum->end_ns, 11000);
	assert_int_equal(sum->cpu_count, 4);
	/* One stack is both on CPU and off it. */
	assert_int_equal(sum->samples.count, 3 + 3 + 1 - 1);
	assert_int_equal(count_in_sum(sum, parts.own[0], 0), 30);
	assert_int_equal(count_in_sum(sum, parts.own[0], 1), 10);
	assert_int_equal(count_in_sum(sum, parts.own[0], 2), 20 + 1);
	assert_int_equal(count_in_sum(sum, parts.own[1], 0), 700);
	assert_int_equal(count_in_sum(sum, parts.own[1], 1), 20);
	assert_int_equal(count_in_sum(sum, parts.own[2], 0), 20);
	for (size_t i = 0; i < sum->samples.count; i++)
		total += sum->samples.items[i].count;
	assert_int_equal(total, 60 + 721 + 20);
	assert_int_equal(accounts_stored(&sum->accounts), total);
	assert_true(accounts_close(&sum->accounts));
	profile_free(sum);
	parts_done(&parts);
}

static void a_binary_of_several_parts_is_one(void **state)
{
	struct parts parts = make_parts();
	struct profile *sum;
	size_t executables = 0;

	assert_int_equal(make_sum(&parts, BUDGET, &sum), 0);
	for (size_t i = 0; i < sum->binaries.count; i++)
		executables += sum->binaries.items[i].kind == BINARY_EXECUTABLE;
	/* Three threads. All parts have one of them. */
	assert_int_equal(executables, 3);
	profile_free(sum);
	parts_done(&parts);
}

static void note_stamp(struct profile *profile, uint64_t count, uint64_t time_ns)
{
	struct profile_sample sample = profile->samples.items[2];

	sample.count = count;
	profile_note_stamp(profile, &sample, time_ns);
	profile_sort_stamps(profile);
}

/* The last samples of both have one stack. */
static void times_are_kept(void **state)
{
	struct parts parts = make_parts();
	struct profile *sum;

	note_stamp(parts.own[1], 1, 2000);
	note_stamp(parts.own[0], 2, 1500);
	assert_int_equal(make_sum(&parts, BUDGET, &sum), 0);
	assert_int_equal(sum->stamps.count, 2);
	assert_int_equal(sum->stamps.items[0].time_ns, 1500);
	assert_int_equal(sum->stamps.items[0].count, 20);
	assert_int_equal(sum->stamps.items[1].time_ns, 2000);
	assert_int_equal(sum->stamps.items[1].count, 1);
	assert_int_equal(sum->stamps.items[0].sample, sum->stamps.items[1].sample);
	profile_free(sum);
	parts_done(&parts);
}

static void one_part_is_its_own_sum(void **state)
{
	struct parts parts = make_parts();
	const struct profile *const only[] = { parts.own[1] };
	struct profile *sum;

	assert_int_equal(profile_sum_new(only, 1, "wall", BUDGET, &sum), 0);
	assert_int_equal(sum->samples.count, only[0]->samples.count);
	for (size_t i = 0; i < only[0]->samples.count; i++)
		assert_int_equal(count_in_sum(sum, only[0], i), only[0]->samples.items[i].count);
	profile_free(sum);
	parts_done(&parts);
}

static void a_sum_without_room_is_an_error(void **state)
{
	struct parts parts = make_parts();
	struct profile *sum = NULL;

	assert_int_equal(make_sum(&parts, 200, &sum), -E2BIG);
	assert_null(sum);
	parts_done(&parts);
}

static int make_and_free(const struct parts *parts)
{
	struct profile *sum = NULL;
	int r = make_sum(parts, BUDGET, &sum);

	profile_free(sum);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct parts parts = make_parts();

	assert_true(FAIL_EACH_ALLOCATION(make_and_free(&parts), -ENOMEM, true, 0) >= 15);
	parts_done(&parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_and_names_are_kept),
		cmocka_unit_test(a_binary_of_several_parts_is_one),
		cmocka_unit_test(times_are_kept),
		cmocka_unit_test(one_part_is_its_own_sum),
		cmocka_unit_test(a_sum_without_room_is_an_error),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

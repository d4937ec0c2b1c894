/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_profile.h"

#include "export/clickhouse_places.h"
#include "render/folded.h"
#include "tests/harness/failing_allocation.h"
#include "tests/tools/fleet/fleet_fixture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct fleet_rows rows;
static struct profile *profile;

static int tear_down(void **state)
{
	fleet_rows_done(&rows);
	memset(&rows, 0, sizeof(rows));
	profile_free(profile);
	profile = NULL;
	return 0;
}

static int fill(void)
{
	profile_free(profile);
	profile = NULL;
	assert_int_equal(profile_new(1 << 20, &profile), 0);
	return fleet_profile_fill(&rows, profile);
}

static int keep(void *context, const void *bytes, size_t size)
{
	char *text = context;

	(void)snprintf(
		text + strlen(text), 4096 - strlen(text), "%.*s", (int)size, (const char *)bytes);
	return 0;
}

static const char *folded(void)
{
	static char text[4096];
	static struct output output;

	text[0] = '\0';
	output_init(&output, keep, text);
	assert_int_equal(folded_write(profile, FRAME_BY_FUNCTION, &output), 0);
	assert_int_equal(output_finish(&output), 0);
	return text;
}

static void rows_become_a_profile(void **state)
{
	fleet_put_all(&rows);
	assert_int_equal(fill(), 0);
	assert_string_equal(folded(),
		"[lost: ring full] 3\n"
		"job;main;inner_[i];[web+0x2000];\xef\xbf\xbd[31mlambda_[j] 5\n"
		"web;main;inner_[i];[web+0x2000] 40\n"
		"web;main;inner_[i];[web+0x2000];\xef\xbf\xbd[31mlambda_[j] 2\n");
	assert_int_equal(profile->period_ns, 10000000);
	assert_int_equal(profile->longest_period_ns, 0);
	assert_true(accounts_close(&profile->accounts));
	assert_int_equal(profile->accounts.fired, 50);
	assert_int_equal(accounts_lost(&profile->accounts), 3);
	/* One binary has both locations, and its build-id. */
	assert_int_equal(profile->binaries.items[0].build_id.size, 20);
	assert_int_equal(profile->binaries.items[0].build_id.bytes[1], 0x11);
}

/* What hosts call the kinds of code. */
static void each_kind_of_code_is_known(void **state)
{
	for (enum binary_kind kind = 0; kind < BINARY_KIND_COUNT; kind++) {
		put_sample(&rows, kind, "a", 1, 1, 1);
		PUT_STACK(&rows, kind, 100 + kind);
		put_location(&rows, 100 + kind, "", kind, clickhouse_kind_name(kind), "/x");
	}
	assert_int_equal(fill(), 0);
	for (enum binary_kind kind = 0; kind < BINARY_KIND_COUNT; kind++)
		assert_int_equal(profile->binaries.items[kind].kind, kind);
}

static void what_refers_to_nothing_is_shown(void **state)
{
	put_sample(&rows, 71, "web", 1, 1, 40);
	put_sample(&rows, 72, "web", 1, 1, 2);
	PUT_STACK(&rows, 72, 13);
	assert_int_equal(fill(), 0);
	assert_string_equal(folded(), "web;[location missing in ClickHouse] 2\n"
				      "web;[stack missing in ClickHouse] 40\n");
}

/* Ten hosts stand for a hundred, and two of other periods are brought to the shortest. */
static void values_are_weighed(void **state)
{
	put_sample(&rows, 71, "a", 10, 1, 7);
	put_sample(&rows, 71, "b", 10, 10, 7);
	put_sample(&rows, 71, "c", 25, 1, 3);
	put_sample(&rows, 71, "d", 25, 1, 3);
	PUT_STACK(&rows, 71, 13);
	put_location(&rows, 13, FLEET_BUILD_ID, 5, "library", "/lib/x.so");
	assert_int_equal(fill(), 0);
	assert_string_equal(folded(), "a;[x.so+0x5] 7\n"
				      "b;[x.so+0x5] 70\n"
				      "c;[x.so+0x5] 7\n"
				      "d;[x.so+0x5] 8\n");
	assert_int_equal(profile->period_ns, 10);
	assert_int_equal(profile->longest_period_ns, 25);
}

static void questions_name_each_once(void **state)
{
	struct clickhouse_answer ids = { 0 };
	const uint64_t stacks[] = { 71, 72, 73 }, locations[] = { 11, 12, 13, 14 };

	fleet_put_all(&rows);
	assert_int_equal(fleet_rows_stack_ids(&rows, &ids), 0);
	assert_int_equal(ids.size, sizeof(stacks));
	assert_memory_equal(ids.bytes, stacks, sizeof(stacks));
	clickhouse_answer_done(&ids);
	assert_int_equal(fleet_rows_location_ids(&rows, &ids), 0);
	assert_int_equal(ids.size, sizeof(locations));
	assert_memory_equal(ids.bytes, locations, sizeof(locations));
	clickhouse_answer_done(&ids);
	assert_int_equal(fleet_rows_code(&rows, &ids), 0);
	assert_int_equal(ids.size, 2 * (41 + 8) + 4 + 8 + 10 + 8);
	assert_memory_equal(ids.bytes + 1, FLEET_BUILD_ID, 40);
	clickhouse_answer_done(&ids);
}

static void wrong_samples_are_refused(void **state)
{
	static const struct {
		uint64_t period;
		double weight;
		uint64_t value;
	} wrong[] = {
		{ 0, 1, 1 },
		{ 1, 0, 1 },
		{ 1, NAN, 1 },
		{ 1, 1e300, 1 },
		{ 1, 2, UINT64_MAX },
		{ 1, 1, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		put_sample(&rows, 71, "a", wrong[i].period, wrong[i].weight, wrong[i].value);
		if (fill() != -EBADMSG)
			fail_msg("%zu is taken", i);
		fleet_rows_done(&rows);
	}
}

/* Each answer that is cut anywhere else than between rows is refused. */
static void cut_rows_are_refused(void **state)
{
	struct clickhouse_answer *const answers[] = { &rows.samples, &rows.stacks, &rows.locations,
		&rows.names };

	fleet_put_all(&rows);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		answers[i]->size--;
		assert_int_equal(fill(), -EBADMSG);
		answers[i]->size++;
	}
	assert_int_equal(fill(), 0);
}

static void names_of_unequal_lengths_are_refused(void **state)
{
	put_sample(&rows, 71, "a", 1, 1, 1);
	PUT_STACK(&rows, 71, 13);
	put_location(&rows, 13, FLEET_BUILD_ID, 5, "library", "/lib/x.so");
	put_text(&rows.names, FLEET_BUILD_ID);
	put_u64(&rows.names, 5);
	put_length(&rows.names, 1);
	put_text(&rows.names, "f");
	put_length(&rows.names, 0);
	put_length(&rows.names, 0);
	assert_int_equal(fill(), -EBADMSG);
}

static void failing_allocations_leave_nothing(void **state)
{
	struct clickhouse_answer ids = { 0 };

	fleet_put_all(&rows);
	assert_true(
		FAIL_EACH_ALLOCATION(fleet_rows_stack_ids(&rows, &ids), -ENOMEM, !ids.bytes, 0));
	clickhouse_answer_done(&ids);
	/* Each run fills a new profile, whose allocations come first. */
	for (size_t i = 0;; i++) {
		int r;

		profile_free(profile);
		assert_int_equal(profile_new(1 << 20, &profile), 0);
		fail_allocation(i);
		r = fleet_profile_fill(&rows, profile);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(profile->accounts.fired, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rows_become_a_profile, tear_down),
		cmocka_unit_test_teardown(each_kind_of_code_is_known, tear_down),
		cmocka_unit_test_teardown(what_refers_to_nothing_is_shown, tear_down),
		cmocka_unit_test_teardown(values_are_weighed, tear_down),
		cmocka_unit_test_teardown(questions_name_each_once, tear_down),
		cmocka_unit_test_teardown(wrong_samples_are_refused, tear_down),
		cmocka_unit_test_teardown(cut_rows_are_refused, tear_down),
		cmocka_unit_test_teardown(names_of_unequal_lengths_are_refused, tear_down),
		cmocka_unit_test_teardown(failing_allocations_leave_nothing, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

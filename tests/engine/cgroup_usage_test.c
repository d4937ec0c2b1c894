/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/cgroup_usage.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void add(struct profile *profile, uint32_t tid, const char *cgroup, uint64_t count)
{
	struct profile_thread thread = { .tgid = tid, .tid = tid };
	struct profile_sample sample = { .node = PROFILE_ROOT, .count = count };

	assert_int_equal(profile_add_string(profile, cgroup, &thread.cgroup), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static void cgroups_are_sorted_by_their_samples(void **state)
{
	static const struct {
		const char *path;
		uint64_t samples;
	} expected[] = { { "/b", 12 }, { "/a", 7 }, { "/", 1 } };
	struct cgroup_usage usage;
	struct profile *profile;

	assert_int_equal(profile_new(1 << 20, &profile), 0);
	assert_int_equal(cgroup_usage_init(&usage, profile), 0);
	assert_int_equal(usage.count, 0);
	cgroup_usage_done(&usage);
	add(profile, 1, "/a", 7);
	add(profile, 2, "/b", 4);
	add(profile, 3, "/b", 8);
	add(profile, 4, "", 100); /* unknown */
	add(profile, 5, "/", 1);
	assert_true(
		FAIL_EACH_ALLOCATION(cgroup_usage_init(&usage, profile), -ENOMEM, true, 0) == 2);
	assert_int_equal(usage.count, 3);
	for (size_t i = 0; i < usage.count; i++) {
		assert_string_equal(string_pool_get(&profile->strings, usage.items[i].cgroup),
			expected[i].path);
		assert_int_equal(usage.items[i].samples, expected[i].samples);
	}
	cgroup_usage_done(&usage);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups_are_sorted_by_their_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

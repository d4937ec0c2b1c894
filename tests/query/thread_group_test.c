/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/thread_group.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static uint32_t string_of(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_add_string(profile, text, &id), 0);
	return id;
}

/* A service with two threads, a container in a pod, and a thread of the kernel. */
static struct profile *make_profile(size_t budget)
{
	static const char *const threads[][3] = {
		{ "nginx", "/usr/sbin/nginx", "/system.slice/nginx.service" },
		{ "worker", "/usr/sbin/nginx", "/system.slice/nginx.service" },
		{ "java", "/opt/jre/bin/java",
			"/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/"
			"cri-containerd-" DIGITS ".scope" },
		{ "kswapd0", "", "/" },
	};
	struct profile *profile;

	assert_int_equal(profile_new(budget, &profile), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(threads); i++) {
		const struct profile_thread thread = {
			.tgid = i < 2 ? 100 : 100 + i,
			.tid = 100 + i,
			.comm = string_of(profile, threads[i][0]),
			.exe = string_of(profile, threads[i][1]),
			.cgroup = string_of(profile, threads[i][2]),
		};
		uint32_t id;

		assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	}
	return profile;
}

static void threads_get_the_names_of_their_groups(void **state)
{
	static const struct {
		const char *group, *names[4];
	} cases[] = {
		{ "comm", { "nginx", "worker", "java", "kswapd0" } },
		{ "unit", { "nginx.service", "nginx.service", "cri-containerd-" DIGITS ".scope",
				  "[no unit]" } },
		{ "container", { "[no container]", "[no container]", DIGITS, "[no container]" } },
		{ "pod", { "[no pod]", "[no pod]", "11111111-2222-3333-4444-555555555555",
				 "[no pod]" } },
		{ "exe",
			{ "/usr/sbin/nginx", "/usr/sbin/nginx", "/opt/jre/bin/java", "[no exe]" } },
		{ "process", { "nginx [100]", "nginx [100]", "java [102]", "kswapd0 [103]" } },
		{ "thread", { "nginx [100]", "worker [101]", "java [102]", "kswapd0 [103]" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(profile_freep) struct profile *profile = make_profile(1 << 20);
		enum thread_group group = THREAD_GROUPS;

		assert_true(thread_group_find(cases[i].group, &group));
		assert_int_equal(group, i);
		assert_int_equal(thread_group_name(profile, group), 0);
		for (size_t j = 0; j < profile->threads.count; j++)
			assert_string_equal(
				string_pool_get(&profile->strings, profile->threads.items[j].comm),
				cases[i].names[j]);
	}
}

static void other_names_are_refused(void **state)
{
	enum thread_group group = THREAD_GROUP_EXE;

	assert_false(thread_group_find("cpu", &group));
	assert_false(thread_group_find("", &group));
	assert_int_equal(group, THREAD_GROUP_EXE);
}

static void names_beyond_the_budget_are_refused(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = make_profile(1 << 20);

	profile->is_frozen = true;
	assert_int_equal(thread_group_name(profile, THREAD_GROUP_UNIT), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_get_the_names_of_their_groups),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(names_beyond_the_budget_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

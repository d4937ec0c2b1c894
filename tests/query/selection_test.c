/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "query/selection.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* 2026-11-20 12:00:00 UTC. */
#define NOW	   (1795176000ULL * NSEC_PER_SEC)
#define MINUTES(n) ((n)*60ULL * NSEC_PER_SEC)

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int use_utc(void **state)
{
	return setenv("TZ", "UTC", 1);
}

/* Pairs, up to a NULL name. */
static struct selection *make(const char *const *pairs)
{
	struct selection *selection;
	struct fault fault = { 0 };

	assert_int_equal(selection_new(&selection), 0);
	for (; pairs[0]; pairs += 2)
		if (selection_add(selection, pairs[0], pairs[1], &fault) < 0)
			fail_msg("%s", fault.text);
	if (selection_finish(selection, NOW, &fault) < 0)
		fail_msg("%s", fault.text);
	return selection;
}

#define MAKE(...) make((const char *const[]){ __VA_ARGS__, NULL })

static void expect_times(const char *const *pairs, uint64_t start_ns, uint64_t end_ns)
{
	struct selection *selection = make(pairs);
	struct store_selection asked;

	selection_store(selection, &asked);
	if (asked.start_ns != start_ns || asked.end_ns != end_ns)
		fail_msg("%s", selection_text(selection));
	selection_free(selection);
}

#define EXPECT_TIMES(start, end, ...) \
	expect_times((const char *const[]){ __VA_ARGS__, NULL }, (start), (end))

static void times_are_read(void **state)
{
	const uint64_t midnight = NOW - MINUTES(12 * 60), day = MINUTES(24 * 60);

	EXPECT_TIMES(NOW - MINUTES(10), NOW, NULL);
	EXPECT_TIMES(NOW - MINUTES(90), NOW, "last", "1h 30min");
	EXPECT_TIMES(0, NOW, "last", "100y");
	EXPECT_TIMES(NOW - MINUTES(7), NOW - MINUTES(2), "last", "5min", "to", "2min ago");
	EXPECT_TIMES(0, midnight, "to", "today");
	EXPECT_TIMES(midnight - day, NOW, "from", "yesterday");
	EXPECT_TIMES(midnight - day, midnight, "from", "yesterday", "to", "today");
	EXPECT_TIMES(midnight - day + MINUTES(190), midnight - day + MINUTES(195), "from",
		"2026-11-19 03:10", "to", "03:15");
	EXPECT_TIMES(midnight - MINUTES(10), midnight + MINUTES(10), "from", "yesterday 23:50",
		"to", "00:10");
	EXPECT_TIMES(
		midnight - day, midnight - day + MINUTES(20), "to", "+20min", "from", "yesterday");
	EXPECT_TIMES(midnight, NOW, "from", "today", "to", "now");
	EXPECT_TIMES(1795170000123456789ULL, 1795170030123456789ULL, "from",
		"@1795170000.123456789", "to", "@1795170030.123456789");
}

/* A day of 23 hours and one of 25, in Berlin. */
static void the_end_is_the_next_time_of_day(void **state)
{
	const uint64_t spring = 1774737000ULL * NSEC_PER_SEC; /* 2026-03-28 22:30 UTC */
	const uint64_t autumn = 1792879800ULL * NSEC_PER_SEC; /* 2026-10-24 22:10 UTC */

	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	EXPECT_TIMES(spring, spring + MINUTES(45), "from", "2026-03-28 23:30", "to", "00:15");
	EXPECT_TIMES(
		spring, spring + MINUTES(23 * 60 - 10), "from", "2026-03-28 23:30", "to", "23:20");
	EXPECT_TIMES(
		autumn, autumn + MINUTES(25 * 60 - 5), "from", "2026-10-25 00:10", "to", "00:05");
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
}

static void invalid_parameters_are_reported(void **state)
{
	static const struct {
		const char *name, *value, *says;
		int error;
	} cases[] = {
		{ "units", "a", "\"units\"", -EINVAL },
		{ "unit", "", "unit has no value", -EINVAL },
		{ "pid", "12x", "pid is \"12x\"", -EINVAL },
		{ "pid", "-1", "a number", -EINVAL },
		{ "pid", "0", "a number", -EINVAL },
		{ "user", "alice", "user is \"alice\", but it takes a user's number", -EINVAL },
		{ "user", "-1", "a user's number", -EINVAL },
		{ "user", "*", "a user's number", -EINVAL },
		{ "user", "4294967295", "a user's number", -EINVAL },
		{ "user", "99999999999", "a user's number", -EINVAL },
		{ "tid", "99999999999", "a number", -EINVAL },
		{ "tid", "18446744073709551617", "a number", -EINVAL },
		{ "build-id", "abcg", "hexadecimal", -EINVAL },
		{ "build-id", "00112233445566778899aabbccddeeff001122334", "40 at most", -EINVAL },
	};
	char longest[SELECTION_VALUE_BYTES_MAX + 2];
	struct selection *selection;

	assert_int_equal(selection_new(&selection), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(selection_add(selection, cases[i].name, cases[i].value, &fault),
			cases[i].error);
		assert_non_null(strstr(fault.text, cases[i].says));
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(selection_add(selection, "exe", longest, NULL), -E2BIG);
	longest[sizeof(longest) - 2] = '\0';
	assert_int_equal(selection_add(selection, "exe", longest, NULL), 0);
	for (size_t i = 1; i < SELECTION_VALUES_MAX; i++)
		assert_int_equal(selection_add(selection, "pid", "7", NULL), 0);
	assert_int_equal(selection_add(selection, "pid", "7", NULL), -E2BIG);
	selection_free(selection);
}

static void invalid_times_are_reported(void **state)
{
	static const struct {
		const char *pairs[5];
		const char *says;
	} cases[] = {
		{ { "last", "10min", "from", "today" }, "last and from" },
		{ { "last", "ten" }, "last: \"ten\"" },
		{ { "from", "noon" }, "from: \"noon\"" },
		{ { "to", "03:99" }, "to: \"03:99\"" },
		{ { "from", "today", "to", "yesterday" }, "not after" },
		{ { "from", "tomorrow" }, "in the future" },
		{ { "from", "06:40", "to", "06:35" }, "to: \"06:35\" is before from" },
		{ { "last", "0" }, "not after" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *pair = cases[i].pairs;
		struct selection *selection;
		struct fault fault = { 0 };

		assert_int_equal(selection_new(&selection), 0);
		for (; pair[0]; pair += 2)
			assert_int_equal(selection_add(selection, pair[0], pair[1], NULL), 0);
		assert_int_equal(selection_finish(selection, NOW, &fault), -EINVAL);
		if (!strstr(fault.text, cases[i].says))
			fail_msg("%s", fault.text);
		selection_free(selection);
	}
}

static void times_and_events_are_given_once(void **state)
{
	static const char *const names[] = { "last", "from", "to", "event" };
	struct selection *selection;

	assert_int_equal(selection_new(&selection), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(selection_add(selection, names[i], "1min", NULL), 0);
		assert_int_equal(selection_add(selection, names[i], "2min", &fault), -EINVAL);
		assert_non_null(strstr(fault.text, "twice"));
	}
	selection_free(selection);
}

static void parameters_are_known(void **state)
{
	static const char *const names[] = { "last", "from", "to", "event", "pid", "tid", "user",
		"comm", "thread", "exe", "unit", "slice", "cgroup", "container", "pod",
		"build-id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(selection_has_parameter(names[i]));
		assert_int_equal(selection_is_time(names[i]), i < 3);
	}
	assert_false(selection_has_parameter("format"));
	assert_false(selection_has_parameter(""));
	assert_false(selection_is_time("against.last"));
}

/* --- threads --- */

static const struct store_thread nginx = {
	.tgid = 100,
	.tid = 101,
	.comm = "worker",
	.owner = 1, /* root */
	.exe = "/usr/sbin/nginx",
	.cgroup = "/system.slice/nginx.service",
};

static const struct store_thread escaped = {
	.tgid = 2,
	.tid = 2,
	.comm = "fsck",
	.owner = UINT32_MAX,
	.exe = "/sbin/fsck",
	.cgroup = "/system.slice/system-fsck.slice/fsck@dev-disk\\x2dby.service",
};

static const struct store_thread user = {
	.tgid = 300,
	.tid = 300,
	.comm = "a-thread-of-15b",
	.owner = 1001,
	.exe = "/home/x/bin/app",
	.cgroup = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-1.scope",
};

static const struct store_thread docker = {
	.tgid = 400,
	.tid = 400,
	.comm = "sh",
	.exe = "/bin/sh",
	.cgroup = "/system.slice/docker-" CONTAINER ".scope",
};

static const struct store_thread pod = {
	.tgid = 500,
	.tid = 500,
	.comm = "pause",
	.exe = "/pause",
	.cgroup = "/kubepods.slice/kubepods-besteffort.slice/"
		  "kubepods-besteffort-pod1c2d3e4f_0000_1111_2222_333344445555.slice/"
		  "cri-containerd-" CONTAINER ".scope",
};

static const struct store_thread bare = { .comm = "", .exe = "", .cgroup = "" };

static const struct store_thread *const threads[] = { &nginx, &escaped, &user, &docker, &pod,
	&bare };

/* Returns the selected ones of the above, as a mask. */
static unsigned selected_threads(const char *const *pairs)
{
	struct selection *selection = make(pairs);
	struct store_selection asked;
	unsigned mask = 0;

	selection_store(selection, &asked);
	assert_non_null(asked.wants_thread);
	assert_true(selection_has_filter(selection));
	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		mask |= (unsigned)asked.wants_thread(asked.context, threads[i]) << i;
	selection_free(selection);
	return mask;
}

static void threads_are_selected(void **state)
{
	enum { NGINX = 1, ESCAPED = 2, USER = 4, DOCKER = 8, POD = 16, BARE = 32, ALL = 63 };
	static const struct {
		const char *pairs[7];
		unsigned mask;
	} cases[] = {
		{ { "pid", "100" }, NGINX },
		{ { "pid", "101" }, 0 },
		{ { "tid", "101" }, NGINX },
		{ { "pid", "100", "pid", "400" }, NGINX | DOCKER },
		{ { "user", "0" }, NGINX },
		{ { "user", "1000" }, USER },
		{ { "user", "4294967294" }, ESCAPED },
		{ { "user", "1001" }, 0 },
		{ { "user", "1000", "user", "0" }, NGINX | USER },
		{ { "user", "1000", "pid", "100" }, 0 },
		{ { "comm", "worker" }, NGINX },
		{ { "thread", "w*r" }, NGINX },
		{ { "comm", "a-thread-of-15bytes-and-more" }, USER },
		{ { "comm", "work" }, 0 },
		{ { "exe", "nginx" }, NGINX },
		{ { "exe", "/usr/sbin/nginx" }, NGINX },
		{ { "exe", "/usr/*" }, NGINX },
		{ { "exe", "*s*" }, ESCAPED | DOCKER | POD },
		{ { "unit", "nginx" }, NGINX },
		{ { "unit", "nginx.service" }, NGINX },
		{ { "unit", "nginx*" }, NGINX },
		{ { "unit", "nginx.socket" }, 0 },
		{ { "unit", "*" }, ALL },
		{ { "unit", "?*" }, NGINX | ESCAPED | USER | DOCKER | POD },
		{ { "unit", "fsck@dev-disk\\x2dby" }, ESCAPED },
		{ { "unit", "fsck@dev-disk\\x2d*" }, ESCAPED },
		{ { "unit", "user@1000" }, USER },
		{ { "unit", "app-1.scope" }, USER },
		{ { "slice", "system" }, NGINX | ESCAPED | DOCKER },
		{ { "slice", "system-fsck.slice" }, ESCAPED },
		{ { "slice", "app" }, USER },
		{ { "slice", "user*" }, USER },
		{ { "slice", "*" }, ALL },
		{ { "cgroup", "/system.slice" }, NGINX | ESCAPED | DOCKER },
		{ { "cgroup", "system.slice/" }, NGINX | ESCAPED | DOCKER },
		{ { "cgroup", "/system.slic" }, 0 },
		{ { "cgroup", "/*/nginx.service" }, NGINX },
		{ { "cgroup", "/user.slice/user-*" }, USER },
		{ { "cgroup", "/" }, ALL },
		{ { "container", CONTAINER }, DOCKER | POD },
		{ { "container", "0123" }, DOCKER | POD },
		{ { "container", "123" }, 0 },
		{ { "container", "*cdef" }, DOCKER | POD },
		{ { "pod", "1c2d3e4f-0000" }, POD },
		{ { "pod", "2c" }, 0 },
		{ { "unit", "nginx", "comm", "worker" }, NGINX },
		{ { "unit", "nginx", "comm", "sh" }, 0 },
		{ { "unit", "nginx", "unit", "none", "pid", "100" }, NGINX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (selected_threads(cases[i].pairs) != cases[i].mask)
			fail_msg("%s %s: %x", cases[i].pairs[0], cases[i].pairs[1],
				selected_threads(cases[i].pairs));
}

/* Of others nothing is compared, counted or suggested. */
static void a_restricted_selection_knows_one_user(void **state)
{
	struct profile_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 20 } };
	struct selection *selection = NULL;
	const char *parameter, *const *names;
	struct store_selection asked;

	assert_int_equal(selection_new(&selection), 0);
	selection_restrict(selection, user.owner);
	assert_int_equal(selection_add(selection, "unit", "nginx", NULL), 0);
	assert_int_equal(selection_add(selection, "build-id", "ff", NULL), 0);
	assert_int_equal(selection_finish(selection, NOW, NULL), 0);
	assert_non_null(strstr(selection_text(selection), ", of user 1000 alone"));
	selection_store(selection, &asked);
	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		assert_false(asked.wants_thread(asked.context, threads[i]));
	assert_false(asked.wants_binary(asked.context, &binary, "/secret"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 1);
	assert_string_equal(parameter, "unit");
	assert_string_equal(names[0], "app-1.scope");
	selection_free(selection);
}

/* No parameter widens it, and it needs none. */
static void a_restriction_holds_with_any_parameters(void **state)
{
	enum { OWN = 4 };
	static const struct {
		const char *pairs[5];
		unsigned mask;
	} cases[] = {
		{ { NULL }, OWN },
		{ { "user", "1000" }, OWN },
		{ { "user", "0" }, 0 },
		{ { "user", "1000", "user", "0" }, OWN },
		{ { "unit", "*" }, OWN },
		{ { "cgroup", "/" }, OWN },
		{ { "pid", "100", "pid", "300" }, OWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make(cases[i].pairs);
		struct store_selection asked;
		unsigned mask = 0;

		selection_restrict(selection, user.owner);
		assert_true(selection_has_filter(selection));
		selection_store(selection, &asked);
		for (unsigned n = 0; n < sizeof(threads) / sizeof(threads[0]); n++)
			mask |= (unsigned)asked.wants_thread(asked.context, threads[n]) << n;
		assert_int_equal(mask, cases[i].mask);
		selection_free(selection);
	}
}

static void binaries_are_selected(void **state)
{
	struct profile_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 20 } };
	struct profile_binary none = { .kind = BINARY_JIT };
	struct selection *selection = MAKE("build-id", "ABC");
	const char *parameter, *const *names;
	struct store_selection asked;

	selection_store(selection, &asked);
	assert_null(asked.wants_thread);
	assert_true(selection_has_filter(selection));
	assert_false(asked.wants_binary(asked.context, &none, "/a"));
	binary.build_id.bytes[1] = 0xdd;
	assert_false(asked.wants_binary(asked.context, &binary, "/lib/libc.so"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 1);
	assert_string_equal(parameter, "build-id");
	assert_string_equal(names[0], "abdd00000000 (libc.so)");
	binary.build_id.bytes[1] = 0xcd;
	assert_true(asked.wants_binary(asked.context, &binary, "libc.so"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 0);
	assert_null(parameter);
	selection_free(selection);
}

static void threads_are_merged_unless_asked_for(void **state)
{
	static const struct {
		const char *pairs[3];
		bool merges, filters;
	} cases[] = {
		{ { NULL }, true, false },
		{ { "unit", "a" }, true, true },
		{ { "user", "1" }, true, true },
		{ { "pid", "1" }, false, true },
		{ { "tid", "1" }, false, true },
		{ { "event", "cycles" }, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make(cases[i].pairs);
		struct store_selection asked;

		selection_store(selection, &asked);
		assert_int_equal(asked.merges_threads, cases[i].merges);
		assert_int_equal(asked.wants_processes, !cases[i].merges);
		assert_int_equal(asked.wants_thread != NULL, cases[i].filters);
		assert_int_equal(selection_has_filter(selection), cases[i].filters);
		assert_null(asked.wants_binary);
		if (strcmp(cases[i].pairs[0] ? cases[i].pairs[0] : "", "event") == 0)
			assert_string_equal(asked.event, "cycles");
		else
			assert_null(asked.event);
		selection_free(selection);
	}
}

static void windows_may_be_chosen_by_their_end(void **state)
{
	static const char *const values[] = { NULL, "overlapping", "ended" };

	for (size_t i = 0; i < 3; i++) {
		struct selection *selection =
			MAKE("last", "1h", i > 0 ? "windows" : NULL, values[i]);
		struct store_selection asked;

		selection_store(selection, &asked);
		assert_int_equal(asked.by_end, i == 2);
		assert_false(selection_has_filter(selection));
		selection_free(selection);
	}
}

static void what_there_is_instead_is_seen(void **state)
{
	struct selection *selection = MAKE("pid", "100", "unit", "nginy");
	const char *parameter, *const *names;
	struct store_selection asked;
	size_t count;

	selection_store(selection, &asked);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		for (size_t again = 0; again < 2; again++)
			assert_false(asked.wants_thread(asked.context, threads[i]));
	/* pid was met; the bare one has no unit. */
	count = selection_seen(selection, &parameter, &names);
	assert_string_equal(parameter, "unit");
	assert_int_equal(count, 5);
	assert_string_equal(names[0], "nginx.service");
	assert_string_equal(names[1], "fsck@dev-disk\\x2dby.service");
	assert_string_equal(names[2], "app-1.scope");
	assert_string_equal(names[3], "docker-" CONTAINER ".scope");
	assert_string_equal(names[4], "cri-containerd-" CONTAINER ".scope");
	selection_store(selection, &asked);
	assert_int_equal(selection_seen(selection, &parameter, &names), 0);
	assert_string_equal(parameter, "pid");
	selection_free(selection);
}

static void the_likest_names_are_kept(void **state)
{
	struct selection *selection = MAKE("comm", "thread-7");
	const char *parameter, *const *names;
	struct store_selection asked;
	char comm[16];

	selection_store(selection, &asked);
	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(comm, sizeof(comm), "%s-%u", i % 10 ? "x" : "thread", i * 7);
		assert_int_equal(
			asked.wants_thread(asked.context,
				&(struct store_thread){ .comm = comm, .exe = "", .cgroup = "" }),
			false);
	}
	assert_int_equal(selection_seen(selection, &parameter, &names), SELECTION_SEEN_MAX);
	assert_string_equal(names[0], "thread-70");
	for (size_t i = 0; i < SELECTION_SEEN_MAX; i++)
		assert_memory_equal(names[i], "thread-", 7);
	selection_free(selection);
}

static void a_selection_is_described(void **state)
{
	static const struct {
		const char *pairs[9];
		const char *text;
	} cases[] = {
		{ { NULL }, "2026-11-20 11:50:00 to 12:00:00" },
		{ { "from", "yesterday", "unit", "nginx", "pid", "1", "unit", "b.scope" },
			"2026-11-19 00:00:00 to 2026-11-20 12:00:00, pid 1, unit nginx.service or "
			"b.scope" },
		{ { "to", "now", "comm", "12345678901234\xc3\xa9" },
			"until 2026-11-20 12:00:00, comm 12345678901234\xef\xbf\xbd" },
		{ { "to", "now", "event", "cycles" }, "until 2026-11-20 12:00:00, event cycles" },
		{ { "last", "1min", "comm", "a\nb\x1b" },
			"2026-11-20 11:59:00 to 12:00:00, comm a\xef\xbf\xbd"
			"b\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make(cases[i].pairs);

		assert_string_equal(selection_text(selection), cases[i].text);
		selection_free(selection);
	}
}

/* One whose steps would double with each '*'. */
static void a_glob_is_not_a_trap(void **state)
{
	char pattern[SELECTION_VALUE_BYTES_MAX + 1] = "", comm[1024];
	struct store_thread thread = { .comm = comm, .exe = "", .cgroup = "" };
	struct store_selection asked;
	struct selection *selection;

	for (size_t i = 0; i + 4 < sizeof(pattern); i += 2)
		(void)strcpy(pattern + i, "*a");
	(void)strcat(pattern, "b");
	memset(comm, 'a', sizeof(comm) - 1);
	comm[sizeof(comm) - 1] = '\0';
	selection = MAKE("comm", pattern);
	selection_store(selection, &asked);
	assert_false(asked.wants_thread(asked.context, &thread));
	selection_free(selection);
}

static int make_all(struct selection **ret_selection)
{
	static const char *const pairs[][2] = { { "last", "1h" }, { "unit", "a" }, { "slice", "b" },
		{ "cgroup", "c/" }, { "pid", "1" }, { "build-id", "AB" }, { "comm", "d" } };
	struct selection *selection;
	int r = selection_new(&selection);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && r == 0; i++)
		r = selection_add(selection, pairs[i][0], pairs[i][1], NULL);
	if (r == 0)
		r = selection_finish(selection, NOW, NULL);
	if (r < 0)
		selection_free(selection);
	else
		*ret_selection = selection;
	return r;
}

static void every_allocation_may_fail(void **state)
{
	struct selection *selection = NULL;

	assert_int_equal(FAIL_EACH_ALLOCATION(make_all(&selection), -ENOMEM, true, 0), 8);
	selection_free(selection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(the_end_is_the_next_time_of_day),
		cmocka_unit_test(invalid_parameters_are_reported),
		cmocka_unit_test(invalid_times_are_reported),
		cmocka_unit_test(times_and_events_are_given_once),
		cmocka_unit_test(parameters_are_known),
		cmocka_unit_test(threads_are_selected),
		cmocka_unit_test(a_restricted_selection_knows_one_user),
		cmocka_unit_test(a_restriction_holds_with_any_parameters),
		cmocka_unit_test(binaries_are_selected),
		cmocka_unit_test(threads_are_merged_unless_asked_for),
		cmocka_unit_test(windows_may_be_chosen_by_their_end),
		cmocka_unit_test(what_there_is_instead_is_seen),
		cmocka_unit_test(the_likest_names_are_kept),
		cmocka_unit_test(a_selection_is_described),
		cmocka_unit_test(a_glob_is_not_a_trap),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, use_utc, NULL);
}

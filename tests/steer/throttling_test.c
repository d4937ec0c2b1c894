/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttled cgroups, in a folder that looks like a hierarchy. */
#include "steer/throttling.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define WINDOW_NS 10000000000ULL

static char folder[64];
static struct throttling throttling;
static uint64_t now_ns, risen_ns;

static int set_up(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/throttling-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	memset(&throttling, 0, sizeof(throttling));
	throttling.folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	throttling.threshold = 20;
	return throttling.folder_fd < 0;
}

static int tear_down(void **state)
{
	char command[128];

	throttling_close(&throttling);
	(void)snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}

static void set(const char *path, unsigned periods, unsigned throttled)
{
	char name[512];
	FILE *file;

	(void)snprintf(name, sizeof(name), "%s%s", folder, path);
	(void)mkdir(name, 0755);
	(void)strcat(name, "/cpu.stat");
	file = fopen(name, "w");
	assert_non_null(file);
	(void)fprintf(file, "usage_usec 1234\nnr_periods %u\nnr_throttled %u\nthrottled_usec 99\n",
		periods, throttled);
	assert_int_equal(fclose(file), 0);
}

static double wait_for_end(const char **ret_worst)
{
	now_ns += WINDOW_NS;
	return throttling_end(&throttling, now_ns, ret_worst, &risen_ns);
}

/* The same, and tells the cgroup that has risen. */
static double end(const char **ret_worst)
{
	double percent = wait_for_end(ret_worst);

	if (**ret_worst)
		throttling_tell(&throttling, *ret_worst);
	return percent;
}

static double ask(const char *path, const char **ret_worst)
{
	throttling_begin(&throttling, WINDOW_NS);
	throttling_ask(&throttling, path);
	return end(ret_worst);
}

static void a_share_is_of_the_last_window(void **state)
{
	const char *worst;

	set("/a", 900, 900);
	/* It is not known when these were. */
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1000, 900);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1100, 930);
	assert_true(ask("/a", &worst) == 30);
	assert_string_equal(worst, "/a");
	assert_true(ask("/a", &worst) == 0);
	assert_string_equal(worst, "");
	/* Fewer than THROTTLING_LEAST. */
	set("/a", 1104, 934);
	assert_true(ask("/a", &worst) == 0);
	/* Another cgroup of that name. */
	set("/a", 10, 10);
	assert_true(ask("/a", &worst) == 0);
}

static void a_new_cgroup_is_measured_from_its_start(void **state)
{
	const char *worst;

	set("/new", 80, 60);
	assert_true(ask("/new", &worst) == 75);
	assert_string_equal(worst, "/new");
	/* A window is looked at some time after its end. */
	set("/late", 150, 120);
	assert_true(ask("/late", &worst) == 80);
	set("/old", 201, 201);
	assert_true(ask("/old", &worst) == 0);
}

/* The quota may be a slice's. */
static void those_above_are_asked_for(void **state)
{
	const char *worst;

	set("/slice", 40, 20);
	set("/slice/unit", 0, 0);
	assert_true(ask("/slice/unit", &worst) == 50);
	assert_string_equal(worst, "/slice");
}

static void what_has_no_counters_has_no_quota(void **state)
{
	char name[THROTTLING_PATH_BYTES + 10];
	const char *worst;

	assert_true(ask("/none", &worst) == 0);
	assert_string_equal(worst, "");
	set("/a", 10, 10);
	/* Only names that the kernel gives. */
	assert_true(ask("a", &worst) == 0);
	assert_true(ask("", &worst) == 0);
	assert_true(ask("/", &worst) == 0);
	assert_true(ask("/x/../a", &worst) == 0);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_true(ask(name, &worst) == 0);
}

/* Else a trigger that waits for the share to fall would wait for ever. */
static void nothing_is_throttled_when_nothing_is_asked_for(void **state)
{
	const char *worst;

	set("/new", 80, 60);
	assert_true(ask("/new", &worst) == 75);
	throttling_begin(&throttling, WINDOW_NS);
	assert_true(end(&worst) == 0);
	assert_string_equal(worst, "");
}

static void a_cgroup_is_asked_for_some_windows_after_its_last_sample(void **state)
{
	const char *worst;

	for (unsigned last = 1; last <= THROTTLING_WINDOWS + 1; last++) {
		set("/a", 900, 900);
		assert_true(ask("/a", &worst) == 0);
		set("/a", 1000, 900);
		assert_true(ask("/a", &worst) == 0);
		for (unsigned i = 1; i <= last; i++) {
			set("/a", 1000 + 100 * i, 900 + (i == last ? 30 : 0));
			throttling_begin(&throttling, WINDOW_NS);
			assert_true(end(&worst) == (i == last && i <= THROTTLING_WINDOWS ? 30 : 0));
			assert_string_equal(
				worst, i == last && i <= THROTTLING_WINDOWS ? "/a" : "");
		}
		throttling.count = 0;
	}
}

/* With a small quota, a window may have no sample of a cgroup that is throttled all the time. That
 * is one incident. */
static void a_window_without_a_sample_is_no_end(void **state)
{
	const unsigned asked = 2 * THROTTLING_WINDOWS;
	const char *worst;

	set("/a", 900, 900);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1000, 900);
	assert_true(ask("/a", &worst) == 0);
	for (unsigned i = 1; i <= 4 * asked; i++) {
		set("/a", 1000 + 100 * i, 900 + 50 * i);
		throttling_begin(&throttling, WINDOW_NS);
		if (i % 2 && i < asked)
			throttling_ask(&throttling, "/a");
		if (i == 4 * asked)
			throttling_ask(&throttling, "/a");
		assert_true(end(&worst) == (i == 1 ? 50 : 0));
	}
}

/* One that is throttled all day hides no other one, and has no more incidents near the threshold.
 */
static void each_cgroup_rises_by_itself(void **state)
{
	static const struct {
		unsigned always, other;
		double percent;
		const char *worst;
	} windows[] = { { 0, 0, 0, "" }, { 90, 0, 90, "/always" }, { 90, 0, 0, "" },
		{ 90, 50, 50, "/other" }, { 90, 16, 0, "" }, { 90, 21, 0, "" }, { 90, 14, 0, "" },
		{ 10, 21, 21, "/other" }, { 10, 10, 0, "" }, { 40, 60, 60, "/other" },
		{ 40, 60, 40, "/always" }, { 40, 60, 0, "" } };
	unsigned always = 1000, other = 1000;

	set("/always", 1000, always);
	set("/other", 1000, other);
	throttling_begin(&throttling, WINDOW_NS);
	throttling_ask(&throttling, "/always");
	throttling_ask(&throttling, "/other");
	for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		const char *worst;

		set("/always", 1100 + 100 * i, always += windows[i].always);
		set("/other", 1100 + 100 * i, other += windows[i].other);
		throttling_begin(&throttling, WINDOW_NS);
		throttling_ask(&throttling, "/always");
		throttling_ask(&throttling, "/other");
		assert_true(end(&worst) == windows[i].percent);
		assert_string_equal(worst, windows[i].worst);
	}
}

/* An engine that starts anew does not note again what lasts. */
static void what_is_high_at_first_has_risen_earlier(void **state)
{
	const char *worst;

	set("/a", 1000, 900);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1100, 990);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1200, 1080);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1300, 1080);
	assert_true(ask("/a", &worst) == 0);
	set("/a", 1400, 1170);
	assert_true(ask("/a", &worst) == 90);
}

/* A day of a busy node: 100 cgroups run in each window, of which one is always throttled. Its rank
 * by CPU time varies, so it loses its place and comes back. */
static void one_that_comes_back_has_not_risen(void **state)
{
	enum { CGROUPS = 100, WINDOWS = 144, PERIODS = 6000 };
	const char *worst;
	char name[32];

	srand(1);
	for (unsigned i = 1; i <= WINDOWS; i++) {
		const int rank = THROTTLING_MAX - 15 + rand() % 30;

		set("/always", PERIODS * (i + 10), PERIODS * i * 6 / 10);
		throttling_begin(&throttling, 60 * WINDOW_NS);
		for (int k = 0; k < CGROUPS; k++) {
			(void)snprintf(name, sizeof(name), "/%d", k);
			throttling_ask(&throttling, k == rank ? "/always" : name);
		}
		assert_true(end(&worst) == 0);
	}
}

static void nothing_is_known_without_the_folder(void **state)
{
	const char *worst;

	throttling_close(&throttling);
	throttling.folder_fd = -1;
	assert_true(ask("/a", &worst) == -1);
}

static void cgroups_are_bounded(void **state)
{
	const char *worst;
	char name[32];

	set("/known", 1000, 0);
	for (int round = 0; round < 3; round++) {
		throttling_begin(&throttling, WINDOW_NS);
		throttling_ask(&throttling, "/known");
		for (int i = 0; i < 2 * THROTTLING_MAX; i++) {
			(void)snprintf(name, sizeof(name), "/%d-%d", round, i);
			throttling_ask(&throttling, name);
		}
		(void)end(&worst);
		assert_int_equal(throttling.count, THROTTLING_MAX);
	}
	set("/known", 1100, 40);
	assert_true(ask("/known", &worst) == 40);
}

static void counters_are_parsed(void **state)
{
	static const char *const bad[] = { "", "nr_periods 1\n", "nr_periods x\nnr_throttled 1\n",
		"nr_throttled 1\n", "xnr_periods 1\nxnr_throttled 1\n", "nr_periods -1\n" };
	uint64_t periods = 7, throttled = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(throttling_parse(bad[i], &periods, &throttled));
	assert_true(periods == 7 && throttled == 7);
	assert_true(throttling_parse("nr_periods 3\nnr_throttled 2\n", &periods, &throttled));
	assert_true(periods == 3 && throttled == 2);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(a_share_is_of_the_last_window),
		WITH_FOLDER(a_new_cgroup_is_measured_from_its_start),
		WITH_FOLDER(those_above_are_asked_for),
		WITH_FOLDER(what_has_no_counters_has_no_quota),
		WITH_FOLDER(nothing_is_throttled_when_nothing_is_asked_for),
		WITH_FOLDER(a_cgroup_is_asked_for_some_windows_after_its_last_sample),
		WITH_FOLDER(a_window_without_a_sample_is_no_end),
		WITH_FOLDER(each_cgroup_rises_by_itself),
		WITH_FOLDER(what_is_high_at_first_has_risen_earlier),
		WITH_FOLDER(one_that_comes_back_has_not_risen),
		WITH_FOLDER(nothing_is_known_without_the_folder),
		WITH_FOLDER(cgroups_are_bounded),
		cmocka_unit_test(counters_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

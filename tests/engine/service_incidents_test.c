/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incidents of a service, by windows that two units share. */
#include "engine/service_incidents.h"

#include "base/clock.h"
#include "config/config.h"
#include "engine/incident_state.h"
#include "tests/store/store_fixture.h"

#include <errno.h>
#include <fcntl.h>

#define WINDOW_NS SECONDS(5)
enum { SAMPLES_A_PERCENT = 5 };

static struct service_incidents incidents;
static uint64_t now_ns;

static void begin(void)
{
	const struct config config = {
		.incident_unit_cpu = 40,
		.incident_cool_down_ns = SECONDS(1),
		.incidents_per_day = 4,
		.incident_keep_ns = SECONDS(60),
	};

	memset(&incidents, 0, sizeof(incidents));
	service_incidents_open(&incidents);
	service_incidents_configure(&incidents, &config);
}

static int set_up(void **state)
{
	now_ns = FIXTURE_DAY_NS;
	begin();
	return 0;
}

static int tear_down(void **state)
{
	service_incidents_done(&incidents);
	return 0;
}

/* A window in which two units take so many percent of a CPU. */
static void window(unsigned first, unsigned second)
{
	const struct fixture_sample samples[] = {
		{ .pid = 1,
			.address = 0x3000,
			.count = first * SAMPLES_A_PERCENT,
			.comm = "first" },
		{ .pid = 2,
			.address = 0x3000,
			.count = second * SAMPLES_A_PERCENT,
			.comm = "second" },
	};
	struct profile *profile = fixture_profile(now_ns, samples, 2);
	const struct profile_set profiles = { .of = { [PILOTLIGHT_SOURCE_CPU] = profile } };

	now_ns += WINDOW_NS;
	profile->end_ns = now_ns;
	profile->period_ns = WINDOW_NS / 100 / SAMPLES_A_PERCENT;
	service_incidents_measure(&incidents, &profiles);
	profile_free(profile);
}

/* The next incident that waits is of this cause, and its text begins so. */
static void expect(const char *cause, const char *text)
{
	const struct incident *incident = service_incidents_take(&incidents);

	assert_non_null(incident);
	assert_string_equal(incident->cause, cause);
	assert_memory_equal(incident->text, text, strlen(text));
}

static void expect_none(void)
{
	assert_null(service_incidents_take(&incidents));
}

static void a_unit_is_noted_as_it_rises(void **state)
{
	const struct incident *incident;

	window(30, 5);
	window(30, 5);
	expect_none();
	window(30, 85);
	incident = service_incidents_take(&incidents);
	assert_non_null(incident);
	assert_string_equal(incident->text, "second.service: 85.0 % of a CPU, usually 5.0 %");
	assert_true(incident->time_ns == now_ns);
	assert_true(incident->kept_from_ns == now_ns - SECONDS(60));
	assert_true(incident->kept_to_ns == now_ns + SECONDS(60));
	window(30, 85);
	window(30, 5);
	expect_none();
}

/* Another unit of a busy machine rises in the window in which an incident begins, and takes more.
 */
static void of_two_units_at_once_both_are_noted(void **state)
{
	window(5, 5);
	window(95, 60);
	expect("unit-cpu", "first.service: 95.0 %");
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
	window(5, 85);
	expect_none();
}

static void set_throttled(const char *folder, unsigned periods)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/system.slice", folder);
	(void)mkdir(path, 0755);
	(void)strcat(path, "/second.service");
	(void)mkdir(path, 0755);
	(void)strcat(path, "/cpu.stat");
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fprintf(file, "nr_periods %u\nnr_throttled %u\n", periods, periods);
	assert_int_equal(fclose(file), 0);
}

/* Nor does a unit hide a cgroup that is throttled in the same window. */
static void a_unit_and_a_throttled_cgroup_are_both_noted(void **state)
{
	char folder[64];

	fixture_folder(folder);
	throttling_close(&incidents.throttling);
	incidents.throttling.folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	incidents.throttling.threshold = 30;
	incidents.trigger.settings.thresholds[INCIDENT_THROTTLED] = 30;
	for (unsigned i = 0; i < 3; i++) {
		set_throttled(folder, 1000);
		window(5, 5);
	}
	expect_none();
	set_throttled(folder, 1050);
	window(95, 20);
	expect("unit-cpu", "first.service: 95.0 %");
	set_throttled(folder, 1100);
	window(95, 20);
	expect("throttled", "/system.slice/second.service: 100.0 %");
	set_throttled(folder, 1150);
	window(95, 20);
	expect_none();
	fixture_remove(folder);
}

/* Half an hour of overload that begins a minute after another incident, of a unit that is new. */
static void what_lasts_is_noted_after_the_cool_down(void **state)
{
	const struct incident *incident = NULL;
	unsigned windows = 0;

	incidents.trigger.settings.cool_down_ns = SECONDS(600);
	for (unsigned i = 0; i < 100; i++)
		window(30, 0);
	window(95, 0);
	expect("unit-cpu", "first.service: 95.0 %");
	for (unsigned i = 0; i < 12; i++)
		window(30, 0);
	for (; !incident && windows < 360; windows++) {
		window(30, 85);
		incident = service_incidents_take(&incidents);
	}
	assert_non_null(incident);
	assert_string_equal(incident->text, "second.service: 85.0 % of a CPU, usually 0.0 %");
	assert_true(windows * WINDOW_NS <= SECONDS(540));
	/* It is compared with what was before it. */
	assert_true(incident->time_ns == now_ns - (windows - 1) * WINDOW_NS);
	assert_true(incident->kept_from_ns == incident->time_ns - SECONDS(60));
	for (; windows < 360; windows++)
		window(30, 85);
	expect_none();
}

/* Units that rise together, for two hours, are one incident; so are those that follow. */
static void a_long_overload_is_one_incident(void **state)
{
	incidents.trigger.settings.cool_down_ns = SECONDS(600);
	window(5, 5);
	window(95, 60);
	expect("unit-cpu", "first.service: 95.0 %");
	for (unsigned i = 0; i < 1440; i++)
		window(95, 60);
	expect_none();
	window(5, 5);
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
}

/* A unit whose normal load changes once the day has its incidents is none at midnight. */
static void a_full_day_makes_nothing_wait(void **state)
{
	incidents.trigger.settings.per_day = 1;
	window(5, 5);
	window(95, 5);
	expect("unit-cpu", "first.service: 95.0 %");
	for (unsigned i = 0; i < 100; i++)
		window(5, 60);
	now_ns += DAY_NS;
	window(5, 60);
	expect_none();
	window(95, 60);
	expect("unit-cpu", "first.service: 95.0 %");
}

static void a_users_incident_hides_no_other_one(void **state)
{
	window(5, 5);
	assert_int_equal(service_incidents_note(&incidents, "deploy 42"), 0);
	window(5, 85);
	expect("unit-cpu", "second.service");
	window(5, 85);
	expect("manual", "deploy 42");
	expect_none();
}

/* A user who notes one after another hides no other one. */
static void few_wait(void **state)
{
	for (int i = 0; i < SERVICE_INCIDENTS_WAITING - 1; i++)
		assert_int_equal(service_incidents_note(&incidents, "deploy"), 0);
	assert_int_equal(service_incidents_note(&incidents, "deploy"), -EBUSY);
	window(5, 5);
	window(5, 85);
	expect("unit-cpu", "second.service");
	for (int i = 0; i < SERVICE_INCIDENTS_WAITING - 1; i++)
		expect("manual", "deploy");
	expect_none();
}

/* The disk is slow, so one comes back while users note. What rises is neither lost nor counted. */
static void what_has_no_room_rises_later(void **state)
{
	struct incident lost;

	window(5, 5);
	assert_int_equal(service_incidents_note(&incidents, "lost"), 0);
	lost = *service_incidents_take(&incidents);
	for (int i = 0; i < SERVICE_INCIDENTS_WAITING - 1; i++)
		assert_int_equal(service_incidents_note(&incidents, "deploy"), 0);
	service_incidents_give_back(&incidents, &lost);
	window(5, 85);
	assert_int_equal(incidents.trigger.of_day, 0);
	expect("manual", "lost");
	window(5, 85);
	expect("unit-cpu", "second.service");
	expect("manual", "deploy");
}

/* The one whose window was lost goes with the next window, before those that came later. */
static void a_lost_one_comes_first(void **state)
{
	struct incident lost;

	assert_int_equal(service_incidents_note(&incidents, "first"), 0);
	lost = *service_incidents_take(&incidents);
	assert_int_equal(service_incidents_note(&incidents, "second"), 0);
	service_incidents_give_back(&incidents, &lost);
	expect("manual", "first");
	expect("manual", "second");
	expect_none();
	for (int i = 0; i < SERVICE_INCIDENTS_WAITING - 1; i++)
		assert_int_equal(service_incidents_note(&incidents, "later"), 0);
	service_incidents_give_back(&incidents, &lost);
	service_incidents_give_back(&incidents, &lost); /* has no room */
	expect("manual", "first");
	expect("manual", "later");
}

/* An engine that starts anew knows what the last one has noted, and what lasts is not noted again.
 */
static void a_restart_notes_nothing_twice(void **state)
{
	struct incident_list list = { 0 };
	char folder[64];

	fixture_folder(folder);
	assert_int_equal(incident_log_read(folder, &list, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct incident noted = { .time_ns = now_ns + SECONDS(i) };

		(void)strcpy(noted.cause, i == 1 ? "manual" : "unit-cpu");
		assert_int_equal(incident_log_add(folder, &list, &noted, NULL), 0);
	}
	incident_list_done(&list);
	now_ns += SECONDS(60);
	service_incidents_done(&incidents);
	begin();
	service_incidents_recall(&incidents, folder);
	fixture_remove(folder);
	window(5, 85);
	window(5, 85);
	expect_none();
	window(5, 5);
	window(5, 85);
	expect("unit-cpu", "second.service");
	/* Four a day: three were noted before; the user's does not count. */
	window(5, 5);
	window(5, 85);
	expect_none();
	now_ns += DAY_NS;
	window(5, 5);
	window(5, 85);
	expect("unit-cpu", "second.service");
}

static const uint8_t boot[16] = { 1 }, other_boot[16] = { 2 };
static char state_folder[64], state_path[80];

static void keep_state(uint64_t at_ns)
{
	struct incident_state *state;

	if (!state_folder[0]) {
		fixture_folder(state_folder);
		(void)snprintf(state_path, sizeof(state_path), "%s/state", state_folder);
	}
	assert_int_equal(incident_state_open(state_path, boot, &state, NULL), 0);
	incident_state_save(state, &incidents, at_ns);
	incident_state_close(state);
}

/* Another engine begins. */
static void restart(const uint8_t boot_id[16], uint32_t unit_cpu, uint64_t at_ns)
{
	struct incident_state *state;

	service_incidents_done(&incidents);
	begin();
	incidents.units.settings.percent = unit_cpu;
	assert_int_equal(incident_state_open(state_path, boot_id, &state, NULL), 0);
	incident_state_restore(state, &incidents, at_ns);
	incident_state_close(state);
}

static int tear_down_state(void **state)
{
	fixture_remove(state_folder);
	state_folder[0] = '\0';
	return tear_down(state);
}

static void what_rises_while_engines_change_is_noted(void **state)
{
	window(5, 5);
	keep_state(SECONDS(10));
	restart(boot, 40, SECONDS(20));
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
	service_incidents_written(&incidents, &incidents.taken);
	keep_state(SECONDS(30));
	/* And what lasts, once. */
	restart(boot, 40, SECONDS(40));
	window(5, 85);
	expect_none();
}

/* What waits for the end of the cool-down keeps its time. */
static void what_waits_while_engines_change_is_noted(void **state)
{
	uint64_t risen_ns;

	incidents.trigger.settings.cool_down_ns = SECONDS(60);
	window(5, 5);
	window(95, 5);
	expect("unit-cpu", "first.service: 95.0 %");
	service_incidents_written(&incidents, &incidents.taken);
	now_ns += SECONDS(40);
	window(5, 85);
	risen_ns = now_ns;
	expect_none();
	keep_state(SECONDS(10));
	restart(boot, 40, SECONDS(20));
	now_ns += SECONDS(10);
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
	assert_true(incidents.taken.time_ns == risen_ns);
}

static void what_a_kill_takes_along_rises_again(void **state)
{
	window(5, 5);
	keep_state(SECONDS(10));
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
	keep_state(SECONDS(20));
	restart(boot, 40, SECONDS(30));
	window(5, 85);
	expect("unit-cpu", "second.service: 85.0 %");
}

/* With such a state, high measurements may have risen long before the engine began. */
static void a_state_that_says_nothing_is_left_alone(void **state)
{
	static const struct {
		const uint8_t *boot_id;
		uint32_t unit_cpu;
		uint64_t at_ns;
		off_t bytes; /* 0: all */
		const char *noted;
	} cases[] = {
		{ boot, 40, SECONDS(310), 0, "unit-cpu" },
		{ boot, 40, SECONDS(311), 0, NULL },
		{ boot, 40, SECONDS(9), 0, NULL },
		{ boot, 50, SECONDS(20), 0, NULL },
		{ boot, 40, SECONDS(20), 8, NULL },
		{ boot, 40, SECONDS(20), 4, NULL },
		{ other_boot, 40, SECONDS(20), 0, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		window(5, 5);
		keep_state(SECONDS(10));
		if (cases[i].bytes)
			assert_int_equal(truncate(state_path, cases[i].bytes), 0);
		restart(cases[i].boot_id, cases[i].unit_cpu, cases[i].at_ns);
		window(5, 85);
		if (cases[i].noted)
			expect(cases[i].noted, "second.service");
		expect_none();
		service_incidents_done(&incidents);
	}
	begin();
}

static void a_state_without_a_folder_is_an_error(void **state)
{
	struct incident_state *unused;
	struct fault fault = { 0 };

	assert_int_equal(
		incident_state_open("/nowhere/incident-state", boot, &unused, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nowhere/incident-state"));
	/* The service goes on without. */
	incident_state_save(NULL, &incidents, now_ns);
	incident_state_restore(NULL, &incidents, now_ns);
}

#define SERVICE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVICE_TEST(a_unit_is_noted_as_it_rises),
		SERVICE_TEST(of_two_units_at_once_both_are_noted),
		SERVICE_TEST(a_unit_and_a_throttled_cgroup_are_both_noted),
		SERVICE_TEST(what_lasts_is_noted_after_the_cool_down),
		SERVICE_TEST(a_long_overload_is_one_incident),
		SERVICE_TEST(a_full_day_makes_nothing_wait),
		SERVICE_TEST(a_users_incident_hides_no_other_one),
		SERVICE_TEST(few_wait),
		SERVICE_TEST(what_has_no_room_rises_later),
		SERVICE_TEST(a_lost_one_comes_first),
		SERVICE_TEST(a_restart_notes_nothing_twice),
		cmocka_unit_test_setup_teardown(
			what_rises_while_engines_change_is_noted, set_up, tear_down_state),
		cmocka_unit_test_setup_teardown(
			what_waits_while_engines_change_is_noted, set_up, tear_down_state),
		cmocka_unit_test_setup_teardown(
			what_a_kill_takes_along_rises_again, set_up, tear_down_state),
		cmocka_unit_test_setup_teardown(
			a_state_that_says_nothing_is_left_alone, set_up, tear_down_state),
		SERVICE_TEST(a_state_without_a_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

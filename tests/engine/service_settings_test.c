/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_settings.h"

#include "base/event_source.h"
#include "capture/capture_session.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static int config_fd;

static int make_folder(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/service_settings_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void set_variables(const char *value)
{
	static const char *const names[] = { "STATE_DIRECTORY", "CACHE_DIRECTORY",
		"RUNTIME_DIRECTORY", "CONFIGURATION_DIRECTORY" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (value)
			assert_int_equal(setenv(names[i], value, 1), 0);
		else
			assert_int_equal(unsetenv(names[i]), 0);
}

static void write_config(const char *text)
{
	char path[96];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void folders_are_those_of_the_service_manager(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };
	char list[128], expected[128];

	/* Of several the first counts. */
	(void)snprintf(list, sizeof(list), "%s:/elsewhere", folder);
	set_variables(list);
	write_config("");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	(void)snprintf(expected, sizeof(expected), "%s/history", folder);
	assert_string_equal(settings.history, expected);
	(void)snprintf(expected, sizeof(expected), "%s/symbols", folder);
	assert_string_equal(settings.symbol_cache, expected);
	(void)snprintf(expected, sizeof(expected), "%s/api.sock", folder);
	assert_string_equal(settings.socket, expected);
	(void)snprintf(expected, sizeof(expected), "%s/pilotlight.conf", folder);
	assert_string_equal(settings.config_path, expected);
	service_settings_done(&settings);
}

static void limits_of_capture_are_those_of_the_configuration(void **state)
{
	struct capture_limits limits;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	set_variables(folder);
	write_config("[Sampling]\nFrequencyHz=333\nEvent=cpu-clock\nKernelStacks=no\n"
		     "[Memory]\nMaxBytes=48M\n");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			service_settings_read_limits(i ? path : NULL, &limits, &config_fd), 0);
		assert_int_equal(limits.rate_hz, 333);
		assert_int_equal(limits.map_bytes, 48 << 20);
		assert_int_equal(limits.event, CAPTURE_EVENT_CLOCK);
		assert_false(limits.allows_kernel);
		/* AllowEvents=cheap, not more often than `record` samples them. */
		assert_int_equal(
			limits.sources, 1U << PILOTLIGHT_SOURCE_CPU | event_source_cheap());
		assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_OFFCPU], 1000000);
	}
}

static void allowed_sources_are_those_of_the_configuration(void **state)
{
	struct capture_limits limits;

	set_variables(folder);
	write_config("[Sampling]\nRunQueue=yes\nRunQueuePeriod=2ms\nOffCpuPeriod=5ms\n"
		     "AllowEvents=none\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(
		limits.sources, 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_RUNQUEUE);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_RUNQUEUE], 2000000);
	/* Of a source that is off nothing is allowed. */
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_OFFCPU], 0);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_CPU], 0);
	write_config("[Sampling]\nRunQueue=yes\nRunQueuePeriod=100us\nOffCpu=yes\n"
		     "AllowEvents=runqueue offcpu\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	/* The shorter one. */
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_RUNQUEUE], 100000);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_OFFCPU], 1000000);
	write_config("[Sampling]\nOffCpu=yes\nAllowEvents=none\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(
		limits.sources, 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_OFFCPU], 10000000);
	write_config("[Sampling]\nFaults=yes\nFaultsPeriod=1\nAllowEvents=none\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(
		limits.sources, 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_FAULTS);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_FAULTS], 1);
	assert_int_equal(limits.choice.count, 0);
}

static void events_are_limited_by_name(void **state)
{
	struct capture_limits limits;

	set_variables(folder);
	write_config("[Sampling]\nEvents=lock faults/period=31/ cache-misses sched:sched_switch\n"
		     "AllowEvents=lock/period=200000/ faults cs cache-misses/period=5/\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(limits.sources, 1U << PILOTLIGHT_SOURCE_CPU |
						 1U << PILOTLIGHT_SOURCE_LOCK |
						 1U << PILOTLIGHT_SOURCE_FAULTS);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_LOCK], 200000);
	assert_int_equal(limits.least_periods[PILOTLIGHT_SOURCE_FAULTS], 7);
	assert_int_equal(limits.counted_count, 4);
	assert_string_equal(limits.counted[0].event.name, "cache-misses");
	assert_int_equal(limits.counted[0].least_period, 10007);
	assert_string_equal(limits.counted[1].event.name, "sched:sched_switch");
	assert_int_equal(limits.counted[1].least_period, 1);
	assert_string_equal(limits.counted[2].event.name, "context-switches");
	assert_string_equal(limits.counted[3].event.name, "cache-misses");
	assert_int_equal(limits.counted[3].least_period, 5);
}

static void cgroups_are_chosen_by_the_configuration(void **state)
{
	struct capture_limits limits;

	set_variables(folder);
	write_config("[Sampling]\nInclude=unit:a cgroup:/b\nExclude=unit:b*\nInclude=unit:c\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(limits.choice.count, 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const texts[] = { "a.service", "/b", "c.service", "b*" };

		assert_string_equal(limits.choice.rules[i].text, texts[i]);
		assert_int_equal(limits.choice.rules[i].is_excluding, i == 3);
	}
}

/* The copy stays as it is. */
static void senders_get_a_copy_of_the_configuration(void **state)
{
	struct config_problems problems;
	struct capture_limits limits;
	struct config config;
	char path[64];
	int fd;

	set_variables(folder);
	write_config("[Sampling]\nFrequencyHz=333\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(config_fd, 0);
	write_config("[sink one]\nType=otlp\nUrl=http://a\nHeader=A: b c\nHeader=D: e\n"
		     "[sink two]\nType=pprof\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	write_config("[sink one]\nUrl=nonsense\n");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", config_fd);
	assert_int_equal(
		config_load(path, CONFIG_MUST_EXIST | CONFIG_WITHOUT_GROUPS, &config, &problems),
		0);
	assert_int_equal(problems.all, 0);
	assert_int_equal(config.sink_count, 2);
	assert_string_equal(config.sinks[0].url, "http://a");
	assert_int_equal(config.sinks[0].headers.count, 2);
	assert_string_equal(config.sinks[0].headers.items[0], "A: b c");
	config_done(&config);
	config_problems_done(&problems);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, "x", 1) < 0 && ftruncate(fd, 0) < 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(config_fd), 0);
}

/* What could not be read leaves the limits as they were. */
static void invalid_limits_are_not_taken(void **state)
{
	struct capture_limits limits;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	set_variables(folder);
	write_config("[Sampling]\nOffCpuPeriod=99us\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), -EINVAL);
	write_config("");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(limits.rate_hz, 99);
	assert_int_equal(limits.event, CAPTURE_EVENT_AUTO);
	assert_true(limits.allows_kernel);
	limits.rate_hz = 7;
	write_config("[Sampling]\nFrequencyHz=many\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), -EINVAL);
	assert_int_equal(remove(path), 0);
	assert_int_equal(service_settings_read_limits(path, &limits, &config_fd), -EINVAL);
	assert_int_equal(limits.rate_hz, 7);
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
}

/* That the unit's limit cannot be read leaves the configured one. */
static void limits_without_memory_are_not_read(void **state)
{
	size_t refused = 0;

	set_variables(folder);
	write_config("[Sampling]\nFrequencyHz=333\n[sink one]\n");
	for (size_t n = 0;; n++) {
		struct capture_limits limits = { .rate_hz = 7 };
		int r;

		fail_allocation(n);
		r = service_settings_read_limits(NULL, &limits, &config_fd);
		if (!allocation_failed())
			break;
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(limits.rate_hz, r ? 7 : 333);
		if (r == 0)
			assert_int_equal(close(config_fd), 0);
		refused += r != 0;
	}
	assert_true(refused > 0);
}

static void without_one_they_are_where_they_are(void **state)
{
	static const char *const none[] = { NULL, "" };
	struct fault fault = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct service_settings settings;
		char path[96];

		set_variables(none[i]);
		(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
		write_config("");
		assert_int_equal(service_settings_load(path, false, &settings, &fault), 0);
		assert_string_equal(settings.history, "/var/lib/pilotlight/history");
		assert_string_equal(settings.symbol_cache, "/var/cache/pilotlight/symbols");
		assert_string_equal(settings.socket, "/run/pilotlight/api.sock");
		service_settings_done(&settings);
	}
}

static void a_relative_folder_is_refused(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };

	set_variables(folder);
	assert_int_equal(setenv("STATE_DIRECTORY", "a/relative/one", 1), 0);
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "STATE_DIRECTORY"));
}

static void the_configuration_decides(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[History]\nEnabled=no\n[Api]\nSocket=/run/other.sock\n"
		     "[Symbols]\nDebuginfodUrls=https://a.example https://b.example\n"
		     "[Memory]\nMaxBytes=100M\nJitBytes=5M\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_string_equal(settings.history, "");
	assert_string_equal(settings.socket, "/run/other.sock");
	assert_string_equal(settings.debuginfod_urls, "https://a.example https://b.example");
	assert_int_equal(settings.memory_budget, 100 << 20);
	assert_int_equal(settings.shares.jit_bytes, 5 << 20);
	assert_true(settings.shares.total_bytes <= 100 << 20);
	service_settings_done(&settings);
}

/* A key of its own, or its name among all events; the nearer period counts. */
static void events_are_sampled_by_key_or_name(void **state)
{
	static const enum pilotlight_source first = PILOTLIGHT_SOURCE_COUNTED;
	struct service_settings settings;
	const struct service_sampling *sampling = &settings.sampling;
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[Sampling]\nRunQueue=yes\nRunQueuePeriod=3ms\nOffCpuPeriod=7ms\n"
		     "Events=offcpu block faults/period=31/\n"
		     "Events=instructions:u sched:sched_switch/period=9/\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_int_equal(sampling->sources,
		7 | 1U << PILOTLIGHT_SOURCE_BLOCK | 1U << PILOTLIGHT_SOURCE_FAULTS | 3U << first);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_RUNQUEUE], 3000000);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_OFFCPU], 7000000);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_BLOCK],
		event_sources[PILOTLIGHT_SOURCE_BLOCK].service_period);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_FAULTS], 31);
	assert_int_equal(sampling->periods[first], 10000019);
	assert_int_equal(sampling->periods[first + 1], 9);
	assert_string_equal(sampling->counted[0].name, "instructions:u");
	assert_int_equal(service_sampling_find(sampling, "sched:sched_switch"), first + 1);
	assert_int_equal(service_sampling_find(sampling, "cache-misses"), PILOTLIGHT_SOURCES);
	service_settings_done(&settings);
}

static void surveys_are_the_default(void **state)
{
	const uint32_t waits = 1U << PILOTLIGHT_SOURCE_OFFCPU | 1U << PILOTLIGHT_SOURCE_RUNQUEUE;
	struct service_settings settings;
	const struct service_sampling *sampling = &settings.sampling;
	struct service_sampling ordered = { .sources = 1U << PILOTLIGHT_SOURCE_OFFCPU };
	struct capture_limits limits;
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[Sampling]\nSurveyPeriod=2s\nAllowEvents=none\n");
	assert_int_equal(service_settings_read_limits(NULL, &limits, &config_fd), 0);
	assert_int_equal(limits.sources, 1U << PILOTLIGHT_SOURCE_CPU);
	assert_int_equal(limits.surveyed, waits);
	assert_int_equal(limits.survey_ns, 2000000000);
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_int_equal(sampling->sources, 1U << PILOTLIGHT_SOURCE_CPU | waits);
	assert_int_equal(sampling->surveyed, waits);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_OFFCPU], 2000000000);
	/* An order takes the place of surveys, and of nothing else. */
	ordered.periods[PILOTLIGHT_SOURCE_OFFCPU] = 5000000;
	assert_int_equal(service_settings_order(&settings, &ordered, &fault), 0);
	assert_int_equal(sampling->sources, 1U << PILOTLIGHT_SOURCE_CPU | waits);
	assert_int_equal(sampling->surveyed, 1U << PILOTLIGHT_SOURCE_RUNQUEUE);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_OFFCPU], 5000000);
	service_settings_done(&settings);

	write_config("[Sampling]\nOffCpu=no\nEvents=runqueue\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_int_equal(
		sampling->sources, 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_RUNQUEUE);
	assert_int_equal(sampling->surveyed, 0);
	assert_int_equal(sampling->periods[PILOTLIGHT_SOURCE_RUNQUEUE], 10000000);
	service_settings_done(&settings);
}

static void orders_add_to_it(void **state)
{
	struct service_settings settings;
	struct service_sampling ordered = {
		.sources = 1U << PILOTLIGHT_SOURCE_COUNTED_LAST | 1U << PILOTLIGHT_SOURCE_FAULTS,
	};
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[Sampling]\nFaults=yes\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	ordered.periods[PILOTLIGHT_SOURCE_FAULTS] = 5;
	ordered.periods[PILOTLIGHT_SOURCE_COUNTED_LAST] = 6;
	ordered.counted[PILOTLIGHT_COUNTED_EVENTS - 1].kind = PILOTLIGHT_COUNTED_TRACEPOINT;
	assert_int_equal(service_settings_order(&settings, &ordered, &fault), 0);
	/* The configuration's period stays. */
	assert_int_equal(settings.sampling.periods[PILOTLIGHT_SOURCE_FAULTS], 211);
	assert_int_equal(settings.sampling.periods[PILOTLIGHT_SOURCE_COUNTED_LAST], 6);
	assert_int_equal(settings.sampling.counted[PILOTLIGHT_COUNTED_EVENTS - 1].kind,
		PILOTLIGHT_COUNTED_TRACEPOINT);
	service_settings_done(&settings);
}

static void the_least_memory_is_enough(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[Memory]\nMaxBytes=32M\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_true(settings.shares.total_bytes <= 32 << 20);
	service_settings_done(&settings);
	write_config("[Memory]\nMaxBytes=32M\nJitBytes=15M\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), -ENOSPC);
	assert_true(fault.text[0]);
}

static void what_is_wrong_is_an_error(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };
	char missing[96];

	set_variables(folder);
	write_config("[Sampling]\nFrequencyHz=fast\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "--check"));
	(void)snprintf(missing, sizeof(missing), "%s/none.conf", folder);
	assert_true(service_settings_load(missing, false, &settings, &fault) < 0);
}

/* As the engine is confined when it reloads. */
static void one_that_is_confined_sees_no_groups(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };

	set_variables(folder);
	write_config("[Api]\nGroup=no-such-group-here\n");
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), -EINVAL);
	fault = (struct fault){ 0 };
	assert_int_equal(service_settings_load(NULL, true, &settings, &fault), 0);
	service_settings_done(&settings);
	write_config("[Api]\nGroup=no-such-group-here\n[Sampling]\nFrequencyHz=fast\n");
	assert_int_equal(service_settings_load(NULL, true, &settings, &fault), -EINVAL);
}

static void checking_finds_too_little_memory(void **state)
{
	struct config config;
	struct config_problems problems;
	struct fault fault = { 0 };
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	write_config("[Memory]\nMaxBytes=32M\nJitBytes=15M\n");
	assert_int_equal(config_load(path, 0, &config, &problems), 0);
	assert_int_equal(problems.all, 0);
	assert_int_equal(service_settings_check(&config, &fault), -ENOSPC);
	assert_non_null(strstr(fault.text, "[Memory] MaxBytes: a memory budget of 32 MiB is too"));
	config_done(&config);
	write_config("[Memory]\nMaxBytes=32M\n");
	assert_int_equal(config_load(path, 0, &config, &problems), 0);
	assert_int_equal(service_settings_check(&config, &fault), 0);
	config_done(&config);
}

static void checking_finds_an_unusable_token(void **state)
{
	struct config config;
	struct config_problems problems;
	struct fault fault = { 0 };
	char path[96], text[128];

	/* This file itself: everybody may read it. */
	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	(void)snprintf(text, sizeof(text), "[Api]\nBearerTokenFile=%s\n", path);
	write_config(text);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(config_load(path, 0, &config, &problems), 0);
	assert_int_equal(service_settings_check(&config, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "[Api] BearerTokenFile: other users may read"));
	config_done(&config);
	/* Only the service has its credentials. */
	write_config("[Api]\nBearerTokenFile=token\n");
	assert_int_equal(config_load(path, 0, &config, &problems), 0);
	assert_int_equal(service_settings_check(&config, &fault), 0);
	config_done(&config);
}

static void the_kernel_may_allow_less(void **state)
{
	char path[96], missing[96];

	(void)snprintf(path, sizeof(path), "%s/pilotlight.conf", folder);
	(void)snprintf(missing, sizeof(missing), "%s/none", folder);
	write_config("250\n");
	assert_int_equal(service_settings_allowed_hz(99, path), 99);
	assert_int_equal(service_settings_allowed_hz(250, path), 250);
	assert_int_equal(service_settings_allowed_hz(251, path), 250);
	assert_int_equal(service_settings_allowed_hz(999, missing), 999);
	write_config("0\n");
	assert_int_equal(service_settings_allowed_hz(999, path), 999);
	write_config("many\n");
	assert_int_equal(service_settings_allowed_hz(999, path), 999);
}

static void folders_are_made(void **state)
{
	struct service_settings settings;
	struct fault fault = { 0 };
	char deep[96];
	struct stat status;

	(void)snprintf(deep, sizeof(deep), "%s/a/b", folder);
	write_config("");
	set_variables(deep);
	assert_int_equal(setenv("CONFIGURATION_DIRECTORY", folder, 1), 0);
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(service_settings_make_folders(&settings, &fault), 0);
	assert_int_equal(stat(settings.history, &status), 0);
	assert_int_equal(status.st_mode & 07007, 0);
	assert_int_equal(stat(settings.symbol_cache, &status), 0);
	service_settings_done(&settings);

	/* A file is in the way. */
	(void)snprintf(deep, sizeof(deep), "%s/pilotlight.conf/x", folder);
	assert_int_equal(setenv("STATE_DIRECTORY", deep, 1), 0);
	assert_int_equal(service_settings_load(NULL, false, &settings, &fault), 0);
	assert_int_equal(service_settings_make_folders(&settings, &fault), -ENOTDIR);
	assert_non_null(strstr(fault.text, deep));
	service_settings_done(&settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_those_of_the_service_manager),
		cmocka_unit_test(without_one_they_are_where_they_are),
		cmocka_unit_test(a_relative_folder_is_refused),
		cmocka_unit_test(the_configuration_decides),
		cmocka_unit_test(events_are_sampled_by_key_or_name),
		cmocka_unit_test(surveys_are_the_default),
		cmocka_unit_test(orders_add_to_it),
		cmocka_unit_test(the_least_memory_is_enough),
		cmocka_unit_test(what_is_wrong_is_an_error),
		cmocka_unit_test(one_that_is_confined_sees_no_groups),
		cmocka_unit_test(checking_finds_too_little_memory),
		cmocka_unit_test(checking_finds_an_unusable_token),
		cmocka_unit_test(the_kernel_may_allow_less),
		cmocka_unit_test(folders_are_made),
		cmocka_unit_test(limits_of_capture_are_those_of_the_configuration),
		cmocka_unit_test(allowed_sources_are_those_of_the_configuration),
		cmocka_unit_test(cgroups_are_chosen_by_the_configuration),
		cmocka_unit_test(events_are_limited_by_name),
		cmocka_unit_test(senders_get_a_copy_of_the_configuration),
		cmocka_unit_test(invalid_limits_are_not_taken),
		cmocka_unit_test(limits_without_memory_are_not_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

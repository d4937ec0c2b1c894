/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_knob.h"

#include "base/array.h"
#include "base/event_source.h"
#include "tests/harness/failing_allocation.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct config_knob *knob(const char *section, const char *key)
{
	size_t i = config_knob_find(section, key);

	assert_true(i < config_knob_count);
	return &config_knobs[i];
}

static void each_key_is_listed_once_with_its_default(void **state)
{
	struct config config = { 0 };
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < config_knob_count; i++) {
		const struct config_knob *one = &config_knobs[i];

		assert_int_equal(config_knob_find(one->section, one->key), i);
		assert_true(strlen(one->help) + 2 <= 140);
		assert_true(isupper((unsigned char)one->help[0]));
		assert_int_equal(one->help[strlen(one->help) - 1], '.');
		if (!config_knob_is_list(one))
			assert_int_equal(
				config_knob_set(one, one->default_text, &config, reason), 0);
		else
			assert_string_equal(one->default_text, "");
	}
	assert_int_equal(config_knob_find("Sampling", "frequencyhz"), config_knob_count);
	assert_int_equal(config.frequency_hz, 99);
	assert_true(config.kernel_stacks);
	assert_string_equal(config.off_cpu, "survey");
	assert_string_equal(config.run_queue, "survey");
	assert_int_equal(config.survey_period_ns, 1000000000);
	assert_int_equal(
		config.off_cpu_period_ns, event_sources[PILOTLIGHT_SOURCE_OFFCPU].service_period);
	assert_int_equal(config.run_queue_period_ns,
		event_sources[PILOTLIGHT_SOURCE_RUNQUEUE].service_period);
	assert_false(config.faults);
	assert_int_equal(
		config.faults_period, event_sources[PILOTLIGHT_SOURCE_FAULTS].service_period);
	assert_false(config.kernel_memory);
	assert_int_equal(config.kernel_memory_period,
		event_sources[PILOTLIGHT_SOURCE_KMEM_ALLOC].service_period);
	assert_int_equal(config.max_cost_ppm, 1500);
	assert_int_equal(config.max_bytes, 64 << 20);
	assert_int_equal(config.history_bytes, 1 << 30);
	assert_int_equal(config.history_age_ns, 30ULL * 24 * 3600 * 1000000000);
	assert_int_equal(config.window_ns, 10000000000);
	assert_string_equal(config.group, "pilotlight");
	assert_string_equal(config.socket, "");
	assert_string_equal(config.bearer_token_file, "");
	assert_int_equal(config.max_connections, 64);
	config_done(&config);
}

static void numbers_are_read_in_their_units(void **state)
{
	static const struct {
		const char *section, *key, *text;
		size_t offset;
		uint64_t number;
	} rows[] = {
		{ "Memory", "MaxBytes", "67108864", offsetof(struct config, max_bytes), 64 << 20 },
		{ "Memory", "MaxBytes", "1G", offsetof(struct config, max_bytes), 1 << 30 },
		{ "Memory", "MaxBytes", "65536K", offsetof(struct config, max_bytes), 64 << 20 },
		{ "History", "MaxBytes", "2T", offsetof(struct config, history_bytes), 2ULL << 40 },
		{ "Sampling", "FrequencyHz", "1", offsetof(struct config, frequency_hz), 1 },
		{ "Sampling", "FrequencyHz", "997Hz", offsetof(struct config, frequency_hz), 997 },
		{ "Sampling", "MaxCostPercent", "1.5%", offsetof(struct config, max_cost_ppm),
			15000 },
		{ "Sampling", "MaxCostPercent", "0.0123", offsetof(struct config, max_cost_ppm),
			123 },
		{ "Sampling", "MaxCostPercent", "100", offsetof(struct config, max_cost_ppm),
			1000000 },
		{ "History", "Window", "500ms 1s", offsetof(struct config, window_ns), 1500000000 },
		{ "Api", "MaxConnections", "1024", offsetof(struct config, max_connections), 1024 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config config = { 0 };
		char reason[CONFIG_REASON_BYTES];
		uint64_t number;

		assert_int_equal(config_knob_set(knob(rows[i].section, rows[i].key), rows[i].text,
					 &config, reason),
			0);
		memcpy(&number, (char *)&config + rows[i].offset, sizeof(number));
		assert_int_equal(number, rows[i].number);
	}
}

static void words_are_read(void **state)
{
	struct config config = { 0 };
	char reason[CONFIG_REASON_BYTES];
	const struct config_knob *stacks = knob("Sampling", "KernelStacks");

	assert_int_equal(config_knob_set(stacks, "TRUE", &config, reason), 0);
	assert_true(config.kernel_stacks);
	assert_int_equal(config_knob_set(stacks, "off", &config, reason), 0);
	assert_false(config.kernel_stacks);
	assert_int_equal(
		config_knob_set(knob("Sampling", "Event"), "cpu-clock", &config, reason), 0);
	assert_string_equal(config.event, "cpu-clock");
	assert_int_equal(config_knob_set(knob("Api", "Socket"), "/run/x/s", &config, reason), 0);
	assert_int_equal(config_knob_set(knob("Api", "Listen"), "[::1]:80", &config, reason), 0);
	assert_int_equal(
		config_knob_set(knob("Api", "Listen"), "127.0.0.1:80", &config, reason), 0);
	assert_int_equal(config.listen.count, 2);
	assert_string_equal(config.listen.items[1], "127.0.0.1:80");
	config_done(&config);
}

static void choices_that_were_booleans_take_their_spellings(void **state)
{
	static const struct {
		const char *text, *choice;
	} rows[] = { { "survey", "survey" }, { "true", "yes" }, { "On", "yes" }, { "1", "yes" },
		{ "yes", "yes" }, { "false", "no" }, { "off", "no" }, { "0", "no" },
		{ "no", "no" } };
	struct config config = { 0 };
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			config_knob_set(knob("Sampling", "OffCpu"), rows[i].text, &config, reason),
			0);
		assert_string_equal(config.off_cpu, rows[i].choice);
		assert_int_equal(config_knob_set(knob("Sampling", "RunQueue"), rows[i].text,
					 &config, reason),
			0);
		assert_string_equal(config.run_queue, rows[i].choice);
	}
	assert_int_equal(
		config_knob_set(knob("Sampling", "OffCpu"), "surveys", &config, reason), -EINVAL);
	assert_non_null(strstr(reason, "survey yes no"));
	config_done(&config);
}

static const struct {
	const char *section, *key, *text, *remedy;
} invalid_values[] = {
	{ "Memory", "MaxBytes", "64MB", "such as 64M" },
	{ "Memory", "MaxBytes", "-1", "write digits" },
	{ "Memory", "MaxBytes", "1.5G", "write digits" },
	{ "Memory", "MaxBytes", "18446744073709551616", "write digits" },
	{ "Memory", "MaxBytes", "18014398509481984K", "write digits" },
	{ "Memory", "MaxBytes", "31M", "write 32M to 1T" },
	{ "Memory", "MaxBytes", "2T", "write 32M to 1T" },
	{ "Sampling", "FrequencyHz", "0", "write 1 to 10000" },
	{ "Sampling", "FrequencyHz", "10001", "write 1 to 10000" },
	{ "Sampling", "FrequencyHz", "99kHz", "such as 99" },
	{ "Sampling", "FrequencyHz", "0x63", "such as 99" },
	{ "Sampling", "MaxCostPercent", "0.00001", "four decimals" },
	{ "Sampling", "MaxCostPercent", "0", "write 0.01 to 100" },
	{ "Sampling", "MaxCostPercent", ".5", "such as 0.15" },
	{ "Sampling", "KernelStacks", "maybe", "write yes or no" },
	{ "Sampling", "Event", "cpu", "cpu-clock" },
	{ "Sampling", "Event", "auto cycles", "cpu-clock" },
	{ "Sampling", "AllowEvents", "offcpu, nothing", "no event in 'nothing'" },
	{ "Sampling", "AllowEvents", "cheap offcpu", "no event in 'cheap'" },
	{ "Sampling", "AllowEvents", "heap:live", "record -e heap:live" },
	{ "Sampling", "Events", "nothing", "is no event" },
	{ "Sampling", "Events", "heap:alloc", "record -e heap:alloc" },
	{ "Sampling", "Events", "usdt:python3:python:gc__start", "record -e usdt:python3" },
	{ "Sampling", "Events", "faults/period=0/", "only /period=N/ may follow" },
	{ "Sampling", "Events", "faults/freq=99/", "only /period=N/ may follow" },
	{ "Sampling", "Events", "faults/period=7", "only /period=N/ may follow" },
	{ "Sampling", "Events", "faults/period=7/u", "only /period=N/ may follow" },
	{ "Sampling", "Events", "faults/period=1000000001/", "write 1 to 1000000000 count" },
	{ "Sampling", "Events", "offcpu/period=99999/", "write 100000 to 1000000000 nanoseconds" },
	{ "Sampling", "Events", "cpu/period=7/", "FrequencyHz=" },
	{ "Sampling", "Events", "wall/period=1000000/", "FrequencyHz=" },
	{ "Sampling", "Events", "cache-misses/period=1000000000001/", "write 1 to 1000000000000" },
	{ "Sampling", "Events", "sched:sched-switch", "is no event" },
	{ "Sampling", "Include", "nginx.service", "write unit:NAME" },
	{ "Sampling", "Include", "unit:a/b", "such as nginx.service" },
	{ "Sampling", "Exclude", "cgroup:a", "such as /system.slice" },
	{ "History", "Window", "ten", "such as 10s" },
	{ "History", "Window", "2min", "write 1s to 1min" },
	{ "History", "MaxAge", "1h", "write 1d to" },
	{ "Symbols", "DebuginfodUrls", "debuginfod.debian.net", "https://" },
	{ "Symbols", "DebuginfodUrls", "https://", "a host" },
	{ "Symbols", "DebuginfodUrls", "file:///etc", "https://" },
	{ "Api", "Socket", "run/api.sock", "'/'" },
	{ "Api", "Socket", "/run/", "in it" },
	{ "Api", "Socket",
		"/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"107 bytes" },
	{ "Api", "Group", "a b", "not a group name" },
	{ "Api", "Listen", "localhost:80", "[::1]:7447" },
	{ "Api", "HostNames", "pi:7447", "without a port" },
	{ "Api", "HostNames", "*", "such as profiles.example.org" },
	{ "Api", "HostNames", ".example.org", "such as profiles.example.org" },
	{ "Api", "HostNames", "http://pi", "such as profiles.example.org" },
	{ "Api", "HostNames",
		"b\xc3\xbc"
		"cher.example",
		"such as profiles.example.org" },
	{ "Api", "BearerTokenFile", "etc/token", "absolute path" },
	{ "Api", "BearerTokenFile", "my token", "name of a credential" },
	{ "Api", "MaxConnections", "64 ", "write digits" },
	{ "Api", "MaxConnections", "", "write digits" },
};

static void invalid_values_are_refused_with_a_remedy(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(invalid_values); i++) {
		struct config config = { 0 }, untouched = { 0 };
		char reason[CONFIG_REASON_BYTES] = "";

		assert_int_equal(
			config_knob_set(knob(invalid_values[i].section, invalid_values[i].key),
				invalid_values[i].text, &config, reason),
			-EINVAL);
		if (!strstr(reason, invalid_values[i].remedy))
			fail_msg(
				"%s=%s: %s", invalid_values[i].key, invalid_values[i].text, reason);
		assert_memory_equal(&config, &untouched, sizeof(config));
	}
}

static void lists_are_bounded(void **state)
{
	struct config config = { 0 };
	char reason[CONFIG_REASON_BYTES];
	const struct config_knob *urls = knob("Symbols", "DebuginfodUrls");

	for (size_t i = 0; i < CONFIG_LIST_MAX; i++)
		assert_int_equal(config_knob_set(urls, "http://h", &config, reason), 0);
	assert_int_equal(config_knob_set(urls, "http://h", &config, reason), -EINVAL);
	assert_int_equal(config.debuginfod_urls.count, CONFIG_LIST_MAX);
	config_knob_clear(urls, &config);
	assert_int_equal(config.debuginfod_urls.count, 0);
	assert_int_equal(config_knob_set(urls, "http://h", &config, reason), 0);
	config_done(&config);
}

static void failing_allocations_leave_the_field(void **state)
{
	static const char *const keys[] = { "Group", "Listen" };
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct config config = { 0 };

		assert_true(FAIL_EACH_ALLOCATION(config_knob_set(knob("Api", keys[i]),
							 i ? "[::]:1" : "adm", &config, reason),
				    -ENOMEM, !config.group && config.listen.count == 0, 0) >= 1);
		config_done(&config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_is_listed_once_with_its_default),
		cmocka_unit_test(numbers_are_read_in_their_units),
		cmocka_unit_test(words_are_read),
		cmocka_unit_test(choices_that_were_booleans_take_their_spellings),
		cmocka_unit_test(invalid_values_are_refused_with_a_remedy),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(failing_allocations_leave_the_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

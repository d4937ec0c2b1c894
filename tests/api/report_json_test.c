/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_fields.h"
#include "base/array.h"
#include "tests/api/report_fixture.h"

#include <stdbool.h>

/* What stands behind `"group":{`, with all that is in it; free(). */
static char *group_of(const char *text, const char *group)
{
	char key[64];
	const char *start, *end;
	int depth = 0;

	(void)snprintf(key, sizeof(key), "\"%s\":{", group);
	start = strstr(text, key);
	if (!start)
		fail_msg("no group '%s' in %s", group, text);
	start += strlen(key) - 1;
	for (end = start; *end; end++) {
		depth += *end == '{';
		depth -= *end == '}';
		if (depth == 0)
			break;
	}
	assert_int_equal(*end, '}');
	return strndup(start, (size_t)(end - start) + 1);
}

static void every_number_appears_once(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	text = write_report(report_write_json, &report);
	for (size_t i = 0; i < report_field_count; i++) {
		char *group = group_of(text, report_fields[i].group), key[64];
		const char *at;

		(void)snprintf(key, sizeof(key), "\"%s\":", report_fields[i].key);
		at = strstr(group, key);
		if (!at)
			fail_msg("no '%s' in %s", key, group);
		assert_null(strstr(at + 1, key));
		free(group);
	}
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
}

static void names_have_units(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	assert_int_equal(cgroup_choice_add(&report.service.choice, "unit:a", false, NULL), 0);
	assert_int_equal(cgroup_choice_add(&report.service.choice, "cgroup:/b", true, NULL), 0);
	report.service.accounts.dropped[PILOTLIGHT_DROP_PROFILE_FULL] = 5;
	(void)snprintf(
		report.service.history_fault, sizeof(report.service.history_fault), "\"full\"");
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text, "\"service\":{\"version\":\"0.1.0\",\"started_seconds\":1794884999.877,",
		"\"cpus\":8,\"online_cpus\":4,",
		"\"sampling\":{\"event\":\"cycles\",\"include\":[\"unit:a.service\"],"
		"\"exclude\":[\"cgroup:/b\"],\"rate_hz\":99,",
		"\"cost\":{\"ppm\":812,\"max_ppm\":1500,\"bpf_seconds\":120.500,",
		"\"memory\":{\"bytes\":45088768,", "\"fault\":\"\\\"full\\\"\",\"is_kept\":true,",
		"\"is_failing\":false,", "\"last_seconds\":1795144196.000}",
		"\"statuses\":{\"1xx\":0,\"2xx\":30,\"3xx\":0,\"4xx\":2,\"5xx\":1}",
		"\"samples\":{\"since_start\":{\"fired\":1000000,\"lost\":5,\"stored\":{\"map\":"
		"700000,"
		"\"ring\":100000},\"dropped\":{\"idle\":200000,",
		"\"profile_full\":5", "\"last_window\":{\"fired\":4000,",
		"\"lost_with_engines\":0}}\n");
	free(text);
}

static void sources_have_counts_of_their_own(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_sources(&report.service);
	fill_live(&report.service);
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text,
		"\"by_source\":{\"cpu\":{\"period_nanoseconds\":10101010,\"fired\":1000000,"
		"\"lost\":0,",
		"\"offcpu\":{\"period_nanoseconds\":10000000,\"fired\":750100,\"lost\":0,"
		"\"stored\":{\"map\":740000,\"ring\":10000},\"dropped\":{\"idle\":0,"
		"\"filtered\":100,",
		"\"runqueue\":{\"period_nanoseconds\":2000000,\"fired\":5000,\"lost\":100,",
		"\"faults\":{\"period_events\":211,\"fired\":6000,\"lost\":30,",
		"\"kmem:live\":{\"period_bytes\":65536,\"fired\":0,",
		"\"live\":{\"freed\":1000,\"replaced\":2,\"expired\":3,\"thinned\":4,\"refused\":"
		"5}},",
		"\"sched:sched_process_exec\":{\"period_events\":3,\"fired\":77,\"lost\":0,");
	assert_null(strstr(text, "surveyed\":true"));
	free(text);
	fill_surveyed(&report.service);
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text,
		"\"offcpu\":{\"period_nanoseconds\":1000000000,\"is_surveyed\":true,\"fired\":"
		"7200,",
		"\"runqueue\":{\"period_nanoseconds\":2000000,\"fired\":5000,");
	free(text);
	report.service.sources = 1;
	text = write_report(report_write_json, &report);
	assert_null(strstr(text, "runqueue"));
	free(text);
}

static void processes_are_a_list(void **state)
{
	struct report report;
	struct service_status *s = &report.service;
	char *text;

	fill_report(&report);
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text, "\"jit\":{\"processes\":[],");
	assert_non_null(strstr(
		text, "\"users\":{\"most_over\":[],\"capacity\":{\"window\":0,\"history\":0,"));
	free(text);
	user_excess_add(&report.service.excess, 1000, USER_JIT, 7);
	report.service.holdings.lines[5].user = 1001;
	report.service.holdings.lines[5].held[USER_BINARIES] = 12;
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text, "\"over_jit\":7,", "\"over_live\":0}],\"capacity\"",
		"\"holding\":[{\"user\":\"user 1001\",\"held\":{\"window\":0,", "\"binaries\":12,");
	free(text);
	/* A count beyond the array would be a bug of the code that fills it. */
	s->jit_count = SERVICE_STATUS_JIT_MAX + 1;
	for (size_t i = 0; i < ARRAY_SIZE(s->jit); i++) {
		s->jit[i].pid = (uint32_t)i;
		memset(s->jit[i].comm, 'c', sizeof(s->jit[i].comm));
		memcpy(s->jit[i].kind, "perf map", 9);
	}
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text,
		"{\"pid\":63,\"comm\":\"cccccccccccccccc\",\"kind\":\"perf map\",\"runtime\":\"\","
		"\"symbols\":0,\"bytes\":0}],");
	free(text);
}

static void sinks_are_a_list(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text, ",\"sinks\":[],");
	free(text);
	fill_sinks(&report.service);
	text = write_report(report_write_json, &report);
	EXPECT_PARTS(text,
		",\"sinks\":[{\"name\":\"bucket\",\"type\":\"pprof\",\"is_failing\":false,"
		"\"fault\":\"\","
		"\"batches\":31,\"bytes\":3200000,\"empty\":32,\"failed\":0,\"skipped_seconds\":{"
		"\"too_old\":0.000,",
		"\"kept_files\":1,\"kept_bytes\":1572864,\"until_seconds\":1795144198.500},{",
		"\"is_failing\":true,\"fault\":\"cannot write to its\\u001b folder: No space left "
		"on "
		"device\",",
		"{\"too_old\":1.500,\"too_large\":60.000,\"clock_set\":120.000,\"evicted\":180.000,"
		"\"expired\":240.000,\"refused\":300.000,\"refused_size\":360.000,"
		"\"unsampled\":420.000}",
		"\"is_held\":true,\"sent_batches\":35,\"sent_bytes\":36000,\"rejected_profiles\":"
		"37",
		"}],\"samples\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_appears_once),
		cmocka_unit_test(names_have_units),
		cmocka_unit_test(sources_have_counts_of_their_own),
		cmocka_unit_test(processes_are_a_list),
		cmocka_unit_test(sinks_are_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

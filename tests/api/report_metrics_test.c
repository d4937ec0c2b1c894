/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_fields.h"
#include "tests/api/report_fixture.h"

#include <ctype.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the text format 0.0.4, as strictly as it is written down --- */

static size_t name_size(const char *text)
{
	size_t size = 0;

	while (isalpha((unsigned char)text[size]) || text[size] == '_' || text[size] == ':' ||
		(size > 0 && isdigit((unsigned char)text[size])))
		size++;
	return size;
}

static const char *check_labels(const char *at)
{
	assert_int_equal(*at, '{');
	do {
		size_t size = name_size(++at);

		assert_true(size > 0);
		at += size;
		assert_int_equal(*at++, '=');
		assert_int_equal(*at++, '"');
		for (; *at != '"'; at++) {
			assert_true(*at && *at != '\n');
			if (*at == '\\')
				assert_non_null(strchr("\\\"n", *++at));
		}
		at++;
	} while (*at == ',');
	assert_int_equal(*at, '}');
	return at + 1;
}

struct family {
	char name[80];
	bool is_counter;
	size_t lines;
};

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static const char *check_head(const char *line, struct family *families, size_t *count)
{
	struct family *family = &families[*count];
	char type[16];
	int used = -1;

	assert_true(*count < 200);
	assert_true(*count == 0 || families[*count - 1].lines > 0);
	*family = (struct family){ 0 };
	assert_int_equal(sscanf(line, "# HELP %79s %n", family->name, &used), 1);
	assert_int_equal(name_size(family->name), strlen(family->name));
	assert_int_equal(strncmp(family->name, "pilotlight_", 11), 0);
	assert_true(used > 0 && line[used] != '\n');
	for (size_t i = 0; i < *count; i++)
		assert_string_not_equal(families[i].name, family->name);
	line = strchr(line, '\n') + 1;
	assert_int_equal(strncmp(line, "# TYPE ", 7), 0);
	assert_int_equal(strncmp(line + 7, family->name, strlen(family->name)), 0);
	assert_int_equal(sscanf(line + 7 + strlen(family->name), " %15s", type), 1);
	family->is_counter = strcmp(type, "counter") == 0;
	assert_true(family->is_counter || strcmp(type, "gauge") == 0);
	assert_int_equal(family->is_counter, ends_with(family->name, "_total"));
	(*count)++;
	return strchr(line, '\n') + 1;
}

static const char *check_sample(const char *line, struct family *family)
{
	size_t size = name_size(line);
	char *end;

	assert_int_equal(size, strlen(family->name));
	assert_int_equal(strncmp(line, family->name, size), 0);
	line += size;
	if (*line == '{')
		line = check_labels(line);
	assert_int_equal(*line, ' ');
	assert_true(isdigit((unsigned char)line[1]));
	(void)strtod(line + 1, &end);
	assert_int_equal(*end, '\n');
	family->lines++;
	return end + 1;
}

static void check_format(const char *text)
{
	struct family families[200];
	size_t count = 0;

	while (*text) {
		if (*text == '#') {
			text = check_head(text, families, &count);
			continue;
		}
		assert_true(count > 0);
		text = check_sample(text, &families[count - 1]);
	}
	assert_true(count > 60);
}

static void the_text_is_of_the_format(void **state)
{
	struct report report = { 0 };
	char *text;

	text = write_report(report_write_metrics, &report);
	check_format(text);
	free(text);
	fill_report(&report);
	memset(report.service.event, '"', sizeof(report.service.event));
	memcpy(report.service.version, "a\\b\nc\xff", 7);
	text = write_report(report_write_metrics, &report);
	check_format(text);
	EXPECT_PARTS(text,
		"version=\"a\\\\b\xef\xbf\xbd"
		"c\xef\xbf\xbd\"",
		"event=\"\\\"\\\"\\\"");
	free(text);
}

static void metrics_have_base_units(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	report.service.accounts.dropped[PILOTLIGHT_DROP_BPF_ERROR] = 17;
	report.service.lost_by_engines = 18;
	user_excess_add(&report.service.excess, 1000, USER_JIT, 7);
	text = write_report(report_write_metrics, &report);
	assert_non_null(strstr(text,
		"\npilotlight_user_over_quota_total{user=\"user 1000\",resource=\"jit\"} 7\n"));
	EXPECT_PARTS(text, "\npilotlight_build_info{version=\"0.1.0\",event=\"cycles\"} 1\n",
		"\npilotlight_start_time_seconds 1794884999.876543211\n", "\npilotlight_cpus 8\n",
		"\npilotlight_online_cpus 4\n", "\npilotlight_sampling_rate_hertz 99\n",
		"\npilotlight_window_seconds 10\n", "\npilotlight_drain_lag_seconds 0.001500000\n",
		"\npilotlight_cost_ratio 0.000812\n", "\npilotlight_cost_max_ratio 0.001500\n",
		"\npilotlight_bpf_cpu_seconds_total 120.500000000\n",
		"\npilotlight_memory_bytes 45088768\n", "\npilotlight_history_kept 1\n",
		"\npilotlight_history_failing 0\n",
		"\npilotlight_samples_stored_total{path=\"ring\"} 100000\n",
		"\npilotlight_samples_dropped_total{reason=\"bpf_error\"} 17\n",
		"\npilotlight_samples_dropped_total{reason=\"idle\"} 200000\n",
		"\npilotlight_samples_lost_total 17\n",
		"\npilotlight_samples_lost_with_engines_total 18\n",
		"\npilotlight_sample_events_total{event=\"timed\"} 1234\n",
		"\npilotlight_samples_walked_total{walker=\"tables\"} 4321\n",
		"\npilotlight_table_walks_total{end=\"root\"} 4320\n",
		"\npilotlight_http_responses_total{code=\"4xx\"} 2\n",
		"\npilotlight_http_connections_open 2\n", "\npilotlight_queries_waiting 12\n");
	free(text);
}

static void sources_are_labelled(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_sources(&report.service);
	fill_live(&report.service);
	report.service.surveyed = 1U << PILOTLIGHT_SOURCE_RUNQUEUE;
	text = write_report(report_write_metrics, &report);
	check_format(text);
	EXPECT_PARTS(text, "\npilotlight_source_surveyed{source=\"runqueue\"} 1\n",
		"\npilotlight_source_live_total{source=\"kmem:live\",outcome=\"freed\"} 1000\n",
		"\npilotlight_source_live_total{source=\"kmem:live\",outcome=\"expired\"} 3\n",
		"\npilotlight_source_live_total{source=\"kmem:live\",outcome=\"thinned\"} 4\n",
		"\npilotlight_source_live_total{source=\"kmem:live\",outcome=\"refused\"} 5\n",
		"\npilotlight_source_period_seconds{source=\"cpu\"} 0.010101010\n",
		"\npilotlight_source_period_seconds{source=\"runqueue\"} 0.002000000\n",
		"\npilotlight_source_period_events{source=\"faults\"} 211\n",
		"\npilotlight_source_period_events{source=\"sched:sched_process_exec\"} 3\n",
		"\npilotlight_source_samples_total{source=\"sched:sched_process_exec\","
		"outcome=\"stored\"} 77\n",
		"\npilotlight_source_samples_total{source=\"cpu\",outcome=\"stored\"} 800000\n",
		"\npilotlight_source_samples_total{source=\"cpu\",outcome=\"idle\"} 200000\n",
		"\npilotlight_source_samples_total{source=\"offcpu\",outcome=\"stored\"} 750000\n",
		"\npilotlight_source_samples_total{source=\"offcpu\",outcome=\"filtered\"} 100\n",
		"\npilotlight_source_samples_total{source=\"runqueue\",outcome=\"ring_full\"} "
		"100\n",
		"\npilotlight_source_thinned_total{source=\"sched:sched_process_exec\"} 8\n",
		/* Metrics without a source are still of CPU time. */
		"\npilotlight_samples_fired_total 1000000\n");
	free(text);
}

static void sinks_are_labelled(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	text = write_report(report_write_metrics, &report);
	assert_null(strstr(text, "sink=\""));
	free(text);
	fill_sinks(&report.service);
	text = write_report(report_write_metrics, &report);
	check_format(text);
	EXPECT_PARTS(text, "\npilotlight_sink_failing{sink=\"bucket\"} 0\n",
		"pilotlight_sink_failing{sink=\"other\"} 1\n",
		"\npilotlight_sink_batches_total{sink=\"bucket\"} 31\n",
		"\npilotlight_sink_bytes_total{sink=\"bucket\"} 3200000\n",
		"\npilotlight_sink_empty_batches_total{sink=\"bucket\"} 32\n",
		"\npilotlight_sink_failures_total{sink=\"other\"} 33\n",
		"\npilotlight_sink_files{sink=\"other\"} 34\n",
		"\npilotlight_sink_kept_bytes{sink=\"bucket\"} 1572864\n",
		"\npilotlight_sink_held{sink=\"bucket\"} 0\n",
		"pilotlight_sink_held{sink=\"other\"} 1\n",
		"pilotlight_sink_sent_batches_total{sink=\"other\"} 35\n",
		"pilotlight_sink_sent_bytes_total{sink=\"other\"} 36000\n",
		"pilotlight_sink_rejected_profiles_total{sink=\"other\"} 37\n",
		"\npilotlight_sink_until_time_seconds{sink=\"bucket\"} 1795144198.500000000\n",
		"\npilotlight_sink_skipped_seconds_total{sink=\"other\",reason=\"clock_set\"} "
		"120.000000000\n");
	free(text);
}

static struct service_status_series by_unit[] = {
	{ .label = "a\"b\\\x1b.service", .ns = 1500000000 },
	{ .label = "", .ns = 7 },
};
static const struct service_status_metric functions[] = {
	{ .name = "by-unit",
		.by = "unit",
		.selected_ns = 3000000000,
		.unnamed_ns = 20,
		.series = by_unit,
		.series_count = 2,
		.series_max = 3 },
	{ .name = "whole", .selected_ns = 4, .series_max = 1 },
	{ .name = "new", .by = "comm" },
};

static void functions_are_labelled(void **state)
{
	struct service_status_meter meter = { .metrics = functions,
		.metric_count = 3,
		.until_ns = REPORT_NOW_NS,
		.failed = 5,
		.skipped_ns = 600000000 };
	struct report report;
	char *text;

	fill_report(&report);
	report.service.meter = &meter;
	text = write_report(report_write_metrics, &report);
	check_format(text);
	EXPECT_PARTS(text,
		"\npilotlight_function_cpu_seconds_total{metric=\"by-unit\",unit=\"a\\\"b\\\\"
		"\xEF\xBF\xBD.service\"} 1.500000000\n",
		"\npilotlight_function_cpu_seconds_total{metric=\"by-unit\",unit=\"\"} "
		"0.000000007\n",
		"\npilotlight_function_cpu_seconds_total{metric=\"whole\"} 0.000000000\n",
		"\npilotlight_function_selected_cpu_seconds_total{metric=\"by-unit\"} "
		"3.000000000\n",
		"\npilotlight_function_unnamed_cpu_seconds_total{metric=\"by-unit\"} "
		"0.000000020\n",
		"\npilotlight_function_until_time_seconds 1795144200.000000000\n",
		"\npilotlight_function_failures_total 5\n",
		"\npilotlight_function_skipped_seconds_total 0.600000000\n");
	free(text);
	/* One that has no series yet. */
	meter.metrics = &functions[2];
	meter.metric_count = 1;
	text = write_report(report_write_metrics, &report);
	check_format(text);
	assert_null(strstr(text, "pilotlight_function_cpu_seconds_total"));
	free(text);
}

static void costs_that_are_no_numbers_are_nothing(void **state)
{
	static const double costs[] = { -1, 1e300, __builtin_nan(""), __builtin_inf() };
	struct report report;

	fill_report(&report);
	for (size_t i = 0; i < 4; i++) {
		char *text;

		report.service.cost_ppm = costs[i];
		text = write_report(report_write_metrics, &report);
		check_format(text);
		EXPECT_PARTS(text, i == 1 || i == 3 ? "\npilotlight_cost_ratio 1000000000\n"
						    : "\npilotlight_cost_ratio 0\n");
		free(text);
	}
}

/* Every number of the table is one of its own, and comes from where it should. */
static void fields_are_each_of_their_own(void **state)
{
	for (size_t i = 0; i < report_field_count; i++) {
		const struct report_field *field = &report_fields[i];
		struct report report = { 0 };

		assert_int_equal(report_field_get(field, &report), 0);
		if (field->unit == REPORT_PPM_DOUBLE)
			report.service.cost_ppm = 1;
		else
			((char *)&report)[field->offset] = 1;
		for (size_t j = 0; j < report_field_count; j++)
			assert_int_equal(report_field_get(&report_fields[j], &report), j == i);
	}
}

static void promtool_has_no_complaint(void **state)
{
	char *const arguments[] = { "promtool", "check", "metrics", NULL };
	char *const environment[] = { "HOME=/", NULL };
	posix_spawn_file_actions_t files;
	struct report report;
	FILE *input = tmpfile(), *said = tmpfile();
	struct service_status_meter meter = { .metrics = functions, .metric_count = 3 };
	char *text, complaint[4096];
	size_t size;
	int status, r;
	pid_t pid;

	if (access("/usr/bin/promtool", X_OK) < 0) {
		(void)fclose(input);
		(void)fclose(said);
		print_message("there is no promtool here\n");
		skip();
	}
	assert_non_null(input);
	assert_non_null(said);
	fill_report(&report);
	fill_sinks(&report.service);
	report.service.meter = &meter;
	text = write_report(report_write_metrics, &report);
	assert_int_equal(fputs(text, input) >= 0 && fflush(input) == 0, true);
	rewind(input);
	assert_int_equal(posix_spawn_file_actions_init(&files), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(input), 0), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(said), 1), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(said), 2), 0);
	r = posix_spawn(&pid, "/usr/bin/promtool", &files, NULL, arguments, environment);
	assert_int_equal(r, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(said);
	size = fread(complaint, 1, sizeof(complaint) - 1, said);
	complaint[size] = '\0';
	assert_string_equal(complaint, "");
	assert_int_equal(status, 0);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)fclose(input);
	(void)fclose(said);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_of_the_format),
		cmocka_unit_test(metrics_have_base_units),
		cmocka_unit_test(sources_are_labelled),
		cmocka_unit_test(sinks_are_labelled),
		cmocka_unit_test(functions_are_labelled),
		cmocka_unit_test(costs_that_are_no_numbers_are_nothing),
		cmocka_unit_test(fields_are_each_of_their_own),
		cmocka_unit_test(promtool_has_no_complaint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include "base/array.h"
#include "tests/config/config_folder.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct {
	struct config_folder folder;
	struct config config;
	struct config_problems problems;
} loaded;

static int set_up(void **state)
{
	config_folder_make(&loaded.folder);
	return 0;
}

static int tear_down(void **state)
{
	config_done(&loaded.config);
	config_problems_done(&loaded.problems);
	config_folder_remove(&loaded.folder);
	return 0;
}

static void load(unsigned flags)
{
	config_done(&loaded.config);
	config_problems_done(&loaded.problems);
	assert_int_equal(
		config_load(loaded.folder.file, flags, &loaded.config, &loaded.problems), 0);
}

static void load_text(const char *text)
{
	config_folder_write(&loaded.folder, "x.conf", text);
	load(0);
}

/* There must be exactly these problems: each begins with its place and has these words. */
static void expect(size_t count, const char *const expected[][2])
{
	char place[256];

	for (size_t i = 0; i < count && i < loaded.problems.count; i++) {
		const char *text = loaded.problems.texts[i];

		(void)snprintf(place, sizeof(place), "%s%s: ", loaded.folder.path, expected[i][0]);
		if (strncmp(text, place, strlen(place)) != 0 || !strstr(text, expected[i][1]))
			fail_msg("%s\nis not '%s%s'", text, place, expected[i][1]);
	}
	if (loaded.problems.count > count)
		fail_msg("one too many: %s", loaded.problems.texts[count]);
	assert_int_equal(loaded.problems.count, count);
	assert_int_equal(loaded.problems.all, count);
}

static void without_a_file_every_key_has_its_default(void **state)
{
	static const char *const missing[][2] = { { "/x.conf", "no such file" } };

	load(0);
	expect(0, NULL);
	assert_int_equal(loaded.config.frequency_hz, 99);
	assert_false(config_is_set(&loaded.config, "Memory", "MaxBytes"));
	load(CONFIG_MUST_EXIST);
	expect(1, missing);
}

static void a_file_is_read(void **state)
{

	load_text("\xEF\xBB\xBF# a comment\r\n; another\r\n\r\n[Sampling]\r\n  "
		  "FrequencyHz = 49 ; inline\r\n"
		  "\tKernelStacks=no\n[Memory]\nMaxBytes=128M\n[Symbols]\n"
		  "DebuginfodUrls=https://a/x  "
		  "http://b\nDebuginfodUrls=http://c\n[Api]\nListen=127.0.0.1:1\n"
		  "Listen=\nListen=[::1]:2\n[History]\nWindow=20s");
	expect(0, NULL);
	assert_int_equal(loaded.config.frequency_hz, 49);
	assert_false(loaded.config.kernel_stacks);
	assert_int_equal(loaded.config.max_bytes, 128 << 20);
	assert_true(config_is_set(&loaded.config, "Memory", "MaxBytes"));
	assert_int_equal(loaded.config.debuginfod_urls.count, 3);
	assert_string_equal(loaded.config.debuginfod_urls.items[1], "http://b");
	assert_int_equal(loaded.config.listen.count, 1);
	assert_string_equal(loaded.config.listen.items[0], "[::1]:2");
	assert_int_equal(loaded.config.window_ns, 20000000000);
}

static void drop_ins_follow_by_name(void **state)
{
	char path[256];

	config_folder_write(&loaded.folder, "x.conf", "[Sampling]\nFrequencyHz=10\n");
	config_folder_write(&loaded.folder, "x.conf.d/20-b.conf", "[Sampling]\nFrequencyHz=20\n");
	config_folder_write(&loaded.folder, "x.conf.d/10-a.conf",
		"[Sampling]\nFrequencyHz=30\nKernelStacks=no\n[Memory]\nMaxBytes=100M\n");
	config_folder_write(&loaded.folder, "x.conf.d/30-c.conf", "[Memory]\nMaxBytes=\n");
	config_folder_write(&loaded.folder, "x.conf.d/40-no.config", "nonsense\n");
	config_folder_write(&loaded.folder, "x.conf.d/.50-hidden.conf", "nonsense\n");
	(void)snprintf(path, sizeof(path), "%s/x.conf.d/60-masked.conf", loaded.folder.path);
	assert_int_equal(symlink("/dev/null", path), 0);
	load(0);
	expect(0, NULL);
	assert_int_equal(loaded.config.frequency_hz, 20);
	assert_false(loaded.config.kernel_stacks);
	assert_int_equal(loaded.config.max_bytes, 64 << 20);
	assert_false(config_is_set(&loaded.config, "Memory", "MaxBytes"));
}

static void every_mistake_is_reported_with_its_line(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf:1", "FrequencyHz: this key belongs to [Sampling]: move it there" },
		{ "/x.conf:2", "Nix: no section before this key" },
		{ "/x.conf:3",
			"[Sampler]: unknown section, all its settings are ignored: use one "
			"of [Sampling], [Memory], [History], [Incidents], [Symbols], [Api], [sink "
			"NAME], [metric NAME]" },
		{ "/x.conf:6", "[Sampling] FrequencyHz: '1e3' is not a frequency" },
		{ "/x.conf:7", "[Sampling] Frequency: unknown key: use one of FrequencyHz, "
			       "KernelStacks, Event, MaxCostPercent" },
		{ "/x.conf:8", "[Sampling] Window: this key belongs to [History]: move it there" },
		{ "/x.conf:9", "not Key=value, [Section] or a comment" },
		{ "/x.conf:10", "section name without ']'" },
		{ "/x.conf:11", "[Sampling] : unknown key" },
		{ "/x.conf:13", "[Api] Listen: 'there' is not an address" },
		{ "/x.conf.d/a.conf:2", "[Memory] MaxBytes: '64 MiB' is not a number of bytes" },
		{ "/x.conf.d/b.conf", "broken symbolic link" },
	};
	char path[256];

	config_folder_write(&loaded.folder, "x.conf",
		"FrequencyHz=1\nNix=1\n[Sampler]\nFrequencyHz=1\n[Sampling]\nFrequencyHz=1e3\n"
		"Frequency=1\nWindow=1s\nno equals sign\n[Memory\n=1\n[Api]\n"
		"Listen=127.0.0.1:1 there [::1]:2\n");
	config_folder_write(&loaded.folder, "x.conf.d/a.conf", "[Memory]\nMaxBytes=64 MiB");
	(void)snprintf(path, sizeof(path), "%s/x.conf.d/b.conf", loaded.folder.path);
	assert_int_equal(symlink("nowhere", path), 0);
	load(0);
	expect(ARRAY_SIZE(expected), expected);
	assert_int_equal(loaded.config.frequency_hz, 99);
	assert_int_equal(loaded.config.listen.count, 2);
}

static void contradicting_keys_are_reported(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf:2", "[Memory] JitBytes: JitBytes is more than half of MaxBytes" },
		{ "/x.conf:5", "[History] TenMinutesAfter: TenMinutesAfter is not longer" },
		{ "/x.conf:6", "[History] MaxAge: MaxAge is shorter than MinuteAfter" },
		{ "/x.conf:8", "[Api] Group: no group 'no-such-group-here'" },
	};

	load_text("[Memory]\nJitBytes=40M\n[History]\nMinuteAfter=3d\nTenMinutesAfter=3d\n"
		  "MaxAge=1d\n[Api]\nGroup=no-such-group-here\n");
	expect(ARRAY_SIZE(expected), expected);
}

static void damaged_files_are_reported(void **state)
{
	static const char *const lines[][2] = {
		{ "/x.conf:2", "line contains a NUL byte" },
		{ "/x.conf:3", "line too long" },
		{ "/x.conf:5", "'1\xEF\xBF\xBD\xEF\xBF\xBD' is not a frequency" },
	};
	static const char *const no_file[][2] = { { "/x.conf", "not a regular file" } };
	static const char *const too_large[][2] = { { "/x.conf",
		"file larger than 1048576 bytes" } };
	size_t size = (1 << 20) + 1, used;
	char *bytes = calloc(1, size);

	assert_non_null(bytes);
	used = (size_t)sprintf(bytes, "[Sampling]\nFrequencyHz=1%cHz\nEvent=", 0);
	memset(bytes + used, 'x', 5000);
	used += 5000;
	used += (size_t)sprintf(bytes + used, "\nKernelStacks=no\nFrequencyHz=1\xff\x1b\n");
	config_folder_write_bytes(&loaded.folder, "x.conf", bytes, used);
	load(0);
	expect(ARRAY_SIZE(lines), lines);
	assert_false(loaded.config.kernel_stacks);

	config_folder_write_bytes(&loaded.folder, "x.conf", bytes, size);
	load(0);
	expect(1, too_large);

	assert_int_equal(unlink(loaded.folder.file), 0);
	assert_int_equal(mkfifo(loaded.folder.file, 0600), 0);
	load(0);
	expect(1, no_file);
	free(bytes);
}

static void unreadable_files_are_reported(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf", "cannot read this file: Permission denied" },
		{ "/x.conf.d", "cannot read this directory: Permission denied" }
	};
	char folder[128];

	if (geteuid() == 0 && (chown(loaded.folder.path, 65534, 65534) < 0 || seteuid(65534) < 0)) {
		print_message("skipped: root reads everything, and cannot become another user\n");
		skip();
	}
	config_folder_write(&loaded.folder, "x.conf", "");
	config_folder_write(&loaded.folder, "x.conf.d/a.conf", "");
	(void)snprintf(folder, sizeof(folder), "%s/x.conf.d", loaded.folder.path);
	assert_int_equal(chmod(loaded.folder.file, 0), 0);
	assert_int_equal(chmod(folder, 0), 0);
	load(0);
	expect(2, expected);
	assert_int_equal(chmod(folder, 0700), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void problems_are_bounded_and_counted(void **state)
{
	enum { LINES = 5000 };
	static char text[LINES * 2 + 1];

	for (size_t i = 0; i < LINES; i++)
		memcpy(text + i * 2, "x\n", 2);
	load_text(text);
	assert_int_equal(loaded.problems.count, CONFIG_PROBLEMS_MAX);
	assert_int_equal(loaded.problems.all, LINES);
}

static int refuse_much(const struct config *config, struct fault *fault)
{
	return config->frequency_hz > 100 ? fault_set(fault, -EDOM, "that is much") : 0;
}

static void checking_reports_all_problems(void **state)
{
	struct output_memory memory = { .limit_bytes = 1 << 20 };
	struct output *output = malloc(sizeof(*output));

	assert_non_null(output);
	config_folder_write(&loaded.folder, "x.conf", "[Sampling]\nFrequencyHz=0\nEvent=none\n");
	output_init(output, output_to_memory, &memory);
	assert_int_equal(
		config_check(loaded.folder.file, CONFIG_MUST_EXIST, refuse_much, output), -EINVAL);
	assert_int_equal(config_check("/tmp/no/such/file.conf", 0, refuse_much, output), 0);
	config_folder_write(&loaded.folder, "x.conf", "[Sampling]\nFrequencyHz=500\n");
	assert_int_equal(config_check(loaded.folder.file, 0, refuse_much, output), -EINVAL);
	output_char(output, '\0');
	assert_int_equal(output_finish(output), 0);
	assert_non_null(
		strstr(memory.bytes, "x.conf:2: [Sampling] FrequencyHz: '0' is out of range"));
	assert_non_null(strstr(memory.bytes, "x.conf:3: [Sampling] Event: 'none'"));
	assert_non_null(strstr(memory.bytes, "x.conf: 2 problems\n"));
	assert_non_null(strstr(memory.bytes, "x.conf: that is much\n"));
	assert_non_null(strstr(memory.bytes, "x.conf: 1 problem\n"));
	assert_non_null(strstr(memory.bytes, "/tmp/no/such/file.conf: no problems\n"));
	free(memory.bytes);
	free(output);
}

static void each_sink_has_a_section(void **state)
{
	const struct config_sink *sink = loaded.config.sinks;

	load_text("[sink bucket]\nInterval=2min\nLabels=service\n[sink other_1]\n[Api]\nListen=\n");
	config_folder_write(&loaded.folder, "x.conf.d/a.conf",
		"[sink third]\n[sink bucket]\nInterval=\nMaxAge=1d\n");
	load(0);
	expect(0, NULL);
	assert_int_equal(loaded.config.sink_count, 3);
	assert_string_equal(sink[0].name, "bucket");
	assert_string_equal(sink[1].name, "other_1");
	assert_string_equal(sink[2].name, "third");
	assert_string_equal(sink[0].type, "pprof");
	assert_string_equal(sink[0].labels, "service");
	assert_string_equal(sink[1].labels, "all");
	assert_int_equal(sink[0].interval_ns, 60000000000);
	assert_int_equal(sink[0].name_wait_ns, 30000000000);
	assert_int_equal(sink[0].max_bytes, 256 << 20);
	assert_int_equal(sink[0].max_age_ns, 86400000000000);
	assert_int_equal(sink[1].max_age_ns, 7 * 86400000000000);
}

static void mistakes_in_sinks_are_reported(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf:1", "[sink]: not the name of a sink, all its settings are ignored: "
			       "write [sink NAME] with up to 31 letters" },
		{ "/x.conf:3", "[sink a/b]: not the name of a sink" },
		{ "/x.conf:4", "[sink  a]: not the name of a sink" },
		{ "/x.conf:5", "[sink abcdefghijklmnopqrstuvwxyz123456]: not the name of a sink" },
		{ "/x.conf:6", "[sinks]: unknown section" },
		{ "/x.conf:8", "[sink a] Type: 'carrier-pigeon' is not a valid choice: write one "
			       "of pprof" },
		{ "/x.conf:9", "[sink a] Interval: '6min' is out of range" },
		{ "/x.conf:10",
			"[sink a] Uri: unknown key: use one of Type, Url, Interval, NameWait, "
			"Labels, MaxBytes, MaxAge, SampleHosts, Label, Header, TokenFile, " },
		{ "/x.conf:11", "[sink a] Window: this key belongs to [History]: move it there" },
		{ "/x.conf:12", "not Key=value" },
		{ "/x.conf.d/a.conf:8", "[sink i]: too many sinks, all its settings are ignored: "
					"have at most 8" },
	};
	static const char *const without_history[][2] = { { "/x.conf:2",
		"[History] Enabled: sinks take their profiles from the history" } };

	load_text("[sink]\nInterval=1min\n[sink a/b]\n[sink  a]\n"
		  "[sink abcdefghijklmnopqrstuvwxyz123456]\n[sinks]\n[sink a]\n"
		  "Type=carrier-pigeon\nInterval=6min\nUri=x\nWindow=1s\nnothing\n");
	config_folder_write(&loaded.folder, "x.conf.d/a.conf",
		"[sink b]\n[sink c]\n[sink d]\n[sink e]\n[sink f]\n[sink g]\n[sink h]\n"
		"[sink i]\nInterval=1min\n");
	load(0);
	expect(ARRAY_SIZE(expected), expected);
	assert_int_equal(loaded.config.sink_count, 8);
	assert_int_equal(unlink(loaded.folder.file), 0);
	config_folder_write(&loaded.folder, "x.conf.d/a.conf", "");
	load_text("[History]\nEnabled=no\n[sink a]\n");
	expect(1, without_history);
}

static void each_metric_has_a_section(void **state)
{
	const struct config_metric *metric = loaded.config.metrics;

	load_text("[metric regex]\nSelect=unit:nginx.service comm:worker*\nFunction=^std::.*regex\n"
		  "Count=self\nBy=unit\nMaxSeries=5\n[metric all]\n[sink all]\n");
	expect(0, NULL);
	assert_int_equal(loaded.config.metric_count, 2);
	assert_int_equal(loaded.config.sink_count, 1);
	assert_string_equal(metric[0].name, "regex");
	assert_int_equal(metric[0].select.count, 2);
	assert_string_equal(metric[0].select.items[1], "comm:worker*");
	assert_string_equal(metric[0].function, "^std::.*regex");
	assert_string_equal(metric[0].count, "self");
	assert_string_equal(metric[0].by, "unit");
	assert_int_equal(metric[0].series_max, 5);
	assert_string_equal(metric[1].function, "");
	assert_string_equal(metric[1].count, "total");
	assert_string_equal(metric[1].by, "none");
	assert_int_equal(metric[1].series_max, 20);
}

static void mistakes_in_metrics_are_reported(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf:1", "[metric a b]: not the name of a metric" },
		{ "/x.conf:3", "[metric a] Function: 'regex(' is not a regular expression: at "
			       "character 6: " },
		{ "/x.conf:4", "[metric a] Select: 'nginx' is not a selection: write what and a "
			       "value, such as unit:nginx.service" },
		{ "/x.conf:5", "[metric a] Select: 'pid:1' is not a selection: \"pid\" does not "
			       "select here: use unit" },
		{ "/x.conf:6", "[metric a] Type: unknown key: use one of Select, Function, Count, "
			       "By, MaxSeries" },
		{ "/x.conf:7", "[metric a] By: 'colour' is not a valid choice" },
	};
	static const char *const without_history[][2] = { { "/x.conf:2",
		"[History] Enabled: metrics are measured in the history" } };
	static const char *const too_long[][2] = { { "/x.conf:39", "[metric m12]: the selections "
								   "and patterns of all metrics "
								   "are too long together" } };
	char text[16384] = "";

	load_text("[metric a b]\n[metric a]\nFunction=regex(\nSelect=nginx\nSelect=pid:1\nType=x\n"
		  "By=colour\n");
	expect(ARRAY_SIZE(expected), expected);
	load_text("[History]\nEnabled=no\n[metric a]\n");
	expect(1, without_history);
	for (int i = 0; i < 16; i++)
		(void)sprintf(text + strlen(text),
			"[metric m%d]\nFunction=%0250d\nSelect=unit:%0500d\n", i, 0, 0);
	load_text(text);
	expect(1, too_long);
}

static void sinks_that_are_sent_have_a_receiver(void **state)
{
	static const char *const expected[][2] = {
		{ "/x.conf:3", "[sink a] Url: 'ftp://x' is not the address of a receiver" },
		{ "/x.conf:4", "[sink a] Url: 'https://x/?q' is not the address of a receiver" },
		{ "/x.conf:5", "[sink a] Header: 'no colon' is not a header: write Name: value" },
		{ "/x.conf:6", "[sink a] Header: 'a b: c' is not a header" },
		{ "/x.conf:7", "[sink a] Label: 'x' is not a label: write name=value" },
		{ "/x.conf:7", "[sink a] Label: 'x=a,b' has a value with a comma" },
		{ "/x.conf:7", "[sink a] Label: 'host.name=x' is set by the service" },
		{ "/x.conf:8", "[sink a] TokenFile: 'a/b' is neither an absolute path" },
		{ "/x.conf:2", "[sink a] Url: Type=otlp needs it: write the address" },
		{ "/x.conf:9", "[sink a] KeyFile: there is no certificate for it" },
		{ "/x.conf:13", "[sink b] Labels: samples of Type=parca have no labels" },
	};
	const struct config_sink *sink = loaded.config.sinks;

	load_text("[sink a]\nType=otlp\nUrl=ftp://x\nUrl=https://x/?q\nHeader=no colon\n"
		  "Header=a b: c\nLabel=x x=a,b host.name=x\nTokenFile=a/b\nKeyFile=/k\n"
		  "[sink b]\nType=parca\nUrl=http://x\nLabels=service\n"
		  "[sink c]\nType=pyroscope\nUrl=http://x\nLabels=service\n");
	expect(ARRAY_SIZE(expected), expected);
	load_text("[sink a]\nType=otlp\nUrl=https://x:4318/p/\nHeader=X-Scope-OrgID: team one\n"
		  "Header=b: c\nLabel=tier=1 zone=ü\nLabel=k8s.cluster=c\nTimeout=5s\n"
		  "TokenFile=token\nProfilesVersion=0\n");
	expect(0, NULL);
	assert_string_equal(sink->url, "https://x:4318/p/");
	assert_int_equal(sink->headers.count, 2);
	assert_string_equal(sink->headers.items[0], "X-Scope-OrgID: team one");
	assert_int_equal(sink->attributes.count, 3);
	assert_string_equal(sink->attributes.items[1], "zone=ü");
	assert_string_equal(sink->token_file, "token");
	assert_int_equal(sink->timeout_ns, 5000000000);
	assert_int_equal(sink->profiles_version, 0);
}

static void failing_allocations_leave_nothing(void **state)
{
	config_folder_write(&loaded.folder, "x.conf",
		"[Sampling]\nEvent=cycles\nFrequencyHz=x\n[Symbols]\nDebuginfodUrls=http://a "
		"http://b\n[sink a]\nLabels=all\n[metric a]\nSelect=unit:a\nFunction=a\n");
	config_folder_write(&loaded.folder, "x.conf.d/a.conf", "[Sampling]\nEvent=auto\n");
	assert_true(FAIL_EACH_ALLOCATION(config_load(loaded.folder.file, CONFIG_MUST_EXIST,
						 &loaded.config, &loaded.problems),
			    -ENOMEM, true, 0) >= 10);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(without_a_file_every_key_has_its_default),
		WITH_FOLDER(a_file_is_read),
		WITH_FOLDER(drop_ins_follow_by_name),
		WITH_FOLDER(every_mistake_is_reported_with_its_line),
		WITH_FOLDER(contradicting_keys_are_reported),
		WITH_FOLDER(damaged_files_are_reported),
		WITH_FOLDER(unreadable_files_are_reported),
		WITH_FOLDER(problems_are_bounded_and_counted),
		WITH_FOLDER(checking_reports_all_problems),
		WITH_FOLDER(each_sink_has_a_section),
		WITH_FOLDER(mistakes_in_sinks_are_reported),
		WITH_FOLDER(each_metric_has_a_section),
		WITH_FOLDER(mistakes_in_metrics_are_reported),
		WITH_FOLDER(sinks_that_are_sent_have_a_receiver),
		WITH_FOLDER(failing_allocations_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

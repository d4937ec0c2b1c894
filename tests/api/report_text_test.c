/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/api/report_fixture.h"

static char *text_of(const struct report *report)
{
	char *text = write_report(report_write_text, report);

	for (const char *line = text; *line;) {
		size_t size = strcspn(line, "\n"), columns = 0;

		for (size_t i = 0; i < size; i++) {
			columns += ((unsigned char)line[i] & 0xc0) != 0x80;
			assert_true((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
		}
		if (columns > 80)
			fail_msg("%zu columns: '%.*s'", columns, (int)size, line);
		if (size > 0)
			assert_true(line[size - 1] != ' ');
		assert_int_equal(line[size], '\n');
		line += size + 1;
	}
	return text;
}

static void a_service_that_is_well_says_so(void **state)
{
	static const char expected[] =
		"pilotlight 0.1.0, running for 3d, since 2026-11-17 03:09:59\n"
		"No problems.\n"
		"\n"
		"  Sampling   99 Hz on 4 online of 8 CPUs by cycles; windows of 10s\n"
		"  Cost       0.081% of all CPU time in the last minute, limit 0.150%\n"
		"             183.9 s since the start: BPF 120.5, engine 60.2, broker and workers\n"
		"             3.1\n"
		"  Memory     43.0 MiB, limit 64.0 MiB: maps 17.0 MiB, side-band 2.0 MiB, engine\n"
		"             19.0 MiB\n"
		"  History    2d 23h, from 2026-11-17 03:10:00 to 2026-11-20 03:09:56\n"
		"             412 MiB, limit 1.0 GiB, 12,345 windows in 4 days\n"
		"  Samples    800,000 since the start, none lost\n"
		"  Names      815 binaries requested: 5 pending, 9 failed\n"
		"             symbol cache: 120 MiB, limit 2.0 GiB, 813 binaries\n"
		"  Processes  311 with 4,711 executable mappings\n"
		"  Queries    14 answered, 15 failed; 1 running, 12 waiting\n";
	struct report report;
	char *text;

	fill_report(&report);
	text = text_of(&report);
	assert_string_equal(text, expected);
	free(text);
}

static void other_sources_are_times(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_sources(&report.service);
	text = text_of(&report);
	EXPECT_PARTS(text, "The event lock is on, but cannot be sampled: the kernel lacks it.",
		"\n  Samples    800,000 since the start, none lost\n",
		"  Off CPU    2h 5min since the start, none lost; samples of 10ms\n",
		"  Run queue  10s since the start, 2.0% lost; samples of 2ms\n",
		"  Faults     1,266,000 faults since the start, 0.500% lost; samples of 211\n"
		"             faults\n",
		"  Event      sched:sched_process_exec: 231 events since the start, none lost;\n"
		"             samples of 3 events\n",
		"  Names      815 binaries");
	free(text);
}

static void what_became_of_memory_that_lived_is_shown(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_live(&report.service);
	text = text_of(&report);
	EXPECT_PARTS(text,
		"  kmem:live  0 B since the start, none lost; samples of 64.0 KiB\n"
		"             samples: 1,000 freed, 2 whose address was allocated again, 3\n"
		"             expired, 4 thinned out, 5 left out for lack of room\n");
	free(text);
	report.service.live[PILOTLIGHT_SOURCE_KMEM_LIVE] = (struct live_counters){ .added = 1 };
	text = text_of(&report);
	EXPECT_PARTS(text, "samples of 64.0 KiB\n  Names");
	free(text);
}

static void surveys_are_told(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_surveyed(&report.service);
	text = text_of(&report);
	EXPECT_PARTS(text,
		"  Off CPU    2h since the start, none lost; samples of 1s, by surveys\n",
		"  Run queue  10s since the start, 2.0% lost; samples of 2ms\n");
	free(text);
}

static void sinks_are_shown(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	fill_sinks(&report.service);
	text = text_of(&report);
	EXPECT_PARTS(text,
		"Problems:\n  ! The sink other fails: cannot write to its\xEF\xBF\xBD folder: No "
		"space left on device\n",
		"  Sinks      bucket (pprof): 1 file of 1.5 MiB, until 2026-11-20 03:09:58\n"
		"             other (otlp): 34 files of 0.0 MiB, 35 batches sent, held; 37\n"
		"             profiles rejected; 1s 500ms became too old to push; 1min in batches\n"
		"             that were too large; 2min not pushed, since the clock was set back;\n"
		"             3min deleted to make room; 4min deleted for their age; 5min in\n"
		"             batches that the receiver refused; 6min too large for the receiver;\n"
		"             7min left to other hosts, as SampleHosts= says\n"
		"  Samples");
	free(text);
}

static void a_choice_of_cgroups_is_told(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	assert_int_equal(cgroup_choice_add(&report.service.choice, "unit:a", false, NULL), 0);
	assert_int_equal(cgroup_choice_add(&report.service.choice, "unit:b*", true, NULL), 0);
	assert_int_equal(cgroup_choice_add(&report.service.choice, "cgroup:/c", false, NULL), 0);
	text = text_of(&report);
	EXPECT_PARTS(text, "\n  Only       unit:a.service cgroup:/c\n  Excluded   unit:b*\n");
	free(text);
}

static void problems_come_first(void **state)
{
	struct report report;
	struct service_status *s = &report.service;
	char *text;

	fill_report(&report);
	s->is_history_failing = true;
	(void)snprintf(s->history_fault, sizeof(s->history_fault),
		"'/var/lib/pilotlight/history/2026-11-20.db' cannot be written: No space left on "
		"device\x1b[31m");
	s->last_window.dropped[PILOTLIGHT_DROP_RING_FULL] = 1000;
	s->last_window.stored[PILOTLIGHT_PATH_MAP] = 3000;
	s->memory_bytes = 75 << 20;
	s->answer_bytes = 5 << 20;
	s->cost_ppm = 2000;
	s->drain_lag_ns = 25000000000;
	s->is_config_refused = true;
	text = text_of(&report);
	assert_null(strstr(text, "No problems"));
	EXPECT_PARTS(text,
		"\nProblems:\n  ! The configuration was not reloaded, as it has a mistake;",
		"  ! The history cannot be written:", "No space left on device\xef\xbf\xbd[31m\n",
		"  ! 25.0% of the last window's samples were lost, most for this reason: ring\n"
		"    full; samples came faster than the engine reads them: lower FrequencyHz,\n"
		"    sample fewer sources, or raise MaxBytes in [Memory].\n",
		"  ! Memory is over budget: 70.0 MiB used, limit 64.0 MiB.\n",
		"  ! CPU cost is over budget: 0.200% of the machine's CPU time, limit 0.150%;\n"
		"    most of it since the start was taking samples:",
		"  ! Reading samples is 25s late: the machine");
	free(text);
}

static void a_history_that_lags_is_wrong(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	report.service.sealed_until_ns = REPORT_NOW_NS - 30000000000;
	text = text_of(&report);
	EXPECT_PARTS(text, "No problems.\n");
	free(text);
	report.service.sealed_until_ns = REPORT_NOW_NS - 90000000000;
	text = text_of(&report);
	EXPECT_PARTS(text,
		"  ! No window was added to the history for 1min 30s (window length: 10 s).\n");
	free(text);
	/* One that was only just started has not had the time. */
	report.service.sealed_until_ns = 0;
	report.service.started_ns = REPORT_NOW_NS - 5000000000;
	/* Nor is what the start costs what it goes on to cost. */
	report.service.cost_ppm = 120000;
	text = text_of(&report);
	EXPECT_PARTS(text, "\nNo problems so far. The cost is over its limit, as it includes");
	free(text);
}

/* Losses that ended are a problem as long as queries show them, whatever was sampled. */
static void losses_since_the_start_are_problems(void **state)
{
	struct report report;
	struct service_status *s = &report.service;
	char *text;

	fill_report(&report);
	fill_sources(s);
	s->wanted_sources = s->sources;
	s->by_source.of[PILOTLIGHT_SOURCE_OFFCPU].dropped[PILOTLIGHT_DROP_UNREAD] = 8000;
	s->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 100;
	s->accounts.dropped[PILOTLIGHT_DROP_PROFILE_FULL] = 1000000;
	text = text_of(&report);
	assert_null(strstr(text, "No problems"));
	EXPECT_PARTS(text, "\nProblems:\n  ! 55.6% of all samples since the start were lost, most",
		"profile full;", "raise MaxBytes", "  ! 1.1% of the time off CPU since",
		"  ! 2.0% of the time waiting for a CPU since the start was lost, most");
	free(text);
	s->accounts.dropped[PILOTLIGHT_DROP_PROFILE_FULL] = 0;
	s->lost_by_engines = 10000;
	s->sources = 1;
	s->broker_cpu_ns = 4 * s->bpf_ns;
	s->cost_ppm = 39000;
	text = text_of(&report);
	EXPECT_PARTS(text, "\nProblems:\n  ! 1.2% of all samples since the start were lost, most",
		"engine\n    killed; an engine was killed or restarted: journalctl -u",
		"  ! CPU cost is over budget: 3.900% of the machine's CPU time,",
		"was for reading programs' symbols");
	assert_null(strstr(text, "off CPU"));
	free(text);
}

static void losses_are_listed_by_reason(void **state)
{
	struct report report;
	struct accounts *accounts = &report.service.accounts;
	char *text;

	fill_report(&report);
	accounts->dropped[PILOTLIGHT_DROP_RING_FULL] = 1500;
	accounts->dropped[PILOTLIGHT_DROP_MALFORMED] = 1;
	report.service.lost_by_engines = 499;
	text = text_of(&report);
	EXPECT_PARTS(text, "  Samples    802,000 since the start, 2,000 of them lost, 0.249%\n"
			   "             ring full: 1,500, 0.187%\n"
			   "             malformed: 1, < 0.001%\n"
			   "             engine killed: 499, 0.062%\n");
	assert_null(strstr(text, "idle"));
	assert_null(strstr(text, "unread"));
	free(text);
}

static void a_lowered_rate_is_explained(void **state)
{
	struct report report;
	char *text;

	fill_report(&report);
	report.service.rate_hz = 49;
	report.service.engine_starts = 3;
	report.service.online_cpu_count = report.service.cpu_count = 1;
	text = text_of(&report);
	EXPECT_PARTS(text, "No problems.\n\n  Engine     started 3 times, see the journal; ",
		"  Sampling   49 Hz on 1 CPU by cycles; windows of 10s\n",
		"             99 Hz are configured: lowered to keep the CPU cost in budget\n");
	free(text);
}

static void the_greatest_jit_processes_are_named(void **state)
{
	struct report report;
	struct service_status *s = &report.service;
	char *text;

	fill_report(&report);
	s->interpreted_samples = 500;
	s->interpreted_frames = 4000;
	s->interpreted_nameless = 4;
	s->interpreted_codes = 1200;
	s->interpreted_bytes = 300 << 10;
	s->jit_samples = 2000;
	s->jit_leaves_unknown = 3;
	user_excess_add(&s->excess, 1000, USER_WINDOW, 1500);
	user_excess_add(&s->excess, 1001, USER_HISTORY, 7);
	s->jit_processes = 100;
	s->jit_count = SERVICE_STATUS_JIT_MAX;
	for (uint32_t i = 0; i < SERVICE_STATUS_JIT_MAX; i++) {
		struct service_status_jit *jit = &s->jit[i];

		*jit = (struct service_status_jit){ .pid = 100 + i, .symbols = 10 * i, .bytes = i };
		memset(jit->comm, 'j', sizeof(jit->comm));
		memcpy(jit->kind, "jitdump", 8);
		memcpy(jit->runtime, "V8", 3);
	}
	s->jit[7].symbols = 1234567;
	s->jit[7].runtime[0] = '\0';
	text = text_of(&report);
	EXPECT_PARTS(text,
		"  Runtimes   500 samples with frames of Python, JavaScript, Ruby, Java, PHP or\n"
		"             Perl, 0.100% of the frames without a name; 1,200 functions in 300\n"
		"             KiB\n"
		"  JIT        2,000 samples, 0.150% of them without a name\n"
		"             jjjjjjjjjjjjjjjj (pid 107): jitdump, 1,234,567 symbols in 7 B\n"
		"             jjjjjjjjjjjjjjjj (pid 163): jitdump of V8, 630 symbols in 63 B\n",
		"(pid 160)", "             and 95 more processes\n",
		"  Over quota user 1000: samples beyond its share: 1,500 of a window, 0 of a day\n"
		"             user 1001: samples beyond its share: 0 of a window, 7 of a day\n");
	assert_null(strstr(text, "(pid 159)"));
	free(text);
}

static void missing_facts_have_words(void **state)
{
	struct report report = { 0 };
	char *text;

	text = text_of(&report);
	EXPECT_PARTS(text, "  History    disabled\n",
		"not measured yet, limit 0.000% of all CPU time", "0 since the start, none lost");
	free(text);
	report.service.has_history = true;
	memset(report.service.history_fault, 'x', sizeof(report.service.history_fault));
	memset(report.service.history_fault + 50, ' ', 1);
	memset(report.service.history_fault + 110, ' ', 1);
	report.service.windows_dropped = 3;
	report.service.untimed[STORE_UNTIMED_TOO_LARGE] = 2;
	report.service.processes_refused = 4;
	report.service.sideband_lost = 5;
	report.service.threads_refused = 6;
	text = text_of(&report);
	EXPECT_PARTS(text, "  History    nothing yet\n", "last error: xxxx",
		"3 windows could not be written since the start",
		"2 samples lost their time since the start: too many in a window",
		"4 more not tracked: the table is full",
		"6 times a thread had no room, and its waits are not sampled",
		"5 records of the side-band were lost");
	free(text);
}

static char *users_of(const struct report *report)
{
	struct output_memory memory = { .limit_bytes = 1 << 20 };
	struct output output;

	output_init(&output, output_to_memory, &memory);
	report_write_users(report, &output);
	output_char(&output, '\0');
	assert_int_equal(output_finish(&output), 0);
	return memory.bytes;
}

static void users_are_listed_with_what_they_hold_and_lack(void **state)
{
	struct user_share binaries = { .capacity = 1000 }, names = { .capacity = 10 << 20 };
	struct report report;
	struct service_status *s = &report.service;
	char *text;

	fill_report(&report);
	text = users_of(&report);
	assert_string_equal(text, "");
	free(text);
	user_share_add(&binaries, 1000, 123);
	user_share_add(&names, 1000, 5 << 20);
	user_holdings_add(&s->holdings, USER_BINARIES, &binaries);
	user_holdings_add(&s->holdings, USER_JIT, &names);
	user_excess_add(&s->excess, 1000, USER_BINARIES, 1500);
	user_excess_add(&s->excess, 0x1a2b3c4dULL << 32, USER_WINDOW, 7);
	text = users_of(&report);
	assert_string_equal(text,
		"user 1000\n"
		"  Binaries   123, 12.3% of the room; 1,500 lookups refused\n"
		"  JIT names  5.0 MiB, 50.0% of the room\n"
		"container 1a2b3c4d\n"
		"  Window     0 B, 0.000% of the room; 7 samples without names\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_that_is_well_says_so),
		cmocka_unit_test(other_sources_are_times),
		cmocka_unit_test(what_became_of_memory_that_lived_is_shown),
		cmocka_unit_test(surveys_are_told),
		cmocka_unit_test(sinks_are_shown),
		cmocka_unit_test(a_choice_of_cgroups_is_told),
		cmocka_unit_test(problems_come_first),
		cmocka_unit_test(a_history_that_lags_is_wrong),
		cmocka_unit_test(losses_since_the_start_are_problems),
		cmocka_unit_test(losses_are_listed_by_reason),
		cmocka_unit_test(a_lowered_rate_is_explained),
		cmocka_unit_test(the_greatest_jit_processes_are_named),
		cmocka_unit_test(users_are_listed_with_what_they_hold_and_lack),
		cmocka_unit_test(missing_facts_have_words),
	};

	if (setenv("TZ", "UTC", 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

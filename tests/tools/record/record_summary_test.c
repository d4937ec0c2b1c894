/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "tests/render/example_profile.h"
#include "tools/record/record_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CPU = PILOTLIGHT_SOURCE_CPU, OFFCPU = PILOTLIGHT_SOURCE_OFFCPU };

static struct pipeline_report make_report(void)
{
	struct pipeline_report report = {
		.capture = { .program_runs = 100, .program_ns = 2000000 },
		.elapsed_ns = 1000000000,
	};

	report.resolver.cuts[CPU][RESOLVER_CUT_NO_TABLE] = 4321;
	report.resolver.cuts[OFFCPU][RESOLVER_CUT_BLOCKED] = 15527067;
	report.accounts.of[CPU].walked[PILOTLIGHT_WALKER_TABLES] = 1886;
	report.accounts.of[OFFCPU].walked[PILOTLIGHT_WALKER_TABLES] = 2500;
	report.accounts.of[OFFCPU].ends[PILOTLIGHT_WALK_ROOT] = 2000;
	report.jit_samples = (struct late_counters){ .samples = 105, .frames = 200 };
	return report;
}

/* Without time off CPU if `offcpu` is NULL. */
static void expect_lines(const struct profile *cpu, const struct profile *offcpu,
	const char *const *lines, size_t count)
{
	const struct profile *const sampled[PILOTLIGHT_SOURCES] = {
		[CPU] = cpu, [OFFCPU] = offcpu
	};
	const struct pipeline_report report = make_report();
	const struct record_cost cost = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_int_equal(record_summary_print(file, cpu, sampled, &report, &cost), 0);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < count; i++)
		if (!strstr(text, lines[i]))
			fail_msg("no '%s' in:\n%s", lines[i], text);
	assert_int_equal(strstr(text, "offcpu") != NULL, offcpu != NULL);
}

static void cpu_time_is_told_in_samples(void **state)
{
	static const char *const lines[] = {
		"lost       ring full 12, profile full 3; stacks cut short: no unwind table 4321\n",
		"stacks     1886 walked by unwind tables (0.0 % to the root), 0 by frame "
		"pointers\n",
		/* No share of nothing. */
		"JIT code   105 samples with JIT frames, 0 in JIT code\n",
		"cost       BPF 20.0 us a sample, 2.0 ms in all; ",
	};
	_cleanup_(profile_freep) struct profile *cpu = example_machine(false);

	expect_lines(cpu, NULL, lines, 3);
}

/* A number of periods tells nothing, and the BPF programs of other sources run without a sample. */
static void time_off_cpu_is_told_in_time(void **state)
{
	static const char *const lines[] = {
		"lost       ring full 12, profile full 3; stacks cut short: no unwind table 4321\n"
		"           offcpu: ring full 12.000 ms, profile full 3.000 ms; stacks cut short: "
		"still blocked 15,527.067 s\n",
		"stacks     1886 walked by unwind tables (0.0 % to the root), 0 by frame pointers\n"
		"           offcpu: 2.500 s walked by unwind tables (80.0 % to the root), 0.000 ms "
		"by "
		"frame pointers\n",
		"cost       BPF 2.0 ms in all; ",
		" lost; 12 times a thread not sampled for lack of room\n",
		"\ntimes      3 of samples left out for lack of room\n",
	};
	_cleanup_(profile_freep) struct profile *cpu = example_machine(false);
	_cleanup_(profile_freep) struct profile *offcpu = example_machine(false);

	assert_int_equal(profile_add_string(offcpu, "offcpu", &offcpu->event), 0);
	offcpu->period_ns = 1000000;
	offcpu->accounts.events[PILOTLIGHT_EVENT_THREAD_REFUSED] = 12;
	cpu->times_left_out = 1;
	offcpu->times_left_out = 2;
	expect_lines(cpu, offcpu, lines, 5);
}

/* What lives has lost samples that its profile does not have. */
static void allocations_that_do_not_show_are_told(void **state)
{
	enum { LIVE = PILOTLIGHT_SOURCE_HEAP_LIVE };
	_cleanup_(profile_freep) struct profile *cpu = example_machine(false);
	const struct profile *const sampled[PILOTLIGHT_SOURCES] = { [CPU] = cpu, [LIVE] = cpu };
	struct pipeline_report report = make_report();
	const struct record_cost cost = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	report.live[LIVE] = (struct live_counters){
		.thinned = 5,
		.expired = 1,
		.replaced = 2,
		.refused = 4,
		.refused_periods = 64,
	};
	report.capture.allocator_calls_lost = 7;
	report.accounts.of[LIVE].dropped[PILOTLIGHT_DROP_RING_FULL] = 91;
	assert_int_equal(record_summary_print(file, cpu, sampled, &report, &cost), 0);
	assert_int_equal(fclose(file), 0);
	if (!strstr(text,
		    " 91 lost; 5 allocations thinned out, others stand for them; 1 expired "
		    "after a day; 4 left out for lack of room, which stand for 64 periods\n") ||
		!strstr(text, "; 7 calls of allocators whose return was not seen\n") ||
		!strstr(text, "\n           cpu-clock: ring full 91\n"))
		fail_msg("%s", text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_is_told_in_samples),
		cmocka_unit_test(time_off_cpu_is_told_in_time),
		cmocka_unit_test(allocations_that_do_not_show_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What drives the sampler if the kernel refuses a source, for good or temporarily. */
#include "capture/cpu_events.h"
#include "tests/capture/made_up_events.h"
#include "tests/harness/failing_allocation.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static int attach_error;
static size_t attached[MADE_UP_CPUS]; /* events, by CPU */

struct bpf_link {
	int fd;
	uint32_t cpu;
};

/* PERF_EVENT_IOC_PERIOD, each time that it is called: does it fail? */
static struct {
	const char *plan; /* 'x': fails; at its end all succeed */
	uint64_t rates[MADE_UP_CPUS];
	uint32_t cpu_of_fd[1024];
} periods;

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;

	assert_int_equal(request, PERF_EVENT_IOC_PERIOD);
	if (*periods.plan && *periods.plan++ == 'x') {
		errno = EINVAL;
		return -1;
	}
	va_start(arguments, request);
	periods.rates[periods.cpu_of_fd[fd]] = *va_arg(arguments, uint64_t *);
	va_end(arguments);
	return 0;
}

static const uint32_t cpus[] = { 0, 1, 2 };
enum { CPUS = sizeof(cpus) / sizeof(cpus[0]) };

struct bpf_link *bpf_program__attach_perf_event(const struct bpf_program *program, int fd)
{
	struct bpf_link *link;

	(void)program;
	if (attach_error) {
		errno = -attach_error;
		return NULL;
	}
	link = malloc(sizeof(*link));
	assert_non_null(link);
	*link = (struct bpf_link){ .fd = fd, .cpu = kernel.cpu };
	attached[kernel.cpu]++;
	periods.cpu_of_fd[fd] = kernel.cpu;
	periods.rates[kernel.cpu] = 1000;
	return link;
}

int bpf_link__destroy(struct bpf_link *link)
{
	attached[link->cpu]--;
	assert_int_equal(close(link->fd), 0);
	free(link);
	return 0;
}

static int set_up(void **state)
{
	struct cpu_events *events;

	memset(&kernel, 0, sizeof(kernel));
	periods.plan = "";
	attach_error = 0;
	assert_int_equal(cpu_events_new(NULL, 1000, NULL, &events), 0);
	*state = events;
	return 0;
}

static int tear_down(void **state)
{
	cpu_events_free(*state);
	for (size_t i = 0; i < MADE_UP_CPUS; i++)
		assert_int_equal(attached[i], 0);
	return 0;
}

static void assert_sampled(size_t first, size_t second, size_t third)
{
	assert_int_equal(attached[0], first);
	assert_int_equal(attached[1], second);
	assert_int_equal(attached[2], third);
}

static void cycles_drive_it_if_available(void **state)
{
	assert_string_equal(cpu_events_name(*state), "");
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cycles");
	assert_sampled(1, 1, 1);
	assert_int_equal(cpu_events_set_cpus(*state, cpus, 2), 0);
	assert_sampled(1, 1, 0);
}

static void precision_is_reported(void **state)
{
	assert_false(cpu_events_are_precise(*state));
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_true(cpu_events_are_precise(*state));
	/* On a machine that lacks nothing else. */
	assert_int_equal(tear_down(state), 0);
	assert_int_equal(set_up(state), 0);
	kernel.precise_error = -EOPNOTSUPP;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cycles");
	assert_false(cpu_events_are_precise(*state));
	/* The clock is never precise, even if all events were before one CPU lacked cycles. */
	assert_int_equal(tear_down(state), 0);
	assert_int_equal(set_up(state), 0);
	assert_int_equal(cpu_events_set_cpus(*state, cpus, 2), 0);
	assert_true(cpu_events_are_precise(*state));
	kernel.cycles_error[2] = -ENOENT;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cpu-clock");
	assert_false(cpu_events_are_precise(*state));
}

static void the_clock_drives_all_if_one_cpu_lacks_cycles(void **state)
{
	static const int errors[] = { -ENOENT, -EOPNOTSUPP, -EINVAL, -EBUSY };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		kernel.cycles_error[2] = errors[i];
		assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
		assert_string_equal(cpu_events_name(*state), "cpu-clock");
		assert_sampled(1, 1, 1);
	}
}

static void without_any_source_it_fails(void **state)
{
	kernel.error[1] = -EOPNOTSUPP;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), -EOPNOTSUPP);
}

static void a_cpu_that_vanishes_is_skipped(void **state)
{
	kernel.error[1] = -ENODEV;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cycles");
	assert_sampled(1, 0, 1);
}

/* Only that CPU has no event while the error lasts. */
static void a_temporary_error_keeps_the_source(void **state)
{
	static const int errors[] = { -ENOMEM, -EMFILE, -ENFILE, -EINTR };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		assert_true(cpu_events_error_passes(errors[i]));
		assert_int_equal(cpu_events_set_cpus(*state, cpus, 1), 0);
		kernel.error[1] = errors[i];
		assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), errors[i]);
		assert_string_equal(cpu_events_name(*state), "cycles");
		assert_sampled(1, 0, 1);
		assert_int_equal(cpu_events_count(*state), 2);
		assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), errors[i]);
		kernel.error[1] = 0;
		assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
		assert_string_equal(cpu_events_name(*state), "cycles");
		assert_sampled(1, 1, 1);
	}
}

static void attaching_may_fail_temporarily(void **state)
{
	attach_error = -EMFILE;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), -EMFILE);
	assert_int_equal(cpu_events_count(*state), 0);
	attach_error = 0;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cycles");
}

/* A permanent refusal on one CPU is not hidden by a temporary error on another. */
static void a_refusal_outranks_a_temporary_error(void **state)
{
	kernel.error[0] = -ENOMEM;
	kernel.cycles_error[1] = -ENOENT;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), -ENOMEM);
	assert_string_equal(cpu_events_name(*state), "cpu-clock");
	assert_sampled(0, 1, 1);
	kernel.error[0] = 0;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_sampled(1, 1, 1);
}

/* By the clocks of the events that there are and were: 1000 a second, so one at each look. */
static void a_cpu_without_an_event_expects_no_samples(void **state)
{
	cpu_events_set_sources(*state, false, true);
	kernel.error[1] = kernel.error[2] = -EMFILE;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), -EMFILE);
	assert_int_equal(cpu_events_expected(*state), 1);
	assert_int_equal(cpu_events_expected(*state), 2);
	kernel.error[1] = 0;
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), -EMFILE); /* looks, too */
	assert_int_equal(cpu_events_expected(*state), 4 + 1);
	assert_int_equal(cpu_events_set_cpus(*state, cpus, 1), 0);
	assert_int_equal(cpu_events_expected(*state), 6 + 2);
	cpu_events_stop(*state);
	assert_int_equal(cpu_events_expected(*state), 7 + 2);
}

static void assert_rates(uint64_t first, uint64_t second, uint64_t third)
{
	assert_int_equal(periods.rates[0], first);
	assert_int_equal(periods.rates[1], second);
	assert_int_equal(periods.rates[2], third);
}

static void all_events_have_one_rate(void **state)
{
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(cpu_events_set_rate(*state, 0), -EINVAL);
	assert_int_equal(cpu_events_set_rate(*state, 500), 0);
	assert_int_equal(cpu_events_rate_hz(*state), 500);
	assert_rates(500, 500, 500);
	periods.plan = "..x";
	assert_int_equal(cpu_events_set_rate(*state, 100), -EINVAL);
	assert_int_equal(cpu_events_rate_hz(*state), 500);
	assert_rates(500, 500, 500);
	assert_sampled(1, 1, 1);
}

/* The kernel refuses the new rate, and then the old one. */
static void an_event_at_another_rate_is_closed(void **state)
{
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	periods.plan = "..xx.";
	assert_int_equal(cpu_events_set_rate(*state, 500), -EINVAL);
	assert_int_equal(cpu_events_rate_hz(*state), 1000);
	assert_sampled(1, 0, 1);
	assert_int_equal(periods.rates[0], 1000);
	assert_int_equal(periods.rates[2], 1000);
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_sampled(1, 1, 1);
	assert_rates(1000, 1000, 1000);
}

static void without_memory_it_fails_and_goes_on_later(void **state)
{
	struct cpu_events *events = NULL;

	fail_allocation(0);
	assert_int_equal(cpu_events_new(NULL, 1000, NULL, &events), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(events);
	fail_allocation(0);
	assert_int_equal(cpu_events_set_cpus(*state, cpus, 1), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(cpu_events_set_cpus(*state, cpus, CPUS), 0);
	assert_string_equal(cpu_events_name(*state), "cycles");
	cpu_events_free(NULL);
}

#define EVENTS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENTS_TEST(cycles_drive_it_if_available),
		EVENTS_TEST(precision_is_reported),
		EVENTS_TEST(the_clock_drives_all_if_one_cpu_lacks_cycles),
		EVENTS_TEST(without_any_source_it_fails),
		EVENTS_TEST(a_cpu_that_vanishes_is_skipped),
		EVENTS_TEST(a_temporary_error_keeps_the_source),
		EVENTS_TEST(attaching_may_fail_temporarily),
		EVENTS_TEST(a_refusal_outranks_a_temporary_error),
		EVENTS_TEST(all_events_have_one_rate),
		EVENTS_TEST(an_event_at_another_rate_is_closed),
		EVENTS_TEST(without_memory_it_fails_and_goes_on_later),
		EVENTS_TEST(a_cpu_without_an_event_expects_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

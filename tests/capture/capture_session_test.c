/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that are refused before anything is opened, with or without privileges. */
#include "base/array.h"
#include "base/event_source.h"
#include "capture/capture_session.h"
#include "tests/capture/capture_messages.h"

#include <errno.h>
#include <linux/perf_event.h>

static int execute(struct capture_session *session, struct pilotlight_capture_request request,
	struct pilotlight_capture_answer *answer)
{
	int fds[PILOTLIGHT_CAPTURE_FDS];

	assert_int_equal(capture_request_check(&request), 0);
	memset(answer, 0xa5, sizeof(*answer));
	assert_int_equal(capture_session_execute(session, &request, answer, fds), 0);
	assert_int_equal(answer->version, PILOTLIGHT_CAPTURE_VERSION);
	assert_int_equal(answer->number, request.number);
	assert_non_null(memchr(answer->fault, '\0', sizeof(answer->fault)));
	assert_int_equal(answer->layout.variables_bytes, 0);
	assert_null(session->host);
	return answer->result;
}

static void well_formed_requests_pass(void **state)
{
	for (uint32_t i = 1; i < PILOTLIGHT_CAPTURE_OPERATIONS; i++) {
		struct pilotlight_capture_request request = request_of(i);

		assert_int_equal(capture_request_check(&request), 0);
		request.version++;
		assert_int_equal(capture_request_check(&request), -EBADMSG);
	}
}

static void unknown_operations_are_malformed(void **state)
{
	static const uint32_t operations[] = { 0, PILOTLIGHT_CAPTURE_OPERATIONS, UINT32_MAX };

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		struct pilotlight_capture_request request = request_of(operations[i]);

		assert_int_equal(capture_request_check(&request), -EBADMSG);
	}
}

/* Sets each byte after the number that the operation does not use. */
static void unused_fields_must_be_zero(void **state)
{
	for (uint32_t operation = 1; operation < PILOTLIGHT_CAPTURE_OPERATIONS; operation++) {
		size_t used = 0;

		for (size_t at = offsetof(struct pilotlight_capture_request, value);
			at < sizeof(struct pilotlight_capture_request); at++) {
			struct pilotlight_capture_request request = request_of(operation);

			((unsigned char *)&request)[at] = 1;
			if (capture_request_check(&request) == 0)
				used++;
		}
		if (operation == PILOTLIGHT_CAPTURE_OPEN)
			assert_int_equal(
				used, 8 + 8 + 4 + 4 + 4 + 4 + 2 + 4 + 8 * PILOTLIGHT_SOURCES +
					      PILOTLIGHT_COUNTED_EVENTS *
						      sizeof(struct pilotlight_counted_event));
		else if (operation == PILOTLIGHT_CAPTURE_RING ||
			 operation == PILOTLIGHT_CAPTURE_FOLLOW ||
			 operation == PILOTLIGHT_CAPTURE_SET_RATE ||
			 operation == PILOTLIGHT_CAPTURE_TAKE_BLOCKED ||
			 operation == PILOTLIGHT_CAPTURE_SURVEY)
			assert_int_equal(used, 8);
		else if (operation == PILOTLIGHT_CAPTURE_PROBE)
			assert_int_equal(used, sizeof(struct pilotlight_capture_probe));
		else if (operation == PILOTLIGHT_CAPTURE_SET_RUNTIME)
			assert_int_equal(used, 8 + sizeof(struct pilotlight_runtime));
		else
			assert_int_equal(used, 0);
	}
}

static const struct pilotlight_counted_event misses = {
	.name = "cache-misses",
	.kind = PILOTLIGHT_COUNTED_PERF,
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_CACHE_MISSES,
};

static void settings_out_of_range_open_nothing(void **state)
{
	const uint64_t budget_max = PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX;
	struct pilotlight_capture_request requests[26];
	struct pilotlight_capture_answer answer;
	struct capture_session session = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		requests[i] = request_of(PILOTLIGHT_CAPTURE_OPEN);
	requests[0].rate_hz = 0;
	requests[1].rate_hz = PILOTLIGHT_CAPTURE_RATE_HZ_MAX + 1;
	requests[2].map_budget_bytes = budget_max + 1;
	requests[3].unwind_budget_bytes = UINT64_MAX;
	requests[4].stack_slots = PILOTLIGHT_CAPTURE_STACK_SLOTS_MAX + 1;
	requests[5].wants_kernel = 2;
	requests[6].filters_processes = 255;
	requests[7].event = CAPTURE_EVENT_CLOCK + 1;
	requests[8].unwind_budget_bytes = budget_max + 1;
	requests[9].sources = 0;
	requests[10].sources = 1 << PILOTLIGHT_SOURCES;
	requests[11].periods[PILOTLIGHT_SOURCE_CPU] = 1000000;
	requests[12].periods[PILOTLIGHT_SOURCE_OFFCPU] = 1000000; /* it is off */
	requests[13].sources |= 1 << PILOTLIGHT_SOURCE_OFFCPU;
	requests[13].periods[PILOTLIGHT_SOURCE_OFFCPU] =
		event_sources[PILOTLIGHT_SOURCE_OFFCPU].least_period - 1;
	requests[14].sources |= 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[14].periods[PILOTLIGHT_SOURCE_RUNQUEUE] =
		event_sources[PILOTLIGHT_SOURCE_RUNQUEUE].greatest_period + 1;
	requests[15].is_sparing = 2;
	requests[20].wants_wakers = 2;
	requests[25].skips_interpreted = 2;
	/* What is off, or no wait, is not surveyed, nor too often. */
	requests[21].surveyed = 1 << PILOTLIGHT_SOURCE_OFFCPU;
	requests[22].surveyed = requests[22].sources = 1 << PILOTLIGHT_SOURCE_CPU;
	requests[23].surveyed = 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[23].sources |= requests[23].surveyed;
	requests[23].periods[PILOTLIGHT_SOURCE_RUNQUEUE] = PILOTLIGHT_CAPTURE_SURVEY_NS_MIN - 1;
	requests[24].surveyed = 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[24].sources |= requests[24].surveyed;
	requests[24].periods[PILOTLIGHT_SOURCE_RUNQUEUE] = PILOTLIGHT_CAPTURE_SURVEY_NS_MAX + 1;
	/* A source without an event, an event without a source, and one that is not valid. */
	requests[16].sources |= 1 << PILOTLIGHT_SOURCE_COUNTED;
	requests[16].periods[PILOTLIGHT_SOURCE_COUNTED] = 1;
	requests[17].counted[1] = misses;
	requests[18].sources |= 1 << PILOTLIGHT_SOURCE_COUNTED;
	requests[18].periods[PILOTLIGHT_SOURCE_COUNTED] = 1;
	requests[18].counted[0] = misses;
	requests[18].counted[0].type = PERF_TYPE_BREAKPOINT;
	/* A probe that the user's own process has not found. */
	requests[19].sources |= 1 << PILOTLIGHT_SOURCE_COUNTED;
	requests[19].periods[PILOTLIGHT_SOURCE_COUNTED] = 1;
	requests[19].counted[0] = (struct pilotlight_counted_event){ .name = "usdt:a:b:c",
		.kind = PILOTLIGHT_COUNTED_PROBE };
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_int_equal(execute(&session, requests[i], &answer), -EINVAL);
		assert_true(strlen(answer.fault) > 0);
	}
}

static void nothing_opens_beyond_the_limits(void **state)
{
	const struct capture_limits limits = { .rate_hz = 99,
		.map_bytes = 1 << 20,
		.event = CAPTURE_EVENT_CLOCK,
		.sources = 1 << PILOTLIGHT_SOURCE_OFFCPU,
		.least_periods = { [PILOTLIGHT_SOURCE_OFFCPU] = 1000000 },
		.surveyed = 1 << PILOTLIGHT_SOURCE_RUNQUEUE,
		.survey_ns = 1000000000 };
	struct pilotlight_capture_request requests[11];
	struct pilotlight_capture_answer answer;
	struct capture_session session = { NULL };

	capture_session_limit(&session, &limits);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		requests[i] = request_of(PILOTLIGHT_CAPTURE_OPEN);
		requests[i].rate_hz = 99;
		requests[i].map_budget_bytes = requests[i].unwind_budget_bytes = 1 << 20;
		requests[i].event = CAPTURE_EVENT_CLOCK;
	}
	requests[0].rate_hz = 100;
	requests[1].map_budget_bytes++;
	requests[2].unwind_budget_bytes++;
	requests[3].stack_slots = 64;
	requests[4].event = CAPTURE_EVENT_CYCLES;
	requests[5].event = CAPTURE_EVENT_AUTO;
	requests[6].wants_kernel = 1;
	requests[7].sources |= 1 << PILOTLIGHT_SOURCE_OFFCPU;
	requests[7].periods[PILOTLIGHT_SOURCE_OFFCPU] = 999999;
	requests[8].sources |= 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[8].periods[PILOTLIGHT_SOURCE_RUNQUEUE] = 1000000;
	requests[9].sources |= 1 << PILOTLIGHT_SOURCE_COUNTED;
	requests[9].periods[PILOTLIGHT_SOURCE_COUNTED] = 1;
	requests[9].counted[0] = misses;
	/* Surveys that are allowed allow no programs at switches (8), nor more surveys. */
	requests[10].sources |= 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[10].surveyed = 1 << PILOTLIGHT_SOURCE_RUNQUEUE;
	requests[10].periods[PILOTLIGHT_SOURCE_RUNQUEUE] = 999999999;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_int_equal(execute(&session, requests[i], &answer), -EPERM);
		assert_true(strlen(answer.fault) > 0);
	}
	capture_session_limit(&session, &(struct capture_limits){ .event = CAPTURE_EVENT_CLOCK });
	requests[1].map_budget_bytes = requests[1].unwind_budget_bytes = 0;
	requests[1].rate_hz = 1;
	assert_int_equal(execute(&session, requests[1], &answer), -EPERM);
}

/* Only those that the configuration names, each as often as it says. */
static void named_events_have_limits_of_their_own(void **state)
{
	const enum pilotlight_source place = PILOTLIGHT_SOURCE_COUNTED + 1;
	struct capture_limits limits = { .rate_hz = 99,
		.counted = { { .event = misses, .least_period = 1000 },
			{ .event = misses, .least_period = 500 } },
		.counted_count = 2 };
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct pilotlight_capture_answer answer;
	struct capture_session session = { NULL };

	request.map_budget_bytes = request.unwind_budget_bytes = 0;
	request.wants_kernel = 0;
	request.stack_slots = 0;
	request.event = CAPTURE_EVENT_AUTO;
	request.rate_hz = 99;
	request.sources |= 1U << place;
	request.periods[place] = 499;
	request.counted[1] = misses;
	capture_session_limit(&session, &limits);
	assert_int_equal(execute(&session, request, &answer), -EPERM);
	request.periods[place] = 500;
	request.counted[1].config = PERF_COUNT_HW_CACHE_REFERENCES;
	assert_int_equal(execute(&session, request, &answer), -EPERM);
	request.counted[1] = misses;
	limits.counted_count = 0;
	capture_session_limit(&session, &limits);
	assert_int_equal(execute(&session, request, &answer), -EPERM);
	assert_non_null(strstr(answer.fault, "does not allow"));
	/* The source alone says nothing. */
	limits.sources = 1U << place;
	limits.least_periods[place] = 1;
	capture_session_limit(&session, &limits);
	assert_int_equal(execute(&session, request, &answer), -EPERM);
}

/* It could break the programs whose heaps it samples. */
static void heaps_are_for_those_who_asked(void **state)
{
	const uint32_t alloc = 1 << PILOTLIGHT_SOURCE_HEAP_ALLOC;
	const uint32_t live = 1 << PILOTLIGHT_SOURCE_HEAP_LIVE;
	const uint32_t sources[] = { alloc, live, alloc | live };
	struct pilotlight_capture_answer answer;
	struct capture_session session = { NULL };

	for (size_t granted = 0; granted < 3; granted++) {
		for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
			struct pilotlight_capture_request request =
				request_of(PILOTLIGHT_CAPTURE_OPEN);

			session.grant.sources = granted == 0 ? 0 : sources[granted - 1];
			request.sources |= sources[i];
			for (size_t j = 0; j < PILOTLIGHT_SOURCES; j++)
				if (sources[i] & 1U << j)
					request.periods[j] = event_sources[j].least_period;
			/* Those of all processes are refused once they are granted. */
			assert_int_equal(execute(&session, request, &answer),
				sources[i] & ~session.grant.sources ? -EPERM : -EOPNOTSUPP);
			assert_true(strlen(answer.fault) > 0);
		}
	}
}

static void operations_need_an_open_capture(void **state)
{
	struct pilotlight_capture_answer answer;
	struct capture_session session = { NULL };

	for (uint32_t i = PILOTLIGHT_CAPTURE_OPEN + 1; i < PILOTLIGHT_CAPTURE_OPERATIONS; i++) {
		assert_int_equal(execute(&session, request_of(i), &answer), -ENXIO);
		assert_string_equal(answer.fault, "");
	}
	capture_session_done(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_requests_pass),
		cmocka_unit_test(unknown_operations_are_malformed),
		cmocka_unit_test(unused_fields_must_be_zero),
		cmocka_unit_test(settings_out_of_range_open_nothing),
		cmocka_unit_test(nothing_opens_beyond_the_limits),
		cmocka_unit_test(named_events_have_limits_of_their_own),
		cmocka_unit_test(heaps_are_for_those_who_asked),
		cmocka_unit_test(operations_need_an_open_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Surveys of all threads, each at a random moment of its time. */
#include "engine/pipeline_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* In a moving average, the newest survey's cost counts for so much. */
enum { NEWEST_SHARE = 4 };

enum { INTERVAL_MAX = 64 }; /* a minute, with the usual period */

/* How long a survey may hold up all else. */
#define SURVEY_NS_MAX NSEC_PER_SEC

static uint64_t random_below(uint64_t limit)
{
	uint64_t number;

	/* Without random numbers the moment is as good as any other, but not unbiased. */
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		return limit / 2;
	return number % limit;
}

static uint64_t period_ns(const struct pipeline *pipeline)
{
	const struct capture_settings *capture = &pipeline->settings.capture;

	return capture->periods[capture->surveyed & 1U << PILOTLIGHT_SOURCE_OFFCPU
					? PILOTLIGHT_SOURCE_OFFCPU
					: PILOTLIGHT_SOURCE_RUNQUEUE];
}

/* How many periods the next survey is to stand for, by what the last ones have cost. */
static uint32_t next_interval(const struct pipeline *pipeline)
{
	uint64_t allowed_ns =
		period_ns(pipeline) / 1000000 *
		(pipeline->settings.survey_ppm * capture_cpu_count(pipeline->capture));
	uint64_t interval = 1;

	if (allowed_ns > 0)
		interval = (pipeline->survey.cost_ns + allowed_ns - 1) / allowed_ns;
	return interval < 1 ? 1 : interval > INTERVAL_MAX ? INTERVAL_MAX : (uint32_t)interval;
}

static void schedule(struct pipeline *pipeline, uint64_t begin_ns)
{
	struct pipeline_survey *survey = &pipeline->survey;
	uint64_t span_ns = next_interval(pipeline) * period_ns(pipeline);

	survey->periods = 0;
	survey->begin_ns = begin_ns;
	survey->end_ns = begin_ns + span_ns;
	survey->due_ns = begin_ns + random_below(span_ns);
}

void pipeline_begin_surveys(struct pipeline *pipeline)
{
	pipeline->survey.due_ns = UINT64_MAX;
	if (pipeline->settings.capture.surveyed)
		schedule(pipeline, clock_monotonic_ns());
}

static void note_cost(struct pipeline_survey *survey, uint64_t cost_ns)
{
	survey->cost_ns = survey->cost_ns
				  ? (survey->cost_ns * (NEWEST_SHARE - 1) + cost_ns) / NEWEST_SHARE
				  : cost_ns;
}

/* Each drain empties the ring for more threads. */
static int survey_threads(struct pipeline *pipeline, struct fault *fault, int *ret_cost_us)
{
	uint64_t end_ns = clock_monotonic_ns() + SURVEY_NS_MAX;
	int cost_us, r;

	while ((cost_us = capture_survey(pipeline->capture, pipeline->survey.periods)) == -EAGAIN) {
		if (clock_monotonic_ns() >= end_ns) {
			cost_us = -ETIMEDOUT;
			break;
		}
		r = pipeline_drain(pipeline, fault);
		if (r < 0)
			return r;
	}
	*ret_cost_us = cost_us;
	return 0;
}

/* How many periods a survey stands for that begins now. One that is late stands for the time until
 * now, as far as a survey can; the time before that is lost. */
static uint32_t due_periods(struct pipeline *pipeline, uint64_t now_ns)
{
	const uint64_t limit_ns = PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX * period_ns(pipeline);
	struct pipeline_survey *survey = &pipeline->survey;

	if (now_ns - survey->begin_ns > limit_ns)
		survey->begin_ns = now_ns - limit_ns;
	return (uint32_t)(((survey->end_ns > now_ns ? survey->end_ns : now_ns) - survey->begin_ns) /
			  period_ns(pipeline));
}

int pipeline_run_survey(struct pipeline *pipeline, struct fault *fault)
{
	struct pipeline_survey *survey = &pipeline->survey;
	uint64_t now_ns = clock_monotonic_ns(), drain_ns = pipeline->report.drain_cpu_ns;
	int cost_us, r;

	if (now_ns < survey->due_ns)
		return 0;
	if (survey->periods == 0)
		survey->periods = due_periods(pipeline, now_ns);
	r = survey_threads(pipeline, fault, &cost_us);
	if (r < 0)
		return r;
	if (cost_us == -ETIMEDOUT && !survey->is_failing)
		log_info("a survey of all threads takes longer than a second: the rest follows "
			 "later");
	else if (cost_us < 0 && !survey->is_failing)
		log_warning("cannot survey all threads: %s, trying again", strerror(-cost_us));
	survey->is_failing = cost_us < 0;
	if (cost_us < 0) {
		/* The capture goes on with the rest of the threads, or begins anew for all time. */
		if (cost_us != -ETIMEDOUT)
			survey->periods = 0;
		survey->due_ns = clock_monotonic_ns() +
				 random_below(next_interval(pipeline) * period_ns(pipeline));
		return 0;
	}
	/* With what it takes to make room for its samples. */
	note_cost(survey, (uint64_t)cost_us * 1000 + pipeline->report.drain_cpu_ns - drain_ns);
	schedule(pipeline, survey->begin_ns + survey->periods * period_ns(pipeline));
	return 0;
}

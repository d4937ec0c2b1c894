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

int pipeline_run_survey(struct pipeline *pipeline, struct fault *fault)
{
	struct pipeline_survey *survey = &pipeline->survey;
	uint64_t now_ns = clock_monotonic_ns(), drain_ns = pipeline->report.drain_cpu_ns, periods;
	int cost_us, r;

	if (now_ns < survey->due_ns)
		return 0;
	/* One that comes too late stands for the time until now. */
	periods = ((survey->end_ns > now_ns ? survey->end_ns : now_ns) - survey->begin_ns) /
		  period_ns(pipeline);
	if (periods > PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX)
		periods = PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX;
	while ((cost_us = capture_survey(pipeline->capture, (uint32_t)periods)) == -EAGAIN) {
		r = pipeline_drain(pipeline, fault);
		if (r < 0)
			return r;
	}
	if (cost_us < 0 && !survey->is_failing)
		log_warning("cannot survey all threads: %s, trying again", strerror(-cost_us));
	survey->is_failing = cost_us < 0;
	/* With what it takes to make room for its samples. */
	if (cost_us >= 0)
		note_cost(survey,
			(uint64_t)cost_us * 1000 + pipeline->report.drain_cpu_ns - drain_ns);
	schedule(pipeline, survey->begin_ns + periods * period_ns(pipeline));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/survey_programs.h"

#include "capture/capture.h"
#include "capture/program_list.h"
#include "capture/scheduler_programs.h"
#include "capture/thread_visit.h"
#include "visitor.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

/* With the usual ones, a thread is idle that is blocked for a whole window of the history. */
enum { IDLE_AFTER_PERIODS = 10 };

static uint64_t period_ns(const struct capture_settings *settings)
{
	const bool is_of_both = settings->surveyed & 1U << PILOTLIGHT_SOURCE_OFFCPU;

	return settings
		->periods[is_of_both ? PILOTLIGHT_SOURCE_OFFCPU : PILOTLIGHT_SOURCE_RUNQUEUE];
}

int survey_programs_check(const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = { .samples = "time off the CPU" };
	struct scheduler_support support;

	if (!settings->surveyed)
		return 0;
	scheduler_support_read(&support);
	return *support.missing_for_surveys
		       ? program_list_refuse(&list, support.missing_for_surveys, fault)
		       : 0;
}

void survey_programs_prepare(struct visitor *programs, const struct capture_settings *settings)
{
	(void)bpf_program__set_autoload(programs->progs.survey_threads, settings->surveyed != 0);
	if (!settings->surveyed)
		return;
	programs->rodata->surveyed_sources = settings->surveyed;
	programs->rodata->idle_after_ns = period_ns(settings) * IDLE_AFTER_PERIODS;
}

int survey_programs_run(struct visitor *programs, const struct capture_settings *settings,
	uint32_t periods, struct thread_visit *visit)
{
	struct visitor__bss *variables;

	if (!settings->surveyed)
		return -EOPNOTSUPP;
	variables = programs->bss;
	if (visit->fd < 0) {
		variables->survey_periods = periods;
		memset((void *)variables->surveyed_count, 0, sizeof(variables->surveyed_count));
		memset((void *)variables->surveyed_users, 0, sizeof(variables->surveyed_users));
		/* The last survey may not have come to its end. */
		variables->idle_leader = 0;
	}
	return thread_visit_run(visit, programs, programs->progs.survey_threads);
}

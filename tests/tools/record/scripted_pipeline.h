/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pipeline for `pilotlight record` that fails, dies or is interrupted where a test's script says.
 * It runs in the engine's process. The script is in memory that the engine and the front share. For
 * one test program.
 */
#pragma once

#include "base/event_source.h"
#include "engine/pipeline.h"
#include "tests/render/example_profile.h"
#include "tools/record/record_sandbox.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pipeline {
	struct profile *profiles[PILOTLIGHT_SOURCES]; /* NULL: the source is off */
	int fd;					      /* always readable */
};

/* The result of each step of the pipeline (NULL: success), and counts of the steps. */
static struct script {
	int (*run)(void);
	int (*finish)(void);
	int (*run_symbols)(void);
	int (*name)(void);
	int (*follow)(pid_t pid);
	int (*open)(void);
	int (*drop)(void);
	size_t symbols_pending; /* one less at each run of the symbol workers */
	bool has_interrupted;
	pid_t watched[2];
	unsigned started, finished, named, confined;
} * script;

/* An assertion for the engine's process, where cmocka's do not work. */
static void must(bool condition)
{
	if (!condition)
		abort();
}

int record_sandbox_drop_privileges(int socket_fd, bool *ret_keeps_privileges, struct fault *fault)
{
	*ret_keeps_privileges = false;
	return script->drop ? script->drop() : 0;
}

void record_sandbox_confine(const char *symbol_cache)
{
	script->confined++;
}

/* One that the process of the tests could not take off. */
int record_sandbox_confine_reader(void)
{
	return 0;
}

void record_sandbox_forbid_front(void)
{
}

/* The same stacks for each source. */
static struct profile *make_profile(
	const struct pipeline_settings *settings, enum pilotlight_source source)
{
	struct profile *profile = example_machine(false);

	if (source == PILOTLIGHT_SOURCE_CPU)
		return profile;
	must(settings->capture.periods[source] > 0);
	profile->period_ns = settings->capture.periods[source];
	must(profile_add_string(profile, event_sources[source].name, &profile->event) == 0);
	return profile;
}

int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault)
{
	struct pipeline *pipeline;
	int r = script->open ? script->open() : 0;

	if (r < 0)
		return fault_set(fault, r, "opening failed");
	pipeline = calloc(1, sizeof(*pipeline));
	must(pipeline);
	/* The engine gets its privileged parts from the front. */
	must(settings->broker);
	must(settings->capture_fd >= 0);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (i == PILOTLIGHT_SOURCE_CPU || (settings->capture.sources & 1U << i))
			pipeline->profiles[i] = make_profile(settings, i);
	pipeline->fd = eventfd(1, EFD_CLOEXEC);
	*ret_pipeline = pipeline;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		profile_free(pipeline->profiles[i]);
	(void)close(pipeline->fd);
	free(pipeline);
}

int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault)
{
	return script->follow ? script->follow(pid) : 0;
}

int pipeline_start(struct pipeline *pipeline, struct fault *fault)
{
	script->started++;
	return 0;
}

int pipeline_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->fd;
}

int pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->run ? script->run() : 0;

	return r < 0 ? fault_set(fault, r, "running failed") : 0;
}

int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->finish ? script->finish() : 0;

	script->finished++;
	return r < 0 ? fault_set(fault, r, "finishing failed") : 0;
}

size_t pipeline_symbols_pending(const struct pipeline *pipeline)
{
	return script->symbols_pending;
}

int pipeline_symbols_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->fd;
}

int pipeline_symbols_run(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->run_symbols ? script->run_symbols() : 0;

	if (!script->run_symbols)
		script->symbols_pending--;
	return r < 0 ? fault_set(fault, r, "following the workers failed") : 0;
}

void pipeline_stamp_times(struct pipeline *pipeline)
{
	(void)pipeline;
}

void pipeline_choose_interpreted(struct pipeline *pipeline, enum interpreted_frames choice)
{
	(void)pipeline;
	(void)choice;
}

int pipeline_name(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->name ? script->name() : 0;

	script->named++;
	return r < 0 ? fault_set(fault, r, "naming failed") : 0;
}

const struct profile *pipeline_profile(
	const struct pipeline *pipeline, enum pilotlight_source source)
{
	return pipeline->profiles[source];
}

void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report)
{
	const struct pipeline_report report = { .accounts.of = { pipeline->profiles[0]->accounts },
		.elapsed_ns = 1000000000 };

	*ret_report = report;
}

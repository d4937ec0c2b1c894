/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the sampler's program for surveys of all threads (bpf/survey.bpf.h), and runs it. */
#pragma once

#include "base/fault.h"

#include <stdint.h>

struct capture_settings;
struct sampler;
struct thread_visit;

/*
 * Prepares the opened object for loading: the program if a source of `settings` is surveyed, else
 * it is not loaded. Returns 0 or -errno; `fault` then says what the kernel lacks.
 */
int survey_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault);

/* As capture_survey(), but returns 0. `visit` is the survey that is under way, if one is. */
int survey_programs_run(struct sampler *programs, const struct capture_settings *settings,
	uint32_t periods, struct thread_visit *visit);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program for surveys of all threads (bpf/survey.bpf.h): prepares and runs it. */
#pragma once

#include "base/fault.h"

#include <stdint.h>

struct capture_settings;
struct thread_visit;
struct visitor;

/* Returns 0 or -errno; `fault` then says what the kernel lacks for the surveys of `settings`. */
int survey_programs_check(const struct capture_settings *settings, struct fault *fault);

/* Prepares the opened object for loading: the program if a source of `settings` is surveyed, else
 * it is not loaded. */
void survey_programs_prepare(struct visitor *programs, const struct capture_settings *settings);

/* As capture_survey(), but returns 0. `visit` is the survey that is under way, if one is. */
int survey_programs_run(struct visitor *programs, const struct capture_settings *settings,
	uint32_t periods, struct thread_visit *visit);

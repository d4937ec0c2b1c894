/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sampler's programs for all sources but CPU time have in common (bpf/amount.bpf.h). */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_settings;
struct sampler;

/* Is the source to be sampled? */
bool amount_programs_has(const struct capture_settings *settings, enum pilotlight_source source);
/* ... by programs at its events, not by surveys? */
bool amount_programs_counts(const struct capture_settings *settings, enum pilotlight_source source);

/*
 * Prepares the opened object for loading: periods, room on each CPU, and the pace. While the
 * sources together have more than ten times as many samples as CPU time, or as many if the settings
 * are sparing, each sample stands for more periods.
 */
void amount_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, uint32_t cpu_count);

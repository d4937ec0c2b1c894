/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/amount_programs.h"

#include "capture/capture.h"
#include "capture/kernel_symbol.h"
#include "sampler.skel.h"

#include <bpf/libbpf.h>

#define KALLSYMS "/proc/kallsyms"

enum {
	/* Samples that are taken without thinning them out, for each of CPU time. */
	SAMPLES_PER_CPU_SAMPLE = 10,
	SPARING_SAMPLES_PER_CPU_SAMPLE = 1,
	SLOTS_PER_SECOND = 10, /* PACE_SLOT_NS */
	SAMPLES_PER_SLOT_MIN = 16,
	SPARING_SAMPLES_PER_SLOT_MIN = 4,
	/* On each CPU. */
	SCRATCHES = 2,
	WALKERS = 2,
	WALKERS_WITH_BLOCKED = 3, /* and one for threads that do not run */
};

bool amount_programs_has(const struct capture_settings *settings, enum pilotlight_source source)
{
	return settings->sources & 1U << source;
}

bool amount_programs_counts(const struct capture_settings *settings, enum pilotlight_source source)
{
	return settings->sources & ~settings->surveyed & 1U << source;
}

/* Of each of so many sources. */
static uint32_t samples_per_slot(
	const struct capture_settings *settings, uint32_t cpu_count, uint32_t source_count)
{
	const bool is_sparing = settings->is_sparing;
	const uint64_t times = is_sparing ? SPARING_SAMPLES_PER_CPU_SAMPLE : SAMPLES_PER_CPU_SAMPLE;
	const uint32_t least = is_sparing ? SPARING_SAMPLES_PER_SLOT_MIN : SAMPLES_PER_SLOT_MIN;
	uint64_t samples =
		(uint64_t)settings->rate_hz * cpu_count * times / SLOTS_PER_SECOND / source_count;

	if (samples < least)
		return least;
	return samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
}

void amount_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, uint32_t cpu_count)
{
	struct kernel_symbol symbol;
	uint32_t source_count = 0;

	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!amount_programs_counts(settings, i))
			continue;
		programs->rodata->source_periods[i] = settings->periods[i];
		source_count++;
	}
	(void)bpf_map__set_autocreate(programs->maps.amount_cpus, source_count > 0);
	if (source_count > 0)
		(void)bpf_map__set_max_entries(programs->maps.walkers, WALKERS);
	if (amount_programs_has(settings, PILOTLIGHT_SOURCE_OFFCPU) || settings->surveyed) {
		(void)bpf_map__set_max_entries(programs->maps.walkers, WALKERS_WITH_BLOCKED);
		(void)bpf_map__set_max_entries(
			programs->maps.runtime_copiers, WALKERS_WITH_BLOCKED);
		(void)bpf_map__set_max_entries(programs->maps.runtime_tasks, WALKERS_WITH_BLOCKED);
	}
	if (source_count == 0)
		return;
	programs->rodata->samples_per_slot = samples_per_slot(settings, cpu_count, source_count);
	if (kernel_symbol_find(KALLSYMS, "__schedule", &symbol) == 0)
		programs->rodata->schedule_address = symbol.address;
	(void)bpf_map__set_max_entries(programs->maps.scratches, SCRATCHES);
}

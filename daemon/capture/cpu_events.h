/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events that drive the sampler: one for each CPU, with the BPF program attached. They
 * count cycles if the PMU can, with the best precision it offers; otherwise the cpu-clock timer
 * drives them. One owner, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct cpu_events;
struct perf_event_opener;

/* Opens nothing yet; `program` and `opener` are borrowed. Returns 0 or -ENOMEM. */
int cpu_events_new(const struct bpf_program *program, uint32_t rate_hz,
	struct perf_event_opener *opener, struct cpu_events **ret_events);
void cpu_events_free(struct cpu_events *events);

/*
 * Selects the allowed sources, before the first event is open: cycles, the clock, or both (the
 * default).
 */
void cpu_events_set_sources(struct cpu_events *events, bool may_be_cycles, bool may_be_clock);

/*
 * Sets the rate for all CPUs, also later ones. Returns 0; -EINVAL above the current
 * kernel.perf_event_max_sample_rate; or -errno. On failure the rate stays as it was. A CPU where
 * that fails, too, has no event until cpu_events_set_cpus().
 */
int cpu_events_set_rate(struct cpu_events *events, uint32_t rate_hz);
uint32_t cpu_events_rate_hz(const struct cpu_events *events);

/*
 * Samples exactly these CPUs. An event whose enabled time stands still, because its CPU went
 * offline and came back, is reopened. A CPU that vanishes meanwhile is skipped. Returns 0; -ENOENT,
 * -EOPNOTSUPP, ... if no source opens; or a temporary error: then some CPUs have no event until the
 * next call tries again, and all others are sampled.
 */
int cpu_events_set_cpus(struct cpu_events *events, const uint32_t *cpus, size_t count);

/* Is the error temporary: a lack of memory, descriptors or privileges, or of an answer? */
bool cpu_events_error_passes(int error);

/* Detaches and closes all events; cpu_events_expected() still counts them. */
void cpu_events_stop(struct cpu_events *events);

size_t cpu_events_count(const struct cpu_events *events);

/* Is any event precise? Then its registers are not all of the same moment. */
bool cpu_events_are_precise(const struct cpu_events *events);

/* "cycles", "cpu-clock", or "" before the first is open. */
const char *cpu_events_name(const struct cpu_events *events);

/*
 * How often the clock should have fired while the events were enabled, at the rates of the time; 0
 * if there is no fixed period.
 */
uint64_t cpu_events_expected(struct cpu_events *events);

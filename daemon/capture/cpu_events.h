/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events that drive the sampler: one a CPU, each with the BPF program attached. Cycles
 * where the PMU opens, as precise as it offers; else the cpu-clock timer. One owner, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct cpu_events;

/* Opens nothing yet; `program` is borrowed. Returns 0 or -ENOMEM. */
int cpu_events_new(
	const struct bpf_program *program, uint32_t rate_hz, struct cpu_events **ret_events);
void cpu_events_free(struct cpu_events *events);

/* What may drive it, before the first is open: cycles, the clock, or (at first) whichever opens. */
void cpu_events_set_sources(struct cpu_events *events, bool may_be_cycles, bool may_be_clock);

/*
 * From now on, on CPUs that come later too. Returns 0 or -errno, and the rate is the old one then:
 * -EINVAL beyond the kernel.perf_event_max_sample_rate of the moment.
 */
int cpu_events_set_rate(struct cpu_events *events, uint32_t rate_hz);
uint32_t cpu_events_rate_hz(const struct cpu_events *events);

/*
 * Makes the sampled CPUs be `cpus`. An event whose clock stands still, since its CPU went away and
 * came back, is opened anew. A CPU that vanishes meanwhile is passed over. Returns 0 or -errno:
 * -ENOENT, -EOPNOTSUPP, ... where no source opens; or an error that passes: then CPUs are without
 * an event until the next call, which tries them again, and all others are as they should be.
 */
int cpu_events_set_cpus(struct cpu_events *events, const uint32_t *cpus, size_t count);

/* Is it for want of memory or descriptors, rather than of what the machine or the kernel has? */
bool cpu_events_error_passes(int error);

/* Detaches and closes all; what they count towards cpu_events_expected() stays. */
void cpu_events_stop(struct cpu_events *events);

size_t cpu_events_count(const struct cpu_events *events);

/* Is any of them precise? Its registers are not all of one moment. */
bool cpu_events_are_precise(const struct cpu_events *events);

/* "cycles", "cpu-clock", or "" before the first is open. */
const char *cpu_events_name(const struct cpu_events *events);

/* How often a clock has fired while the events were enabled, at the rates of the time; 0: not a
 * fixed period. */
uint64_t cpu_events_expected(struct cpu_events *events);

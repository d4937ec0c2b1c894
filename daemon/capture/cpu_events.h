/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events that drive the sampler: one a CPU, each with the BPF program attached. Cycles
 * where the PMU opens, as precise as it offers; else the cpu-clock timer. One owner, one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct cpu_events;

/* Opens nothing yet; `program` is borrowed. Returns 0 or -ENOMEM. */
int cpu_events_new(
	const struct bpf_program *program, uint32_t rate_hz, struct cpu_events **ret_events);
void cpu_events_free(struct cpu_events *events);

/*
 * Makes the sampled CPUs be `cpus`. An event whose clock stands still, since its CPU went away and
 * came back, is opened anew. A CPU that vanishes meanwhile is passed over. Returns 0 or -errno.
 */
int cpu_events_set_cpus(struct cpu_events *events, const uint32_t *cpus, size_t count);

/* Detaches and closes all; what they count towards cpu_events_expected() stays. */
void cpu_events_stop(struct cpu_events *events);

size_t cpu_events_count(const struct cpu_events *events);

/* "cycles", "cpu-clock", or "" before the first is open. */
const char *cpu_events_name(const struct cpu_events *events);

/* How often a clock of this rate has fired while the events were enabled; 0: not a fixed period. */
uint64_t cpu_events_expected(struct cpu_events *events);

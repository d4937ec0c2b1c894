/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces kernel allocations and frees by BPF, as events of the kmemtrace ABI. It needs CAP_BPF and
 * CAP_PERFMON, and Linux 6.1 or later. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmemtrace_tracer;

struct kmemtrace_tracer_settings {
	uint32_t ring_bytes; /* of each CPU's ring; rounded up to a power of two of pages */
	bool wants_stacks, wants_pages;
};

/* Receives an event of a CPU; its bytes are borrowed for the call. */
typedef void (*kmemtrace_function)(void *context, uint32_t cpu, const void *bytes, size_t size);

/* Loads the programs and creates the rings; traces from kmemtrace_tracer_start() on. Returns 0, or
 * -errno with `fault`. */
int kmemtrace_tracer_new(const struct kmemtrace_tracer_settings *settings,
	kmemtrace_function function, void *context, struct kmemtrace_tracer **ret_tracer,
	struct fault *fault);
void kmemtrace_tracer_free(struct kmemtrace_tracer *tracer);
DEFINE_CLEANUP(struct kmemtrace_tracer, kmemtrace_tracer_free);

int kmemtrace_tracer_start(struct kmemtrace_tracer *tracer, struct fault *fault);
void kmemtrace_tracer_stop(struct kmemtrace_tracer *tracer);

/*
 * The traced CPUs, ascending; borrowed. They were online when the tracer was made. Events of a CPU
 * that comes later are overruns.
 */
const uint32_t *kmemtrace_tracer_cpus(const struct kmemtrace_tracer *tracer, size_t *ret_count);

/* Becomes readable when a ring is half full; borrowed. */
int kmemtrace_tracer_poll_fd(const struct kmemtrace_tracer *tracer);

/*
 * Passes on the events in the rings, of each at most 65,536: a busy CPU must not starve the others.
 * Returns how many, or -errno.
 */
int kmemtrace_tracer_drain(struct kmemtrace_tracer *tracer);

/* Bytes of events that the rings could not hold, or that the kernel skipped. */
uint64_t kmemtrace_tracer_overrun_bytes(const struct kmemtrace_tracer *tracer);

/* Events without a stack, though stacks are wanted: another stack has its slot. */
uint64_t kmemtrace_tracer_stackless_events(const struct kmemtrace_tracer *tracer);

/* Writes the file `stacks` (pilotlight/kmemtrace.h). */
void kmemtrace_tracer_write_stacks(const struct kmemtrace_tracer *tracer, struct output *output);

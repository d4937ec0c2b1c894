/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events of sources that the kernel counts, such as page faults: one of each source for
 * each CPU, with its BPF program (bpf/count.bpf.h) attached. One owner, one thread.
 */
#pragma once

#include "base/fault.h"
#include "pilotlight/capture_message.h"

#include <stddef.h>
#include <stdint.h>

struct capture_settings;
struct count_events;
struct perf_event_opener;
struct sampler;

/*
 * Prepares the opened object for loading: the programs of the sources that are on. Returns 0, or
 * -EOPNOTSUPP with `fault` for an event at which this kernel cannot take samples.
 */
int count_events_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault);

/* Opens nothing yet; all is borrowed. Returns 0 or -ENOMEM. */
int count_events_new(struct sampler *programs, const struct capture_settings *settings,
	struct perf_event_opener *opener, struct count_events **ret_events);
void count_events_free(struct count_events *events);

/*
 * Counts on exactly these CPUs, also on those that went offline and came back. A CPU that vanishes
 * meanwhile is skipped. Returns 0 or -errno; then some CPUs have no event until the next call, and
 * `fault` says what to do.
 */
int count_events_set_cpus(
	struct count_events *events, const uint32_t *cpus, size_t count, struct fault *fault);

/*
 * Tries whether an event can be opened, NULL for page faults, and says why not; "": it can, or it
 * is a probe. Returns 0, or -EPERM or -EACCES: this process may not.
 */
int count_events_find_missing(const struct pilotlight_counted_event *event,
	struct perf_event_opener *opener, char ret_missing[PILOTLIGHT_MISSING_BYTES]);

/* Detaches and closes all events. */
void count_events_stop(struct count_events *events);

/* Adds the run time of the programs that the kernel has counted. */
void count_events_add_cost(const struct sampler *programs, uint64_t *ns);

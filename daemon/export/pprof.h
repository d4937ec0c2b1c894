/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as gzipped pprof, the common format of continuous profilers. Its readers rely on
 * these rules. Ids are sequential from 1, and only items that a sample uses have one. Addresses are
 * link-time vaddrs within the mapping of their build-id. A mapping claims to have functions only if
 * each of its locations has them. All text is valid UTF-8.
 *
 * Samples are [samples/count, cpu/nanoseconds], or the type and unit of another source, such as
 * off_cpu/nanoseconds or page_faults/count, with the labels `unit`, `container` and `pod`.
 * PPROF_LABELS_ALL adds the text labels `comm`, `executable` and `cgroup`, and the numbers `pid`,
 * `tid` and `user`, what the program claims (`claimed_service`, `claimed_namespace`,
 * `claimed_environment`; labels/process_claims.h), and of samples that were taken in a span the
 * text labels `trace_id` and `span_id`. Samples that have stamps have the number `timestamp_ns` in
 * nanoseconds, as perf_to_profile names it, but of CLOCK_REALTIME. PPROF_LABELS_ROOTS also makes
 * the thread's name the outermost frame, for viewers that do not show labels. Losses are samples of
 * their own (`[lost: …]`), and comments hold the accounts (I1).
 *
 * Pyroscope makes a series for each distinct set of text labels. A scraped profile therefore
 * carries only labels whose number is bounded by the services of the host.
 *
 * Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pprof_labels {
	PPROF_LABELS_ALL,
	PPROF_LABELS_SERVICE,
	PPROF_LABELS_ROOTS,
	PPROF_LABELS_NONE, /* who reads it knows the service */
};

/* Some of a profile's samples. */
struct pprof_part {
	const uint32_t *samples; /* their positions in the profile */
	size_t count;
	bool has_losses; /* the profile's losses belong to it */
};

/*
 * Compresses samples while it encodes them. During the call it also holds 4 to 8 bytes for each
 * string, location, binary and sample, the profile's functions, and the used strings. That is less
 * than the profile itself. The same profile gives the same bytes. Does not flush `output`. Returns
 * 0, -ENOMEM, or the first error of `output`.
 */
int pprof_write(const struct profile *profile, enum pprof_labels labels, struct output *output);

/* The same for a part; NULL: all. Also returns the size before compression. */
int pprof_write_part(const struct profile *profile, enum pprof_labels labels,
	const struct pprof_part *part, struct output *output, uint64_t *ret_plain_bytes);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as gzipped pprof, the hub format of continuous profiling. What its readers rely
 * on: ids are sequential from 1 and only for what a sample uses; addresses are link-time vaddrs
 * below their mapping's build-id; a mapping says that it has functions only if each of its
 * locations has; all text is valid UTF-8. Samples are [samples/count, cpu/nanoseconds] with the
 * labels `unit`, `container` and `pod`, and with PPROF_LABELS_ALL also `comm`, `executable`,
 * `cgroup` (text), `pid` and `tid` (numbers). Losses are samples of their own (`[lost: …]`) and the
 * accounts stand in the comments (I1).
 *
 * Pyroscope makes a series of each distinct set of text labels, so a scraped profile carries only
 * the labels whose number is bounded by what runs on the host as a service.
 *
 * Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

enum pprof_labels { PPROF_LABELS_ALL, PPROF_LABELS_SERVICE };

struct pprof_options {
	enum pprof_labels labels;
	int compression_level; /* of zlib: 1 (fast) to 9 (small) */
};

/*
 * Samples are compressed as they are encoded. Besides, it holds for the length of the call numbers
 * for each string, location, binary and sample of the profile (4 to 8 bytes each), its functions
 * and the strings that are used: less than the profile itself. The same profile gives the same
 * bytes. Does not flush `output`. Returns 0, -ENOMEM, or the first error of `output`.
 */
int pprof_write(
	const struct profile *profile, const struct pprof_options *options, struct output *output);

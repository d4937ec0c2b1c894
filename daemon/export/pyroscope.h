/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as a PushRequest of Pyroscope: the body of a POST to
 * /push.v1.PusherService/Push, with "Content-Type: application/proto". There is a series for each
 * service, whose profile is in gzipped pprof (pprof.h), without labels of samples, each of which
 * would make a series at the receiver. What exceeds its usual limits, 16,000 samples or 4 MiB
 * before compression, is in several profiles of one series.
 *
 * Labels of a series are __name__, such as process_cpu or off_cpu, service_name
 * (service_identity.h), container_id, k8s_pod_uid and host_name where known, and the attributes of
 * the sink, with '_' in place of what names of labels cannot have. Losses (`[lost: …]`) have no
 * service. A profile's id is a UUID (version 8) of the hash in service_identity.h. The same profile
 * gives the same bytes.
 *
 * Format: https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

/*
 * `host` and `attributes` are as those of otlp_write(). Needs the memory of pprof_write(), and
 * holds a series, up to PYROSCOPE_SERIES_BYTES_MAX. Does not flush `output`. Returns 0, -ENOMEM,
 * -E2BIG, or the first error of `output`.
 */
int pyroscope_write(const struct profile *profile, const char *host, const char *attributes,
	struct output *output);

enum { PYROSCOPE_SERIES_BYTES_MAX = 64 << 20 };

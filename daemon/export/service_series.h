/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides a profile for receivers that tell profiles apart by labels: a series for each service.
 * Its profile is gzipped pprof (pprof.h). Samples have no labels, because the receiver would make a
 * series of each. What exceeds Pyroscope's usual limits, 16,000 samples or 4 MiB before
 * compression, is in several profiles of one series.
 *
 * Labels of a series are __name__, such as process_cpu or off_cpu, service_name
 * (service_identity.h), container_id, k8s_pod_uid and the host's name where known, and the
 * attributes of the sink, with '_' in place of what names of labels cannot have. Losses
 * (`[lost: …]`) have no service. A profile's id is a UUID (version 8) of the hash in
 * service_identity.h. The same profile gives the same bytes.
 */
#pragma once

#include "aggregate/profile.h"

#include <stddef.h>

/* How a receiver's protocol writes a series: its labels first, then its profiles. */
struct service_series_format {
	const char *host_label; /* its name for the host */
	void (*begin)(void *context);
	void (*label)(void *context, const char *name, const char *value, size_t size);
	void (*begin_profiles)(void *context); /* NULL: nothing to write */
	void (*profile)(void *context, const char *id, const char *bytes, size_t size);
	int (*end)(void *context); /* returns 0 or the first error */
};

/* Of one profile, and of one series. */
enum { SERVICE_SERIES_BYTES_MAX = 64 << 20 };

/*
 * `host` and `attributes` are as those of otlp_write(). Needs the memory of pprof_write(), and
 * holds a profile, up to SERVICE_SERIES_BYTES_MAX. Returns 0, -ENOMEM, -E2BIG, or the first error
 * of the format.
 */
int service_series_write(const struct profile *profile, const char *host, const char *attributes,
	const struct service_series_format *format, void *context);

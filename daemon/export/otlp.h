/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as a gzipped ExportProfilesServiceRequest of OpenTelemetry, protocol 1.10 or
 * later: the body of a POST to /v1development/profiles, with "Content-Type: application/x-protobuf"
 * and "Content-Encoding: gzip". Receivers rely on these rules. Element 0 of each table of the
 * dictionary is empty. Each sample has one value and no timestamps, unless the profile has stamps:
 * samples with times are in a profile of their own, with a value for each time, and those without
 * in another. Resources have inline strings only. All text is valid UTF-8.
 *
 * There is a resource for each service: service.name (service_identity.h); container.id,
 * k8s.pod.uid and host.name where known. Losses (`[lost: …]`) have no service. CPU time is
 * "samples" with the period of CPU time; other sources are amounts, such as "off_cpu" in
 * nanoseconds. PPROF_LABELS_ALL adds thread.name, thread.id, process.pid and
 * process.executable.path to samples.
 *
 * A profile's id is a hash of what it is about: host, service, source and time. The same profile
 * gives the same bytes.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "export/pprof.h"

/*
 * `host` may be NULL, and `attributes`, which all resources get: "name=value,name=value", valid
 * UTF-8. Needs the memory of pprof_write(), and holds the dictionary, up to OTLP_BYTES_MAX. Does
 * not flush `output`. Returns 0, -ENOMEM, -E2BIG, or the first error of `output`.
 */
int otlp_write(const struct profile *profile, enum pprof_labels labels, const char *host,
	const char *attributes, struct output *output);

/* Before compression, of a resource or of the dictionary; what servers are advised to accept. */
enum { OTLP_BYTES_MAX = 64 << 20 };

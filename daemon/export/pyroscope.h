/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as a PushRequest of Pyroscope: the body of a POST to
 * /push.v1.PusherService/Push, with "Content-Type: application/proto", of the series of
 * service_series.h.
 *
 * Format: https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

/*
 * As service_series_write(), but holds a series. Does not flush `output`. Also returns the first
 * error of `output`.
 */
int pyroscope_write(const struct profile *profile, const char *host, const char *attributes,
	struct output *output);

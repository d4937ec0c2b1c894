/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the probe that `record -e usdt:BINARY:PROVIDER:NAME` names. The user's process opens the
 * binary, and a process without privileges reads it (I6).
 */
#pragma once

#include "base/fault.h"
#include "capture/capture_probe.h"

/* "usdt:/usr/bin/python3:python:function__entry", borrowed from argv. */
struct record_probe_name {
	const char *path, *provider, *name;
	size_t path_size, provider_size, name_size;
};

/* Splits it. The path may contain ':'. Returns 0, or -EINVAL if a part is missing. */
int record_probe_name_parse(const char *text, size_t size, struct record_probe_name *ret_name);

/*
 * Opens the binary and finds the probe's places in it. Returns 0, and then the caller owns the
 * descriptor; or -errno with a fault.
 */
int record_probe_open(
	const struct record_probe_name *name, struct capture_probe *ret_probe, struct fault *fault);

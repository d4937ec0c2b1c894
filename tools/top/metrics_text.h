/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads single values from Prometheus' text format, which is hostile (I8). */
#pragma once

#include <stddef.h>

/*
 * Finds the first line of `series`, the name of a metric with its labels exactly as in the text:
 * "pilotlight_cpus", "x{role=\"engine\"}". Returns 0, -ENOENT if there is no such line, or -EINVAL
 * if its value is not a finite number.
 */
int metrics_text_find(const char *text, size_t size, const char *series, double *ret_value);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single values out of Prometheus' text format, which may come from anybody (I8). */
#pragma once

#include <stddef.h>

/*
 * The value of the first line of `series`: a metric's name, with its labels behind it as they are
 * written there ("pilotlight_cpus", "x{role=\"engine\"}"). Returns 0, -ENOENT where there is no
 * such line, or -EINVAL where its value is no finite number.
 */
int metrics_text_find(const char *text, size_t size, const char *series, double *ret_value);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws a heat map (query/heatmap.h): seconds from left to right, fractions of a second upward, the
 * darker the more samples (in dark themes the brighter). It has no script and refers to nothing. It
 * is described in words, and each column has a title that a browser shows.
 */
#pragma once

#include "base/output.h"
#include "query/heatmap.h"

enum { HEATMAP_POLICY_BYTES = 256 };

/* The Content-Security-Policy of both forms: a browser loads nothing and runs nothing. Returns
 * `policy`. */
const char *heatmap_policy_format(char policy[HEATMAP_POLICY_BYTES]);

/* Writes the picture; `title` is clean UTF-8. Errors are the output's. */
void heatmap_svg_write(const struct heatmap *heatmap, const char *title, struct output *output);

/* The same in an HTML page, with the columns that stand out in a table. */
void heatmap_html_write(const struct heatmap *heatmap, const char *title, struct output *output);

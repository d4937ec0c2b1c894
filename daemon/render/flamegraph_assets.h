/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The style and the script that every flame graph carries: flamegraph.css, and flamegraph.js with
 * the files that it builds on. */
#pragma once

extern const char flamegraph_css[], flamegraph_css_end[];
extern const char flamegraph_js[], flamegraph_js_end[];

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Content-Security-Policy of flame graphs. A browser then runs the script and applies the style
 * that we put into the picture, which it knows by their hashes, and loads nothing. If a name ever
 * got into the picture as markup, its script would not run.
 */
#pragma once

enum { FLAMEGRAPH_POLICY_BYTES = 512 };

/* For flamegraph_svg.h and difference_svg.h. Hashes some 30 KB. Returns `policy`. */
const char *flamegraph_policy_format(char policy[FLAMEGRAPH_POLICY_BYTES]);

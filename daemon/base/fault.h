/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sentence that a person reads when something fails: what failed, on what, why, and what to do.
 * Filled by the function that knows, printed once by whoever gives up.
 */
#pragma once

struct fault {
	char text[512];
};

/*
 * Fills `fault` (may be NULL) unless it already has a text, which is nearer to the cause. Returns
 * `error` for the caller to return in turn.
 */
int fault_set(struct fault *fault, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error message for the user: what failed, on what, why, and what to do next. The function that
 * detects the error fills it; the caller that gives up prints it once.
 */
#pragma once

struct fault {
	char text[512];
};

/*
 * Fills `fault` (may be NULL) unless it already has a text, since the first text is nearest to the
 * cause. Returns `error` for the caller to return in turn.
 */
int fault_set(struct fault *fault, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

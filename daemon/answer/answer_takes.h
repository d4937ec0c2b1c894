/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parameter is for which kind of answer, and for which formats. What a kind would ignore is
 * refused: else its user would believe that it was heeded.
 */
#pragma once

#include "answer/answer_request.h"
#include "base/fault.h"

#include <stdbool.h>

/* Parameters beside those of a selection and of metrics; each may be given once. */
enum answer_value {
	ANSWER_VALUE_FORMAT,
	ANSWER_VALUE_INCIDENT,
	ANSWER_VALUE_LINES,
	ANSWER_VALUE_RUNTIME_FRAMES,
	ANSWER_VALUE_GROUP,
	ANSWER_VALUE_ROWS,
	ANSWER_VALUE_FRAMES,
	ANSWER_VALUE_BELOW,
	ANSWER_VALUE_LABELS,
	ANSWER_VALUE_TIMES,
	ANSWER_VALUE_NORMALISE,
	ANSWER_VALUE_BUCKETS,
	ANSWER_VALUE_BY,
	/* Only sinks ask with these. */
	ANSWER_VALUE_ATTRIBUTES,
	ANSWER_VALUE_SAMPLE_HOSTS,
	ANSWER_VALUE_LATE_NAMES,
	ANSWER_VALUES,
};

/* Returns ANSWER_VALUES if the name is none of these. */
enum answer_value answer_value_find(const char *name);

/* May a client give this parameter, which may begin with "against."? */
bool answer_takes(enum answer_kind kind, const char *name);

/* The same of a parameter without "against.", for sinks, too. Returns 0, or -EINVAL with `fault`,
 * which names it. */
int answer_takes_check(enum answer_kind kind, const char *name, struct fault *fault);

/* Has it a meaning in this format? Returns 0, or -EINVAL with `fault`. */
int answer_takes_check_format(enum answer_value value, const char *format, struct fault *fault);

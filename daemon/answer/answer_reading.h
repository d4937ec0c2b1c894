/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to answer_parameters.c and answer_values.c. */
#pragma once

#include "answer/answer_parameters.h"
#include "answer/answer_takes.h"

/* The state of reading one request. */
struct reading {
	const struct answer_request *request;
	struct answer_parameters *parameters;
	const char *values[ANSWER_VALUES]; /* in the request; NULL: not given */
	bool has_against, has_against_time;
	struct fault *fault;
};

/* Checks the values that were kept, and sets the parameters. Returns 0, or -EINVAL with a fault. */
int answer_values_set(struct reading *reading);

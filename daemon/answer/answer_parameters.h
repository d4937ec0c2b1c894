/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of a request, checked: which parts of the history, and how they are shown. */
#pragma once

#include "answer/answer_request.h"
#include "base/fault.h"
#include "export/profile_format.h"
#include "query/profile_difference.h"
#include "query/selection.h"

#include <stdbool.h>

struct answer_parameters {
	/* Owned, and finished. A profile is that of DIFFERENCE_COMPARED, and has no other. */
	struct selection *sides[DIFFERENCE_SIDE_COUNT];
	const struct profile_format *format;
	bool by_line;
	enum pprof_labels pprof_labels;
	enum difference_whole whole;
};

/*
 * Returns 0; -EINVAL or -E2BIG with `fault`, which says what is wrong with which parameter;
 * -ENOMEM.
 */
int answer_parameters_read(const struct answer_request *request,
	struct answer_parameters *ret_parameters, struct fault *fault);
void answer_parameters_done(struct answer_parameters *parameters);

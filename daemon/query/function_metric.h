/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers from functions: how many samples of selected threads are in functions whose names match a
 * pattern. A pattern is tried once for each name of the profile, not for each sample.
 *
 * Names decide, so the profile must have been symbolized. A sample that does not match, but has a
 * frame without a name that could have matched, counts as unnamed: its name came too late, or
 * never.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "query/selection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_metric;

enum function_metric_group {
	FUNCTION_METRIC_WHOLE, /* one number */
	FUNCTION_METRIC_BY_UNIT,
	FUNCTION_METRIC_BY_CONTAINER,
	FUNCTION_METRIC_BY_COMM,
	FUNCTION_METRIC_GROUPS,
};

/* "none", "unit", "container", "comm". Returns FUNCTION_METRIC_GROUPS if the name is unknown. */
enum function_metric_group function_metric_group_find(const char *name);
const char *function_metric_group_name(enum function_metric_group group);

int function_metric_new(struct function_metric **ret_metric);
void function_metric_free(struct function_metric *metric);
DEFINE_CLEANUP(struct function_metric, function_metric_free);

/*
 * Sets what is counted. Without a selection, all threads count; without a pattern, all functions.
 * They return 0, -ENOMEM, or -EINVAL or -E2BIG with `fault`.
 */
/* `name` is a parameter of a selection that tells threads of one process from those of others
 * without numbers of processes: comm, thread, exe, unit, slice, cgroup, container, pod, user. */
int function_metric_select(
	struct function_metric *metric, const char *name, const char *value, struct fault *fault);
int function_metric_set_pattern(
	struct function_metric *metric, const char *pattern, struct fault *fault);
/* Counts only samples that were taken in the function itself. */
void function_metric_set_self(struct function_metric *metric, bool is_self);
void function_metric_set_group(struct function_metric *metric, enum function_metric_group group);

struct function_metric_sum {
	char label[128]; /* of the group; "": none. Valid UTF-8, cut at its end */
	uint64_t samples;
};

struct function_metric_result {
	uint64_t selected, unnamed;	  /* samples; those that match are among the selected */
	struct function_metric_sum *sums; /* owned; the greatest first, none is 0 */
	size_t count;
};

/* Returns 0 or -ENOMEM. After 0 the caller releases the result. */
int function_metric_run(struct function_metric *metric, const struct profile *profile,
	struct function_metric_result *ret_result);
void function_metric_result_done(struct function_metric_result *result);

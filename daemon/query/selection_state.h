/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to query/selection*.c: the values of a selection and how they match the history. */
#pragma once

#include "query/selection.h"

enum selection_parameter {
	SELECTION_LAST,
	SELECTION_FROM,
	SELECTION_TO,
	SELECTION_TIMES, /* the number of parameters of time */
	SELECTION_EVENT = SELECTION_TIMES,
	SELECTION_WINDOWS,
	SELECTION_TRACE,
	SELECTION_SPAN,
	SELECTION_FILTERS, /* the first parameter that filters */
	SELECTION_PID = SELECTION_FILTERS,
	SELECTION_TID,
	SELECTION_USER,
	SELECTION_COMM,
	SELECTION_THREAD,
	SELECTION_EXE,
	SELECTION_UNIT,
	SELECTION_SLICE,
	SELECTION_CGROUP,
	SELECTION_CONTAINER,
	SELECTION_POD,
	SELECTION_SERVICE,
	SELECTION_BUILD_ID,
	SELECTION_PARAMETERS,
};

struct selection_value {
	char *text; /* owned, clean and normalized: unit "nginx" is "nginx.service" */
	uint32_t number;
	uint8_t parameter;	/* enum selection_parameter */
	bool is_glob, is_exact; /* at most one of them */
};

enum { SELECTION_NAME_BYTES = 96 };

/* Names seen in the history, most similar to the value first. */
struct selection_names {
	const char *pointers[SELECTION_SEEN_MAX];
	char texts[SELECTION_SEEN_MAX][SELECTION_NAME_BYTES];
	size_t similarity[SELECTION_SEEN_MAX];
	size_t count;
};

struct selection {
	struct selection_value values[SELECTION_VALUES_MAX];
	size_t count;
	bool is_given[SELECTION_PARAMETERS];
	uint32_t owner; /* of selection_restrict(); 0: none */
	struct span_choice spans;
	uint64_t start_ns, end_ns;
	char *text;
	size_t time_size; /* of the time, with which the text begins */

	/* Results of the last read of the history. */
	bool has_matched[SELECTION_PARAMETERS];
	struct selection_names seen[SELECTION_PARAMETERS];
};

/* "unit" */
const char *selection_parameter_name(enum selection_parameter parameter);

/* Returns SELECTION_PARAMETERS if the name is unknown. */
enum selection_parameter selection_parameter_find(const char *name);

/*
 * Brings a clean value into the form that is compared; the caller owns `ret_text`. Returns 0,
 * -ENOMEM, or -EINVAL with `ret_hint`, which says what the parameter takes.
 */
int selection_parameter_normalize(enum selection_parameter parameter, const char *value,
	char **ret_text, bool *ret_is_glob, const char **ret_hint);

/* Callbacks for struct store_selection; `context` is the selection. */
bool selection_matches_thread(void *context, const struct store_thread *thread);
bool selection_matches_binary(void *context, const struct profile_binary *binary, const char *path);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to query/selection*.c: a selection's values, and how they meet what the history has. */
#pragma once

#include "query/selection.h"

enum selection_parameter {
	SELECTION_LAST,
	SELECTION_FROM,
	SELECTION_TO,
	SELECTION_TIMES, /* those above */
	SELECTION_EVENT = SELECTION_TIMES,
	SELECTION_FILTERS, /* those below */
	SELECTION_PID = SELECTION_FILTERS,
	SELECTION_TID,
	SELECTION_COMM,
	SELECTION_THREAD,
	SELECTION_EXE,
	SELECTION_UNIT,
	SELECTION_SLICE,
	SELECTION_CGROUP,
	SELECTION_CONTAINER,
	SELECTION_POD,
	SELECTION_BUILD_ID,
	SELECTION_PARAMETERS,
};

struct selection_value {
	char *text; /* owned; clean, and as it is compared: "nginx" of unit is "nginx.service" */
	uint32_t number;
	uint8_t parameter; /* enum selection_parameter */
	bool is_glob;
};

enum { SELECTION_NAME_BYTES = 96 };

/* Names that were come by, the likest first. */
struct selection_names {
	const char *pointers[SELECTION_SEEN_MAX];
	char texts[SELECTION_SEEN_MAX][SELECTION_NAME_BYTES];
	size_t likeness[SELECTION_SEEN_MAX];
	size_t count;
};

struct selection {
	struct selection_value values[SELECTION_VALUES_MAX];
	size_t count;
	bool is_given[SELECTION_PARAMETERS];
	uint64_t start_ns, end_ns;
	char *text;

	/* Of the last reading. */
	bool has_matched[SELECTION_PARAMETERS];
	struct selection_names seen[SELECTION_PARAMETERS];
};

/* "unit" */
const char *selection_parameter_name(enum selection_parameter parameter);

/* The value of one that is given once; NULL: it is not. */
const char *selection_value_of(
	const struct selection *selection, enum selection_parameter parameter);

/* Makes `text`. Returns 0 or -ENOMEM. */
int selection_describe(struct selection *selection);

/* store_selection's; `context` is the selection. */
bool selection_wants_thread(void *context, const struct store_thread *thread);
bool selection_wants_binary(void *context, const struct profile_binary *binary, const char *path);

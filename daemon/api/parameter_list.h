/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of a request in the form that a query process takes (answer/answer_request.h), and
 * bounded by its limit. This file checks the names, by answer/answer_takes.h; the query process
 * checks the values.
 */
#pragma once

#include <stddef.h>

struct http_request;

enum parameter_route {
	PARAMETERS_PROFILE,
	PARAMETERS_DIFFERENCE,
	PARAMETERS_NEW_PROFILE, /* accepts no time but "seconds", and does not add that */
	PARAMETERS_HEATMAP,
	PARAMETERS_TIMELINE,
	PARAMETERS_INCIDENTS,
};

struct parameter_list {
	char *bytes; /* owned: NAME, NUL, VALUE, NUL and so on */
	size_t size, capacity;
};

void parameter_list_done(struct parameter_list *list);

/* Returns 0, -E2BIG or -ENOMEM. */
int parameter_list_add(struct parameter_list *list, const char *name, const char *value);

/*
 * Adds all parameters of a request. Returns 0, -E2BIG, -ENOMEM, or -EINVAL with the first name that
 * the route does not know, borrowed from the request.
 */
int parameter_list_read(struct parameter_list *list, enum parameter_route route,
	const struct http_request *request, const char **ret_unknown);

/*
 * The first parameter whose name is not in the list, which ends with NULL; NULL: all are. Borrowed
 * from the request. For routes that need no query process.
 */
const char *parameter_find_unknown(const struct http_request *request, const char *const *known);

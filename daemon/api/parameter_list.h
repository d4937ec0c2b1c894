/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of a request as a query process takes them (answer/answer_request.h), bounded by
 * what it takes. Whether a name is known is asked here, what its value may be there.
 */
#pragma once

#include <stddef.h>

struct http_request;

enum parameter_route {
	PARAMETERS_PROFILE,
	PARAMETERS_DIFFERENCE,
	PARAMETERS_NEW_PROFILE, /* of a time to come: no times but "seconds", which is not kept */
};

struct parameter_list {
	char *bytes; /* owned: NAME, NUL, VALUE, NUL and so on */
	size_t size, capacity;
};

void parameter_list_done(struct parameter_list *list);

/* Returns 0, -E2BIG or -ENOMEM. */
int parameter_list_add(struct parameter_list *list, const char *name, const char *value);

/*
 * Adds all of a request. Returns as the above; or -EINVAL and the first name that the route does
 * not know, borrowed from the request.
 */
int parameter_list_take(struct parameter_list *list, enum parameter_route route,
	const struct http_request *request, const char **ret_unknown);

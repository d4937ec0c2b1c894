/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/parameter_list.h"

#include "answer/answer_request.h"
#include "base/array.h"
#include "query/selection.h"
#include "serve/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct parameter_list *list;
	enum parameter_route route;
	const char *unknown;
};

void parameter_list_done(struct parameter_list *list)
{
	free(list->bytes);
	*list = (struct parameter_list){ 0 };
}

int parameter_list_add(struct parameter_list *list, const char *name, const char *value)
{
	size_t name_bytes = strlen(name) + 1, value_bytes = strlen(value) + 1;
	int r = ARRAY_RESERVE(list->bytes, &list->capacity, list->size + name_bytes + value_bytes,
		ANSWER_PARAMETERS_BYTES);

	if (r < 0)
		return r;
	memcpy(list->bytes + list->size, name, name_bytes);
	memcpy(list->bytes + list->size + name_bytes, value, value_bytes);
	list->size += name_bytes + value_bytes;
	return 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static bool is_known(enum parameter_route route, const char *name)
{
	static const char *const of_profile[] = { "below", "format", "frames", "fresh", "group",
		"incident", "labels", "lines", "rows", "runtime-frames", "times", NULL };
	static const char *const of_difference[] = { "format", "group", "incident", "lines",
		"normalise", "rows", "runtime-frames", NULL };
	static const char *const of_heatmap[] = { "format", "incident", NULL };
	static const char *const of_new[] = { "seconds", "labels", "lines", "runtime-frames",
		NULL };
	static const char against[] = "against.";

	switch (route) {
	case PARAMETERS_PROFILE:
		return selection_has_parameter(name) || is_one_of(name, of_profile);
	case PARAMETERS_DIFFERENCE:
		if (strncmp(name, against, sizeof(against) - 1) == 0)
			return selection_has_parameter(name + sizeof(against) - 1);
		return selection_has_parameter(name) || is_one_of(name, of_difference);
	case PARAMETERS_HEATMAP:
		return selection_has_parameter(name) || is_one_of(name, of_heatmap);
	case PARAMETERS_TIMELINE:
		return selection_has_parameter(name) || strcmp(name, "buckets") == 0 ||
		       strcmp(name, "by") == 0;
	case PARAMETERS_INCIDENTS:
		return strcmp(name, "format") == 0 || strcmp(name, "incident") == 0;
	case PARAMETERS_NEW_PROFILE:
		return (selection_has_parameter(name) && !selection_is_time(name)) ||
		       is_one_of(name, of_new);
	}
	return false;
}

static int add_known(void *context, const char *name, const char *value)
{
	struct reading *reading = context;

	if (!is_known(reading->route, name)) {
		reading->unknown = name;
		return -EINVAL;
	}
	/* Those of the route itself. */
	if (strcmp(name, "seconds") == 0 || strcmp(name, "fresh") == 0)
		return 0;
	return parameter_list_add(reading->list, name, value);
}

int parameter_list_read(struct parameter_list *list, enum parameter_route route,
	const struct http_request *request, const char **ret_unknown)
{
	struct reading reading = { .list = list, .route = route };
	int r = http_request_each(request, add_known, &reading);

	if (r == -EINVAL)
		*ret_unknown = reading.unknown;
	return r;
}

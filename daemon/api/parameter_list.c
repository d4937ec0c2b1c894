/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/parameter_list.h"

#include "answer/answer_request.h"
#include "answer/answer_takes.h"
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

/* Its times and its format are the route's. */
static bool is_for_new_profile(const char *name)
{
	const enum answer_value value = answer_value_find(name);

	return value == ANSWER_VALUE_LABELS || value == ANSWER_VALUE_LINES ||
	       value == ANSWER_VALUE_RUNTIME_FRAMES || strcmp(name, "seconds") == 0 ||
	       (selection_has_parameter(name) && !selection_is_time(name));
}

static bool is_known(enum parameter_route route, const char *name)
{
	switch (route) {
	case PARAMETERS_PROFILE:
		return answer_takes(ANSWER_PROFILE, name) || strcmp(name, "fresh") == 0;
	case PARAMETERS_DIFFERENCE:
		return answer_takes(ANSWER_DIFFERENCE, name);
	case PARAMETERS_HEATMAP:
		return answer_takes(ANSWER_HEATMAP, name);
	case PARAMETERS_TIMELINE:
		return answer_takes(ANSWER_TIMELINE, name);
	case PARAMETERS_INCIDENTS:
		return answer_takes(ANSWER_INCIDENTS, name);
	case PARAMETERS_NEW_PROFILE:
		return is_for_new_profile(name);
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

struct names {
	const char *const *known;
	const char *unknown;
};

static int find_unknown(void *context, const char *name, const char *value)
{
	struct names *names = context;

	(void)value;
	for (size_t i = 0; names->known[i]; i++)
		if (strcmp(name, names->known[i]) == 0)
			return 0;
	names->unknown = name;
	return 1;
}

const char *parameter_find_unknown(const struct http_request *request, const char *const *known)
{
	struct names names = { .known = known };

	(void)http_request_each(request, find_unknown, &names);
	return names.unknown;
}

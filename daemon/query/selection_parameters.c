/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of a selection: their names, and how a value is normalized for comparison. */
#include "base/array.h"
#include "base/build_id.h"
#include "base/utf8.h"
#include "query/selection_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COMM_BYTES = 15 }; /* the kernel cuts a longer thread name */

/* Brings a value into the form that is compared. Returns 0, -ENOMEM, or -EINVAL with `ret_hint`. */
typedef int (*normalize_function)(const char *text, char **ret_text, const char **ret_hint);

static int copy(const char *text, char **ret_text, const char **ret_hint)
{
	char *duplicate = strdup(text);

	(void)ret_hint;
	if (!duplicate)
		return -ENOMEM;
	*ret_text = duplicate;
	return 0;
}

static bool is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static bool has_ending(const char *text, const char *ending)
{
	size_t size = strlen(text), ending_size = strlen(ending);

	return size > ending_size && strcmp(text + size - ending_size, ending) == 0;
}

static int join(const char *first, const char *second, char **ret_text)
{
	size_t first_size = strlen(first), second_size = strlen(second);
	char *text = malloc(first_size + second_size + 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, first, first_size);
	memcpy(text + first_size, second, second_size + 1);
	*ret_text = text;
	return 0;
}

static int normalize_number(const char *text, char **ret_text, const char **ret_hint)
{
	size_t digits = strspn(text, "0123456789");

	if (text[digits] || digits > 10 || strtoull(text, NULL, 10) > INT32_MAX ||
		strtoull(text, NULL, 10) == 0) {
		*ret_hint = "it takes a number such as 1234";
		return -EINVAL;
	}
	return copy(text, ret_text, ret_hint);
}

/* Names of users are not known here: the file of users is out of a query's reach. */
static int normalize_user(const char *text, char **ret_text, const char **ret_hint)
{
	size_t digits = strspn(text, "0123456789");

	/* The last one is no user's: (uid_t)-1. */
	if (digits == 0 || text[digits] || digits > 10 || strtoull(text, NULL, 10) >= UINT32_MAX) {
		*ret_hint = "it takes a user's number such as 1000";
		return -EINVAL;
	}
	return copy(text, ret_text, ret_hint);
}

/* Longer names are cut as the kernel cuts them, then cleaned as history does: the cut may split a
 * character. */
static int normalize_comm(const char *text, char **ret_text, const char **ret_hint)
{
	char cut[UTF8_CLEAN_BYTES];

	if (is_glob(text) || strlen(text) <= COMM_BYTES)
		return copy(text, ret_text, ret_hint);
	(void)utf8_clean(cut, text, COMM_BYTES);
	return copy(cut, ret_text, ret_hint);
}

static int normalize_unit(const char *text, char **ret_text, const char **ret_hint)
{
	static const char *const endings[] = { ".service", ".scope", ".mount", ".socket", ".swap",
		".slice" };

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (has_ending(text, endings[i]))
			return copy(text, ret_text, ret_hint);
	return is_glob(text) ? copy(text, ret_text, ret_hint) : join(text, ".service", ret_text);
}

static int normalize_slice(const char *text, char **ret_text, const char **ret_hint)
{
	return is_glob(text) || has_ending(text, ".slice") ? copy(text, ret_text, ret_hint)
							   : join(text, ".slice", ret_text);
}

/* "/" becomes "", which is above every cgroup. */
static int normalize_cgroup(const char *text, char **ret_text, const char **ret_hint)
{
	size_t size = strlen(text);
	int r = text[0] == '/' || text[0] == '*' ? copy(text, ret_text, ret_hint)
						 : join("/", text, ret_text);

	if (r == 0)
		for (size = strlen(*ret_text); size > 0 && (*ret_text)[size - 1] == '/'; size--)
			(*ret_text)[size - 1] = '\0';
	return r;
}

static int normalize_build_id(const char *text, char **ret_text, const char **ret_hint)
{
	size_t size = strspn(text, "0123456789abcdefABCDEF");
	int r;

	if (text[size] || size > 2UL * BUILD_ID_BYTES) {
		*ret_hint = "it takes hexadecimal digits, 40 at most";
		return -EINVAL;
	}
	r = copy(text, ret_text, ret_hint);
	for (size_t i = 0; r == 0 && i < size; i++)
		if ((*ret_text)[i] >= 'A' && (*ret_text)[i] <= 'F')
			(*ret_text)[i] += 'a' - 'A';
	return r;
}

static int normalize_windows(const char *text, char **ret_text, const char **ret_hint)
{
	if (strcmp(text, "overlapping") != 0 && strcmp(text, "ended") != 0 &&
		strcmp(text, "exact") != 0) {
		*ret_hint = "it takes overlapping, ended or exact";
		return -EINVAL;
	}
	return copy(text, ret_text, ret_hint);
}

static int normalize_trace(const char *text, char **ret_text, const char **ret_hint)
{
	struct span_choice choice = { 0 };

	*ret_hint = "it takes the 32 hexadecimal digits of a trace's id";
	return span_choice_set_trace(&choice, text) < 0 ? -EINVAL : copy(text, ret_text, ret_hint);
}

static int normalize_span(const char *text, char **ret_text, const char **ret_hint)
{
	struct span_choice choice = { 0 };

	*ret_hint = "it takes the 16 hexadecimal digits of a span's id";
	return span_choice_set_span(&choice, text) < 0 ? -EINVAL : copy(text, ret_text, ret_hint);
}

static const struct {
	const char *name;
	normalize_function normalize;
	bool is_literal; /* never a glob */
} parameters[SELECTION_PARAMETERS] = {
	[SELECTION_LAST] = { "last", copy, true },
	[SELECTION_FROM] = { "from", copy, true },
	[SELECTION_TO] = { "to", copy, true },
	[SELECTION_EVENT] = { "event", copy, true },
	[SELECTION_WINDOWS] = { "windows", normalize_windows, true },
	[SELECTION_TRACE] = { "trace", normalize_trace, true },
	[SELECTION_SPAN] = { "span", normalize_span, true },
	[SELECTION_PID] = { "pid", normalize_number, true },
	[SELECTION_TID] = { "tid", normalize_number, true },
	[SELECTION_USER] = { "user", normalize_user, true },
	[SELECTION_COMM] = { "comm", normalize_comm, false },
	[SELECTION_THREAD] = { "thread", normalize_comm, false },
	[SELECTION_EXE] = { "exe", copy, false },
	[SELECTION_UNIT] = { "unit", normalize_unit, false },
	[SELECTION_SLICE] = { "slice", normalize_slice, false },
	[SELECTION_CGROUP] = { "cgroup", normalize_cgroup, false },
	[SELECTION_CONTAINER] = { "container", copy, false },
	[SELECTION_POD] = { "pod", copy, false },
	[SELECTION_SERVICE] = { "service", copy, false },
	[SELECTION_BUILD_ID] = { "build-id", normalize_build_id, true },
};

const char *selection_parameter_name(enum selection_parameter parameter)
{
	return parameters[parameter].name;
}

enum selection_parameter selection_parameter_find(const char *name)
{
	enum selection_parameter i = 0;

	while (i < SELECTION_PARAMETERS && strcmp(parameters[i].name, name) != 0)
		i++;
	return i;
}

int selection_parameter_normalize(enum selection_parameter parameter, const char *value,
	char **ret_text, bool *ret_is_glob, const char **ret_hint)
{
	int r = parameters[parameter].normalize(value, ret_text, ret_hint);

	if (r == 0)
		*ret_is_glob = !parameters[parameter].is_literal && is_glob(*ret_text);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "query/selection_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAST_DEFAULT_NS (600ULL * 1000000000ULL)

enum { COMM_BYTES = 15 }; /* what the kernel keeps of a thread's name */

/* Makes what is compared of what was given: 0, -ENOMEM, or -EINVAL with `hint`. */
typedef int (*normalize_function)(const char *text, char **ret_text, const char **hint);

static int keep(const char *text, char **ret_text, const char **hint)
{
	char *copy = strdup(text);

	(void)hint;
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
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

static int normalize_number(const char *text, char **ret_text, const char **hint)
{
	size_t digits = strspn(text, "0123456789");

	if (text[digits] || digits > 10 || strtoull(text, NULL, 10) > INT32_MAX ||
		strtoull(text, NULL, 10) == 0) {
		*hint = "it takes a number such as 1234";
		return -EINVAL;
	}
	return keep(text, ret_text, hint);
}

/* The kernel has cut what is longer, be it within a character, and history has made it clean. */
static int normalize_comm(const char *text, char **ret_text, const char **hint)
{
	char cut[UTF8_CLEAN_BYTES];

	if (is_glob(text) || strlen(text) <= COMM_BYTES)
		return keep(text, ret_text, hint);
	(void)utf8_clean(cut, text, COMM_BYTES);
	return keep(cut, ret_text, hint);
}

static int normalize_unit(const char *text, char **ret_text, const char **hint)
{
	static const char *const endings[] = { ".service", ".scope", ".mount", ".socket", ".swap",
		".slice" };

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (has_ending(text, endings[i]))
			return keep(text, ret_text, hint);
	return is_glob(text) ? keep(text, ret_text, hint) : join(text, ".service", ret_text);
}

static int normalize_slice(const char *text, char **ret_text, const char **hint)
{
	return is_glob(text) || has_ending(text, ".slice") ? keep(text, ret_text, hint)
							   : join(text, ".slice", ret_text);
}

/* "/" is all of them. */
static int normalize_cgroup(const char *text, char **ret_text, const char **hint)
{
	size_t size = strlen(text);
	int r = text[0] == '/' || text[0] == '*' ? keep(text, ret_text, hint)
						 : join("/", text, ret_text);

	if (r == 0)
		for (size = strlen(*ret_text); size > 0 && (*ret_text)[size - 1] == '/'; size--)
			(*ret_text)[size - 1] = '\0';
	return r;
}

static int normalize_build_id(const char *text, char **ret_text, const char **hint)
{
	size_t size = strspn(text, "0123456789abcdefABCDEF");
	int r;

	if (text[size] || size > 2UL * BUILD_ID_BYTES) {
		*hint = "it takes hexadecimal digits, 40 at most";
		return -EINVAL;
	}
	r = keep(text, ret_text, hint);
	for (size_t i = 0; r == 0 && i < size; i++)
		if ((*ret_text)[i] >= 'A' && (*ret_text)[i] <= 'F')
			(*ret_text)[i] += 'a' - 'A';
	return r;
}

static const struct {
	const char *name;
	normalize_function normalize;
	bool is_literal; /* never a glob */
} parameters[SELECTION_PARAMETERS] = {
	[SELECTION_LAST] = { "last", keep, true },
	[SELECTION_FROM] = { "from", keep, true },
	[SELECTION_TO] = { "to", keep, true },
	[SELECTION_EVENT] = { "event", keep, true },
	[SELECTION_PID] = { "pid", normalize_number, true },
	[SELECTION_TID] = { "tid", normalize_number, true },
	[SELECTION_COMM] = { "comm", normalize_comm, false },
	[SELECTION_THREAD] = { "thread", normalize_comm, false },
	[SELECTION_EXE] = { "exe", keep, false },
	[SELECTION_UNIT] = { "unit", normalize_unit, false },
	[SELECTION_SLICE] = { "slice", normalize_slice, false },
	[SELECTION_CGROUP] = { "cgroup", normalize_cgroup, false },
	[SELECTION_CONTAINER] = { "container", keep, false },
	[SELECTION_POD] = { "pod", keep, false },
	[SELECTION_BUILD_ID] = { "build-id", normalize_build_id, true },
};

const char *selection_parameter_name(enum selection_parameter parameter)
{
	return parameters[parameter].name;
}

static enum selection_parameter find_parameter(const char *name)
{
	enum selection_parameter i = 0;

	while (i < SELECTION_PARAMETERS && strcmp(parameters[i].name, name) != 0)
		i++;
	return i;
}

bool selection_has_parameter(const char *name)
{
	return find_parameter(name) < SELECTION_PARAMETERS;
}

bool selection_is_time(const char *name)
{
	return find_parameter(name) < SELECTION_TIMES;
}

int selection_new(struct selection **ret_selection)
{
	struct selection *selection = calloc(1, sizeof(*selection));

	if (!selection)
		return -ENOMEM;
	for (enum selection_parameter i = 0; i < SELECTION_PARAMETERS; i++)
		for (size_t j = 0; j < SELECTION_SEEN_MAX; j++)
			selection->seen[i].pointers[j] = selection->seen[i].texts[j];
	*ret_selection = selection;
	return 0;
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; i < selection->count; i++)
		free(selection->values[i].text);
	free(selection->text);
	free(selection);
}

static int check(const struct selection *selection, enum selection_parameter parameter,
	const char *name, const char *value, struct fault *fault)
{
	if (parameter == SELECTION_PARAMETERS)
		return fault_set(fault, -EINVAL, "there is no parameter \"%s\"", name);
	if (strlen(value) > SELECTION_VALUE_BYTES_MAX)
		return fault_set(fault, -E2BIG, "%s is longer than %d bytes; a glob may be shorter",
			name, SELECTION_VALUE_BYTES_MAX);
	if (selection->count == SELECTION_VALUES_MAX)
		return fault_set(fault, -E2BIG,
			"more than %d values select; a glob may stand for several, or a slice",
			SELECTION_VALUES_MAX);
	if (!value[0])
		return fault_set(fault, -EINVAL, "%s has no value", name);
	if (parameter < SELECTION_FILTERS && selection->is_given[parameter])
		return fault_set(fault, -EINVAL, "%s is given twice; give it once", name);
	return 0;
}

int selection_add(
	struct selection *selection, const char *name, const char *value, struct fault *fault)
{
	enum selection_parameter parameter = find_parameter(name);
	struct selection_value *added = &selection->values[selection->count];
	char clean[UTF8_CLEAN_BYTES];
	const char *hint = NULL;
	char *text;
	int r;

	r = check(selection, parameter, name, value, fault);
	if (r < 0)
		return r;
	(void)utf8_clean(clean, value, strlen(value));
	r = parameters[parameter].normalize(clean, &text, &hint);
	if (r == -EINVAL)
		return fault_set(fault, r, "%s is \"%.40s\", but %s", name, clean, hint);
	if (r < 0)
		return r;
	*added = (struct selection_value){
		.text = text,
		.parameter = (uint8_t)parameter,
		.is_glob = !parameters[parameter].is_literal && is_glob(text),
	};
	if (parameter == SELECTION_PID || parameter == SELECTION_TID)
		added->number = (uint32_t)strtoul(text, NULL, 10);
	selection->is_given[parameter] = true;
	selection->count++;
	return 0;
}

const char *selection_value_of(
	const struct selection *selection, enum selection_parameter parameter)
{
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == parameter)
			return selection->values[i].text;
	return NULL;
}

/* --- times --- */

static int wrong_time(struct fault *fault, const char *name, const struct fault *reason)
{
	return fault_set(fault, -EINVAL, "%s: %s", name, reason->text);
}

/* "03:12", and what may stand behind it. */
static bool is_time_of_day(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && text[digits] == ':';
}

static int parse_end(const char *text, uint64_t start_ns, bool has_start, uint64_t now_ns,
	uint64_t *ret_ns, struct fault *fault)
{
	/* From the start: of its day or the next one, which may be of 23 or of 25 hours. */
	static const uint64_t hours[] = { 0, 22, 26 };
	const uint64_t hour_ns = 3600 * 1000000000ULL;
	const char *at = text + strspn(text, " \t");
	bool is_of_day = is_time_of_day(at);
	uint64_t ns = 0;
	int r = 0;

	if (!has_start || (!is_of_day && *at != '+'))
		return time_text_parse(text, now_ns, ret_ns, fault);
	for (size_t i = 0; r == 0 && ns <= start_ns && i < (is_of_day ? ARRAY_SIZE(hours) : 1); i++)
		if (start_ns < UINT64_MAX - hours[i] * hour_ns)
			r = time_text_parse(text, start_ns + hours[i] * hour_ns, &ns, fault);
	if (r == 0)
		*ret_ns = ns;
	return r;
}

static int settle(struct selection *selection, uint64_t now_ns, struct fault *fault)
{
	const char *last = selection_value_of(selection, SELECTION_LAST);
	const char *from = selection_value_of(selection, SELECTION_FROM);
	const char *to = selection_value_of(selection, SELECTION_TO);
	uint64_t start_ns = 0, end_ns = now_ns, last_ns = LAST_DEFAULT_NS;
	struct fault reason = { 0 };

	if (last && from)
		return fault_set(
			fault, -EINVAL, "last and from both tell the beginning; give one of them");
	if (last && time_text_parse_duration(last, &last_ns, &reason) < 0)
		return wrong_time(fault, "last", &reason);
	if (from && time_text_parse(from, now_ns, &start_ns, &reason) < 0)
		return wrong_time(fault, "from", &reason);
	if (to && parse_end(to, start_ns, from, now_ns, &end_ns, &reason) < 0)
		return wrong_time(fault, "to", &reason);
	if (last || (!from && !to))
		start_ns = end_ns > last_ns ? end_ns - last_ns : 0;
	if (from && !to && start_ns >= now_ns)
		return fault_set(fault, -EINVAL,
			"from is \"%.40s\", which is yet to come; before midnight was \"yesterday "
			"03:12\"",
			from);
	if (start_ns >= end_ns)
		return fault_set(fault, -EINVAL, "the end is not after the beginning");
	selection->start_ns = start_ns;
	selection->end_ns = end_ns;
	return 0;
}

int selection_finish(struct selection *selection, uint64_t now_ns, struct fault *fault)
{
	int r = settle(selection, now_ns, fault);

	return r < 0 ? r : selection_describe(selection);
}

/* --- of one that is finished --- */

void selection_store(struct selection *selection, struct store_selection *ret_selection)
{
	const bool *is_given = selection->is_given;
	bool has_processes = is_given[SELECTION_PID] || is_given[SELECTION_TID];
	bool has_threads = false;

	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_PARAMETERS; i++) {
		selection->has_matched[i] = false;
		selection->seen[i].count = 0;
		if (i != SELECTION_BUILD_ID)
			has_threads = has_threads || is_given[i];
	}
	*ret_selection = (struct store_selection){
		.start_ns = selection->start_ns,
		.end_ns = selection->end_ns,
		.merges_threads = !has_processes,
		.wants_processes = has_processes,
		.wants_thread = has_threads ? selection_wants_thread : NULL,
		.wants_binary = is_given[SELECTION_BUILD_ID] ? selection_wants_binary : NULL,
		.event = selection_value_of(selection, SELECTION_EVENT),
		.context = selection,
	};
}

bool selection_has_event(const struct selection *selection)
{
	return selection->is_given[SELECTION_EVENT];
}

bool selection_has_filter(const struct selection *selection)
{
	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_PARAMETERS; i++)
		if (selection->is_given[i])
			return true;
	return false;
}

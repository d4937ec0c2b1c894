/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches threads and binaries of the history against a selection. A match takes a million steps at
 * most: strings of the history have 1 KiB at most (base/string_pool.h), values are no longer, and
 * fnmatch(3) of glibc backtracks to the last '*' only.
 */
#include "labels/cgroup_path.h"
#include "labels/process_claims.h"
#include "query/selection_state.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PART_BYTES = 1280 };

/* What parameters are compared with: a thread and the labels of its cgroup. */
struct subject {
	const struct store_thread *thread;
	struct cgroup_labels labels;
};

static bool is_like(const struct selection_value *value, const char *text, int flags)
{
	return value->is_glob ? fnmatch(value->text, text, FNM_NOESCAPE | flags) == 0
			      : strcmp(value->text, text) == 0;
}

static bool begins_like(const struct selection_value *value, const char *text)
{
	return value->is_glob || value->is_exact
		       ? is_like(value, text, 0)
		       : strncmp(value->text, text, strlen(value->text)) == 0;
}

static const char *copy_part(const struct path_part *part, char text[PART_BYTES])
{
	size_t size = part->size < PART_BYTES ? part->size : PART_BYTES - 1;

	if (size > 0)
		memcpy(text, part->text, size);
	text[size] = '\0';
	return text;
}

static bool matches_unit(const struct selection_value *value, const struct path_part *unit)
{
	char text[PART_BYTES];

	if (is_like(value, copy_part(unit, text), 0))
		return true;
	(void)cgroup_unit_unescape(unit, text, sizeof(text));
	return is_like(value, text, 0);
}

static bool is_slice(const struct path_part *part)
{
	static const char ending[] = ".slice";
	size_t size = sizeof(ending) - 1;

	return part->size > size && memcmp(part->text + part->size - size, ending, size) == 0;
}

/* Compares every slice on the path of the cgroup. */
static bool matches_slice(const struct selection_value *value, const char *path)
{
	char text[PART_BYTES];
	bool has_slice = false;

	while (*path) {
		struct path_part part = { .text = path, .size = strcspn(path, "/") };

		path += part.size;
		path += *path == '/';
		if (!is_slice(&part))
			continue;
		has_slice = true;
		if (is_like(value, copy_part(&part, text), 0))
			return true;
	}
	return !has_slice && is_like(value, "", 0);
}

static bool matches_cgroup(const struct selection_value *value, const char *path)
{
	size_t size = strlen(value->text);

	if (value->is_glob)
		return is_like(value, path, FNM_LEADING_DIR);
	return strncmp(value->text, path, size) == 0 && (path[size] == '/' || !path[size]);
}

static bool matches_exe(const struct selection_value *value, const char *path)
{
	const char *slash = strrchr(path, '/');

	return is_like(value, !strchr(value->text, '/') && slash ? slash + 1 : path, 0);
}

static bool matches(const struct selection_value *value, const struct subject *subject)
{
	const struct store_thread *thread = subject->thread;
	char text[PART_BYTES];

	switch ((enum selection_parameter)value->parameter) {
	case SELECTION_PID:
		return thread->tgid == value->number;
	case SELECTION_TID:
		return thread->tid == value->number;
	case SELECTION_USER:
		return thread->owner == value->number + 1;
	case SELECTION_COMM:
	case SELECTION_THREAD:
		return is_like(value, thread->comm, 0);
	case SELECTION_EXE:
		return matches_exe(value, thread->exe);
	case SELECTION_UNIT:
		return matches_unit(value, &subject->labels.unit) ||
		       matches_unit(value, &subject->labels.user_unit);
	case SELECTION_SLICE:
		return matches_slice(value, thread->cgroup);
	case SELECTION_CGROUP:
		return matches_cgroup(value, thread->cgroup);
	case SELECTION_CONTAINER:
		return begins_like(value, copy_part(&subject->labels.container, text));
	case SELECTION_POD:
		return begins_like(value, subject->labels.pod_uid);
	case SELECTION_SERVICE:
		return is_like(value, process_claims_get(thread->claims, CLAIM_SERVICE, text), 0);
	default:
		return true;
	}
}

/* The name to suggest to the user; "": none. */
static void name_subject(
	enum selection_parameter parameter, const struct subject *subject, char name[PART_BYTES])
{
	const struct cgroup_labels *labels = &subject->labels;
	const struct store_thread *thread = subject->thread;
	const char *text = "";

	switch (parameter) {
	case SELECTION_PID:
	case SELECTION_TID:
		(void)snprintf(name, PART_BYTES, "%" PRIu32,
			parameter == SELECTION_PID ? thread->tgid : thread->tid);
		return;
	case SELECTION_USER:
		(void)snprintf(name, PART_BYTES, "%" PRIu32, thread->owner - 1);
		if (thread->owner == 0)
			name[0] = '\0';
		return;
	case SELECTION_UNIT:
		(void)copy_part(
			labels->user_unit.size > 0 ? &labels->user_unit : &labels->unit, name);
		return;
	case SELECTION_SLICE:
		(void)copy_part(&labels->slice, name);
		return;
	case SELECTION_CONTAINER:
		(void)copy_part(&labels->container, name);
		return;
	case SELECTION_COMM:
	case SELECTION_THREAD:
		text = thread->comm;
		break;
	case SELECTION_EXE:
		text = thread->exe;
		break;
	case SELECTION_CGROUP:
		text = thread->cgroup;
		break;
	case SELECTION_POD:
		text = labels->pod_uid;
		break;
	case SELECTION_SERVICE:
		(void)process_claims_get(thread->claims, CLAIM_SERVICE, name);
		return;
	default:
		break;
	}
	(void)snprintf(name, PART_BYTES, "%s", text);
}

/* Counts the leading characters that both share, in any case. */
static size_t common_prefix(const char *name, const char *value)
{
	size_t size = 0;

	while (name[size] &&
		tolower((unsigned char)name[size]) == tolower((unsigned char)value[size]))
		size++;
	return size;
}

/* Keeps a name for a suggestion. Names that are too long to copy from a message are left out. */
static void remember_name(
	struct selection *selection, enum selection_parameter parameter, const char *name)
{
	struct selection_names *seen = &selection->seen[parameter];
	size_t similarity = 0, at = seen->count;

	if (!name[0] || strlen(name) >= SELECTION_NAME_BYTES)
		return;
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == parameter) {
			similarity = common_prefix(name, selection->values[i].text);
			break;
		}
	for (size_t i = 0; i < seen->count; i++)
		if (strcmp(seen->texts[i], name) == 0)
			return;
	while (at > 0 && seen->similarity[at - 1] < similarity)
		at--;
	if (at == SELECTION_SEEN_MAX)
		return;
	if (seen->count < SELECTION_SEEN_MAX)
		seen->count++;
	memmove(seen->texts[at + 1], seen->texts[at],
		(seen->count - 1 - at) * sizeof(seen->texts[0]));
	memmove(&seen->similarity[at + 1], &seen->similarity[at],
		(seen->count - 1 - at) * sizeof(seen->similarity[0]));
	(void)strcpy(seen->texts[at], name);
	seen->similarity[at] = similarity;
}

static bool matches_parameter(
	struct selection *selection, enum selection_parameter parameter, struct subject *subject)
{
	char name[PART_BYTES];

	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == parameter &&
			matches(&selection->values[i], subject)) {
			selection->has_matched[parameter] = true;
			return true;
		}
	if (!selection->has_matched[parameter]) {
		name_subject(parameter, subject, name);
		remember_name(selection, parameter, name);
	}
	return false;
}

/* Tries all parameters, so that selection_seen() knows which of them match nothing. */
bool selection_matches_thread(void *context, const struct store_thread *thread)
{
	struct selection *selection = context;
	struct subject subject = { .thread = thread };
	bool is_match = true;

	/* First of all, so that no name of others is compared or remembered. */
	if (selection->owner != 0 && thread->owner != selection->owner)
		return false;
	cgroup_path_parse(thread->cgroup, &subject.labels);
	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_BUILD_ID; i++)
		if (selection->is_given[i] && !matches_parameter(selection, i, &subject))
			is_match = false;
	return is_match;
}

bool selection_matches_binary(void *context, const struct profile_binary *binary, const char *path)
{
	struct selection *selection = context;
	char hex[BUILD_ID_HEX_BYTES], name[PART_BYTES];
	const char *slash = strrchr(path, '/');

	if (binary->build_id.size == 0)
		return false;
	(void)build_id_format(&binary->build_id, hex);
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == SELECTION_BUILD_ID &&
			begins_like(&selection->values[i], hex)) {
			selection->has_matched[SELECTION_BUILD_ID] = true;
			return true;
		}
	/* The binary may be in stacks of other users alone. */
	if (selection->owner == 0 && !selection->has_matched[SELECTION_BUILD_ID]) {
		(void)snprintf(name, sizeof(name), "%.12s (%s)", hex, slash ? slash + 1 : path);
		remember_name(selection, SELECTION_BUILD_ID, name);
	}
	return false;
}

size_t selection_seen(const struct selection *selection, const char **ret_parameter,
	const char *const **ret_names)
{
	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_PARAMETERS; i++)
		if (selection->is_given[i] && !selection->has_matched[i] &&
			(selection->owner == 0 || i != SELECTION_BUILD_ID)) {
			*ret_parameter = selection_parameter_name(i);
			*ret_names = selection->seen[i].pointers;
			return selection->seen[i].count;
		}
	*ret_parameter = NULL;
	*ret_names = NULL;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/function_metric.h"

#include "base/array.h"
#include "base/utf8.h"
#include "labels/cgroup_path.h"
#include "query/function_pattern.h"
#include "query/selection_state.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <string.h>

struct function_metric {
	struct selection *selection;
	regex_t pattern;
	bool has_pattern, is_self;
	enum function_metric_group group;
};

/* The answer for a name, a location or a node, if it has been found. */
enum verdict {
	VERDICT_UNKNOWN, /* of a name: it has not been asked for */
	VERDICT_OTHER,
	VERDICT_NAMELESS, /* it could match, if it had a name */
	VERDICT_MATCH,
};

/* One run. Each array is parallel to a table of the profile. */
struct run {
	struct function_metric *metric;
	const struct profile *profile;
	uint8_t *by_name, *by_location, *by_node; /* enum verdict */
	bool *is_selected;
	uint64_t *by_thread; /* samples that match */
	struct function_metric_result result;
	struct hash_index index; /* of result.sums */
	size_t capacity;
};

static const char *const group_names[FUNCTION_METRIC_GROUPS] = {
	[FUNCTION_METRIC_WHOLE] = "none",
	[FUNCTION_METRIC_BY_UNIT] = "unit",
	[FUNCTION_METRIC_BY_CONTAINER] = "container",
	[FUNCTION_METRIC_BY_COMM] = "comm",
};

enum function_metric_group function_metric_group_find(const char *name)
{
	enum function_metric_group i = 0;

	while (i < FUNCTION_METRIC_GROUPS && strcmp(group_names[i], name) != 0)
		i++;
	return i;
}

const char *function_metric_group_name(enum function_metric_group group)
{
	return group_names[group];
}

int function_metric_new(struct function_metric **ret_metric)
{
	_cleanup_(function_metric_freep) struct function_metric *metric =
		calloc(1, sizeof(*metric));
	int r;

	if (!metric)
		return -ENOMEM;
	r = selection_new(&metric->selection);
	if (r < 0)
		return r;
	*ret_metric = TAKE_PTR(metric);
	return 0;
}

void function_metric_free(struct function_metric *metric)
{
	if (!metric)
		return;
	selection_free(metric->selection);
	if (metric->has_pattern)
		regfree(&metric->pattern);
	free(metric);
}

int function_metric_select(
	struct function_metric *metric, const char *name, const char *value, struct fault *fault)
{
	enum selection_parameter parameter = selection_parameter_find(name);

	/* Threads of equal names are merged before this sees them, so numbers are gone. */
	if (parameter < SELECTION_USER || parameter >= SELECTION_BUILD_ID)
		return fault_set(fault, -EINVAL,
			"\"%.40s\" does not select here: use unit, slice, container, pod, cgroup, "
			"exe, comm or user",
			name);
	return selection_add(metric->selection, name, value, fault);
}

int function_metric_set_pattern(
	struct function_metric *metric, const char *pattern, struct fault *fault)
{
	regex_t compiled;
	int r = function_pattern_compile(pattern, &compiled, fault);

	if (r < 0)
		return r;
	if (metric->has_pattern)
		regfree(&metric->pattern);
	metric->pattern = compiled;
	metric->has_pattern = true;
	return 0;
}

void function_metric_set_self(struct function_metric *metric, bool is_self)
{
	metric->is_self = is_self;
}

void function_metric_set_group(struct function_metric *metric, enum function_metric_group group)
{
	metric->group = group;
}

void function_metric_result_done(struct function_metric_result *result)
{
	free(result->sums);
	*result = (struct function_metric_result){ 0 };
}

static void run_done(struct run *run)
{
	free(run->by_name);
	free(run->by_location);
	free(run->by_node);
	free(run->is_selected);
	free(run->by_thread);
	hash_index_done(&run->index);
	function_metric_result_done(&run->result);
}

static int run_init(struct run *run, struct function_metric *metric, const struct profile *profile)
{
	run->metric = metric;
	run->profile = profile;
	run->by_name = calloc(profile->strings.count + 1, sizeof(*run->by_name));
	run->by_location = calloc(profile->locations.count + 1, sizeof(*run->by_location));
	run->by_node = calloc(profile->nodes.count + 1, sizeof(*run->by_node));
	run->is_selected = calloc(profile->threads.count + 1, sizeof(*run->is_selected));
	run->by_thread = calloc(profile->threads.count + 1, sizeof(*run->by_thread));
	return run->by_name && run->by_location && run->by_node && run->is_selected &&
			       run->by_thread
		       ? 0
		       : -ENOMEM;
}

static enum verdict judge_name(struct run *run, uint32_t name)
{
	const char *text = string_pool_get(&run->profile->strings, name);

	if (run->by_name[name] == VERDICT_UNKNOWN)
		run->by_name[name] = !*text || place_name_is(text) ? VERDICT_NAMELESS
				     : function_pattern_matches(&run->metric->pattern, text)
					     ? VERDICT_MATCH
					     : VERDICT_OTHER;
	return run->by_name[name];
}

static enum verdict judge_location(struct run *run, const struct profile_location *location)
{
	enum verdict best = VERDICT_OTHER;
	uint32_t count = location->frame_count;

	if (!run->metric->has_pattern)
		return VERDICT_MATCH;
	if (count == 0)
		return VERDICT_NAMELESS;
	/* The innermost is the first. */
	if (run->metric->is_self)
		count = 1;
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_frame *frame =
			&run->profile->frames.items[location->first_frame + i];
		enum verdict verdict = judge_name(run, frame->function);

		if (verdict > best)
			best = verdict;
	}
	return best;
}

/* A parent comes before its children. The root matches only if everything does. */
static void judge_stacks(struct run *run)
{
	const struct profile *profile = run->profile;

	for (size_t i = 0; i < profile->locations.count; i++)
		run->by_location[i] = judge_location(run, &profile->locations.items[i]);
	run->by_node[PROFILE_ROOT] = run->metric->has_pattern ? VERDICT_OTHER : VERDICT_MATCH;
	for (size_t i = PROFILE_ROOT + 1; i < profile->nodes.count; i++) {
		const struct profile_node *node = &profile->nodes.items[i];
		uint8_t own = run->by_location[node->location];
		uint8_t above = run->by_node[node->parent];

		run->by_node[i] = !run->metric->is_self && above > own ? above : own;
	}
}

static void select_threads(struct run *run)
{
	const struct profile *profile = run->profile;

	for (size_t i = 0; i < profile->threads.count; i++) {
		const struct profile_thread *thread = &profile->threads.items[i];
		const struct store_thread shown = {
			.owner = thread->owner,
			.comm = string_pool_get(&profile->strings, thread->comm),
			.exe = string_pool_get(&profile->strings, thread->exe),
			.cgroup = string_pool_get(&profile->strings, thread->cgroup),
			.claims = string_pool_get(&profile->strings, thread->claims),
		};

		run->is_selected[i] = selection_matches_thread(run->metric->selection, &shown);
	}
}

static void count_samples(struct run *run)
{
	for (size_t i = 0; i < run->profile->samples.count; i++) {
		const struct profile_sample *sample = &run->profile->samples.items[i];

		if (!run->is_selected[sample->thread])
			continue;
		run->result.selected += sample->count;
		if (run->by_node[sample->node] == VERDICT_MATCH)
			run->by_thread[sample->thread] += sample->count;
		else if (run->by_node[sample->node] == VERDICT_NAMELESS)
			run->result.unnamed += sample->count;
	}
}

/* --- groups --- */

/* Copies whole characters of clean text. */
static void copy_label(char *label, size_t room, const char *text, size_t size)
{
	size_t used = 0;

	for (size_t step; used < size; used += step) {
		step = utf8_sequence(text + used, size - used);
		if (step == 0 || used + step >= room)
			break;
	}
	if (used > 0)
		memcpy(label, text, used);
	label[used] = '\0';
}

static void label_thread(
	const struct run *run, const struct profile_thread *thread, char *label, size_t room)
{
	const char *text = string_pool_get(&run->profile->strings,
		run->metric->group == FUNCTION_METRIC_BY_COMM ? thread->comm : thread->cgroup);
	struct path_part part = { .text = text, .size = strlen(text) };
	struct cgroup_labels labels;

	if (run->metric->group == FUNCTION_METRIC_WHOLE)
		part.size = 0;
	if (run->metric->group == FUNCTION_METRIC_BY_UNIT ||
		run->metric->group == FUNCTION_METRIC_BY_CONTAINER) {
		cgroup_path_parse(text, &labels);
		part = run->metric->group == FUNCTION_METRIC_BY_CONTAINER ? labels.container
		       : labels.user_unit.size > 0			  ? labels.user_unit
									  : labels.unit;
	}
	copy_label(label, room, part.text, part.size);
}

static bool has_label(const void *owner, uint32_t id, const void *key)
{
	return strcmp(((const struct function_metric_sum *)owner)[id].label, key) == 0;
}

static int add_sum(struct run *run, const struct function_metric_sum *sum)
{
	struct function_metric_result *result = &run->result;
	uint64_t hash = hash_bytes(sum->label, strlen(sum->label));
	uint32_t id = hash_index_find(&run->index, hash, has_label, result->sums, sum->label);
	int r;

	if (id != HASH_INDEX_NONE) {
		result->sums[id].samples += sum->samples;
		return 0;
	}
	r = ARRAY_RESERVE(
		result->sums, &run->capacity, result->count + 1, run->profile->threads.count);
	if (r == 0)
		r = hash_index_reserve(&run->index);
	if (r < 0)
		return r;
	hash_index_insert(&run->index, hash, (uint32_t)result->count);
	result->sums[result->count++] = *sum;
	return 0;
}

static int compare_sums(const void *a, const void *b)
{
	const struct function_metric_sum *first = a, *second = b;

	if (first->samples != second->samples)
		return first->samples > second->samples ? -1 : 1;
	return strcmp(first->label, second->label);
}

static int sum_groups(struct run *run)
{
	struct function_metric_sum sum = { 0 };

	for (size_t i = 0; i < run->profile->threads.count; i++) {
		int r;

		if (run->by_thread[i] == 0)
			continue;
		label_thread(run, &run->profile->threads.items[i], sum.label, sizeof(sum.label));
		sum.samples = run->by_thread[i];
		r = add_sum(run, &sum);
		if (r < 0)
			return r;
	}
	if (run->result.count > 0)
		qsort(run->result.sums, run->result.count, sizeof(*run->result.sums), compare_sums);
	return 0;
}

int function_metric_run(struct function_metric *metric, const struct profile *profile,
	struct function_metric_result *ret_result)
{
	_cleanup_(run_done) struct run run = { 0 };
	int r = run_init(&run, metric, profile);

	if (r < 0)
		return r;
	judge_stacks(&run);
	select_threads(&run);
	count_samples(&run);
	r = sum_groups(&run);
	if (r < 0)
		return r;
	*ret_result = run.result;
	run.result = (struct function_metric_result){ 0 };
	return 0;
}

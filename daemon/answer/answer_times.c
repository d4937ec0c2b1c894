/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers without stacks: what each moment had, and incidents. */
#include "answer/answer_private.h"

#include "answer/answer_failure.h"
#include "base/event_source.h"
#include "query/incident_text.h"
#include "query/timeline.h"

#include <errno.h>
#include <string.h>

/* The number is one of the list's. */
static void keep_incident(struct incident_list *list, uint64_t number)
{
	const struct incident *kept = incident_list_find(list, number);

	list->count = kept != NULL;
	if (kept)
		memmove(list->items, kept, sizeof(*kept));
}

int answer_make_incidents(struct answer *answer)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct incident_list list;
	struct fault fault = { 0 };
	int r;

	if (!output)
		return answer_fail_output(answer, -ENOMEM);
	r = incident_log_read(answer->request->history, &list, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	if (answer->parameters.incident > 0)
		keep_incident(&list, answer->parameters.incident);
	output_init(output, answer_write_counted, answer);
	if (strcmp(answer->parameters.format->name, "json") == 0)
		incident_list_write_json(&list, output);
	else
		incident_list_write(&list, output);
	incident_list_done(&list);
	r = output_finish(output);
	return r < 0 ? answer_fail_output(answer, r) : 0;
}

int answer_make_timeline(struct answer *answer)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct store_selection asked;
	struct timeline timeline;
	struct fault fault = { 0 };
	int r;

	if (!output)
		return answer_fail_output(answer, -ENOMEM);
	selection_store(answer->parameters.sides[DIFFERENCE_COMPARED], &asked);
	r = timeline_read(answer->request->history, &asked, answer->parameters.bucket_count,
		&timeline, &fault);
	if (r == 0 && answer->parameters.by != TIMELINE_BY_NONE) {
		r = timeline_read_parts(answer->request->history, &asked, answer->parameters.by,
			answer_profile_budget(answer), &timeline, &fault);
		if (r < 0)
			timeline_done(&timeline);
	}
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	output_init(output, answer_write_counted, answer);
	timeline_write(&timeline, output);
	timeline_done(&timeline);
	r = output_finish(output);
	return r < 0 ? answer_fail_output(answer, r) : 0;
}

int answer_make_heatmap(struct answer *answer)
{
	const struct answer_request *request = answer->request;
	struct selection *selection = answer->parameters.sides[DIFFERENCE_COMPARED];
	const struct store_found *found = &answer->heatmap.found;
	struct store_selection asked;
	struct fault fault = { 0 };
	int r;

	selection_store(selection, &asked);
	if (answer_source_of(&asked)->is_live)
		return answer_fail_live(answer->reply, answer_source_of(&asked));
	r = heatmap_read(
		request->history, &asked, answer_profile_budget(answer), &answer->heatmap, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, request->memory_max);
	if (found->timed_ns == 0 && found->untimed_ns > 0)
		return answer_fail_coarse(answer->reply, request->history, found->coarse_start_ns,
			found->coarse_end_ns, request->memory_max);
	if (found->windows == 0 || (found->timed_ns == 0 && selection_has_filter(selection)))
		return answer_fail_side(answer, DIFFERENCE_COMPARED, found);
	answer_title(answer, DIFFERENCE_COMPARED, answer->heatmap.profile, found, false);
	return answer_write(answer);
}

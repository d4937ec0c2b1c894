/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/comm_totals.h"

#include <errno.h>
#include <string.h>

struct process {
	uint64_t start_ns;
	uint32_t tgid;
};

static int compare_processes(const void *a, const void *b)
{
	const struct process *first = a, *second = b;

	if (first->tgid != second->tgid)
		return first->tgid < second->tgid ? -1 : 1;
	if (first->start_ns != second->start_ns)
		return first->start_ns < second->start_ns ? -1 : 1;
	return 0;
}

static int count_processes(
	struct comm_totals *totals, const struct profile *profile, const uint64_t *by_thread)
{
	_cleanup_free_ struct process *processes =
		calloc(profile->threads.count + 1, sizeof(*processes));
	size_t count = 0;

	if (!processes)
		return -ENOMEM;
	for (size_t i = 0; i < profile->threads.count; i++) {
		const struct profile_thread *thread = &profile->threads.items[i];

		if (by_thread[i] > 0)
			processes[count++] =
				(struct process){ thread->process_start_ns, thread->tgid };
	}
	qsort(processes, count, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_processes(&processes[i - 1], &processes[i]) != 0)
			totals->process_count++;
	return 0;
}

static int compare_comms(const void *a, const void *b)
{
	const struct comm_total *first = a, *second = b;

	return first->comm < second->comm ? -1 : first->comm > second->comm;
}

static int compare_totals(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct comm_total *first = a, *second = b;

	if (first->samples != second->samples)
		return first->samples > second->samples ? -1 : 1;
	return strcmp(string_pool_get(&profile->strings, first->comm),
		string_pool_get(&profile->strings, second->comm));
}

/* Merges all threads with the same comm into one item. */
static int add_comms(
	struct comm_totals *totals, const struct profile *profile, const uint64_t *by_thread)
{
	struct comm_total *items = calloc(profile->threads.count + 1, sizeof(*items));
	size_t count = 0, kept = 0;

	totals->items = items;
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < profile->threads.count; i++)
		if (by_thread[i] > 0)
			items[count++] =
				(struct comm_total){ profile->threads.items[i].comm, by_thread[i] };
	qsort(items, count, sizeof(*items), compare_comms);
	for (size_t i = 0; i < count; i++)
		if (kept > 0 && items[kept - 1].comm == items[i].comm)
			items[kept - 1].samples += items[i].samples;
		else
			items[kept++] = items[i];
	totals->count = kept;
	qsort_r(items, kept, sizeof(*items), compare_totals, (void *)profile);
	return 0;
}

int comm_totals_new(const struct profile *profile, struct comm_totals **ret_totals)
{
	_cleanup_(comm_totals_freep) struct comm_totals *totals = calloc(1, sizeof(*totals));
	_cleanup_free_ uint64_t *by_thread = calloc(profile->threads.count + 1, sizeof(*by_thread));
	int r;

	if (!totals || !by_thread)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.count; i++) {
		by_thread[profile->samples.items[i].thread] += profile->samples.items[i].count;
		totals->samples += profile->samples.items[i].count;
	}
	r = count_processes(totals, profile, by_thread);
	if (r < 0)
		return r;
	r = add_comms(totals, profile, by_thread);
	if (r < 0)
		return r;
	*ret_totals = TAKE_PTR(totals);
	return 0;
}

void comm_totals_free(struct comm_totals *totals)
{
	if (!totals)
		return;
	free(totals->items);
	free(totals);
}

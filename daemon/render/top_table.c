/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/top_table.h"

#include "labels/cgroup_path.h"
#include "render/comm_totals.h"
#include "render/folded.h"
#include "render/function_totals.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Own samples of a function in a thread. */
struct share {
	uint32_t label, binary, thread;
	uint64_t samples;
};

/* The functions' threads, in the order of (label, binary). */
struct shares {
	struct share *items;
	size_t count;
};

static void shares_done(struct shares *shares)
{
	free(shares->items);
}

static int compare_functions(const void *a, const void *b)
{
	const struct share *first = a, *second = b;

	if (first->label != second->label)
		return first->label < second->label ? -1 : 1;
	return first->binary < second->binary ? -1 : first->binary > second->binary;
}

static int compare_shares(const void *a, const void *b)
{
	const struct share *first = a, *second = b;
	int order = compare_functions(a, b);

	if (order)
		return order;
	return first->thread < second->thread ? -1 : first->thread > second->thread;
}

/* Keeps of each function the thread with the most samples. */
static void keep_greatest(struct shares *shares)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < shares->count; i = next) {
		struct share share = shares->items[i];

		for (next = i + 1;
			next < shares->count && compare_shares(&share, &shares->items[next]) == 0;
			next++)
			share.samples += shares->items[next].samples;
		if (kept > 0 && compare_functions(&shares->items[kept - 1], &share) == 0) {
			if (share.samples > shares->items[kept - 1].samples)
				shares->items[kept - 1] = share;
			continue;
		}
		shares->items[kept++] = share;
	}
	shares->count = kept;
}

static int find_shares(
	const struct profile *profile, const struct frame_labels *labels, struct shares *shares)
{
	shares->items = calloc(profile->samples.count + 1, sizeof(*shares->items));
	if (!shares->items)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];
		const struct frame_chain *chain;

		if (sample->node == PROFILE_ROOT)
			continue;
		chain = &labels->chains[profile->nodes.items[sample->node].location];
		shares->items[shares->count++] = (struct share){
			.label = labels->chain[chain->first + chain->count - 1],
			.binary = labels->ranked_binaries[chain->binary_rank],
			.thread = sample->thread,
			.samples = sample->count,
		};
	}
	qsort(shares->items, shares->count, sizeof(*shares->items), compare_shares);
	keep_greatest(shares);
	return 0;
}

static void write_unit(const char *cgroup, struct output *output)
{
	const struct path_part *unit;
	struct cgroup_labels labels;

	cgroup_path_parse(cgroup, &labels);
	unit = labels.user_unit.size > 0 ? &labels.user_unit
	       : labels.unit.size > 0	 ? &labels.unit
					 : &labels.container;
	if (unit->size > 0)
		output_write(output, unit->text, unit->size);
}

/* "UNIT\tPROCESS\t" */
static void write_thread(
	const struct profile *profile, const struct share *share, struct output *output)
{
	const struct profile_thread *thread = share ? &profile->threads.items[share->thread] : NULL;

	if (thread)
		write_unit(string_pool_get(&profile->strings, thread->cgroup), output);
	output_char(output, '\t');
	if (thread)
		output_string(output, string_pool_get(&profile->strings, thread->comm));
	output_char(output, '\t');
}

static void write_functions(const struct profile *profile, const struct function_totals *totals,
	const struct shares *shares, size_t rows_max, struct output *output)
{
	char name[FRAME_NAME_BYTES];

	for (size_t i = 0; i < totals->count && (rows_max == 0 || i < rows_max); i++) {
		const struct function_total *item = &totals->items[i];
		const struct frame_label *label = &totals->labels->items[item->label];
		const struct share key = { .label = item->label, .binary = item->binary };
		const char *path = string_pool_get(
			&profile->strings, profile->binaries.items[item->binary].path);

		output_printf(output, "F\t%" PRIu64 "\t%" PRIu64 "\t", item->self, item->total);
		write_thread(profile,
			bsearch(&key, shares->items, shares->count, sizeof(key), compare_functions),
			output);
		(void)frame_label_format(label, name);
		output_printf(output, "%s\t%s%s\n", frame_base_name(path), name,
			folded_suffix(label->kind));
	}
}

static int write_threads(const struct profile *profile, struct output *output)
{
	_cleanup_(comm_totals_freep) struct comm_totals *comms = NULL;
	int r = comm_totals_new(profile, &comms);

	if (r < 0)
		return r;
	output_printf(output, "S\t%" PRIu64 "\t%" PRIu64 "\n", comms->samples,
		accounts_lost(&profile->accounts));
	for (size_t i = 0; i < comms->count; i++)
		output_printf(output, "T\t%" PRIu64 "\t%s\n", comms->items[i].samples,
			string_pool_get(&profile->strings, comms->items[i].comm));
	return 0;
}

int top_table_write(const struct profile *profile, enum frame_detail detail, size_t rows_max,
	struct output *output)
{
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;
	_cleanup_(shares_done) struct shares shares = { 0 };
	int r = write_threads(profile, output);

	if (r == 0)
		r = function_totals_new(profile, detail, &totals);
	if (r == 0)
		r = find_shares(profile, totals->labels, &shares);
	if (r == 0)
		write_functions(profile, totals, &shares, rows_max, output);
	return r;
}

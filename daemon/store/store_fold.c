/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On a busy host new processes start all day, and their rows are most of the data to read. Queries
 * that need no single process read folds instead: windows whose threads are merged by comm, exe,
 * cgroup, claims and owner, over ten minutes, four hours and a day. Folded threads have their own
 * dictionary; nodes are those of the windows.
 */
#include "store/accounts_blob.h"
#include "store/day_dictionary.h"
#include "store/merge_group.h"
#include "store/sample_sum.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>

enum {
	NOT_KNOWN = UINT32_MAX,
	/* Fills half of a table of 1 MiB. */
	FOLD_ROWS_MAX = (1 << 15) - 1,
};

struct folding {
	struct merge_group *group;
	struct day_tables threads; /* of the windows */
	uint32_t *folded;	   /* maps ids of `threads` to those of the dictionary */
	struct store_part part;	   /* the dictionary of folded threads */
	struct sample_sum sum;
};

static void folding_done(struct folding *folding)
{
	day_tables_done(&folding->threads);
	day_dictionary_done(&folding->part.dictionary);
	sample_sum_done(&folding->sum);
	free(folding->folded);
}

static int load_threads(struct folding *folding)
{
	struct merge_group *group = folding->group;
	int r = day_tables_init(&folding->threads);

	if (r == 0)
		r = day_database_load(group->database, DAY_THREADS,
			group->merged.generations[DAY_THREADS], &folding->threads, group->fault);
	if (r < 0)
		return r;
	folding->folded =
		reallocarray(NULL, folding->threads.threads.count + 1, sizeof(*folding->folded));
	if (!folding->folded)
		return -ENOMEM;
	memset(folding->folded, 0xff, folding->threads.threads.count * sizeof(*folding->folded));
	return 0;
}

static int add_row(struct folding *folding, const struct window_row *row)
{
	uint32_t *thread = &folding->folded[row->thread];
	int r = 0;

	if (*thread == NOT_KNOWN)
		r = day_dictionary_folded_thread(
			&folding->part.dictionary, &folding->threads, row->thread, thread);
	if (r == -E2BIG)
		return -ENOSPC;
	return r < 0 ? r
		     : sample_sum_add(&folding->sum, *thread, row->node, row->count, FOLD_ROWS_MAX);
}

static int add_window(struct folding *folding, const struct day_window *window)
{
	struct merge_group *group = folding->group;
	struct window_reader reader;
	struct window_row row;
	size_t left = MERGE_BYTES_MAX; /* each window alone may use all of it */
	/* Readers check the nodes. */
	int r = merge_group_open_window(
		group, window, (uint32_t)folding->threads.threads.count, &left, &reader);

	if (r < 0)
		return r;
	while ((r = window_reader_next(&reader, &row)) == 1) {
		r = add_row(folding, &row);
		if (r < 0)
			break;
	}
	window_reader_done(&reader);
	return r;
}

/* Returns -ENOSPC if the dictionary is full. */
static int add_windows(struct folding *folding)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < folding->group->count; i++)
		r = add_window(folding, &folding->group->windows[i]);
	return r == -EPROTONOSUPPORT ? -EBADMSG : r;
}

static int compare_slots(const void *a, const void *b)
{
	const struct sample_sum_slot *first = a, *second = b;

	return (first->key > second->key) - (first->key < second->key);
}

/* Keys sort in row order: by thread, then node. Free slots (key 0) sort first. */
static int write_body(struct folding *folding, struct merge_product *product)
{
	struct sample_sum *sum = &folding->sum;
	struct day_window *merged = &folding->group->merged;
	struct window_writer writer;
	int r;

	if (sum->capacity > 0)
		qsort(sum->slots, sum->capacity, sizeof(*sum->slots), compare_slots);
	window_writer_init(&writer);
	for (size_t i = sum->capacity - sum->count; i < sum->capacity; i++)
		window_writer_add(&writer, &(struct window_row){
						   .thread = sample_sum_thread(&sum->slots[i]),
						   .node = sample_sum_node(&sum->slots[i]),
						   .count = sum->slots[i].value,
					   });
	r = window_writer_finish(&writer, STORE_MERGE_EFFORT, &product->body, &product->body_size);
	merged->samples = writer.samples;
	merged->body_bytes = product->body_size;
	window_writer_done(&writer);
	return r;
}

static int write_dictionary(struct folding *folding, struct merge_product *product)
{
	const struct day_tables *tables = &folding->part.dictionary.tables;
	const struct day_mark *written = &folding->part.saved.mark;
	struct day_mark mark = day_tables_mark(tables);

	if (memcmp(&mark, written, sizeof(mark)) == 0)
		return 0;
	return day_tables_write(tables, written, STORE_MERGE_EFFORT, &product->dictionary,
		&product->dictionary_size);
}

static int fold(struct folding *folding)
{
	int r = load_threads(folding);

	if (r == 0)
		r = store_part_load(&folding->part, folding->group->database, DAY_FOLDED,
			folding->group->fault);
	if (r == 0)
		r = add_windows(folding);
	if (r != -ENOSPC)
		return r;
	/* Retry with an empty generation. If that lacks room, too, the fold is -E2BIG. */
	sample_sum_clear(&folding->sum);
	memset(folding->folded, 0xff, folding->threads.threads.count * sizeof(*folding->folded));
	r = store_part_next_generation(&folding->part);
	if (r == 0)
		r = add_windows(folding);
	return r == -ENOSPC ? -E2BIG : r;
}

int store_fold_make(struct merge_group *group, struct merge_product *ret_product)
{
	_cleanup_(merge_product_done) struct merge_product product = { 0 };
	_cleanup_(folding_done) struct folding folding = { .group = group };
	struct day_window *merged = &group->merged;
	int r = fold(&folding);

	if (r == 0)
		r = write_body(&folding, &product);
	if (r == 0)
		r = write_dictionary(&folding, &product);
	if (r < 0)
		return r;
	merged->generations[DAY_THREADS] = folding.part.generation;
	merged->fold = DAY_FOLD_NEVER;
	merged->accounts_size = accounts_blob_write(&(struct accounts){ 0 }, merged->accounts);
	*ret_product = product;
	product = (struct merge_product){ 0 };
	return 0;
}

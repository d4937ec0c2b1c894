/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that become one, by merging (store_merge.c) or folding (store_fold.c). */
#pragma once

#include "base/cleanup.h"
#include "store/day_database.h"
#include "store/store.h"
#include "store/window_blob.h"

#include <stdbool.h>
#include <stdlib.h>

/* Windows of one contiguous time, one period and event, and the same dictionaries. */
struct merge_group {
	struct day_database *database;
	struct day_window *windows; /* capacity MERGE_GROUP_MAX */
	size_t count;
	struct day_window merged; /* the result */
	bool is_damaged;	  /* the group is one damaged window; only its id is known */
	bool drops_times;
	enum store_untimed why_untimed; /* if they are dropped before their time */
	uint64_t untimed;		/* samples that had times, and have none in the result */
	struct fault *fault;
};
enum {
	MERGE_GROUP_MAX = 64,
	/*
	 * Bounds the unpacked windows in total, with what reads their times, and their merged
	 * result. What reads times takes some 5.5 KB, and 10 bytes a slice: that leaves 65 KB for
	 * 60 windows of 1 s, and 227 KB for 30 of 2 s. The result may be larger than its sources if
	 * their threads have different nodes, and takes twice its size while it grows. Together
	 * with full dictionaries, this uses the rest of the writer's memory.
	 */
	MERGE_BYTES_MAX = 448 << 10,
};

struct merge_product {
	uint8_t *body,
		*dictionary, /* owned; additions to the dictionary of folded threads, or NULL */
		*times;	     /* owned; times_blob.h, or NULL */
	size_t body_size, dictionary_size, times_size;
};

static inline void merge_product_done(struct merge_product *product)
{
	free(product->body);
	free(product->dictionary);
	free(product->times);
	*product = (struct merge_product){ 0 };
}

/*
 * Unpacks a window of the group and subtracts its size from `left`. Returns as
 * window_reader_init(), -E2BIG if the window is larger than `left`, or another -errno.
 */
int merge_group_open_window(const struct merge_group *group, const struct day_window *window,
	uint32_t thread_limit, size_t *left, struct window_reader *ret_reader);

/* Amounts of what lives do not add up: the windows become their last one. */
bool merge_group_is_live(const struct merge_group *group);
/* The first window whose rows are in the sum. */
size_t merge_group_first_summed(const struct merge_group *group);

/*
 * Sums the rows of the group, and the times of their samples unless they are dropped. Returns 0,
 * -ENOMEM, -EBADMSG (a window is damaged, or its times are), -E2BIG (too many rows) or another
 * -errno.
 */
int merge_rows_make(struct merge_group *group, struct merge_product *product);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that become one: what store_merge.c and store_fold.c share. */
#pragma once

#include "base/cleanup.h"
#include "store/day_database.h"
#include "store/window_blob.h"

#include <stdbool.h>
#include <stdlib.h>

/* Windows of one stretch of time, of one period and event, with their dictionaries in common. */
struct merge_group {
	struct day_database *database;
	struct day_window *windows; /* MERGE_GROUP_MAX of room */
	size_t count;
	struct day_window merged; /* what becomes of them */
	bool is_damaged;	  /* the one that there is, whose id alone is known */
	struct fault *fault;
};
enum {
	MERGE_GROUP_MAX = 64,
	/*
	 * What its windows may take unpacked, in sum; and what is merged of them, which may be
	 * more than they are where their threads have other nodes, and takes twice that while it
	 * grows: besides full dictionaries, the rest of the writer's memory.
	 */
	MERGE_BYTES_MAX = 448 << 10,
};

struct merge_product {
	uint8_t *body,
		*dictionary; /* owned; what goes to the dictionary of folded threads or NULL */
	size_t body_size, dictionary_size;
};

static inline void merge_product_done(struct merge_product *product)
{
	free(product->body);
	free(product->dictionary);
	*product = (struct merge_product){ 0 };
}

/*
 * Unpacks a window of the group. Of what there may be unpacked `left` bytes are left, and fewer
 * then. Returns as window_reader_init(), -E2BIG where it takes more, or another -errno.
 */
int store_merge_open_window(const struct merge_group *group, const struct day_window *window,
	uint32_t thread_limit, size_t *left, struct window_reader *ret_reader);

/*
 * Sums the rows of the group up with their threads merged, and sets of `merged` what tells of them.
 * Returns 0, -ENOMEM, -EBADMSG (one is damaged), -E2BIG (too many rows, or one is too large), or
 * another -errno.
 */
int store_fold_make(struct merge_group *group, struct merge_product *ret_product);

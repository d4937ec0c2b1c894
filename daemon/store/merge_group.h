/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that become one, by merging (store_merge.c) or folding (store_fold.c). */
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
 * Unpacks a window of the group, and takes its size off `left`. Returns as window_reader_init(),
 * -E2BIG if it is larger than `left`, or another -errno.
 */
int merge_group_open_window(const struct merge_group *group, const struct day_window *window,
	uint32_t thread_limit, size_t *left, struct window_reader *ret_reader);

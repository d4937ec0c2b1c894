/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maintains a store, and looks at what it holds then. */
#pragma once

#include "base/array.h"
#include "store/store.h"
#include "store/window_blob.h"
#include "tests/store/store_folder.h"

#include <errno.h>

struct seen {
	size_t count;
	uint64_t widest_ns, samples;
	struct accounts accounts;
};

static inline int see(void *context, const struct store_window_line *line)
{
	struct seen *seen = context;

	seen->count++;
	seen->samples += line->samples;
	if (line->end_ns - line->start_ns > seen->widest_ns)
		seen->widest_ns = line->end_ns - line->start_ns;
	accounts_add(&seen->accounts, &line->accounts);
	return 0;
}

static inline struct seen look(const char *folder)
{
	struct fault fault = { 0 };
	struct seen seen = { 0 };

	assert_int_equal(store_reader_each(folder, 0, UINT64_MAX, see, &seen, &fault), 0);
	return seen;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/merge_group.h"

#include <errno.h>

int merge_group_open_window(const struct merge_group *group, const struct day_window *window,
	uint32_t thread_limit, size_t *left, struct window_reader *ret_reader)
{
	size_t size, plain_size = 0;
	const void *body;
	int r = day_database_get_body(group->database, window->id, &body, &size, group->fault);

	if (r == 0)
		r = column_blob_measure(body, size, &plain_size);
	if (r == 0 && plain_size > *left)
		r = -E2BIG;
	if (r == 0)
		r = window_reader_init(ret_reader, body, size, thread_limit, UINT32_MAX);
	if (r == 0)
		*left -= plain_size;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/cgroup_usage.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

static int compare_items(const void *a, const void *b)
{
	const struct cgroup_usage_item *first = a, *second = b;

	if (first->samples != second->samples)
		return first->samples > second->samples ? -1 : 1;
	return (first->cgroup > second->cgroup) - (first->cgroup < second->cgroup);
}

int cgroup_usage_init(struct cgroup_usage *usage, const struct profile *window)
{
	_cleanup_free_ uint64_t *by_string = calloc(window->strings.count + 1, sizeof(*by_string));
	struct cgroup_usage_item *items;
	size_t count = 0;

	if (!by_string)
		return -ENOMEM;
	for (size_t i = 0; i < window->samples.count; i++) {
		const struct profile_sample *sample = &window->samples.items[i];

		by_string[window->threads.items[sample->thread].cgroup] += sample->count;
	}
	for (uint32_t i = 1; i < window->strings.count; i++)
		count += by_string[i] > 0;
	items = calloc(count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	*usage = (struct cgroup_usage){ .items = items };
	for (uint32_t i = 1; i < window->strings.count; i++)
		if (by_string[i] > 0)
			items[usage->count++] = (struct cgroup_usage_item){ i, by_string[i] };
	if (count > 0)
		qsort(items, count, sizeof(*items), compare_items);
	return 0;
}

void cgroup_usage_done(struct cgroup_usage *usage)
{
	free(usage->items);
	*usage = (struct cgroup_usage){ 0 };
}

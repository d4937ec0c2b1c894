/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/kmem/kmem_sites.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "resolve/live_age.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_MAX = 1 << 18, ORDERS_MAX = 16, BY_OLDEST = 'o' };

const char *const kmem_column_events[KMEM_COLUMNS] = {
	[KMEM_ALLOC] = "kmem:alloc",
	[KMEM_LIVE] = "kmem:live",
	[KMEM_WASTE] = "kmem:waste",
};

void kmem_sites_done(struct kmem_sites *sites)
{
	free(sites->items);
	*sites = (struct kmem_sites){ 0 };
}

/* The first line: "# kmem:alloc (kernel memory allocated) in samples of ...". */
static int read_event(const char *line, enum kmem_column *ret_column)
{
	size_t size;

	if (!line || strncmp(line, "# ", 2) != 0)
		return -EINVAL;
	line += 2;
	size = strcspn(line, " ");
	for (enum kmem_column i = 0; i < KMEM_COLUMNS; i++) {
		if (strlen(kmem_column_events[i]) != size ||
			strncmp(line, kmem_column_events[i], size) != 0)
			continue;
		*ret_column = i;
		return 0;
	}
	return -EINVAL;
}

/* Cuts the next of the fields of a line, which tabs separate. */
static char *next_field(char **rest)
{
	char *field = *rest;
	char *end = field ? strchr(field, '\t') : NULL;

	*rest = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return field;
}

static int add_line(struct kmem_sites *sites, char *line, enum kmem_column column)
{
	char *rest = line, *end;
	const char *amount = next_field(&rest), *memory = next_field(&rest);
	const char *caller = next_field(&rest), *age = next_field(&rest);
	struct kmem_site *site;
	uint64_t bytes;
	int r;

	if (!caller || rest || (age && live_age_find(age, strlen(age)) == LIVE_AGES) ||
		*amount < '0' || *amount > '9')
		return -EINVAL;
	errno = 0;
	bytes = strtoull(amount, &end, 10);
	if (errno || *end)
		return -EINVAL;
	r = ARRAY_RESERVE(sites->items, &sites->capacity, sites->count + 1, SITES_MAX);
	if (r < 0)
		return r;
	site = &sites->items[sites->count++];
	*site = (struct kmem_site){ 0 };
	site->bytes[column] = bytes;
	site->oldest = age ? live_age_find(age, strlen(age)) + 1 : 0;
	(void)snprintf(site->memory, sizeof(site->memory), "%s", memory);
	(void)snprintf(site->caller, sizeof(site->caller), "%s", caller);
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct kmem_site *first = a, *second = b;
	int order = strcmp(first->memory, second->memory);

	return order ? order : strcmp(first->caller, second->caller);
}

/* One row for each place. */
static void merge(struct kmem_sites *sites)
{
	size_t kept = 0;

	if (sites->count == 0)
		return;
	qsort(sites->items, sites->count, sizeof(*sites->items), compare_places);
	for (size_t i = 1; i < sites->count; i++) {
		struct kmem_site *last = &sites->items[kept];

		if (compare_places(last, &sites->items[i]) != 0) {
			sites->items[++kept] = sites->items[i];
			continue;
		}
		if (last->oldest < sites->items[i].oldest)
			last->oldest = sites->items[i].oldest;
		for (int j = 0; j < KMEM_COLUMNS; j++)
			if (__builtin_add_overflow(
				    last->bytes[j], sites->items[i].bytes[j], &last->bytes[j]))
				last->bytes[j] = UINT64_MAX;
	}
	sites->count = kept + 1;
}

int kmem_sites_add_text(struct kmem_sites *sites, char *text, enum kmem_column *ret_column)
{
	char *rest = NULL, *line = strtok_r(text, "\n", &rest);
	enum kmem_column column = KMEM_ALLOC;
	int r = read_event(line, &column);

	while (r == 0 && (line = strtok_r(NULL, "\n", &rest)))
		if (*line != '#')
			r = add_line(sites, line, column);
	if (r < 0)
		return r;
	merge(sites);
	*ret_column = column;
	return 0;
}

/* --- sizes --- */

static uint64_t size_of_name(const char *memory)
{
	unsigned long long number;
	int end = 0;

	/* The kernel's names: "kmalloc-96", "kmalloc-1k". */
	if (sscanf(memory, "[kmalloc-%lluk]%n", &number, &end) == 1 && end > 0)
		return number * 1024;
	if (sscanf(memory, "[kmalloc-%llu]%n", &number, &end) == 1 && end > 0)
		return number;
	if ((sscanf(memory, "[pages order %llu]%n", &number, &end) == 1 ||
		    sscanf(memory, "[movable pages order %llu]%n", &number, &end) == 1) &&
		end > 0 && number < ORDERS_MAX)
		return 4096ULL << number;
	return 0;
}

static void set_size(struct kmem_sites *sites, const char *cache, uint64_t bytes)
{
	for (size_t i = 0; i < sites->count; i++) {
		struct kmem_site *site = &sites->items[i];
		size_t length = strlen(cache);

		if (site->memory[0] == '[' && strncmp(site->memory + 1, cache, length) == 0 &&
			strcmp(site->memory + 1 + length, "]") == 0)
			site->object_bytes = bytes;
	}
}

void kmem_sites_find_sizes(struct kmem_sites *sites, const char *slabinfo)
{
	_cleanup_fclose_ FILE *file = fopen(slabinfo, "re");
	unsigned long long bytes;
	char line[512], name[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %*u %*u %llu", name, &bytes) == 2)
			set_size(sites, name, bytes);
	for (size_t i = 0; i < sites->count; i++) {
		uint64_t named = size_of_name(sites->items[i].memory);

		if (named > 0)
			sites->items[i].object_bytes = named;
	}
}

uint64_t kmem_site_calls(const struct kmem_site *site)
{
	uint64_t size = site->object_bytes;

	return size == 0 ? 0
			 : site->bytes[KMEM_ALLOC] / size +
				   (site->bytes[KMEM_ALLOC] % size * 2 >= size);
}

/* --- order --- */

static uint64_t weigh(const struct kmem_site *site, const char *order)
{
	switch (*order) {
	case 'l':
		return site->bytes[KMEM_LIVE];
	case 'w':
		return site->bytes[KMEM_WASTE];
	case 'c':
		return kmem_site_calls(site);
	case BY_OLDEST:
		return site->oldest;
	default:
		return site->bytes[KMEM_ALLOC];
	}
}

static int compare(const void *a, const void *b, void *order)
{
	uint64_t first = weigh(a, order), second = weigh(b, order);

	/* Of the same age, the one that holds most. */
	if (first == second && *(const char *)order == BY_OLDEST) {
		first = weigh(a, "live");
		second = weigh(b, "live");
	}
	if (first != second)
		return first > second ? -1 : 1;
	return compare_places(a, b);
}

void kmem_sites_sort(struct kmem_sites *sites, const char *order)
{
	if (sites->count > 0)
		qsort_r(sites->items, sites->count, sizeof(*sites->items), compare, (void *)order);
}

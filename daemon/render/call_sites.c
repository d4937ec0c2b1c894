/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/call_sites.h"

#include "base/array.h"
#include "render/caption.h"
#include "resolve/live_age.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The allocator's functions begin so, in Linux 6.1 to 6.18. Functions that only pass their caller's
 * address on, such as kmemdup(), are of it, too.
 */
static const char *const allocator[] = {
	"kmalloc",
	"__kmalloc",
	"___kmalloc",
	"__do_kmalloc",
	"kmem_cache_alloc",
	"__kmem_cache_alloc",
	"krealloc",
	"kvmalloc",
	"__kvmalloc",
	"kvrealloc",
	"kmemdup",
	"kstrdup",
	"kcalloc",
	"kzalloc",
	"alloc_pages",
	"__alloc_pages",
	"__alloc_frozen_pages",
	"alloc_frozen_pages",
	"get_free_pages",
	"__get_free_pages",
	"get_zeroed_page",
	"__folio_alloc",
	"folio_alloc",
	"vma_alloc_folio",
	"slab_alloc",
	"__slab_alloc",
	"___slab_alloc",
};

static bool is_of_allocator(const struct frame_label *label)
{
	for (size_t i = 0; i < ARRAY_SIZE(allocator); i++) {
		size_t length = strlen(allocator[i]);

		if (label->kind == FRAME_KERNEL && label->text_bytes >= length &&
			memcmp(label->text, allocator[i], length) == 0)
			return true;
	}
	return false;
}

/* The innermost label of a node's location. */
static uint32_t label_of(
	const struct profile *profile, const struct frame_labels *labels, uint32_t node)
{
	const struct frame_chain *chain = &labels->chains[profile->nodes.items[node].location];

	return labels->chain[chain->first + chain->count - 1];
}

static size_t age_of(const struct frame_label *label)
{
	return label->kind == FRAME_SYNTHETIC ? live_age_find(label->text, label->text_bytes)
					      : LIVE_AGES;
}

static struct call_site site_of(
	const struct profile *profile, const struct frame_labels *labels, uint32_t node)
{
	struct call_site site = { .memory = FRAME_NONE, .caller = FRAME_NONE, .age = LIVE_AGES };

	if (node != PROFILE_ROOT)
		site.age = age_of(&labels->items[label_of(profile, labels, node)]);
	if (site.age < LIVE_AGES)
		node = profile->nodes.items[node].parent;
	if (node == PROFILE_ROOT)
		return site;
	site.memory = label_of(profile, labels, node);
	/* Without a kind of memory, the leaf itself is the caller. */
	if (labels->items[site.memory].kind == FRAME_SYNTHETIC)
		node = profile->nodes.items[node].parent;
	for (; node != PROFILE_ROOT; node = profile->nodes.items[node].parent) {
		site.caller = label_of(profile, labels, node);
		if (!is_of_allocator(&labels->items[site.caller]))
			break;
	}
	return site;
}

static int compare_places(const void *a, const void *b)
{
	const struct call_site *first = a, *second = b;

	if (first->memory != second->memory)
		return first->memory < second->memory ? -1 : 1;
	if (first->caller != second->caller)
		return first->caller < second->caller ? -1 : 1;
	return (first->age > second->age) - (first->age < second->age);
}

static int compare_counts(const void *a, const void *b)
{
	const struct call_site *first = a, *second = b;

	if (first->count != second->count)
		return first->count > second->count ? -1 : 1;
	return compare_places(a, b);
}

static void merge(struct call_sites *sites)
{
	size_t kept = 0;

	if (sites->count == 0)
		return;
	qsort(sites->items, sites->count, sizeof(*sites->items), compare_places);
	for (size_t i = 0; i < sites->count; i++) {
		if (kept > 0 && compare_places(&sites->items[kept - 1], &sites->items[i]) == 0)
			sites->items[kept - 1].count += sites->items[i].count;
		else
			sites->items[kept++] = sites->items[i];
	}
	sites->count = kept;
	qsort(sites->items, kept, sizeof(*sites->items), compare_counts);
}

int call_sites_new(const struct profile *profile, struct call_sites **ret_sites)
{
	_cleanup_(call_sites_freep) struct call_sites *sites = calloc(1, sizeof(*sites));
	int r;

	if (!sites)
		return -ENOMEM;
	r = frame_labels_new(profile, FRAME_BY_FUNCTION, &sites->labels);
	if (r < 0)
		return r;
	sites->items = calloc(profile->samples.count + 1, sizeof(*sites->items));
	if (!sites->items)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];
		struct call_site *site = &sites->items[sites->count++];

		*site = site_of(profile, sites->labels, sample->node);
		site->count = sample->count;
	}
	merge(sites);
	*ret_sites = TAKE_PTR(sites);
	return 0;
}

void call_sites_free(struct call_sites *sites)
{
	if (!sites)
		return;
	frame_labels_free(sites->labels);
	free(sites->items);
	free(sites);
}

static uint64_t amount_of(const struct profile *profile, uint64_t count)
{
	uint64_t amount;

	if (event_source_is_cpu(caption_event_source(profile)))
		return count;
	return __builtin_mul_overflow(count, profile->period_ns, &amount) ? UINT64_MAX : amount;
}

/* Names have no control characters. */
static void write_label(const struct call_sites *sites, uint32_t label, struct output *output)
{
	char name[FRAME_NAME_BYTES] = "-";

	if (label != FRAME_NONE)
		(void)frame_label_format(&sites->labels->items[label], name);
	output_string(output, name);
}

int call_sites_write(const struct profile *profile, struct output *output)
{
	_cleanup_(call_sites_freep) struct call_sites *sites = NULL;
	const struct event_source *source = caption_event_source(profile);
	char text[CAPTION_BYTES];
	int r = call_sites_new(profile, &sites);

	if (r < 0)
		return r;
	output_printf(output, "# %s\n# %s\tmemory\tcall site%s\n", caption_source(profile, text),
		event_source_is_cpu(source) ? "samples" : source->unit,
		source->is_live ? "\tage" : "");
	for (size_t i = 0; i < sites->count; i++) {
		const struct call_site *site = &sites->items[i];

		output_printf(output, "%" PRIu64 "\t", amount_of(profile, site->count));
		write_label(sites, site->memory, output);
		output_char(output, '\t');
		write_label(sites, site->caller, output);
		if (site->age < LIVE_AGES)
			output_printf(output, "\t%s", live_age_frame(site->age));
		output_char(output, '\n');
	}
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (frame_loss(profile, i) > 0)
			output_printf(output, "%" PRIu64 "\t[lost: %s]\t-\n",
				amount_of(profile, frame_loss(profile, i)), accounts_drop_name(i));
	return 0;
}

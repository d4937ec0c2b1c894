/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof_tables.h"

#include "base/array.h"
#include "labels/cgroup_path.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Room for the message's own texts: names of types and keys, and comments. Each string of the
 * profile may become four: a cgroup's path, with its unit, container and pod; or claims.
 */
enum { OWN_TEXT_BYTES = 16 * 1024, TEXTS_OF_STRING = 4 };

void pprof_tables_done(struct pprof_tables *tables)
{
	free(tables->samples);
	free(tables->location_ids);
	free(tables->comm_location_ids);
	free(tables->mappings);
	free(tables->string_ids);
	free(tables->cgroups);
	free(tables->functions);
	string_pool_done(&tables->strings);
	hash_index_done(&tables->function_index);
	*tables = (struct pprof_tables){ 0 };
}

static int allocate(struct pprof_tables *tables)
{
	const struct profile *profile = tables->profile;
	size_t string_limit = TEXTS_OF_STRING * profile->strings.size + OWN_TEXT_BYTES +
			      profile->binaries.count * BUILD_ID_HEX_BYTES +
			      profile->spans.count * (TRACE_ID_TEXT_BYTES + SPAN_ID_TEXT_BYTES);

	/* calloc(0) may return NULL. */
	tables->samples = calloc(profile->samples.count + 1, sizeof(*tables->samples));
	tables->location_ids = calloc(profile->locations.count + 1, sizeof(*tables->location_ids));
	tables->mappings = calloc(profile->binaries.count + 1, sizeof(*tables->mappings));
	tables->string_ids = calloc(profile->strings.count + 1, sizeof(*tables->string_ids));
	tables->cgroups = calloc(profile->strings.count + 1, sizeof(*tables->cgroups));
	if (tables->labels == PPROF_LABELS_ROOTS) {
		tables->comm_location_ids =
			calloc(profile->strings.count + 1, sizeof(*tables->comm_location_ids));
		if (!tables->comm_location_ids)
			return -ENOMEM;
	}
	if (!tables->samples || !tables->location_ids || !tables->mappings || !tables->string_ids ||
		!tables->cgroups)
		return -ENOMEM;
	return string_pool_init(&tables->strings, string_limit);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static bool is_of_service(const struct pprof_cgroup *cgroup)
{
	return cgroup->unit != 0 || cgroup->container != 0 || cgroup->pod != 0;
}

static int compare_services(const struct pprof_tables *tables, const struct profile_thread *s,
	const struct profile_thread *t)
{
	const struct pprof_cgroup *a = &tables->cgroups[s->cgroup],
				  *b = &tables->cgroups[t->cgroup];
	int order = compare_u32(a->unit, b->unit);

	if (order == 0)
		order = compare_u32(a->container, b->container);
	if (order == 0)
		order = compare_u32(a->pod, b->pod);
	if (order == 0 && !is_of_service(a))
		order = compare_u32(s->claims, t->claims);
	return order;
}

/* Threads with equal labels may differ in the start of their process. */
static int compare_threads(const struct profile_thread *s, const struct profile_thread *t)
{
	int order = compare_u32(s->tgid, t->tgid);

	if (order == 0)
		order = compare_u32(s->tid, t->tid);
	if (order == 0)
		order = compare_u32(s->owner, t->owner);
	if (order == 0)
		order = compare_u32(s->comm, t->comm);
	if (order == 0)
		order = compare_u32(s->exe, t->exe);
	if (order == 0)
		order = compare_u32(s->claims, t->claims);
	return order != 0 ? order : compare_u32(s->cgroup, t->cgroup);
}

static bool has_threads(const struct pprof_tables *tables)
{
	return tables->labels == PPROF_LABELS_ALL || tables->labels == PPROF_LABELS_ROOTS;
}

/* Orders by stack, then by labels. */
static int compare_samples(const void *first, const void *second, void *context)
{
	const struct pprof_tables *tables = context;
	const struct profile *profile = tables->profile;
	const struct profile_sample *a = &profile->samples.items[*(const uint32_t *)first];
	const struct profile_sample *b = &profile->samples.items[*(const uint32_t *)second];
	const struct profile_thread *s = &profile->threads.items[a->thread];
	const struct profile_thread *t = &profile->threads.items[b->thread];
	int order = compare_u32(a->node, b->node);

	if (order != 0)
		return order;
	return has_threads(tables) ? compare_threads(s, t) : compare_services(tables, s, t);
}

bool pprof_tables_same_sample(const struct pprof_tables *tables, uint32_t first, uint32_t second)
{
	return compare_samples(&first, &second, (void *)tables) == 0;
}

static uint32_t comm_of(const struct profile *profile, uint32_t sample)
{
	return profile->threads.items[profile->samples.items[sample].thread].comm;
}

static void find_samples(struct pprof_tables *tables, const struct pprof_part *part)
{
	const struct profile *profile = tables->profile;
	const size_t count = part ? part->count : profile->samples.count;

	for (size_t n = 0; n < count; n++) {
		uint32_t i = part ? part->samples[n] : (uint32_t)n;
		uint32_t node = profile->samples.items[i].node;

		if (profile->samples.items[i].count == 0)
			continue;
		tables->samples[tables->sample_count++] = i;
		if (tables->comm_location_ids)
			tables->comm_location_ids[comm_of(profile, i)] = 1;
		if (node == PROFILE_ROOT)
			tables->extra_location_ids[PPROF_NO_STACK] = 1;
		for (; node != PROFILE_ROOT; node = profile->nodes.items[node].parent)
			tables->location_ids[profile->nodes.items[node].location] = 1;
	}
	qsort_r(tables->samples, tables->sample_count, sizeof(*tables->samples), compare_samples,
		tables);
}

/*
 * Updates the mapping's flags with one of its locations. A name that only tells the place does not
 * keep a receiver from looking for a better one.
 */
static void add_to_mapping(struct pprof_mapping *mapping, const struct profile *profile,
	const struct profile_location *location)
{
	if (mapping->id == 0)
		*mapping = (struct pprof_mapping){
			.id = 1, .has_functions = true, .has_files = true, .has_lines = true
		};
	if (location->frame_count == 0)
		mapping->has_functions = mapping->has_files = mapping->has_lines = false;
	if (location->frame_count > 1)
		mapping->has_inlined = true;
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct profile_frame *frame =
			&profile->frames.items[location->first_frame + i];

		mapping->has_functions &=
			frame->function != 0 &&
			!place_name_is(string_pool_get(&profile->strings, frame->function));
		mapping->has_files &= frame->file != 0;
		mapping->has_lines &= frame->line != 0;
	}
}

/* Replaces the marks of used items by numbers from 1. */
static void number(struct pprof_tables *tables, bool has_losses)
{
	const struct profile *profile = tables->profile;
	uint32_t id = 0;

	for (size_t i = 0; i < profile->locations.count; i++) {
		const struct profile_location *location = &profile->locations.items[i];

		if (tables->location_ids[i] == 0)
			continue;
		tables->location_ids[i] = ++id;
		if (profile->binaries.items[location->binary].kind != BINARY_SYNTHETIC)
			add_to_mapping(&tables->mappings[location->binary], profile, location);
	}
	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++)
		if (has_losses && accounts_drop_is_loss(reason) &&
			profile->accounts.dropped[reason] > 0)
			tables->extra_location_ids[reason] = ++id;
	if (tables->extra_location_ids[PPROF_NO_STACK] > 0)
		tables->extra_location_ids[PPROF_NO_STACK] = ++id;
	for (size_t i = 0; tables->comm_location_ids && i < profile->strings.count; i++)
		if (tables->comm_location_ids[i] > 0)
			tables->comm_location_ids[i] = ++id;

	id = 0;
	for (size_t i = 0; i < profile->binaries.count; i++)
		if (tables->mappings[i].id > 0)
			tables->mappings[i].id = ++id;
}

static uint32_t intern(struct pprof_tables *tables, const char *text, size_t size)
{
	uint32_t string = 0;

	/* The empty string is 0. */
	if (tables->error == 0 && size > 0)
		tables->error = string_pool_intern(&tables->strings, text, size, &string);
	return string;
}

uint32_t pprof_tables_text(struct pprof_tables *tables, const char *text)
{
	return intern(tables, text, strlen(text));
}

uint32_t pprof_tables_string(struct pprof_tables *tables, uint32_t profile_string)
{
	uint32_t *known = &tables->string_ids[profile_string];

	if (*known == 0)
		*known = pprof_tables_text(
			tables, string_pool_get(&tables->profile->strings, profile_string));
	return *known;
}

struct pprof_cgroup pprof_tables_cgroup(struct pprof_tables *tables, uint32_t profile_string)
{
	struct pprof_cgroup *known = &tables->cgroups[profile_string];
	struct cgroup_labels labels;

	/* A path without labels is short; parsing it is as cheap as caching it. */
	if (known->unit == 0 && known->container == 0 && known->pod == 0) {
		cgroup_path_parse(
			string_pool_get(&tables->profile->strings, profile_string), &labels);
		known->unit = intern(tables, labels.unit.text, labels.unit.size);
		/* Another user's samples must not pass for those of somebody's container. */
		if (!cgroup_path_is_of_user(&labels)) {
			known->container =
				intern(tables, labels.container.text, labels.container.size);
			known->pod = pprof_tables_text(tables, labels.pod_uid);
		}
	}
	return *known;
}

struct pprof_cgroup pprof_tables_service(
	struct pprof_tables *tables, const struct profile_thread *thread)
{
	struct pprof_cgroup service = pprof_tables_cgroup(tables, thread->cgroup);

	service.claims = is_of_service(&service) ? 0 : thread->claims;
	return service;
}

bool pprof_service_equal(const struct pprof_cgroup *a, const struct pprof_cgroup *b)
{
	return a->unit == b->unit && a->container == b->container && a->pod == b->pod &&
	       a->claims == b->claims;
}

uint32_t pprof_tables_claim(
	struct pprof_tables *tables, const struct profile_thread *thread, enum process_claim claim)
{
	char claimed[CLAIM_BYTES];

	return pprof_tables_text(tables,
		process_claims_get(string_pool_get(&tables->profile->strings, thread->claims),
			claim, claimed));
}

/* Labels of cgroups are part of the samples' order, so they come before it. */
static int read_services(struct pprof_tables *tables)
{
	for (size_t i = 0; tables->error == 0 && i < tables->profile->threads.count; i++)
		(void)pprof_tables_cgroup(tables, tables->profile->threads.items[i].cgroup);
	return tables->error;
}

static int compare_by_service(const void *first, const void *second, void *context)
{
	const struct pprof_tables *tables = context;
	const struct profile *profile = tables->profile;
	const struct profile_sample *a = &profile->samples.items[*(const uint32_t *)first];
	const struct profile_sample *b = &profile->samples.items[*(const uint32_t *)second];
	int order = compare_services(
		tables, &profile->threads.items[a->thread], &profile->threads.items[b->thread]);

	return order != 0 ? order : compare_samples(first, second, context);
}

int pprof_tables_sort_by_service(struct pprof_tables *tables)
{
	int r = read_services(tables);

	if (r == 0)
		qsort_r(tables->samples, tables->sample_count, sizeof(*tables->samples),
			compare_by_service, tables);
	return r;
}

int pprof_tables_init(struct pprof_tables *tables, const struct profile *profile,
	enum pprof_labels labels, const struct pprof_part *part)
{
	int r;

	*tables = (struct pprof_tables){ .profile = profile, .labels = labels };
	r = allocate(tables);
	if (r == 0 && !has_threads(tables))
		r = read_services(tables);
	if (r < 0) {
		pprof_tables_done(tables);
		return r;
	}
	find_samples(tables, part);
	number(tables, !part || part->has_losses);
	return 0;
}

static bool function_equal(const void *owner, uint32_t id, const void *key)
{
	const struct pprof_tables *tables = owner;
	const struct pprof_function *known = &tables->functions[id];
	const struct pprof_function *wanted = key;

	return known->name == wanted->name && known->file == wanted->file;
}

static int add_function(
	struct pprof_tables *tables, const struct pprof_function *function, uint64_t hash)
{
	/* At most one for each frame of the profile, for each extra location and each comm. */
	int r = ARRAY_RESERVE(tables->functions, &tables->function_capacity,
		tables->function_count + 1,
		tables->profile->frames.count + PPROF_EXTRA_COUNT + tables->profile->strings.count);

	if (r == 0)
		r = hash_index_reserve(&tables->function_index);
	if (r < 0)
		return r;
	hash_index_insert(&tables->function_index, hash, (uint32_t)tables->function_count);
	tables->functions[tables->function_count++] = *function;
	return 0;
}

uint32_t pprof_tables_function(struct pprof_tables *tables, const struct pprof_function *function)
{
	uint64_t hash = hash_pair(function->name, function->file);
	uint32_t position =
		hash_index_find(&tables->function_index, hash, function_equal, tables, function);

	if (position != HASH_INDEX_NONE)
		return position + 1;
	if (tables->error == 0)
		tables->error = add_function(tables, function, hash);
	return tables->error < 0 ? 0 : (uint32_t)tables->function_count;
}

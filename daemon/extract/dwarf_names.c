/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/dwarf_names.h"

#include <errno.h>
#include <stdlib.h>

enum {
	CACHE_BITS = 16,
	REFERENCES_MAX = 16, /* references followed from one DIE; they may form a cycle */
	NAME_BYTES_MAX = 16 * 1024,
	GENERATION_MAX = INT32_MAX,
};

/* The name of a DIE. Its address in memory identifies it. */
struct dwarf_named_die {
	const void *die;
	uint32_t name;
	uint32_t generation : 31; /* entries of other generations are invalid */
	uint32_t is_linkage_name : 1;
};

/* The state of following a chain of references. */
struct search {
	const char *linkage_name, *name; /* the nearest of each */
	const uint8_t *next;		 /* the next DIE of the chain; NULL: none */
	struct dwarf_units *units; /* the units that contain `next`; NULL: it is in the same unit */
};

int dwarf_names_init(struct dwarf_names *names, struct symbol_builder *builder,
	const struct dwarf_sections *sections, const struct dwarf_sections *alternate)
{
	struct dwarf_named_die *cache = calloc((size_t)1 << CACHE_BITS, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	*names = (struct dwarf_names){ .builder = builder, .cache = cache, .generation = 1 };
	dwarf_units_init(&names->units, sections, alternate);
	dwarf_units_init(&names->alternate_units, alternate, NULL);
	return 0;
}

void dwarf_names_done(struct dwarf_names *names)
{
	dwarf_units_done(&names->units);
	dwarf_units_done(&names->alternate_units);
	free(names->cache);
	*names = (struct dwarf_names){ 0 };
}

void dwarf_names_forget(struct dwarf_names *names)
{
	if (++names->generation <= GENERATION_MAX)
		return;
	memset(names->cache, 0, sizeof(*names->cache) << CACHE_BITS);
	names->generation = 1;
}

static struct dwarf_named_die *cache_entry(struct dwarf_names *names, const void *die)
{
	uint64_t hash = (uint64_t)(uintptr_t)die * 0x9e3779b97f4a7c15;

	return &names->cache[hash >> (64 - CACHE_BITS)];
}

static const char *string_of(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	if (!dwarf_die_has(die, attribute))
		return NULL;
	if (!unit->alternate && dwarf_unit_has_alternate_string(die, attribute))
		names->lacks_alternate = true;
	return dwarf_unit_string(unit, die, attribute);
}

static void follow(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, enum dwarf_attribute attribute, struct search *search)
{
	struct dwarf_units *units = &names->units;
	const struct dwarf_bytes *info;
	bool is_alternate;
	uint64_t offset;

	if (dwarf_unit_reference(unit, die, attribute, &search->next))
		return;
	/* Compilers put the targets of a split unit's references into that unit. */
	if (unit->is_split ||
		!dwarf_unit_far_reference(unit, die, attribute, &is_alternate, &offset))
		return;
	if (is_alternate && !unit->alternate) {
		names->lacks_alternate = true;
		return;
	}
	if (is_alternate || unit->sections != units->sections)
		units = &names->alternate_units;
	info = &units->sections->info;
	if (offset < dwarf_bytes_left(info)) {
		search->next = info->position + offset;
		search->units = units;
	}
}

static void look_at(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, struct search *search)
{
	search->next = NULL;
	search->units = NULL;
	search->linkage_name = string_of(names, unit, die, DWARF_LINKAGE_NAME);
	if (search->linkage_name)
		return;
	if (!search->name)
		search->name = string_of(names, unit, die, DWARF_NAME);
	if (dwarf_die_has(die, DWARF_ORIGIN))
		follow(names, unit, die, DWARF_ORIGIN, search);
	else if (dwarf_die_has(die, DWARF_SPECIFICATION))
		follow(names, unit, die, DWARF_SPECIFICATION, search);
}

static int add_name(struct dwarf_names *names, const char *name, uint32_t *ret_name)
{
	*ret_name = 0;
	if (!name)
		return 0;
	return symbol_builder_add_name(
		names->builder, name, strnlen(name, NAME_BYTES_MAX), ret_name);
}

/* Finds the name at the end of the chain from `first->next`, without the names before it. */
static int resolve(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct search *first, struct dwarf_named_die *ret_named)
{
	struct search search = { .next = first->next, .units = first->units };
	struct dwarf_named_die named = { .die = first->next, .generation = names->generation };
	struct dwarf_die die;
	int r;

	for (int i = 0; i < REFERENCES_MAX && search.next && !search.linkage_name; i++) {
		r = search.units ? dwarf_units_find(search.units, search.next, &unit) : 0;
		if (r == -ENOMEM)
			return r;
		if (r < 0 || dwarf_unit_read_die(unit, search.next, &die) < 0 || !die.abbreviation)
			break;
		look_at(names, unit, &die, &search);
	}
	named.is_linkage_name = search.linkage_name != NULL;
	r = add_name(names, search.linkage_name ? search.linkage_name : search.name, &named.name);
	if (r == 0)
		*ret_named = named;
	return r;
}

int dwarf_names_find(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, uint32_t *ret_name)
{
	struct search search = { .next = NULL };
	struct dwarf_named_die *named;
	int r;

	look_at(names, unit, die, &search);
	if (search.linkage_name || !search.next)
		return add_name(
			names, search.linkage_name ? search.linkage_name : search.name, ret_name);
	named = cache_entry(names, search.next);
	if (named->die != search.next || named->generation != names->generation) {
		r = resolve(names, unit, &search, named);
		if (r < 0)
			return r;
	}
	if (search.name && !named->is_linkage_name)
		return add_name(names, search.name, ret_name);
	*ret_name = named->name;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/dwarf_names.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
	CACHE_BITS = 16,
	REFERENCES_MAX = 16, /* followed from one DIE; they may lead in a circle */
	NAME_BYTES_MAX = 16 * 1024,
	GENERATION_MAX = INT32_MAX,
};

/* What a DIE leads to. It is known by its place in memory, which no other DIE has. */
struct dwarf_named_die {
	const void *die;
	uint32_t name;
	uint32_t generation : 31; /* of the reader's: what is of another one is forgotten */
	uint32_t is_linkage_name : 1;
};

/* Along a chain of references. */
struct search {
	const char *linkage_name, *name; /* the nearest of each */
	const void *next;		 /* where the chain goes on; NULL: nowhere */
	Dwarf_Die foreign;		 /* where that is in another unit */
	bool is_foreign;
};

int dwarf_names_init(struct dwarf_names *names, struct symbol_builder *builder)
{
	struct dwarf_named_die *cache = calloc((size_t)1 << CACHE_BITS, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	*names = (struct dwarf_names){ .builder = builder, .cache = cache, .generation = 1 };
	return 0;
}

void dwarf_names_done(struct dwarf_names *names)
{
	free(names->cache);
	*names = (struct dwarf_names){ 0 };
}

void dwarf_names_forget_dies(struct dwarf_names *names)
{
	if (++names->generation <= GENERATION_MAX)
		return;
	memset(names->cache, 0, sizeof(*names->cache) << CACHE_BITS);
	names->generation = 1;
}

void dwarf_names_forget(struct dwarf_names *names)
{
	dwarf_names_forget_dies(names);
	names->foreign_count = 0;
}

static struct dwarf_named_die *cache_entry(struct dwarf_names *names, const void *die)
{
	uint64_t hash = (uint64_t)(uintptr_t)die * 0x9e3779b97f4a7c15;

	return &names->cache[hash >> (64 - CACHE_BITS)];
}

/* libdw would look for an alternate file on its own, and not ask whether it is the one. */
static bool is_in_alternate(unsigned int form)
{
	switch (form) {
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_strp_sup:
		return true;
	default:
		return false;
	}
}

/* Is it in an alternate file that is not there? Then it is lost, and that is remembered. */
static bool is_lost(struct dwarf_names *names, unsigned int form, bool has_alternate)
{
	if (has_alternate || !is_in_alternate(form))
		return false;
	names->lacks_alternate = true;
	return true;
}

static const char *string_of(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	if (!dwarf_die_has(die, attribute) ||
		is_lost(names, die->values[attribute].form, unit->has_alternate))
		return NULL;
	return dwarf_unit_string(unit, die, attribute);
}

static void follow_foreign(struct dwarf_names *names, struct search *search,
	Dwarf_Attribute *reference, bool has_alternate)
{
	/* Functions are not named by type signatures, whose search is a long one. */
	if (reference->form == DW_FORM_ref_sig8 || is_lost(names, reference->form, has_alternate))
		return;
	names->foreign_count++;
	if (!dwarf_formref_die(reference, &search->foreign))
		return;
	search->is_foreign = true;
	search->next = search->foreign.addr;
}

static void look_at(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, struct search *search)
{
	enum dwarf_attribute reference = DWARF_ATTRIBUTES;
	Dwarf_Attribute attribute;
	const uint8_t *target;

	search->next = NULL;
	search->linkage_name = string_of(names, unit, die, DWARF_LINKAGE_NAME);
	if (search->linkage_name)
		return;
	if (!search->name)
		search->name = string_of(names, unit, die, DWARF_NAME);
	if (dwarf_die_has(die, DWARF_ORIGIN))
		reference = DWARF_ORIGIN;
	else if (dwarf_die_has(die, DWARF_SPECIFICATION))
		reference = DWARF_SPECIFICATION;
	else
		return;
	if (dwarf_unit_reference(unit, die, reference, &target)) {
		search->next = target;
		return;
	}
	/* Compilers put what a piece of split DWARF refers to into the same unit. */
	if (unit->skeleton)
		return;
	attribute = dwarf_unit_attribute(unit, die, reference);
	follow_foreign(names, search, &attribute, unit->has_alternate);
}

/* What one DIE of another unit has, by libdw. */
struct foreign_attributes {
	Dwarf_Attribute items[DWARF_ATTRIBUTES];
	uint32_t present;
};

static int take_foreign_attribute(Dwarf_Attribute *attribute, void *context)
{
	struct foreign_attributes *attributes = context;
	enum dwarf_attribute which = dwarf_attribute_of(attribute->code);

	if (which != DWARF_ATTRIBUTES) {
		attributes->present |= 1U << which;
		attributes->items[which] = *attribute;
	}
	return DWARF_CB_OK;
}

static const char *foreign_string(struct dwarf_names *names,
	const struct foreign_attributes *attributes, enum dwarf_attribute which, bool has_alternate)
{
	Dwarf_Attribute attribute;

	if (!(attributes->present >> which & 1))
		return NULL;
	attribute = attributes->items[which];
	if (is_lost(names, attribute.form, has_alternate))
		return NULL;
	return dwarf_formstring(&attribute);
}

static void look_at_foreign(struct dwarf_names *names, struct search *search, bool has_alternate)
{
	struct foreign_attributes attributes = { .present = 0 };
	Dwarf_Die die = search->foreign;

	search->next = NULL;
	search->is_foreign = false;
	if (dwarf_getattrs(&die, take_foreign_attribute, &attributes, 0) < 0)
		return;
	search->linkage_name =
		foreign_string(names, &attributes, DWARF_LINKAGE_NAME, has_alternate);
	if (search->linkage_name)
		return;
	if (!search->name)
		search->name = foreign_string(names, &attributes, DWARF_NAME, has_alternate);
	if (attributes.present >> DWARF_ORIGIN & 1)
		follow_foreign(names, search, &attributes.items[DWARF_ORIGIN], has_alternate);
	else if (attributes.present >> DWARF_SPECIFICATION & 1)
		follow_foreign(
			names, search, &attributes.items[DWARF_SPECIFICATION], has_alternate);
}

static int add_name(struct dwarf_names *names, const char *name, uint32_t *ret_name)
{
	*ret_name = 0;
	if (!name)
		return 0;
	return symbol_builder_add_name(
		names->builder, name, strnlen(name, NAME_BYTES_MAX), ret_name);
}

/* What the chain that begins at `search->next` has, without what led to it. */
static int resolve(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct search *first, struct dwarf_named_die *ret_named)
{
	struct search search = {
		.next = first->next,
		.foreign = first->foreign,
		.is_foreign = first->is_foreign,
	};
	struct dwarf_named_die named = { .die = first->next, .generation = names->generation };
	struct dwarf_die die;
	int r;

	for (int i = 0; i < REFERENCES_MAX && search.next && !search.linkage_name; i++) {
		if (search.is_foreign)
			look_at_foreign(names, &search, unit->has_alternate);
		else if (dwarf_unit_read_die(unit, search.next, &die) == 0 && die.abbreviation)
			look_at(names, unit, &die, &search);
		else
			break;
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

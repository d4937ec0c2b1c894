/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_functions.h"

#include "base/scratch.h"
#include "extract/unwind_rules.h"

#include <errno.h>

struct collection {
	struct unwind_functions *functions;
	const struct unwind_files *files;
	const struct cfi_section *cfi; /* the current section */
	uint32_t section;
	size_t first_cie; /* of the section */
	size_t last_cie;  /* the one found last */
};

void unwind_functions_done(struct unwind_functions *functions)
{
	scratch_array_done(&functions->functions);
	scratch_array_done(&functions->cies);
	*functions = (struct unwind_functions){ 0 };
}

static struct unwind_cie *cies_of(const struct collection *collection)
{
	return collection->functions->cies.items;
}

/* Keeps a malformed CIE too: its functions count as lost. */
static int add_cie(struct collection *collection, const struct cfi_entry *entry)
{
	const struct cfi_registers *registers =
		unwind_rule_registers(collection->files->binary.machine);
	struct unwind_cie cie = { .cie.offset = entry->offset, .section = collection->section };

	cie.is_usable = cfi_cie_parse(collection->cfi, registers, entry, &cie.cie) == 0;
	return scratch_array_append(&collection->functions->cies, &cie, sizeof(cie));
}

/* The CIEs of a section are sorted by offset. */
static const struct unwind_cie *find_cie(struct collection *collection, uint64_t offset)
{
	const struct unwind_cie *cies = cies_of(collection);
	size_t low = collection->first_cie, high = collection->functions->cies.count;

	if (collection->last_cie < high && cies[collection->last_cie].cie.offset == offset)
		return &cies[collection->last_cie];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cies[middle].cie.offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == collection->functions->cies.count || cies[low].cie.offset != offset)
		return NULL;
	collection->last_cie = low;
	return &cies[low];
}

static int add_function(struct collection *collection, const struct cfi_entry *entry)
{
	const struct unwind_cie *cie = find_cie(collection, entry->cie);
	struct unwind_function function = { .entry = entry->offset };
	uint32_t bytes;
	struct cfi_fde fde;

	if (!cie || !cie->is_usable || cfi_fde_parse(collection->cfi, &cie->cie, entry, &fde) < 0) {
		collection->functions->failed++;
		return 0;
	}
	if (fde.size == 0)
		return 0;
	if (!unwind_files_find_offset(collection->files, fde.start, &function.start, &bytes)) {
		collection->functions->failed +=
			!code_segments_is_tombstone(&collection->files->code, fde.start);
		return 0;
	}
	if (fde.size > bytes) {
		collection->functions->failed++;
		return 0;
	}
	function.end = function.start + (uint32_t)fde.size;
	function.cie = (uint32_t)(cie - cies_of(collection));
	return scratch_array_append(&collection->functions->functions, &function, sizeof(function));
}

static int read_section(struct collection *collection)
{
	struct cfi_entry entry;
	uint32_t position = 0;
	int r;

	collection->first_cie = collection->last_cie = collection->functions->cies.count;
	while ((r = cfi_section_next(collection->cfi, &position, &entry)) > 0) {
		r = entry.is_cie ? add_cie(collection, &entry) : 0;
		if (r < 0)
			return r;
	}
	/* The number of entries behind it is unknown, so they count as one. */
	collection->functions->failed += r < 0;
	position = 0;
	while (cfi_section_next(collection->cfi, &position, &entry) > 0) {
		r = entry.is_cie ? 0 : add_function(collection, &entry);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t start_of(const void *item)
{
	return ((const struct unwind_function *)item)->start;
}

int unwind_functions_read(struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	struct scratch *scratch)
{
	static const scratch_sort_key keys[] = { start_of };
	struct collection collection = { .functions = functions, .files = files };
	int r;

	r = scratch_array_init(
		&functions->functions, scratch, sizeof(struct unwind_function), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(
			&functions->cies, scratch, sizeof(struct unwind_cie), UINT32_MAX);
	for (size_t i = 0; r == 0 && i < sections->count; i++) {
		collection.cfi = &sections->sections[i].cfi;
		collection.section = (uint32_t)i;
		r = read_section(&collection);
	}
	return r < 0 ? r : scratch_sort(&functions->functions, keys, 1);
}

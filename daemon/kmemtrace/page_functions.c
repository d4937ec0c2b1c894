/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/page_functions.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of Linux 6.1 to 6.18, without what the compiler or "_noprof" adds. */
static const char *const names[] = {
	"__alloc_frozen_pages",
	"__alloc_pages",
	"__alloc_pages_bulk",
	"__alloc_pages_slowpath",
	"__folio_alloc",
	"__free_frozen_pages",
	"__free_pages",
	"__free_pages_ok",
	"__get_free_pages",
	"___free_pages",
	"alloc_frozen_pages",
	"alloc_frozen_pages_nolock",
	"alloc_page_interleave",
	"alloc_pages",
	"alloc_pages_bulk",
	"alloc_pages_bulk_mempolicy",
	"alloc_pages_exact",
	"alloc_pages_mpol",
	"alloc_pages_nolock",
	"folio_alloc",
	"folio_alloc_mpol",
	"free_frozen_pages",
	"free_pages",
	"free_pages_exact",
	"free_pages_prepare",
	"free_the_page",
	"free_unref_folios",
	"free_unref_page",
	"free_unref_page_list",
	"free_unref_page_prepare",
	"get_free_pages",
	"get_zeroed_page",
	"vma_alloc_folio",
};

static bool is_of_allocator(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);
		const char *rest = symbol + length;

		if (strncmp(symbol, names[i], length) == 0 &&
			(!*rest || *rest == '.' || strcmp(rest, "_noprof") == 0))
			return true;
	}
	return false;
}

int page_functions_read(const char *path, struct page_function functions[PAGE_FUNCTIONS_MAX])
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct page_function *open = NULL; /* until the next symbol */
	char line[512], name[128], type;
	unsigned long long address;
	int count = 0;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %127s", &address, &type, name) != 3 || address == 0)
			continue;
		if (open && address > open->begin) {
			open->bytes = address - open->begin;
			open = NULL;
		}
		/* A module's symbols have its name behind theirs. */
		if ((type != 't' && type != 'T') || strchr(line, '[') || !is_of_allocator(name) ||
			open || count == PAGE_FUNCTIONS_MAX)
			continue;
		open = &functions[count++];
		*open = (struct page_function){ .begin = address };
	}
	return ferror(file) ? -EIO : count;
}

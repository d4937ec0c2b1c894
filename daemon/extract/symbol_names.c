/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_names.h"

#include <string.h>

enum {
	COMPARED_BYTES_MAX = 256 * 1024 * 1024,
	READ_COST_BYTES = 256,
};

void symbol_names_init(struct symbol_names *names, const struct symbol_table *tables)
{
	names->tables = tables;
	names->compared_bytes = 0;
	names->has_best = false;
}

/*
 * Versions look like foo@VERSION or foo@@VERSION. But assembler labels such as ..@5.loop have an @
 * in the name.
 */
static char *find_version(char *text, size_t length)
{
	size_t dots = strspn(text, ".");

	return length > dots + 1 ? memchr(text + dots + 1, '@', length - dots - 1) : NULL;
}

int symbol_names_read(const struct symbol_names *names, const struct symbol_claim *claim,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length)
{
	size_t length;
	char *version;
	int r;

	r = symbol_table_read_name(&names->tables[claim->table], claim->name, text, &length);
	if (r < 0)
		return r;
	version = find_version(text, length);
	if (version) {
		*version = '\0';
		length = (size_t)(version - text);
	}
	*ret_length = length;
	return 0;
}

static bool is_preferred(const char *name, size_t length, const char *best, size_t best_length)
{
	size_t underscores = strspn(name, "_"), best_underscores = strspn(best, "_");

	if (length == 0 || best_length == 0)
		return length > 0;
	if (underscores != best_underscores)
		return underscores < best_underscores;
	if (length != best_length)
		return length < best_length;
	return strcmp(name, best) < 0;
}

/* Caches the best name, which is compared again and again. */
static bool read_best(struct symbol_names *names, const struct symbol_claim *best)
{
	if (names->has_best && names->best.table == best->table && names->best.name == best->name)
		return true;
	names->compared_bytes += READ_COST_BYTES;
	names->has_best =
		symbol_names_read(names, best, names->best_name, &names->best_length) == 0;
	if (!names->has_best)
		return false;
	names->compared_bytes += names->best_length;
	names->best = *best;
	return true;
}

bool symbol_names_prefer(struct symbol_names *names, const struct symbol_claim *claim,
	const struct symbol_claim *best)
{
	size_t length;

	if (names->compared_bytes > COMPARED_BYTES_MAX)
		return false;
	if (claim->table == best->table && claim->name == best->name)
		return false;
	names->compared_bytes += READ_COST_BYTES;
	if (symbol_names_read(names, claim, names->name, &length) < 0)
		return false;
	names->compared_bytes += length;
	return !read_best(names, best) ||
	       is_preferred(names->name, length, names->best_name, names->best_length);
}

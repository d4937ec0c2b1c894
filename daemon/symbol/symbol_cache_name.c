/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_name.h"

#include <stdio.h>
#include <string.h>

static const char *suffix_of(enum pilotlight_symbol_identity_kind kind)
{
	switch (kind) {
	case PILOTLIGHT_SYMBOL_HTLHASH:
		return ".htlhash.sym";
	case PILOTLIGHT_SYMBOL_OWNED:
		return ".owned.sym";
	default:
		return ".sym";
	}
}

void symbol_cache_name_set(
	struct symbol_cache_name *ret_name, const struct symbol_identity *identity)
{
	struct build_id id = identity->id;
	char hex[BUILD_ID_HEX_BYTES];

	id.size = BUILD_ID_BYTES;
	while (id.size > 1 && id.bytes[id.size - 1] == 0)
		id.size--;
	(void)build_id_format(&id, hex);
	(void)snprintf(ret_name->folder, sizeof(ret_name->folder), "%.2s", hex);
	(void)snprintf(ret_name->file, sizeof(ret_name->file), "%.38s%s", hex + 2,
		suffix_of(identity->kind));
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool parse_byte(const char *hex, uint8_t *ret_byte)
{
	int high = digit_of(hex[0]);
	int low = high < 0 ? -1 : digit_of(hex[1]);

	if (low < 0)
		return false;
	*ret_byte = (uint8_t)(high << 4 | low);
	return true;
}

bool symbol_cache_name_parse(
	const char *folder, const char *file, struct symbol_identity *ret_identity)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID };
	struct symbol_cache_name name;
	const char *rest = file;

	if (!parse_byte(folder, &identity.id.bytes[identity.id.size++]))
		return false;
	while (identity.id.size < BUILD_ID_BYTES &&
		parse_byte(rest, &identity.id.bytes[identity.id.size])) {
		identity.id.size++;
		rest += 2;
	}
	if (strcmp(rest, suffix_of(PILOTLIGHT_SYMBOL_HTLHASH)) == 0)
		identity.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	else if (strcmp(rest, suffix_of(PILOTLIGHT_SYMBOL_OWNED)) == 0)
		identity.kind = PILOTLIGHT_SYMBOL_OWNED;
	/* What else could be wrong with it, zeros at the end for one, shows when it is made anew.
	 */
	symbol_cache_name_set(&name, &identity);
	if (strcmp(folder, name.folder) != 0 || strcmp(file, name.file) != 0)
		return false;
	*ret_identity = identity;
	return true;
}

int symbol_cache_name_compare(const struct symbol_identity *a, const struct symbol_identity *b)
{
	int order = memcmp(a->id.bytes, b->id.bytes, BUILD_ID_BYTES);

	return order != 0 ? order : strcmp(suffix_of(a->kind), suffix_of(b->kind));
}

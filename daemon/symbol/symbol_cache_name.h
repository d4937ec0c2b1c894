/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an entry of the symbol cache is called: hex, without the zeros that its identity ends with.
 * The kernel gives build-ids no length, so these are not known to belong to them, and an identity
 * has one name whether its length is known or not.
 */
#pragma once

#include "symbol/symbol_identity.h"

#include <stdbool.h>

enum {
	SYMBOL_CACHE_FOLDERS = 256, /* "00" to "ff" */
	SYMBOL_CACHE_FILE_BYTES = 2 * (BUILD_ID_BYTES - 1) + sizeof(".htlhash.sym"),
};

struct symbol_cache_name {
	char folder[3];
	char file[SYMBOL_CACHE_FILE_BYTES];
};

void symbol_cache_name_set(
	struct symbol_cache_name *ret_name, const struct symbol_identity *identity);

/* The reverse; false for a name that symbol_cache_name_set() does not give. */
bool symbol_cache_name_parse(
	const char *folder, const char *file, struct symbol_identity *ret_identity);

/* The order of names; equal are those that symbol_identity_equal() says are. */
int symbol_cache_name_compare(const struct symbol_identity *a, const struct symbol_identity *b);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a symbol file alone, checked, for who has no use for the rest. */
#pragma once

#include "symbol/symbol_identity.h"

#include <stdbool.h>

/*
 * Borrows `fd`. Returns 0; -EBADMSG not a symbol file, or its header, section table or length is
 * damaged; -EPROTONOSUPPORT another version; another -errno from reading.
 */
int symbol_cache_header_read(int fd, struct pilotlight_symbol_header *ret_header);

/* The same; -EBADMSG also where it is another's. */
int symbol_cache_header_read_of(int fd, const struct symbol_identity *identity,
	struct pilotlight_symbol_header *ret_header);

struct symbol_identity symbol_cache_header_identity(const struct pilotlight_symbol_header *header);

/* A negative entry that is no longer believed; also one from the future, whose age nobody knows. */
bool symbol_cache_header_is_expired(const struct pilotlight_symbol_header *header, uint64_t now_s);

/* That of a negative entry: `origin` becomes valid UTF-8 and is cut at its beginning. */
void symbol_cache_header_set_negative(struct pilotlight_symbol_header *ret_header,
	const struct symbol_identity *identity, enum pilotlight_symbol_failure failure,
	const char *origin, uint64_t now_s);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a symbol file (pilotlight/symbol_file.h). */
#pragma once

#include "symbol/symbol_identity.h"

/*
 * Reads and checks the header of the file `fd` (borrowed), its table of sections, and the file's
 * length. Returns 0; -EBADMSG damaged or not a symbol file; -EPROTONOSUPPORT another version; or
 * another -errno.
 */
int symbol_header_read(int fd, struct pilotlight_symbol_header *ret_header);

/*
 * Makes a header without sections; the caller sets lengths, failure and hash. The path `origin`
 * becomes valid UTF-8; a long one loses its beginning.
 */
void symbol_header_init(struct pilotlight_symbol_header *ret_header,
	const struct symbol_identity *identity, enum pilotlight_symbol_rank rank,
	const char *origin);

/* Sets the field `origin` to a path as valid UTF-8. A long one loses its beginning, because a path
 * ends with the file's name. */
enum { SYMBOL_HEADER_ORIGIN_BYTES = sizeof((struct pilotlight_symbol_header){ 0 }.origin) };
void symbol_header_set_origin(char origin[SYMBOL_HEADER_ORIGIN_BYTES], const char *path);

struct symbol_identity symbol_header_identity(const struct pilotlight_symbol_header *header);

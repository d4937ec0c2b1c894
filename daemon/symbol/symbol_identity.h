/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies a binary, to find its symbol file: by its build-id or, without one, by a hash of both
 * ends of the file and its length. Any user can make a file with the same identity. So the identity
 * of a file whose owner is not trusted includes that owner: its symbols are never used for files of
 * other users. A value object.
 */
#pragma once

#include "base/build_id.h"
#include "pilotlight/symbol_file.h"
#include "symbol/file_owner.h"

#include <stdbool.h>
#include <stdint.h>

enum { SYMBOL_IDENTITY_TEXT_BYTES = sizeof("htlhash:") + 2 * BUILD_ID_BYTES };

struct symbol_identity {
	enum pilotlight_symbol_identity_kind kind;
	/* At least 1 byte. Zeros at the end may be missing, because the kernel pads build-ids; they
	 * do not matter in comparisons. */
	struct build_id id;
};

/* Makes an identity from the fields of a header or a request. A size above BUILD_ID_BYTES becomes
 * 0. */
struct symbol_identity symbol_identity_make(enum pilotlight_symbol_identity_kind kind,
	const uint8_t bytes[BUILD_ID_BYTES], uint8_t size);

/* The identity of trusted files with this build-id (size > 0). */
struct symbol_identity symbol_identity_of_build_id(const struct build_id *id);

/*
 * The htlhash of a regular file's contents, which its owner may change meanwhile. `fd` keeps its
 * position. Returns 0; -EINVAL not a regular file, or empty; or another -errno from reading.
 */
int symbol_identity_hash_file(int fd, struct symbol_identity *ret_identity);

/* Includes the owner in the identity, unless `owner` is trusted. */
struct symbol_identity symbol_identity_of_owner(
	const struct symbol_identity *identity, const struct file_owner *owner);

/* The owner that the identity includes. False: it is of trusted files. */
bool symbol_identity_find_owner(const struct symbol_identity *identity, uint32_t *ret_uid);

/*
 * The identity of the file `fd` with the build-id `id`; without one (size 0) the file is hashed.
 * With `fd` -1 it is the identity of trusted files with the build-id. Returns 0; -ENOENT without
 * build-id and file; errors of fstat() and symbol_identity_hash_file().
 */
int symbol_identity_of_binary(
	int fd, const struct build_id *id, struct symbol_identity *ret_identity);

/* The same with the build-id of the ELF file. -ENOEXEC: not ELF; other errors as above. */
int symbol_identity_read_file(int fd, struct symbol_identity *ret_identity);

bool symbol_identity_equal(const struct symbol_identity *a, const struct symbol_identity *b);

/* Formats it as lower-case hex, after "htlhash:" for a hash or "owned:" if it includes an owner.
 * Returns `text`. */
const char *symbol_identity_format(
	const struct symbol_identity *identity, char text[SYMBOL_IDENTITY_TEXT_BYTES]);

/* Parses it, upper case, too. Returns 0, or -EINVAL: not 1 to 20 bytes of hex, or all zeros. */
int symbol_identity_parse(const char *text, struct symbol_identity *ret_identity);

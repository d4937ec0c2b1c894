/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a symbol file is found by: a build-id, or for a file without one the hash of its two ends
 * and its length. Both are what a file says of itself, and anybody can make a file that says the
 * same. So one whose owner is not trusted has an identity of that owner's own: what is made of it
 * says nothing of others' files. A value object.
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
	/* Its size may be short by zeros at the end where only the kernel's padded form is known;
	 * comparing and finding do not mind. At least 1. */
	struct build_id id;
};

/* From its parts in a header or a request; a size above BUILD_ID_BYTES becomes 0. */
struct symbol_identity symbol_identity_make(enum pilotlight_symbol_identity_kind kind,
	const uint8_t bytes[BUILD_ID_BYTES], uint8_t size);

/* Of a build-id that is there (size > 0), as trusted files have it. */
struct symbol_identity symbol_identity_of_build_id(const struct build_id *id);

/*
 * The htlhash of a regular file's contents, which its owner may change meanwhile. The position is
 * left alone. Returns 0; -EINVAL not a regular file or empty; another -errno from reading.
 */
int symbol_identity_hash_file(int fd, struct symbol_identity *ret_identity);

/* What becomes of the identity of a file that belongs to `owner`: itself, where he is trusted. */
struct symbol_identity symbol_identity_of_owner(
	const struct symbol_identity *identity, const struct file_owner *owner);

/*
 * Of the file `fd`, whose build-id is `id`; of size 0: it has none, and is hashed. `fd` -1 is a
 * file that is not at hand: what trusted files of its build-id are known by. Returns 0; -ENOENT
 * there is neither; errors of fstat() and of symbol_identity_hash_file().
 */
int symbol_identity_of_binary(
	int fd, const struct build_id *id, struct symbol_identity *ret_identity);

/* The same with the build-id that the ELF file has. -ENOEXEC not ELF; errors as above. */
int symbol_identity_read_file(int fd, struct symbol_identity *ret_identity);

bool symbol_identity_equal(const struct symbol_identity *a, const struct symbol_identity *b);

/* Lower-case hex; a hash begins with "htlhash:", an identity of one owner's with "owned:". Returns
 * `text`. */
const char *symbol_identity_format(
	const struct symbol_identity *identity, char text[SYMBOL_IDENTITY_TEXT_BYTES]);

/* The reverse; upper case too. Returns 0 or -EINVAL: not 1 to 20 bytes of hex, or all zeros. */
int symbol_identity_parse(const char *text, struct symbol_identity *ret_identity);

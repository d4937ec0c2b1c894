/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned strings: each distinct string is kept once and named by a 32-bit id. Id 0 is the empty
 * string. Strings become valid, printable UTF-8 when they are added (I8), so they are safe to write
 * anywhere. Bounded in bytes; not thread-safe.
 */
#pragma once

#include "base/hash_index.h"

#include <stddef.h>
#include <stdint.h>

struct string_pool {
	char *bytes;
	size_t size, capacity;
	size_t limit_bytes;
	uint32_t *offsets; /* by id */
	uint32_t count;
	size_t offsets_capacity;
	struct hash_index index;
};

/* Returns 0 or -ENOMEM. */
int string_pool_init(struct string_pool *pool, size_t limit_bytes);
void string_pool_done(struct string_pool *pool);

/*
 * `size` bytes, which need no NUL. A string longer than 1 KiB is kept with its middle elided.
 * Returns 0, -ENOMEM, or -E2BIG when the pool is full.
 */
int string_pool_intern(struct string_pool *pool, const char *string, size_t size, uint32_t *ret_id);

/* The same, but a string that the pool does not have yet must leave it within `limit_bytes`. */
int string_pool_intern_within(struct string_pool *pool, const char *string, size_t size,
	size_t limit_bytes, uint32_t *ret_id);

/*
 * Adds a stored string under the id that it had: the next one. An earlier version may have stored
 * two strings that this version cleans to one; then both ids name it. Cleaning may also lengthen
 * strings, so half as many bytes more than the limit fit. Returns also -EEXIST if the string has
 * another id for any other reason.
 */
int string_pool_restore(
	struct string_pool *pool, const char *string, size_t size, uint32_t wanted_id);

/* Borrowed, NUL-terminated; valid until the next intern. */
const char *string_pool_get(const struct string_pool *pool, uint32_t id);

/* What the pool holds of memory. */
size_t string_pool_bytes(const struct string_pool *pool);

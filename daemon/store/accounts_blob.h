/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window's accounts as bytes. Each counter has a number of its own for ever, whatever becomes of
 * the enumerations in the program (I9); zeros are left out. Version 1: a byte 1, then varint pairs
 * of (number, value).
 */
#pragma once

#include "drain/accounts.h"

#include <stddef.h>
#include <stdint.h>

enum { ACCOUNTS_BLOB_BYTES_MAX = 1024 };

/* Returns the size. */
size_t accounts_blob_write(const struct accounts *accounts, uint8_t bytes[ACCOUNTS_BLOB_BYTES_MAX]);

/* Returns 0 or -EBADMSG. */
int accounts_blob_read(struct accounts *ret_accounts, const void *bytes, size_t size);

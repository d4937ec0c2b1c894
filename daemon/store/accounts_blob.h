/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounts of a window as bytes. Each counter has a permanent number, independent of the
 * program's enumerations (I9). Zeros are omitted. Version 1: a byte 1, then varint pairs of
 * (number, value).
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a function without a symbol, by where its call frame information says that it starts:
 * "[liblzma.so.5.4.1 function at +0x1234]". All addresses of the function have this name. A real
 * name that comes later replaces it (query/naming.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACE_NAME_BYTES = 192 }; /* a longer file name is cut */

/* `path` is the binary's, valid UTF-8 of less than 128 bytes. Returns the length without the NUL.
 */
size_t place_name_format(char text[PLACE_NAME_BYTES], const char *path, uint64_t vaddr);

bool place_name_is(const char *name);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the functions of a symbol file as an ELF file that has a symbol table and nothing else,
 * for receivers that look names up there. Its symbols are absolute, and it has no segments, so
 * readers take addresses as they are: link-time vaddrs. Functions that were inlined, and lines, are
 * not in it.
 */
#pragma once

#include "base/output.h"
#include "symbol/symbol_file.h"

/* Does not flush `output`. Returns 0, or -ENODATA: no function has a name. */
int symbol_elf_write(const struct symbol_file *file, struct output *output);

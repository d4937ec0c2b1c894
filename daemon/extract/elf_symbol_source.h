/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names out of an ELF file's symbol tables: .symtab of the separate debug file, else .symtab of the
 * binary, else .dynsym; demangled. The tables are streamed past the sorted requests rather than
 * indexed, so memory does not grow with the file.
 *
 * An address belongs to the function that contains it, of nested ones to the innermost. A symbol
 * without a size reaches to the next symbol or the end of its section; what lies in no symbol has
 * no name, however near one is. Of several names for one place, functions go before mere labels,
 * global before weak before local names, those with fewer leading underscores before the others,
 * then the shorter, then the alphabet decides. Source lines are not looked at.
 */
#pragma once

#include "symbol/symbol_source.h"

/*
 * Used by one thread at a time; a batch has at most a million requests. Returns 0 or -ENOMEM; free
 * with symbol_source_free().
 */
int elf_symbol_source_new(struct symbol_source **ret_source);

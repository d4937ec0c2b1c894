/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that linkers left: .symtab and .dynsym of a file, the .symtab within its .gnu_debugdata
 * (xz; unpacked to the scratch file, with a bound on liblzma's memory), and the stubs of its
 * procedure linkage table as `name@plt` (x86-64), what else is in that as `.plt`. All are pooled,
 * then told to the builder without overlaps.
 *
 * An address belongs to the function that contains it, of nested ones to the innermost, and then to
 * a label that has a size: labels do not cut functions. A symbol without a size reaches to the next
 * symbol or the end of its section; what lies in no symbol has no name, however near one is. Of
 * several names for one place, functions go before mere labels, global before weak before local
 * names, those with fewer leading underscores before the others, then the shorter, then the
 * alphabet decides. A symbol's version (@GLIBC_2.2) is no part of its name.
 */
#pragma once

#include "base/cleanup.h"
#include "extract/symbol_builder.h"
#include "symbol/elf_file.h"

struct elf_symbols;

/* Builder and scratch are borrowed. Returns 0 or -ENOMEM. */
int elf_symbols_new(
	struct symbol_builder *builder, struct scratch *scratch, struct elf_symbols **ret_symbols);
void elf_symbols_free(struct elf_symbols *symbols);
DEFINE_CLEANUP(struct elf_symbols, elf_symbols_free);

enum { ELF_SYMBOLS_FILES_MAX = 4 };

/*
 * Takes in all that the file has, and says so by symbol_builder_add_contents(). The names are read
 * when all is finished: until then its descriptor stays open. A table that makes no sense is
 * counted with the builder as a loss and costs nothing else. At most ELF_SYMBOLS_FILES_MAX files.
 * Returns 0, or the builder's and the scratch's errors.
 */
int elf_symbols_add_file(struct elf_symbols *symbols, const struct elf_file *file);

/* Tells the builder of all symbols, once, after the last file. A name that cannot be read is
 * counted as a loss. Returns 0, or the builder's and the scratch's errors. */
int elf_symbols_finish(struct elf_symbols *symbols);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the names that linkers left: .symtab and .dynsym of a file, the .symtab in its
 * .gnu_debugdata (xz; unpacked to scratch, with bounded memory), and the stubs of its procedure
 * linkage table as `name@plt` (x86-64). The rest of that table is `.plt`. The builder gets all of
 * them without overlaps.
 *
 * An address belongs to the innermost function that contains it, else to a label with a size:
 * labels do not divide functions. Objects count as labels, because Haskell's and some assembler
 * code is marked so. A symbol without a size reaches to the next symbol, the end of its section, or
 * its bounds (elf_symbols_bound()). Other code has no name, however near a symbol is. Of several
 * names for one place, functions precede labels and these objects, and global names precede weak
 * and then local ones. Then names that compilers make up come last, and fewer leading underscores,
 * the shorter name and the alphabet decide. A symbol's version (@GLIBC_2.2) is not part of its
 * name.
 */
#pragma once

#include "base/cleanup.h"
#include "extract/symbol_builder.h"
#include "symbol/elf_file.h"

struct elf_symbols;
struct function_bounds;

/* Builder and scratch are borrowed. Returns 0 or -ENOMEM. */
int elf_symbols_new(
	struct symbol_builder *builder, struct scratch *scratch, struct elf_symbols **ret_symbols);
void elf_symbols_free(struct elf_symbols *symbols);
DEFINE_CLEANUP(struct elf_symbols, elf_symbols_free);

enum { ELF_SYMBOLS_FILES_MAX = 4 };

/*
 * Adds the symbols of a file, and reports their kinds by symbol_builder_add_contents(). Names are
 * read at the end, so the descriptor must stay open until then. A malformed table is counted as a
 * loss and costs nothing else. At most ELF_SYMBOLS_FILES_MAX files. Returns 0, or the builder's
 * and the scratch's errors.
 */
int elf_symbols_add_file(struct elf_symbols *symbols, const struct elf_file *file);

/* Is there a symbol without a size? */
bool elf_symbols_need_bounds(const struct elf_symbols *symbols);

/* Was the file stripped? Then such a symbol may reach to functions without a name. */
bool elf_symbols_are_stripped(const struct elf_symbols *symbols);

/*
 * Ends symbols without a size where their function ends, or at the latest where the next one begins
 * that the bounds have. Reads code up to the next symbol only, so no byte twice. Called after the
 * last file. Errors of the scratch.
 */
int elf_symbols_bound(struct elf_symbols *symbols, const struct function_bounds *bounds);

/*
 * Gives all symbols to the builder; called once, after the last file. A name that cannot be read
 * is counted as a loss. Returns 0, or the builder's and the scratch's errors.
 */
int elf_symbols_finish(struct elf_symbols *symbols);

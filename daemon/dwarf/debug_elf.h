/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file as libelf takes it for its debug sections: mapped, or unpacked to the scratch file where
 * they are compressed, so that it needs no memory of its own. One owner.
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

#include <libelf.h>
#include <stdbool.h>

struct debug_elf {
	Elf *elf;
	void *mapping; /* NULL: it is unpacked */
	size_t mapping_bytes;
	struct scratch_array unpacked;
	bool is_unpacked; /* there is such an array, used or not */
};

/*
 * Returns 0; -ENOEXEC libelf cannot read it; elf_sections_unpack()'s errors; another -errno from
 * mapping it. A file that shrinks while it is mapped ends the process with SIGBUS.
 */
int debug_elf_open(struct debug_elf *ret_elf, const struct elf_file *file, struct scratch *scratch);
/* The same with one that is open or all zeros, which it closes first and leaves closed on failure:
 * many files need no more of the scratch file than the biggest. */
int debug_elf_reopen(struct debug_elf *elf, const struct elf_file *file, struct scratch *scratch);
void debug_elf_done(struct debug_elf *elf);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of one reading of kallsyms: collected in any order, then sealed, which sorts them,
 * chooses one name for each address and lets go of what is not needed; then only looked up in.
 */
#pragma once

#include "resolve/kernel_images.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_snapshot {
	struct symbol *symbols;
	size_t count, capacity;
	char *names;
	size_t names_size, names_capacity;
	uint64_t *starts; /* of images, by id; 0: not known (as yet) */
	size_t starts_count, starts_capacity;
	uint64_t text_start, stext_start; /* _text and _stext; 0: not seen */
	uint32_t module;		  /* of the line before, since modules come in one piece */
	char module_name[64];
	size_t module_size; /* 0: the line before was none of a module */
};

void symbol_snapshot_done(struct symbol_snapshot *snapshot);

/* One line of kallsyms; one that is not understood is passed over. Returns 0, -ENOMEM, or -E2BIG.
 */
int symbol_snapshot_add(struct symbol_snapshot *snapshot, struct kernel_images *images,
	const char *line, size_t size);

/* `image` begins at `start`, whatever its lowest symbol is. Returns 0 or -ENOMEM. */
int symbol_snapshot_set_start(struct symbol_snapshot *snapshot, uint32_t image, uint64_t start);

/* Returns 0; -EPERM where no symbol has an address; or -ENOMEM. */
int symbol_snapshot_seal(struct symbol_snapshot *snapshot);

/* The name is borrowed from the snapshot. */
bool symbol_snapshot_find(const struct symbol_snapshot *snapshot, uint64_t address,
	const char **ret_name, uint32_t *ret_image, uint64_t *ret_offset);

size_t symbol_snapshot_bytes(const struct symbol_snapshot *snapshot);

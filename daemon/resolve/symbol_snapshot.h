/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of one read of kallsyms. The caller adds lines in any order, then seals the snapshot,
 * then only looks symbols up. Sealing sorts the symbols, chooses one name for each address and
 * frees unused memory.
 *
 * An old snapshot stays until the new one is sealed, so both are in memory for a moment, 5 MiB
 * each. So that there is no third one, the new arrays have the room of the last ones at once, and
 * are sealed in place: names that were not chosen stay, as they are few (6 of 3,100 KB).
 */
#pragma once

#include "resolve/kernel_images.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_snapshot {
	struct symbol *symbols;
	size_t count, capacity;
	size_t added_count; /* before one was chosen for each address */
	char *names;
	size_t names_size, names_capacity;
	uint64_t *starts; /* of images, by id; 0: not known yet */
	size_t starts_count, starts_capacity;
	uint64_t text_start, stext_start; /* _text and _stext; 0: not seen */
};

void symbol_snapshot_done(struct symbol_snapshot *snapshot);

/* Makes room for as many symbols as were added to `last`. Returns 0 or -ENOMEM. */
int symbol_snapshot_expect(struct symbol_snapshot *snapshot, const struct symbol_snapshot *last);

/* Adds one line of kallsyms; skips a malformed one. Returns 0, -ENOMEM, or -E2BIG. */
int symbol_snapshot_add(struct symbol_snapshot *snapshot, struct kernel_images *images,
	const char *line, size_t size);

/* Sets the start of `image`, which otherwise is its lowest symbol. Returns 0 or -ENOMEM. */
int symbol_snapshot_set_start(struct symbol_snapshot *snapshot, uint32_t image, uint64_t start);

/* Returns 0; -EPERM if no symbol has an address; or -ENOMEM. */
int symbol_snapshot_seal(struct symbol_snapshot *snapshot);

/* Finds the symbol that contains `address`. The name is borrowed from the snapshot. */
bool symbol_snapshot_find(const struct symbol_snapshot *snapshot, uint64_t address,
	const char **ret_name, uint32_t *ret_image, uint64_t *ret_offset);

size_t symbol_snapshot_bytes(const struct symbol_snapshot *snapshot);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a symbol file (pilotlight/symbol_file.h) from complete sections: lays them out, hashes
 * them, and writes them in order with write() only. Borrows all arguments.
 */
#pragma once

#include "base/scratch.h"
#include "pilotlight/symbol_file.h"
#include "symbol/symbol_identity.h"

#include <stddef.h>
#include <stdint.h>

struct symbol_file_writer {
	struct {
		struct pilotlight_symbol_header header;
		struct pilotlight_symbol_section sections[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
	} head;
	const void *contents[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
};

/*
 * The owner sets the rest of the header itself: head.header.contents and so on. `origin` becomes
 * valid UTF-8; a long one loses its beginning.
 */
void symbol_file_writer_init(struct symbol_file_writer *writer,
	const struct symbol_identity *identity, enum pilotlight_symbol_rank rank,
	const char *origin);

/* Adds a section, at most PILOTLIGHT_SYMBOL_SECTIONS_MAX. An empty section is omitted. */
void symbol_file_writer_add(struct symbol_file_writer *writer, enum pilotlight_symbol_section_id id,
	const void *contents, size_t count, size_t entry_bytes);
void symbol_file_writer_add_array(struct symbol_file_writer *writer,
	enum pilotlight_symbol_section_id id, const struct scratch_array *array);

/*
 * Writes the file; called once, last. Returns 0; -EFBIG longer than readers accept; -ENOMEM;
 * -errno of write().
 */
int symbol_file_writer_write(struct symbol_file_writer *writer, int fd);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a symbol file (pilotlight/symbol_file.h) out of sections that are complete: lays them out,
 * hashes them, and writes them in their order with write() alone. Borrows all it is given.
 */
#pragma once

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

/* What only the owner knows of the header it sets itself: head.header.contents and so on. `origin`
 * is made valid UTF-8, and of a long one only the end is kept. */
void symbol_file_writer_init(struct symbol_file_writer *writer,
	const struct symbol_identity *identity, enum pilotlight_symbol_rank rank,
	const char *origin);

/* At most PILOTLIGHT_SYMBOL_SECTIONS_MAX; one without bytes is left out. */
void symbol_file_writer_add(struct symbol_file_writer *writer, enum pilotlight_symbol_section_id id,
	const void *contents, size_t count, size_t entry_bytes);

/* Once, last. Returns 0; -EFBIG longer than a reader takes; -ENOMEM; -errno of write(). */
int symbol_file_writer_write(struct symbol_file_writer *writer, int fd);

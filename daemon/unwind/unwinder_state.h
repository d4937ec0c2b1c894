/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an unwinder is made of, for its own files alone: each has a part of its work. */
#pragma once

#include "unwind/unwinder.h"

#include "unwind/shared_tables.h"

struct unwinder {
	struct unwinder_maps maps;
	uint16_t machine;
	size_t files_max;
	struct walk_files *files;
	struct table_store *store;
	struct shared_tables *tables;
	/* A position in `files`, and how many are still to be looked at in this window. */
	size_t next_reload, reloads_left;
	size_t aside; /* files; those that have left since the window began are still counted */
	/* How often the free ranges, or the tables, may still be gone through in this window. */
	uint32_t room_checks_left;
	bool has_large_left; /* in this window */
	/* What the tables that could be made to leave take; good while the ranking is. */
	uint64_t idle_entries[TABLE_ARRAYS];
	uint64_t evictions, tables_refused, damaged, map_errors;
	uint32_t unplaced[UNWINDER_UNPLACED_MAX];
	size_t unplaced_count;
};

/* Asks the sampler when it last used the file. */
void unwinder_refresh_use(struct unwinder *unwinder, struct walk_file *file);

/* The sampler is not to know of the file any more. Returns 0 or the error of a map. */
int unwinder_drop_file(struct unwinder *unwinder, struct walk_file *file);

/*
 * Tells the sampler, and then leaves the table that was loaded. `table` is the number of the one
 * that is, with LOADED, or SHARED_TABLE_NONE. Returns 0, or the error of a map: it stays as it was.
 */
int unwinder_change_state(struct unwinder *unwinder, struct walk_file *file,
	enum walk_file_state state, uint32_t table);

/* --- who makes room: unwinder_room.c ---------------------------------------------------------- */

void unwinder_begin_room(struct unwinder *unwinder);

/* Is there room now? To be called while there are room checks left, of which it takes one. */
bool unwinder_has_room(struct unwinder *unwinder, const struct table_extent *extent);

/* From the next window on, if at all; none goes where it cannot be enough. */
void unwinder_make_table_room(struct unwinder *unwinder, const struct table_extent *extent);

/* For one file more, at once, if at all. */
void unwinder_make_file_room(struct unwinder *unwinder);

/* The table has a user more, who does not do without it. */
void unwinder_note_user(struct unwinder *unwinder, const struct shared_table *table);

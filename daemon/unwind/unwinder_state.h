/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwinder's private state, for unwinder*.c only. unwinder_share.c charges users,
 * unwinder_entry.c keeps the sampler's entries, unwinder_room.c makes room, unwinder_displace.c
 * chooses tables in use that leave, and unwinder.c uses all. */
#pragma once

#include "unwind/unwinder.h"

#include "unwind/runtime_slots.h"
#include "unwind/shared_tables.h"

struct unwinder {
	const struct walk_maps *maps;
	uint16_t machine;
	size_t files_max;
	struct walk_files *files;
	struct table_store *store;
	struct shared_tables *tables;
	struct runtime_slots runtimes;
	/* A position in `files`, and how many are still to be visited in this window. */
	size_t next_reload, reloads_left;
	size_t unidentified;	   /* files, as counted when the window began */
	uint32_t room_checks_left; /* in this window */
	bool has_large_left;	   /* in this window */
	uint64_t evictions, tables_refused, runtimes_refused, damaged, map_errors;
	struct user_share
		share; /* of the arrays, in millionths of the one that a table fills most */
	struct user_excess excess;
};

/* --- who answers for tables: unwinder_share.c --- */

/* In millionths of the array that the table fills most, so that a user cannot fill one with little
 * in the others. */
uint64_t unwinder_weight(const struct unwinder *unwinder, const struct table_extent *extent);
/* The table is new: the file's user answers for it. */
void unwinder_charge(struct unwinder *unwinder, const struct walk_file *file, uint32_t table);
/* Releases a file's table. */
void unwinder_release(struct unwinder *unwinder, uint32_t table);

/* --- the sampler's entries: unwinder_entry.c --- */

/* Reads from the sampler when it last used the file. */
void unwinder_refresh_use(struct unwinder *unwinder, struct walk_file *file);

/* Removes the sampler's entry. Returns 0 or the error of a map. */
int unwinder_drop_file(struct unwinder *unwinder, struct walk_file *file);

/* Marks the entry of an unidentified file as due. The sampler walks by it until a request is
 * answered. Returns 0 or the error of a map. */
int unwinder_set_due(struct unwinder *unwinder, struct walk_file *file);

/*
 * Writes the sampler's entry for the new state, and then releases the table that was loaded.
 * `table` is the number of the LOADED table, or SHARED_TABLE_NONE. Returns 0, or the error of a
 * map: nothing has changed.
 */
int unwinder_change_state(struct unwinder *unwinder, struct walk_file *file,
	enum walk_file_state state, uint32_t table);

/* The file makes room for another. */
void unwinder_forget_file(struct unwinder *unwinder, struct walk_file *file);

/* --- making room: unwinder_room.c --- */

void unwinder_begin_room(struct unwinder *unwinder);

/* Is there room now? Uses up one of the window's room checks; one must be left. */
bool unwinder_has_room(struct unwinder *unwinder, const struct table_extent *extent);

/* Evicts tables for one of `user`, unless that cannot be enough. The room is free from the next
 * window on. */
void unwinder_make_table_room(
	struct unwinder *unwinder, const struct table_extent *extent, uint64_t user);

/* --- tables in use that leave for another: unwinder_displace.c --- */

enum { UNWINDER_LEAVING_MAX = 32 };

struct unwinder_leaving {
	bool (*may_leave)(const void *context, const struct shared_table *table);
	const void *context;
	size_t count_max; /* up to UNWINDER_LEAVING_MAX */
};

struct unwinder_chosen {
	uint32_t numbers[UNWINDER_LEAVING_MAX];
	size_t count;
};

/*
 * Chooses few tables in use, without which there can be room for `extent`: all entries in a row, if
 * the tables that are not in use leave, too. None if there are not enough, or without memory.
 */
void unwinder_choose_leaving(struct unwinder *unwinder, const struct table_extent *extent,
	const struct unwinder_leaving *leaving, struct unwinder_chosen *ret_chosen);

/* Forgets a file that is not in use, if there is one, so that another can be added at once. */
void unwinder_make_file_room(struct unwinder *unwinder);

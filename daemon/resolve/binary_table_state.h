/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The private state of a binary table. binary_table.c keeps the entries, binary_table_room.c their
 * bounds, and binary_table_find.c finds and reads the files. */
#pragma once

#include "resolve/binary_table.h"

#include "base/hash_index.h"
#include "resolve/owned_binaries.h"

enum identity_kind {
	IDENTITY_NONE,	      /* the entry is free */
	IDENTITY_BUILD_ID,    /* first: 0 if trusted, else the owner's user id plus 1 */
	IDENTITY_FILE,	      /* first: the file's identity in the process table */
	IDENTITY_KERNEL,      /* first: the image of kernel_symbols */
	IDENTITY_JIT,	      /* first: pid; second: its start time */
	IDENTITY_VDSO,	      /* first: its size */
	IDENTITY_UNREAD,      /* first: the binary that it replaces */
	IDENTITY_INTERPRETED, /* first: the interpreter's binary */
};

/* Compared with memcmp(), so it has no padding. */
struct binary_identity {
	uint64_t kind;
	uint64_t first, second;
	uint8_t build_id[BUILD_ID_BYTES];
	uint32_t reserved;
};
_Static_assert(sizeof(struct binary_identity) == 48, "padding");

struct binary_entry {
	struct binary_identity identity;
	struct build_id build_id;
	enum binary_kind kind;
	char *path; /* the kernel's bytes, to open the file; clean them before showing them */
	struct elf_image *image;
	uint64_t user; /* who answers for it */
	uint32_t serial, used_window;
	int fd;
	bool is_sampled;
	bool has_user;	/* of a sample */
	bool is_doomed; /* during a collection: it goes, and is not charged any more */
	uint8_t attempts;
};

struct binary_table {
	struct binary_table_limits limits;
	struct broker *broker;
	struct process_table *processes;
	size_t path_bytes;
	struct binary_entry *entries;
	size_t count, capacity, first_free; /* no entry before it is free */
	struct hash_index index;
	size_t descriptors;
	size_t oldest_unsampled; /* no entry before it is open and unsampled */
	struct owned_binaries owned;
	struct user_share share, path_share; /* entries; bytes */
	struct user_excess excess;
	uint64_t user; /* the current sample's */
	uint32_t window, last_serial;
};

uint32_t binary_table_lookup(
	const struct binary_table *table, const struct binary_identity *identity);

/* Adds an entry that binary_table_lookup() has missed. Returns 0, -ENOMEM, or -E2BIG (counted). */
int binary_table_add(struct binary_table *table, const struct binary_identity *identity,
	enum binary_kind kind, const char *path, uint64_t user, uint32_t *ret_binary);

/* Replaces the path: an entry without an image may have that of another file with its build-id. */
void binary_table_set_path(
	struct binary_table *table, struct binary_entry *entry, const char *path);

/* Keeps `fd` for the entry. At the bound it closes the oldest file that no sample has used. */
void binary_table_keep_descriptor(struct binary_table *table, struct binary_entry *entry, int *fd);

/* --- bounds: binary_table_room.c --- */

/* Closes the entry's file, if it is open. */
void binary_table_close(struct binary_table *table, struct binary_entry *entry);

/* Has the user room for an entry? If not, counts it. */
bool binary_table_has_room(
	struct binary_table *table, const struct binary_identity *identity, uint64_t user);

/* Who answers for the entry and its path from now on. */
void binary_table_charge(struct binary_table *table, struct binary_entry *entry, uint64_t user);
void binary_table_discharge(struct binary_table *table, const struct binary_entry *entry);

/*
 * Keeps the end of a long path, once the user's share of half of the room is used up. Otherwise one
 * user's long paths would take the room of all later binaries. What is left does not begin with
 * '/', so nobody opens it.
 */
const char *binary_table_shorten(const struct binary_table *table, uint64_t user, const char *path);

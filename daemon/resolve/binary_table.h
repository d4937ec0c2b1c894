/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The binaries that frames are in, by identity. The identity is a build-id, a file without one, an
 * image of the kernel, or the JIT memory of one process. All trusted owners (symbol/file_owner.h)
 * of files with one build-id share an entry; each other owner gets its own. For a file the table
 * keeps the executable segments, to check the offsets of frames. It opens a file when it first sees
 * it mapped, and so can read its symbols after the process and the file are gone.
 *
 * Bounds (I4): `binaries_max` entries, `path_bytes_max` bytes of paths, and `descriptors_max` open
 * files. Users share entries and half of the bytes (base/user_share.h). The user of the first
 * sample answers for a binary; before it, the file's owner. A user over the share gets no new
 * entry, and long paths lose their beginning. At the third bound the table closes the oldest file
 * that no sample has used.
 *
 * A collection removes entries, and only it does. Ids are valid until then. One owner, one thread.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/user_share.h"
#include "broker/broker.h"
#include "process/process_table.h"
#include "resolve/binary_kind.h"
#include "resolve/kernel_symbols.h"
#include "symbol/elf_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct binary_table;

struct binary_table_limits {
	size_t binaries_max;
	size_t descriptors_max;
	size_t path_bytes_max;
};
extern const struct binary_table_limits binary_table_default_limits;

struct binary {
	enum binary_kind kind;
	struct build_id build_id;      /* size 0: none */
	const char *path;	       /* borrowed; the kernel's bytes, not always UTF-8 */
	const struct elf_image *image; /* NULL: the file could not be read */
	int fd;			       /* borrowed; -1: none */
	uint64_t user;		       /* who answers for it */
	uint32_t serial;	       /* never reused, unlike its id */
};

/* `broker` and `processes` are borrowed and must outlive the table. */
int binary_table_new(const struct binary_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct binary_table **ret_table);
void binary_table_free(struct binary_table *table);
DEFINE_CLEANUP(struct binary_table, binary_table_free);

/* The user of the sample whose binaries are looked for next; USER_UNKNOWN: there is no sample. */
void binary_table_set_user(struct binary_table *table, uint64_t user);

/* Windows ascend. Before the first call it is window 0. */
void binary_table_begin_window(struct binary_table *table, uint32_t window);

/* Opens and reads a file that was just mapped, if it is new, while it is reachable. */
void binary_table_note_mapping(
	struct binary_table *table, pid_t pid, const struct process_mapping *mapping);

/*
 * The functions below find or make an entry. They return 0, -ENOMEM, or -E2BIG if the table is
 * full or the user's share is used up. They look for a file in the mappings of `process` at
 * `time_ns`.
 */

/*
 * A build-id stands for the trusted file that has it. Until the table has seen one, it stands for
 * the file that `process` itself mapped, with any owner. It accepts another process's file only if
 * that is trusted; otherwise a user could substitute a file for one that is still unknown.
 */
int binary_table_find_build_id(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, uint32_t *ret_binary);
int binary_table_find_mapping(struct binary_table *table, const struct broker_process *process,
	uint64_t time_ns, const struct process_mapping *mapping, uint32_t *ret_binary);
int binary_table_find_kernel_image(struct binary_table *table, uint32_t image,
	const struct kernel_image *description, uint32_t *ret_binary);
int binary_table_find_jit(
	struct binary_table *table, pid_t pid, uint64_t process_start_ns, uint32_t *ret_binary);
/* Sets the runtime of JIT memory once it is known: for "V8" its path "[JIT]" becomes "[JIT] V8". */
void binary_table_set_jit_runtime(struct binary_table *table, uint32_t binary, const char *runtime);

/*
 * The placeholder of a binary whose file cannot be read; its addresses are file offsets. It never
 * gets an image or symbols, so no offset is mistaken for a virtual address.
 */
int binary_table_find_unread(struct binary_table *table, uint32_t binary, uint32_t *ret_binary);

/* The code that an interpreter runs, of any program. It has the interpreter's build-id and path. */
int binary_table_find_interpreted(
	struct binary_table *table, uint32_t binary, enum binary_kind kind, uint32_t *ret_binary);

/* A sample of this window has a frame in the binary. The functions that find one call this. */
void binary_table_use(struct binary_table *table, uint32_t binary);

void binary_table_get(const struct binary_table *table, uint32_t binary, struct binary *ret_binary);
size_t binary_table_count(const struct binary_table *table);
const struct user_share *binary_table_share(const struct binary_table *table);
/* The lookups that were refused (USER_BINARIES). */
const struct user_excess *binary_table_excess(const struct binary_table *table);

/*
 * Collection: if more than half of the entries are in use, dooms those of the users with the most
 * that were not used since `oldest_window`, in order of age, down to half of the entries. The
 * caller spares those whose ids it keeps, then ends the collection. False: there is none to end.
 */
bool binary_table_begin_collection(struct binary_table *table, uint32_t oldest_window);
bool binary_table_is_doomed(const struct binary_table *table, uint32_t binary);
void binary_table_spare(struct binary_table *table, uint32_t binary);
void binary_table_end_collection(struct binary_table *table);

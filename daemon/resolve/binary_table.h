/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The binaries that frames are in, by identity: a build-id, of files whose owner is trusted
 * (symbol/file_owner.h), and one for each other owner of such files; a file without one; a piece of
 * the kernel; the JIT memory of one process. For files it knows the executable segments, against
 * which each frame's offset is checked, and it holds a descriptor from the first moment that the
 * file is seen mapped, so that its symbols can still be read when the process and the file are
 * gone.
 *
 * Bounds (I4): `binaries_max` entries, `descriptors_max` open files; at the second, files that no
 * sample has asked for are closed first, oldest first. One owner, one thread. Ids stay valid.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"
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
	const char *path;	       /* borrowed; as the kernel has it, not always UTF-8 */
	const struct elf_image *image; /* NULL: the file could not be read */
	int fd;			       /* borrowed; -1: none */
};

/* `broker` and `processes` are borrowed and must outlive the table. */
int binary_table_new(const struct binary_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct binary_table **ret_table);
void binary_table_free(struct binary_table *table);
DEFINE_CLEANUP(struct binary_table, binary_table_free);

/* A file has just been mapped: if it is new, it is opened and read while it can be. */
void binary_table_note_mapping(
	struct binary_table *table, pid_t pid, const struct process_mapping *mapping);

/*
 * The functions below find or make an entry. They return 0, -ENOMEM, or -E2BIG at the bound.
 * `process` and `time_ns` tell in whose mappings a file may be found.
 */

/*
 * A build-id means the trusted file that has it, once one has been seen; before that, the file that
 * the process itself has mapped, whoever owns it. Another process's file is only taken if it is
 * trusted: else somebody could put his own in the place of what is not known as yet.
 */
int binary_table_find_build_id(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, uint32_t *ret_binary);
int binary_table_find_mapping(struct binary_table *table, const struct broker_process *process,
	uint64_t time_ns, const struct process_mapping *mapping, uint32_t *ret_binary);
int binary_table_find_kernel_image(struct binary_table *table, uint32_t image,
	const struct kernel_image *description, uint32_t *ret_binary);
int binary_table_find_jit(
	struct binary_table *table, pid_t pid, uint64_t process_start_ns, uint32_t *ret_binary);
/* Whose code it is, once that is known: "V8". Its path, "[JIT]", becomes "[JIT] V8". */
void binary_table_set_jit_runtime(struct binary_table *table, uint32_t binary, const char *runtime);

/*
 * The stand-in for a binary whose file cannot be read: its addresses are file offsets. It never
 * gets an image or names, so that an offset is never taken for a vaddr.
 */
int binary_table_find_unread(struct binary_table *table, uint32_t binary, uint32_t *ret_binary);

void binary_table_get(const struct binary_table *table, uint32_t binary, struct binary *ret_binary);
size_t binary_table_count(const struct binary_table *table);

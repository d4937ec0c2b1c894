/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task's binary: its identity, and the files that its symbols can be extracted from. */
#pragma once

#include "symbolize/debug_files.h"
#include "symbolize/task_table.h"

#include <stdbool.h>

/*
 * Identifies the binary by its build-id and its file's owner. A missing build-id is read from the
 * file and filled in. Returns 0; -ENOENT without build-id and file; errors of
 * symbol_identity_read_file().
 */
int task_identify(struct symbol_binary *binary, struct symbol_identity *ret_identity);

void task_find_debug_files(
	struct broker *broker, const struct task *task, struct debug_files *ret_files);
/* The same with a fetched debug file, which the call takes over. */
void task_take_debug_file(struct broker *broker, const struct task *task, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files);

/* Opens a split DWARF file that the binary's debug information names (split_file.h). -EACCES also
 * if the binary's owner is trusted and the file's is not. */
int task_open_split_file(
	struct broker *broker, const struct task *task, const char *path, int *ret_fd);

/*
 * Do better files exist now than those that the cache's entry was extracted from? Files that
 * existed then were rejected, so they are tried again only after a day, or if `is_eager`. The same
 * holds for missing split DWARF files: to find them, the binary must be read again.
 */
bool task_has_better(struct broker *broker, const struct task *task,
	const struct pilotlight_symbol_header *header, bool is_eager);

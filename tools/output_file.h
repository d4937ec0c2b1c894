/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes an output file that is complete or absent. The file has no name (O_TMPFILE) while it is
 * written, so that nothing is left behind however the program ends. On file systems without
 * O_TMPFILE it has a temporary name, and signals are blocked meanwhile; only SIGKILL can then leave
 * it behind.
 *
 * Links are followed: their target is replaced, and they stay. The new file gets the mode of the
 * one it replaces, and its owner if that is allowed. A target that is not a regular file (a
 * terminal, a pipe, /dev/full), or that has no name, is written in place. "-" is standard output,
 * and so is every other name of the same file.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

struct output_file;

/* Finds and checks the target, so that an unwritable one is reported before the work. */
int output_file_open(const char *path, struct output_file **ret_file, struct fault *fault);

/*
 * Keeps the file that is replaced, in place of an earlier one, by its name with ".old" behind: for
 * a name that the user did not choose.
 */
void output_file_keep_old(struct output_file *file);
/* Tells on standard error what was written; `path` is the one that was opened. */
void output_file_report(const struct output_file *file, const char *path);

/* Opens the file. Call it once, when there is something to write. `ret_fd` is borrowed. Blocks on a
 * pipe without a reader. */
int output_file_begin(struct output_file *file, int *ret_fd, struct fault *fault);

/*
 * Replaces the target, after output_file_begin(). If `error`, the -errno of writing, is not 0, the
 * old file stays. Returns 0 or -errno with `fault`.
 */
int output_file_commit(struct output_file *file, int error, struct fault *fault);

/* Removes a file that was not committed. */
void output_file_free(struct output_file *file);
DEFINE_CLEANUP(struct output_file, output_file_free);

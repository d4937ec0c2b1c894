/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there whole or not at all: it is written without a name (O_TMPFILE) in the folder
 * of the file that it is to become, so that nothing is left behind whatever ends the program. Where
 * the file system has no such files, it has a temporary name while it is written, and signals wait
 * meanwhile; only SIGKILL can then leave it there.
 *
 * Links are followed: the file that they lead to is replaced, and they stay. A file that was there
 * hands its mode on, and its owner where that is allowed. What is no regular file (a terminal, a
 * pipe, /dev/full), or has no name of its own, is written as it is. "-" is standard output, and so
 * is whatever leads to the same file.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

struct output_file;

/* Finds and checks the place, so that one that cannot be written to is known at once. */
int output_file_open(const char *path, struct output_file **ret_file, struct fault *fault);

/*
 * To be called once, when there is something to write: `ret_fd` is borrowed. Waits where the file
 * is a pipe that nobody reads yet.
 */
int output_file_begin(struct output_file *file, int *ret_fd, struct fault *fault);

/*
 * Makes it the file, after output_file_begin(); `error` (0 or -errno) is how writing went, and its
 * failure leaves what was there before. Returns 0 or -errno with `fault`.
 */
int output_file_commit(struct output_file *file, int error, struct fault *fault);

/* Removes what has not been committed. */
void output_file_free(struct output_file *file);
DEFINE_CLEANUP(struct output_file, output_file_free);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there whole or not at all: it is written under a temporary name beside its own and
 * renamed at the end. What is no regular file (a terminal, a pipe, /dev/full) is written as it is;
 * "-" is standard output.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

struct output_file;

/* Creates the temporary file, so that a place that cannot be written to is known at once. */
int output_file_open(const char *path, struct output_file **ret_file, struct fault *fault);

/* Borrowed. */
int output_file_fd(const struct output_file *file);

/* Makes it the file; `error` (0 or -errno) is how writing went. Returns 0 or -errno with `fault`.
 */
int output_file_commit(struct output_file *file, int error, struct fault *fault);

/* Removes what has not been committed. */
void output_file_free(struct output_file *file);
DEFINE_CLEANUP(struct output_file, output_file_free);

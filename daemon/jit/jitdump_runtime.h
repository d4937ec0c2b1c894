/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose dump it is, from the signs that runtimes leave: no field of the format says so. None is
 * taken for another's on a sign that two might leave.
 */
#pragma once

#include "jit/jitdump_reader.h"

#include <stddef.h>

struct jitdump_runtime_guess {
	enum jitdump_runtime runtime;
	unsigned looked; /* at how many names */
	unsigned erlang_hints;
};

/* By the file's path, which may be NULL, and its header. */
enum jitdump_runtime jitdump_runtime_of_path(const char *path);
enum jitdump_runtime jitdump_runtime_of_header(const struct jitdump_header *header);

/* By what the next LOAD says; does nothing once it knows, or after some thousands of them. */
void jitdump_runtime_look(struct jitdump_runtime_guess *guess, const struct jitdump_record *load);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that names the generated code of one running process. */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct jit_process_file {
	int fd; /* owned; -1: none */
	bool is_jitdump;
	char *path; /* owned; for messages */
};

/*
 * Opens the newest trustworthy jitdump file of the process, or else its perf map. Returns 0 or
 * -errno with `fault`; `ret_file` is untouched on failure.
 */
int jit_process_file_open(pid_t pid, struct jit_process_file *ret_file, struct fault *fault);
void jit_process_file_done(struct jit_process_file *file);

/* Explains why a file is not read, by the -errno of jit/jit_file.h or any other. */
const char *jit_process_file_explain(int error);

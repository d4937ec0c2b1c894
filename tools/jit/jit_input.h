/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An input file of `pilotlight jit`: of any age and machine, perhaps still being written. */
#pragma once

#include "base/fault.h"
#include "jit/jitdump_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

struct jit_input {
	const char *path; /* borrowed */
	int fd;		  /* owned; -1: none */
	bool is_jitdump;  /* by its magic */
	uint64_t bytes;
	uint64_t changed_ns; /* since 1970 */
};

/*
 * Opens a regular file; never blocks on another kind. Returns 0 or -errno with `fault`; call
 * jit_input_done() in both cases.
 */
int jit_input_open(const char *path, struct jit_input *ret_input, struct fault *fault);
void jit_input_done(struct jit_input *input);

/*
 * Reads a whole jitdump file: calls `function` (may be NULL) for each record and enters the records
 * into `index` (may be NULL). Time stamps are used as they are, except those of the CPU's counter.
 * Returns 0; -errno with `fault` for a file that is not a jitdump file or cannot be read; or the
 * result of `function` without a fault.
 */
int jit_input_read(struct jit_input *input, struct code_index *index,
	jitdump_record_function function, void *context, struct jitdump_reader_state *ret_state,
	struct fault *fault);

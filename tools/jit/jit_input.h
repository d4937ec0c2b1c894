/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that `pilotlight jit` is asked about: of any age, of any machine, perhaps being written.
 */
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
 * Opens a regular file; what is none is never waited for. Returns 0 or -errno with `fault`, and
 * `ret_input` is to be ended in either case.
 */
int jit_input_open(const char *path, struct jit_input *ret_input, struct fault *fault);
void jit_input_done(struct jit_input *input);

/*
 * Reads all of a jitdump file, once: `function` (may be NULL) sees each record with `context`, and
 * `index` (may be NULL) takes what they say, with time stamps as they stand but for those of the
 * CPU's counter.
 * Returns 0; -errno with `fault` for a file that is no jitdump or cannot be read; or what
 * `function` returned, without.
 */
int jit_input_read(struct jit_input *input, struct code_index *index,
	jitdump_record_function function, void *context, struct jitdump_reader_state *ret_state,
	struct fault *fault);

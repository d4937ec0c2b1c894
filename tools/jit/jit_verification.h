/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the records of a jitdump file with the specification, one after the other. What is
 * remembered of them is bounded (I4): beyond that, some checks are left out, with a note.
 */
#pragma once

#include "base/cleanup.h"
#include "base/hash_index.h"
#include "jit/code_index.h"
#include "jit/jitdump_reader.h"
#include "tools/jit/jit_deviations.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of source lines that wait for their code, and of code. */
enum { JIT_VERIFY_LINES_MAX = 1 << 20 };
#define JIT_VERIFY_INDEX_BYTES_MAX ((size_t)512 << 20)
enum { JIT_VERIFY_PIDS_MAX = 64 };

struct jit_verify_lines {
	uint64_t address;
	uint64_t offset; /* in the file */
	bool is_claimed; /* their code has come */
};

struct jit_verification {
	struct jit_deviations *deviations; /* borrowed */
	uint64_t changed_ns;		   /* the file, since 1970 */
	struct code_index *index;	   /* owned: what the records say */
	bool has_header;		   /* it has been compared */
	bool has_seen;			   /* a record */
	uint64_t told;			   /* the greatest time */
	bool is_closed;
	uint32_t pids[JIT_VERIFY_PIDS_MAX];
	size_t pid_count;
	struct jit_verify_lines *lines;
	size_t lines_count, lines_capacity;
	struct hash_index by_address;
	bool has_too_many_lines;
	/* DEBUG_INFOs whose lines begin where a biased function does; before it; and anywhere. */
	uint64_t with_bias, with_less, with_lines;
	uint64_t first_with_bias; /* its offset */
};

/* Returns 0 or -ENOMEM. */
int jit_verification_init(struct jit_verification *verification, struct jit_deviations *deviations,
	uint64_t changed_ns);
void jit_verification_done(struct jit_verification *verification);

/* A jitdump_record_function; the context is the verification. */
int jit_verification_visit(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error);

/* After the last record. */
void jit_verification_finish(
	struct jit_verification *verification, const struct jitdump_reader_state *state);

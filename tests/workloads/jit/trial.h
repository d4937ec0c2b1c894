/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the modes of jit_writer: a process that generates code, reports it and logs what it
 * ran. */
#pragma once

#include "code.h"
#include "truth.h"
#include "writer.h"

#include <stdbool.h>
#include <stdint.h>

struct trial {
	double seconds;
	uint64_t run_ns;    /* of the shortest run of a function */
	unsigned functions; /* how many */
	const char *prefix; /* of their names */
	enum code_style style;
	struct code_memory memory;
	struct writer writer;
	struct truth truth;
	uint64_t random;
	uint64_t end_ns;
};

/* `PREFIXword` or, with a number above 0, `PREFIXword_NUMBER`; never freed. */
const char *trial_name(const struct trial *trial, const char *word, unsigned number);

/* Writes code at a place without a report. */
void trial_put(
	const struct trial *trial, unsigned place, const char *name, struct function *function);

/* Reports code at a place that has other code or none. No profile may show that name. */
void trial_tell_only(struct trial *trial, unsigned place, const char *name);

/* Writes the code and reports it. */
void trial_load(struct trial *trial, unsigned place, const char *name, struct function *function);

/* Runs the code `weight` times as long as the shortest run. */
void trial_run(struct trial *trial, const struct function *function, unsigned weight);

/* Returns whether time is left. Writes records that have waited long enough. */
bool trial_goes_on(struct trial *trial);

/* Returns a random number below `bound`. */
unsigned trial_draw(struct trial *trial, unsigned bound);

/* Shuffles the numbers 0 to count - 1. Turns in a fixed order could be in step with the samples. */
void trial_shuffle(struct trial *trial, unsigned *turns, unsigned count);

/* Gives a child its own comm, truth and writer. */
void trial_inherit(struct trial *trial, const char *comm);

/* Ends a mode; a child then calls _exit(). */
void trial_end(struct trial *trial);

/* The modes. Each returns when its time is over. */
void run_steady(struct trial *trial);
void run_stale(struct trial *trial);
void run_reuse(struct trial *trial);
void run_move(struct trial *trial);
void run_nested(struct trial *trial);
void run_torn(struct trial *trial);
void run_fork_private(struct trial *trial);
void run_fork_shared(struct trial *trial);
void run_hostile_tiny(struct trial *trial);
void run_hostile_huge(struct trial *trial);
void run_hostile_names(struct trial *trial);
void run_hostile_same(struct trial *trial);
void run_hostile_rewrite(struct trial *trial);
void run_hostile_many(struct trial *trial);

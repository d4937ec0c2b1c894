/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the sampler's programs for block I/O (bpf/block.bpf.h). */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_settings;
struct sampler;

/* What the kernel has for the programs. */
struct block_support {
	bool has_start;	  /* block_io_start, since 6.5: in the thread that begins the I/O */
	char missing[80]; /* "": nothing; block I/O can be sampled */
};
void block_support_read(struct block_support *ret_support);

/*
 * Prepares the opened object for loading: the programs if one of the sources is wanted, else
 * nothing of them is loaded. Returns 0 or -errno; `fault` then says what the kernel lacks.
 */
int block_programs_prepare(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault);

/* Both do nothing if no source is wanted. Starting twice does nothing. */
int block_programs_start(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault);
void block_programs_stop(struct sampler *sampler);

/* Adds the run time that the kernel has counted. */
void block_programs_add_cost(struct sampler *sampler, uint64_t *ns);

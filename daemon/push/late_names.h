/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binaries whose code a sink of Parca has sent without a name. Each batch tells which
 * (pilotlight/parca_batch.h), and the next batches are asked for their names, until one has them.
 * Bounded: of more binaries, those that were noted first are forgotten (I4). So are all at a
 * restart, and if a batch with their names could not be made or is too large.
 */
#pragma once

#include "base/build_id.h"

#include <stddef.h>
#include <stdint.h>

enum {
	LATE_NAMES_MAX = 128,
	LATE_NAME_TEXT_BYTES = 2 * BUILD_ID_BYTES + sizeof(":0123456789abcdef,"),
	LATE_NAMES_TEXT_BYTES = LATE_NAMES_MAX * LATE_NAME_TEXT_BYTES,
};

struct late_names {
	struct late_name {
		struct build_id build_id;
		uint64_t symbols_s; /* when its symbol file was made that lacks them; 0: none was */
	} items[LATE_NAMES_MAX];
	size_t count;
};

/* Reads of a batch of `bytes` which binaries have names now, and which have not. What is no such
 * batch changes nothing (I8). */
void late_names_read(struct late_names *names, int fd, uint64_t bytes);

/* As the parameter "late-names" has it (export/parca.h). */
void late_names_format(const struct late_names *names, char text[LATE_NAMES_TEXT_BYTES]);

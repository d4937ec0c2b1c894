/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps (process, build-id) to a binary, for mapped files whose owner is not trusted. Such an owner
 * can copy any build-id, so it counts only for processes that mapped the file. Bounded (I4): a full
 * map is cleared. Part of a binary table, in its thread.
 */
#pragma once

#include "base/build_id.h"
#include "base/hash_index.h"
#include "broker/broker.h"

#include <stddef.h>
#include <stdint.h>

enum {
	OWNED_BINARIES_MAX = 16384,
	OWNED_BINARIES_UNKNOWN = UINT32_MAX,
};

struct owned_binary;

/* Zeroed, it is empty. */
struct owned_binaries {
	struct owned_binary *items;
	size_t count, capacity;
	struct hash_index index;
};
void owned_binaries_done(struct owned_binaries *binaries);

/* An id in the binary table, or OWNED_BINARIES_UNKNOWN. */
uint32_t owned_binaries_find(const struct owned_binaries *binaries,
	const struct broker_process *process, const struct build_id *id);

/* Adds a new pair, but ignores a process without a start time. Returns 0, or -ENOMEM: then the next
 * lookup only has to open the file again. */
int owned_binaries_add(struct owned_binaries *binaries, const struct broker_process *process,
	const struct build_id *id, uint32_t binary);

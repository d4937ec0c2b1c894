/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which binary a process means by a build-id, where the file that it has mapped belongs to somebody
 * who is not trusted: others may mean another file by it. Bounded (I4): when it is full it starts
 * afresh. Part of a binary table, in its thread.
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

/* A binary of the table, or OWNED_BINARIES_UNKNOWN. */
uint32_t owned_binaries_find(const struct owned_binaries *binaries,
	const struct broker_process *process, const struct build_id *id);

/* One that is not known; a process without a start is not remembered. Returns 0 or -ENOMEM, which
 * costs another look at the file. */
int owned_binaries_add(struct owned_binaries *binaries, const struct broker_process *process,
	const struct build_id *id, uint32_t binary);

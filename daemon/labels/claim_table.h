/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes claim of themselves (process_claims.h), by process. A process may publish its
 * context at any time and no event tells it, so processes that are sampled are asked: at an age of
 * two seconds, again after ten seconds and a minute, and then each ten minutes, since a context may
 * change. A process that writes its context just then is asked again after a second, five times at
 * most. The broker reads it. Bounded (I4): a process that is not sampled any more leaves its
 * place, and users share the bytes, the places and the time (base/user_share.h). One owner, one
 * thread.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker.h"

#include <stddef.h>
#include <stdint.h>

struct claim_table;

enum { CLAIM_TABLE_BYTES_MAX = 384 << 10 };

struct claim_counters {
	uint64_t asked;
	uint64_t read;	  /* contexts, also the same again */
	uint64_t invalid; /* contexts that are none, or hold no message */
	uint64_t refused; /* processes without a place, and claims beyond a user's share */
};

/* `broker` is borrowed. Returns 0 or -ENOMEM. */
int claim_table_new(struct broker *broker, struct claim_table **ret_table);
void claim_table_free(struct claim_table *table);
DEFINE_CLEANUP(struct claim_table, claim_table_free);

/* As cgroup_table_begin_window(). */
void claim_table_begin_window(struct claim_table *table, uint64_t ask_ns);

/*
 * The claims of a process that was sampled at `now_ns`, CLOCK_MONOTONIC, borrowed until the next
 * call; "": none are known. `user` answers for it.
 */
const char *claim_table_find(struct claim_table *table, const struct broker_process *process,
	uint64_t user, uint64_t now_ns);

void claim_table_counters(const struct claim_table *table, struct claim_counters *ret_counters);
size_t claim_table_bytes(const struct claim_table *table);

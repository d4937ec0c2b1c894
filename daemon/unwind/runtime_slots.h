/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The descriptions of interpreters that the sampler has (PILOTLIGHT_RUNTIMES_MAX). Files with the
 * same description share one. A number that no file uses any more is given to another description
 * only in a later window, when no program can refer to it. Users share the numbers
 * (base/user_share.h). One owner, one thread.
 */
#pragma once

#include "base/user_share.h"
#include "pilotlight/walk.h"

#include <stdint.h>

/* Gives the sampler a description. Returns 0 or -errno. */
typedef int (*runtime_slots_function)(
	void *context, uint32_t number, const struct pilotlight_runtime *runtime);

enum { RUNTIME_SLOTS_NONE = PILOTLIGHT_RUNTIMES_MAX };

struct runtime_slots {
	runtime_slots_function function; /* NULL: the sampler takes none */
	void *context;
	uint32_t window;
	struct user_share share;
	struct runtime_slot {
		struct pilotlight_runtime runtime;
		uint64_t user; /* who answers for it */
		uint32_t files;
		uint32_t free_window; /* without files: the first window in which it is free */
	} slots[PILOTLIGHT_RUNTIMES_MAX];
};

/* `function` and `context` are borrowed. */
void runtime_slots_init(
	struct runtime_slots *slots, runtime_slots_function function, void *context);
/* Windows ascend. */
void runtime_slots_begin_window(struct runtime_slots *slots, uint32_t window);

/* The number of a description for one more file of `user`. Returns 0; -ENOSPC: there is no number
 * for this user now; -EOPNOTSUPP; or the function's result. */
int runtime_slots_acquire(struct runtime_slots *slots, const struct pilotlight_runtime *runtime,
	uint64_t user, uint32_t *ret_number);
/* Is there a number for one more description of `user`? */
bool runtime_slots_have_room(const struct runtime_slots *slots, uint64_t user);
/* A file needs it no more. Does nothing for RUNTIME_SLOTS_NONE. */
void runtime_slots_release(struct runtime_slots *slots, uint32_t number);

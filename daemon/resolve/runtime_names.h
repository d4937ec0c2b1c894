/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the code objects of interpreters are called, by the hash of their contents that frames carry
 * (pilotlight/walk.h). The sampler sends a code object when it first meets it, and again in each
 * epoch in which it runs. So one that did not come for two epochs may be forgotten.
 *
 * Bounded by `limit_bytes`, which users share (I4, base/user_share.h). Names come first: tables of
 * lines leave a quarter of the room to them, and code for whose table there is no room has its name
 * without lines. What does not fit is refused and counted, and its frames have no names. One owner,
 * one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "drain/drain.h"
#include "symbol/runtime_inlined.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime_names;

/* As the sampler's RUNTIME_EPOCH_SHIFT. */
enum { RUNTIME_NAMES_EPOCH_SHIFT = 36 };

struct runtime_name {
	const char *name; /* "Shape.method"; valid UTF-8 that is safe to show, like the next */
	const char *file; /* a path, or "<string>" */
	uint32_t line;	  /* 0: not known */
};

struct runtime_names_counters {
	uint64_t added;
	uint64_t malformed;
	uint64_t refused;  /* no room */
	uint64_t cut;	   /* no room for lines: each has its name */
	uint64_t disputed; /* had the hash of other code of the user: neither has a name */
	size_t codes, bytes;
};

/* Returns 0 or -ENOMEM. */
int runtime_names_new(size_t limit_bytes, struct runtime_names **ret_names);
void runtime_names_free(struct runtime_names *names);
DEFINE_CLEANUP(struct runtime_names, runtime_names_free);

/* What comes from now on has this time, by the monotonic clock. */
void runtime_names_begin_window(struct runtime_names *names, uint64_t now_ns);

/* Keeps a copy. `user` answers for it (base/user_share.h). `cgroup`: its cgroup if it is not known
 * yet whose that is, else 0. */
void runtime_names_add(
	struct runtime_names *names, uint64_t user, uint64_t cgroup, const struct raw_code *code);

/* `user`: who answers for the sample; `code` and `unit` of a frame. A user's code has the names
 * that their own processes sent, or those in the cgroup: anybody can make code with the same hash.
 * Returns false if it is not known. The name is borrowed until the next change. */
bool runtime_names_find(const struct runtime_names *names, uint64_t user, uint64_t cgroup,
	uint64_t code, int32_t unit, struct runtime_name *ret_name);

/* If `code` is native code of several functions, writes those that run at `unit`, innermost first,
 * and returns their number. Else returns 0. */
size_t runtime_names_find_inlined(const struct runtime_names *names, uint64_t user, uint64_t cgroup,
	uint64_t code, int32_t unit, struct runtime_inlined_frame ret_frames[RUNTIME_INLINED_MAX]);

void runtime_names_counters(
	const struct runtime_names *names, struct runtime_names_counters *ret_counters);

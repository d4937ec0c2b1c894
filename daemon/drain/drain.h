/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Empties the maps that BPF fills. Two sets take turns: flip, wait until no program still writes to
 * the idle one, read it, prove that nothing is missing (I1), clear it. Needs no privilege beyond
 * the descriptors. One owner, one thread; capture goes on meanwhile (I5).
 */
#pragma once

#include "base/cleanup.h"
#include "capture/capture.h"
#include "drain/accounts.h"
#include "pilotlight/event.h"

#include <stddef.h>
#include <stdint.h>

struct drain;

/* A stack with its count, leaf first; the frames are borrowed for the length of the call. */
struct raw_sample {
	struct pilotlight_process process;
	uint32_t window; /* 0; whoever takes it may number his windows by it */
	uint32_t tid;
	uint64_t cgroup_id; /* the thread's, in the default hierarchy; 0: the kernel has none */
	const char *comm;   /* NUL-terminated, as the kernel has it */
	uint64_t count;
	uint64_t first_ns, last_ns;
	enum pilotlight_path path;
	size_t depth_max; /* a stack of so many frames may have had more */
	const uint64_t *kernel_ips;
	size_t kernel_count;
	/* By build-id, unless they were asked for earlier or could not be had. */
	const struct pilotlight_user_frame *user_frames;
	size_t user_count;
	/* The same stack, raw; none by PILOTLIGHT_PATH_RING. */
	const uint64_t *user_ips;
	size_t user_ip_count;
	/*
	 * Or, by PILOTLIGHT_WALKER_TABLES, frames as pilotlight/walk.h has them, why they end
	 * (..._ENDS: the stack is missing) and what they hash to: one hash is one stack, as long as
	 * this lives.
	 */
	enum pilotlight_walker walker;
	const uint64_t *walk_frames;
	size_t walk_count;
	enum pilotlight_walk_end walk_end;
	uint64_t walk_hash;
};

enum { DRAIN_ASK_AGAIN = 1 };

/*
 * Takes a sample. Returns 0; DRAIN_ASK_AGAIN where the stack came without its build-ids and they
 * are not known from earlier, so that the next window has them; or -errno when it cannot carry the
 * sample on: its count then moves from stored to PILOTLIGHT_DROP_PROFILE_FULL.
 */
typedef int (*drain_function)(void *context, const struct raw_sample *sample);

/*
 * `maps` is borrowed and must outlive the drain. They may be in use: a drain that was killed has
 * then left a window half drained, and may have taken samples of the next off the ring. The
 * accounts of the next but one, and of the next, will have these as PILOTLIGHT_DROP_UNREAD. Waits
 * as drain_flip() does. Returns 0 or -errno.
 */
int drain_new(const struct capture_maps *maps, struct drain **ret_drain);
void drain_free(struct drain *drain);
DEFINE_CLEANUP(struct drain, drain_free);

/*
 * Readable when the ring has become half full since drain_window() was last called: then the next
 * window should begin at once rather than at the end of its period. Borrowed.
 */
int drain_poll_fd(const struct drain *drain);

/*
 * First half: flips the sets and waits until the idle one is at rest, which takes some milliseconds
 * and no CPU time. Samples of the window are older than the time when this returns. Returns 0 or
 * -errno; then nothing has changed.
 */
int drain_flip(struct drain *drain);

/*
 * Second half, after drain_flip(): hands every sample of the idle set to `function` and clears the
 * set. `ret_accounts` has the window's accounts, which close: what BPF counted and the maps did not
 * hold is PILOTLIGHT_DROP_UNREAD. Returns 0 or -errno; -EPROTO where the maps held more than BPF
 * counted, which is a bug.
 */
int drain_window(
	struct drain *drain, drain_function function, void *context, struct accounts *ret_accounts);

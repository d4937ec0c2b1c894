/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Empties the maps that BPF fills. Two sets of maps alternate. The drain flips them, waits until no
 * program still writes to the idle set, reads it, proves that no sample is missing (I1) and clears
 * it. Capture continues meanwhile (I5). The drain needs no privilege beyond the descriptors. It has
 * one owner and runs on one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/capture.h"
#include "drain/accounts.h"
#include "pilotlight/event.h"
#include "pilotlight/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drain;

/* A stack with its count, leaf first. The frames are borrowed until the callback returns. */
struct raw_sample {
	struct pilotlight_process process;
	uint32_t window; /* set to 0; the callback's owner may number its windows here */
	uint32_t tid;
	uint64_t cgroup_id; /* the thread's, in the default hierarchy; 0 if the kernel has none */
	uint32_t user;	    /* who answers for it; as in struct pilotlight_ring_sample */
	/* Set to 0; the callback's owner may say here whose share it is of (base/user_share.h). */
	uint64_t share_user;
	const char *comm; /* NUL-terminated, as the kernel reports it */
	enum pilotlight_source source;
	enum pilotlight_wait wait;
	uint16_t kind; /* of kernel memory: enum pilotlight_kmem_kind; of block I/O: number of the
			* disk */
	/* No sample: the thread woke another, at `address`. The other's sample, if one comes, has
	 * that address, too. */
	bool is_waker;
	/* Set to false; the callback's owner may say that the frames tell the wait already. */
	bool is_told_by_frames;
	uint64_t count; /* periods of the source */
	/* Of what was allocated (struct pilotlight_live_key); of the thread, if it has a waker; 0:
	 * none. */
	uint64_t address;
	uint64_t first_ns, last_ns;
	enum pilotlight_path path;
	size_t depth_max; /* a stack with this many frames may be truncated */
	const uint64_t *kernel_ips;
	size_t kernel_count;
	/*
	 * Frames by build-id, unless an earlier window asked for them or they were not available.
	 */
	const struct pilotlight_user_frame *user_frames;
	size_t user_count;
	/* The same stack as raw addresses; empty for PILOTLIGHT_PATH_RING. */
	const uint64_t *user_ips;
	size_t user_ip_count;
	/*
	 * For PILOTLIGHT_WALKER_TABLES: frames in the format of pilotlight/walk.h, why the walk
	 * ended (..._ENDS: the stack is missing), and their hash. While the drain lives, equal
	 * hashes mean equal stacks.
	 */
	enum pilotlight_walker walker;
	const uint64_t *walk_frames;
	size_t walk_count;
	enum pilotlight_walk_end walk_end;
	uint64_t walk_hash;
	/* ... and the frames of the interpreter that the native ones run; runtime_file: its id. */
	const struct pilotlight_runtime_frame *runtime_frames;
	size_t runtime_count;
	enum pilotlight_runtime_end runtime_end;
	enum pilotlight_runtime_language runtime_language;
	uint32_t runtime_file;
	/* What the thread worked on; all zeros if it does not say. */
	struct pilotlight_thread_context context;
};

/* What a code object of an interpreter contains, in the format of struct pilotlight_runtime_code,
 * unchecked. Borrowed. */
struct raw_code {
	/* As in raw_sample. */
	struct pilotlight_process process;
	uint64_t cgroup_id;
	uint32_t user;
	uint64_t time_ns;
	const void *contents;
	size_t size;
};

enum { DRAIN_ASK_AGAIN = 1, DRAIN_NOT_WANTED = 2 };

/*
 * Receives a sample. Returns 0, DRAIN_ASK_AGAIN, DRAIN_NOT_WANTED or -errno.
 *
 * DRAIN_ASK_AGAIN: the stack came without build-ids, because an earlier window had them, and needs
 * them. The next window captures them again. DRAIN_NOT_WANTED: its count moves from stored to
 * PILOTLIGHT_DROP_FILTERED. On -errno the sample was not carried on, and its count moves to
 * PILOTLIGHT_DROP_PROFILE_FULL. A waker counts for nothing.
 */
typedef int (*drain_function)(void *context, const struct raw_sample *sample);

/*
 * Takes over `maps`, which is borrowed and must outlive the drain. Returns 0 or -errno. Waits as
 * drain_flip() does.
 *
 * The maps may be in use: a killed drain leaves one window half drained and may have consumed ring
 * records of the next. The accounts of the next two windows then count these samples as
 * PILOTLIGHT_DROP_UNREAD: those of the half-drained window in the second, the others in the first.
 */
int drain_new(const struct capture_maps *maps, struct drain **ret_drain);
void drain_free(struct drain *drain);
DEFINE_CLEANUP(struct drain, drain_free);

/* Receives code objects during drain_window(), each before the samples that need it. Without this
 * function they are ignored. */
typedef void (*drain_code_function)(void *context, const struct raw_code *code);
void drain_set_codes(struct drain *drain, drain_code_function function, void *context);

/*
 * A borrowed descriptor that becomes readable when the ring has become half full since the last
 * drain_window(). The next window should then begin at once, not at the end of its period.
 */
int drain_poll_fd(const struct drain *drain);

/*
 * First half: flips the sets and waits until the idle one is at rest. The wait takes some
 * milliseconds and no CPU time. All samples of the window are older than the return of this call.
 * Returns 0 or -errno; on error nothing has changed.
 */
int drain_flip(struct drain *drain);

/*
 * Second half, after drain_flip(): passes every sample of the idle set to `function`, then clears
 * the set. `ret_accounts` receives the window's accounts by source. Each closes: samples
 * that BPF counted and the maps lack are PILOTLIGHT_DROP_UNREAD. Returns 0 or -errno; -EPROTO if
 * the maps held more than BPF counted, which is a bug.
 */
int drain_window(struct drain *drain, drain_function function, void *context,
	struct accounts ret_accounts[PILOTLIGHT_SOURCES]);

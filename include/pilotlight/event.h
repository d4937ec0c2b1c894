/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * What crosses from the BPF programs to the engine. Fixed widths, padding by hand; the engine and
 * the programs of one build always match, so the layout carries no version of its own.
 *
 * A sample reaches the engine by one of two ways. Whose user stack the sampler has walked goes
 * through the ring buffer whole, with its frames and its time, as long as the ring is not nearly
 * full (pilotlight/walk.h). The others are counted in place: a (sample_key → sample_count) entry
 * whose stack ids point into the window's stackmaps; and what the maps cannot hold (another stack
 * in its slot, a map that is full) goes through the ring with its frames.
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_COMM_BYTES = 16,
	PILOTLIGHT_STACK_DEPTH =
		127, /* kernel.perf_event_max_stack at its default, and its bound */
	PILOTLIGHT_BUILD_ID_BYTES = 20,
	PILOTLIGHT_SET_COUNT = 2, /* one is written by BPF while the other is drained */
};

/* In place of a stack id: there is no such stack, as of a kernel thread, or of user mode. */
#define PILOTLIGHT_STACK_NONE (-1LL)

/* Who walked a user stack: what its id means. */
enum pilotlight_walker {
	PILOTLIGHT_WALKER_KERNEL, /* by frame pointers: a stackmap's id */
	PILOTLIGHT_WALKER_TABLES, /* the sampler, by unwind tables: a hash (pilotlight/walk.h) */
	PILOTLIGHT_WALKERS,
};

/* Why a walk by tables ended. */
enum pilotlight_walk_end {
	PILOTLIGHT_WALK_ROOT,
	PILOTLIGHT_WALK_NO_TABLE,    /* in a file whose table is not there, as yet or at all */
	PILOTLIGHT_WALK_NO_FUNCTION, /* the table knows of no function there */
	PILOTLIGHT_WALK_UNREADABLE,  /* the stack's memory: not present, or not the process's */
	PILOTLIGHT_WALK_UNSUPPORTED, /* DWARF that the table cannot express */
	PILOTLIGHT_WALK_NO_CODE,     /* the address is in nothing that can be executed */
	PILOTLIGHT_WALK_LOOPED,	     /* the caller's stack would be below this frame's */
	PILOTLIGHT_WALK_DEEP,	     /* PILOTLIGHT_WALK_DEPTH frames */
	PILOTLIGHT_WALK_ENDS,
};

/* Why a sample that fired was not stored (I1). Counted in BPF up to ..._BPF_COUNT, then in drain.
 */
enum pilotlight_drop {
	PILOTLIGHT_DROP_IDLE,	   /* the CPU had nothing to run: not a loss */
	PILOTLIGHT_DROP_FILTERED,  /* of a process that was not asked for: not a loss */
	PILOTLIGHT_DROP_RING_FULL, /* the maps could not hold it and the ring was full */
	PILOTLIGHT_DROP_BPF_ERROR, /* a helper failed in a way that nobody expects */
	PILOTLIGHT_DROP_BPF_COUNT,
	PILOTLIGHT_DROP_UNREAD =
		PILOTLIGHT_DROP_BPF_COUNT, /* counted by BPF, missing from its map */
	PILOTLIGHT_DROP_MALFORMED,	   /* a ring record that does not parse */
	PILOTLIGHT_DROP_PROFILE_FULL,	   /* the profile's memory budget is used up */
	PILOTLIGHT_DROP_ENGINE,		   /* an engine was killed before they were sealed */
	PILOTLIGHT_DROP_COUNT,
};

/* How a stored sample came, by path; per CPU and per set. */
enum pilotlight_path {
	PILOTLIGHT_PATH_MAP,
	PILOTLIGHT_PATH_RING,
	PILOTLIGHT_PATH_COUNT,
};

/* What cost a sample something short of its loss. */
enum pilotlight_event {
	PILOTLIGHT_EVENT_BUILD_ID_CALL,	     /* stacks that were not known */
	PILOTLIGHT_EVENT_BUILD_ID_COLLISION, /* its bucket was taken: the raw ips serve */
	PILOTLIGHT_EVENT_STACK_COLLISION,    /* another stack held the slot: the ring serves */
	PILOTLIGHT_EVENT_STACKMAP_FULL,
	PILOTLIGHT_EVENT_COUNTS_FULL,
	PILOTLIGHT_EVENT_STACK_ERROR, /* a helper gave no stack for a reason that nobody expects */
	PILOTLIGHT_EVENT_TIMED,	      /* JIT code by the ring, with a time of its own */
	PILOTLIGHT_EVENT_WALK_UNSENT, /* no room for a walked stack: the kernel's walk serves */
	PILOTLIGHT_EVENT_COUNT,
};

/* A set's accounts on one CPU. fired = Σ stored + Σ dropped. What most samples count is in front,
 * close together. */
struct pilotlight_counters {
	__u64 fired;
	__u64 run_ns; /* of the program, by its own clock: reading the kernel's takes CAP_SYS_ADMIN
		       */
	__u64 stored[PILOTLIGHT_PATH_COUNT];
	/* Samples with a user stack by walker, and those walked by tables by their end. */
	__u64 walked[PILOTLIGHT_WALKERS];
	__u64 ends[PILOTLIGHT_WALK_ENDS];
	__u64 dropped[PILOTLIGHT_DROP_BPF_COUNT];
	__u64 events[PILOTLIGHT_EVENT_COUNT];
};

/* A program image: what keeps one address space from the next under the same pid. */
struct pilotlight_process {
	__u64 start_ns; /* of the thread group leader, CLOCK_BOOTTIME */
	__u32 tgid;	/* in the engine's pid namespace; 0: outside of it */
	__u32 exec_id;	/* grows by one with each execve() */
};
_Static_assert(sizeof(struct pilotlight_process) == 16, "padding");

struct pilotlight_sample_key {
	struct pilotlight_process process;
	__s64 user_stack;
	__s64 kernel_stack;
	/*
	 * The thread's cgroup in the default hierarchy, by its inode; 0 where the kernel has none.
	 * Of the sample and not of the process: threads may be in different ones, and may be moved.
	 */
	__u64 cgroup_id;
	__u32 tid;
	__u32 walker; /* of user_stack: enum pilotlight_walker */
};
_Static_assert(sizeof(struct pilotlight_sample_key) == 48, "padding");

struct pilotlight_sample_count {
	__u64 count;
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC */
	__s64 build_id_stack; /* in the build-id stackmap, or PILOTLIGHT_STACK_NONE: use user_stack
			       */
	char comm[PILOTLIGHT_COMM_BYTES];
};
_Static_assert(sizeof(struct pilotlight_sample_count) == 48, "padding");

/*
 * User stacks whose build-ids have been asked for: in this window, where the id is valid, or in an
 * earlier one, whose answer the engine remembers by the stack's addresses. A stack id is the number
 * of a slot, so another stack may come to have it: then the engine does not know the addresses,
 * resolves them itself, and takes the entry out.
 */
struct pilotlight_known_stack_key {
	struct pilotlight_process process;
	__s64 user_stack;
};
_Static_assert(sizeof(struct pilotlight_known_stack_key) == 24, "padding");

struct pilotlight_known_stack {
	__s64 build_id_stack; /* or PILOTLIGHT_STACK_NONE: the raw ips serve */
	__u32 window;
	__u32 reserved;
};
_Static_assert(sizeof(struct pilotlight_known_stack) == 16, "padding");

/* The kernel's struct bpf_stack_build_id. */
enum {
	PILOTLIGHT_FRAME_EMPTY = 0,
	PILOTLIGHT_FRAME_BUILD_ID = 1, /* build_id and a file offset */
	PILOTLIGHT_FRAME_IP = 2,
};
struct pilotlight_user_frame {
	__s32 status;
	__u8 build_id[PILOTLIGHT_BUILD_ID_BYTES];
	__u64 offset_or_ip;
};
_Static_assert(sizeof(struct pilotlight_user_frame) == 32, "the kernel's layout");

/* What each record of the ring begins with. */
enum pilotlight_ring_kind {
	PILOTLIGHT_RING_SAMPLE,
	/* pilotlight/walk.h */
	PILOTLIGHT_RING_WALK,
	PILOTLIGHT_RING_WALKED_SAMPLE,
	PILOTLIGHT_RING_KINDS,
};
struct pilotlight_ring_header {
	__u32 kind;
	__u32 set; /* whose window it is of */
};

/*
 * A sample with its frames, leaf first: `kernel_count` ips of 8 bytes, then `user_count`
 * pilotlight_user_frame. The record is exactly as long as they need.
 */
struct pilotlight_ring_sample {
	struct pilotlight_ring_header header;
	__u64 time_ns;
	struct pilotlight_process process;
	__u64 cgroup_id;
	__u32 tid;
	__u16 kernel_count;
	__u16 user_count;
	char comm[PILOTLIGHT_COMM_BYTES];
};
_Static_assert(sizeof(struct pilotlight_ring_sample) == 64, "padding");

#define PILOTLIGHT_RING_SAMPLE_BYTES_MAX         \
	(sizeof(struct pilotlight_ring_sample) + \
		PILOTLIGHT_STACK_DEPTH * (sizeof(__u64) + sizeof(struct pilotlight_user_frame)))

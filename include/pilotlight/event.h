/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The contract between the BPF programs and the engine. Widths are fixed and padding is explicit.
 * Engine and programs are always of one build, so the layout needs no version.
 *
 * A sample reaches the engine by one of two paths. A sample whose user stack the sampler has walked
 * goes through the ring buffer, with its frames and its time, unless the ring is nearly full
 * (pilotlight/walk.h). Other samples are counted: a (sample_key → sample_count) entry, whose stack
 * ids point into the window's stackmaps. If the maps cannot hold a sample, because another stack
 * has its slot or a map is full, it goes through the ring with its frames.
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_COMM_BYTES = 16,
	PILOTLIGHT_STACK_DEPTH = 127, /* the default of kernel.perf_event_max_stack; more is cut */
	PILOTLIGHT_BUILD_ID_BYTES = 20,
	PILOTLIGHT_COUNTED_EVENTS = 4,
	PILOTLIGHT_SET_COUNT = 2, /* BPF writes one while the engine drains the other */
};

/* What a sample counts. Each source has its own period, counters and accounts. */
enum pilotlight_source {
	PILOTLIGHT_SOURCE_CPU,	      /* a thread ran */
	PILOTLIGHT_SOURCE_OFFCPU,     /* a thread was blocked */
	PILOTLIGHT_SOURCE_RUNQUEUE,   /* a thread was ready and waited for a CPU */
	PILOTLIGHT_SOURCE_FAULTS,     /* a thread touched memory that was not mapped yet */
	PILOTLIGHT_SOURCE_LOCK,	      /* a thread waited for a lock */
	PILOTLIGHT_SOURCE_KMEM_ALLOC, /* bytes of the kernel's memory that were allocated, */
	PILOTLIGHT_SOURCE_KMEM_LIVE,  /* ... and are not freed yet */
	PILOTLIGHT_SOURCE_KMEM_WASTE, /* ... beyond what was requested */
	PILOTLIGHT_SOURCE_BLOCK,      /* block I/O that a thread began was under way */
	PILOTLIGHT_SOURCE_BLOCK_BYTES,
	PILOTLIGHT_SOURCE_HEAP_ALLOC, /* a program allocated memory */
	PILOTLIGHT_SOURCE_HEAP_LIVE,  /* ... that it has not freed yet */
	/* Events that the user names (pilotlight/counted_event.h). */
	PILOTLIGHT_SOURCE_COUNTED,
	PILOTLIGHT_SOURCE_COUNTED_LAST = PILOTLIGHT_SOURCE_COUNTED + PILOTLIGHT_COUNTED_EVENTS - 1,
	PILOTLIGHT_SOURCES,
};

/* Why a thread did not run, or what it waited for. */
enum pilotlight_wait {
	PILOTLIGHT_WAIT_NONE, /* it ran */
	/* Blocked: in the kernel's states of these names, ... */
	PILOTLIGHT_WAIT_INTERRUPTIBLE,
	PILOTLIGHT_WAIT_UNINTERRUPTIBLE,
	PILOTLIGHT_WAIT_DISK,	 /* for I/O: the kernel's in_iowait */
	PILOTLIGHT_WAIT_IDLE,	 /* a kernel thread has nothing to do */
	PILOTLIGHT_WAIT_STOPPED, /* by a signal or a debugger */
	PILOTLIGHT_WAIT_OTHER,	 /* parked, frozen */
	/* Ready: ... */
	PILOTLIGHT_WAIT_PREEMPTED, /* another thread was given its CPU */
	PILOTLIGHT_WAIT_WOKEN,	   /* it was blocked before, or is new */
	PILOTLIGHT_WAIT_THROTTLED, /* its control group had used up its cpu.max */
	/* Kinds of locks, of PILOTLIGHT_SOURCE_LOCK. */
	PILOTLIGHT_WAIT_FUTEX, /* of user code, such as its mutexes and condition variables */
	PILOTLIGHT_WAIT_MUTEX,
	PILOTLIGHT_WAIT_RT_MUTEX,
	PILOTLIGHT_WAIT_RWSEM_READ,
	PILOTLIGHT_WAIT_RWSEM_WRITE,
	PILOTLIGHT_WAIT_PERCPU_RWSEM,
	PILOTLIGHT_WAIT_SEMAPHORE,
	PILOTLIGHT_WAIT_SPINLOCK,
	PILOTLIGHT_WAIT_RWLOCK,
	/* Operations of block devices. */
	PILOTLIGHT_WAIT_BLOCK_READ,
	PILOTLIGHT_WAIT_BLOCK_WRITE,
	PILOTLIGHT_WAIT_BLOCK_FLUSH,
	PILOTLIGHT_WAIT_BLOCK_DISCARD,
	PILOTLIGHT_WAIT_BLOCK_OTHER,
	PILOTLIGHT_WAIT_LONG, /* idle threads of a process: blocked for long (bpf/survey.bpf.h) */
	PILOTLIGHT_WAITS,
};

/*
 * What memory of the kernel a sample is of, in place of a wait. Pages by order, and the caches of
 * kmalloc() by size class, are numbered; other caches get numbers in the order of their first
 * sample, and the map `cache_names` has their names.
 */
enum pilotlight_kmem_kind {
	PILOTLIGHT_KMEM_PAGES,		    /* + order */
	PILOTLIGHT_KMEM_MOVABLE_PAGES = 16, /* + order; of programs and of files */
	PILOTLIGHT_KMEM_KMALLOC = 32,	    /* + size class */
	PILOTLIGHT_KMEM_OTHER_CACHE = 63,   /* all numbers are taken */
	PILOTLIGHT_KMEM_CACHE,		    /* + its number */
	PILOTLIGHT_KMEM_KINDS = 1024,
};
enum {
	PILOTLIGHT_KMEM_ORDERS = 16,
	/* 8, 16, 32, 64, 96, 128, 192, 256, ... 8192 bytes, and what pages back. */
	PILOTLIGHT_KMEM_SIZE_CLASSES = 14,
	PILOTLIGHT_KMEM_CACHES = PILOTLIGHT_KMEM_KINDS - PILOTLIGHT_KMEM_CACHE,
	PILOTLIGHT_KMEM_NAME_BYTES = 32,
};

/*
 * A sample of block I/O has the number of its disk beside the operation: PILOTLIGHT_WAIT_BLOCK_...
 * plus the number shifted. Disks get numbers from 1 on in the order of their first sample, and the
 * map `block_disks` has their names, by the number less 1. 0: all numbers are taken, or the request
 * is of no disk.
 */
enum {
	PILOTLIGHT_BLOCK_DISK_SHIFT = 8,
	PILOTLIGHT_BLOCK_DISKS = 64,
	PILOTLIGHT_BLOCK_NAME_BYTES = 32, /* the kernel's DISK_NAME_LEN */
};
_Static_assert((int)PILOTLIGHT_WAITS <= 1 << PILOTLIGHT_BLOCK_DISK_SHIFT, "both have room");
struct pilotlight_block_disk {
	__u32 device; /* major << 20 | minor; 0: the number is free */
	char name[PILOTLIGHT_BLOCK_NAME_BYTES];
};
_Static_assert(sizeof(struct pilotlight_block_disk) == 36, "padding");

/* In place of a stack id: there is no such stack, as in a kernel thread or in user mode. */
#define PILOTLIGHT_STACK_NONE (-1LL)

/* Who walked a user stack. This says what its id means. */
enum pilotlight_walker {
	PILOTLIGHT_WALKER_KERNEL, /* by frame pointers: a stackmap's id */
	PILOTLIGHT_WALKER_TABLES, /* the sampler, by unwind tables: a hash (pilotlight/walk.h) */
	PILOTLIGHT_WALKERS,
};

/* Why a walk by tables ended. */
enum pilotlight_walk_end {
	PILOTLIGHT_WALK_ROOT,
	PILOTLIGHT_WALK_NO_TABLE,	  /* in a file without a table, or it went through one
					   * whose table is not ready */
	PILOTLIGHT_WALK_NO_FUNCTION,	  /* the table has no function there */
	PILOTLIGHT_WALK_UNREADABLE,	  /* the stack's memory is not present or not mapped */
	PILOTLIGHT_WALK_UNSUPPORTED,	  /* DWARF that the table cannot express */
	PILOTLIGHT_WALK_NO_CODE,	  /* the address is not in executable memory */
	PILOTLIGHT_WALK_LOOPED,		  /* the caller's frame would be below this one */
	PILOTLIGHT_WALK_DEEP,		  /* at a bound: of frames, time or mappings */
	PILOTLIGHT_WALK_NO_FRAME_POINTER, /* generated code keeps none that leads to a caller */
	/* Not begun: the thread was blocked when its time was taken, and its memory cannot be read
	 * from outside. */
	PILOTLIGHT_WALK_BLOCKED,
	PILOTLIGHT_WALK_ENDS,
};

/* Why a sample that fired was not stored (I1). BPF counts those below ..._BPF_COUNT, the engine the
 * others. */
enum pilotlight_drop {
	PILOTLIGHT_DROP_IDLE,	   /* the CPU had nothing to run: not a loss */
	PILOTLIGHT_DROP_FILTERED,  /* of a process that is not recorded: not a loss */
	PILOTLIGHT_DROP_RING_FULL, /* the maps could not hold it and the ring was full */
	PILOTLIGHT_DROP_BPF_ERROR, /* a helper failed unexpectedly */
	PILOTLIGHT_DROP_BUSY,	   /* another sample was being taken on the CPU */
	PILOTLIGHT_DROP_LIVE_FULL, /* as many sampled allocations live as can be followed */
	PILOTLIGHT_DROP_BPF_COUNT,
	PILOTLIGHT_DROP_UNREAD =
		PILOTLIGHT_DROP_BPF_COUNT, /* counted by BPF, missing from its map */
	PILOTLIGHT_DROP_MALFORMED,	   /* a ring record that does not parse */
	PILOTLIGHT_DROP_PROFILE_FULL,	   /* the profile's memory budget is used up */
	PILOTLIGHT_DROP_ENGINE,		   /* an engine was killed before they were sealed */
	PILOTLIGHT_DROP_COUNT,
};

/* How a stored sample came. */
enum pilotlight_path {
	PILOTLIGHT_PATH_MAP,
	PILOTLIGHT_PATH_RING,
	PILOTLIGHT_PATH_COUNT,
};

/* What else happened to samples, short of a loss. */
enum pilotlight_event {
	PILOTLIGHT_EVENT_BUILD_ID_CALL,	     /* a stack was new */
	PILOTLIGHT_EVENT_BUILD_ID_COLLISION, /* another stack has its bucket: raw ips are used */
	PILOTLIGHT_EVENT_STACK_COLLISION,    /* another stack has its slot: sent through the ring */
	PILOTLIGHT_EVENT_STACKMAP_FULL,
	PILOTLIGHT_EVENT_COUNTS_FULL,
	PILOTLIGHT_EVENT_STACK_ERROR,	 /* a helper unexpectedly gave no stack */
	PILOTLIGHT_EVENT_TIMED,		 /* JIT code, sent through the ring with its own time */
	PILOTLIGHT_EVENT_WALK_UNSENT,	 /* no room for a walked stack: the kernel's walk is used */
	PILOTLIGHT_EVENT_THREAD_REFUSED, /* no room for a thread: its waits are not sampled */
	PILOTLIGHT_EVENT_WAIT_REFUSED,	 /* no room to note when a wait or an I/O began */
	PILOTLIGHT_EVENT_THINNED,	/* samples came too fast: this one stands for others, too */
	PILOTLIGHT_EVENT_WAKER_REFUSED, /* the stack of a waker could not be taken or sent */
	PILOTLIGHT_EVENT_SURVEYED,	/* a survey has taken it: it stands for a survey's period */
	PILOTLIGHT_EVENT_COUNT,
};

/*
 * The accounts of a source and a set on one CPU: fired = Σ stored + Σ dropped. They count periods
 * of the source: a sample stands for one or more. The counters that most samples touch
 * come first, close together.
 */
struct pilotlight_counters {
	__u64 fired;
	/* Run time, measured by the programs, as the kernel's needs CAP_SYS_ADMIN: of taking
	 * samples, and an estimate of what events cost of which no sample was taken
	 * (bpf/watch.bpf.h). */
	__u64 run_ns, watch_ns;
	__u64 stored[PILOTLIGHT_PATH_COUNT];
	/* Samples with a user stack, by walker; those walked by tables, by end. */
	__u64 walked[PILOTLIGHT_WALKERS];
	__u64 ends[PILOTLIGHT_WALK_ENDS];
	__u64 dropped[PILOTLIGHT_DROP_BPF_COUNT];
	__u64 events[PILOTLIGHT_EVENT_COUNT];
};

/* The place of a source's counters for a set. */
static inline __u32 pilotlight_counters_index(enum pilotlight_source source, __u32 set)
{
	return source * PILOTLIGHT_SET_COUNT + set;
}

/* A program image: tells address spaces apart that had the same pid in turn. */
struct pilotlight_process {
	__u64 start_ns; /* of the thread group leader, CLOCK_BOOTTIME */
	__u32 tgid;	/* in the engine's pid namespace; 0: not in it */
	__u32 exec_id;	/* grows by one with each execve() */
};
_Static_assert(sizeof(struct pilotlight_process) == 16, "padding");

struct pilotlight_sample_key {
	struct pilotlight_process process;
	__s64 user_stack;
	__s64 kernel_stack;
	/*
	 * The inode of the thread's cgroup in the default hierarchy; 0 without cgroups. Per sample,
	 * since threads of a process may be in different cgroups, and may be moved.
	 */
	__u64 cgroup_id;
	__u32 tid;
	__u8 walker; /* of user_stack: enum pilotlight_walker */
	__u8 source; /* enum pilotlight_source */
	/* enum pilotlight_wait; of kernel memory enum pilotlight_kmem_kind; of block I/O with the
	 * disk. */
	__u16 wait;
};
_Static_assert(sizeof(struct pilotlight_sample_key) == 48, "padding");

struct pilotlight_sample_count {
	__u64 count;		 /* periods of the source */
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC */
	__s64 build_id_stack; /* in the build-id stackmap; PILOTLIGHT_STACK_NONE: use user_stack */
	char comm[PILOTLIGHT_COMM_BYTES];
	__u32 user; /* as in pilotlight_ring_sample */
	__u32 reserved;
};
_Static_assert(sizeof(struct pilotlight_sample_count) == 56, "padding");

/*
 * User stacks whose build-ids have been requested: in this window, and then the id is valid, or in
 * an earlier one, and then the engine remembers the answer by the stack's addresses. A stack id is
 * the number of a slot, which another stack may get later. In that case the engine does not know
 * the addresses, resolves them itself, and removes the entry.
 */
struct pilotlight_known_stack_key {
	struct pilotlight_process process;
	__s64 user_stack;
};
_Static_assert(sizeof(struct pilotlight_known_stack_key) == 24, "padding");

struct pilotlight_known_stack {
	__s64 build_id_stack; /* PILOTLIGHT_STACK_NONE: use the raw ips */
	__u32 window;
	__u32 reserved;
};
_Static_assert(sizeof(struct pilotlight_known_stack) == 16, "padding");

/* The value of a process in the map of those that are followed: PILOTLIGHT_FOLLOWED, and maybe: */
enum pilotlight_followed {
	PILOTLIGHT_FOLLOWED = 1,
	/* Its allocator samples itself and reports it by probes (PILOTLIGHT_HEAP_REPORTS). */
	PILOTLIGHT_FOLLOWED_REPORTS = 2,
};

/*
 * A sampled allocation that lives. The map `live` has the key until the address is freed. Whether
 * an allocation lives is what the map says and nothing else: frees send no records. A sample of the
 * address lives if the map has the key with a time that is no later than the sample's: a later one
 * is of another allocation at the same address.
 */
struct pilotlight_live_key {
	__u64 address;
	__u32 tgid; /* 0: memory of the kernel */
	__u32 source;
};
_Static_assert(sizeof(struct pilotlight_live_key) == 16, "padding");

struct pilotlight_live {
	__u64 time_ns; /* CLOCK_MONOTONIC, taken before the sample's */
};

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

/* Each record of the ring begins with a header. */
enum pilotlight_ring_kind {
	PILOTLIGHT_RING_SAMPLE,
	/* pilotlight/walk.h */
	PILOTLIGHT_RING_WALK,
	PILOTLIGHT_RING_WALKED_SAMPLE,
	PILOTLIGHT_RING_CODE,
	PILOTLIGHT_RING_WAKER,
	PILOTLIGHT_RING_KINDS,
};
struct pilotlight_ring_header {
	__u16 kind;
	__u16 set;    /* of the sample's window */
	__u16 source; /* enum pilotlight_source */
	__u16 wait;   /* as in pilotlight_sample_key */
};
_Static_assert(sizeof(struct pilotlight_ring_header) == 8, "padding");

/*
 * A sample, followed by its frames, leaf first: `kernel_count` ips of 8 bytes, then `user_count`
 * pilotlight_user_frame. The record ends with the last frame.
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
	/*
	 * The user who answers for the thread: its real uid in the initial user namespace. Inside a
	 * user namespace that another user than root created, that user: one user may have 65536
	 * uids there, and must not get as many shares (I4).
	 */
	__u32 user;
	__u32 periods; /* of the source; not 0 */
	/* Of what was allocated, if the source counts what lives; of time blocked, of the thread if
	 * the record of a waker names it; else 0. */
	__u64 address;
};
_Static_assert(sizeof(struct pilotlight_ring_sample) == 80, "padding");

#define PILOTLIGHT_RING_SAMPLE_BYTES_MAX         \
	(sizeof(struct pilotlight_ring_sample) + \
		PILOTLIGHT_STACK_DEPTH * (sizeof(__u64) + sizeof(struct pilotlight_user_frame)))

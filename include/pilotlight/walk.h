/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The contract between the sampler's own walk of user stacks and the engine. The walk finds the
 * file behind each address in the kernel's own tree of mappings, at the time of the sample. So it
 * knows all that the kernel knows of a process, however young the process is or however often it
 * maps. For each file the engine enters whether there is an unwind table, and where it is in the
 * maps (pilotlight/unwind.h). For a file without an entry the walk leaves a request.
 */
#pragma once

#include "pilotlight/event.h"
#include "pilotlight/runtime.h"
#include "pilotlight/thread_context.h"
#include "pilotlight/unwind.h"

#include <linux/types.h>

enum {
	PILOTLIGHT_WALK_DEPTH = 1023,	 /* frames; one less than a power of two */
	PILOTLIGHT_WALK_CUT_DEPTH = 256, /* frames that are kept of a deeper stack */
	PILOTLIGHT_WALK_FILES_MAX = 8192,
	PILOTLIGHT_WALK_REQUESTS_MAX = 1024,
	/* For so many windows after its last use the sampler reuses a rule that it has found. */
	PILOTLIGHT_WALK_REMEMBERED_WINDOWS = 2,
};

/*
 * Identifies a mapped file, by the fields that the kernel keeps. Device and inode may differ from
 * those of stat() (overlayfs, btrfs); size and time do not. As long as the key is the same, the
 * contents are taken to be the same. All zeros: the vdso.
 */
struct pilotlight_file_key {
	__u64 inode;
	__u64 size_bytes;
	__s64 modified_s;
	__u32 modified_ns; /* within the second */
	__u32 generation;
	__u32 device;	  /* the kernel's dev_t: major << 20 | minor */
	__u32 filesystem; /* a hash: one device may have several file systems in turn */
};
_Static_assert(sizeof(struct pilotlight_file_key) == 40, "padding");

/* Bits of pilotlight_walk_file.flags. */
enum {
	PILOTLIGHT_FILE_HAS_TABLE = 1 << 0,
	/* It has no table, but its functions keep frame pointers (Go). */
	PILOTLIGHT_FILE_BY_FRAME_POINTER = 1 << 1,
	/* There will be no table (JIT code in memory that has a file): walked by frame pointers, as
	 * far as they lead. */
	PILOTLIGHT_FILE_HAS_NOTHING = 1 << 2,
	PILOTLIGHT_FILE_TELLS_RBX = 1 << 3, /* PILOTLIGHT_UNWIND_TELLS_RBX */
	/* The engine could not identify the file: frames in it are ADDRESS frames. */
	PILOTLIGHT_FILE_BY_ADDRESS = 1 << 4,
	/* It is an interpreter, whose description is at `runtime` of the map `runtimes`. */
	PILOTLIGHT_FILE_HAS_RUNTIME = 1 << 5,
	/* The same of a file with the variable of the thread context. */
	PILOTLIGHT_FILE_HAS_CONTEXT = 1 << 6,
	/* Another attempt to identify it is due: requested as if it had no entry. */
	PILOTLIGHT_FILE_IS_DUE = 1 << 7,
	/* The same of HotSpot, whose frames of generated code the walk needs it for. */
	PILOTLIGHT_FILE_HAS_HOTSPOT = 1 << 8,
};

/*
 * The kernel reuses the memory of a replaced entry at once, while another CPU may be copying it. So
 * a copy is valid only if `version` and `version_too` are equal and `key_hash` fits the key.
 */
struct pilotlight_walk_file {
	__u32 version, key_hash; /* walk_maps_put_file() fills in these and version_too */
	__u32 id;		 /* in frames; below 2^20 */
	__u32 flags;
	/* The table: the numbers of its summary, and the places of its first entries in the maps.
	 */
	__u32 first_page, page_count, line_count, rule_count, escape_count;
	__u32 pages_at, lines_at, rules_at, escapes_at;
	__u32 used_window; /* written by BPF: the last window with a stack through the file */
	__u32 version_too;
	__u32 runtime; /* of HAS_RUNTIME and HAS_CONTEXT; below PILOTLIGHT_RUNTIMES_MAX */
};
_Static_assert(sizeof(struct pilotlight_walk_file) == 64, "a cache line");

static inline __u32 pilotlight_file_key_hash(const struct pilotlight_file_key *key)
{
	__u64 hash = key->inode;

	hash = (hash ^ key->size_bytes) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 32 ^ (__u64)key->modified_s) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 32 ^ ((__u64)key->modified_ns << 32 | key->generation)) *
	       0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 32 ^ ((__u64)key->device << 32 | key->filesystem)) *
	       0x9e3779b97f4a7c15ULL;
	return (__u32)(hash >> 32);
}

/* A process that has the file mapped, and where: the engine opens it there. */
struct pilotlight_walk_request {
	struct pilotlight_process process;
	__u64 time_ns;	  /* CLOCK_MONOTONIC */
	__u64 start, end; /* of the mapping */
	__u64 offset;	  /* file offset of `start`, in bytes */
	/* CPU time over age of the processes that map the file, summed, in millionths; 0 where a
	 * sample asks. */
	__u64 use_ppm;
};
_Static_assert(sizeof(struct pilotlight_walk_request) == 56, "padding");

/*
 * A frame of a walked stack: the kind in bits 61 to 63, EXACT in bit 60. FILE: the file's id in
 * bits 40 to 59, the file offset below. ADDRESS: the ip, in memory without a file or in a file that
 * the engine does not know yet. The other kinds are reserved.
 */
enum pilotlight_frame_kind {
	PILOTLIGHT_FRAME_ADDRESS = 0,
	PILOTLIGHT_FRAME_FILE = 1,
};
#define PILOTLIGHT_FRAME_KIND_SHIFT 61
/* Not a return address: the instruction itself was interrupted. */
#define PILOTLIGHT_FRAME_EXACT	      (1ULL << 60)
#define PILOTLIGHT_FRAME_FILE_SHIFT   40
#define PILOTLIGHT_FRAME_FILE_IDS_MAX (1U << 20)
#define PILOTLIGHT_FRAME_OFFSET_MASK  ((1ULL << 40) - 1)
#define PILOTLIGHT_FRAME_ADDRESS_MASK ((1ULL << 60) - 1)

/*
 * A frame of an interpreter (pilotlight/runtime.h): what runs is a code object, and where in it.
 * Code objects are identified by what they contain, so that the same function is the same in all
 * processes and on all hosts (I2). Frames form groups, each run by one call of the interpreter's
 * native code. GROUP_END is set in the outermost frame of a group.
 */
struct pilotlight_runtime_frame {
	__u64 code;  /* pilotlight_runtime_code.hash, without the bits that are 0 here; 0: unread */
	__s32 unit;  /* the instruction; negative: see struct runtime_step of the sampler */
	__u16 place; /* of GROUP_END: the native frame that runs the group, counted from the leaf */
	__u16 flags;
};
_Static_assert(sizeof(struct pilotlight_runtime_frame) == 16, "padding");
enum {
	PILOTLIGHT_RUNTIME_FRAMES_MAX = 255, /* of a stack; one less than a power of two */
	PILOTLIGHT_RUNTIME_PLACE_UNKNOWN = 0xffff,
	PILOTLIGHT_RUNTIME_GROUP_END = 1 << 0,
	/* It does not call the frame before, but awaits the task whose outermost frame that is. */
	PILOTLIGHT_RUNTIME_AWAITS = 1 << 2,
	/* From this bit on, of GROUP_END: how many callers of the native frame only lead to it, and
	 * go with it. */
	PILOTLIGHT_RUNTIME_CALLERS_SHIFT = 8,
	PILOTLIGHT_RUNTIMES_MAX = 64, /* descriptions that the sampler has at once */
};
#define PILOTLIGHT_RUNTIME_CODE_MASK ((1ULL << 60) - 1)

/* Why the walk of an interpreter's frames ended. */
enum pilotlight_runtime_end {
	PILOTLIGHT_RUNTIME_NOT_WALKED, /* the thread does not run an interpreter that is known */
	PILOTLIGHT_RUNTIME_ROOT,
	PILOTLIGHT_RUNTIME_UNREADABLE, /* the memory is not present, or makes no sense */
	PILOTLIGHT_RUNTIME_DEEP,       /* there are more frames than the bound */
	PILOTLIGHT_RUNTIME_ENDS,
};

/*
 * A walked stack in the ring, followed by `count` frames of 8 bytes, leaf first. A WALKED_SAMPLE is
 * one sample of `periods`; the `kernel_count` ips of its kernel stack follow all frames. Between
 * the two are `runtime_count` frames of an interpreter, innermost first, and if `has_context` is 1,
 * a pilotlight_thread_context. A WALK is sent by the
 * first of the samples that are counted with this stack. They name it by `hash`, which covers
 * frames and end. It has no kernel stack, and of the other fields only `end` is set. A WAKER is no
 * sample: it is the stack of a thread that wakes another, at `address`, whose sample comes later
 * with the same address.
 */
struct pilotlight_ring_walk {
	struct pilotlight_ring_header header;
	__u64 hash;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct pilotlight_process process;
	__u64 cgroup_id;
	__u32 tid;
	__u16 count;
	__u8 kernel_count;
	__u8 end; /* enum pilotlight_walk_end */
	char comm[PILOTLIGHT_COMM_BYTES];
	__u32 user; /* as in pilotlight_ring_sample */
	__u32 periods;
	__u64 address;	    /* as in pilotlight_ring_sample */
	__u32 runtime_file; /* the id of the interpreter's file, as in frames */
	__u16 runtime_count;
	__u8 runtime_end; /* enum pilotlight_runtime_end */
	/* enum pilotlight_runtime_language, if there are such frames. */
	__u8 runtime_language : 7;
	__u8 has_context : 1;
};
_Static_assert(sizeof(struct pilotlight_ring_walk) == 96, "padding");

/*
 * What a code object contains, when the sampler first meets it, and again from time to time. It
 * comes before the samples that need it, and belongs to no window and no sample. The record ends
 * with the last word of the table that is in use.
 */
struct pilotlight_ring_code {
	struct pilotlight_ring_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct pilotlight_process process;
	__u64 cgroup_id;
	__u32 user; /* as in pilotlight_ring_sample */
	__u32 reserved;
	struct pilotlight_runtime_code code;
};

/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * What the sampler's own walk of user stacks and the engine say to each other. The walk finds the
 * file behind each address in the kernel's own tree of mappings, at the time of the sample, so that
 * it knows of a process what the kernel knows, however young it is or however often it maps. The
 * engine tells it of files: by what the kernel knows them by, whether there is an unwind table and
 * where in the maps it is (pilotlight/unwind.h has what they hold). Of a file that it was not told
 * of, the walk leaves a request.
 */
#pragma once

#include "pilotlight/event.h"
#include "pilotlight/unwind.h"

#include <linux/types.h>

enum {
	PILOTLIGHT_WALK_DEPTH = 255,
	PILOTLIGHT_WALK_FILES_MAX = 8192,
	PILOTLIGHT_WALK_REQUESTS_MAX = 1024,
	/* How many windows back the sampler relies on the rules that it has found. */
	PILOTLIGHT_WALK_REMEMBERED_WINDOWS = 2,
};

/*
 * A file as the kernel has it mapped, which may differ from what stat() says in its device and
 * inode (overlayfs, btrfs) but not in size and time. Its contents are taken to be the same as long
 * as these are. All zeros is the vdso.
 */
struct pilotlight_file_key {
	__u64 inode;
	__u64 size_bytes;
	__s64 modified_s;
	__u32 modified_ns; /* within the second */
	__u32 generation;
	__u32 device;	  /* the kernel's dev_t: major << 20 | minor */
	__u32 filesystem; /* a hash of which, as a device may have one after the other */
};
_Static_assert(sizeof(struct pilotlight_file_key) == 40, "padding");

/* Bits of pilotlight_walk_file.flags. */
enum {
	PILOTLIGHT_FILE_HAS_TABLE = 1 << 0,
	/* No table, but its functions keep frame pointers (Go): walked by them. */
	PILOTLIGHT_FILE_BY_FRAME_POINTER = 1 << 1,
	/* There is nothing to be had, and no more to be asked: walked by frame pointers, as far as
	 * they lead (JIT code in memory that has a file). */
	PILOTLIGHT_FILE_HAS_NOTHING = 1 << 2,
	PILOTLIGHT_FILE_TELLS_RBX = 1 << 3, /* PILOTLIGHT_UNWIND_TELLS_RBX */
	/* The engine could not tell which file it is: frames in it are ADDRESS frames. */
	PILOTLIGHT_FILE_BY_ADDRESS = 1 << 4,
};

/*
 * The kernel gives the memory of an entry that is replaced to the next one at once, while another
 * CPU may be copying it: `version` and `version_too` are equal, and `key_hash` is of the key that
 * was looked up, or it is none of these.
 */
struct pilotlight_walk_file {
	__u32 version, key_hash; /* walk_maps_put_file() fills in these and version_too */
	__u32 id;		 /* in frames; below 2^20 */
	__u32 flags;
	/* The table: as its summary has them, and where its first entries are in the maps. */
	__u32 first_page, page_count, line_count, rule_count, escape_count;
	__u32 pages_at, lines_at, rules_at, escapes_at;
	__u32 used_window; /* written by BPF: the last window in which a stack went through it */
	__u32 version_too, reserved;
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

/* Who has the file mapped, and where: what the engine needs to open it. */
struct pilotlight_walk_request {
	struct pilotlight_process process;
	__u64 time_ns;	  /* CLOCK_MONOTONIC */
	__u64 start, end; /* of the mapping */
	__u64 offset;	  /* of `start` in the file, in bytes */
	/* CPU time over age of the processes that map the file, summed, in millionths; 0 where a
	 * sample asks. */
	__u64 use_ppm;
};
_Static_assert(sizeof(struct pilotlight_walk_request) == 56, "padding");

/*
 * A frame of a walked stack, leaf first: kind in bits 61 to 63, EXACT in bit 60. FILE: the file's
 * id in bits 40 to 59, the file offset below. ADDRESS: the ip itself, of memory without a file or
 * of a file that the engine does not know as yet. Kinds that are not used are for frames that are
 * found in other ways: interpreters'.
 */
enum pilotlight_frame_kind {
	PILOTLIGHT_FRAME_ADDRESS = 0,
	PILOTLIGHT_FRAME_FILE = 1,
};
#define PILOTLIGHT_FRAME_KIND_SHIFT 61
/* No return address: this very instruction was interrupted. */
#define PILOTLIGHT_FRAME_EXACT	      (1ULL << 60)
#define PILOTLIGHT_FRAME_FILE_SHIFT   40
#define PILOTLIGHT_FRAME_FILE_IDS_MAX (1U << 20)
#define PILOTLIGHT_FRAME_OFFSET_MASK  ((1ULL << 40) - 1)
#define PILOTLIGHT_FRAME_ADDRESS_MASK ((1ULL << 60) - 1)

/*
 * A walked stack, by the ring: `count` frames of 8 bytes follow, leaf first. A WALKED_SAMPLE is one
 * sample with its stack, and the `kernel_count` ips of its kernel stack come behind the frames. A
 * WALK is for samples that are counted, of which the first sends it: they name it by `hash`, which
 * is over frames and end; it has no kernel stack, and of the rest only `end` means anything.
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
};
_Static_assert(sizeof(struct pilotlight_ring_walk) == 72, "padding");

/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The jitdump file as runtimes write it: tools/perf/Documentation/jitdump-specification.txt of the
 * Linux kernel, version 2, and what its producers do besides. A header, then records of any length
 * one after the other, in the byte order of the machine that wrote them, which the magic tells.
 * Nothing is aligned: fields are read by memcpy. Versions 1 and 2 differ in nothing but UNWINDING.
 */
#pragma once

#include <linux/types.h>

#define PILOTLIGHT_JITDUMP_MAGIC	 0x4a695444U
#define PILOTLIGHT_JITDUMP_MAGIC_SWAPPED 0x4454694aU
/* Bit 0 of the header's flags: time stamps are of the CPU's counter (rdtsc on x86). */
#define PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP 1ULL

enum { PILOTLIGHT_JITDUMP_VERSION_MAX = 2 };

struct pilotlight_jitdump_header {
	__u32 magic;
	__u32 version;
	__u32 total_size; /* of the header; what is beyond the fields below is passed over */
	__u32 machine;	  /* ELF's e_machine; 0 from CPython 3.13.0 */
	__u32 padding;	  /* 0xdeadbeef from V8 */
	__u32 pid;	  /* in the writer's pid namespace */
	__u64 timestamp;  /* of any clock: V8 and CPython give the time of day in microseconds */
	__u64 flags;
};
_Static_assert(sizeof(struct pilotlight_jitdump_header) == 40, "the format's layout");

enum pilotlight_jitdump_id {
	PILOTLIGHT_JITDUMP_LOAD = 0,
	PILOTLIGHT_JITDUMP_MOVE = 1,
	PILOTLIGHT_JITDUMP_DEBUG_INFO = 2,
	PILOTLIGHT_JITDUMP_CLOSE = 3,
	PILOTLIGHT_JITDUMP_UNWINDING_INFO = 4,
};

struct pilotlight_jitdump_prefix {
	__u32 id;
	__u32 total_size; /* of the record, this prefix included */
	__u64 timestamp;  /* CLOCK_MONOTONIC in ns, or the CPU's counter */
};
_Static_assert(sizeof(struct pilotlight_jitdump_prefix) == 16, "the format's layout");

/* A name with its NUL and `code_size` bytes of code follow; some writers leave the code out. */
struct pilotlight_jitdump_load {
	__u32 pid, tid;
	__u64 vma; /* 0 from LLVM */
	__u64 code_addr;
	__u64 code_size;
	__u64 code_index; /* unique for each writing process */
};
_Static_assert(sizeof(struct pilotlight_jitdump_load) == 40, "the format's layout");

struct pilotlight_jitdump_move {
	__u32 pid, tid;
	__u64 vma;
	__u64 old_code_addr, new_code_addr;
	__u64 code_size;
	__u64 code_index;
};
_Static_assert(sizeof(struct pilotlight_jitdump_move) == 48, "the format's layout");

/* `entry_count` entries follow. It comes before the LOAD of the same code_addr. */
struct pilotlight_jitdump_debug_info {
	__u64 code_addr;
	__u64 entry_count;
};
_Static_assert(sizeof(struct pilotlight_jitdump_debug_info) == 16, "the format's layout");

/*
 * A file name with its NUL follows; "\xff" stands for that of the entry before. V8 and LLVM give
 * addresses that are 64 too high, the size of the ELF header that perf puts before the code.
 */
struct pilotlight_jitdump_debug_entry {
	__u64 addr;
	__s32 line;
	__s32 discriminator; /* the column, from 1, from V8 */
};
_Static_assert(sizeof(struct pilotlight_jitdump_debug_entry) == 16, "the format's layout");

/* `unwinding_size` bytes follow: .eh_frame, then .eh_frame_hdr, whatever the specification says. */
struct pilotlight_jitdump_unwinding_info {
	__u64 unwinding_size;
	__u64 eh_frame_header_size;
	__u64 mapped_size;
};
_Static_assert(sizeof(struct pilotlight_jitdump_unwinding_info) == 24, "the format's layout");

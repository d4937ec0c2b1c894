/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which file is mapped at an address of the running process: read out of the kernel's own tree of
 * mappings, a maple tree (Documentation/core-api/maple_tree.rst, since 6.1), without its lock. The
 * tree lets readers be, under RCU, in which programs run, and every access is checked by the
 * kernel. A mapping that is being changed, be it by the thread that was interrupted, is taken for
 * none.
 */
#pragma once

#include "branchless.bpf.h"
#include "kernel_types.h"
#include "pilotlight/walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct mapping {
	__u64 start, end; /* end 0: none */
	__u64 offset;	  /* of `start` in the file */
	struct file *file;
	__u8 is_executable;
	__u8 is_vdso;
};

enum {
	MAPLE_TREE_LEVELS = 10, /* of nodes that are half full at least: 10^6 mappings and more */
	MAPLE_RANGE_PIVOTS = 15,
	MAPLE_ARANGE_PIVOTS = 9,
	/* The kernel's enum maple_type. */
	MAPLE_LEAF_64 = 1,
	MAPLE_RANGE_64 = 2,
	MAPLE_ARANGE_64 = 3,
	/* A pointer to a node has this type in its low bits, which are not the node's address. */
	MAPLE_NODE_TYPE_SHIFT = 3,
	MAPLE_NODE_TYPE_MASK = 15,
	MAPLE_NODE_LOW_BITS = 255,
	/* XArray's: the root's pointer to a node, and what is no pointer at all, are internal
	 * entries. */
	XARRAY_INTERNAL_MASK = 3,
	XARRAY_INTERNAL = 2,
	XARRAY_INTERNAL_MAX = 4096,
	VM_EXEC = 4,
	MAPPING_PAGE_SHIFT = 12,
};

/* Of a user; a node's last pivot may be the greatest number that there is. */
#define ADDRESS_MAX (~0ULL >> 1)

static __always_inline int is_maple_internal(__u64 entry)
{
	return (entry & XARRAY_INTERNAL_MASK) == XARRAY_INTERNAL;
}

/* A way down the tree: what it says that the last entry is for, and its node's pivots. */
struct maple_search {
	__u64 first, last;
	__u64 pivots[MAPLE_RANGE_PIVOTS + 1];
};

/*
 * The entry for `address` of the node that `entry` points to; 0: none. A global function, which the
 * verifier looks at but once.
 */
__noinline __u64 maple_descend(struct maple_search *search, __u64 entry, __u64 address)
{
	__u32 type = entry >> MAPLE_NODE_TYPE_SHIFT & MAPLE_NODE_TYPE_MASK;
	__u64 node = entry & ~(__u64)MAPLE_NODE_LOW_BITS, slot = 0, slots, *pivots;
	__u32 count = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS;
	__u32 is_before = 1, i = 0;

	/* Kernels before 6.8 verify it even where nobody calls it. */
	if (!search || !bpf_core_type_exists(struct maple_range_64) ||
		!bpf_core_type_exists(struct maple_arange_64))
		return 0;
	pivots = search->pivots;
	/* Both kinds have their pivots at one place, behind the pointer to the parent. */
	if (bpf_probe_read_kernel(pivots, MAPLE_RANGE_PIVOTS * sizeof(*pivots),
		    (void *)(node + bpf_core_field_offset(struct maple_range_64, pivot))))
		return 0;
	/* The first that is not below the address. Those that are not used, behind it, may be. */
	for (__u32 at = 0; at < MAPLE_RANGE_PIVOTS; at++) {
		is_before &= !is_at_most(address, pivots[at] & ADDRESS_MAX);
		i += is_before;
	}
	if (i > count)
		i = count;
	if (i > 0)
		search->first = pivots[(i - 1) & 15] + 1;
	if (i < count)
		search->last = pivots[i & 15];
	slots = type == MAPLE_ARANGE_64 ? bpf_core_field_offset(struct maple_arange_64, slot)
					: bpf_core_field_offset(struct maple_range_64, slot);
	if (bpf_probe_read_kernel(&slot, sizeof(slot), (void *)(node + slots + i * sizeof(slot))))
		return 0;
	return slot;
}

/* The kernel's struct vm_area_struct for `address`, or one that begins after it, or 0. */
static __always_inline __u64 find_vma(
	struct mm_struct *mm, __u64 address, struct maple_search *search)
{
	__u64 entry;

	if (!bpf_core_field_exists(mm->mm_mt))
		return 0;
	/* Not by a plain load, whose result is a pointer to the verifier: maple_descend() is to be
	 * given a number. */
	entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	/* Of one mapping alone there is no node. */
	if (address > ADDRESS_MAX || !is_maple_internal(entry) || entry <= XARRAY_INTERNAL_MAX)
		return 0;
	search->first = 0;
	search->last = ~0ULL;
	for (int level = 0; level < MAPLE_TREE_LEVELS; level++) {
		__u32 type = entry >> MAPLE_NODE_TYPE_SHIFT & MAPLE_NODE_TYPE_MASK;

		if (type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
			return 0;
		entry = maple_descend(search, entry, address);
		if (!entry)
			return 0;
		if (type == MAPLE_LEAF_64)
			return is_maple_internal(entry) ? 0 : entry;
	}
	return 0;
}

/*
 * Counts whenever somebody has locked the mappings in order to change them: as long as it is the
 * same and even, so are they; before 6.13 but for who has the lock now, as they count when it is
 * given back. 0 in a kernel that does not count.
 */
static __always_inline __u32 mappings_version(struct mm_struct *mm)
{
	struct mm_struct___before_6_13 *before_6_13 = (void *)mm;

	if (bpf_core_field_exists(mm->mm_lock_seq))
		return mm->mm_lock_seq.sequence;
	if (bpf_core_field_exists(before_6_13->mm_lock_seq))
		return BPF_CORE_READ(before_6_13, mm_lock_seq) << 1;
	return 0;
}

/*
 * Is it being changed? It is changed and stored in the tree one after the other, so that what the
 * two say is not the same then. What was freed may be another process's.
 */
static __always_inline int is_in_flux(
	struct mm_struct *mm, struct vm_area_struct *vma, const struct maple_search *search)
{
	return BPF_CORE_READ(vma, vm_start) != search->first ||
	       BPF_CORE_READ(vma, vm_end) != search->last + 1 || BPF_CORE_READ(vma, vm_mm) != mm;
}

/* Fills in the mapping that holds `address`; false: there is none. */
static __always_inline int find_mapping(struct mm_struct *mm, __u64 address,
	struct maple_search *search, struct mapping *ret_mapping)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)find_vma(mm, address, search);
	__u64 start, end;

	if (!vma)
		return 0;
	start = BPF_CORE_READ(vma, vm_start);
	end = BPF_CORE_READ(vma, vm_end);
	if (address < start || address >= end)
		return 0;
	ret_mapping->start = start;
	ret_mapping->end = end;
	ret_mapping->offset = (__u64)BPF_CORE_READ(vma, vm_pgoff) << MAPPING_PAGE_SHIFT;
	ret_mapping->file = BPF_CORE_READ(vma, vm_file);
	ret_mapping->is_executable = (BPF_CORE_READ(vma, vm_flags) & VM_EXEC) != 0;
	ret_mapping->is_vdso = !ret_mapping->file && start == (__u64)mm->context.vdso;
	return !is_in_flux(mm, vma, search);
}

static __always_inline void read_time(struct inode *inode, struct pilotlight_file_key *key)
{
	struct inode___before_6_11 *before_6_11 = (void *)inode;
	struct inode___before_6_7 *before_6_7 = (void *)inode;

	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		key->modified_s = BPF_CORE_READ(inode, i_mtime_sec);
		key->modified_ns = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(before_6_11->__i_mtime)) {
		key->modified_s = BPF_CORE_READ(before_6_11, __i_mtime.tv_sec);
		key->modified_ns = (__u32)BPF_CORE_READ(before_6_11, __i_mtime.tv_nsec);
	} else if (bpf_core_field_exists(before_6_7->i_mtime)) {
		key->modified_s = BPF_CORE_READ(before_6_7, i_mtime.tv_sec);
		key->modified_ns = (__u32)BPF_CORE_READ(before_6_7, i_mtime.tv_nsec);
	}
}

/* A file system that is mounted in the place of another, with inodes alike, is another. */
static __always_inline __u32 filesystem_of(struct super_block *super_block)
{
	__u64 mixed = (__u64)super_block;
	uuid_t uuid = { { 0 } };

	(void)BPF_CORE_READ_INTO(&uuid, super_block, s_uuid);
	mixed = (mixed ^ uuid.b[0]) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ mixed >> 32 ^ uuid.b[1]) * 0x9e3779b97f4a7c15ULL;
	return mixed >> 32;
}

/* 0: it cannot be read. */
static __always_inline int read_file_key(struct file *file, struct pilotlight_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *super_block = BPF_CORE_READ(inode, i_sb);

	if (!super_block)
		return 0;
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->size_bytes = BPF_CORE_READ(inode, i_size);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->device = BPF_CORE_READ(super_block, s_dev);
	key->filesystem = filesystem_of(super_block);
	read_time(inode, key);
	return 1;
}

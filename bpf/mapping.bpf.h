/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which file is mapped at an address of the running process: read out of the kernel's own tree of
 * mappings, a maple tree (Documentation/core-api/maple_tree.rst, since 6.1), without its lock. The
 * tree lets readers be, under RCU, in which programs run; every access is checked by the kernel,
 * and what another thread changes meanwhile gives, at worst, a mapping that was there a moment ago.
 */
#pragma once

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
	MAPLE_TREE_LEVELS = 6, /* far more than 10^5 mappings need */
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

static __always_inline int is_maple_internal(__u64 entry)
{
	return (entry & XARRAY_INTERNAL_MASK) == XARRAY_INTERNAL;
}

/* The entry for `address` of the node that `entry` points to; 0: none. */
static __always_inline __u64 maple_descend(__u64 entry, __u64 address, __u64 *pivots, __u32 type)
{
	__u64 node = entry & ~(__u64)MAPLE_NODE_LOW_BITS, slot = 0, slots;
	__u32 count = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS, i;

	/* Both kinds have their pivots at one place, behind the pointer to the parent. */
	if (bpf_probe_read_kernel(pivots, MAPLE_RANGE_PIVOTS * sizeof(*pivots),
		    (void *)(node + bpf_core_field_offset(struct maple_range_64, pivot))))
		return 0;
	for (i = 0; i < MAPLE_RANGE_PIVOTS; i++)
		if (i >= count || pivots[i] >= address)
			break;
	slots = type == MAPLE_ARANGE_64 ? bpf_core_field_offset(struct maple_arange_64, slot)
					: bpf_core_field_offset(struct maple_range_64, slot);
	if (bpf_probe_read_kernel(&slot, sizeof(slot), (void *)(node + slots + i * sizeof(slot))))
		return 0;
	return slot;
}

/* The kernel's struct vm_area_struct for `address`, or one that begins after it, or 0. */
static __always_inline __u64 find_vma(struct mm_struct *mm, __u64 address, __u64 *pivots)
{
	__u64 entry = (__u64)mm->mm_mt.ma_root;

	/* Of one mapping alone there is no node. */
	if (!is_maple_internal(entry) || entry <= XARRAY_INTERNAL_MAX)
		return 0;
	for (int level = 0; level < MAPLE_TREE_LEVELS; level++) {
		__u32 type = entry >> MAPLE_NODE_TYPE_SHIFT & MAPLE_NODE_TYPE_MASK;

		if (type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
			return 0;
		entry = maple_descend(entry, address, pivots, type);
		if (!entry)
			return 0;
		if (type == MAPLE_LEAF_64)
			return is_maple_internal(entry) ? 0 : entry;
	}
	return 0;
}

/* Fills in the mapping that holds `address`; false: there is none. */
static __always_inline int find_mapping(
	struct mm_struct *mm, __u64 address, __u64 *pivots, struct mapping *ret_mapping)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)find_vma(mm, address, pivots);
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
	return 1;
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

static __always_inline void read_file_key(struct file *file, struct pilotlight_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->inode = BPF_CORE_READ(inode, i_ino);
	key->size_bytes = BPF_CORE_READ(inode, i_size);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->reserved = 0;
	read_time(inode, key);
}

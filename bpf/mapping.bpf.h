/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the file that is mapped at an address of the running process. It reads the kernel's own
 * tree of mappings, a maple tree since 6.1 (Documentation/core-api/maple_tree.rst), without the
 * mmap lock. That is safe: BPF programs run under RCU, which the tree supports for readers, and the
 * kernel checks each access. A mapping that is changing just now, maybe by the interrupted thread,
 * counts as none.
 */
#pragma once

#include "branchless.bpf.h"
#include "kernel_types.h"
#include "pilotlight/walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct mapping {
	__u64 start, end; /* end 0: none */
	__u64 offset;	  /* file offset of `start` */
	struct file *file;
	__u8 is_executable;
	__u8 is_vdso;
};

enum {
	MAPLE_TREE_LEVELS = 10, /* nodes are at least half full: more than 10^6 mappings */
	MAPLE_RANGE_PIVOTS = 15,
	MAPLE_ARANGE_PIVOTS = 9,
	/* The kernel's enum maple_type. */
	MAPLE_LEAF_64 = 1,
	MAPLE_RANGE_64 = 2,
	MAPLE_ARANGE_64 = 3,
	/* The low bits of a pointer to a node are its type, not its address. */
	MAPLE_NODE_TYPE_SHIFT = 3,
	MAPLE_NODE_TYPE_MASK = 15,
	MAPLE_NODE_LOW_BITS = 255,
	/* As in an XArray: pointers to nodes, and special values that are no pointers, are internal
	 * entries. */
	XARRAY_INTERNAL_MASK = 3,
	XARRAY_INTERNAL = 2,
	XARRAY_INTERNAL_MAX = 4096,
	VM_EXEC = 4,
	MAPPING_PAGE_SHIFT = 12,
};

/* Bound of user addresses. A node's last pivot may be ULONG_MAX. */
#define ADDRESS_MAX (~0ULL >> 1)

static __always_inline int is_maple_internal(__u64 entry)
{
	return (entry & XARRAY_INTERNAL_MASK) == XARRAY_INTERNAL;
}

/* A descent of the tree: the range that it gives for the last entry, and that node's pivots. */
struct maple_search {
	__u64 first, last;
	__u64 pivots[MAPLE_RANGE_PIVOTS + 1];
};

/*
 * Returns the entry for `address` in the node to which `entry` points; 0: none. A global function,
 * so that the verifier checks it once.
 */
__noinline __u64 maple_descend(struct maple_search *search, __u64 entry, __u64 address)
{
	__u32 type = entry >> MAPLE_NODE_TYPE_SHIFT & MAPLE_NODE_TYPE_MASK;
	__u64 node = entry & ~(__u64)MAPLE_NODE_LOW_BITS, slot = 0, slots, *pivots;
	__u32 count = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS;
	__u32 is_before = 1, i = 0;

	/* Kernels before 6.8 verify a global function even if nothing calls it. */
	if (!search || !bpf_core_type_exists(struct maple_range_64) ||
		!bpf_core_type_exists(struct maple_arange_64))
		return 0;
	pivots = search->pivots;
	/* In both kinds of nodes the pivots follow the pointer to the parent. */
	if (bpf_probe_read_kernel(pivots, MAPLE_RANGE_PIVOTS * sizeof(*pivots),
		    (void *)(node + bpf_core_field_offset(struct maple_range_64, pivot))))
		return 0;
	/* Find the first pivot that is not below the address. Unused ones behind it may be. */
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

/* Before 6.1 mappings are in another tree. */
static __always_inline int has_mapping_tree(struct mm_struct *mm)
{
	return bpf_core_field_exists(mm->mm_mt);
}

/* The kernel's struct vm_area_struct for `address`, or one that begins behind it, or 0. */
static __always_inline __u64 find_vma(
	struct mm_struct *mm, __u64 address, struct maple_search *search)
{
	__u64 entry;

	if (!has_mapping_tree(mm))
		return 0;
	/* A plain load would give the verifier a pointer, but maple_descend() takes a number. */
	entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	/* A tree of a single mapping has no node. */
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
 * The kernel counts each write lock of the mappings. While the count stays the same and even, the
 * mappings have not changed. Before 6.13 it counts at unlock, so a writer that holds the lock now
 * does not show. 0 in a kernel that does not count (before 6.4).
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
 * Is the mapping changing? A writer updates the struct and the tree one after the other, so that
 * they differ meanwhile. A freed struct may now belong to another process.
 */
static __always_inline int is_in_flux(
	struct mm_struct *mm, struct vm_area_struct *vma, const struct maple_search *search)
{
	return BPF_CORE_READ(vma, vm_start) != search->first ||
	       BPF_CORE_READ(vma, vm_end) != search->last + 1 || BPF_CORE_READ(vma, vm_mm) != mm;
}

/* Fills in the mapping that holds `address`. Returns 0 if there is none. */
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
	ret_mapping->is_vdso =
		!ret_mapping->file && start == (__u64)BPF_CORE_READ(mm, context.vdso);
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

/* Tells a file system from one that was mounted earlier on the same device, with the same inodes.
 */
static __always_inline __u32 filesystem_of(struct super_block *super_block)
{
	__u64 mixed = (__u64)super_block;
	uuid_t uuid = { { 0 } };

	(void)BPF_CORE_READ_INTO(&uuid, super_block, s_uuid);
	mixed = (mixed ^ uuid.b[0]) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ mixed >> 32 ^ uuid.b[1]) * 0x9e3779b97f4a7c15ULL;
	return mixed >> 32;
}

/* Returns 0 if it cannot be read. */
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

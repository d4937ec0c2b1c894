/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads user memory of another task than the current one, for the stacks of threads that are
 * blocked. bpf_probe_read_user() reads only the current task's. bpf_copy_from_user_task() takes the
 * other one's mmap lock and waits for its pages, for ever if their owner wants that (FUSE,
 * userfaultfd), and costs more than a microsecond a word. So this follows the page tables of x86-64
 * itself, as the processor does, and reads what they name by the kernel's direct map of all memory.
 * It takes no lock, waits for nothing, and brings no page in: a word that is swapped out cannot be
 * read.
 *
 *  1. The program runs under RCU, under which the kernel frees page tables. A page that is unmapped
 *     meanwhile may get other contents at once. So the entry that named it is read again behind
 *     the word, and must be the same. The caller checks at the end that the task still has the same
 *     mm_struct: that is freed without waiting for us.
 *  2. Where the direct map begins is random, at a gigabyte, and the kernel does not tell. But the
 *     top page table is in it, and mapped by itself. So there is one candidate only with which the
 *     tables give the address at which the top table is. find_direct_map() looks for it once.
 *  3. Where that finds none, nothing is read: with encrypted memory (SEV), whose entries have a bit
 *     that is none of the address, or under Xen, whose entries have the machine's addresses.
 */
#pragma once

#include "kernel_types.h"
#include "walk_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	PAGE_TABLE_LEVELS_MAX = 5,
	PAGE_TABLE_BITS = 9,
	PAGE_TABLE_INDEX = 511,
	PAGE_SHIFT_SMALL = 12,
	PAGE_OFFSET_MASK = (1 << PAGE_SHIFT_SMALL) - 1,
	PAGE_SHIFT_TOP = 39, /* with four levels */
	PAGE_SHIFT_TOP_OF_FIVE = 48,
	/* Bits of an entry. */
	PAGE_PRESENT = 1 << 0,
	PAGE_ACCESSED = 1 << 5,
	PAGE_DIRTY = 1 << 6,
	PAGE_HUGE = 1 << 7, /* of a table above the lowest */
	/* Not present for the processor, but there, while the kernel looks who uses it (NUMA
	 * balancing). The other bits of the address are inverted. */
	PAGE_PROTNONE = 1 << 8,
	PAGE_SPECIAL = 1 << 9, /* no memory of the kernel, such as a device's */
	DIRECT_MAP_SHIFT = 30,
	DIRECT_MAP_CANDIDATES = 4096, /* gigabytes of physical addresses */
};
#define PAGE_ADDRESS_MASK 0x000ffffffffff000ULL

/* Where the direct map begins; 0: not looked for yet; DIRECT_MAP_HIDDEN: it cannot be found. */
volatile __u64 direct_map;
enum { DIRECT_MAP_HIDDEN = 1 };

/* The direct map of four levels is above all of five's. */
static __always_inline __u32 top_page_shift(__u64 tables)
{
	return tables >> PAGE_SHIFT_TOP_OF_FIVE == 0xffff ? PAGE_SHIFT_TOP : PAGE_SHIFT_TOP_OF_FIVE;
}

/*
 * Notes the page that holds the address. Returns 0 if there is none. What it knows is in `other`:
 * the BPF stack of a sample that gets here has no room for more.
 */
static __always_inline int find_other_page(struct other_memory *other, __u64 address)
{
	__u32 shift = top_page_shift(other->tables);
	__u64 offset_mask;

	/* No address is in this page. */
	other->page = 1;
	other->page_last = 0;
	other->entry_at = other->tables;
	for (int i = 0; i < PAGE_TABLE_LEVELS_MAX; i++) {
		other->entry_at += (address >> (shift & 63) & PAGE_TABLE_INDEX) * sizeof(__u64);
		if (bpf_probe_read_kernel(
			    &other->entry, sizeof(other->entry), (void *)other->entry_at))
			return 0;
		if (shift == PAGE_SHIFT_SMALL || other->entry & PAGE_HUGE ||
			!(other->entry & PAGE_PRESENT))
			break;
		other->entry_at = other->direct_map + (other->entry & PAGE_ADDRESS_MASK);
		shift -= PAGE_TABLE_BITS;
	}
	if (!(other->entry & (PAGE_PRESENT | PAGE_PROTNONE)) || other->entry & PAGE_SPECIAL)
		return 0;
	offset_mask = (1ULL << (shift & 63)) - 1;
	other->page_at = other->entry & PAGE_PRESENT ? other->entry : ~other->entry;
	other->page_at = other->direct_map + (other->page_at & PAGE_ADDRESS_MASK & ~offset_mask);
	other->page = address & ~offset_mask;
	other->page_last = address | offset_mask;
	return 1;
}

/* Does the page still hold what was read from it? */
static __always_inline int is_page_there(struct other_memory *other)
{
	const __u64 changing = PAGE_ACCESSED | PAGE_DIRTY;

	return bpf_probe_read_kernel(&other->entry_again, sizeof(other->entry_again),
		       (void *)other->entry_at) == 0 &&
	       (other->entry_again & ~changing) == (other->entry & ~changing);
}

static __always_inline int is_in_page(const struct other_memory *other, __u64 address)
{
	return address >= other->page && address <= other->page_last;
}

/* Reads the word at an address whose last byte is in the same page. */
static __always_inline int read_in_page(struct other_memory *other, __u64 address)
{
	if (!is_in_page(other, address) && !find_other_page(other, address))
		return 0;
	return bpf_probe_read_kernel(&other->word, sizeof(other->word),
		       (void *)(other->page_at + (address - other->page))) == 0 &&
	       is_page_there(other);
}

/*
 * Reads a word of the other task's memory into walk->other.word. Returns 0 if it cannot be read. A
 * global function, for the verifier.
 */
__noinline int read_other_word(struct walk *walk, __u64 address)
{
	struct other_memory *other;
	__u32 shift = 8 * (address & (sizeof(__u64) - 1));

	if (!walk)
		return 0;
	other = &walk->other;
	/* The upper half of the table is the kernel's. */
	if (address >> (top_page_shift(other->tables) + PAGE_TABLE_BITS - 1))
		return 0;
	/* In two pages, maybe: then it is made of two words, each in one. */
	if ((address & PAGE_OFFSET_MASK) <= PAGE_OFFSET_MASK + 1 - sizeof(__u64))
		shift = 0;
	if (!read_in_page(other, address - shift / 8))
		return 0;
	if (!shift)
		return 1;
	other->first = other->word;
	if (!read_in_page(other, address - shift / 8 + sizeof(__u64)))
		return 0;
	other->word = other->first >> shift | other->word << (64 - shift);
	return 1;
}

static long try_direct_map(__u32 number, struct other_memory *other)
{
	__u64 tables = other->tables;

	other->direct_map = (tables >> DIRECT_MAP_SHIFT << DIRECT_MAP_SHIFT) -
			    ((__u64)number << DIRECT_MAP_SHIFT);
	return find_other_page(other, tables) && other->page_at + (tables - other->page) == tables;
}

/* A function of its own: what bpf_loop() passes on must be on the stack. */
static __noinline void find_direct_map(__u64 tables)
{
	struct other_memory other = { .tables = tables };
	long tried = bpf_loop(DIRECT_MAP_CANDIDATES, try_direct_map, &other, 0);

	direct_map = tried > 0 && try_direct_map((__u32)tried - 1, &other) ? other.direct_map
									   : DIRECT_MAP_HIDDEN;
}

/*
 * Makes this walk read the memory of `task`, which has user memory, until leave_other_memory().
 * Returns 0 if it cannot be read.
 */
static __always_inline int enter_other_memory(struct walk *walk, struct task_struct *task)
{
	struct other_memory *other = &walk->other;
	__u64 tables = (__u64)BPF_CORE_READ(task, mm, pgd);

	if (!direct_map)
		find_direct_map(tables);
	if (!tables || direct_map == DIRECT_MAP_HIDDEN)
		return 0;
	other->direct_map = direct_map;
	other->tables = tables;
	other->registers = (__u64)bpf_task_pt_regs(task);
	other->page = 1;
	other->page_last = 0;
	return 1;
}

static __always_inline void leave_other_memory(struct walk *walk)
{
	walk->other.tables = 0;
}

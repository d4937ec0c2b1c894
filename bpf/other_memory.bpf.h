/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that is walked is not the current one, and does not run: its memory, its registers,
 * and who it is. bpf_probe_read_user() reads only the current task's memory.
 * bpf_copy_from_user_task() takes the other one's mmap lock and waits for its pages, for ever if
 * their owner wants that (FUSE, userfaultfd), and costs more than a microsecond a word. So this
 * follows the page tables of x86-64 itself, as the processor does, and reads what they name by the
 * kernel's direct map of all memory. It takes no lock, waits for nothing, and brings no page in:
 * what is swapped out cannot be read.
 *
 *  1. The program runs under RCU, under which the kernel frees page tables. A page that is unmapped
 *     meanwhile may get other contents at once. So the entry that named it is read again behind
 *     the bytes, and must be the same. The caller checks at the end that the task still has the
 *     same mm_struct: that is freed without waiting for us.
 *  2. Where the direct map begins is random, at a gigabyte, and the kernel does not tell. But the
 *     top page table is in it, and mapped by itself. So there is one candidate only with which the
 *     tables give the address at which the top table is. find_direct_map() looks for it once.
 *  3. Where that finds none, nothing is read: with encrypted memory (SEV), whose entries have a bit
 *     that is none of the address, or under Xen, whose entries have the machine's addresses.
 *  4. The thread may begin to run at any moment. Whoever keeps something of what was read asks
 *     has_walked_thread_run() first. Other threads may write at any time, as with the current
 *     thread's memory.
 *
 * One thread of the host runs the programs that include this, one at a time. So there is one
 * `visited`.
 */
#pragma once

#include "kernel_types.h"
#include "walk_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum { WALKS_OTHERS = 1 };

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

enum {
	DIRECT_MAP_UNKNOWN,
	DIRECT_MAP_HIDDEN,  /* it cannot be found */
	FETCHED_MAX = 4096, /* bytes of a read */
};

/* A page that was read: its place in the direct map, and the entry that names it. */
struct other_page {
	__u64 first, last;
	__u64 at;
	__u64 entry_at, entry;
};

static struct {
	__u64 direct_map; /* where it begins, or DIRECT_MAP_UNKNOWN or _HIDDEN; outlives the walk */
	__u64 tables;	  /* the top page table */
	__u64 registers;  /* the struct pt_regs */
	__u64 task, arrived_ns;
	__u64 thread_pointer;
	__u32 user;
	__u32 is_first_thread;
	__u64 entry_again;
	struct other_page page;
	/* What was read, in one or two parts. The verifier wants room for the greatest place plus
	 * the greatest size. */
	__u8 fetched[2 * FETCHED_MAX];
} visited;

/* The direct map of four levels is above all of five's. */
static __always_inline __u32 top_page_shift(__u64 tables)
{
	return tables >> PAGE_SHIFT_TOP_OF_FIVE == 0xffff ? PAGE_SHIFT_TOP : PAGE_SHIFT_TOP_OF_FIVE;
}

/* Notes the page that holds the address. Returns 0 if there is none. */
static __always_inline int find_other_page(struct other_page *page, __u64 address)
{
	__u32 shift = top_page_shift(visited.tables);
	__u64 offset_mask;

	/* No address is in this page. */
	page->first = 1;
	page->last = 0;
	page->entry_at = visited.tables;
	for (int i = 0; i < PAGE_TABLE_LEVELS_MAX; i++) {
		page->entry_at += (address >> (shift & 63) & PAGE_TABLE_INDEX) * sizeof(__u64);
		if (bpf_probe_read_kernel(
			    &page->entry, sizeof(page->entry), (void *)page->entry_at))
			return 0;
		if (shift == PAGE_SHIFT_SMALL || page->entry & PAGE_HUGE ||
			!(page->entry & PAGE_PRESENT))
			break;
		page->entry_at = visited.direct_map + (page->entry & PAGE_ADDRESS_MASK);
		shift -= PAGE_TABLE_BITS;
	}
	if (!(page->entry & (PAGE_PRESENT | PAGE_PROTNONE)) || page->entry & PAGE_SPECIAL)
		return 0;
	offset_mask = (1ULL << (shift & 63)) - 1;
	page->at = page->entry & PAGE_PRESENT ? page->entry : ~page->entry;
	page->at = visited.direct_map + (page->at & PAGE_ADDRESS_MASK & ~offset_mask);
	page->first = address & ~offset_mask;
	page->last = address | offset_mask;
	return 1;
}

/* Does the page still hold what was read from it? */
static __always_inline int is_page_there(const struct other_page *page)
{
	const __u64 changing = PAGE_ACCESSED | PAGE_DIRTY;

	return bpf_probe_read_kernel(&visited.entry_again, sizeof(visited.entry_again),
		       (void *)page->entry_at) == 0 &&
	       (visited.entry_again & ~changing) == (page->entry & ~changing);
}

/* Fetches bytes of the noted page to a place of `fetched`. */
static __always_inline int fetch_of_page(__u32 place, __u32 size, __u64 address)
{
	const struct other_page *page = &visited.page;

	/* Linux 6.1 wants the bounds of these very registers. */
	barrier_var(place);
	barrier_var(size);
	return place < FETCHED_MAX && size <= FETCHED_MAX &&
	       bpf_probe_read_kernel(visited.fetched + place, size,
		       (void *)(page->at + (address - page->first))) == 0 &&
	       is_page_there(page);
}

/* Fetches bytes that are in one page to a place of `fetched`. Since the page was noted, another
 * thread may have written to it, which makes a copy of a page that is shared. */
static __always_inline int fetch_part(__u32 place, __u32 size, __u64 address)
{
	struct other_page *page = &visited.page;

	if (address >= page->first && address <= page->last && fetch_of_page(place, size, address))
		return 1;
	return find_other_page(page, address) && fetch_of_page(place, size, address);
}

/* Fetches bytes into `fetched`; zeros if they cannot be read, as bpf_probe_read_user() does. A
 * global function, for the verifier. */
__noinline int fetch_other(__u64 address, __u32 size)
{
	__u32 first = PAGE_OFFSET_MASK + 1 - (address & PAGE_OFFSET_MASK);
	__u64 reached = address | (address + size); /* the sum may wrap */

	if (size > FETCHED_MAX)
		return 0;
	/* The upper half of the table is the kernel's. */
	if (!(reached >> (top_page_shift(visited.tables) + PAGE_TABLE_BITS - 1))) {
		if (first > size)
			first = size;
		if (fetch_part(0, first, address) &&
			(first == size || fetch_part(first, size - first, address + first)))
			return 1;
	}
	barrier_var(size);
	if (size <= FETCHED_MAX)
		(void)bpf_probe_read_kernel(visited.fetched, size, 0);
	return 0;
}

/* `&` instead of `&&`: the verifier would follow both ways of a branch. */
static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	int is_fetched = fetch_other(address, size);

	return (bpf_probe_read_kernel(bytes, size, visited.fetched) == 0) & is_fetched;
}

static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return can_copy_user(words, count * sizeof(*words), address);
}

static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	return can_read_own_user(words, count, address);
}

static __always_inline int can_read_own_pt_regs(__u64 *words, __u32 count, __u32 place)
{
	const __u64 *registers = (__u64 *)visited.registers;

	return bpf_probe_read_kernel(words, count * sizeof(*words), registers + place) == 0;
}

/* They are the first words. */
static __always_inline int can_read_own_r15_r14(__u64 words[2])
{
	return can_read_own_pt_regs(words, 2, 0);
}

static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place)
{
	return can_read_own_pt_regs(words, count, place);
}

static __always_inline __u32 walked_user(void)
{
	return visited.user;
}

static __always_inline __u64 walked_thread_pointer(void)
{
	return visited.thread_pointer;
}

static __always_inline int is_first_thread_walked(void)
{
	return visited.is_first_thread;
}

/* The scheduler sets last_arrival before the thread runs. A global function, for the verifier. */
__noinline int has_walked_thread_run(void)
{
	struct task_struct *task = (struct task_struct *)visited.task;

	return BPF_CORE_READ(task, on_cpu) != 0 ||
	       BPF_CORE_READ(task, sched_info.last_arrival) != visited.arrived_ns;
}

static long try_direct_map(__u32 number, void *unused)
{
	struct other_page *page = &visited.page;
	__u64 tables = visited.tables;

	visited.direct_map = (tables >> DIRECT_MAP_SHIFT << DIRECT_MAP_SHIFT) -
			     ((__u64)number << DIRECT_MAP_SHIFT);
	return find_other_page(page, tables) && page->at + (tables - page->first) == tables;
}

static __noinline void find_direct_map(void)
{
	long tried = bpf_loop(DIRECT_MAP_CANDIDATES, try_direct_map, 0, 0);

	if (tried <= 0 || !try_direct_map((__u32)tried - 1, 0))
		visited.direct_map = DIRECT_MAP_HIDDEN;
}

/* Of task.bpf.h. */
static __always_inline __u32 user_of(struct task_struct *task);

/* From now on this thread is walked, which has user memory. Returns 0 if that cannot be read, or
 * the thread runs. */
static __always_inline int visit_memory(struct task_struct *task)
{
	visited.tables = (__u64)BPF_CORE_READ(task, mm, pgd);
	if (!visited.tables)
		return 0;
	if (visited.direct_map == DIRECT_MAP_UNKNOWN)
		find_direct_map();
	visited.page.first = 1;
	visited.page.last = 0;
	visited.registers = (__u64)bpf_task_pt_regs(task);
	visited.task = (__u64)task;
	visited.arrived_ns = task->sched_info.last_arrival;
	visited.thread_pointer = task->thread.fsbase;
	visited.user = user_of(task);
	visited.is_first_thread = task->pid == task->tgid;
	return visited.direct_map != DIRECT_MAP_HIDDEN && !has_walked_thread_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the BPF programs read the memory of a thread that does not run, compiled for the host, on a
 * made-up machine: page tables, and memory in which each byte follows from its physical address.
 */
#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define __builtin_preserve_access_index(field) (field)
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

static long read_kernel(void *bytes, uint32_t size, const void *from);
static long loop(uint32_t rounds, long (*step)(uint32_t number, void *context), void *context,
	uint64_t flags);

#define bpf_probe_read_kernel  read_kernel
#define bpf_loop	       loop
#define bpf_task_pt_regs(task) ((long)(task))
int fetch_other(__u64 address, __u32 size);
int has_walked_thread_run(void);
#include "bpf/other_memory.bpf.h"

#define GIBIBYTE       (1ULL << 30)
#define TABLES_AT      (5 * GIBIBYTE + 0x345000)
#define MEMORY_BYTES   (64 * GIBIBYTE)
#define FOUR_LEVELS_AT (0xffff888000000000ULL + 37 * GIBIBYTE)
#define FIVE_LEVELS_AT (0xff11000000000000ULL + 37 * GIBIBYTE)
/* Of pages of the process. */
#define FIRST_PAGE 0x7f12345fe000ULL
#define FIRST_AT   (3 * GIBIBYTE + 0x7000)
#define SECOND_AT  (2 * GIBIBYTE + 0x1000)
#define THIRD_AT   (4 * GIBIBYTE) /* no page has it yet */

enum {
	PAGE_BYTES = 4096,
	ENTRIES = 512,
	TABLES = 24,
	SHIFT_2M = 21,
	SHIFT_1G = 30,
	USUAL = PAGE_PRESENT | 0x66, /* writable, of the user, accessed, dirty */
	HUGE_PAT = 1 << 12,	     /* of a large page: in the address's place */
	GUARD = 64,
};

static struct {
	uint64_t direct_map;
	uint64_t tables[TABLES][ENTRIES];
	unsigned used, top;
	unsigned searches;  /* for the direct map */
	uint64_t encrypted; /* a bit of each entry that is none of the address */
	/* At so many reads of what is no table, an entry gets another value. */
	unsigned reads, changes_at;
	uint64_t *changed, changed_to;
	struct mm_struct mm;
	struct task_struct task;
} machine;

static inline uint32_t user_of(struct task_struct *task)
{
	return 1000 + (uint32_t)task->tgid;
}

static uint8_t byte_at(uint64_t physical)
{
	uint64_t in_tables = physical - TABLES_AT;

	if (physical >= TABLES_AT && in_tables < sizeof(machine.tables))
		return ((const uint8_t *)machine.tables)[in_tables];
	return (uint8_t)(physical * 0x9e3779b97f4a7c15ULL >> 56);
}

static bool is_in(const void *at, uint32_t size, const void *whole, size_t bytes)
{
	size_t offset = (uintptr_t)at - (uintptr_t)whole;

	return offset < bytes && size <= bytes - offset;
}

/* As bpf_probe_read_kernel(). */
static long read_kernel(void *bytes, uint32_t size, const void *from)
{
	uint64_t address = (uint64_t)(uintptr_t)from, physical = address - machine.direct_map;
	uint8_t *to = bytes;

	if (is_in(from, size, &machine, sizeof(machine)) ||
		is_in(from, size, &visited, sizeof(visited))) {
		memcpy(bytes, from, size);
		return 0;
	}
	if (address < machine.direct_map || physical > MEMORY_BYTES - size) {
		memset(bytes, 0, size);
		return -EFAULT;
	}
	for (uint32_t i = 0; i < size; i++)
		to[i] = byte_at(physical + i);
	if (physical < TABLES_AT || physical >= TABLES_AT + sizeof(machine.tables))
		machine.reads++;
	if (machine.changed && machine.reads == machine.changes_at)
		*machine.changed = machine.changed_to;
	return 0;
}

static long loop(uint32_t rounds, long (*step)(uint32_t number, void *context), void *context,
	uint64_t flags)
{
	uint32_t done = 0;

	machine.searches++;
	while (done < rounds)
		if (step(done++, context))
			break;
	return (long)done;
}

/* The entry of the page of 1 << shift bytes that holds the address. */
static uint64_t *entry_of(uint64_t address, unsigned shift)
{
	unsigned at = machine.direct_map >> 48 == 0xffff ? 39 : 48;
	uint64_t *table = machine.tables[machine.top], *entry;

	for (; at > shift; at -= 9) {
		entry = &table[address >> at & (ENTRIES - 1)];
		if (!*entry) {
			assert_true(++machine.used < TABLES);
			*entry = (TABLES_AT + machine.used * sizeof(machine.tables[0])) | USUAL |
				 machine.encrypted;
		}
		table = machine.tables[((*entry & PAGE_ADDRESS_MASK & ~machine.encrypted) -
					       TABLES_AT) /
				       sizeof(machine.tables[0])];
	}
	return &table[address >> shift & (ENTRIES - 1)];
}

static void map(uint64_t address, uint64_t physical, unsigned shift)
{
	*entry_of(address, shift) = physical | USUAL | machine.encrypted |
				    (shift > PAGE_SHIFT_SMALL ? PAGE_HUGE | HUGE_PAT : 0);
}

/* A machine with a process that has two pages, one behind the other. */
static void boot(uint64_t direct_map, uint64_t encrypted)
{
	memset(&machine, 0, sizeof(machine));
	memset(&visited, 0, sizeof(visited));
	machine.direct_map = direct_map;
	machine.encrypted = encrypted;
	machine.mm.pgd = (void *)(uintptr_t)(direct_map + TABLES_AT);
	machine.task = (struct task_struct){ .mm = &machine.mm, .pid = 8, .tgid = 7 };
	machine.task.sched_info.last_arrival = 5;
	map(direct_map + 5 * GIBIBYTE, 5 * GIBIBYTE, SHIFT_1G);
	map(FIRST_PAGE, FIRST_AT, PAGE_SHIFT_SMALL);
	map(FIRST_PAGE + PAGE_BYTES, SECOND_AT, PAGE_SHIFT_SMALL);
}

/* Of another process, without a page. */
static void switch_tables(void)
{
	machine.top = ++machine.used;
	assert_true(machine.used < TABLES);
	machine.mm.pgd = (void *)(uintptr_t)(machine.direct_map + TABLES_AT +
					     machine.top * sizeof(machine.tables[0]));
}

static void visit(void)
{
	boot(FOUR_LEVELS_AT, 0);
	assert_true(visit_memory(&machine.task));
	assert_int_equal(visited.direct_map, machine.direct_map);
	machine.reads = 0;
}

/* Where the two pages have what is at the address. */
static uint64_t physical_of(uint64_t address)
{
	return address < FIRST_PAGE + PAGE_BYTES ? FIRST_AT + (address - FIRST_PAGE)
						 : SECOND_AT + (address - FIRST_PAGE - PAGE_BYTES);
}

/* Nothing is written behind them. */
static bool can_copy(uint8_t *bytes, uint32_t size, uint64_t address)
{
	bool can;

	memset(bytes, 0xa5, size + GUARD);
	can = can_copy_user(bytes, size, address);
	for (uint32_t i = size; i < size + GUARD; i++)
		assert_int_equal(bytes[i], 0xa5);
	return can;
}

static void assert_read(uint64_t address, uint32_t size)
{
	uint8_t bytes[FETCHED_MAX + GUARD];

	assert_true(can_copy(bytes, size, address));
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], byte_at(physical_of(address + i)));
}

/* Then there are zeros, and nothing of what was read before. */
static void assert_refused(uint64_t address, uint32_t size)
{
	uint8_t bytes[FETCHED_MAX + GUARD];

	assert_false(can_copy(bytes, size, address));
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], 0);
}

static void reads_give_the_bytes_of_the_pages(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 2, 7, 8, 9, 255, 4095, 4096 };

	visit();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_read(FIRST_PAGE, sizes[i]);
		assert_read(FIRST_PAGE + PAGE_BYTES, sizes[i]);
		assert_read(FIRST_PAGE + PAGE_BYTES - sizes[i], sizes[i]);
	}
}

/* The pages are apart in memory, the second one below the first. */
static void reads_go_on_in_the_next_page(void **state)
{
	static const uint32_t sizes[] = { 2, 8, 16, 100, 4095, 4096 };

	visit();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_read(FIRST_PAGE + PAGE_BYTES - 1, sizes[i]);
		assert_read(FIRST_PAGE + PAGE_BYTES - sizes[i] + 1, sizes[i]);
		assert_read(FIRST_PAGE + PAGE_BYTES - sizes[i] / 2, sizes[i]);
	}
}

static void nothing_is_read_if_a_part_is_not_mapped(void **state)
{
	visit();
	assert_read(FIRST_PAGE + PAGE_BYTES - 8, 16);
	assert_refused(FIRST_PAGE + 2 * PAGE_BYTES - 8, 16);
	assert_refused(FIRST_PAGE + 2 * PAGE_BYTES - 1, 4096);
	assert_refused(FIRST_PAGE - 8, 16);
	assert_refused(FIRST_PAGE - 8, 8);
	assert_refused(FIRST_PAGE + 2 * PAGE_BYTES, 8);
	assert_refused(FIRST_PAGE + 2 * PAGE_BYTES, 4096);
	/* Tables lack at each level. */
	assert_refused(0, 8);
	assert_refused(FIRST_PAGE ^ 1ULL << 30, 8);
	assert_refused(FIRST_PAGE ^ 1ULL << 21, 8);
	/* After a read that failed, mapped pages are read, and others are not. */
	assert_read(FIRST_PAGE, 8);
	assert_refused(FIRST_PAGE + 2 * PAGE_BYTES, 8);
	*entry_of(FIRST_PAGE, 12) = 0;
	assert_refused(FIRST_PAGE, 8);
	assert_read(FIRST_PAGE + 2 * PAGE_BYTES - 8, 8);
}

static void several_words_are_read(void **state)
{
	__u64 words[3] = { 0 };

	visit();
	assert_true(can_read_own_user(words, 3, FIRST_PAGE + PAGE_BYTES - 8));
	for (uint32_t i = 0; i < sizeof(words); i++)
		assert_int_equal(((uint8_t *)words)[i],
			byte_at(physical_of(FIRST_PAGE + PAGE_BYTES - 8 + i)));
	assert_false(can_read_own_user(words, 3, FIRST_PAGE + 2 * PAGE_BYTES - 16));
}

static void registers_are_read(void **state)
{
	const __u64 *registers = (const __u64 *)(uintptr_t)&machine.task;
	__u64 words[3] = { 0 };

	visit();
	for (uint32_t i = 0; i < sizeof(machine.task) / sizeof(__u64); i++)
		memset((uint8_t *)&machine.task + i * sizeof(__u64), (int)i + 1, sizeof(__u64));
	assert_true(can_read_own_pt_regs(words, 2, 3));
	assert_memory_equal(words, registers + 3, 2 * sizeof(*words));
	assert_int_equal(words[2], 0);
	visited.registers = 0;
	assert_false(can_read_own_pt_regs(words, 2, 3));
}

static void too_long_reads_are_refused(void **state)
{
	visit();
	assert_read(FIRST_PAGE, FETCHED_MAX);
	machine.reads = 0;
	assert_int_equal(fetch_other(FIRST_PAGE, FETCHED_MAX + 1), 0);
	assert_int_equal(fetch_other(FIRST_PAGE, UINT32_MAX), 0);
	assert_int_equal(machine.reads, 0);
}

/* Even if the tables name a page there. */
static void addresses_of_the_kernel_are_refused(void **state)
{
	const uint64_t top = 1ULL << 47, kernel = machine.direct_map + TABLES_AT;

	visit();
	map(top - PAGE_BYTES, SECOND_AT, PAGE_SHIFT_SMALL);
	map(top, FIRST_AT, PAGE_SHIFT_SMALL);
	map(-(uint64_t)PAGE_BYTES, FIRST_AT, PAGE_SHIFT_SMALL);
	machine.reads = 0;
	assert_refused(top - 8, 16);
	assert_refused(top, 8);
	assert_refused(kernel, 8);
	assert_refused(machine.direct_map + FIRST_AT, 8);
	assert_refused(UINT64_MAX - 7, 8);
	assert_refused(UINT64_MAX - 7, 4096);
	assert_refused(FIRST_PAGE | 1ULL << 63, 8);
	assert_int_equal(machine.reads, 0);
}

/* In each part of a read, also if the first page was read before. */
static void a_page_that_changes_meanwhile_is_not_read(void **state)
{
	for (unsigned again = 0; again < 2; again++)
		for (unsigned part = again; part < 2; part++) {
			visit();
			if (again)
				assert_read(FIRST_PAGE, 8);
			machine.changed = entry_of(FIRST_PAGE + part * PAGE_BYTES, 12);
			machine.changed_to = THIRD_AT | USUAL;
			machine.changes_at = machine.reads + 1 + part;
			assert_refused(FIRST_PAGE + PAGE_BYTES - 8, 16);
		}
	visit();
	machine.changed = entry_of(FIRST_PAGE, 12);
	machine.changes_at = 1;
	assert_refused(FIRST_PAGE, 8);
}

/* As a page that is copied on write, between two reads, and while it is read again. */
static void a_page_that_was_read_is_found_again_if_it_changed(void **state)
{
	for (unsigned meanwhile = 0; meanwhile < 2; meanwhile++) {
		__u64 word = 0;

		visit();
		assert_read(FIRST_PAGE, 8);
		machine.changed = entry_of(FIRST_PAGE, 12);
		machine.changed_to = THIRD_AT | USUAL;
		machine.changes_at = machine.reads + meanwhile;
		if (!meanwhile)
			*machine.changed = machine.changed_to;
		assert_true(can_read_own_user(&word, 1, FIRST_PAGE + 16));
		for (unsigned i = 0; i < sizeof(word); i++)
			assert_int_equal(((uint8_t *)&word)[i], byte_at(THIRD_AT + 16 + i));
		/* The next page is where it was. */
		assert_read(FIRST_PAGE + PAGE_BYTES, 8);
	}
	/* It is there no more. */
	for (unsigned meanwhile = 0; meanwhile < 2; meanwhile++) {
		visit();
		assert_read(FIRST_PAGE, 8);
		machine.changed = entry_of(FIRST_PAGE, 12);
		machine.changes_at = machine.reads + meanwhile;
		if (!meanwhile)
			*machine.changed = 0;
		assert_refused(FIRST_PAGE + 8, 8);
	}
}

/* Whatever changes, but the bits that the processor sets. */
static void an_entry_that_changes_meanwhile_is_refused(void **state)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t mask = 1ULL << bit;

		if (mask & (PAGE_ACCESSED | PAGE_DIRTY))
			continue;
		visit();
		machine.changed = entry_of(FIRST_PAGE, 12);
		machine.changed_to = *machine.changed ^ mask;
		machine.changes_at = 1;
		assert_refused(FIRST_PAGE, 8);
	}
}

/* The processor sets these bits. */
static void a_page_that_is_used_meanwhile_is_read(void **state)
{
	const uint64_t used = PAGE_ACCESSED | PAGE_DIRTY;
	uint64_t *entry;

	visit();
	entry = entry_of(FIRST_PAGE, 12);
	*entry &= ~used;
	machine.changed = entry;
	machine.changed_to = *entry | used;
	machine.changes_at = 1;
	assert_read(FIRST_PAGE, 8);
	assert_int_equal(*entry, machine.changed_to);
}

static void entries_that_name_no_memory_are_refused(void **state)
{
	visit();
	/* Swapped out, whose place the kernel inverts; of a device; beyond all memory. */
	*entry_of(FIRST_PAGE, 12) = FIRST_AT | (USUAL & ~PAGE_PRESENT);
	assert_refused(FIRST_PAGE, 8);
	*entry_of(FIRST_PAGE, 12) = (~FIRST_AT & PAGE_ADDRESS_MASK) | (USUAL & ~PAGE_PRESENT);
	assert_refused(FIRST_PAGE, 8);
	*entry_of(FIRST_PAGE, 12) = FIRST_AT | USUAL | PAGE_SPECIAL;
	assert_refused(FIRST_PAGE, 8);
	*entry_of(FIRST_PAGE, 12) = MEMORY_BYTES | USUAL;
	assert_refused(FIRST_PAGE, 8);
	/* A table that is not there, or not present. */
	visit();
	*entry_of(FIRST_PAGE, SHIFT_2M) &= ~(uint64_t)PAGE_PRESENT;
	assert_refused(FIRST_PAGE, 8);
	*entry_of(FIRST_PAGE, SHIFT_2M) = MEMORY_BYTES | USUAL;
	assert_refused(FIRST_PAGE, 8);
}

/* Those of protection keys, of the kernel, and that nothing is executed. */
static void bits_above_an_address_are_ignored(void **state)
{
	visit();
	*entry_of(FIRST_PAGE, SHIFT_2M) |= 0xfffULL << 52;
	*entry_of(FIRST_PAGE, 12) |= 0xfffULL << 52;
	assert_read(FIRST_PAGE, 8);
}

/* As while the kernel looks who uses them. */
static void pages_without_access_are_read(void **state)
{
	visit();
	*entry_of(FIRST_PAGE, 12) =
		(~FIRST_AT & PAGE_ADDRESS_MASK) | PAGE_PROTNONE | (USUAL & ~PAGE_PRESENT);
	assert_read(FIRST_PAGE, 8);
	assert_read(FIRST_PAGE + PAGE_BYTES - 8, 16);
}

static void assert_huge(unsigned shift)
{
	const uint64_t bytes = 1ULL << shift, address = 0x7e0000000000,
		       places[] = { 0, 8, bytes / 2 - 4, bytes - 8 };
	__u64 word, expected;

	visit();
	map(address, 8 * GIBIBYTE, shift);
	map(address + bytes, 6 * GIBIBYTE, shift);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_true(can_read_own_user(&word, 1, address + places[i]));
		for (unsigned j = 0; j < sizeof(word); j++)
			((uint8_t *)&expected)[j] = byte_at(8 * GIBIBYTE + places[i] + j);
		assert_int_equal(word, expected);
	}
	assert_true(can_read_own_user(&word, 1, address + bytes - 4));
	for (unsigned j = 0; j < sizeof(word); j++)
		((uint8_t *)&expected)[j] =
			byte_at(j < 4 ? 8 * GIBIBYTE + bytes - 4 + j : 6 * GIBIBYTE + j - 4);
	assert_int_equal(word, expected);
}

static void large_pages_are_read(void **state)
{
	assert_huge(SHIFT_2M);
	assert_huge(SHIFT_1G);
}

static void five_levels_are_read(void **state)
{
	const uint64_t high = 0x00f0123456789000;
	__u64 word;

	boot(FIVE_LEVELS_AT, 0);
	map(high, FIRST_AT, PAGE_SHIFT_SMALL);
	assert_true(visit_memory(&machine.task));
	assert_int_equal(visited.direct_map, machine.direct_map);
	assert_read(FIRST_PAGE + PAGE_BYTES - 8, 16);
	assert_true(can_read_own_user(&word, 1, high));
	assert_int_equal((uint8_t)word, byte_at(FIRST_AT));
	assert_refused(1ULL << 56, 8);
}

/* The bit makes the address of each table another one. */
static void encrypted_memory_is_not_read(void **state)
{
	for (unsigned bit = 47; bit <= 51; bit += 4) {
		boot(FOUR_LEVELS_AT, 1ULL << bit);
		for (unsigned i = 0; i < 2; i++) {
			assert_false(visit_memory(&machine.task));
			assert_int_equal(visited.direct_map, DIRECT_MAP_HIDDEN);
		}
		assert_int_equal(machine.searches, 1);
	}
}

/* At the same address, while the one before still has its own. */
static void the_next_thread_has_its_own_pages(void **state)
{
	visit();
	assert_read(FIRST_PAGE, 8);
	switch_tables();
	map(FIRST_PAGE, SECOND_AT, PAGE_SHIFT_SMALL);
	map(FIRST_PAGE + PAGE_BYTES, FIRST_AT, PAGE_SHIFT_SMALL);
	assert_true(visit_memory(&machine.task));
	assert_int_equal(machine.searches, 1);
	for (unsigned i = 0; i < 2; i++) {
		__u64 word = 0;

		assert_true(can_read_own_user(&word, 1, FIRST_PAGE + i * PAGE_BYTES));
		assert_int_equal((uint8_t)word, byte_at(i ? FIRST_AT : SECOND_AT));
	}
}

static void a_thread_without_tables_is_not_read(void **state)
{
	boot(FOUR_LEVELS_AT, 0);
	machine.mm.pgd = NULL;
	assert_false(visit_memory(&machine.task));
	assert_int_equal(machine.searches, 0);
}

/* On its way to the processor, there, or there and back. */
static void a_thread_that_ran_is_known(void **state)
{
	visit();
	assert_false(has_walked_thread_run());
	machine.task.sched_info.last_arrival++;
	assert_true(has_walked_thread_run());
	assert_true(visit_memory(&machine.task));
	assert_false(has_walked_thread_run());
	machine.task.on_cpu = 1;
	assert_true(has_walked_thread_run());
	assert_false(visit_memory(&machine.task));
	machine.task.on_cpu = 0;
	assert_false(has_walked_thread_run());
}

static void who_is_visited_is_known(void **state)
{
	visit();
	assert_int_equal(walked_user(), 1007);
	assert_false(is_first_thread_walked());
	machine.task.pid = 7;
	machine.task.thread.fsbase = 0x7f0000000740;
	assert_true(visit_memory(&machine.task));
	assert_true(is_first_thread_walked());
	assert_int_equal(walked_thread_pointer(), 0x7f0000000740);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_give_the_bytes_of_the_pages),
		cmocka_unit_test(reads_go_on_in_the_next_page),
		cmocka_unit_test(nothing_is_read_if_a_part_is_not_mapped),
		cmocka_unit_test(several_words_are_read),
		cmocka_unit_test(registers_are_read),
		cmocka_unit_test(too_long_reads_are_refused),
		cmocka_unit_test(addresses_of_the_kernel_are_refused),
		cmocka_unit_test(a_page_that_changes_meanwhile_is_not_read),
		cmocka_unit_test(a_page_that_was_read_is_found_again_if_it_changed),
		cmocka_unit_test(an_entry_that_changes_meanwhile_is_refused),
		cmocka_unit_test(a_page_that_is_used_meanwhile_is_read),
		cmocka_unit_test(entries_that_name_no_memory_are_refused),
		cmocka_unit_test(bits_above_an_address_are_ignored),
		cmocka_unit_test(pages_without_access_are_read),
		cmocka_unit_test(large_pages_are_read),
		cmocka_unit_test(five_levels_are_read),
		cmocka_unit_test(encrypted_memory_is_not_read),
		cmocka_unit_test(the_next_thread_has_its_own_pages),
		cmocka_unit_test(a_thread_without_tables_is_not_read),
		cmocka_unit_test(a_thread_that_ran_is_known),
		cmocka_unit_test(who_is_visited_is_known),
	};

	return cmocka_run_group_tests_name("other_memory", tests, NULL, NULL);
}

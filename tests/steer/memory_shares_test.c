/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/memory_shares.h"

#include "base/array.h"
#include "capture/map_sizes.h"
#include "labels/cgroup_table.h"
#include "labels/claim_table.h"
#include "labels/path_cache.h"
#include "pilotlight/event.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

enum {
	ALL_SOURCES = 1 << PILOTLIGHT_SOURCE_CPU | 1 << PILOTLIGHT_SOURCE_OFFCPU |
		      1 << PILOTLIGHT_SOURCE_RUNQUEUE,
};

static struct memory_shares shares_of(uint64_t budget_bytes, const struct memory_work *work)
{
	struct memory_shares shares;
	struct fault fault = { 0 };

	assert_int_equal(memory_shares_compute(budget_bytes, work, &shares, &fault), 0);
	assert_string_equal(fault.text, "");
	return shares;
}

/* For every budget, each share is above 0, and their sum is total_bytes and within the budget. */
static void check_shares(uint64_t budget_bytes, const struct memory_work *work)
{
	struct memory_shares shares = shares_of(budget_bytes, work);
	size_t sum = shares.map_bytes + shares.sideband_bytes + 2 * shares.profile_bytes +
		     shares.jit_bytes + shares.runtime_bytes + shares.late_bytes +
		     shares.process_bytes + shares.claim_bytes + shares.sink_bytes +
		     shares.store_bytes + shares.base_bytes;

	assert_int_equal(shares.total_bytes, sum);
	assert_true(shares.total_bytes <= budget_bytes);
	assert_true(shares.unwind_bytes < shares.map_bytes);
	assert_true(shares.unwind_bytes >= MIB);
	assert_true(shares.unwind_bytes + shares.thread_bytes < shares.map_bytes);
	/* Capture finds the same, or less. */
	assert_true(map_sizes_thread_bytes(work->sources, shares.map_bytes) <= shares.thread_bytes);
	assert_true(shares.profile_bytes >= MIB / 2);
	assert_true(shares.late_bytes >= 128 << 10);
	assert_true(shares.process_bytes >= MIB / 2);
	assert_int_equal(shares.claim_bytes, CLAIM_TABLE_BYTES_MAX);
	assert_int_equal(shares.sink_bytes, work->sink_bytes);
	/* store.h has it so. */
	assert_true(shares.store_bytes >= 8 * MIB + shares.profile_bytes / 6);
	assert_true(shares.sideband_bytes >= work->cpu_count * (32 << 10));
	assert_int_equal(work->jit_bytes ? work->jit_bytes : shares.jit_bytes, shares.jit_bytes);
	assert_true(shares.jit_bytes > 0);
}

static void shares_never_exceed_the_budget(void **state)
{
	static const uint64_t budgets[] = { 32 * MIB, 33 * MIB, 40 * MIB, 48 * MIB, 64 * MIB,
		100 * MIB, 256 * MIB, 1024 * MIB, 65536 * MIB, 16384 * 1024 * MIB };
	static const uint32_t cpus[] = { 1, 2, 4, 8, 16, 64, 128, 1024, 8192 };
	static const uint32_t rates[] = { 1, 19, 99, 999, 25000 };
	static const size_t jits[] = { 0, 1 << 20, 16 << 20, 1 << 30 };
	unsigned checked = 0;

	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++)
		for (size_t j = 0; j < ARRAY_SIZE(cpus); j++)
			for (size_t k = 0; k < ARRAY_SIZE(rates); k++)
				for (size_t l = 0; l < ARRAY_SIZE(jits); l++) {
					const struct memory_work work = { cpus[j], rates[k],
						jits[l], l % 2 ? ALL_SOURCES : 0,
						l == 1 ? 2 * MIB : 0 };
					struct memory_shares shares;

					if (memory_shares_compute(
						    budgets[i], &work, &shares, NULL) < 0)
						continue;
					check_shares(budgets[i], &work);
					checked++;
				}
	assert_true(checked > 1000);
}

/* The default: four CPUs at 99 Hz. */
static void the_default_is_split_sensibly(void **state)
{
	const struct memory_work work = { .cpu_count = 4, .rate_hz = 99 };
	struct memory_shares shares = shares_of(64 * MIB, &work);
	struct map_sizes sizes;
	const struct map_sizes_work map_work = { .rate_hz = 99,
		.cpu_count = 4,
		.stack_depth = PILOTLIGHT_STACK_DEPTH,
		.has_walks = true };

	assert_true(shares.total_bytes > 60 * MIB);
	/* Tables of some hundred programs, and maps that are emptied no more than twice a second.
	 */
	assert_in_range(shares.unwind_bytes, 8 * MIB, 16 * MIB);
	assert_in_range(shares.map_bytes, 16 * MIB, 28 * MIB);
	map_sizes_compute(&map_work, shares.map_bytes - shares.unwind_bytes, &sizes);
	assert_true(sizes.total_bytes <= shares.map_bytes - shares.unwind_bytes);
	assert_true(sizes.drain_period_ms >= 500);
	/* 10 s of 396 samples a second: a KiB for each. */
	assert_true(shares.profile_bytes >= 3960 * 1024);
	assert_true(shares.jit_bytes >= 3 * MIB);
	assert_int_equal(shares.sideband_bytes, 4 * ((512 << 10) + 4096));
}

static void maps_take_no_more_than_they_need(void **state)
{
	const struct memory_work little = { .cpu_count = 1, .rate_hz = 19 };
	const struct memory_work much = { .cpu_count = 128, .rate_hz = 99 };
	struct memory_shares shares;

	shares = shares_of(1024 * MIB, &little);
	assert_true(shares.map_bytes - shares.unwind_bytes < 4 * MIB);
	shares = shares_of(1024 * MIB, &much);
	assert_true(shares.map_bytes - shares.unwind_bytes > 100 * MIB);
}

static uint32_t drain_period_ms(uint64_t budget_bytes, uint32_t sources)
{
	const struct memory_work work = { .cpu_count = 2, .rate_hz = 99, .sources = sources };
	const struct map_sizes_work map_work = {
		.rate_hz = 99,
		.cpu_count = 2,
		.waits_hz = map_sizes_waits_hz(sources),
		.stack_depth = PILOTLIGHT_STACK_DEPTH,
		.has_walks = true,
	};
	struct memory_shares shares = shares_of(budget_bytes, &work);
	struct map_sizes sizes;

	map_sizes_compute(&map_work, shares.map_bytes - shares.unwind_bytes, &sizes);
	assert_true(sizes.total_bytes <= shares.map_bytes - shares.unwind_bytes);
	return sizes.drain_period_ms;
}

/* pilotlight.conf(5) says so. Without room for them, sources would halve the shorter times. */
static void sources_have_room_in_the_maps(void **state)
{
	const uint32_t one = 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU;

	assert_int_equal(drain_period_ms(64 * MIB, 0), 2550);
	assert_int_equal(drain_period_ms(64 * MIB, one), 1286);
	assert_int_equal(drain_period_ms(64 * MIB, ALL_SOURCES), 856);
	assert_int_equal(drain_period_ms(96 * MIB, one), 2550);
	assert_int_equal(drain_period_ms(176 * MIB, ALL_SOURCES), 2550);
}

/* docs/security.md says so. */
static void threads_have_room(void **state)
{
	struct memory_work work = { .cpu_count = 2, .rate_hz = 99 };
	struct memory_shares shares = shares_of(64 * MIB, &work);

	assert_int_equal(shares.thread_bytes, 0);
	work.sources = ALL_SOURCES;
	shares = shares_of(64 * MIB, &work);
	assert_in_range(shares.thread_bytes / MAP_SIZES_THREAD_BYTES, 7500, 8500);
	shares = shares_of(32 * MIB, &work);
	assert_in_range(shares.thread_bytes / MAP_SIZES_THREAD_BYTES, 1000, 1600);
}

static void rings_shrink_with_the_number_of_cpus(void **state)
{
	const struct memory_work many = { .cpu_count = 128, .rate_hz = 99 };
	const struct memory_work more = { .cpu_count = 64, .rate_hz = 99 };

	assert_int_equal(shares_of(1024 * MIB, &many).sideband_bytes, 128 * ((64 << 10) + 4096));
	assert_int_equal(shares_of(1024 * MIB, &more).sideband_bytes, 64 * ((128 << 10) + 4096));
	assert_int_equal(shares_of(64 * MIB, &many).sideband_bytes, 128 * ((32 << 10) + 4096));
}

/* What is named as the least does, and a byte less does not. */
static void the_minimum_budget_is_reported(void **state)
{
	static const struct memory_work works[] = {
		{ .cpu_count = 1, .rate_hz = 99 },
		{ .cpu_count = 4, .rate_hz = 99 },
		{ .cpu_count = 1024, .rate_hz = 99 },
		{ .cpu_count = 4, .rate_hz = 99, .jit_bytes = 100 << 20 },
		{ .cpu_count = 4, .rate_hz = 99, .sink_bytes = 3 << 20 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		struct memory_shares shares = { .map_bytes = 77 };
		struct fault fault = { 0 };
		uint64_t least_mib;
		const char *text;

		assert_int_equal(memory_shares_compute(MIB, &works[i], &shares, &fault), -ENOSPC);
		assert_int_equal(shares.map_bytes, 77);
		text = strstr(fault.text, "the least is ");
		assert_non_null(text);
		assert_int_equal(sscanf(text, "the least is %" SCNu64 " MiB", &least_mib), 1);
		assert_true(least_mib * MIB >= MEMORY_BUDGET_MIN);
		check_shares(least_mib * MIB, &works[i]);
		assert_int_equal(
			memory_shares_compute(least_mib * MIB - 1, &works[i], &shares, NULL),
			-ENOSPC);
	}
}

static void too_much_work_fits_no_budget(void **state)
{
	const struct memory_work work = {
		.cpu_count = UINT32_MAX, .rate_hz = UINT32_MAX, .jit_bytes = SIZE_MAX
	};
	struct memory_shares shares;

	assert_int_equal(memory_shares_compute(16384 * 1024 * MIB, &work, &shares, NULL), -ENOSPC);
}

/* --- the bounds, and what is taken at them --- */

static void map_something(struct process_table *table, pid_t pid, unsigned number)
{
	struct process_mapping_event event = {
		.offset = 4096, .inode = number + 1, .device_minor = 1
	};
	char path[64];

	event.start = 0x400000 + (uint64_t)number * 0x4000;
	event.end = event.start + 0x2000;
	(void)snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/library-%u.so", number);
	event.path = path;
	(void)process_table_map(table, pid, 1, &event, NULL);
}

static void check_process_table(const struct memory_shares *shares)
{
	struct process_table_limits limits;
	struct process_table *table = NULL;
	struct process_table_counters counters;

	memory_shares_process_limits(shares, &limits);
	assert_int_equal(process_table_new(&limits, &table), 0);
	for (size_t i = 0; i < limits.images + limits.images / 2; i++) {
		pid_t pid = (pid_t)i + 1;

		(void)process_table_exec(table, pid, i + 1);
		for (unsigned j = 0; j < 12; j++)
			map_something(
				table, pid, ((unsigned)i * 5 + j) % (unsigned)(2 * limits.files));
	}
	process_table_counters(table, &counters);
	assert_true(counters.images_refused > 0);
	assert_true(counters.mappings_refused > 0 || counters.files_refused > 0);
	assert_true(process_table_bytes(table) <= shares->process_bytes / 2);
	assert_true(process_table_bytes(table) > shares->process_bytes / 8);
	process_table_free(table);
}

static void check_cgroup_table(const struct memory_shares *shares)
{
	struct cgroup_table_limits limits;
	struct path_cache cache;
	char path[300];

	memory_shares_cgroup_limits(shares, &limits);
	assert_int_equal(path_cache_init(&cache, limits.cgroups, limits.path_bytes), 0);
	for (size_t i = 0; i < 2 * limits.cgroups; i++) {
		const struct path_key key = { .id = i + 1 };

		(void)snprintf(path, sizeof(path), "/kubepods.slice/%0*zu", (int)(i % 250), i);
		assert_int_equal(path_cache_put(&cache, &key, path), 0);
	}
	assert_true(cache.evicted > 0);
	/* As much again for a scan. */
	assert_true(path_cache_bytes(&cache) + limits.path_bytes <= shares->process_bytes / 8);
	assert_true(path_cache_bytes(&cache) > shares->process_bytes / 64);
	path_cache_done(&cache);
}

static void check_binary_table(const struct memory_shares *shares)
{
	struct binary_table_limits limits;
	size_t most = shares->process_bytes / 8 * 3;

	memory_shares_binary_limits(shares, &limits);
	assert_true(limits.binaries_max * sizeof(struct elf_image) + limits.path_bytes_max < most);
	assert_true(limits.binaries_max > most / 1024);
	assert_true(limits.descriptors_max <= limits.binaries_max);
}

static void tables_hold_to_their_shares(void **state)
{
	static const uint64_t budgets[] = { 32 * MIB, 64 * MIB, 128 * MIB };

	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
		const struct memory_work work = { .cpu_count = 4, .rate_hz = 99 };
		struct memory_shares shares = shares_of(budgets[i], &work);

		check_process_table(&shares);
		check_cgroup_table(&shares);
		check_binary_table(&shares);
	}
}

/* At the default: enough for a host of a thousand processes. */
static void shares_of_64_mib_suit_a_host(void **state)
{
	const struct memory_work work = { .cpu_count = 4, .rate_hz = 99 };
	struct memory_shares shares = shares_of(64 * MIB, &work);
	struct process_table_limits processes;
	struct binary_table_limits binaries;
	struct cgroup_table_limits cgroups;

	memory_shares_process_limits(&shares, &processes);
	memory_shares_binary_limits(&shares, &binaries);
	memory_shares_cgroup_limits(&shares, &cgroups);
	assert_true(processes.images >= 4000);
	assert_true(processes.mappings >= 30000);
	assert_true(processes.files >= 2000);
	assert_true(processes.path_bytes >= 64 * processes.files);
	assert_true(binaries.binaries_max >= 2000);
	assert_int_equal(binaries.descriptors_max, binary_table_default_limits.descriptors_max);
	assert_true(cgroups.cgroups >= 1000);
}

static void limits_are_never_zero(void **state)
{
	const struct memory_shares nothing = { 0 };
	struct process_table_limits processes;
	struct binary_table_limits binaries;
	struct cgroup_table_limits cgroups;

	memory_shares_process_limits(&nothing, &processes);
	memory_shares_binary_limits(&nothing, &binaries);
	memory_shares_cgroup_limits(&nothing, &cgroups);
	assert_true(processes.images && processes.files && processes.mappings);
	assert_true(binaries.binaries_max && binaries.descriptors_max);
	assert_true(cgroups.cgroups && cgroups.path_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_never_exceed_the_budget),
		cmocka_unit_test(the_default_is_split_sensibly),
		cmocka_unit_test(maps_take_no_more_than_they_need),
		cmocka_unit_test(sources_have_room_in_the_maps),
		cmocka_unit_test(threads_have_room),
		cmocka_unit_test(rings_shrink_with_the_number_of_cpus),
		cmocka_unit_test(the_minimum_budget_is_reported),
		cmocka_unit_test(too_much_work_fits_no_budget),
		cmocka_unit_test(tables_hold_to_their_shares),
		cmocka_unit_test(shares_of_64_mib_suit_a_host),
		cmocka_unit_test(limits_are_never_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

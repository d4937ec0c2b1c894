/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/memory_limit.h"

#include "tests/config/config_folder.h"
#include "tests/harness/failing_allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define UNIT "/system.slice/pilotlightd.service"

static void cgroup_v2_uses_the_smallest_limit_of_all_ancestors(void **state)
{
	struct config_folder folder;

	config_folder_make(&folder);
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_write(&folder, "proc/self/cgroup", "0::" UNIT "\n");
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_write(&folder, "sys/fs/cgroup" UNIT "/memory.max", "max\n");
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_write(&folder, "sys/fs/cgroup" UNIT "/memory.max", "67108864\n");
	assert_int_equal(memory_limit_read(folder.path), 64 << 20);
	config_folder_write(&folder, "sys/fs/cgroup/system.slice/memory.max", "33554432\n");
	assert_int_equal(memory_limit_read(folder.path), 32 << 20);
	config_folder_write(&folder, "sys/fs/cgroup/memory.max", "16777216\n");
	assert_int_equal(memory_limit_read(folder.path), 16 << 20);
	config_folder_remove(&folder);
}

static void cgroup_v1_uses_its_memory_hierarchy(void **state)
{
	struct config_folder folder;

	config_folder_make(&folder);
	config_folder_write(&folder, "proc/self/cgroup",
		"12:pids:/a\n5:cpu,memory,hugetlb:" UNIT "\n4:memoryish:/b\n0::" UNIT "\n");
	config_folder_write(&folder, "sys/fs/cgroup/memory/system.slice/memory.limit_in_bytes",
		"9223372036854771712\n");
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_write(&folder, "sys/fs/cgroup/memory/b/memory.limit_in_bytes", "4096\n");
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_write(
		&folder, "sys/fs/cgroup/memory" UNIT "/memory.limit_in_bytes", "50331648\n");
	assert_int_equal(memory_limit_read(folder.path), 48 << 20);
	config_folder_remove(&folder);
}

static void damaged_lines_are_no_limit(void **state)
{
	struct config_folder folder;

	config_folder_make(&folder);
	config_folder_write(&folder, "sys/fs/cgroup/memory.max", "99999999999999999999999\n");
	config_folder_write(&folder, "proc/self/cgroup", "\n0\n0:\n0::\n0::x\n0:memory:\n0::/\n1:");
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	config_folder_remove(&folder);
}

static void without_memory_there_is_no_limit(void **state)
{
	struct config_folder folder;

	config_folder_make(&folder);
	config_folder_write(&folder, "sys/fs/cgroup/memory.max", "4096");
	config_folder_write(&folder, "proc/self/cgroup", "0::/");
	assert_int_equal(memory_limit_read(folder.path), 4096);
	fail_allocation(0);
	assert_int_equal(memory_limit_read(folder.path), UINT64_MAX);
	assert_true(allocation_failed());
	config_folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroup_v2_uses_the_smallest_limit_of_all_ancestors),
		cmocka_unit_test(cgroup_v1_uses_its_memory_hierarchy),
		cmocka_unit_test(damaged_lines_are_no_limit),
		cmocka_unit_test(without_memory_there_is_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

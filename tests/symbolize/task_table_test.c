/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/task_table.h"

#include "base/cleanup.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct symbol_identity make_identity(uint32_t number)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID };

	memcpy(identity.id.bytes, &number, sizeof(number));
	identity.id.bytes[10] = 1;
	identity.id.size = 20;
	return identity;
}

static int add(struct task_table *table, const struct symbol_identity *identity,
	struct symbol_binary *binary, uint32_t *ret_id)
{
	binary->identity = *identity;
	return task_table_add(table, binary, ret_id);
}

static void binaries_are_found_again(void **state)
{
	struct symbol_binary binary = { .path = "/bin/x", .fd = -1, .debug_fd = -1 };
	struct task_table table = { 0 };
	struct symbol_identity identity;
	uint32_t id;

	identity = make_identity(0);
	assert_null(task_table_find(&table, &identity));
	for (uint32_t i = 0; i < 1000; i++) {
		identity = make_identity(i);
		assert_int_equal(add(&table, &identity, &binary, &id), 0);
		assert_int_equal(id, i);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		identity = make_identity(i);
		assert_ptr_equal(task_table_find(&table, &identity), &table.items[i]);
		identity.id.size = 11; /* as the kernel has it */
		assert_ptr_equal(task_table_find(&table, &identity), &table.items[i]);
	}
	identity = make_identity(1000);
	assert_null(task_table_find(&table, &identity));
	identity = make_identity(1);
	identity.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	assert_null(task_table_find(&table, &identity));
	task_table_done(&table);
}

static void description_of_a_binary_is_copied(void **state)
{
	char path[] = "/bin/x", debug_path[] = "/bin/x.debug";
	struct symbol_binary binary = { .path = path, .debug_path = debug_path };
	struct symbol_identity identity = make_identity(1);
	struct task_table table = { 0 };
	struct stat first, second;
	uint32_t id;

	binary.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	binary.debug_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(add(&table, &identity, &binary, &id), 0);
	assert_int_equal(fstat(binary.fd, &first), 0);
	(void)close(binary.fd);
	(void)close(binary.debug_fd);
	path[5] = debug_path[5] = 'y';
	assert_string_equal(table.items[id].binary.path, "/bin/x");
	assert_string_equal(table.items[id].binary.debug_path, "/bin/x.debug");
	assert_int_equal(table.items[id].stage, TASK_WAITING);
	assert_int_equal(fstat(table.items[id].binary.fd, &second), 0);
	assert_int_equal(first.st_rdev, second.st_rdev);
	task_close_files(&table.items[id]);
	assert_int_equal(table.items[id].binary.fd, -1);
	assert_int_equal(table.items[id].binary.debug_fd, -1);
	task_table_done(&table);
}

static void full_table_refuses_more(void **state)
{
	struct symbol_binary binary = { .fd = -1, .debug_fd = -1 };
	struct task_table table = { 0 };
	struct symbol_identity identity;
	uint32_t id = 7;

	for (uint32_t i = 0; i < TASKS_MAX; i++) {
		identity = make_identity(i);
		assert_int_equal(add(&table, &identity, &binary, &id), 0);
	}
	identity = make_identity(TASKS_MAX);
	assert_int_equal(add(&table, &identity, &binary, &id), -E2BIG);
	assert_int_equal(id, TASKS_MAX - 1);
	assert_null(task_table_find(&table, &identity));
	task_table_done(&table);
}

/* The service runs for months. */
static void tasks_that_are_done_make_room(void **state)
{
	struct symbol_binary binary = { .path = "a", .fd = -1, .debug_fd = -1 };
	struct task_table table = { 0 };
	struct symbol_identity identity;
	uint32_t first, id;

	identity = make_identity(0);
	assert_int_equal(add(&table, &identity, &binary, &first), 0);
	for (uint32_t i = 1; i < 3 * TASKS_MAX; i++) {
		identity = make_identity(i);
		assert_int_equal(add(&table, &identity, &binary, &id), 0);
		assert_int_equal(table.items[id].number, i + 1);
		table.items[id].stage = TASK_DONE;
	}
	assert_int_equal(table.count, TASKS_MAX);
	assert_ptr_equal(task_table_find(&table, &identity), &table.items[id]);
	identity = make_identity(0);
	assert_ptr_equal(task_table_find(&table, &identity), &table.items[first]);
	identity = make_identity(1);
	assert_null(task_table_find(&table, &identity));
	task_table_done(&table);
}

static void failures_leave_the_table_unchanged(void **state)
{
	struct symbol_binary binary = { .path = "a", .debug_path = "b", .fd = -1, .debug_fd = -1 };
	struct symbol_identity identity = make_identity(1);
	uint32_t id = 7;
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct task_table table = { 0 };
		bool has_failed;

		fail_allocation(n);
		r = add(&table, &identity, &binary, &id);
		has_failed = allocation_failed();
		if (has_failed) {
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(table.count, 0);
			assert_null(task_table_find(&table, &identity));
		}
		task_table_done(&table);
		if (!has_failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 4);

	struct task_table table = { 0 };

	binary.fd = 1 << 20;
	assert_int_equal(add(&table, &identity, &binary, &id), -EBADF);
	assert_int_equal(table.count, 0);
	task_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(binaries_are_found_again),
		cmocka_unit_test(description_of_a_binary_is_copied),
		cmocka_unit_test(full_table_refuses_more),
		cmocka_unit_test(tasks_that_are_done_make_room),
		cmocka_unit_test(failures_leave_the_table_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

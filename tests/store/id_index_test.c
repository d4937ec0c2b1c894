/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/id_index.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { ELEMENTS = 5000 };

/* Of few places, so that most elements are not at their own. */
static uint64_t hash(const void *owner, uint32_t id)
{
	return ((const uint32_t *)owner)[id] % 2500 * 16;
}

static bool equal(const void *owner, uint32_t id, const void *key)
{
	return ((const uint32_t *)owner)[id] == *(const uint32_t *)key;
}

static int add(struct id_index *index, const uint32_t *elements, uint32_t id)
{
	int r = id_index_reserve(index, hash, elements);

	if (r == 0)
		id_index_insert(index, hash(elements, id), id);
	return r;
}

static void added_elements_are_found(void **state)
{
	static uint32_t elements[2 * ELEMENTS];
	struct id_index index = { 0 };

	for (uint32_t i = 0; i < 2 * ELEMENTS; i++)
		elements[i] = i * 2654435761U;
	for (uint32_t i = 0; i < 2 * ELEMENTS; i++) {
		assert_int_equal(
			id_index_find(&index, hash(elements, i), equal, elements, &elements[i]),
			ID_INDEX_NONE);
		if (i < ELEMENTS)
			assert_int_equal(add(&index, elements, i), 0);
	}
	for (uint32_t i = 0; i < ELEMENTS; i++)
		assert_int_equal(
			id_index_find(&index, hash(elements, i), equal, elements, &elements[i]), i);
	assert_int_equal(index.count, ELEMENTS);
	assert_true(index.count <= index.capacity / 4 * 3);
	assert_int_equal(id_index_bytes(&index), 8192 * sizeof(uint32_t));
	id_index_done(&index);
	assert_int_equal(id_index_bytes(&index), 0);
}

static void failing_allocations_leave_it_whole(void **state)
{
	uint32_t elements[200];
	struct id_index index = { 0 };

	for (uint32_t i = 0; i < 200; i++) {
		elements[i] = i;
		fail_allocation(0);
		if (add(&index, elements, i) == 0) {
			assert_false(allocation_failed());
			continue;
		}
		assert_true(allocation_failed());
		assert_true(i == 0 || i == 48 || i == 96 || i == 192);
		assert_int_equal(add(&index, elements, i), 0);
	}
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(id_index_find(&index, hash(elements, i), equal, elements, &i), i);
	fail_allocation(0);
	index.count = index.capacity / 4 * 3;
	assert_int_equal(id_index_reserve(&index, hash, elements), -ENOMEM);
	assert_true(allocation_failed());
	id_index_done(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_elements_are_found),
		cmocka_unit_test(failing_allocations_leave_it_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

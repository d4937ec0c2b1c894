/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/scratch_sort.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

struct item {
	uint64_t major;
	uint32_t minor;
	uint32_t order; /* in which it was added */
};

static uint64_t major_key(const void *item)
{
	return ((const struct item *)item)->major;
}

static uint64_t minor_key(const void *item)
{
	return ((const struct item *)item)->minor;
}

static uint64_t falling_key(const void *item)
{
	return ~major_key(item);
}

static void fill(struct scratch_array *array, size_t count, uint64_t mask)
{
	struct item *items;

	assert_int_equal(scratch_array_reserve(array, count), 0);
	items = array->items;
	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.major = ((uint64_t)random() << 40 ^ (uint64_t)random() << 20 ^
					 (uint64_t)random()) &
				 mask,
			.minor = (uint32_t)random() % 4,
			.order = (uint32_t)i,
		};
	array->count = count;
}

static void items_are_sorted_by_all_keys_and_stable(void **state)
{
	static const scratch_sort_key keys[] = { major_key, minor_key };
	static const uint64_t masks[] = { 0, 7, 0xfff, UINT64_C(0x7ff) << 53, UINT64_MAX };
	static const size_t counts[] = { 0, 1, 2, 3, 1000, 5000 };
	struct scratch scratch;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);

	scratch_init(&scratch, fd, 1 << 30);
	(void)state;
	srandom(1);
	for (size_t i = 0; i < ARRAY_SIZE(masks) * ARRAY_SIZE(counts); i++) {
		size_t count = counts[i / ARRAY_SIZE(masks)];
		_cleanup_(scratch_array_done) struct scratch_array array = { 0 };
		const struct item *items;
		uint64_t orders = 0;

		assert_int_equal(
			scratch_array_init(&array, &scratch, sizeof(struct item), 10000), 0);
		fill(&array, count, masks[i % ARRAY_SIZE(masks)]);
		assert_int_equal(scratch_sort(&array, keys, ARRAY_SIZE(keys)), 0);
		assert_int_equal(array.count, count);
		items = array.items;
		for (size_t j = 0; j < count; j++) {
			orders += items[j].order;
			if (j == 0 || items[j - 1].major < items[j].major)
				continue;
			assert_true(items[j - 1].major == items[j].major);
			assert_true(items[j - 1].minor <= items[j].minor);
			if (items[j - 1].minor == items[j].minor)
				assert_true(items[j - 1].order < items[j].order);
		}
		assert_int_equal(orders, count ? count * (count - 1) / 2 : 0);
	}
}

static void keys_may_be_reversed(void **state)
{
	static const scratch_sort_key keys[] = { falling_key };
	struct scratch scratch;
	_cleanup_(scratch_array_done) struct scratch_array array = { 0 };
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct item *items;

	scratch_init(&scratch, fd, 1 << 30);
	(void)state;
	assert_int_equal(scratch_array_init(&array, &scratch, sizeof(struct item), 10000), 0);
	fill(&array, 3000, UINT64_MAX);
	assert_int_equal(scratch_sort(&array, keys, 1), 0);
	items = array.items;
	for (size_t i = 1; i < array.count; i++)
		assert_true(items[i - 1].major >= items[i].major);
}

static void a_scratch_without_room_is_an_error(void **state)
{
	static const scratch_sort_key keys[] = { major_key };
	struct scratch scratch;
	_cleanup_(scratch_array_done) struct scratch_array array = { 0 };
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);

	scratch_init(&scratch, fd, 128 * 1024);
	(void)state;
	assert_int_equal(scratch_array_init(&array, &scratch, sizeof(struct item), 10000), 0);
	fill(&array, 5000, UINT64_MAX);
	assert_int_equal(scratch_sort(&array, keys, 1), -EFBIG);
	assert_int_equal(array.count, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_sorted_by_all_keys_and_stable),
		cmocka_unit_test(keys_may_be_reversed),
		cmocka_unit_test(a_scratch_without_room_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/base/scratch_fixture.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MIB = 1 << 20, CHUNK_BYTES = 64 * 1024 };

static void growth_moves_no_item(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;
	const void *place;

	assert_true(scratch_fixture_init(&fixture, 64 * MIB));
	assert_int_equal(
		scratch_array_init(&first, &fixture.scratch, sizeof(uint64_t), 1 << 20), 0);
	assert_int_equal(scratch_array_init(&second, &fixture.scratch, 12, 1 << 20), 0);
	place = first.items;
	for (uint32_t i = 0; i < 300000; i++) {
		uint8_t *item;

		assert_int_equal(scratch_array_grow(&first), 0);
		assert_int_equal(((uint64_t *)first.items)[first.count], 0);
		((uint64_t *)first.items)[first.count++] = i;
		assert_int_equal(scratch_array_grow(&second), 0);
		item = (uint8_t *)second.items + second.count++ * 12;
		assert_int_equal(item[0], 0);
		(void)memset(item, (uint8_t)i | 1, 12);
	}
	assert_ptr_equal(first.items, place);
	for (uint32_t i = 0; i < 300000; i++) {
		assert_int_equal(((uint64_t *)first.items)[i], i);
		assert_int_equal(((uint8_t *)second.items)[(size_t)i * 12 + 11], (uint8_t)i | 1);
	}
	scratch_array_done(&first);
	scratch_array_done(&second);
	scratch_fixture_done(&fixture);
}

static void contents_are_in_the_file(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array;
	char read_back[6];

	assert_true(scratch_fixture_init(&fixture, MIB));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, MIB), 0);
	assert_int_equal(scratch_array_reserve(&array, 6), 0);
	(void)memcpy(array.items, "memory", 6);
	assert_int_equal(pread(fixture.fd, read_back, 6, 0), 6);
	assert_memory_equal(read_back, "memory", 6);
	scratch_array_done(&array);
	assert_null(array.items);
	scratch_array_done(&array);
	scratch_fixture_done(&fixture);
}

static void assert_file_is(const struct scratch_fixture *fixture, uint64_t bytes)
{
	struct stat status;

	assert_int_equal(fstat(fixture->fd, &status), 0);
	assert_int_equal(status.st_size, bytes);
}

static void the_first_bytes_are_in_memory(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;
	char read_back;

	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init(&fixture.scratch, fixture.fd, 6 * CHUNK_BYTES, 4 * CHUNK_BYTES - 1);
	assert_int_equal(scratch_array_init(&first, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&second, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_reserve(&first, 2 * CHUNK_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&second, 1), 0);
	assert_file_is(&fixture, 0);
	(void)memset(first.items, 1, 2 * CHUNK_BYTES);
	/* The file begins with a hole as long as the memory. */
	assert_int_equal(scratch_array_reserve(&first, 3 * CHUNK_BYTES), 0);
	assert_file_is(&fixture, 4 * CHUNK_BYTES);
	assert_int_equal(((char *)first.items)[2 * CHUNK_BYTES - 1], 1);
	assert_int_equal(((char *)first.items)[2 * CHUNK_BYTES], 0);
	((char *)first.items)[2 * CHUNK_BYTES] = 2;
	assert_int_equal(pread(fixture.fd, &read_back, 1, 3 * CHUNK_BYTES), 1);
	assert_int_equal(read_back, 2);
	/* The limit counts both. */
	assert_int_equal(scratch_array_reserve(&second, 3 * CHUNK_BYTES), 0);
	assert_int_equal(fixture.scratch.used_bytes, 6 * CHUNK_BYTES);
	assert_int_equal(scratch_array_reserve(&second, 3 * CHUNK_BYTES + 1), -EFBIG);
	scratch_array_done(&first);
	scratch_array_done(&second);
	scratch_fixture_done(&fixture);
}

static void space_of_freed_arrays_still_counts(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;

	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init(&fixture.scratch, fixture.fd, 5 * CHUNK_BYTES, 2 * CHUNK_BYTES);
	assert_int_equal(scratch_array_init(&first, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&second, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_reserve(&first, 2 * CHUNK_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&first, 3 * CHUNK_BYTES), 0);
	assert_file_is(&fixture, 3 * CHUNK_BYTES);
	scratch_array_done(&first);
	scratch_array_done(&first);
	assert_int_equal(scratch_array_reserve(&second, 2 * CHUNK_BYTES), 0);
	assert_file_is(&fixture, 5 * CHUNK_BYTES);
	assert_int_equal(((char *)second.items)[2 * CHUNK_BYTES - 1], 0);
	assert_int_equal(scratch_array_reserve(&second, 3 * CHUNK_BYTES), -EFBIG);
	scratch_array_done(&second);
	scratch_fixture_done(&fixture);
}

/* Returns the private writable memory, as RLIMIT_DATA counts it. */
static uint64_t data_bytes(void)
{
	_cleanup_fclose_ FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmData: %llu", &kib) == 1)
			break;
	assert_true(kib > 0);
	return kib * 1024;
}

static void the_file_is_used_when_memory_is_short(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array;
	struct rlimit before, low;
	int r;

	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init(&fixture.scratch, fixture.fd, MIB, MIB);
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	low = (struct rlimit){ data_bytes() + CHUNK_BYTES / 2, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
	r = scratch_array_reserve(&array, 1);
	assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
	assert_int_equal(r, 0);
	assert_file_is(&fixture, CHUNK_BYTES);
	((char *)array.items)[CHUNK_BYTES - 1] = 1;
	scratch_array_done(&array);
	scratch_fixture_done(&fixture);
}

static void exceeding_a_bound_leaves_the_array_unchanged(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array, other;
	size_t capacity;

	assert_true(scratch_fixture_init(&fixture, 4 * CHUNK_BYTES));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&other, &fixture.scratch, 3, 10), 0);
	assert_int_equal(scratch_array_reserve(&other, 11), -EFBIG);
	assert_int_equal(other.capacity, 0);
	assert_int_equal(scratch_array_reserve(&other, 10), 0);
	assert_int_equal(other.capacity, 10);
	assert_int_equal(scratch_array_reserve(&other, 11), -EFBIG);
	assert_int_equal(scratch_array_reserve(&array, 2 * CHUNK_BYTES), 0);
	capacity = array.capacity;
	((char *)array.items)[7] = 7;
	assert_int_equal(scratch_array_reserve(&array, 3 * CHUNK_BYTES + 1), -EFBIG);
	assert_int_equal(scratch_array_reserve(&array, SIZE_MAX), -EFBIG);
	assert_int_equal(array.capacity, capacity);
	assert_int_equal(((char *)array.items)[7], 7);
	assert_int_equal(scratch_array_reserve(&array, 3 * CHUNK_BYTES), 0);
	assert_int_equal(fixture.scratch.used_bytes, 4 * CHUNK_BYTES);
	scratch_array_done(&array);
	scratch_array_done(&other);
	scratch_fixture_done(&fixture);
}

/* Growing by half would exceed the limit, but the requested size does not. */
static void the_last_bytes_before_the_limit_are_usable(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array;

	assert_true(scratch_fixture_init(&fixture, 21 * CHUNK_BYTES));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	for (size_t chunks = 1; chunks <= 21; chunks++)
		assert_int_equal(scratch_array_reserve(&array, chunks * CHUNK_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&array, 21 * CHUNK_BYTES + 1), -EFBIG);
	scratch_array_done(&array);
	scratch_fixture_done(&fixture);
}

static void a_file_that_cannot_grow_is_an_error(void **state)
{
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct scratch scratch;
	struct scratch_array array;

	assert_true(fd >= 0);
	scratch_init(&scratch, fd, MIB, 0);
	assert_int_equal(scratch_array_init(&array, &scratch, 1, MIB), 0);
	assert_int_equal(ftruncate(fd, CHUNK_BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(scratch_array_reserve(&array, CHUNK_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&array, CHUNK_BYTES + 1), -EPERM);
	assert_int_equal(array.capacity, CHUNK_BYTES);
	scratch_array_done(&array);
}

static void reserving_too_many_addresses_fails(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array = { .count = 77 };

	assert_true(scratch_fixture_init(&fixture, UINT64_MAX));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), -ENOMEM);
	assert_int_equal(array.count, 77);
	scratch_fixture_done(&fixture);
}

/* Opens a file on a new file system. Returns -1 if mounting fails. */
static int open_on_small_disk(const char *type, const char *options)
{
	char folder[] = "/tmp/scratch_test.XXXXXX";
	int fd = -1;

	if (!mkdtemp(folder))
		return -1;
	if (mount("none", folder, type, MS_NOSUID | MS_NODEV, options) == 0) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/scratch", folder);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		(void)umount2(folder, MNT_DETACH);
	}
	(void)rmdir(folder);
	return fd;
}

static void a_full_disk_is_an_error(void **state)
{
	_cleanup_close_ int fd = open_on_small_disk("tmpfs", "size=256k");
	struct scratch scratch;
	struct scratch_array array;
	int r;

	if (fd < 0) {
		print_message("mounting a small file system takes root\n");
		skip();
	}
	scratch_init(&scratch, fd, 1ULL << 30, 0);
	assert_int_equal(scratch_array_init(&array, &scratch, 1, SIZE_MAX), 0);
	for (r = 0; r == 0;) {
		(void)memset(array.items, 1, array.capacity);
		r = scratch_array_reserve(&array, array.capacity + 1);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(array.capacity, 256 * 1024);
	scratch_array_done(&array);
}

/* ramfs has no fallocate(). */
static void blocks_are_written_where_fallocate_is_missing(void **state)
{
	_cleanup_close_ int fd = open_on_small_disk("ramfs", NULL);
	struct scratch scratch;
	struct scratch_array array;
	struct stat status;

	if (fd < 0) {
		print_message("mounting a file system takes root\n");
		skip();
	}
	assert_int_equal(fallocate(fd, 0, 0, 4096), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	scratch_init(&scratch, fd, MIB, 0);
	assert_int_equal(scratch_array_init(&array, &scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_reserve(&array, 3 * CHUNK_BYTES), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 3 * CHUNK_BYTES);
	(void)memset(array.items, 1, array.capacity);
	assert_int_equal(scratch_array_reserve(&array, array.capacity + 1), 0);
	assert_int_equal(((char *)array.items)[3 * CHUNK_BYTES], 0);
	scratch_array_done(&array);
}

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

	scratch_init(&scratch, fd, 1 << 30, 0);
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

	scratch_init(&scratch, fd, 1 << 30, 0);
	assert_int_equal(scratch_array_init(&array, &scratch, sizeof(struct item), 10000), 0);
	fill(&array, 3000, UINT64_MAX);
	assert_int_equal(scratch_sort(&array, keys, 1), 0);
	items = array.items;
	for (size_t i = 1; i < array.count; i++)
		assert_true(items[i - 1].major >= items[i].major);
}

static void sorting_without_room_is_an_error(void **state)
{
	static const scratch_sort_key keys[] = { major_key };
	struct scratch scratch;
	_cleanup_(scratch_array_done) struct scratch_array array = { 0 };
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);

	scratch_init(&scratch, fd, 128 * 1024, 0);
	assert_int_equal(scratch_array_init(&array, &scratch, sizeof(struct item), 10000), 0);
	fill(&array, 5000, UINT64_MAX);
	assert_int_equal(scratch_sort(&array, keys, 1), -EFBIG);
	assert_int_equal(array.count, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_moves_no_item),
		cmocka_unit_test(contents_are_in_the_file),
		cmocka_unit_test(the_first_bytes_are_in_memory),
		cmocka_unit_test(space_of_freed_arrays_still_counts),
		cmocka_unit_test(the_file_is_used_when_memory_is_short),
		cmocka_unit_test(exceeding_a_bound_leaves_the_array_unchanged),
		cmocka_unit_test(the_last_bytes_before_the_limit_are_usable),
		cmocka_unit_test(a_file_that_cannot_grow_is_an_error),
		cmocka_unit_test(reserving_too_many_addresses_fails),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(blocks_are_written_where_fallocate_is_missing),
		cmocka_unit_test(items_are_sorted_by_all_keys_and_stable),
		cmocka_unit_test(keys_may_be_reversed),
		cmocka_unit_test(sorting_without_room_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

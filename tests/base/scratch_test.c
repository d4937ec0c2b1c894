/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MIB = 1 << 20, PIECE_BYTES = 64 * 1024 };

static void items_stay_where_they_are(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;
	const void *place;

	(void)state;
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

	(void)state;
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
	assert_int_equal(fixture->scratch.file_bytes, bytes);
}

static void what_comes_first_is_in_memory(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;
	char read_back;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init_in_memory(&fixture.scratch, fixture.fd, 6 * PIECE_BYTES, 4 * PIECE_BYTES - 1);
	assert_int_equal(scratch_array_init(&first, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&second, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_reserve(&first, 2 * PIECE_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&second, 1), 0);
	assert_file_is(&fixture, 0);
	(void)memset(first.items, 1, 2 * PIECE_BYTES);
	/* It goes on in the file, which has nothing before. */
	assert_int_equal(scratch_array_reserve(&first, 3 * PIECE_BYTES), 0);
	assert_file_is(&fixture, PIECE_BYTES);
	assert_int_equal(((char *)first.items)[2 * PIECE_BYTES - 1], 1);
	assert_int_equal(((char *)first.items)[2 * PIECE_BYTES], 0);
	((char *)first.items)[2 * PIECE_BYTES] = 2;
	assert_int_equal(pread(fixture.fd, &read_back, 1, 0), 1);
	assert_int_equal(read_back, 2);
	/* The limit is of both. */
	assert_int_equal(scratch_array_reserve(&second, 3 * PIECE_BYTES), 0);
	assert_int_equal(fixture.scratch.used_bytes, 6 * PIECE_BYTES);
	assert_int_equal(scratch_array_reserve(&second, 3 * PIECE_BYTES + 1), -EFBIG);
	scratch_array_done(&first);
	scratch_array_done(&second);
	scratch_fixture_done(&fixture);
}

static void memory_of_an_array_that_is_gone_serves_the_next(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array first, second;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init_in_memory(&fixture.scratch, fixture.fd, 5 * PIECE_BYTES, 2 * PIECE_BYTES);
	assert_int_equal(scratch_array_init(&first, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&second, &fixture.scratch, 1, SIZE_MAX), 0);
	/* Of the first what is memory, and not what is in the file. */
	assert_int_equal(scratch_array_reserve(&first, 2 * PIECE_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&first, 3 * PIECE_BYTES), 0);
	assert_file_is(&fixture, PIECE_BYTES);
	assert_int_equal(fixture.scratch.memory_bytes, 0);
	scratch_array_done(&first);
	scratch_array_done(&first);
	assert_int_equal(fixture.scratch.memory_bytes, 2 * PIECE_BYTES);
	assert_int_equal(scratch_array_reserve(&second, 2 * PIECE_BYTES), 0);
	assert_file_is(&fixture, PIECE_BYTES);
	assert_int_equal(((char *)second.items)[2 * PIECE_BYTES - 1], 0);
	/* The limit is of all that there ever was. */
	assert_int_equal(scratch_array_reserve(&second, 3 * PIECE_BYTES), -EFBIG);
	scratch_array_done(&second);
	scratch_fixture_done(&fixture);
}

/* Of private and writable memory, as RLIMIT_DATA counts it. */
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

static void where_there_is_no_memory_the_file_serves(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array;
	struct rlimit before, low;
	int r;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 0));
	scratch_init_in_memory(&fixture.scratch, fixture.fd, MIB, MIB);
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	low = (struct rlimit){ data_bytes() + PIECE_BYTES / 2, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
	r = scratch_array_reserve(&array, 1);
	assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
	assert_int_equal(r, 0);
	assert_file_is(&fixture, PIECE_BYTES);
	((char *)array.items)[PIECE_BYTES - 1] = 1;
	scratch_array_done(&array);
	scratch_fixture_done(&fixture);
}

static void bounds_refuse_and_leave_the_array(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array, other;
	size_t capacity;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 4 * PIECE_BYTES));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_init(&other, &fixture.scratch, 3, 10), 0);
	assert_int_equal(scratch_array_reserve(&other, 11), -EFBIG);
	assert_int_equal(other.capacity, 0);
	assert_int_equal(scratch_array_reserve(&other, 10), 0);
	assert_int_equal(other.capacity, 10);
	assert_int_equal(scratch_array_reserve(&other, 11), -EFBIG);
	assert_int_equal(scratch_array_reserve(&array, 2 * PIECE_BYTES), 0);
	capacity = array.capacity;
	((char *)array.items)[7] = 7;
	assert_int_equal(scratch_array_reserve(&array, 3 * PIECE_BYTES + 1), -EFBIG);
	assert_int_equal(scratch_array_reserve(&array, SIZE_MAX), -EFBIG);
	assert_int_equal(array.capacity, capacity);
	assert_int_equal(((char *)array.items)[7], 7);
	assert_int_equal(scratch_array_reserve(&array, 3 * PIECE_BYTES), 0);
	assert_int_equal(fixture.scratch.used_bytes, 4 * PIECE_BYTES);
	scratch_array_done(&array);
	scratch_array_done(&other);
	scratch_fixture_done(&fixture);
}

/* Growing by half would exceed the limit; what is wanted would not. */
static void the_last_bytes_are_to_be_had(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 21 * PIECE_BYTES));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), 0);
	for (size_t pieces = 1; pieces <= 21; pieces++)
		assert_int_equal(scratch_array_reserve(&array, pieces * PIECE_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&array, 21 * PIECE_BYTES + 1), -EFBIG);
	scratch_array_done(&array);
	scratch_fixture_done(&fixture);
}

static void a_file_that_cannot_grow_is_an_error(void **state)
{
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct scratch scratch;
	struct scratch_array array;

	(void)state;
	assert_true(fd >= 0);
	scratch_init(&scratch, fd, MIB);
	assert_int_equal(scratch_array_init(&array, &scratch, 1, MIB), 0);
	assert_int_equal(ftruncate(fd, PIECE_BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(scratch_array_reserve(&array, PIECE_BYTES), 0);
	assert_int_equal(scratch_array_reserve(&array, PIECE_BYTES + 1), -EPERM);
	assert_int_equal(array.capacity, PIECE_BYTES);
	scratch_array_done(&array);
}

static void no_addresses_are_no_memory(void **state)
{
	struct scratch_fixture fixture;
	struct scratch_array array = { .count = 77 };

	(void)state;
	assert_true(scratch_fixture_init(&fixture, UINT64_MAX));
	assert_int_equal(scratch_array_init(&array, &fixture.scratch, 1, SIZE_MAX), -ENOMEM);
	assert_int_equal(array.count, 77);
	scratch_fixture_done(&fixture);
}

/* A file on a file system of `bytes` bytes; -1: none can be mounted. */
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

static void a_full_disk_is_an_error_and_no_signal(void **state)
{
	_cleanup_close_ int fd = open_on_small_disk("tmpfs", "size=256k");
	struct scratch scratch;
	struct scratch_array array;
	int r;

	(void)state;
	if (fd < 0) {
		print_message("mounting a small file system takes root\n");
		skip();
	}
	scratch_init(&scratch, fd, 1ULL << 30);
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
static void blocks_are_written_where_they_cannot_be_asked_for(void **state)
{
	_cleanup_close_ int fd = open_on_small_disk("ramfs", NULL);
	struct scratch scratch;
	struct scratch_array array;
	struct stat status;

	(void)state;
	if (fd < 0) {
		print_message("mounting a file system takes root\n");
		skip();
	}
	assert_int_equal(fallocate(fd, 0, 0, 4096), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	scratch_init(&scratch, fd, MIB);
	assert_int_equal(scratch_array_init(&array, &scratch, 1, SIZE_MAX), 0);
	assert_int_equal(scratch_array_reserve(&array, 3 * PIECE_BYTES), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 3 * PIECE_BYTES);
	(void)memset(array.items, 1, array.capacity);
	assert_int_equal(scratch_array_reserve(&array, array.capacity + 1), 0);
	assert_int_equal(((char *)array.items)[3 * PIECE_BYTES], 0);
	scratch_array_done(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_stay_where_they_are),
		cmocka_unit_test(contents_are_in_the_file),
		cmocka_unit_test(what_comes_first_is_in_memory),
		cmocka_unit_test(memory_of_an_array_that_is_gone_serves_the_next),
		cmocka_unit_test(where_there_is_no_memory_the_file_serves),
		cmocka_unit_test(bounds_refuse_and_leave_the_array),
		cmocka_unit_test(the_last_bytes_are_to_be_had),
		cmocka_unit_test(a_file_that_cannot_grow_is_an_error),
		cmocka_unit_test(no_addresses_are_no_memory),
		cmocka_unit_test(a_full_disk_is_an_error_and_no_signal),
		cmocka_unit_test(blocks_are_written_where_they_cannot_be_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

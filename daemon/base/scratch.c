/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/scratch.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Mappings begin and end at multiples of this, which is a multiple of every page size. */
enum { CHUNK_BYTES = 64 * 1024 };

/* Sorting looks at this many bits of a key at a time. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
}

void scratch_init(struct scratch *scratch, int fd, uint64_t limit_bytes, uint64_t memory_bytes)
{
	const uint64_t limit_max = INT64_MAX / CHUNK_BYTES * CHUNK_BYTES;

	*scratch = (struct scratch){
		.fd = fd,
		.limit_bytes = limit_bytes < limit_max ? limit_bytes : limit_max,
		.memory_bytes = memory_bytes,
	};
}

int scratch_array_init(
	struct scratch_array *array, struct scratch *scratch, size_t item_bytes, size_t items_max)
{
	void *items;
	size_t bytes;

	assert(item_bytes > 0);
	if (items_max > scratch->limit_bytes / item_bytes)
		items_max = scratch->limit_bytes / item_bytes;
	bytes = round_up(items_max > 0 ? items_max * item_bytes : 1);
	items = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (items == MAP_FAILED)
		return -ENOMEM;
	*array = (struct scratch_array){
		.scratch = scratch,
		.items = items,
		.item_bytes = item_bytes,
		.items_max = items_max,
		.reserved_bytes = bytes,
	};
	return 0;
}

void scratch_array_done(struct scratch_array *array)
{
	if (array->items)
		(void)munmap(array->items, array->reserved_bytes);
	*array = (struct scratch_array){ 0 };
}

/* Allocates blocks on a file system that has no fallocate(). */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	static const char zeros[CHUNK_BYTES];

	while (bytes > 0) {
		size_t size = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
		ssize_t n = pwrite(fd, zeros, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* posix_fallocate() makes system calls that a worker's seccomp filter forbids. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
	int r;

	do
		r = fallocate(fd, 0, (off_t)offset, (off_t)bytes);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	return errno == EOPNOTSUPP ? write_zeros(fd, offset, bytes) : -errno;
}

static int map_file(const struct scratch *scratch, char *place, uint64_t bytes)
{
	int r = allocate(scratch->fd, scratch->used_bytes, bytes);

	if (r < 0)
		return r;
	if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, scratch->fd,
		    (off_t)scratch->used_bytes) == MAP_FAILED)
		return -errno;
	return 0;
}

static int map_more(struct scratch_array *array, uint64_t bytes)
{
	struct scratch *scratch = array->scratch;
	uint64_t used_bytes = scratch->used_bytes + bytes;
	char *place = (char *)array->items + array->mapped_bytes;
	int r;

	if (bytes > scratch->limit_bytes - scratch->used_bytes ||
		bytes > array->reserved_bytes - array->mapped_bytes)
		return -EFBIG;
	/* The reserved range is anonymous. A new mapping of it would evade RLIMIT_DATA. */
	if (used_bytes > scratch->memory_bytes ||
		mprotect(place, bytes, PROT_READ | PROT_WRITE) < 0) {
		r = map_file(scratch, place, bytes);
		if (r < 0)
			return r;
	}
	scratch->used_bytes = used_bytes;
	array->mapped_bytes += bytes;
	array->capacity = array->mapped_bytes / array->item_bytes;
	if (array->capacity > array->items_max)
		array->capacity = array->items_max;
	return 0;
}

uint64_t scratch_array_room(const struct scratch_array *array)
{
	uint64_t ready = array->mapped_bytes - (uint64_t)array->count * array->item_bytes;

	return ready + (array->scratch->limit_bytes - array->scratch->used_bytes);
}

int scratch_array_reserve(struct scratch_array *array, size_t count)
{
	uint64_t needed, generous;
	int r;

	if (count <= array->capacity)
		return 0;
	if (count > array->items_max)
		return -EFBIG;
	needed = round_up((uint64_t)count * array->item_bytes) - array->mapped_bytes;
	generous = round_up(array->mapped_bytes / 2);
	if (generous > array->reserved_bytes - array->mapped_bytes)
		generous = array->reserved_bytes - array->mapped_bytes;
	if (generous > needed) {
		r = map_more(array, generous);
		if (r == 0 || (r != -EFBIG && r != -ENOSPC))
			return r;
	}
	return map_more(array, needed);
}

static const void *get_item(const struct scratch_array *array, size_t index)
{
	return (const uint8_t *)array->items + index * array->item_bytes;
}

/* Sorts the items of `from` by one digit of one key into `to`. */
static void scatter(const struct scratch_array *from, struct scratch_array *to,
	scratch_sort_key key, unsigned int shift)
{
	size_t positions[DIGITS] = { 0 };
	size_t position = 0;

	for (size_t i = 0; i < from->count; i++)
		positions[(key(get_item(from, i)) >> shift) % DIGITS]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = positions[digit];

		positions[digit] = position;
		position += count;
	}
	for (size_t i = 0; i < from->count; i++) {
		const void *item = get_item(from, i);
		size_t digit = (key(item) >> shift) % DIGITS;

		memcpy((uint8_t *)to->items + positions[digit]++ * to->item_bytes, item,
			to->item_bytes);
	}
	to->count = from->count;
}

/* Returns the bits of the key that differ between any two items. */
static uint64_t varying_bits(
	const struct scratch_array *array, scratch_sort_key key, bool *ret_is_sorted)
{
	uint64_t first = key(get_item(array, 0)), last = first, bits = 0;

	*ret_is_sorted = true;
	for (size_t i = 1; i < array->count; i++) {
		uint64_t value = key(get_item(array, i));

		*ret_is_sorted &= last <= value;
		bits |= value ^ first;
		last = value;
	}
	return bits;
}

static void exchange(struct scratch_array *a, struct scratch_array *b)
{
	struct scratch_array other = *a;

	*a = *b;
	*b = other;
}

int scratch_sort(struct scratch_array *array, const scratch_sort_key *keys, size_t key_count)
{
	_cleanup_(scratch_array_done) struct scratch_array other = { 0 };
	int r;

	if (array->count < 2)
		return 0;
	r = scratch_array_init(&other, array->scratch, array->item_bytes, array->items_max);
	if (r == 0)
		r = scratch_array_reserve(&other, array->count);
	if (r < 0)
		return r;
	while (key_count-- > 0) {
		bool is_sorted;
		uint64_t bits = varying_bits(array, keys[key_count], &is_sorted);

		for (unsigned int shift = 0; shift < 64 && !is_sorted; shift += DIGIT_BITS) {
			if ((bits >> shift) % DIGITS == 0)
				continue;
			scatter(array, &other, keys[key_count], shift);
			exchange(array, &other);
		}
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/scratch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Mappings begin and end at multiples of it: of the page size, wherever pages are up to 64 KiB. */
enum { PIECE_BYTES = 64 * 1024 };

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

void scratch_init_in_memory(
	struct scratch *scratch, int fd, uint64_t limit_bytes, uint64_t memory_bytes)
{
	const uint64_t limit_max = INT64_MAX / PIECE_BYTES * PIECE_BYTES;

	*scratch = (struct scratch){
		.fd = fd,
		.limit_bytes = limit_bytes < limit_max ? limit_bytes : limit_max,
		.memory_bytes = memory_bytes,
	};
}

void scratch_init(struct scratch *scratch, int fd, uint64_t limit_bytes)
{
	scratch_init_in_memory(scratch, fd, limit_bytes, 0);
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
	if (array->items) {
		(void)munmap(array->items, array->reserved_bytes);
		array->scratch->memory_bytes += array->memory_bytes;
	}
	*array = (struct scratch_array){ 0 };
}

/* Where fallocate() is not to be had, writing is what gets blocks. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	static const char zeros[PIECE_BYTES];

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

/* Not posix_fallocate(), which asks for more system calls than a worker has. */
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

/* What is reserved is anonymous already. Mapped anew, it would get round RLIMIT_DATA. */
static int map_memory(struct scratch_array *array, char *place, uint64_t bytes)
{
	if (mprotect(place, bytes, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	array->memory_bytes += bytes;
	array->scratch->memory_bytes -= bytes;
	return 0;
}

static int map_file(struct scratch *scratch, char *place, uint64_t bytes)
{
	int r = allocate(scratch->fd, scratch->file_bytes, bytes);

	if (r < 0)
		return r;
	if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, scratch->fd,
		    (off_t)scratch->file_bytes) == MAP_FAILED)
		return -errno;
	scratch->file_bytes += bytes;
	return 0;
}

static int map_more(struct scratch_array *array, uint64_t bytes)
{
	struct scratch *scratch = array->scratch;
	uint64_t left = scratch->limit_bytes - scratch->used_bytes;
	char *place = (char *)array->items + array->mapped_bytes;
	int r;

	if (bytes > left || bytes > array->reserved_bytes - array->mapped_bytes)
		return -EFBIG;
	r = bytes <= scratch->memory_bytes ? map_memory(array, place, bytes) : -ENOMEM;
	if (r < 0)
		r = map_file(scratch, place, bytes);
	if (r < 0)
		return r;
	scratch->used_bytes += bytes;
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
	uint64_t wanted, generous;
	int r;

	if (count <= array->capacity)
		return 0;
	if (count > array->items_max)
		return -EFBIG;
	wanted = round_up((uint64_t)count * array->item_bytes) - array->mapped_bytes;
	generous = round_up(array->mapped_bytes / 2);
	if (generous > array->reserved_bytes - array->mapped_bytes)
		generous = array->reserved_bytes - array->mapped_bytes;
	if (generous > wanted) {
		r = map_more(array, generous);
		if (r == 0 || (r != -EFBIG && r != -ENOSPC))
			return r;
	}
	return map_more(array, wanted);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/known_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <xxhash.h>

/* A power of two, and twice as many as are used. */
enum { SLOTS = 2 * KNOWN_ROWS_MAX };

struct known_rows {
	uint64_t seed, receiver;
	uint32_t day, count;
	uint64_t hashes[SLOTS]; /* open addressing; 0: free */
};
_Static_assert(sizeof(struct known_rows) <= KNOWN_ROWS_BYTES_MAX, "the budget has room");

int known_rows_create(int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("known-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	if (fd < 0 || ftruncate(fd, sizeof(struct known_rows)) < 0 ||
		pwrite(fd, &seed, sizeof(seed), 0) != sizeof(seed) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

uint64_t known_rows_bytes(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_blocks * S_BLKSIZE : 0;
}

int known_rows_map(int fd, struct known_rows **ret_rows)
{
	struct stat status;
	void *rows;

	if (fstat(fd, &status) < 0 || status.st_size != sizeof(struct known_rows))
		return -EBADF;
	rows = mmap(NULL, sizeof(struct known_rows), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	*ret_rows = rows;
	return 0;
}

void known_rows_unmap(struct known_rows *rows)
{
	if (rows)
		(void)munmap(rows, sizeof(*rows));
}

void known_rows_forget(struct known_rows *rows)
{
	memset(rows->hashes, 0, sizeof(rows->hashes));
	rows->count = 0;
}

/* A sender that is killed in between leaves none, which are those of any receiver. */
void known_rows_choose(struct known_rows *rows, const char *url, uint16_t day)
{
	const uint64_t receiver = known_rows_hash(rows, url, strlen(url));

	if (rows->receiver == receiver && rows->day == day)
		return;
	known_rows_forget(rows);
	rows->receiver = receiver;
	rows->day = day;
}

uint64_t known_rows_hash(const struct known_rows *rows, const void *row, size_t bytes)
{
	const uint64_t hash = XXH3_64bits_withSeed(row, bytes, rows->seed);

	return hash ? hash : 1;
}

/* The slot of the hash, or the free one for it. At least half of them are free. */
static size_t find_slot(const struct known_rows *rows, uint64_t hash)
{
	size_t slot = hash % SLOTS;

	for (size_t i = 0; i < SLOTS && rows->hashes[slot] && rows->hashes[slot] != hash; i++)
		slot = (slot + 1) % SLOTS;
	return slot;
}

bool known_rows_has(const struct known_rows *rows, uint64_t hash)
{
	return rows->hashes[find_slot(rows, hash)] == hash;
}

void known_rows_add(struct known_rows *rows, uint64_t hash)
{
	if (known_rows_has(rows, hash))
		return;
	if (rows->count >= KNOWN_ROWS_MAX)
		known_rows_forget(rows);
	rows->hashes[find_slot(rows, hash)] = hash;
	rows->count++;
}

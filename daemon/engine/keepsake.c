/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/keepsake.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* "PLKEEP", and the version of the layout: another one is begun anew. */
#define MAGIC 0x030050454b4c50ULL

struct unsealed {
	struct accounts accounts;
	uint64_t since_ns, lost_since_ns;
	uint64_t service; /* whose since_ns is */
};

struct keepsake {
	uint64_t magic;
	uint64_t bytes; /* of this: accounts may have grown */
	uint8_t boot_id[16];
	uint64_t service, engines, lost_samples;
	uint64_t current; /* the slot that holds; the other one is written to */
	struct unsealed unsealed[2];
};

static int map_file(const char *path, struct keepsake **ret_keepsake)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	void *memory;
	int r;

	if (fd < 0 || ftruncate(fd, sizeof(struct keepsake)) < 0)
		return -errno;
	/* What is a hole is found to have no room when it is written to, by a signal. */
	r = -posix_fallocate(fd, 0, sizeof(struct keepsake));
	if (r < 0)
		return r;
	memory = mmap(NULL, sizeof(struct keepsake), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret_keepsake = memory;
	return 0;
}

static bool is_of_this_boot(const struct keepsake *keepsake, const uint8_t boot_id[16])
{
	return keepsake->magic == MAGIC && keepsake->bytes == sizeof(*keepsake) &&
	       memcmp(keepsake->boot_id, boot_id, sizeof(keepsake->boot_id)) == 0 &&
	       accounts_close(&keepsake->unsealed[keepsake->current % 2].accounts);
}

int keepsake_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct keepsake **ret_keepsake, struct fault *fault)
{
	struct keepsake *keepsake = NULL;
	int r = map_file(path, &keepsake);

	if (r < 0)
		return fault_set(fault, r, "cannot use the file %s: %s", path, strerror(-r));
	if (!is_of_this_boot(keepsake, boot_id)) {
		memset(keepsake, 0, sizeof(*keepsake));
		memcpy(keepsake->boot_id, boot_id, sizeof(keepsake->boot_id));
		keepsake->bytes = sizeof(*keepsake);
		keepsake->magic = MAGIC;
	}
	if (keepsake->service != service) {
		keepsake->service = service;
		keepsake->engines = keepsake->lost_samples = 0;
	}
	*ret_keepsake = keepsake;
	return 0;
}

void keepsake_close(struct keepsake *keepsake)
{
	if (keepsake)
		(void)munmap(keepsake, sizeof(*keepsake));
}

void keepsake_begin(struct keepsake *keepsake, const struct accounts *left_behind,
	struct keepsake_beginning *ret_beginning)
{
	const struct unsealed *unsealed = &keepsake->unsealed[keepsake->current % 2];
	struct accounts lost = unsealed->accounts;
	uint64_t lost_since_ns = unsealed->lost_since_ns;
	uint64_t since_ns = unsealed->service == keepsake->service ? unsealed->since_ns : 0;

	accounts_add(&lost, left_behind);
	for (int path = 0; path < PILOTLIGHT_PATH_COUNT; path++) {
		keepsake->lost_samples += lost.stored[path];
		accounts_move(&lost, path, PILOTLIGHT_DROP_ENGINE, lost.stored[path]);
	}
	/* Counted, whatever becomes of this engine before it tells of its own. */
	keepsake_update(keepsake, &lost, since_ns, lost_since_ns);
	*ret_beginning = (struct keepsake_beginning){
		.engines = ++keepsake->engines,
		.lost = lost,
		.lost_samples = keepsake->lost_samples,
		.since_ns = since_ns,
		.lost_since_ns = lost_since_ns,
	};
}

void keepsake_update(struct keepsake *keepsake, const struct accounts *unsealed, uint64_t since_ns,
	uint64_t lost_since_ns)
{
	uint64_t next = (keepsake->current + 1) % 2;

	keepsake->unsealed[next] = (struct unsealed){
		.accounts = *unsealed,
		.since_ns = since_ns,
		.lost_since_ns = lost_since_ns,
		.service = keepsake->service,
	};
	__atomic_store_n(&keepsake->current, next, __ATOMIC_RELEASE);
}

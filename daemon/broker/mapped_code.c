/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/mapped_code.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* struct procmap_query of <linux/fs.h>, which older headers lack (Linux 6.11). */
struct mapping_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t address;
	uint64_t start, end;
	uint64_t flags;
	uint64_t page_size, offset, inode;
	uint32_t device_major, device_minor;
	uint32_t name_size, build_id_size;
	uint64_t name_address, build_id_address;
};
#define MAPPING_QUERY	   _IOWR('f', 17, struct mapping_query)
#define MAPPING_EXECUTABLE 0x4

_Static_assert(sizeof(struct mapping_query) == 104, "as the kernel has it");

int mapped_code_check(int process_fd, uint64_t start, uint64_t end)
{
	_cleanup_close_ int fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct mapping_query query = { .size = sizeof(query), .address = start };

	/* Opening the mapping reports any other error. */
	if (fd < 0)
		return 0;
	if (ioctl(fd, MAPPING_QUERY, &query) < 0)
		return errno == ENOENT ? -ENOENT : 0;
	if (query.start != start || query.end != end)
		return -ENOENT;
	return query.flags & MAPPING_EXECUTABLE ? 0 : -EINVAL;
}

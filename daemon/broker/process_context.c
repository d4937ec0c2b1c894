/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/process_context.h"

#include "base/cleanup.h"
#include "base/line_reader.h"
#include "broker/process_user.h"
#include "pilotlight/process_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LINE_BYTES_MAX = 4096, /* of a mapping with one of the names; longer ones are skipped */
	MAPS_BYTES_MAX = 16 << 20,
	TRIES = 3,
	MAPPINGS_MAX = 4, /* with one of the names: a process maps what others pass to it, too */
};

struct found_mapping {
	uint64_t address;
	char file[64]; /* of the mapping, below /proc/PID; "": its memory is the process's own */
};

/*
 * Returns what the line says behind its five fields, all of it: the kernel does not escape spaces
 * in the path of a file, which could otherwise end like the name of memory.
 */
static const char *name_in(const char *line, size_t size, size_t *ret_size)
{
	const char *at = line, *end = line + size;

	for (int field = 0; field < 5; field++) {
		while (at < end && *at != ' ')
			at++;
		while (at < end && *at == ' ')
			at++;
	}
	*ret_size = (size_t)(end - at);
	return at;
}

static bool take_line(const char *line, size_t size, struct found_mapping *found)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "/memfd:OTEL_CTX (deleted)",
		"[anon:OTEL_CTX]", "[anon_shmem:OTEL_CTX]" };
	size_t name_size, i = 0;
	const char *name = name_in(line, size, &name_size);
	char *end;

	while (i < 4 && (strlen(names[i]) != name_size || memcmp(name, names[i], name_size) != 0))
		i++;
	if (i == 4)
		return false;
	/* The kernel writes "START-END " first. */
	*found = (struct found_mapping){ .address = strtoull(line, &end, 16) };
	if (*name == '/')
		(void)snprintf(found->file, sizeof(found->file), "map_files/%.*s",
			(int)strcspn(line, " "), line);
	return true;
}

/*
 * Programs map memory files that others pass to them. Who made the file writes the header, and
 * could have any memory of the process copied, so it must be the process's user, or root. A file
 * system in user space says of its files what it likes, so the file must be the kernel's, like
 * `own_fd`.
 */
static int check_owner(int process_fd, const char *file, int own_fd)
{
	struct stat status, own;
	uid_t user;
	int r = process_user_read(process_fd, &user);

	if (r < 0)
		return r;
	if (fstatat(process_fd, file, &status, 0) < 0 || fstat(own_fd, &own) < 0)
		return -errno;
	return status.st_dev == own.st_dev && (status.st_uid == user || status.st_uid == 0)
		       ? 0
		       : -EPERM;
}

static int read_whole(int memory_fd, uint64_t address, void *bytes, size_t size)
{
	ssize_t n = -1;

	/* No memory of a process is beyond. */
	errno = EFAULT;
	if (address <= INT64_MAX - size)
		n = pread(memory_fd, bytes, size, (off_t)address);
	if (n < 0)
		return errno == EIO ? -EFAULT : -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}

static bool is_context(const struct pilotlight_process_context *header)
{
	return memcmp(header->signature, PILOTLIGHT_PROCESS_CONTEXT_SIGNATURE,
		       sizeof(header->signature)) == 0 &&
	       header->version == PILOTLIGHT_PROCESS_CONTEXT_VERSION && header->payload_bytes > 0 &&
	       header->payload_bytes <= PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX;
}

/* Returns -EAGAIN if the process writes it meanwhile. */
static int read_once(int memory_fd, uint64_t address, char *payload, size_t *ret_size)
{
	struct pilotlight_process_context before, after;
	int r = read_whole(memory_fd, address, &before, sizeof(before));

	if (r < 0)
		return r;
	if (before.published_ns == 0)
		return -EAGAIN;
	if (!is_context(&before))
		return -ENOEXEC;
	r = read_whole(memory_fd, before.payload, payload, before.payload_bytes);
	if (r == 0 || r == -EFAULT) {
		int again = read_whole(memory_fd, address, &after, sizeof(after));

		if (again < 0)
			return again;
		/* Then the payload that was told may be gone, too. */
		if (memcmp(&before, &after, sizeof(before)) != 0)
			return -EAGAIN;
	}
	if (r == 0)
		*ret_size = before.payload_bytes;
	return r;
}

/* What a copy needs, and its payload. */
struct copying {
	int process_fd, memory_fd, copy_fd;
	char *payload;
	size_t size;
};

static int read_mapping(struct copying *copying, const struct found_mapping *found)
{
	int r = found->file[0] ? check_owner(copying->process_fd, found->file, copying->copy_fd)
			       : 0;

	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = read_once(copying->memory_fd, found->address, copying->payload, &copying->size);
	return r;
}

/* Reads the first mapping with a name and a header that are right. */
static int read_mappings(struct copying *copying, int maps_fd)
{
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	int r = line_reader_init(&reader, maps_fd, LINE_BYTES_MAX, MAPS_BYTES_MAX);
	int result = -ENOENT, tried = 0;
	struct found_mapping found;
	const char *line;
	size_t size;

	if (r < 0)
		return r;
	while (tried < MAPPINGS_MAX && (r = line_reader_next(&reader, &line, &size)) == 1) {
		if (!take_line(line, size, &found))
			continue;
		result = read_mapping(copying, &found);
		if (result != -EPERM && result != -ENOEXEC)
			return result;
		tried++;
	}
	return r < 0 ? r : result;
}

int process_context_copy(int process_fd, int *ret_fd)
{
	_cleanup_free_ char *payload = malloc(PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX);
	_cleanup_close_ int maps_fd = -1, memory_fd = -1, copy_fd = -1;
	struct copying copying = { .process_fd = process_fd, .payload = payload };
	int r;

	if (!payload)
		return -ENOMEM;
	maps_fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (maps_fd < 0)
		return -errno;
	memory_fd = openat(process_fd, "mem", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (memory_fd < 0)
		return -errno;
	copy_fd = memfd_create("process context", MFD_CLOEXEC);
	if (copy_fd < 0)
		return -errno;
	copying.memory_fd = memory_fd;
	copying.copy_fd = copy_fd;
	r = read_mappings(&copying, maps_fd);
	if (r == 0 && write(copy_fd, payload, copying.size) != (ssize_t)copying.size)
		r = -EIO;
	if (r == 0)
		*ret_fd = TAKE_FD(copy_fd);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum { NAME_BYTES = 32 };

struct offered_stream {
	uint32_t cpu;
	char name[NAME_BYTES]; /* "": not created yet */
	int fd;		       /* -1: a FIFO without a reader */
	char *bytes;
	size_t begin, end; /* the part of `bytes` that is not written yet */
	bool is_blocked;   /* its reader took no more at the last attempt */
	uint64_t overrun_bytes;
};

struct kmemtrace_folder {
	int fd;
	bool is_files;
	size_t count;
	struct offered_stream *streams; /* by ascending CPU */
};

/* --- creation --------------------------------------------------------------------------------- */

static int lock_folder(struct kmemtrace_folder *folder, const char *path, struct fault *fault)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fault_set(
			fault, -errno, "cannot create the folder '%s': %s", path, strerror(errno));
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0)
		return fault_set(
			fault, -errno, "cannot open the folder '%s': %s", path, strerror(errno));
	if (flock(folder->fd, LOCK_EX | LOCK_NB) < 0)
		return fault_set(fault, errno == EWOULDBLOCK ? -EBUSY : -errno,
			"another trace uses the folder '%s': choose another --root", path);
	return 0;
}

/* A stream of an earlier trace goes; anything else of that name is not ours to remove. */
static int remove_old(const struct kmemtrace_folder *folder, const char *name)
{
	struct stat status;

	if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if ((status.st_mode & S_IFMT) != (folder->is_files ? S_IFREG : S_IFIFO))
		return -EEXIST;
	return unlinkat(folder->fd, name, 0) < 0 ? -errno : 0;
}

static int create_stream(
	struct kmemtrace_folder *folder, struct offered_stream *stream, struct fault *fault)
{
	int r;

	(void)snprintf(stream->name, sizeof(stream->name), folder->is_files ? "cpu%u.out" : "cpu%u",
		stream->cpu);
	stream->bytes = malloc(KMEMTRACE_STREAM_BYTES);
	if (!stream->bytes)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = remove_old(folder, stream->name);
	if (r == 0 && folder->is_files) {
		stream->fd = openat(
			folder->fd, stream->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
		r = stream->fd < 0 ? -errno : 0;
	} else if (r == 0) {
		r = mkfifoat(folder->fd, stream->name, 0400) < 0 ? -errno : 0;
	}
	return r < 0 ? fault_set(fault, r, "cannot create '%s' in the folder of the trace: %s",
			       stream->name, strerror(-r))
		     : 0;
}

int kmemtrace_folder_new(const char *path, bool is_files, const uint32_t *cpus, size_t count,
	struct kmemtrace_folder **ret_folder, struct fault *fault)
{
	_cleanup_(kmemtrace_folder_freep) struct kmemtrace_folder *folder =
		calloc(1, sizeof(*folder));
	int r;

	if (!folder)
		return fault_set(fault, -ENOMEM, "out of memory");
	folder->fd = -1;
	folder->is_files = is_files;
	folder->streams = calloc(count, sizeof(*folder->streams));
	if (!folder->streams)
		return fault_set(fault, -ENOMEM, "out of memory");
	folder->count = count;
	for (size_t i = 0; i < count; i++) {
		folder->streams[i].cpu = cpus[i];
		folder->streams[i].fd = -1;
	}
	r = lock_folder(folder, path, fault);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = create_stream(folder, &folder->streams[i], fault);
	if (r < 0)
		return r;
	*ret_folder = TAKE_PTR(folder);
	return 0;
}

void kmemtrace_folder_free(struct kmemtrace_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; folder->streams && i < folder->count; i++) {
		struct offered_stream *stream = &folder->streams[i];

		if (stream->fd >= 0)
			(void)close(stream->fd);
		if (folder->fd >= 0 && stream->name[0] && !folder->is_files)
			(void)remove_old(folder, stream->name);
		free(stream->bytes);
	}
	free(folder->streams);
	if (folder->fd >= 0)
		(void)close(folder->fd);
	free(folder);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void drop_all(struct offered_stream *stream)
{
	stream->overrun_bytes += stream->end - stream->begin;
	stream->begin = stream->end = 0;
}

/* The reader has gone. What it left in the FIFO is lost: it may begin within an event. */
static void lose_reader(struct offered_stream *stream)
{
	int unread_bytes = 0;

	if (ioctl(stream->fd, FIONREAD, &unread_bytes) == 0)
		stream->overrun_bytes += (uint64_t)unread_bytes;
	(void)close(TAKE_FD(stream->fd));
	drop_all(stream);
}

/* Even if there is nothing to write: the next reader must not get what this one left. */
static bool has_lost_reader(const struct offered_stream *stream)
{
	struct pollfd poll_fd = { .fd = stream->fd };

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLERR;
}

/* Without a reader a FIFO cannot be opened, which is no error. */
static void find_reader(const struct kmemtrace_folder *folder, struct offered_stream *stream)
{
	if (folder->is_files)
		return;
	if (stream->fd >= 0 && has_lost_reader(stream))
		lose_reader(stream);
	if (stream->fd >= 0)
		return;
	stream->fd =
		openat(folder->fd, stream->name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* A larger pipe wakes us less often; it works without. */
	if (stream->fd >= 0)
		(void)fcntl(stream->fd, F_SETPIPE_SZ, KMEMTRACE_PIPE_BYTES);
}

static int flush(struct offered_stream *stream)
{
	while (stream->fd >= 0 && stream->begin < stream->end) {
		ssize_t n = write(
			stream->fd, stream->bytes + stream->begin, stream->end - stream->begin);

		if (n >= 0) {
			stream->begin += (size_t)n;
			continue;
		}
		if (errno == EAGAIN) {
			stream->is_blocked = true;
			return 0;
		}
		if (errno == EPIPE)
			lose_reader(stream);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* The stream of a CPU that has one. Mostly CPUs are numbered without gaps. */
static struct offered_stream *find_stream(struct kmemtrace_folder *folder, uint32_t cpu)
{
	size_t i = cpu < folder->count ? cpu : folder->count - 1;

	while (folder->streams[i].cpu > cpu)
		i--;
	return &folder->streams[i];
}

void kmemtrace_folder_append(
	struct kmemtrace_folder *folder, uint32_t cpu, const void *bytes, size_t size)
{
	struct offered_stream *stream = find_stream(folder, cpu);

	/* kmemtrace_folder_flush() reports an error and looks for readers. */
	if (size > KMEMTRACE_STREAM_BYTES - stream->end && stream->fd >= 0 && !stream->is_blocked)
		(void)flush(stream);
	if (size > KMEMTRACE_STREAM_BYTES - stream->end && stream->begin > 0) {
		memmove(stream->bytes, stream->bytes + stream->begin, stream->end - stream->begin);
		stream->end -= stream->begin;
		stream->begin = 0;
	}
	if (size > KMEMTRACE_STREAM_BYTES - stream->end) {
		stream->overrun_bytes += size;
		return;
	}
	memcpy(stream->bytes + stream->end, bytes, size);
	stream->end += size;
}

int kmemtrace_folder_flush(struct kmemtrace_folder *folder, struct fault *fault)
{
	for (size_t i = 0; i < folder->count; i++) {
		struct offered_stream *stream = &folder->streams[i];
		int r;

		stream->is_blocked = false;
		find_reader(folder, stream);
		r = flush(stream);
		if (r < 0)
			return fault_set(
				fault, r, "cannot write '%s': %s", stream->name, strerror(-r));
	}
	return 0;
}

bool kmemtrace_folder_is_flushed(const struct kmemtrace_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		if (folder->streams[i].fd >= 0 && folder->streams[i].begin < folder->streams[i].end)
			return false;
	return true;
}

void kmemtrace_folder_polls(const struct kmemtrace_folder *folder, struct pollfd *polls)
{
	for (size_t i = 0; i < folder->count; i++) {
		const struct offered_stream *stream = &folder->streams[i];

		polls[i] = (struct pollfd){
			.fd = stream->begin < stream->end ? stream->fd : -1,
			.events = POLLOUT,
		};
	}
}

void kmemtrace_folder_end(struct kmemtrace_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		drop_all(&folder->streams[i]);
}

uint64_t kmemtrace_folder_overrun_bytes(const struct kmemtrace_folder *folder)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < folder->count; i++)
		bytes += folder->streams[i].overrun_bytes;
	return bytes;
}

int kmemtrace_folder_put(
	struct kmemtrace_folder *folder, const char *name, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;
	char part[NAME_BYTES];
	ssize_t n;

	(void)snprintf(part, sizeof(part), ".%s", name);
	if (unlinkat(folder->fd, part, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	while (size > 0) {
		n = write(fd, bytes, size);
		if (n < 0)
			return -errno;
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
	return renameat(folder->fd, part, folder->fd, name) < 0 ? -errno : 0;
}

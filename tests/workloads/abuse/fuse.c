/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file system in user space that answers when it likes, by the kernel's protocol alone. */
#include "abuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { REQUEST_BYTES = 256 << 10, FILE_BYTES = 1 << 20, POLL_MS = 100 };

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abuse_skip("this user may not map IDs into a user namespace");
	(void)close(fd);
}

void namespace_enter(int flags)
{
	unsigned user = geteuid(), group = getegid();
	char text[32];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | flags) < 0)
		abuse_skip("user namespaces are not permitted");
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(text, sizeof(text), "0 %u 1", user);
	write_file("/proc/self/uid_map", text);
	(void)snprintf(text, sizeof(text), "0 %u 1", group);
	write_file("/proc/self/gid_map", text);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		abuse_skip("mounts cannot be made private");
}

int fuse_mount(const char *path)
{
	const char *device = getenv("ABUSE_FUSE");
	int fd = open(device ? device : "/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (fd < 0)
		abuse_skip("this user may not open /dev/fuse");
	(void)snprintf(options, sizeof(options),
		"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("abuse", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		abuse_skip("FUSE cannot be mounted in a user namespace");
	return fd;
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t size)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique
	};
	struct iovec parts[] = { { &header, sizeof(header) }, { (void *)body, size } };

	(void)writev(fd, parts, size ? 2 : 1);
}

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FUSE_ROOT_ID ? 0 : FILE_BYTES,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 01777 : S_IFREG | 0755,
		.nlink = 1,
	};
}

static void answer_request(int fd, const struct fuse_in_header *request)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096
	};
	struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = 1000, .attr = attributes_of(2) };
	struct fuse_attr_out attributes = { .attr_valid = 1000,
		.attr = attributes_of(request->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };

	switch (request->opcode) {
	case FUSE_INIT:
		answer(fd, request->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(fd, request->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(fd, request->unique, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		answer(fd, request->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
		break;
	default:
		answer(fd, request->unique, ENOSYS, NULL, 0);
	}
}

/* Answers what is pending, after `wait_ms` at most. */
static void serve(int fd, int wait_ms, bool is_mute)
{
	static uint8_t bytes[REQUEST_BYTES] __attribute__((aligned(8)));
	const struct fuse_in_header *request = (const void *)bytes;
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (poll(&ready, 1, wait_ms) > 0 && read(fd, bytes, sizeof(bytes)) > 0) {
		if (!is_mute || request->opcode == FUSE_INIT)
			answer_request(fd, request);
		wait_ms = 0;
	}
}

void fuse_serve(struct abuse *abuse, int fd)
{
	while (abuse_goes_on(abuse))
		serve(fd, POLL_MS, false);
}

void fuse_swallow(int fd)
{
	serve(fd, 0, true);
}

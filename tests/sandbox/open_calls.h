/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on files, memory and sockets, with which a process of its own tests a filter. Each function
 * returns -1 and errno, or anything else.
 */
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

/* The open descriptors of a trial: a folder, a file in it, a socket pair, a listening socket. */
static int folder_fd, file_fd, sockets[2], listen_fd;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_bytes;

static long open_to_write(void)
{
	return openat(folder_fd, "new", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static long open_to_read(void)
{
	return openat(folder_fd, "file", O_RDONLY | O_CLOEXEC);
}

static long open_to_append(void)
{
	return openat(folder_fd, "file", O_WRONLY | O_APPEND | O_CLOEXEC);
}

static long open_and_empty(void)
{
	return openat(folder_fd, "file", O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static long open_unnamed(void)
{
	return openat(folder_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

/* As the symbol cache commits a file. */
static long publish(void)
{
	char path[64];
	int fd = openat(folder_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, folder_fd, "published", AT_SYMLINK_FOLLOW) < 0)
		return -1;
	return renameat(folder_fd, "published", folder_fd, "renamed");
}

static long make_folder(void)
{
	return mkdirat(folder_fd, "folder", 0700) < 0 ? -1
						      : unlinkat(folder_fd, "folder", AT_REMOVEDIR);
}

static long remove_file(void)
{
	return unlinkat(folder_fd, "victim", 0);
}

static long list_folder(void)
{
	char entries[1024];
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

static long ask_of_files(void)
{
	struct stat status;
	struct statfs space;
	char path[256];

	if (fstatat(folder_fd, "file", &status, 0) < 0 || fstatfs(folder_fd, &space) < 0)
		return -1;
	if (stat("/", &status) < 0 || access("/", R_OK) < 0 || !getcwd(path, sizeof(path)))
		return -1;
	return readlink("/proc/self/fd/0", path, sizeof(path));
}

static long lock_as_sqlite(void)
{
	struct flock range = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 1
	};

	if (fcntl(file_fd, F_SETLK, &range) < 0 || fcntl(file_fd, F_GETLK, &range) < 0)
		return -1;
	return flock(file_fd, LOCK_EX | LOCK_NB);
}

static long write_and_sync(void)
{
	if (pwrite(file_fd, "data", 4, 0) != 4 || fsync(file_fd) < 0 || fdatasync(file_fd) < 0)
		return -1;
	return ftruncate(file_fd, 4096);
}

/* By its name, which Landlock says nothing of before its third version. */
static long cut_by_name(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	return truncate(path, 4096);
}

static long change_mode(void)
{
	return fchmod(file_fd, 0600);
}

static long lend_rights(void)
{
	return fchmod(file_fd, 04700);
}

static long lend_rights_of_group(void)
{
	return fchmod(file_fd, 02700);
}

static long let_others_write(void)
{
	return fchmod(file_fd, 0602);
}

static long let_the_group_write(void)
{
	return fchmod(file_fd, 0620);
}

static long make_with_lent_rights(void)
{
	return openat(folder_fd, "new", O_RDWR | O_CREAT | O_CLOEXEC, 04700);
}

static long make_unnamed_with_lent_rights(void)
{
	return openat(folder_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 02700);
}

/* The mode is of no file: whatever a library has left in the register. */
static long open_with_any_mode(void)
{
	return syscall(SYS_openat, folder_fd, "file", O_RDONLY | O_CLOEXEC, 06777);
}

static long change_owner(void)
{
	return fchown(file_fd, getuid(), getgid());
}

static long map_shared(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);

	return memory == MAP_FAILED ? -1 : munmap(memory, 4096);
}

static long map_anonymous(void)
{
	void *memory =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? -1 : mprotect(memory, 4096, PROT_READ);
}

static long map_code(void)
{
	return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_fd, 0);
}

static long map_writable_code(void)
{
	return (long)mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long turn_into_code(void)
{
	static _Alignas(4096) char page[4096];

	return mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static long turn_into_code_by_key(void)
{
	static _Alignas(4096) char page[4096];

	return syscall(SYS_pkey_mprotect, page, sizeof(page), PROT_READ | PROT_EXEC, -1);
}

static long make_memory_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 || ftruncate(fd, 4096) < 0 ? -1 : fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
}

static long send_descriptor(void)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { "x", 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	char byte;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file_fd, sizeof(file_fd));
	if (sendmsg(sockets[0], &message, MSG_NOSIGNAL) != 1)
		return -1;
	part.iov_base = &byte;
	return recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC);
}

static long use_socket_options(void)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int bytes = 4096;

	if (getsockopt(sockets[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -1;
	return setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* The listening socket does not block, and a connection is waiting. */
static long accept_connection(void)
{
	return accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static long make_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

/* The kernel answers EOPNOTSUPP if the filter allows the call. */
static long make_pair_elsewhere(void)
{
	int pair[2];

	return socketpair(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static long make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_stream_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

static long make_datagram_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair);
}

static long make_datagram_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
}

static long make_socket_of_ipv6(void)
{
	return socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
}

static long make_raw_socket(void)
{
	return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
}

static long make_packet_socket(void)
{
	return socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static long make_echo_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
}

static long make_multipath_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
}

static long bind_socket(void)
{
	return bind(sockets[0], (struct sockaddr *)&address, sizeof(address.sun_family));
}

static long make_local_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static long make_netlink_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static long connect_elsewhere(void)
{
	return connect(sockets[0], (struct sockaddr *)&address, address_bytes);
}

static long connect_pair_elsewhere(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	return connect(pair[0], (struct sockaddr *)&address, address_bytes);
}

static long wait_by_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int event_fd = eventfd(1, EFD_CLOEXEC);

	if (fd < 0 || event_fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, event_fd, &event) < 0)
		return -1;
	return epoll_wait(fd, &event, 1, 0) == 1 ? 0 : -1;
}

static long wait_for_time(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec time = { .it_value = { .tv_nsec = 1 } };
	uint64_t expirations;

	if (fd < 0 || timerfd_settime(fd, 0, &time, NULL) < 0)
		return -1;
	return read(fd, &expirations, sizeof(expirations));
}

static long wait_for_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -1;
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static long poll_once(void)
{
	struct pollfd fd = { .fd = sockets[0], .events = POLLOUT };

	return poll(&fd, 1, 0);
}

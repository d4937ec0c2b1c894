/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process gives up before it touches what strangers have written. There is no way back. Each
 * function is called once, in the order below, by a process of one thread that was started for
 * this; they return 0 or -errno, after which the process must end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* AddressSanitizer and ThreadSanitizer map terabytes and make system calls of their own: a limit
 * on memory is not set there, and the filter lets through what they need. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_HAS_SANITIZER 1
#endif
#endif
#ifndef SANDBOX_HAS_SANITIZER
#define SANDBOX_HAS_SANITIZER 0
#endif

/* What root that may not change its user (without CAP_SETUID and CAP_SETGID) can do. Root of a
 * namespace that has no number for nobody always stays: it is somebody else outside. */
enum sandbox_root {
	SANDBOX_ROOT_STAYS, /* for a process that will open no files */
	SANDBOX_ROOT_FAILS, /* -EPERM: its user and group alone open every file of root's */
};

/*
 * Nobody's user and group and no supplementary ones, where we are root and the user namespace has
 * them; no capabilities, now or ever; no set-user-id programs; no core files; no other process of
 * the user may look into this one. What is left is verified.
 */
int sandbox_drop_privileges(enum sandbox_root root);

/*
 * The same, but as this user with this group, and with no supplementary ones unless it is them
 * already: for a process with files of its own. -EPERM: it is another one and may not change.
 * Root that stays root keeps what its files' modes give it, and nothing else, in programs that it
 * executes too. Other processes of the user may look into such a program until that has called
 * this again.
 */
int sandbox_drop_privileges_to(uid_t user, gid_t group);

/*
 * Of what this process may do (capabilities(7)) these few are left, as far as it has them, and none
 * for a program that it would execute; nor can it have others again. For a process that goes on
 * with a part of its parent's work, as the same user.
 */
int sandbox_keep_capabilities(const int *capabilities, size_t count);

/*
 * This process is killed when its parent ends: the one that made the socketpair whose other end
 * `socket_fd` is. -ESRCH: it has ended already. After the privileges, whose loss undoes it.
 */
int sandbox_die_with_parent(int socket_fd);

/* 0: unlimited, where that means anything. */
struct sandbox_limits {
	uint64_t memory_bytes;	/* private and writable: heap, data, anonymous mappings */
	uint64_t address_bytes; /* all that is mapped */
	uint64_t file_bytes;	/* the length of any file it writes to */
	uint64_t stack_bytes;
	uint64_t cpu_s;
	uint64_t descriptors; /* the greatest number and 1; those that are open stay so */
	bool has_threads;     /* or processes: else there are no new ones */
};
int sandbox_limit(const struct sandbox_limits *limits);

/*
 * From now on: reading, writing and mapping what is open, talking on sockets that are, with what is
 * passed on them (as far as the descriptors' limit lets it), and memory that holds no code. A
 * file's name is answered with EPERM, as libraries may try some; anything else kills (SIGSYS).
 */
int sandbox_forbid_calls(void);

/*
 * The same for a process that needs the network, threads, and files of its own: no programs, no
 * other processes or sessions, no signals to others or limits of theirs, no tracing, no namespaces,
 * no outliving its parent, none of the kernel's more adventurous calls (EPERM).
 */
int sandbox_forbid_programs(void);

/* Folders and what a process may do in them, by Landlock. Nothing can be executed in any. */
struct sandbox_folder {
	const char *path; /* or a file's, which then is read or written itself; NULL: none */
	bool is_written;  /* read, too; files and folders made, written, renamed, linked, removed */
	bool is_listed;	  /* nothing but that: names can be read, files cannot */
};

/*
 * From now on no file can be opened, made or removed but below these folders, whatever the user
 * could. What is open stays as it is; names, modes and owners can be asked for as before. A folder
 * that is not there is passed over, and can then not be made either. Where the kernel can (6.12),
 * signals reach nobody outside, nor do new connections to abstract sockets; the other way about
 * nothing changes, and neither do sockets that are open.
 *
 * After the privileges. Returns 0; -ENOSYS or -EOPNOTSUPP where the kernel has no Landlock (before
 * 5.13, or switched off), or one in which no file can be moved to another folder (before 5.19) and
 * some are written, and nothing has changed; -ENOTDIR is_listed of what is none; or -errno.
 */
int sandbox_confine(const struct sandbox_folder *folders, size_t count);

/*
 * For an engine: reading, writing, locking and mapping what is open, talking on sockets that are,
 * with what is passed on them; files by name, for sandbox_confine() to bound; accepting connections
 * on sockets that listen, and pairs of new local ones; waiting on descriptors and timers; bpf() on
 * maps of which it has descriptors; signals to itself, so that abort() is one.
 *
 * EPERM: files that are set-user-id or set-group-id, and making one that is open writable for its
 * group or others; other sockets, connecting and binding; processes and threads (clone3() ENOSYS,
 * after which libraries try clone()); signals to others; memory that is or becomes code; all else
 * of bpf(); perf_event_open(); prctl() but for names; other ioctl() than FIONREAD and FIONBIO;
 * fcntl() that would send signals; owners, and whatever is not named here.
 *
 * Kills (SIGSYS), as nothing here would ever make it: executing programs, ptrace() and other
 * processes' memory and descriptors, pidfd_*(), io_uring, userfaultfd(), keys, namespaces, mounts,
 * chroot(), open_by_handle_at(), modules, kexec, swap, and calls of another architecture.
 */
int sandbox_forbid_engine(void);

/*
 * For a query: the same without bpf(), connections, new sockets and epoll; files can be opened to
 * be read, and made in memory only (memfd_create()).
 */
int sandbox_forbid_query(void);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions by which a process gives up privileges before it touches untrusted input. None of them
 * can be undone. A process that was started for this purpose calls each at most once, in the order
 * below, while it has one thread. They return 0 or -errno; after an error the process must end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * AddressSanitizer and ThreadSanitizer map terabytes and make system calls of their own. With them
 * no limit on memory is set, and the filter allows the calls that they need.
 */
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

/*
 * What to do for root without CAP_SETUID or CAP_SETGID, which cannot change its user. Root always
 * stays root in a user namespace that does not map the user nobody; outside it is another user.
 */
enum sandbox_root {
	SANDBOX_ROOT_STAYS, /* stay root: for a process that opens no files */
	SANDBOX_ROOT_FAILS, /* fail with -EPERM: the user and group alone can open every file of
			       root */
};

/*
 * Drops all capabilities for good, disables set-user-id programs and core files, and stops other
 * processes of the user from inspecting this one. Root becomes the user and group nobody, without
 * supplementary groups, if the user namespace maps them. The result is verified.
 */
int sandbox_drop_privileges(enum sandbox_root root);

/*
 * The same, but with this user and group, for a process with files of its own. Supplementary groups
 * are dropped unless the process already has that user and group. -EPERM: it has others and may not
 * change.
 *
 * Root that stays root keeps only the access that its files' modes give it, also in programs that
 * it executes. Until such a program calls this function again, other processes of the user may
 * inspect it.
 */
int sandbox_drop_privileges_to(uid_t user, gid_t group);

/*
 * Keeps these capabilities (capabilities(7)), as far as the process has them, and drops all others
 * for good. Programs that it executes get none. For a process that does part of its parent's work
 * as the same user.
 */
int sandbox_keep_capabilities(const int *capabilities, size_t count);

/*
 * Lowers a kept capability, and raises it for the few calls that need it. Both concern the calling
 * thread alone and change only what is effective. Returns 0 or -errno.
 */
int sandbox_lower_capability(int capability);

/* Returns whether it was raised: false if it was up, or is not kept. */
bool sandbox_raise_capability(int capability);

/*
 * Makes the kernel kill this process when its parent ends. The parent must have made the socketpair
 * whose other end is `socket_fd`. -ESRCH: the parent has ended already. Call it after dropping
 * privileges, which undoes it.
 */
int sandbox_die_with_parent(int socket_fd);

/* 0: no limit is set. */
struct sandbox_limits {
	uint64_t memory_bytes;	/* private, writable memory: heap, data, anonymous mappings */
	uint64_t address_bytes; /* all mapped memory */
	uint64_t file_bytes;	/* the length of any file that it writes */
	uint64_t stack_bytes;
	uint64_t cpu_s;
	uint64_t descriptors; /* the highest number plus 1; open descriptors stay open */
	bool has_threads;     /* may start threads and processes */
};
int sandbox_limit(const struct sandbox_limits *limits);

/*
 * Forbids all system calls but a few: reading, writing and mapping open files; sending and
 * receiving, also descriptors, on open sockets; and memory without code. Opening a file by name
 * fails with EPERM, because libraries may try it. All other calls kill (SIGSYS).
 */
int sandbox_forbid_calls(void);

/* A folder and how a process may use it, enforced by Landlock. No file in it can be executed. */
struct sandbox_folder {
	const char *path; /* or a file; NULL: ignored */
	bool is_written;  /* may read, write, create, rename, link and remove files and folders */
	bool is_listed;	  /* may only list names, not read files */
};

/*
 * From now on the process can open, create and remove files only below these folders, whatever its
 * user may do. Open files stay open. Looking up names, modes and owners is not restricted. A
 * missing folder is skipped, and cannot be created later. From Linux 6.12 on, the process also
 * cannot signal processes outside, or connect to abstract sockets outside. The other direction and
 * open sockets are not affected.
 *
 * Call it after dropping privileges. Returns 0; -ENOSYS or -EOPNOTSUPP if the kernel has no
 * Landlock (before 5.13, or disabled), or if a folder is written and Landlock cannot move files
 * between folders (before 5.19), and then nothing has changed; -ENOTDIR is_listed is set for a
 * file; or -errno.
 */
int sandbox_confine(const struct sandbox_folder *folders, size_t count);

/*
 * The filter of an engine. Allowed: reading, writing, locking and mapping open files; sending and
 * receiving, also descriptors, on open sockets; files by name, which sandbox_confine() restricts;
 * accepting connections and making pairs of local sockets; waiting on descriptors and timers; bpf()
 * on maps whose descriptors it has; signals to itself, so that abort() works.
 *
 * EPERM: making set-user-id or set-group-id files, and making an open file writable for its group
 * or others; other sockets, connecting and binding; processes and threads (clone3() fails with
 * ENOSYS, so that libraries try clone()); signals to others; executable memory; all other bpf()
 * commands; perf_event_open(); prctl() except for names; ioctl() except FIONREAD and FIONBIO;
 * fcntl() commands that cause signals; changing owners; and every call that is not named here.
 *
 * Calls that an engine never makes kill it (SIGSYS): executing programs, ptrace() and access to
 * other processes' memory or descriptors, pidfd_*(), io_uring, userfaultfd(), keys, namespaces,
 * mounts, chroot(), open_by_handle_at(), modules, kexec, swap, and calls of another architecture.
 */
int sandbox_forbid_engine(void);

/*
 * The filter of a query: as above without bpf(), connections, new sockets and epoll. Files can be
 * opened only for reading, and created only in memory (memfd_create()).
 */
int sandbox_forbid_query(void);

/*
 * The filter of the broker itself, which keeps its capabilities. Every process that it starts
 * inherits the filter and adds its own, so it allows what any of them needs: programs and
 * libraries, processes but no namespaces, limits of its own, sockets of AF_UNIX, AF_INET and
 * AF_INET6, loading BPF programs but neither pinning nor finding them, and perf events.
 *
 * Calls kill as in an engine, but executing programs, pidfd_open() and pidfd_send_signal() are
 * allowed. What is left fails with EPERM. Also sets no_new_privs.
 */
int sandbox_forbid_broker(void);

/*
 * The filter of the broker's opener (broker/file_opener.h), which keeps capabilities: opening files
 * by name for reading and looking at them; reading and sending on open descriptors; asking the
 * kernel what is mapped at an address; raising and lowering capabilities. All other calls kill
 * (SIGSYS), as do descriptors of files that would be written.
 */
int sandbox_forbid_opener(void);

/*
 * The filter of the process that opens perf events for the broker (capture/perf_event_service.h):
 * perf_event_open(), and receiving and sending on open sockets. All other calls kill (SIGSYS).
 */
int sandbox_forbid_event_service(void);

/*
 * The filter of the process that fetches files from the network. As an engine's, with these
 * differences. Allowed: TCP and UDP sockets of IPv4 and IPv6; connecting them; pairs of stream
 * sockets; threads. EPERM: all other sockets, so none can reach a unix socket; binding, listening
 * and accepting; bpf(), epoll and timers; links; modes and owners. Libraries that it needs must be
 * loaded before, because it can map no code.
 */
int sandbox_forbid_fetcher(void);

/*
 * The filter of the process that sends batches to a receiver: as the fetcher's, but it can neither
 * make, remove nor rename files.
 */
int sandbox_forbid_sender(void);

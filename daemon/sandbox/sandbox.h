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
 * other processes or sessions, no tracing, no namespaces, no outliving its parent, none of the
 * kernel's more adventurous calls (EPERM).
 */
int sandbox_forbid_programs(void);

/* Folders and what a process may do in them, by Landlock. */
struct sandbox_folder {
	const char *path;
	bool is_written; /* files and folders made, written, renamed and removed */
	bool is_listed;	 /* nothing but that: names can be read, files cannot */
};

/*
 * From now on no file can be opened but below these folders, whatever the user could; of those that
 * are not there (NULL, or none at the path) the first may not be made either. Returns 0; -ENOSYS or
 * -EOPNOTSUPP where the kernel has no Landlock (before 5.13), and nothing has changed; or -errno.
 */
int sandbox_confine(const struct sandbox_folder *folders, size_t count);

/*
 * For an engine: what sandbox_forbid_calls() allows; files by name, for sandbox_confine() to bound;
 * maps and BPF maps of which it has descriptors; waiting on descriptors, timers, and accepting
 * connections on sockets that listen. No programs, no processes or threads, no new sockets but
 * pairs, no other processes' memory or signals, no memory that becomes code. Forbidden calls are
 * answered with EPERM, and those that nothing here would ever make kill.
 */
int sandbox_forbid_engine(void);

/* For a query process: the same without BPF, connections and new files but in memory. */
int sandbox_forbid_query(void);

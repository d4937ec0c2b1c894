/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one narrow way to files of other processes and of the kernel. The broker opens and checks; it
 * never reads what it has opened (I6). It lives in the caller's process, or in another one with the
 * privileges that this one lacks (broker_server.h); its callers cannot tell. Each request is a few
 * fixed-size words with at most one path and one name (include/pilotlight/broker_request.h).
 *
 * All functions return 0 and a new O_CLOEXEC, read-only descriptor that the caller owns, or -errno:
 * -ESRCH the process is gone or another one has its pid, -ENOENT no such file, -EACCES or -EPERM a
 * privilege is missing, -EINVAL not a regular file or a request that makes no sense, -ELOOP a path
 * that leads through another process's descriptors, -ENAMETOOLONG a path of 4096 bytes or more, or
 * a name of 256; -ETIMEDOUT a file system has not answered a broker_server, and is better not asked
 * again soon. They do not wait for anything but the file system; but see broker_connect().
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct broker;
struct file_opener_lost;

/* NULL stands for the value in quotes. */
struct broker_options {
	const char *proc_root;	/* "/proc"; another one in tests */
	const char *debug_root; /* "/usr/lib/debug" */
	const char *sys_root;	/* "/sys" */
	/* Of a broker_server's children. */
	const char *program;	   /* "/proc/self/exe"; another one in tests */
	uint64_t child_timeout_ns; /* 0: BROKER_CHILD_TIMEOUT_NS */
	/* 0: a broker_server opens files in its own process; else in another one, which is killed
	 * where a request takes longer (file_opener.h). */
	uint64_t request_timeout_ns;
	/* Of the broker_servers that follow each other with these options; NULL: of each its own.
	 */
	struct file_opener_lost *lost_openers;
};

/* As long as a request may take: a file system that does not answer by then does not answer. */
#define BROKER_REQUEST_TIMEOUT_NS (2 * 1000000000ULL)

/* As long as a child may live, whatever the engine says. */
#define BROKER_CHILD_TIMEOUT_NS (15 * 60 * 1000000000ULL)

/* `options` may be NULL and is copied. Returns 0 or -ENOMEM. */
int broker_new(const struct broker_options *options, struct broker **ret_broker);

/*
 * The broker that a broker_server has at the other end of the SOCK_SEQPACKET socket `fd`, to be
 * asked by one thread. Takes `fd` if it returns 0; or -ENOMEM; -EPROTOTYPE it is another socket;
 * -ENOTSOCK or -EBADF.
 *
 * Then all functions may also return -EPIPE: the other side is gone, and nothing will open any
 * more; -ETIMEDOUT: it has not answered for 5 s, and nothing opens until it does, or is tried again
 * after a minute; -EBADMSG: it and this side do not understand each other; -EMFILE, -ENOMEM,
 * -ENOBUFS: one of the two is out of something.
 */
int broker_connect(int fd, struct broker **ret_broker);

void broker_free(struct broker *broker);
DEFINE_CLEANUP(struct broker, broker_free);

/* What tells a process from a later one with its pid; `start_ns` 0 means that any will do. */
struct broker_process {
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME; compared at the clock tick of /proc/PID/stat, give or
			      take one */
};

/* /proc/PID/maps. Its access is checked at open, so the descriptor may be passed on. */
int broker_open_maps(struct broker *broker, const struct broker_process *process, int *ret_fd);

/*
 * The file behind the mapping [start, end): /proc/PID/map_files/START-END, which finds deleted
 * files and those of other mount namespaces and follows no link that another user could set; where
 * that is not to be had, `path` (absolute, or NULL) below /proc/PID/root. With start and end 0 only
 * there, in the mount namespace and root of a process that need not map the file: an ancestor of
 * one that is gone. Regular files only: mapped as code, which the kernel tells from 6.11 on, else
 * -EINVAL; or such as broker_open_path() opens. The caller must check that it is the file that it
 * expects (its build-id).
 */
int broker_open_mapping(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd);

/*
 * The same for a file that is still being written, the marker of a jitdump, which may be empty as
 * yet; by `path` only one that is named as jitdumps are, jit-NUMBER.dump. Whether it may be
 * believed its owner must tell. -EREMOTE: it is on a file system whose server may not answer.
 */
int broker_open_marker(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd);

/*
 * /tmp/perf-<ns_pid>.map below /proc/PID/root, which may be empty as yet; `ns_pid` is the pid in
 * the process's own namespace. /tmp may be a link inside of that root; -ELOOP where the map is one.
 * Whether it may be believed its owner must tell. -EREMOTE as above.
 */
int broker_open_perf_map(
	struct broker *broker, const struct broker_process *process, uint32_t ns_pid, int *ret_fd);

/*
 * An absolute `path` as the engine itself would see it: for processes that are gone. Regular files
 * only, and of what has been named, here and below, none that might hold a secret: -EACCES where
 * not everybody may read the file and nobody execute it, going by its mode. What its folders forbid
 * does not count.
 */
int broker_open_path(struct broker *broker, const char *path, int *ret_fd);

/*
 * <debug_root>/.build-id/xx/rest.debug. An id whose zeros at the end may be padding or its own is
 * also looked for at the usual lengths of 8, 16 and 20 bytes.
 */
int broker_open_debug_file(struct broker *broker, const struct build_id *id, int *ret_fd);

/*
 * The package of split DWARF that belongs to that debug file or to its binary: beside it, as
 * rest.debug.dwp or rest.dwp.
 */
int broker_open_debug_package(struct broker *broker, const struct build_id *id, int *ret_fd);

/*
 * The debug file that the .gnu_debuglink of the binary at the absolute `binary_path` names, a plain
 * file name: in the binary's folder, in .debug/ there, or in <debug_root>/<folder>. The first that
 * is there and is not the binary itself; whether it belongs to the binary its checksum must tell.
 */
int broker_open_debuglink(
	struct broker *broker, const char *binary_path, const char *name, int *ret_fd);

/*
 * The file that dwz moved common debug information to, as .gnu_debugaltlink tells: by build-id as
 * broker_open_debug_file(), else what follows the last "/.dwz/" of `path` in <debug_root>/.dwz,
 * else an absolute `path`. The caller must check its build-id.
 */
int broker_open_alternate_file(
	struct broker *broker, const char *path, const struct build_id *id, int *ret_fd);

enum broker_kernel_file {
	BROKER_KALLSYMS, /* CAP_SYSLOG, checked at open, decides whether it has addresses */
	BROKER_MODULES,
	BROKER_KERNEL_NOTES, /* /sys/kernel/notes */
};
int broker_open_kernel_file(struct broker *broker, enum broker_kernel_file file, int *ret_fd);

/* /sys/module/NAME/notes/.note.gnu.build-id; a name with anything but [A-Za-z0-9_-] is -EINVAL. */
int broker_open_module_note(struct broker *broker, const char *name, int *ret_fd);

/* The auxiliary files by which a process is known when it was there before us. */
enum broker_process_file {
	BROKER_PROCESS_STAT,
	BROKER_PROCESS_STATUS,
	BROKER_PROCESS_COMM,
	BROKER_PROCESS_TIMENS_OFFSETS, /* -ENOENT: the kernel has no time namespaces */
	BROKER_PROCESS_CGROUP,
};
int broker_open_process_file(struct broker *broker, const struct broker_process *process,
	enum broker_process_file file, int *ret_fd);

/*
 * The file that the process executes, as /proc/PID/exe has it. The descriptor is an O_PATH one: it
 * names the file, and can neither be read nor run. -ENOENT: a thread of the kernel executes none.
 */
int broker_open_executable(
	struct broker *broker, const struct broker_process *process, int *ret_fd);

/*
 * The folder of the cgroup at `path`, from '/' on, in the default hierarchy, to be listed. `mount`
 * is where that is, as a name of fewer than 256 bytes; NULL: /sys/fs/cgroup, or unified/ there
 * beside the hierarchies of v1. -ENOENT: no such cgroup, or no cgroup2 there.
 */
int broker_open_cgroup(struct broker *broker, const char *mount, const char *path, int *ret_fd);

/* Processes of this program that only the broker may start: each for one job, and none of them
 * with a privilege (child/child_process.h). */
enum broker_child {
	BROKER_CHILD_SYMBOL_WORKER, /* symbolize/worker_pool.h */
	BROKER_CHILD_SYMBOL_FETCH,  /* symbolize/debuginfod_fetch.h */
	BROKER_CHILD_ANSWER,	    /* answer/answer.h */
	BROKER_CHILDREN,
};

/* Does it live behind a socket? */
bool broker_is_remote(const struct broker *broker);

/*
 * Of a remote broker: starts such a process, and returns one end of the SOCK_SEQPACKET pair whose
 * other end is the child's one descriptor beside the standard ones (number 3), and a socket that is
 * readable when the child has ended, with one struct pilotlight_child_end, or at its end where the
 * broker is gone. Closing that kills the child; shutting down its writing half (shutdown(2)) does,
 * too, and then its end is told. Its scheduling policy can be told there (enum
 * pilotlight_child_word). -EAGAIN: as many run as may; or what starting failed with.
 */
int broker_start_child(
	struct broker *broker, enum broker_child kind, int *ret_socket_fd, int *ret_end_fd);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker opens files of other processes and of the kernel for a caller that lacks the
 * privilege. It looks at the start of a file, to refuse what is no binary, jitdump or perf map, and
 * parses nothing (I6). It works either in the caller's process or, behind a socket, in a process
 * with the privileges (broker_server.h); the functions are the same. Each request has a few
 * fixed-size fields, with at most one path and one name (include/pilotlight/broker_request.h).
 *
 * All functions return 0 and a new O_CLOEXEC, read-only descriptor that the caller owns, or -errno:
 * -ESRCH the process is gone, or its pid now belongs to another process; -ENOENT there is no such
 * file; -EACCES or -EPERM a privilege is missing; -EINVAL the file is not a regular file, or the
 * request is invalid; -ENOEXEC it does not start as an ELF file, a jitdump or a perf map does, or
 * is a core file; -ELOOP the path leads through another process's descriptors; -ENAMETOOLONG the
 * path has 4096 bytes or more, or the name 256; -ETIMEDOUT a file system did not answer a
 * broker_server in time; do not retry soon. They wait for file systems only, unless the broker is
 * remote: see broker_connect().
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct broker;
struct file_opener_lost;
struct request_rate;

/* A NULL stands for the quoted default, if there is one. */
struct broker_options {
	const char *proc_root;	/* "/proc"; tests set another folder */
	const char *debug_root; /* "/usr/lib/debug" */
	const char *sys_root;	/* "/sys" */
	/* For the children that a broker_server starts. */
	const char *program;	   /* "/proc/self/exe"; tests set another program */
	uint64_t child_timeout_ns; /* 0: BROKER_CHILD_TIMEOUT_NS */
	/* Of the services that start fetchers and senders (child_service.h). NULL: the broker
	 * starts them. */
	const char *fetch_socket, *send_socket;
	/* Of the configuration that senders read, in place of the files'; borrowed. 0: none. */
	int config_fd;
	/*
	 * 0: a broker_server opens files in its own process. Otherwise it opens them in a separate
	 * process, which it kills if a request takes longer than this (file_opener.h).
	 */
	uint64_t request_timeout_ns;
	/*
	 * Files that are opened by name must be reachable and readable for this process's user, as
	 * they are without any privilege. If this is set, or without a separate process, its
	 * privileges count, too.
	 */
	bool opens_closed_folders;
	/* Bounds a broker_server's requests for files of users; NULL: nothing does. */
	struct request_rate *request_rate;
	/* Shared by successive broker_servers; NULL: no server inherits killed openers. */
	struct file_opener_lost *lost_openers;
};

/* After this time the broker treats a file system as hung. */
#define BROKER_REQUEST_TIMEOUT_NS (2 * 1000000000ULL)

/* The longest life of a child, whatever timeout the engine sets. */
#define BROKER_CHILD_TIMEOUT_NS (15 * 60 * 1000000000ULL)

/* Opens files in this process. `options` may be NULL and is copied. Returns 0 or -ENOMEM. */
int broker_new(const struct broker_options *options, struct broker **ret_broker);

/*
 * Connects to the broker_server at the other end of the SOCK_SEQPACKET socket `fd`. Only one thread
 * may use the connection. Takes ownership of `fd` on success. Returns 0; -ENOMEM; -EPROTOTYPE `fd`
 * is another kind of socket; -ENOTSOCK or -EBADF.
 *
 * With a connected broker all functions can also return: -EPIPE the server is gone, for good;
 * -ETIMEDOUT the server did not answer for 5 s; requests then fail at once until it answers, or
 * until a retry after one minute; -EBADMSG the two sides disagree about the protocol; -EMFILE,
 * -ENOMEM, -ENOBUFS one of the two sides ran out of a resource.
 */
int broker_connect(int fd, struct broker **ret_broker);

void broker_free(struct broker *broker);
DEFINE_CLEANUP(struct broker, broker_free);

/* Identifies a process across reuse of its pid. `start_ns` 0 matches any process with that pid. */
struct broker_process {
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME; compared in clock ticks of /proc/PID/stat, give or
			      take one */
};

/*
 * /proc/PID/maps. The kernel checks access when it is opened, so the descriptor may be passed on.
 */
int broker_open_maps(struct broker *broker, const struct broker_process *process, int *ret_fd);

/*
 * The file behind the mapping [start, end): /proc/PID/map_files/START-END. That link also reaches
 * deleted files and files of other mount namespaces, and no user can redirect it. If it is missing
 * or access is denied, the broker opens `path` (absolute, or NULL) below /proc/PID/root instead.
 *
 * With start and end 0 it opens only `path`, in the mount namespace and root of a process that need
 * not map the file, such as an ancestor of a process that is gone.
 *
 * Regular ELF files only. The mapping must be executable, which the kernel reports from 6.11 on
 * (-EINVAL otherwise). A file opened by `path` follows the rules of broker_open_path(). The caller
 * must check that it is the expected file (its build-id).
 */
int broker_open_mapping(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd);

/*
 * The same for the marker of a jitdump: a file that is still being written. It must start as a
 * jitdump does. If it is empty, its name must be a jitdump's, jit-NUMBER.dump: the process's user,
 * who answers for what is written there later, chose that name. By `path` only files with such
 * names are opened.
 *
 * -EPERM unless the file belongs to the process's user, or to root and everyone may read it. The
 * dumps of all users are open by `path` to root's processes outside of user namespaces, which stand
 * in for ended children of other users; the caller must then check the owner before it trusts the
 * file. -EREMOTE: the file is on a file system whose server may not answer, or on an overlayfs that
 * another user namespace may have mounted over one. On an overlayfs a marker is opened by `path`
 * only. -EACCES, whatever else is wrong: this process's user cannot reach the path, so the client
 * learns nothing of folders that are closed to both.
 */
int broker_open_marker(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd);

/*
 * /tmp/perf-<ns_pid>.map below /proc/PID/root, which may still be empty. `ns_pid` is the pid in the
 * process's own namespace. /tmp may be a symlink within that root; -ELOOP if the map itself is one,
 * -EMLINK if it has another name. -EREMOTE as above. -EPERM unless the file belongs to the
 * process's user, or to root and everyone may read it.
 */
int broker_open_perf_map(
	struct broker *broker, const struct broker_process *process, uint32_t ns_pid, int *ret_fd);

/*
 * An absolute `path` as the engine itself would see it, for processes that are gone. Only regular
 * ELF files: -EACCES unless the mode of a file that is opened by name, here or
 * by any other function, lets everyone read it or someone execute it. A broker_server also returns
 * it for binaries and debug files that its user cannot reach or read: opens_closed_folders.
 */
int broker_open_path(struct broker *broker, const char *path, int *ret_fd);

/*
 * <debug_root>/.build-id/xx/rest.debug. Zeros at the end of an id may be padding or part of it, so
 * the usual lengths of 8, 16 and 20 bytes are tried as well.
 */
int broker_open_debug_file(struct broker *broker, const struct build_id *id, int *ret_fd);

/*
 * The split DWARF package (.dwp) of that debug file or of its binary: beside the debug file, as
 * rest.debug.dwp or rest.dwp.
 */
int broker_open_debug_package(struct broker *broker, const struct build_id *id, int *ret_fd);

/*
 * The debug file that the .gnu_debuglink of the binary at the absolute `binary_path` names. `name`
 * is a plain file name. The binary's folder, .debug/ there, and <debug_root>/<folder> are searched;
 * the first file found that is not the binary itself is opened. The caller must check the checksum
 * to know that the file belongs to the binary.
 */
int broker_open_debuglink(
	struct broker *broker, const char *binary_path, const char *name, int *ret_fd);

/*
 * The file to which dwz moved common debug information, as .gnu_debugaltlink names it. It is
 * searched by build-id as in broker_open_debug_file(), then as the part of `path` after the last
 * "/.dwz/" below <debug_root>/.dwz, then at an absolute `path`. The caller must check its build-id.
 */
int broker_open_alternate_file(
	struct broker *broker, const char *path, const struct build_id *id, int *ret_fd);

/*
 * A copy of the payload of the process's context of OpenTelemetry (pilotlight/process_context.h),
 * up to 64 KiB, in a memfd. The process alone tells where it is. -ENOENT: the process publishes
 * none; -EPERM: it is in a file of another user; -ENOEXEC: it is none of the known version;
 * -EAGAIN: it is being written; -EFAULT: the process has no such memory.
 */
int broker_copy_process_context(
	struct broker *broker, const struct broker_process *process, int *ret_fd);

enum broker_kernel_file {
	BROKER_KALLSYMS, /* shows addresses only if the opener has CAP_SYSLOG */
	BROKER_MODULES,
	BROKER_KERNEL_NOTES, /* /sys/kernel/notes */
};
int broker_open_kernel_file(struct broker *broker, enum broker_kernel_file file, int *ret_fd);

/* /sys/module/NAME/notes/.note.gnu.build-id. A name with anything but [A-Za-z0-9_-] is -EINVAL. */
int broker_open_module_note(struct broker *broker, const char *name, int *ret_fd);

/* Files of /proc/PID that describe a process which started before the profiler. */
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
 * The file that the process executes, from /proc/PID/exe. The O_PATH descriptor identifies the
 * file, but can neither be read nor executed. -ENOENT: a kernel thread, which executes no file.
 */
int broker_open_executable(
	struct broker *broker, const struct broker_process *process, int *ret_fd);

/*
 * The folder of the cgroup at `path` (which starts with '/') in the cgroup2 hierarchy, for listing.
 * `mount` is where cgroup2 is mounted, in fewer than 256 bytes; NULL: /sys/fs/cgroup, or
 * /sys/fs/cgroup/unified beside cgroup v1. -ENOENT: no such cgroup, or no cgroup2 there.
 */
int broker_open_cgroup(struct broker *broker, const char *mount, const char *path, int *ret_fd);

/*
 * Child processes of this program that the broker starts. Each does one job without any privilege
 * (child/child_process.h).
 */
enum broker_child {
	BROKER_CHILD_SYMBOL_WORKER, /* symbolize/worker_pool.h */
	BROKER_CHILD_SYMBOL_FETCH,  /* symbolize/debuginfod_fetch.h */
	BROKER_CHILD_ANSWER,	    /* answer/answer.h */
	BROKER_CHILD_SINK_SEND,	    /* send/send_job.h */
	BROKER_CHILDREN,
};

/* Is the broker behind a socket? */
bool broker_is_remote(const struct broker *broker);

/*
 * Starts a child; only with a remote broker. Returns two sockets that the caller owns.
 * `ret_socket_fd` is one end of a SOCK_SEQPACKET pair. The child has the other end as number 3, its
 * only descriptor beside the standard ones. `ret_end_fd` becomes readable when the child has ended:
 * it then holds one struct pilotlight_child_end, or end-of-file if the broker is gone.
 *
 * Closing `ret_end_fd` kills the child. So does shutdown(SHUT_WR), after which the child's end can
 * still be read. A one-byte message there sets the child's scheduling policy (enum
 * pilotlight_child_priority). Returns 0; -EAGAIN as many children run, or services started as many
 * lately, as are allowed; -ENETDOWN children of that kind run in a service, and it does not listen;
 * or -errno of starting it.
 */
int broker_start_child(
	struct broker *broker, enum broker_child kind, int *ret_socket_fd, int *ret_end_fd);

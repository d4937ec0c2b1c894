/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files are a process's own account of its JIT code, and may be believed: what another user
 * could put in their place is not read.
 */
#pragma once

#include "broker/broker.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Is it the path of a mapping that marks a jitdump file: does its last part read jit-DIGITS.dump? A
 * " (deleted)" after it does not matter.
 */
bool jit_file_is_marker(const char *path);

/* The number in a marker's name: who made the file, in its own pid namespace. 0 where there is
 * none. */
uint32_t jit_file_marker_number(const char *path);

/* What tells the process's own files; numbers are of the engine's namespaces but for ns_pid. */
struct jit_process_facts {
	uid_t uid;		     /* effective */
	uint32_t ns_pid;	     /* of the process in its innermost pid namespace */
	int64_t monotonic_offset_ns; /* of its time namespace: its CLOCK_MONOTONIC less ours */
	uint64_t start_ns;	     /* CLOCK_BOOTTIME, rounded down to a tick of the clock */
	uint64_t start_realtime_s;   /* the same moment, since 1970, rounded down */
	uint64_t started_ns;	     /* and CLOCK_MONOTONIC, rounded up: it had started by then */
	pid_t parent;		     /* now; 0: none that is seen */
	char comm[16];		     /* any bytes: the process's own choice */
};

/* Whose the process is now. Returns 0, or as below. */
int jit_file_read_user(struct broker *broker, const struct broker_process *process, uid_t *ret_uid);

/*
 * Returns 0, -ESRCH where it is gone or another one has its pid, -EBADMSG where /proc makes no
 * sense, -ENOMEM, or what the broker did. A kernel without time namespaces has no offset.
 */
int jit_file_read_facts(struct broker *broker, const struct broker_process *process,
	struct jit_process_facts *ret_facts);

enum jit_file_kind { JIT_FILE_JITDUMP, JIT_FILE_PERF_MAP };

/*
 * May the file be believed? A regular file that belongs to the process's user, or to root and may
 * be read by all. A perf map is found by its name alone: it must have no link but that, and must
 * have been written since the process began, to within the clocks' second. Returns 0, -EPERM
 * another's, -ESTALE an earlier process's, -EMLINK more than one link, -EINVAL no regular file, or
 * -errno.
 */
int jit_file_check(int fd, enum jit_file_kind kind, const struct jit_process_facts *facts);

/* The mapping that marks a jitdump file. */
struct jit_marker {
	uint64_t start, end; /* 0: looked for by `path` alone, in a process that need not map it */
	const char *path;
};

/*
 * The jitdump file behind a marker, checked, or /tmp/perf-<ns_pid>.map below the process's root, or
 * where it is gone below that of `parent` (pid 0: none). Either may be empty. Return 0 and a
 * descriptor that the caller owns, or what jit_file_check() or the broker returned: -ENOENT there
 * is none, -ESRCH the process is gone, -EREMOTE it is on a file system whose server may not answer
 * (FUSE, NFS).
 */
int jit_file_open_jitdump(struct broker *broker, const struct broker_process *process,
	const struct jit_marker *marker, const struct jit_process_facts *facts, int *ret_fd);
int jit_file_open_perf_map(struct broker *broker, const struct broker_process *process,
	const struct broker_process *parent, const struct jit_process_facts *facts, int *ret_fd);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the two files in which a process names its generated code: the jitdump file behind a
 * mapping, and the perf map in /tmp. The process's user, root, and nobody else may have written
 * them: another user could plant a file to put wrong names into profiles. So the owner, the mode
 * and the links are checked on the open descriptor, and /proc says which user the process has.
 */
#pragma once

#include "broker/broker.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Does the path of a mapping mark a jitdump file: is its last part jit-DIGITS.dump, perhaps with
 * " (deleted)" after it?
 */
bool jit_file_is_marker(const char *path);

/* The number in a marker's name, a pid in its own namespace; 0 if the path is no marker. */
uint32_t jit_file_marker_number(const char *path);

/* What a file is checked against. Numbers are of the engine's namespaces, except ns_pid. */
struct jit_process_facts {
	uid_t uid;		     /* effective */
	uint32_t ns_pid;	     /* of the process in its innermost pid namespace */
	int64_t monotonic_offset_ns; /* its CLOCK_MONOTONIC minus ours (time namespaces) */
	uint64_t start_ns;	     /* CLOCK_BOOTTIME, rounded down to a tick of the clock */
	uint64_t start_realtime_s;   /* the same moment since 1970, rounded down */
	uint64_t started_ns;	     /* the same moment, CLOCK_MONOTONIC, rounded up */
	pid_t parent;		     /* at present; 0: none that we can see */
	char comm[16];		     /* any bytes */
};

/* The effective user at present. Returns 0, or errors as jit_file_read_facts(). */
int jit_file_read_user(struct broker *broker, const struct broker_process *process, uid_t *ret_uid);

/*
 * Returns 0, -ESRCH if the process is gone or its pid is reused, -EBADMSG if /proc cannot be
 * parsed, -ENOMEM, or the broker's error. The offset is 0 on a kernel without time namespaces.
 */
int jit_file_read_facts(struct broker *broker, const struct broker_process *process,
	struct jit_process_facts *ret_facts);

enum jit_file_kind { JIT_FILE_JITDUMP, JIT_FILE_PERF_MAP };

/*
 * Checks an open file: it must be regular and belong to the process's user, or to root and be
 * readable by all. A perf map is found by its name only, so it must have no second link and must
 * have been written since the process started, to within a second. Returns 0, -EPERM another
 * user's, -ESTALE an earlier process's, -EMLINK more than one link, -EINVAL not regular, or -errno.
 */
int jit_file_check(int fd, enum jit_file_kind kind, const struct jit_process_facts *facts);

/* The mapping that marks a jitdump file. */
struct jit_marker {
	uint64_t start, end; /* 0: looked for by `path` alone, in a process that need not map it */
	const char *path;
};

/*
 * Open and check the jitdump file behind a marker, or /tmp/perf-<ns_pid>.map below the process's
 * root; if the process is gone, below the root of `parent` (pid 0: none). The file may be empty. A
 * file on a file system whose server may not answer (FUSE, NFS; regular_file_check_storage()), or
 * on an unknown one, is never touched. Return 0 and a descriptor that the caller owns, -EREMOTE for
 * such a file, or an error of jit_file_check() or of the broker: -ENOENT no file, -ESRCH the
 * process is gone.
 */
int jit_file_open_jitdump(struct broker *broker, const struct broker_process *process,
	const struct jit_marker *marker, const struct jit_process_facts *facts, int *ret_fd);
int jit_file_open_perf_map(struct broker *broker, const struct broker_process *process,
	const struct broker_process *parent, const struct jit_process_facts *facts, int *ret_fd);

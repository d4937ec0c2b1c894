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

/* What tells the process's own files; numbers are of the engine's namespaces but for ns_pid. */
struct jit_process_facts {
	uid_t uid;		     /* effective */
	uint32_t ns_pid;	     /* of the process in its innermost pid namespace */
	int64_t monotonic_offset_ns; /* of its time namespace */
	uint64_t start_ns;	     /* CLOCK_BOOTTIME */
	uint64_t start_realtime_s;   /* the same moment, since 1970, rounded down */
	char comm[16];
};

/* Returns 0, -ESRCH where it is gone, -EBADMSG where /proc makes no sense, or what the broker did.
 */
int jit_file_read_facts(struct broker *broker, const struct broker_process *process,
	struct jit_process_facts *ret_facts);

enum jit_file_kind { JIT_FILE_JITDUMP, JIT_FILE_PERF_MAP };

/*
 * May the file be believed? A regular file that belongs to the process's user, or to root and may
 * be read by all. A perf map is found by its name alone: it must have one link, and must have been
 * written since the process began. Returns 0, -EPERM another's, -ESTALE an earlier process's,
 * -EMLINK more than one link, -EINVAL no regular file, or -errno.
 */
int jit_file_check(int fd, enum jit_file_kind kind, const struct jit_process_facts *facts);

/*
 * The jitdump file behind the marker mapping [start, end) of a process, checked, or
 * /tmp/perf-<ns_pid>.map below its root, or where it is gone below that of `parent` (pid 0: none).
 * Return 0 and a descriptor that the caller owns, or -errno.
 */
int jit_file_open_jitdump(struct broker *broker, const struct broker_process *process,
	uint64_t start, uint64_t end, const char *path, const struct jit_process_facts *facts,
	int *ret_fd);
int jit_file_open_perf_map(struct broker *broker, const struct broker_process *process,
	const struct broker_process *parent, const struct jit_process_facts *facts, int *ret_fd);

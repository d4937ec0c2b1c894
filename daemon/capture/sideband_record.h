/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses one record of a perf side-band ring. Layouts: perf_event_open(2). */
#pragma once

#include "base/build_id.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sideband_kind {
	SIDEBAND_MAP,  /* an executable mapping */
	SIDEBAND_COMM, /* a thread has a new name */
	SIDEBAND_EXEC, /* a process has a new image, and a new name */
	SIDEBAND_FORK,
	SIDEBAND_EXIT,		/* of one thread */
	SIDEBAND_KERNEL_SYMBOL, /* kernel code was added or removed: a BPF program, a trampoline */
	/*
	 * A new cgroup; Linux 5.7. Not reported before the root first delegates a controller, as
	 * systemd does (seen on 6.1, not on 6.18).
	 */
	SIDEBAND_CGROUP,
	SIDEBAND_LOST,
};

struct sideband_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	enum sideband_kind kind;
	/*
	 * 0 for LOST and for a task outside our pid namespace; -1 for a task that is already gone.
	 */
	pid_t pid, tid;
	pid_t parent; /* FORK, EXIT: the parent process */
	/* MAP: start < end. KERNEL_SYMBOL: the code, which may be empty. */
	uint64_t start, end;
	uint64_t offset; /* MAP: in bytes; for anonymous memory the kernel reports its address */
	uint64_t inode;	 /* 0 if the kernel reported a build-id instead */
	uint32_t device_major, device_minor;
	struct build_id build_id;
	uint64_t lost;	 /* LOST: the number of lost records */
	uint64_t cgroup; /* CGROUP: its inode in the hierarchy of perf_event */
	/* MAP, CGROUP: path; COMM, EXEC: name. Borrowed from the record, NUL-terminated. */
	const char *text;
};

/*
 * Parses the `size` bytes of exactly one record, from its perf_event_header on. It must end with
 * the sample_id_all of PERF_SAMPLE_TID | TIME | CPU: {pid, tid; time; cpu, reserved}. No alignment
 * is needed. Returns 0; -EINVAL the record is inconsistent; -ENOMSG its kind is not used, such as a
 * mapping without PROT_EXEC.
 */
int sideband_record_parse(const void *bytes, size_t size, struct sideband_record *ret_record);

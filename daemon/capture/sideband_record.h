/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One record of a perf side-band ring, checked and in our own terms. Layouts: perf_event_open(2).
 */
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
	SIDEBAND_KERNEL_SYMBOL, /* kernel code has come or gone: a BPF program, a trampoline */
	/*
	 * One has been made; Linux 5.7. Not before the root first hands a controller down (seen on
	 * 6.1 and not on 6.18), as systemd has it do.
	 */
	SIDEBAND_CGROUP,
	SIDEBAND_LOST,
};

struct sideband_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	enum sideband_kind kind;
	/* LOST: 0. 0 too for a task outside of our pid namespace, and -1 for one that is already
	 * gone. */
	pid_t pid, tid;
	pid_t parent; /* FORK, EXIT: the parent process */
	/* MAP; start < end. KERNEL_SYMBOL: of the code, which may be of no length. */
	uint64_t start, end;
	uint64_t offset; /* MAP: in bytes; of anonymous memory the kernel gives its address */
	uint64_t inode;	 /* 0 where the kernel gave a build-id instead */
	uint32_t device_major, device_minor;
	struct build_id build_id;
	uint64_t lost;	 /* LOST: how many records */
	uint64_t cgroup; /* CGROUP: its inode, in the hierarchy that perf_event is on */
	/* MAP, CGROUP: path; COMM, EXEC: name. Borrowed from the record, NUL-terminated. */
	const char *text;
};

/*
 * `size` bytes from the record's perf_event_header on, no more than the record itself, which the
 * sample_id_all of PERF_SAMPLE_TID | TIME | CPU ends with {pid, tid; time; cpu, reserved}. They
 * need no alignment. Returns 0, -EINVAL for a record that lies about itself, -ENOMSG for a kind
 * that is of no interest, as a mapping without PROT_EXEC is.
 */
int sideband_record_parse(const void *bytes, size_t size, struct sideband_record *ret_record);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf events of uprobes: breakpoints in user code, at offsets of a file. A program of type kprobe
 * (SEC("uprobe")) is attached by PERF_EVENT_IOC_SET_BPF, or by bpf_program__attach_perf_event().
 *
 * Nothing here reads the file. A wrong offset damages the code in the processes that get the
 * breakpoint: the kernel only refuses what does not decode as an instruction. So whoever lets an
 * unprivileged process choose offsets bounds the processes.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uprobe_place {
	/* Of a regular file, without ':' and blanks. "/proc/self/fd/3" is an open file;
	 * "/proc/7/map_files/1000-2000" is one that process 7 has mapped. */
	const char *path;
	uint64_t offset;	   /* of the instruction, in the file */
	uint64_t semaphore_offset; /* of a USDT probe's semaphore, in the file; 0: it has none */
	uint64_t cookie; /* of the program, bpf_get_attach_cookie(); uprobe_tree_open() alone has it
			  */
	bool is_return;	 /* hit when the function that begins there returns */
};

/*
 * In all processes that map the file, now or later. Returns 0 with a descriptor that the caller
 * owns, or -errno: -EACCES or -EPERM without CAP_PERFMON, -ENOENT if the kernel has no uprobes
 * (CONFIG_UPROBE_EVENTS) or there is no such file, -EINVAL or -ENOTSUPP if no breakpoint can be at
 * this offset.
 */
int uprobe_event_open(const struct uprobe_place *place, int *ret_fd);

/* The type of such events; or -ENOENT if the kernel has none. */
int uprobe_event_type(void);

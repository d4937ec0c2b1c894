/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the file of a mapping wherever it is still reachable, checks that it is the mapped one, and
 * reads its ELF headers and owner. A value object that owns its descriptor.
 */
#pragma once

#include "base/build_id.h"
#include "broker/broker.h"
#include "process/process_table.h"
#include "symbol/elf_image.h"
#include "symbol/file_owner.h"

#include <stdbool.h>
#include <stdint.h>

/* Where to look for a file: a process's mapping, by range and by path. */
struct binary_whereabouts {
	struct broker_process process;
	uint64_t time_ns;
	uint64_t start, end; /* 0: by path only */
	uint64_t inode;	     /* 0: not known */
	uint32_t device_major, device_minor;
	const char *path; /* borrowed */
	bool is_own;	  /* `process` mapped the file; false: another process did */
};

struct binary_file {
	int fd; /* owned; -1: none */
	struct elf_image image;
	struct file_owner owner;
};

/*
 * Opens the file and reads its headers. The build-id must be `expected`; if that is NULL, the inode
 * must match instead. Returns 0; -ESTALE if it found another file; -EAGAIN if the broker could not
 * look now; or errors of the broker and of elf_image_read().
 */
int binary_file_open(struct broker *broker, const struct process_table *processes,
	const struct binary_whereabouts *where, const struct build_id *expected,
	struct binary_file *ret_file);

/* Closes the descriptor, if any. */
void binary_file_done(struct binary_file *file);

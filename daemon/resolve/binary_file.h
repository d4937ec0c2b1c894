/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind a mapping: opened wherever it can still be reached, checked to be the one that
 * was mapped, and what it says of itself. A value object; it owns its descriptor.
 */
#pragma once

#include "base/build_id.h"
#include "broker/broker.h"
#include "process/process_table.h"
#include "symbol/elf_image.h"
#include "symbol/file_owner.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a file may be found: the mapping of a process, by range and by path. */
struct binary_whereabouts {
	struct broker_process process;
	uint64_t time_ns;
	uint64_t start, end; /* 0: by path only */
	uint64_t inode;	     /* 0: not known */
	uint32_t device_major, device_minor;
	const char *path; /* borrowed */
	bool is_own;	  /* the process has the file mapped; else it is another's */
};

struct binary_file {
	int fd; /* owned; -1: none */
	struct elf_image image;
	struct file_owner owner;
};

/*
 * Opens it and reads its headers. The build-id has to be `expected`; NULL: its inode tells. Returns
 * 0; -ESTALE there is another file; -EAGAIN the broker could not look for it just now; errors of
 * the broker and of elf_image_read().
 */
int binary_file_open(struct broker *broker, const struct process_table *processes,
	const struct binary_whereabouts *where, const struct build_id *expected,
	struct binary_file *ret_file);

/* Closes what is open. */
void binary_file_done(struct binary_file *file);

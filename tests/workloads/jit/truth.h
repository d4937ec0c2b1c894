/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a right profile has to show: for each thing that this process ran, the CPU time it used.
 * One to a process; a child of fork() begins anew.
 */
#pragma once

#include <stdint.h>

enum { TRUTH_NAMES_MAX = 64 };

struct truth {
	const char *path; /* borrowed; NULL: nothing is kept */
	unsigned count;
	struct {
		const char *name; /* borrowed */
		uint64_t cpu_ns;
	} names[TRUTH_NAMES_MAX];
};

/* 0 ns: a name that no sample of this process may have. */
void truth_add(struct truth *truth, const char *name, uint64_t cpu_ns);

/* Appends lines of COMM, NAME and nanoseconds, parted by tabs, to the file, and begins anew. */
void truth_write(struct truth *truth);

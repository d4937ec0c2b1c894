/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The expected profile: the CPU time of each function that this process ran. Each process has its
 * own; a child of fork() starts with an empty one.
 */
#pragma once

#include <stdint.h>

enum { TRUTH_NAMES_MAX = 64 };

struct truth {
	const char *path; /* borrowed; NULL: no truth is kept */
	unsigned count;
	struct {
		const char *name; /* borrowed */
		uint64_t cpu_ns;
	} names[TRUTH_NAMES_MAX];
};

/* 0 ns: no sample of this process may have the name. */
void truth_add(struct truth *truth, const char *name, uint64_t cpu_ns);

/* Appends lines of COMM, NAME and nanoseconds, separated by tabs, to the file and clears the truth.
 */
void truth_write(struct truth *truth);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs of one source of samples. They are loaded, attached and detached together. A
 * source's own file says which they are and what they need of the kernel; all that is the same for
 * every source is here.
 *
 *	1. Before loading: program_list_refuse(), if the kernel lacks something, or
 *	   bpf_program__set_autoload() for each program that this kernel can run.
 *	2. Each time that sampling begins and ends: program_list_start(), program_list_stop().
 *	3. Whenever the costs are read: program_list_add_cost().
 */
#pragma once

#include "base/fault.h"

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

struct listed_program {
	struct bpf_program *program; /* NULL: behind the last one */
	struct bpf_link **link;	     /* NULL there: not attached */
};

enum { PROGRAM_LIST_MAX = 9 };

struct program_list {
	const char *samples; /* for messages: "cannot sample <this>" */
	/* In the order in which they are attached. Those that are not loaded are left out. */
	struct listed_program programs[PROGRAM_LIST_MAX + 1];
	/* A variable of the programs, set to the time at which they begin: what they noted before
	 * an earlier stop means nothing. NULL: they need none. */
	volatile __u64 *since_ns;
};

/* Explains that the kernel lacks `missing`. Returns -EOPNOTSUPP. */
int program_list_refuse(const struct program_list *list, const char *missing, struct fault *fault);

/* Attaches the programs that are not attached yet. Returns 0 or -errno; then none are attached. */
int program_list_start(const struct program_list *list, struct fault *fault);

void program_list_stop(const struct program_list *list);

/* Adds the run time that the kernel has counted. */
void program_list_add_cost(const struct program_list *list, uint64_t *ns);

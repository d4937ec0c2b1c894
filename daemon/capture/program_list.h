/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF programs that a source attaches and detaches together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

struct listed_program {
	struct bpf_program *program;
	struct bpf_link **link;
};

/* Attaches those that are loaded and not attached yet, in their order. Returns 0 or -errno; on
 * failure some may be attached. */
int program_list_attach(const struct listed_program *programs, size_t count);

void program_list_detach(const struct listed_program *programs, size_t count);

/* Adds the run time that the kernel has counted. */
void program_list_add_cost(const struct listed_program *programs, size_t count, uint64_t *ns);

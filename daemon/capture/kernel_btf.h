/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's BTF says of its tracepoints, functions and structures. */
#pragma once

#include <stdbool.h>

struct btf;

/* The number of a tracepoint's arguments, by its typedef btf_trace_NAME, with the one that all
 * have; 0: the kernel has no such tracepoint. */
int kernel_btf_tracepoint_arguments(const struct btf *btf, const char *type_name);

bool kernel_btf_has_member(const struct btf *btf, const char *structure, const char *name);

/* Is the member of this named type? */
bool kernel_btf_has_member_of(
	const struct btf *btf, const char *structure, const char *name, const char *type_name);

bool kernel_btf_has_function(const struct btf *btf, const char *name);

/* Do the kernel's functions have hooks for fentry and fexit programs? */
bool kernel_btf_traces_functions(const struct btf *btf);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses lines of /proc/kallsyms and /proc/modules. Users choose the names of BPF programs (I8). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Both are borrowed from the line and not NUL-terminated. */
struct kallsyms_line {
	uint64_t address;
	char type;	  /* see nm(1) */
	const char *name; /* not empty; no NUL, space or tab */
	size_t name_size;
	const char *module; /* without its brackets; size 0: the kernel itself */
	size_t module_size;
};

/* Parses "ffffffff81000000 T _stext", optionally with "\t[module]". Returns 0 or -EINVAL. */
int kallsyms_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line);

/* Parses the name and address of "ext4 1234 2 jbd2,mbcache, Live 0xffffffffc0000000". Returns 0 or
 * -EINVAL. */
int modules_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc/kallsyms and /proc/modules. The names of BPF programs are chosen by users (I8). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Both are borrowed from the line and not NUL-terminated. */
struct kallsyms_line {
	uint64_t address;
	char type;	  /* as nm(1) has it */
	const char *name; /* not empty; no NUL, space or tab */
	size_t name_size;
	const char *module; /* without its brackets; size 0: the kernel itself */
	size_t module_size;
};

/* "ffffffff81000000 T _stext", perhaps with "\t[module]". Returns 0 or -EINVAL. */
int kallsyms_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line);

/* "ext4 1234 2 jbd2,mbcache, Live 0xffffffffc0000000": name and address. Returns 0 or -EINVAL. */
int modules_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line);

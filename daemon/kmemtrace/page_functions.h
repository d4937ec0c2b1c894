/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the page allocator's functions are. Its tracepoints do not tell who called it, so the
 * tracer looks for the first return address in the stack that is in none of them.
 */
#pragma once

#include <stdint.h>

enum { PAGE_FUNCTIONS_MAX = 32 };

struct page_function {
	uint64_t begin, bytes;
};

/*
 * Finds them in the file `path`, which is /proc/kallsyms or like it: sorted by address. Returns how
 * many, or -errno. It is 0 if the kernel hides its addresses.
 */
int page_functions_read(const char *path, struct page_function functions[PAGE_FUNCTIONS_MAX]);

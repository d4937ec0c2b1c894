/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that tests of V8 read, a child's or made-up, and the search for optimized code in it,
 * as the sampler makes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_v8_code.bpf.h"

static pid_t child;
/* In place of the child's memory, if there are any. */
static struct {
	uint8_t *bytes;
	size_t size, copies, page_copies;
} planted;
enum { PLANTED_AT = 0x10000 };

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)address, size };
	size_t at = (size_t)(address - PLANTED_AT);

	if (!planted.bytes)
		return process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)size;
	if (at >= planted.size || size > planted.size - at)
		return 0;
	memcpy(bytes, planted.bytes + at, size);
	planted.copies++;
	planted.page_copies += size == V8_PAGE_BYTES;
	return 1;
}

/* What the function of the frame with this frame pointer shares with others; 0: there is none. */
static inline __u64 find_shared(
	struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime, uint64_t fp)
{
	return v8_read_frame(v8, runtime, fp) ? v8_shared_of(v8, runtime, v8->function) : 0;
}

/* Is `ip` in optimized code? */
static inline bool is_optimized(struct runtime_v8 *v8, const struct pilotlight_runtime_v8 *runtime,
	uint64_t ip, struct runtime_step *step)
{
	static __u64 page[V8_PAGE_WORDS];

	v8_begin_search(v8, runtime, ip);
	for (size_t i = 0; i < V8_SAMPLE_STEPS_MAX && ip - v8->search < V8_CODE_BYTES_MAX &&
			   v8_copy_page(v8, page);
		i++) {
		__u64 code = v8_search_page(v8, runtime, page);
		enum v8_code found = code ? v8_prove_code(v8, runtime, code, ip, step) : V8_NO_CODE;

		if (found != V8_NO_CODE)
			return found == V8_OPTIMIZED_CODE;
	}
	return false;
}

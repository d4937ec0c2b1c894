/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of parts of a process's memory. A read of 504 bytes costs a fifth to a third more than one
 * of 8 bytes, which takes 26 to 136 ns on different machines. So the frames of an interpreter that
 * lie beside each other are read at once. Compiles for the host, too.
 */
#pragma once

#include <linux/types.h>

enum {
	RUNTIME_SPAN_WORDS = 127, /* one less than a power of two */
	RUNTIME_SPAN_BYTES = RUNTIME_SPAN_WORDS * 8,
	RUNTIME_SPANS = 2,
};

struct runtime_span {
	__u64 from, bytes;		 /* 0 bytes: none was read */
	__u64 words[RUNTIME_SPAN_WORDS]; /* of the memory at `from` */
};

static __always_inline int runtime_has(const struct runtime_span *span, __u64 address, __u32 bytes)
{
	return address - span->from < span->bytes && address - span->from + bytes <= span->bytes;
}

/* What the span has at `address`: a word, or what of a word begins there. The asm keeps the
 * compiler from removing the bound. */
static __always_inline __u64 runtime_span_word(const struct runtime_span *span, __u64 address)
{
	__u32 at = (__u32)(address - span->from), word = at / 8 & RUNTIME_SPAN_WORDS;

	__asm__ volatile("" : "+r"(word));
	return word < RUNTIME_SPAN_WORDS ? span->words[word] >> at % 8 * 8 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads, from the code of a small function of x86-64, which variable it returns or passes on. So a
 * stripped program tells where its variables are: exported functions that return them are still
 * there. The code is hostile (I8). Without Zydis nothing is read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CODE_ACCESSOR_BYTES_MAX = 256 };

/* What a register holds. `place` is a vaddr. A word has 8 bytes, a number 4. */
enum code_value_kind {
	CODE_VALUE_UNKNOWN,
	CODE_VALUE_ADDRESS,	  /* place */
	CODE_VALUE_WORD,	  /* the word at place, plus offset */
	CODE_VALUE_NUMBER,	  /* the number at place */
	CODE_VALUE_NUMBER_BEHIND, /* the number at the word at place, plus offset */
	CODE_VALUE_THREAD,	  /* the thread pointer, plus offset */
	CODE_VALUE_THREAD_WORD,	  /* the word there */
	CODE_VALUE_SLOT_WORD, /* the word at the thread pointer, plus the word at place, plus offset
			       */
	CODE_VALUE_RESULT,    /* what a function returned for the address `place`, plus offset */
	CODE_VALUE_RESULT_WORD,	     /* the word there */
	CODE_VALUE_PARAMETER,	     /* the function's first argument, plus offset */
	CODE_VALUE_PARAMETER_WORD,   /* the word there, plus place */
	CODE_VALUE_PARAMETER_BEHIND, /* the word there */
};

struct code_value {
	enum code_value_kind kind;
	uint64_t place;
	int64_t offset;
};

struct code_accessor {
	struct code_value result;   /* rax when it returns */
	struct code_value argument; /* rdi when it last calls a function, or jumps to one */
	struct code_value variable; /* the first word of the thread's own that it loads */
	uint64_t callee; /* the last function that it calls or jumps to before it first ends; 0 */
};

/* `vaddr` is that of the first byte of code. */
void code_accessor_read(
	const uint8_t *code, size_t size, uint64_t vaddr, struct code_accessor *ret_accessor);

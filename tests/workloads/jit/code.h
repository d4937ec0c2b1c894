/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code generated at run time, and its memory: loops that count down, identified only by
 * their address. Every function ends the program on failure, with 77 if the machine lacks
 * something.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_ANONYMOUS,
	MEMORY_SHARED, /* /dev/zero, as mappings call it */
	MEMORY_MEMFD,  /* written through another mapping than it is run from */
	MEMORY_NAMED,  /* [anon:...] */
	MEMORY_SYSV,
	MEMORY_HUGE,
};
/* Returns -1 for an unknown name. */
int memory_kind_from_name(const char *name);
/* Returns whether a child of fork() sees code that its parent writes. */
bool memory_kind_is_shared(enum memory_kind kind);

enum code_style {
	CODE_FRAME, /* with a frame of its own */
	CODE_LEAF,  /* without */
};

enum {
	PLACE_BYTES = 4096, /* the size of a place; its code is shorter */
	PLACES = 512,
};

/* Code, or a report about it. */
struct function {
	const char *name;
	uint8_t *code;	/* where it is run */
	size_t size;	/* in bytes */
	uint64_t index; /* unique for each process; 0: not reported yet */
};

struct code_memory {
	uint8_t *run;
	uint8_t *write;
};

/* PLACES places; at `address` if it is not 0. */
void code_memory_map(struct code_memory *memory, enum memory_kind kind, uint64_t address);

/* Writes a loop of `size` bytes, at least 32, at a place. */
void code_put(const struct code_memory *memory, unsigned place, enum code_style style, size_t size,
	struct function *function);

/*
 * Writes two adjacent functions: `outer` ends with its call of `inner`, which returns to outer's
 * caller. So the return address of that call belongs to the code after outer.
 */
void code_put_nested(const struct code_memory *memory, unsigned place, struct function *outer,
	struct function *inner);

/* Copies code to another place. */
void code_move(const struct code_memory *memory, unsigned place, struct function *function);

/* Runs the code until this thread has used `cpu_ns`; returns the CPU time used. */
uint64_t code_run(const struct function *function, uint64_t cpu_ns);

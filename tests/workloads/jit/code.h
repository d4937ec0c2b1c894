/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code made at run time, and the memory that it stands in: loops that count down, each
 * known by where it stands alone. Everything here ends the program where it fails, with 77 where
 * the machine lacks something.
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
/* Returns -1 for a name that no kind has. */
int memory_kind_from_name(const char *name);
/* Does a child of fork() see what its parent puts there? */
bool memory_kind_is_shared(enum memory_kind kind);

enum code_style {
	CODE_FRAME, /* with a frame of its own */
	CODE_LEAF,  /* without */
};

enum {
	PLACE_BYTES = 4096, /* what each place has; its code is shorter */
	PLACES = 512,
};

/* Some code, or what is told about it. */
struct function {
	const char *name;
	uint8_t *code;	/* where it is run */
	size_t size;	/* in bytes */
	uint64_t index; /* unique for each process; 0: not told of yet */
};

struct code_memory {
	uint8_t *run;
	uint8_t *write;
};

/* PLACES places; at `address` if it is not 0. */
void code_memory_map(struct code_memory *memory, enum memory_kind kind, uint64_t address);

/* Puts a loop of `size` bytes, at least 32, at a place. */
void code_put(const struct code_memory *memory, unsigned place, enum code_style style, size_t size,
	struct function *function);

/*
 * Two functions, one after the other: `outer` ends with its call of `inner`, which returns past it,
 * so that the address outer would return to is that of what stands after it.
 */
void code_put_nested(const struct code_memory *memory, unsigned place, struct function *outer,
	struct function *inner);

/* Copies code to another place. */
void code_move(const struct code_memory *memory, unsigned place, struct function *function);

/* Runs it until this thread has used `cpu_ns` for it; returns what it used. */
uint64_t code_run(const struct function *function, uint64_t cpu_ns);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw frames become locations: (binary, link-time address). A build-id and an offset already are an
 * identity; a raw ip becomes one through its process's mappings at the time of the sample, a kernel
 * ip through kallsyms. What cannot be true ends the stack there, and is counted: the frames beyond
 * it were never callers. One owner, one thread.
 */
#pragma once

#include "drain/drain.h"
#include "pilotlight/walk.h"
#include "resolve/binary_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resolver;

enum {
	/* User and kernel frames, and what says that a stack was cut. */
	RESOLVED_FRAMES_MAX = PILOTLIGHT_WALK_DEPTH + PILOTLIGHT_STACK_DEPTH + 2,
	RESOLVED_SYNTHETIC = UINT32_MAX - 1, /* in place of a binary: the frame is its name */
};

/* Executable memory that no file is behind. */
enum resolved_jit {
	RESOLVED_NO_JIT,
	RESOLVED_JIT,
	RESOLVED_JIT_SHARED, /* with other processes */
};

struct resolved_frame {
	uint64_t address; /* as struct profile_location has it */
	uint32_t binary;  /* of the binary table, or RESOLVED_SYNTHETIC */
	enum resolved_jit jit;
	/* Borrowed for the call: kernel and synthetic frames have a name; JIT frames get it, and
	 * their place in the source, from late_samples. Else NULL and 0. */
	const char *name;
	const char *file;
	uint32_t line, column;
};

/* Why a stack ended before its root. */
enum resolver_cut {
	RESOLVER_CUT_NONE,
	RESOLVER_CUT_GARBAGE, /* an address in no executable code of that process */
	RESOLVER_CUT_DEPTH,   /* as many frames as the kernel gives */
	RESOLVER_CUT_UNKNOWN, /* raw addresses of a process that nobody knows */
	RESOLVER_CUT_FULL,    /* the binary table is at its bound */
	/* Of stacks that were walked by unwind tables: see enum pilotlight_walk_end. */
	RESOLVER_CUT_NO_TABLE,
	RESOLVER_CUT_NO_FUNCTION,
	RESOLVER_CUT_UNREADABLE,
	RESOLVER_CUT_UNSUPPORTED,
	RESOLVER_CUT_LOOPED,
	RESOLVER_CUT_MISSING, /* what the ring should have carried */
	RESOLVER_CUT_COUNT,
};

/* "no code there", for messages. */
const char *resolver_cut_name(enum resolver_cut cut);

struct resolver_counters {
	uint64_t cuts[RESOLVER_CUT_COUNT]; /* samples */
	uint64_t files_unread;		   /* frames in binaries whose file could not be opened */
	uint64_t stacks_cached;		   /* user stacks that were known from earlier */
	uint64_t stacks_resolved;
};

/* All are borrowed and must outlive the resolver. */
int resolver_new(struct broker *broker, struct process_table *processes,
	struct kernel_symbols *kernel, struct binary_table *binaries,
	struct resolver **ret_resolver);
void resolver_free(struct resolver *resolver);

/*
 * Who knows which binary (of the binary table) a file of walked stacks is, by the id in their
 * frames; it returns UINT32_MAX where nobody does. Without this their frames are unknown.
 */
typedef uint32_t (*resolver_file_function)(void *context, uint32_t file_id);
void resolver_set_files(struct resolver *resolver, resolver_file_function function, void *context);
DEFINE_CLEANUP(struct resolver, resolver_free);

/*
 * A window begins: what could not be told of processes may be asked again, and asking may take
 * `ask_ns` in all; what there is no time for is asked in the next one. Until this is first called,
 * there is time without end.
 */
void resolver_begin_window(struct resolver *resolver, uint64_t ask_ns);

/*
 * The frames of `sample`, root first. Returns their number, 0 for a sample without any stack; or
 * -ENOMEM. `ret_lacks_build_ids` tells that the stack came raw and was not known from earlier: it
 * was resolved by the process's mappings, and it would be good to have its build-ids once.
 */
int resolver_resolve(struct resolver *resolver, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], bool *ret_lacks_build_ids);

/* Is any of the frames in JIT memory? */
bool resolved_has_jit(const struct resolved_frame *frames, size_t count);

/*
 * Kernel code has come to [start, end) or gone from there: a module, a BPF program. Its names are
 * read anew as soon as a stack goes through it.
 */
void resolver_kernel_changed(struct resolver *resolver, uint64_t start, uint64_t end);

void resolver_counters(const struct resolver *resolver, struct resolver_counters *ret_counters);

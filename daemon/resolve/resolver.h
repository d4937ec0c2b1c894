/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns raw frames into locations: (binary, link-time address). A build-id with an offset already
 * identifies one. The resolver maps a raw user ip through its process's mappings at the time of the
 * sample, and a kernel ip through kallsyms. An impossible frame cuts the stack there and is
 * counted, since the frames beyond it were never callers.
 *
 * Frames of an interpreter are called by the native frame that runs them, which stays in the stack:
 * whoever shows it leaves out one of the two (aggregate/interpreted_frames.h). One owner, one
 * thread.
 */
#pragma once

#include "drain/drain.h"
#include "pilotlight/walk.h"
#include "resolve/binary_table.h"
#include "resolve/runtime_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resolver;

enum {
	/* User frames, those of interpreters, kernel frames, and markers that the stack, or an
	 * interpreter's, was cut. */
	RESOLVED_FRAMES_MAX =
		PILOTLIGHT_WALK_DEPTH + PILOTLIGHT_RUNTIME_FRAMES_MAX + PILOTLIGHT_STACK_DEPTH + 3,
	RESOLVED_SYNTHETIC = UINT32_MAX - 1, /* no binary: the frame has a name only */
};

/* Executable memory without a file. */
enum resolved_jit {
	RESOLVED_NO_JIT,
	RESOLVED_JIT,
	RESOLVED_JIT_SHARED, /* shared with other processes */
};

struct resolved_frame {
	uint64_t address; /* as in struct profile_location */
	uint32_t binary;  /* id in the binary table, or RESOLVED_SYNTHETIC */
	enum resolved_jit jit;
	bool is_interpreted; /* of an interpreter: the address is the code object's hash */
	/* Borrowed for the call. Kernel and synthetic frames have a name, interpreted ones also a
	 * source line. JIT frames get both from late_samples. Others have NULL and 0. */
	const char *name;
	const char *file;
	uint32_t line, column;
};

/* Why a stack ended before its root. */
enum resolver_cut {
	RESOLVER_CUT_NONE,
	RESOLVER_CUT_GARBAGE, /* an address in no executable code of that process */
	RESOLVER_CUT_DEPTH,   /* the stack reached the maximum depth */
	RESOLVER_CUT_UNKNOWN, /* raw addresses of a process with unknown mappings */
	RESOLVER_CUT_FULL,    /* the binary table is full */
	/* Stacks unwound by unwind tables; see enum pilotlight_walk_end. */
	RESOLVER_CUT_NO_TABLE,
	RESOLVER_CUT_NO_FUNCTION,
	RESOLVER_CUT_UNREADABLE,
	RESOLVER_CUT_UNSUPPORTED,
	RESOLVER_CUT_LOOPED,
	RESOLVER_CUT_NO_FRAME_POINTER,
	RESOLVER_CUT_BLOCKED,
	RESOLVER_CUT_MISSING, /* the ring did not carry the stack */
	RESOLVER_CUT_COUNT,
};

/* A text for messages, such as "no code there". */
const char *resolver_cut_name(enum resolver_cut cut);

struct resolver_counters {
	uint64_t cuts[PILOTLIGHT_SOURCES][RESOLVER_CUT_COUNT]; /* samples */
	uint64_t files_unread; /* frames in binaries whose file could not be opened */
	/* Samples with frames of interpreters, and those frames: all; without a name; of groups
	 * that no native frame runs. */
	uint64_t interpreted, interpreted_frames, interpreted_nameless, interpreted_unplaced;
};

/* Borrows its arguments, which must outlive the resolver. Returns 0 or -ENOMEM. */
int resolver_new(struct broker *broker, struct process_table *processes,
	struct kernel_symbols *kernel, struct binary_table *binaries,
	struct resolver **ret_resolver);
void resolver_free(struct resolver *resolver);

/*
 * Maps the file id in a frame of a walked stack to its binary in the binary table, or to UINT32_MAX
 * if it is unknown. Without this function those frames are "[unknown]".
 */
typedef uint32_t (*resolver_file_function)(void *context, uint32_t file_id);
void resolver_set_files(struct resolver *resolver, resolver_file_function function, void *context);

/* The names of interpreted frames; borrowed. Without them those frames are left out. */
void resolver_set_names(struct resolver *resolver, const struct runtime_names *names);
DEFINE_CLEANUP(struct resolver, resolver_free);

/*
 * Begins a window. The resolver may retry processes whose /proc could not be read, and may spend
 * `ask_ns` in all on reading /proc in this window; the rest waits for the next window. Before the
 * first call that time is unlimited.
 */
void resolver_begin_window(struct resolver *resolver, uint64_t ask_ns);

/*
 * Resolves the frames of `sample`, root first. Returns their number, 0 for a sample without a
 * stack, or -ENOMEM. Sets `ret_lacks_build_ids` if a raw stack might get a better result from its
 * build-ids; the caller should then capture them when it next sees the stack.
 */
int resolver_resolve(struct resolver *resolver, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], bool *ret_lacks_build_ids);

/* Does any frame lie in JIT memory? */
bool resolved_has_jit(const struct resolved_frame *frames, size_t count);

/*
 * The kernel loaded or unloaded code at [start, end): a module or a BPF program. The next stack
 * through it makes the resolver read kallsyms again.
 */
void resolver_kernel_changed(struct resolver *resolver, uint64_t start, uint64_t end);

void resolver_counters(const struct resolver *resolver, struct resolver_counters *ret_counters);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets probes at the allocators of the processes whose heaps are sampled: in what they have mapped
 * when sampling begins, and in each file that they map later. The side-band says which; the broker
 * opens the file, and a thread of this process reads its symbols (I6, engine/heap_reader.h). A
 * child has its parent's probes, set by the kernel, and keeps them over execve(). So only a file
 * that is new to a family of processes has none for some milliseconds after it was mapped.
 *
 * In a process that has mapped an allocator that samples itself (engine/heap_functions.h), its
 * reports count alone, and no others get probes from then on.
 *
 * It also knows which of them still hold what they allocated.
 *
 * Everything is bounded (I4): processes, allocators, those of a process, and mappings whose file is
 * not read yet. What exceeds a bound is not sampled, and counted. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdint.h>
#include <sys/types.h>

struct broker;
struct capture;
struct heap_reader;
struct heap_watch;
struct process_mapping;
struct process_table;

struct heap_watch_counters {
	uint64_t allocators; /* files with an allocator's functions */
	uint64_t probes;     /* functions of a process that were probed */
	uint64_t refused;    /* allocators of a process without probes */
};

/* All are borrowed; `reader` NULL: it makes one. Returns 0, -ENOMEM, or -errno. */
int heap_watch_new(struct capture *capture, struct broker *broker, struct process_table *processes,
	struct heap_reader *reader, struct heap_watch **ret_watch);
void heap_watch_free(struct heap_watch *watch);
DEFINE_CLEANUP(struct heap_watch, heap_watch_free);

/* Watches this process, too, and all that it forks from now on. Returns 0, -ENOMEM or -E2BIG. */
int heap_watch_follow(struct heap_watch *watch, pid_t pid);

/*
 * Sets the probes in what the followed processes have mapped. Call it once, when the process table
 * knows that. Returns 0, or -errno with `fault` if not a single probe could be set.
 */
int heap_watch_begin(struct heap_watch *watch, struct fault *fault);

/* What the side-band reports of any process, in the order of time. */
void heap_watch_forked(struct heap_watch *watch, pid_t parent, pid_t child, uint64_t time_ns);
void heap_watch_executed(struct heap_watch *watch, pid_t pid);
void heap_watch_mapped(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping);
void heap_watch_ended(struct heap_watch *watch, pid_t pid);

/* Readable when heap_watch_run() has files to handle that were read; borrowed. */
int heap_watch_poll_fd(const struct heap_watch *watch);
void heap_watch_run(struct heap_watch *watch);

/* Who holds memory that was allocated and not freed. */
enum heap_holder {
	HEAP_HOLDER_NONE,    /* its process has ended, or executes another program */
	HEAP_HOLDER_PROCESS, /* it runs; or it ended, and heap_watch_follow() named it */
	HEAP_HOLDER_VICTIM,  /* it was killed for lack of memory: this is what it held then */
};

/*
 * Who holds what `pid` allocated at `time_ns` and did not free? Nobody holds the memory of a
 * process that has ended, except in a recording of a command: that ends with the process, and shows
 * what the process has not freed.
 */
enum heap_holder heap_watch_holder(const struct heap_watch *watch, pid_t pid, uint64_t time_ns);

/* When sampling has ended: logs a warning if no allocator was found. */
void heap_watch_finish(const struct heap_watch *watch);

void heap_watch_counters(const struct heap_watch *watch, struct heap_watch_counters *ret_counters);

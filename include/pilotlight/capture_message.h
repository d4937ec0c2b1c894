/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages about capture between an unprivileged engine and the broker over an AF_UNIX
 * SOCK_SEQPACKET pair. Each request gets one answer. Both have a fixed size and the machine's byte
 * order. Both sides are the same program; `version` only guards against a program that was replaced
 * on disk.
 *
 * A request is malformed, and answered with -EBADMSG, if it has another size or version, carries a
 * descriptor, has an unknown operation, or sets anything that its operation does not use. -EINVAL:
 * a number is out of range. -EPERM: it is more than the configuration allows. -ENXIO: nothing is
 * open.
 */
#pragma once

#include "pilotlight/counted_event.h"
#include "pilotlight/event.h"
#include "pilotlight/runtime.h"

#include <stdint.h>

enum { PILOTLIGHT_CAPTURE_VERSION = 11 };

enum pilotlight_capture_operation {
	/*
	 * settings → layout, state, and the maps' descriptors in the order of enum
	 * pilotlight_capture_fd. If a capture with these settings is open already, it is handed
	 * over while it goes on sampling. A capture with other settings is dropped and loaded anew;
	 * its undrained counts become left_behind. -EBUSY: this same connection opened it.
	 */
	PILOTLIGHT_CAPTURE_OPEN = 1,
	PILOTLIGHT_CAPTURE_RING,	 /* value: an index → layout.ring_cpu and ring_id, and its
					    descriptor; -ENOENT beyond the last */
	PILOTLIGHT_CAPTURE_START,	 /* → state; clears left_behind */
	PILOTLIGHT_CAPTURE_STOP,	 /* → state */
	PILOTLIGHT_CAPTURE_FOLLOW,	 /* value: a pid */
	PILOTLIGHT_CAPTURE_FOLLOW_CPUS,	 /* → the number of CPUs, state */
	PILOTLIGHT_CAPTURE_SET_RATE,	 /* value: Hz → state */
	PILOTLIGHT_CAPTURE_STATE,	 /* → state */
	PILOTLIGHT_CAPTURE_CLOSE,	 /* sampling ends; the next OPEN loads anew */
	PILOTLIGHT_CAPTURE_LIST_FILES,	 /* the sampler requests the files of running programs */
	PILOTLIGHT_CAPTURE_TAKE_BLOCKED, /* value: a time, CLOCK_MONOTONIC in ns; takes the time of
					    threads that have been blocked since before */
	/*
	 * probe: sets a breakpoint at an allocator's function, or at a probe in it, in a process
	 * that is followed and in what it forks from then on. -EPERM: it is not followed;
	 * -EOPNOTSUPP: heaps are not sampled; -ENOSPC: there are too many; or -errno of
	 * uprobe_tree_open().
	 */
	PILOTLIGHT_CAPTURE_PROBE,
	/*
	 * value: a number below PILOTLIGHT_RUNTIMES_MAX; runtime: the description of an interpreter
	 * that the number stands for from now on (pilotlight/walk.h). The sampler copies names from
	 * where it leads, so only the host writes it, within bounds. -EOPNOTSUPP: the sampler does
	 * not walk stacks, or not those of interpreters.
	 */
	PILOTLIGHT_CAPTURE_SET_RUNTIME,
	/*
	 * value: periods; visits all threads, and takes a sample of so many periods of each that is
	 * blocked or ready → the host's CPU time that it took, in us. -EAGAIN: drain the ring, then
	 * ask again, and the survey goes on; -EOPNOTSUPP: no source is surveyed.
	 */
	PILOTLIGHT_CAPTURE_SURVEY,
	PILOTLIGHT_CAPTURE_OPERATIONS, /* one more than the last */
};

enum { PILOTLIGHT_MISSING_BYTES = 128 };

/* What an allocator's function does. */
enum pilotlight_heap_function {
	/* Allocates: by its only argument, and calls no other one, */
	PILOTLIGHT_HEAP_MALLOC,
	PILOTLIGHT_HEAP_NEW,	       /* by its first argument, */
	PILOTLIGHT_HEAP_ALIGNED_ALLOC, /* by its second one, */
	PILOTLIGHT_HEAP_CALLOC,	       /* by the product of both, */
	PILOTLIGHT_HEAP_REALLOC,       /* by its second, and frees its first; */
	PILOTLIGHT_HEAP_POSIX_MEMALIGN,
	PILOTLIGHT_HEAP_REPORT_ALLOC, /* a USDT probe of an allocator that samples itself */
	PILOTLIGHT_HEAP_FREE,	      /* frees its first one */
	PILOTLIGHT_HEAP_REPORT_FREE,  /* a USDT probe: a sampled allocation is freed */
	/* Sets no breakpoint: calls of the process's allocators no longer count, as its reports do,
	 * until it executes another program. What it forks does the same. */
	PILOTLIGHT_HEAP_REPORTS,
	PILOTLIGHT_HEAP_FUNCTIONS,
};

/* Used by PILOTLIGHT_CAPTURE_PROBE. */
struct pilotlight_capture_probe {
	uint32_t pid;
	uint32_t function; /* enum pilotlight_heap_function */
	/* The range of a mapping of the process, and where the function begins in its file. */
	uint64_t mapping_start, mapping_end;
	uint64_t offset;
	/* Of a USDT probe: where its semaphore is in the file, or 0; and where two arguments are
	 * (pilotlight/probe_argument.h): the address, and in the upper half the weight. */
	uint64_t semaphore, arguments;
};
_Static_assert(sizeof(struct pilotlight_capture_probe) == 48, "padding");

enum pilotlight_capture_fd {
	PILOTLIGHT_CAPTURE_FD_STACKS_0,
	PILOTLIGHT_CAPTURE_FD_STACKS_1,
	PILOTLIGHT_CAPTURE_FD_BUILD_ID_STACKS_0,
	PILOTLIGHT_CAPTURE_FD_BUILD_ID_STACKS_1,
	PILOTLIGHT_CAPTURE_FD_COUNTS_0,
	PILOTLIGHT_CAPTURE_FD_COUNTS_1,
	PILOTLIGHT_CAPTURE_FD_KNOWN_STACKS,
	PILOTLIGHT_CAPTURE_FD_COUNTERS,
	PILOTLIGHT_CAPTURE_FD_RING,
	PILOTLIGHT_CAPTURE_FD_BARRIER,
	PILOTLIGHT_CAPTURE_FD_BARRIER_INNER,
	PILOTLIGHT_CAPTURE_FD_VARIABLES, /* the programs' own, mapped: .bss */
	PILOTLIGHT_CAPTURE_FD_LIVE,
	PILOTLIGHT_CAPTURE_FD_CACHE_NAMES,
	PILOTLIGHT_CAPTURE_FD_BLOCK_DISKS,
	/* Only where layout.has_walks. */
	PILOTLIGHT_CAPTURE_FD_WALK_FILES,
	PILOTLIGHT_CAPTURE_FD_WALK_REQUESTS,
	PILOTLIGHT_CAPTURE_FD_WALK_REQUEST_WAKEUP,
	PILOTLIGHT_CAPTURE_FD_UNWIND_PAGES,
	PILOTLIGHT_CAPTURE_FD_UNWIND_LINES,
	PILOTLIGHT_CAPTURE_FD_UNWIND_RULES,
	PILOTLIGHT_CAPTURE_FD_UNWIND_ESCAPES,
	PILOTLIGHT_CAPTURE_FDS,

	PILOTLIGHT_CAPTURE_FDS_WITHOUT_WALKS = PILOTLIGHT_CAPTURE_FD_WALK_FILES,
};

/* Upper limits of a request's values. */
enum {
	PILOTLIGHT_CAPTURE_RATE_HZ_MAX = 100000,
	PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX = 1 << 30,
	PILOTLIGHT_CAPTURE_STACK_SLOTS_MAX = 1 << 16,
	PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX = 256,
};
/* The periods of sources that are surveyed. */
#define PILOTLIGHT_CAPTURE_SURVEY_NS_MIN 10000000ULL
#define PILOTLIGHT_CAPTURE_SURVEY_NS_MAX 60000000000ULL

struct pilotlight_capture_request {
	uint32_t version;
	uint32_t operation; /* enum pilotlight_capture_operation */
	uint64_t number;    /* chosen by the client; the answer repeats it */
	uint64_t value;
	/* Used by PILOTLIGHT_CAPTURE_OPEN; see struct capture_settings. */
	uint64_t map_budget_bytes, unwind_budget_bytes;
	uint32_t rate_hz, stack_slots;
	uint8_t wants_kernel, filters_processes; /* 0 or 1 */
	uint8_t event;				 /* enum capture_event */
	uint8_t is_sparing;			 /* 0 or 1 */
	uint32_t sources; /* bit mask of 1 << enum pilotlight_source; not 0 */
	/* In units of the source; 0 for the CPU and for sources that are off. */
	uint64_t periods[PILOTLIGHT_SOURCES];
	uint8_t wants_wakers, skips_interpreted; /* 0 or 1 */
	uint8_t reserved[2];
	uint32_t surveyed; /* those of `sources` that surveys sample */
	struct pilotlight_capture_probe probe;
	struct pilotlight_runtime runtime;
	/* Of the sources from PILOTLIGHT_SOURCE_COUNTED on; all zeros for those that are off. */
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
};
_Static_assert(sizeof(struct pilotlight_capture_request) ==
		       112 + sizeof(struct pilotlight_runtime) + PILOTLIGHT_SOURCES * 8 +
			       PILOTLIGHT_COUNTED_EVENTS * sizeof(struct pilotlight_counted_event),
	"padding");

struct pilotlight_capture_layout {
	uint32_t stack_slots, build_id_stack_slots, count_slots, known_stack_slots;
	uint32_t stack_depth, ring_bytes, drain_period_ms;
	uint32_t sized_cpus; /* the CPUs that the maps were sized for */
	uint64_t total_bytes;
	uint32_t unwind_pages, unwind_lines, unwind_rules, unwind_escapes;
	uint32_t active_window_offset; /* in the variables */
	uint32_t variables_bytes;
	uint32_t sideband_ring_bytes;
	uint32_t ring_cpu;
	uint32_t live_slots; /* 0: no source counts what lives */
	uint32_t reserved;
	uint64_t ring_id; /* no two rings that were ever open have the same */
	uint8_t has_walks, reports_cgroups;
	uint8_t is_taken_over; /* it was open already, for an earlier engine */
	uint8_t padding[5];
};
_Static_assert(sizeof(struct pilotlight_capture_layout) == 96, "padding");

struct pilotlight_capture_state {
	uint64_t expected_samples; /* 0: unknown */
	uint64_t program_runs, program_ns;
	uint64_t map_bytes, children_not_followed;
	uint64_t skipped_events; /* of kernel memory: they met the same program on their CPU */
	uint64_t allocator_calls_lost;
	uint64_t rings_generation; /* changes whenever a ring of the side-band comes or goes */
	uint64_t broker_cpu_ns;	   /* of the broker and its ended children */
	uint64_t broker_resident_bytes;
	uint32_t cpu_count, rate_hz;
	char event[16]; /* "cycles", "cpu-clock", "" before the start */
};
_Static_assert(sizeof(struct pilotlight_capture_state) == 104, "padding");

struct pilotlight_capture_answer {
	uint32_t version;
	int32_t result; /* 0 or more, or -errno */
	uint64_t number;
	/* All zeros if the operation failed or does not report it. */
	struct pilotlight_capture_layout layout;
	struct pilotlight_capture_state state;
	/*
	 * Used by PILOTLIGHT_CAPTURE_OPEN: counts of samples that fired into maps which were
	 * dropped before they were drained, summed over CPUs. Every OPEN reports them until an
	 * engine that received them has started; they are then in that engine's own accounts.
	 */
	struct pilotlight_counters left_behind[PILOTLIGHT_SOURCES];
	/*
	 * Used by PILOTLIGHT_CAPTURE_OPEN, for the service's engine: what the machine lacks for
	 * each source; "": nothing. A capture without these sources was opened. Of the sources from
	 * PILOTLIGHT_SOURCE_COUNTED on, for the events of the request.
	 */
	char missing[PILOTLIGHT_SOURCES][PILOTLIGHT_MISSING_BYTES];
	/* What failed and what to do; UTF-8 with a NUL, "" on success. */
	char fault[512];
};
_Static_assert(sizeof(struct pilotlight_capture_answer) ==
		       16 + sizeof(struct pilotlight_capture_layout) +
			       sizeof(struct pilotlight_capture_state) +
			       PILOTLIGHT_SOURCES * (sizeof(struct pilotlight_counters) +
							    PILOTLIGHT_MISSING_BYTES) +
			       512,
	"padding");

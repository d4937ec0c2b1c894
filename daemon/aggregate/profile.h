/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile: the samples of some CPUs in a time range, as tables that refer to each other by
 * number. aggregate fills it, query symbolizes it, render and export read it without changing it.
 *
 * Identity comes before names (I2): a location is (binary, address), an address is a link-time
 * vaddr and never a run-time one, so that one piece of code is one location in all processes. A
 * stack is a node of the stack tree: the path from the root to it. Ids are positions in the tables.
 * The whole is bounded by a budget in bytes (I4): additions that do not fit return -E2BIG and the
 * caller counts them. One owner; one thread.
 */
#pragma once

#include "aggregate/profile_spans.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/string_pool.h"
#include "drain/accounts.h"
#include "resolve/binary_kind.h"
#include "symbol/symbol_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_binary {
	enum binary_kind kind;
	struct build_id build_id; /* size 0: none */
	/*
	 * The key of its symbols in the cache. id.size 0: the build-id is the key, as for trusted
	 * files, or the key is unknown. A binary thus has one identity only.
	 */
	struct symbol_identity symbols;
	uint32_t path; /* string: /usr/bin/xz, [kernel.kallsyms], [vdso], a module's name */
	/* The first executable PT_LOAD; all 0: unknown or none. */
	uint64_t text_vaddr, text_bytes, text_offset;
};

/*
 * A function and a source line. A location has a chain of frames, innermost first: each frame but
 * the last was inlined into the next.
 */
struct profile_frame {
	uint32_t function; /* string, demangled; 0: unknown */
	uint32_t file;	   /* string; 0: unknown */
	uint32_t line;	   /* 0: unknown */
	uint32_t column;   /* 0: unknown */
};

/*
 * `address` is where the code was: the instruction pointer of a leaf, one less than the return
 * address of a caller. In a BINARY_KERNEL it counts from the start of the image, in BINARY_JIT it
 * is the run-time address, where one function may have followed another (I3): each is a location of
 * its own. A BINARY_SYNTHETIC location has one frame with its text.
 */
struct profile_location {
	uint64_t address;
	uint32_t binary;
	uint32_t function; /* string: of JIT code, the function that was there; else 0. Then frames
			      that differ in file or line are locations of their own too */
	uint32_t first_frame;
	uint32_t frame_count; /* 0: no names yet */
};

/* Node 0 is the root, of itself; parent < own id for all others. */
struct profile_node {
	uint32_t parent;
	uint32_t location;
};

struct profile_thread {
	uint64_t process_start_ns; /* CLOCK_BOOTTIME; 0: unknown */
	uint32_t tgid, tid;
	uint32_t comm;	      /* string */
	uint32_t exe, cgroup; /* strings: paths; 0: not known */
	uint32_t claims;      /* string: labels/process_claims.h; 0: none */
	uint32_t user;	      /* who answers for it: a uid, as in raw_sample; not kept in history */
	uint32_t owner;	      /* the user who may see it: a uid plus 1, or 0 for none
				 (cgroup_path_owner()) */
};

struct profile_sample {
	uint64_t count;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC */
	uint32_t thread;
	uint32_t node;
};

/*
 * When some of a sample's counts were taken. Times are kept to a slice of PROFILE_SLICE_NS. Slices
 * begin at multiples of it of CLOCK_REALTIME, so those of adjacent windows fit together.
 */
#define PROFILE_SLICE_NS 10000000ULL
struct profile_time {
	uint32_t before; /* the sample's time that was noted before this one, plus 1; 0: none */
	uint16_t slice;	 /* since profile.slices_ns */
	uint16_t count;
};

/* Counts of a sample at a time of CLOCK_REALTIME, of a profile that is exported with its times. */
struct profile_stamp {
	uint64_t time_ns, count;
	uint32_t sample, reserved;
};

#define PROFILE_TABLE(type)             \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

struct profile_pool;

struct profile {
	/* What the profile describes. */
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t covered_ns;	   /* without the gaps in between; 0: all of that time */
	uint64_t period_ns;	   /* of CPU time that one sample stands for */
	/* The longest of what was merged, whose counts are brought to period_ns; 0: it is that. */
	uint64_t longest_period_ns;
	/* CPU time available, without the gaps in between; 0: all CPUs for all the time. */
	uint64_t possible_cpu_ns;
	uint32_t cpu_count;
	uint32_t event; /* string: "cpu-clock", "cycles" */
	struct accounts accounts;

	struct string_pool strings;
	PROFILE_TABLE(struct profile_binary) binaries;
	PROFILE_TABLE(struct profile_frame) frames;
	PROFILE_TABLE(struct profile_location) locations;
	PROFILE_TABLE(struct profile_node) nodes;
	PROFILE_TABLE(struct profile_thread) threads;
	PROFILE_TABLE(struct profile_sample) samples;

	/*
	 * Times of samples, of a profile that keeps them. A sample may have counts without a time:
	 * of those that the kernel counted for us, only the first and the last have one.
	 */
	uint64_t slices_ns;	 /* CLOCK_MONOTONIC at which slice 0 began; 0: times are not kept */
	uint64_t times_left_out; /* and stamps, for lack of room */
	PROFILE_TABLE(struct profile_time) times;
	PROFILE_TABLE(uint32_t)
	last_times; /* by sample: its last time, plus 1; 0 or beyond: none */

	bool keeps_spans; /* of samples that are added from now on */
	struct profile_spans spans;

	/* By sample and time. Counts that are in none have no time. */
	PROFILE_TABLE(struct profile_stamp) stamps;

	size_t limit_bytes;
	const struct profile_pool *pool; /* borrowed; NULL: none */
	bool is_frozen; /* new elements are refused with -E2BIG; existing ones are still found */

	/* Private to profile.c. */
	struct hash_index location_index, node_index, thread_index, sample_index;
	uint32_t synthetic_binary;
};

enum { PROFILE_ROOT = 0 };

/* Strings may take this part of a budget: 1/4. */
enum { PROFILE_STRING_PARTS = 4 };

/*
 * A budget that the profiles of one window share, beside the budget of each: one may need much and
 * another little. Set `pool` of each to it; it must outlive their growth.
 */
enum { PROFILE_POOL_MAX = PILOTLIGHT_SOURCES };
struct profile_pool {
	size_t limit_bytes;
	const struct profile *members[PROFILE_POOL_MAX]; /* borrowed */
	size_t count;
};

/* The bytes of all strings, and of all elements, with their share of the indexes, without room. */
size_t profile_string_bytes(const struct profile *profile);
size_t profile_element_bytes(const struct profile *profile);
/* So many bytes of elements, as the above weigh them, fit into a budget for sure, of whatever
 * kinds, beside strings of up to 1/PROFILE_STRING_PARTS of it. */
size_t profile_sure_element_bytes(size_t limit_bytes);
/* Of a budget, what spans of samples may take. */
size_t profile_span_bytes(size_t limit_bytes);

/* Returns 0 or -ENOMEM. */
int profile_new(size_t limit_bytes, struct profile **ret_profile);
void profile_free(struct profile *profile);
DEFINE_CLEANUP(struct profile, profile_free);

/* The bytes that all tables and indexes hold at the moment. */
size_t profile_bytes(const struct profile *profile);

/* For an index of binaries: equal in all fields. */
bool profile_binary_equal(const struct profile_binary *a, const struct profile_binary *b);
uint64_t profile_binary_hash(const struct profile_binary *binary);

/*
 * The functions below return 0, -ENOMEM or -E2BIG (the budget is used up); an element equal to an
 * existing one gets its id. Binaries are always added, since their owner decides on their identity.
 */
int profile_add_binary(
	struct profile *profile, const struct profile_binary *binary, uint32_t *ret_binary);
int profile_add_string(struct profile *profile, const char *string, uint32_t *ret_string);
int profile_add_location(
	struct profile *profile, uint32_t binary, uint64_t address, uint32_t *ret_location);
/* Adds a location with its single frame, which has a function. */
int profile_add_jit_location(struct profile *profile, uint32_t binary, uint64_t address,
	const struct profile_frame *frame, uint32_t *ret_location);
int profile_add_synthetic(struct profile *profile, const char *text, uint32_t *ret_location);
int profile_add_node(
	struct profile *profile, uint32_t parent, uint32_t location, uint32_t *ret_node);
int profile_add_thread(
	struct profile *profile, const struct profile_thread *thread, uint32_t *ret_thread);

/*
 * Keeps the times of samples that are added from now on, of a window that began at `monotonic_ns`,
 * when CLOCK_REALTIME was start_ns.
 */
void profile_keep_times(struct profile *profile, uint64_t monotonic_ns);

/*
 * Adds sample->count to the sample with its thread and node, and widens its time. Notes its times
 * if the profile keeps them: of counts from first_ns to last_ns, one at each end, or all if the two
 * are equal. Times that have no room are left out.
 */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample);
/* The same without noting a time. */
int profile_add_untimed(struct profile *profile, const struct profile_sample *sample);
/* Notes that all of sample->count, which has just been added, is of a span. Notes nothing if the
 * profile keeps none, or if there is no room. */
void profile_note_span(struct profile *profile, const struct profile_sample *sample,
	const struct pilotlight_thread_context *ids);

/* Notes that all of sample->count, which has just been added, is of a time, or that it is left out
 * if there is no room. */
void profile_note_stamp(
	struct profile *profile, const struct profile_sample *sample, uint64_t time_ns);
/* Notes the times that the profile has kept as stamps, for a profile that is not kept. */
void profile_stamp_times(struct profile *profile);
/* Orders the stamps, and joins those of one sample and time. Call it after profile_divide(). */
void profile_sort_stamps(struct profile *profile);
/*
 * The stamps of a sample, whose counts are no more than the sample's in total; NULL with 0: none.
 */
const struct profile_stamp *profile_stamps_of(
	const struct profile *profile, uint32_t sample, size_t *ret_count);

/*
 * Converts samples and accounts that are amounts, counts times the period of each, to samples of
 * profile->period_ns, the shortest of these periods. Each remainder goes to the next sample, so the
 * total is right to one sample. No sample had a shorter period, so none becomes 0.
 */
void profile_divide(struct profile *profile);

/* Appends a chain of frames, innermost first, and assigns it to the location. */
int profile_name_location(struct profile *profile, uint32_t location,
	const struct profile_frame *frames, uint32_t count);

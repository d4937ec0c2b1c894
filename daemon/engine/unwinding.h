/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Provides unwind tables for the sampler. The sampler requests a file; this opens and identifies
 * it, gets its table from the cache or has a worker make it, and loads it. Only unwinding_prepare()
 * waits. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/walk_maps.h"
#include "engine/unwinding_files.h"
#include "symbol/symbol_cache.h"
#include "symbolize/symbolizer.h"
#include "unwind/unwinder.h"

#include <stddef.h>
#include <stdint.h>

struct unwinding;

/* CPU time of workers that one user's files may take at once. */
#define UNWINDING_USER_BURST_NS (120ULL * 1000000000)

struct unwinding_parts {
	const struct walk_maps *maps; /* borrowed */
	struct unwinding_files files;
	/* As in struct unwinder_settings. */
	runtime_slots_function set_runtime;
	void *set_runtime_context;
	/* The folder of symbol files, with a subfolder for tables; NULL: no cache, tables are lost
	 * with this struct. */
	const char *cache;
};

struct unwinding_report {
	struct unwinder_report files;
	struct symbolizer_counters tables;
};

/* Returns 0, -ENOMEM, or -errno. */
int unwinding_new(const struct unwinding_parts *parts, struct unwinding **ret_unwinding);
void unwinding_free(struct unwinding *unwinding);
DEFINE_CLEANUP(struct unwinding, unwinding_free);

/* Readable when unwinding_run() has results of workers to handle; borrowed. */
int unwinding_poll_fd(const struct unwinding *unwinding);

/*
 * Reads the sampler's requests, for unwinding_run(). Update the process table between the two, so
 * that it knows all that happened before the requests.
 */
void unwinding_read_requests(struct unwinding *unwinding);

/*
 * Before sampling begins, after capture_list_files(): makes or loads the tables of the files that
 * running programs use most, a few at a time, until `deadline_ns` of CLOCK_MONOTONIC. The others
 * wait for a sample that requests them: it comes before tables that nothing may need. Returns 0 or
 * -errno.
 */
int unwinding_prepare(struct unwinding *unwinding, uint64_t deadline_ns);

/* Handles the requests that were read, and the results of workers. Returns 0 or -errno. */
int unwinding_run(struct unwinding *unwinding);

/* Call after drain_flip(). The sampler writes this window now. */
void unwinding_begin_window(struct unwinding *unwinding, uint32_t window);

/* The file's number in the binary table; UINT32_MAX: not known. For resolver_set_files(). */
uint32_t unwinding_binary(void *unwinding, uint32_t file_id);

/* During a collection of the binary table: spares the binaries of files in use, and forgets the
 * other files whose binaries are doomed. */
void unwinding_spare_binaries(struct unwinding *unwinding);

/* Adds what users hold and what was refused: requests of tables (USER_SYMBOLS), and tables in the
 * arrays (USER_UNWIND). */
void unwinding_users(const struct unwinding *unwinding, struct user_excess *excess,
	struct user_holdings *holdings);

void unwinding_report(struct unwinding *unwinding, struct unwinding_report *ret_report);

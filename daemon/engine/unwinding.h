/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables for what is sampled, put together out of the stages as pipeline.c is: the sampler
 * asks for a file, the mapping's file is opened and identified, its table comes from the cache or
 * is made by a worker, and is loaded for the sampler. Nothing here waits. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/walk_maps.h"
#include "resolve/binary_table.h"
#include "symbol/symbol_cache.h"
#include "symbolize/symbolizer.h"
#include "unwind/unwinder.h"

#include <stddef.h>
#include <stdint.h>

struct unwinding;

struct unwinding_parts {
	const struct walk_maps *maps; /* all are borrowed */
	struct broker *broker;
	struct process_table *processes;
	struct binary_table *binaries;
	const char *cache; /* the folder of symbol files, in which tables have one of their own;
			      NULL: tables are kept for this run alone */
};

struct unwinding_report {
	struct unwinder_report files;
	struct symbolizer_counters tables;
	uint64_t requests;
	uint64_t unidentified; /* requests for files that could not be opened, or had changed */
	/* Requests that could not be kept, and how often some could not be read. */
	uint64_t requests_lost, request_errors;
};

/* Returns 0, -ENOMEM, or -errno. */
int unwinding_new(const struct unwinding_parts *parts, struct unwinding **ret_unwinding);
void unwinding_free(struct unwinding *unwinding);
DEFINE_CLEANUP(struct unwinding, unwinding_free);

/* Readable when a worker has something to tell; borrowed. */
int unwinding_poll_fd(const struct unwinding *unwinding);

/*
 * Takes the sampler's requests, for unwinding_run(). Between the two the table of processes is to
 * be told what has happened, so that it knows all that did before the requests.
 */
void unwinding_take_requests(struct unwinding *unwinding);

/*
 * Before sampling begins, after capture_list_files(): makes or loads the tables of the files that
 * running programs use most. Waits for them until `deadline_ns` of CLOCK_MONOTONIC; what is not
 * ready then is loaded by unwinding_run(). Returns 0 or -errno.
 */
int unwinding_prepare(struct unwinding *unwinding, uint64_t deadline_ns);

/* Deals with the requests that were taken and with the workers' results. Returns 0 or -errno. */
int unwinding_run(struct unwinding *unwinding);

/* After drain_flip(): the sampler writes this window now. */
void unwinding_begin_window(struct unwinding *unwinding, uint32_t window);

/* Of the binary table; UINT32_MAX: not known. For resolver_set_files(). */
uint32_t unwinding_binary(void *unwinding, uint32_t file_id);

void unwinding_report(struct unwinding *unwinding, struct unwinding_report *ret_report);

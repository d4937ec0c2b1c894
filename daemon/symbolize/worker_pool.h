/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol workers: at most a few processes at a time, each of which turns one binary into one symbol
 * file and ends. A worker has no privileges (nobody's user where we are root, no capabilities, no
 * new ones), a seccomp filter that leaves it its descriptors and its memory, bounds on anonymous
 * memory, file size and CPU time, no files but those it is given or asks for (split_channel.h), and
 * the lowest priority. It is killed on timeout. What defeats it is told by its result and costs
 * nobody else anything (I4, I8).
 *
 * Jobs beyond those that run wait in a bounded queue, in order; and so do those for which the
 * broker has no place now. Driven by the owner's poll loop. One owner, one thread, with whose end
 * the workers end.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "pilotlight/symbol_worker.h"
#include "symbol/symbol_identity.h"
#include "symbolize/split_channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker;
struct worker_pool;

struct worker_pool_options {
	struct broker *broker;	/* borrowed; a remote one starts the workers; NULL: this process */
	const char *program;	/* of those that this process starts; NULL: /proc/self/exe */
	size_t workers_max;	/* 0: 2 */
	size_t queue_max;	/* 0: 1024 */
	uint64_t timeout_ns;	/* 0: 5 minutes; from its start */
	uint64_t memory_bytes;	/* 0: 256 MiB, anonymous */
	uint64_t scratch_bytes; /* 0: 8 GiB; less for small files; no file it writes is longer */
	uint64_t output_bytes;	/* 0: 1 GiB */
	uint32_t cpu_s;		/* 0: 120 */
	/* Opens split DWARF files that the job with this `context` requests; NULL: none. */
	split_file_opener *open_split_file;
	void *open_split_file_context;
};

/* A job's files are taken over, whatever is returned; -1 where there is none. */
struct worker_job {
	struct symbol_identity identity;
	int binary_fd, debug_fd, alternate_fd, package_fd;
	bool has_split_files; /* it may ask for them */
	int output_fd;	      /* owned by the caller, open until the job is done */
	int scratch_fd;	      /* empty, for reading and writing; taken over */
	enum pilotlight_symbol_rank debug_rank;
	enum pilotlight_symbol_product product;
	const char *origin; /* copied; cut at the beginning */
	void *context;	    /* returned with the result */
};

struct worker_result {
	void *context;
	enum pilotlight_symbol_failure failure; /* OK: the output is a symbol file */
	/* Zeros where the worker sent none; but `error` says why one could not be started, after
	 * which the failure is UNREADABLE. */
	struct pilotlight_symbol_report report;
	int signal; /* that ended it; 0 */
};

/* Returns 0, -ENOMEM or another -errno. */
int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **ret_pool);

/* Kills the workers that run and waits for their end; their jobs have no results. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_CLEANUP(struct worker_pool, worker_pool_free);

/* Starts the job or queues it. Returns 0; -E2BIG the queue is full; -ENOMEM; -errno of starting. */
int worker_pool_add(struct worker_pool *pool, const struct worker_job *job);

/* Readable when worker_pool_run() has something to do; borrowed. */
int worker_pool_poll_fd(const struct worker_pool *pool);

/* Takes the results there are, ends what has run out of time, and starts what is next. `done` may
 * add jobs. Returns 0 or -errno. */
int worker_pool_run(struct worker_pool *pool,
	void (*done)(void *context, const struct worker_result *result), void *context);

/* Jobs that run or wait. */
size_t worker_pool_pending(const struct worker_pool *pool);

/* Somebody waits now: workers get an ordinary priority, those to come too. Those that run keep the
 * lowest where who has started them lacks CAP_SYS_NICE. */
void worker_pool_hurry(struct worker_pool *pool);

/*
 * The worker's side: takes the request from PILOTLIGHT_WORKER_SOCKET_FD, gives up all it does not
 * need, works, reports. Returns an exit status. Only for a process that was started for this.
 */
int worker_main(int argc, char **argv);

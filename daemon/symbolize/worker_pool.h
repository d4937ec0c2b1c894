/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs symbol workers: a few processes at a time, each of which extracts one symbol file from one
 * binary and ends. A worker has no privileges (under root it runs as nobody, without capabilities),
 * a seccomp filter that allows only its descriptors and its memory, limits on anonymous memory,
 * file size and CPU time, and the lowest priority if that may be set. It can read only the files
 * that it is given or requests (split_channel.h). It is killed at the timeout. If a worker fails,
 * its result says why, and only that binary stays unsymbolized (I4, I8).
 *
 * Other jobs wait in a bounded queue, in order, also while the broker can start no process. The
 * owner's poll loop drives the pool. One owner, one thread; workers die with that thread.
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
	struct broker *broker;	/* borrowed; starts the workers if remote; may be NULL */
	const char *program;	/* without a remote broker; NULL: /proc/self/exe */
	size_t workers_max;	/* 0: 2 */
	size_t queue_max;	/* 0: 1024 */
	uint64_t timeout_ns;	/* 0: 5 minutes; from the start of a worker */
	uint64_t memory_bytes;	/* 0: 256 MiB, anonymous */
	uint64_t scratch_bytes; /* 0: 8 GiB; less for small binaries; for each file */
	uint64_t output_bytes;	/* 0: 1 GiB */
	uint32_t cpu_s;		/* 0: 120 */
	/* Opens split DWARF files that the job with this `context` requests; NULL: none. */
	split_file_opener *open_split_file;
	void *open_split_file_context;
};

/* The pool takes the input and scratch files over, on failure, too; -1: none. */
struct worker_job {
	struct symbol_identity identity;
	int binary_fd, debug_fd, alternate_fd, package_fd;
	bool has_split_files; /* it may request them */
	int output_fd;	      /* owned by the caller, open until the job is done */
	int scratch_fd;	      /* empty, for reading and writing */
	enum pilotlight_symbol_rank debug_rank;
	enum pilotlight_symbol_product product;
	const char *origin; /* copied; a long one loses its beginning */
	void *context;	    /* returned with the result */
};

struct worker_result {
	void *context;
	enum pilotlight_symbol_failure failure; /* OK: the output is a symbol file */
	/* Zeros if the worker sent none. If no worker could be started, `error` says why and the
	 * failure is UNREADABLE. */
	struct pilotlight_symbol_report report;
	int signal;	 /* that killed the worker; 0: none */
	uint64_t cpu_ns; /* of the worker, whatever it reported */
};

/* Returns 0, -ENOMEM or another -errno. */
int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **ret_pool);

/* Kills the workers and waits for their end. Unfinished jobs have no results. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_CLEANUP(struct worker_pool, worker_pool_free);

/* Starts the job or queues it. Returns 0; -E2BIG the queue is full; or -errno of starting. */
int worker_pool_add(struct worker_pool *pool, const struct worker_job *job);

/* Readable when worker_pool_run() has something to do; borrowed. */
int worker_pool_poll_fd(const struct worker_pool *pool);

/* Passes results to `done`, which may add jobs; kills workers at their timeout; starts waiting
 * jobs. Returns 0 or -errno. */
int worker_pool_run(struct worker_pool *pool,
	void (*done)(void *context, const struct worker_result *result), void *context);

/* Would a job start at once? */
bool worker_pool_has_free_worker(const struct worker_pool *pool);

/* The number of jobs that run or wait. */
size_t worker_pool_pending(const struct worker_pool *pool);

/* Gives all present and later workers an ordinary priority, because a user waits. Running workers
 * keep the lowest one if the process that started them lacks CAP_SYS_NICE. */
void worker_pool_hurry(struct worker_pool *pool);

/* The main function of a worker process: receives the request from PILOTLIGHT_WORKER_SOCKET_FD,
 * enters the sandbox, extracts, and reports. Returns an exit status. */
int worker_main(int argc, char **argv);

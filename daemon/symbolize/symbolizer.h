/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Provides symbols for binaries. It searches the cache; if an entry is missing, if better files
 * exist now or if an older version made it, a worker extracts a symbol file. Sources by rank: the
 * host's debug file, found by build-id; a debug file from a debuginfod server, if servers are
 * configured; a debug file found by .gnu_debuglink; the binary itself.
 *
 * Any file can claim any build-id. So symbols from a file whose owner is not trusted
 * (symbol/file_owner.h) are stored under an identity of that owner, and are never used for other
 * files with the build-id. Only trusted files contribute to the symbols of a trusted file.
 *
 * If code_instruction_load() has succeeded, what was made without Zydis is made anew, too.
 *
 * Other processes extract and fetch: symbolizer_request() and symbolizer_run() do not wait (I5).
 * Symbol files that the cache cannot store (read-only folder, full disk) stay in memory as long as
 * this struct. Binaries without symbols are counted by reason (I1).
 *
 * Users share the places in the queue. The user whose files took the least CPU time of workers
 * lately comes next. With `user_burst_ns`, a user who spent that much at once waits: 1/20 of a CPU
 * is granted back. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/user_share.h"
#include "broker/broker.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"
#include "symbolize/worker_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;

struct symbolizer_options {
	struct symbol_cache *cache; /* borrowed; NULL: no cache */
	struct broker *broker;	    /* borrowed */
	struct worker_pool_options workers;
	const char *debuginfod_urls; /* NULL or "": no servers */
	bool is_forced;		     /* extracts even if the cache has an entry */
	/* Symbols or unwind tables. Unwind tables have their own cache, and debug files do not
	 * improve them. */
	enum pilotlight_symbol_product product;
	/*
	 * For files that a user names: a file that has debug information but no code counts as a
	 * debug file, and a debug file that was rejected before is retried at once, not after a
	 * day. Never set it for mapped files: any process could then displace trusted symbols.
	 */
	bool takes_debug_files;
	uint64_t fetch_timeout_ns; /* 0: 10 minutes */
	uint64_t user_burst_ns;	   /* CPU time; 0: no bound */
	/* How long workers run before one more may start for another user; 0: 10 s. */
	uint64_t overtake_ns;
};

struct symbolizer_counters {
	uint64_t requested;			     /* binaries */
	uint64_t cached;			     /* found in the cache with symbols */
	uint64_t extracted;			     /* by a worker */
	uint64_t failed[PILOTLIGHT_SYMBOL_FAILURES]; /* binaries without symbols, by reason */
	uint64_t units_failed;			     /* DWARF units that lack functions or lines */
	uint64_t refused;			     /* requests beyond a bound or without memory */
	uint64_t fetched, fetch_failed;		     /* debuginfod */
	uint64_t fetches_pending;		     /* running or waiting */
	uint64_t pending;			     /* not finished, without fetches */
	uint64_t worker_cpu_ns;			     /* as workers reported */
	uint64_t worker_spent_ns;		     /* of all, also of those that were killed */
};

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer);
DEFINE_CLEANUP(struct symbolizer, symbolizer_free);

/*
 * Requests the symbols of a binary; a repeated request does nothing. Descriptors are duplicated.
 * Returns 0, -ENOMEM, or -E2BIG: too many binaries, or the user's share of the queue is used up
 * (counted).
 */
int symbolizer_request(struct symbolizer *symbolizer, const struct symbol_binary *binary);

/* The outcome of a request; the identity is that of symbol_identity_of_binary(). */
struct symbolizer_outcome {
	bool is_pending;
	bool was_cached;
	enum pilotlight_symbol_failure failure; /* OK: it has symbols */
	int error;				/* -errno with details of the failure, or 0 */
	uint64_t worker_cpu_ns;
};
/* Returns 0 or -ENOENT. */
int symbolizer_outcome(const struct symbolizer *symbolizer, const struct symbol_identity *identity,
	struct symbolizer_outcome *ret_outcome);

/* Readable when symbolizer_run() has something to do; borrowed. */
int symbolizer_poll_fd(const struct symbolizer *symbolizer);
int symbolizer_run(struct symbolizer *symbolizer);

/* Gives workers an ordinary priority, because a user waits. */
void symbolizer_hurry(struct symbolizer *symbolizer);

/* Users' time has no bound from now on, because a user waits. */
void symbolizer_ignore_time(struct symbolizer *symbolizer);

/*
 * Fetches a binary's debug file from the servers, extracts its symbol file, and waits for it, until
 * `deadline_ns` of CLOCK_MONOTONIC. Ignores the cache. Returns 0; -EAGAIN at the deadline, and the
 * next call continues; -ENOENT no server has the file; -ETIMEDOUT the servers took too long;
 * -ENODATA the file has no symbols for the binary; -EFBIG too big; -ENOSYS libdebuginfod is
 * missing; -EINVAL no server is configured; or another -errno.
 */
int symbolizer_fetch(
	struct symbolizer *symbolizer, const struct build_id *id, uint64_t deadline_ns);

/*
 * Finds a binary's symbol file, borrowed until the next call of this or of the source. Returns 0;
 * -ENODATA if there is none; -ENOMEM and others as symbol_cache_find().
 */
int symbolizer_find_file(struct symbolizer *symbolizer, const struct symbol_identity *identity,
	const struct symbol_file **ret_file);

/* Looks names up in symbol files only. It identifies a binary by its build-id and by the owner of
 * its descriptor. Borrowed from the symbolizer. */
struct symbol_source *symbolizer_source(struct symbolizer *symbolizer);

void symbolizer_counters(
	const struct symbolizer *symbolizer, struct symbolizer_counters *ret_counters);

/* Requests that were refused, or that waited for their user's time (USER_SYMBOLS). */
const struct user_excess *symbolizer_excess(const struct symbolizer *symbolizer);
/* The requests that are not finished. */
const struct user_share *symbolizer_unfinished(const struct symbolizer *symbolizer);

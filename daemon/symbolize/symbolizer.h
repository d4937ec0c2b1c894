/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for binaries: looks into the cache, else has a worker make the symbol file of the best that
 * is to be had, and replaces an entry when something better has turned up. Sources by rank: the
 * host's debug file by build-id; one from a debuginfod server, fetched by a process of its own and
 * only where that is configured; one by .gnu_debuglink; the binary itself.
 *
 * A build-id is what a file says of itself. What is made of a file whose owner is not trusted
 * (symbol/file_owner.h) is kept by an identity of his own, and so is never taken for another's of
 * that build-id; and of a trusted file's names only trusted files tell.
 *
 * Everything happens in other processes: want() and run() do not wait (I5). Results that the cache
 * cannot take (a folder that is read-only, a full disk) are kept for the life of this struct. What
 * could not be named is counted by reason (I1). One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "broker/broker.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"
#include "symbolize/worker_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;

struct symbolizer_options {
	struct symbol_cache *cache; /* borrowed; NULL: nothing is kept */
	struct broker *broker;	    /* borrowed */
	struct worker_pool_options workers;
	const char *debuginfod_urls; /* NULL or "": none is asked */
	bool is_forced;		     /* extracts anew what the cache has */
	/* Symbols, or unwind tables, which have a cache of their own; of those the binary's own are
	 * the best there are. */
	enum pilotlight_symbol_product product;
	/*
	 * For files that somebody has named: one with debug information alone is a debug file and
	 * has its rank. What is mapped is never that, or any process could displace what is
	 * trusted; and a debug file that was passed over before is then tried again at once, not
	 * after a day.
	 */
	bool takes_debug_files;
	uint64_t fetch_timeout_ns; /* 0: 10 minutes */
};

struct symbolizer_counters {
	uint64_t requested;			     /* binaries */
	uint64_t cached;			     /* had their symbols in the cache */
	uint64_t extracted;			     /* have got them from a worker */
	uint64_t failed[PILOTLIGHT_SYMBOL_FAILURES]; /* binaries without any, by reason */
	uint64_t units_failed;		/* parts of binaries that lack functions or lines */
	uint64_t refused;		/* requests beyond a bound or without memory */
	uint64_t fetched, fetch_failed; /* debuginfod */
	uint64_t fetches_pending;	/* asked for, or to be asked for */
	uint64_t pending;		/* still being worked on */
	uint64_t worker_cpu_ns;
};

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer);
DEFINE_CLEANUP(struct symbolizer, symbolizer_free);

/*
 * Code of this binary has been seen. `binary` as in symbol/symbol_source.h; its descriptors are
 * duplicated. Once a binary. Returns 0, -ENOMEM, -E2BIG too many binaries.
 */
int symbolizer_request(struct symbolizer *symbolizer, const struct symbol_binary *binary);

/* The outcome of a requested binary, by its symbol_identity_of_binary(). */
struct symbolizer_outcome {
	bool is_pending;
	bool was_cached;
	enum pilotlight_symbol_failure failure; /* OK: it has symbols */
	int error; /* with UNREADABLE, NO_SPACE and the like: -errno; 0: nothing to add */
	uint64_t worker_cpu_ns;
};
/* Returns 0 or -ENOENT. */
int symbolizer_outcome(const struct symbolizer *symbolizer, const struct symbol_identity *identity,
	struct symbolizer_outcome *ret_outcome);

/* Readable when symbolizer_run() has something to do; borrowed. */
int symbolizer_poll_fd(const struct symbolizer *symbolizer);
int symbolizer_run(struct symbolizer *symbolizer);

/* Somebody waits now: workers get an ordinary priority. */
void symbolizer_hurry(struct symbolizer *symbolizer);

/* Hurries, until nothing local is pending or the time is over; what is fetched from a server is not
 * waited for. `deadline_ns` is of CLOCK_MONOTONIC. Returns 0, -ETIMEDOUT, or -errno. */
int symbolizer_wait(struct symbolizer *symbolizer, uint64_t deadline_ns);

/*
 * Asks the servers for a binary's debug file and makes its symbol file, whatever the cache has, and
 * waits. Returns 0; -EAGAIN the deadline has come first, and a further call goes on; -ENOENT no
 * server has it; -ETIMEDOUT the servers took too long; -ENODATA nothing could be made of it;
 * -EFBIG it is too big; -ENOSYS there is no libdebuginfod; -EINVAL no server is configured; another
 * -errno.
 */
int symbolizer_fetch(
	struct symbolizer *symbolizer, const struct build_id *id, uint64_t deadline_ns);

/*
 * The file that was made of a binary. Borrowed until the next call of this or of the source.
 * Returns 0; -ENODATA there is none; -EBADMSG, -ENOMEM, … as of symbol_cache_find().
 */
int symbolizer_find_file(struct symbolizer *symbolizer, const struct symbol_identity *identity,
	const struct symbol_file **ret_file);

/* Answers from symbol files alone, by build-id and the descriptor that tells whose the file is.
 * Borrowed; lives as long as the symbolizer. */
struct symbol_source *symbolizer_source(struct symbolizer *symbolizer);

void symbolizer_counters(
	const struct symbolizer *symbolizer, struct symbolizer_counters *ret_counters);

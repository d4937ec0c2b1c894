/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One debug file from debuginfod servers. libdebuginfod waits for the network, so a process of its
 * own uses it: this program as `pilotlight symbol-fetch`, without privileges, which writes nowhere
 * but to a folder of its own and is killed when its time is over. Whatever a server does, refusing,
 * dawdling, sending without end, or garbage, costs that process at most (I4, I5, I8). What comes is
 * no more believed than any file: its build-id is for the extraction to check.
 *
 * Driven by the owner's poll loop. One owner, one thread, for each struct; any number of them.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"

#include <stdint.h>

struct broker;
struct debuginfod_fetch;

struct debuginfod_fetch_options {
	/* Of servers, separated by spaces, as DEBUGINFOD_URLS has them: 8191 bytes at most. */
	const char *urls;
	struct broker *broker; /* borrowed; a remote one starts the process; NULL: this process */
	const char *directory; /* where the fetcher's folder is made; NULL: /var/tmp */
	const char *program;   /* of one that this process starts; NULL: /proc/self/exe */
	uint64_t timeout_ns;   /* 0: 10 minutes; from its start to its end */
	uint64_t bytes_max;    /* of the file; 0: 4 GiB */
};

/*
 * Asks for the debug file of `id` (size at least 1; where zeros at its end may be missing, the
 * usual lengths of 8, 16 and 20 bytes are tried too). Folders that dead fetchers have left in
 * `directory` are removed first. Returns 0; -EINVAL no servers; -E2BIG too many; -ENOMEM; -EAGAIN
 * the broker has no place now; -errno of making the folder or starting the process.
 */
int debuginfod_fetch_start(const struct debuginfod_fetch_options *options,
	const struct build_id *id, struct debuginfod_fetch **ret_fetch);

/* Kills the process, if it still runs, and removes its folder. */
void debuginfod_fetch_free(struct debuginfod_fetch *fetch);
DEFINE_CLEANUP(struct debuginfod_fetch, debuginfod_fetch_free);

/* Readable when debuginfod_fetch_take() has something to do; borrowed. */
int debuginfod_fetch_poll_fd(const struct debuginfod_fetch *fetch);

/*
 * -EAGAIN while it goes on; then, once, 0 and a descriptor of the file, which has no name any more;
 * or -ENOENT no server has it, which libdebuginfod also says of some that fail; -ETIMEDOUT; -EFBIG;
 * -ENOSPC; -ENOMEM; -ENOSYS libdebuginfod.so.1 is not installed; -EPERM we are root and may not
 * start it as anybody else; -EIO all else that servers and networks do.
 */
int debuginfod_fetch_take(struct debuginfod_fetch *fetch, int *ret_fd);

/* What to say of such an error, and what to do: a part of a sentence. */
const char *debuginfod_fetch_explain(int error);

/*
 * The fetcher's side. Returns an exit status. Only for a process that was started for this.
 */
int debuginfod_fetch_main(int argc, char **argv);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetches one debug file from debuginfod servers. libdebuginfod waits for the network, so a
 * separate process uses it: this program as `pilotlight symbol-fetch`. The process has no
 * privileges, writes only to its own folder, and is killed at the timeout. A server that refuses,
 * stalls, sends without end or sends garbage harms only that process (I4, I5, I8). The fetched file
 * is not trusted: the extraction checks its build-id.
 *
 * The owner's poll loop drives it. One owner, one thread for each struct.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"

#include <stdint.h>

struct broker;
struct debuginfod_fetch;

struct debuginfod_fetch_options {
	/* As in DEBUGINFOD_URLS: separated by spaces; at most 8191 bytes. */
	const char *urls;
	struct broker *broker; /* borrowed; starts the process if remote; may be NULL */
	const char *directory; /* of the fetcher's folder; NULL: /var/tmp */
	const char *program;   /* without a remote broker; NULL: /proc/self/exe */
	uint64_t timeout_ns;   /* 0: 10 minutes */
	uint64_t bytes_max;    /* of the file; 0: 4 GiB */
};

/*
 * Starts to fetch the debug file of `id` (size at least 1). Zeros at the end of the id may be
 * missing: the usual lengths of 8, 16 and 20 bytes are tried, too. Removes folders of dead fetchers
 * from `directory`. Returns 0; -EINVAL no servers; -E2BIG the URLs are too long; -ENOMEM; -EAGAIN
 * the broker can start no process now; -ENETDOWN the service that starts it does not run; or -errno
 * of making the folder or starting the process.
 */
int debuginfod_fetch_start(const struct debuginfod_fetch_options *options,
	const struct build_id *id, struct debuginfod_fetch **ret_fetch);

/* Kills the process if it runs, and removes its folder. */
void debuginfod_fetch_free(struct debuginfod_fetch *fetch);
DEFINE_CLEANUP(struct debuginfod_fetch, debuginfod_fetch_free);

/* Readable when debuginfod_fetch_take() has something to do; borrowed. */
int debuginfod_fetch_poll_fd(const struct debuginfod_fetch *fetch);

/*
 * Returns -EAGAIN while the fetch runs. Then, once: 0 and a descriptor of the file, whose name is
 * removed; -ENOENT no server has it (libdebuginfod reports some failing servers so, too);
 * -ETIMEDOUT; -EFBIG; -ENOSPC; -ENOMEM; -ENOSYS libdebuginfod.so.1 is not installed; -EPERM root
 * without the capabilities to change to another user; -EIO any other failure of server or network.
 */
int debuginfod_fetch_take(struct debuginfod_fetch *fetch, int *ret_fd);

/* The cause of an error and what to do about it, as part of a sentence. */
const char *debuginfod_fetch_explain(int error);

/* The main function of the fetcher process. Returns an exit status. */
int debuginfod_fetch_main(int argc, char **argv);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command asks the service's history for: the options that select a part of it
 * (query/selection.h documents their values, and the service checks them), and where the answer
 * goes. All of a selection but its times may be repeated, up to the bounds of query_text.h.
 * Calendar times are in this process's zone (TZ), which the service does not know: it is sent
 * seconds.
 */
#pragma once

#include "client/query_text.h"
#include "tools/command.h"

enum { HISTORY_TIMES = 3 }; /* last, from, to */

/* Begins the struct of each command that asks the service. */
struct history_request {
	struct invocation base;
	struct query_text query; /* the path, and what was selected until now */
	const char *socket_path;
	const char *path, *format; /* of -o and -f; NULL: not given */
	bool is_quiet;
	bool is_by_line;
	bool is_against;		     /* what follows selects what to compare with */
	size_t against_count;		     /* parameters of that selection */
	const char *times[2][HISTORY_TIMES]; /* of both selections; NULL: not given */
};

/* Option tables: --last, --from, --to; --pid and the like; --socket. */
extern const struct option_row history_time_options[], history_select_options[],
	history_socket_options[];

/* `path` is the service's, and borrowed. `request` is zeros but for its base. */
void history_request_init(struct history_request *request, const char *path);

/*
 * Puts the times into the query. To be called once, when all options are parsed. Returns 0,
 * EXIT_USAGE or -errno.
 */
int history_request_check(struct history_request *request);

/*
 * Asks for the query with `format` (NULL: without one) and writes the answer to `path`, a file that
 * is there whole or not at all (output_file.h), or "-". A terminal sees what is waited for when
 * that takes more than a second. Returns 0, EXIT_USAGE where the query is too long, or -errno;
 * -EPIPE without a fault: the reader of standard output has gone away.
 */
int history_request_write(struct history_request *request, const char *format, const char *path);

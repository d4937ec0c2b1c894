/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A query of the service's history: the options that select a part of it (query/selection.h
 * documents their values, and the service checks them), and the output. All options of a selection
 * except times may be repeated, up to the bounds of query_text.h.
 * Calendar times are in this process's zone (TZ), which the service does not know: it is sent
 * seconds.
 */
#pragma once

#include "client/query_text.h"
#include "pilotlight/counted_event.h"
#include "tools/command.h"

enum { HISTORY_TIMES = 3 }; /* last, from, to */
#define HISTORY_ROWS_UNSET UINT32_MAX

/* Begins the struct of each command that asks the service. */
struct history_request {
	struct invocation base;
	struct query_text query; /* the path, and what was selected until now */
	const char *socket_path;
	const char *path, *format; /* of -o and -f; NULL: not given */
	bool is_quiet;
	bool is_by_line;
	const char *runtime_frames, *group; /* NULL: not given */
	bool is_exact;	      /* the times of the first selection have parts of a second */
	bool is_against;      /* the options that follow select the other side of the comparison */
	size_t against_count; /* parameters of that selection */
	const char *incident; /* NULL: not given */
	const char *event;    /* of the first selection; NULL: not given, CPU time */
	char event_names[2][PILOTLIGHT_EVENT_NAME_BYTES]; /* of both, as the history calls them */
	uint32_t rows;			     /* of a table; HISTORY_ROWS_UNSET: not given */
	uint64_t increase;		     /* of the last answer, as in http_reply */
	const char *times[2][HISTORY_TIMES]; /* of both selections; NULL: not given */
};

/* Option tables: --last, --from, --to; --pid and the like; --socket. */
extern const struct option_row history_time_options[], history_select_options[],
	history_socket_options[];

/* The row of an option table for `runtime_frames`. */
#define HISTORY_RUNTIME_FRAMES_OPTION                                                             \
	{                                                                                         \
		0, "runtime-frames", "spliced|both|native",                                       \
			"Show code that an interpreter runs in place of the native frame that "   \
			"runs it (spliced, the default), with that frame (both), or not "         \
			"(native).",                                                              \
			OPTION_CHOICE, .offset = offsetof(struct history_request, runtime_frames) \
	}

/* The row of an option table for `group`. */
#define HISTORY_GROUP_OPTION                                                             \
	{                                                                                \
		0, "group", "comm|unit|container|pod|exe|process|thread",                \
			"Begin stacks with the name of the thread (comm, the default), " \
			"or of another thing that it belongs to.",                       \
			OPTION_CHOICE, .offset = offsetof(struct history_request, group) \
	}

/* The row of an option table for `rows`. */
#define HISTORY_ROWS_OPTION                                                                        \
	{                                                                                          \
		'n', "rows", "N",                                                                  \
			"List the first N rows of a table; 0: all. Without it: 30 on a terminal, " \
			"else all.",                                                               \
			OPTION_NUMBER, .offset = offsetof(struct history_request, rows),           \
				       .max = 999999                                               \
	}

/* `path` is the service's, and borrowed. `request` is zeros but for its base. */
void history_request_init(struct history_request *request, const char *path);

/* Adds the times to the query. Call it once, after parsing. Returns 0, EXIT_USAGE or -errno. */
int history_request_check(struct history_request *request);

/*
 * Sends the query with `format` (NULL: none) and writes the answer to `path` (output_file.h). A
 * terminal shows progress after a second. Returns 0, EXIT_USAGE if the query is too long, or
 * -errno; -EPIPE without a fault if the reader of standard output has gone away.
 */
int history_request_write(struct history_request *request, const char *format, const char *path);

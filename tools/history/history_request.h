/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command asks the service's history for: the options that select a part of it, as
 * query/selection.h documents their values, which the service checks; and where the answer goes.
 * Every option of a selection but its times may be given more than once, up to the bounds of
 * query_text.h. Calendar times are of this process's zone (TZ), which the service does not know, so
 * it is sent the seconds.
 */
#pragma once

#include "client/query_text.h"

#include <stdbool.h>
#include <stddef.h>

enum history_parse {
	HISTORY_PARSE_RUN,
	HISTORY_PARSE_HELP,   /* it was asked for, and printed */
	HISTORY_PARSE_WRONG,  /* used wrongly; standard error says how */
	HISTORY_PARSE_FAILED, /* there is no memory; likewise */
};

enum history_time { HISTORY_TIME_LAST, HISTORY_TIME_FROM, HISTORY_TIME_TO, HISTORY_TIMES };

struct history_request {
	const char *command; /* "flamegraph": for messages */
	const char *help;
	struct query_text query; /* the path and what was selected */
	const char *socket_path;
	const char *path;		     /* -o; NULL: not given */
	const char *format;		     /* -f; likewise */
	bool is_against;		     /* what follows selects what is compared with */
	size_t selected, against;	     /* parameters of the two selections */
	const char *times[2][HISTORY_TIMES]; /* of the two; NULL: not given */
	bool is_quiet;
};

/* Values of the options below; a command's own are beneath 512 or from HISTORY_OPTION_OWN on. */
enum {
	HISTORY_OPTION_SELECT = 512, /* and the number of the parameter */
	HISTORY_OPTION_SOCKET = 640,
	HISTORY_OPTION_OWN = 768,
};

/* To be put into a command's array of long options; the order is that of the parameters. */
/* clang-format off */
#define HISTORY_OPTIONS_TIME \
	{ "last", required_argument, NULL, HISTORY_OPTION_SELECT + 0 }, \
	{ "from", required_argument, NULL, HISTORY_OPTION_SELECT + 1 }, \
	{ "to", required_argument, NULL, HISTORY_OPTION_SELECT + 2 }
#define HISTORY_OPTIONS_SELECT \
	{ "pid", required_argument, NULL, HISTORY_OPTION_SELECT + 3 }, \
	{ "tid", required_argument, NULL, HISTORY_OPTION_SELECT + 4 }, \
	{ "comm", required_argument, NULL, HISTORY_OPTION_SELECT + 5 }, \
	{ "thread", required_argument, NULL, HISTORY_OPTION_SELECT + 6 }, \
	{ "exe", required_argument, NULL, HISTORY_OPTION_SELECT + 7 }, \
	{ "unit", required_argument, NULL, HISTORY_OPTION_SELECT + 8 }, \
	{ "cgroup", required_argument, NULL, HISTORY_OPTION_SELECT + 9 }, \
	{ "container", required_argument, NULL, HISTORY_OPTION_SELECT + 10 }, \
	{ "pod", required_argument, NULL, HISTORY_OPTION_SELECT + 11 }, \
	{ "slice", required_argument, NULL, HISTORY_OPTION_SELECT + 12 }, \
	{ "build-id", required_argument, NULL, HISTORY_OPTION_SELECT + 13 }, \
	{ "event", required_argument, NULL, HISTORY_OPTION_SELECT + 14 }
#define HISTORY_OPTIONS_ASK \
	{ "socket", required_argument, NULL, HISTORY_OPTION_SOCKET }, \
	{ "help", no_argument, NULL, 'h' }
#define HISTORY_OPTIONS_OUTPUT \
	{ "output", required_argument, NULL, 'o' }, \
	{ "format", required_argument, NULL, 'f' }, \
	{ "quiet", no_argument, NULL, 'q' }
/* clang-format on */

/* The part of a help text that tells them. */
#define HISTORY_HELP_TIME                                                                 \
	"  --last DURATION    up to now, or to --to: 10min (the default), 1h 30min, 2d\n" \
	"  --from TIME        \"2026-11-20 03:10\", \"yesterday 18:00\", -2h\n"           \
	"  --to TIME          without it: now\n"
#define HISTORY_HELP_SELECT                                                  \
	"  -p, --pid PID      a process; --tid TID a thread\n"               \
	"  --comm NAME        the thread's name, which --thread is, too\n"   \
	"  --exe PATH         the program\n"                                 \
	"  --unit NAME        a systemd unit: nginx.service; --slice NAME\n" \
	"  --cgroup PATH      with all below it\n"                           \
	"  --container ID     the start of it will do; --pod UID likewise\n" \
	"  --build-id HEX     stacks with code of this binary\n"             \
	"  --event NAME       what was sampled\n"
#define HISTORY_HELP_ASK                                               \
	"  --socket PATH      the service's ($PILOTLIGHT_SOCKET, or\n" \
	"                     /run/pilotlight/api.sock)\n"             \
	"  -h, --help         this\n"

/* `path` is the service's. All pointers are borrowed. */
void history_request_init(
	struct history_request *request, const char *command, const char *help, const char *path);

/* An option of the arrays above, with optarg; others are wrong. */
enum history_parse history_request_take(struct history_request *request, int option);

/*
 * Puts the times into the query. Are they some, are there no arguments left from argv[optind] on,
 * and does the request fit?
 */
enum history_parse history_request_check(struct history_request *request, int argc, char **argv);

/* Prints "pilotlight: SENTENCE 'WHAT'" and where there is help. */
enum history_parse history_request_wrong(
	const struct history_request *request, const char *sentence, const char *what);

/* The exit status of what ended before it began. */
int history_parse_status(enum history_parse parse);

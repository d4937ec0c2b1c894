/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of a group such as `pilotlight symbols` or `pilotlight jit`, and what all of them
 * share: the list of commands, --json and --help, how wrong use and failures are told.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct output;

struct command {
	const char *group; /* "symbols" */
	const char *name;
	const char *line; /* in the list of commands */
	const char *help; /* begins with "usage:" */
	/* The exit status. `argv[0]` is the command's name. */
	int (*run)(const struct command *command, int argc, char **argv);
};

struct command_group {
	const char *name;
	const char *head, *tail; /* of its help, before and after the list of commands */
	const struct command *const *commands;
	size_t count;
};

/* Runs the command that argv[1] names. Returns the program's exit status. */
int command_group_main(const struct command_group *group, int argc, char **argv);

/* To be put first into a command's own array of long options; values from 512 on are taken. */
enum { COMMAND_OPTION_JSON = 512, COMMAND_OPTION_GROUP };
/* clang-format off */
#define COMMAND_OPTIONS \
	{ "json", no_argument, NULL, COMMAND_OPTION_JSON }, \
	{ "help", no_argument, NULL, 'h' }
/* clang-format on */

enum command_parse {
	COMMAND_PARSE_RUN,
	COMMAND_PARSE_HELP,  /* it was asked for, and printed */
	COMMAND_PARSE_WRONG, /* used wrongly; standard error says how */
};

/* An option that a command does not know itself. */
enum command_parse command_take_option(
	const struct command *command, int option, bool *ret_is_json);

/* Prints "pilotlight: SENTENCE 'WHAT'" and where there is help. */
enum command_parse command_wrong(
	const struct command *command, const char *sentence, const char *what);

/*
 * Are there from `min` to `max` arguments left, from argv[optind] on? `what` they are is for
 * messages.
 */
enum command_parse command_check_arguments(
	const struct command *command, int argc, char **argv, int min, int max, const char *what);

/* Both, for commands that have no options of their own. */
enum command_parse command_parse_plainly(const struct command *command, int argc, char **argv,
	int min, int max, const char *what, bool *ret_is_json);

/* The exit status of what ended before it began. */
int command_parse_status(enum command_parse parse);

/*
 * Tells the fault, or what `error` means in general; nothing where who read standard output has
 * gone away, who does not want to know. Returns EXIT_FAILURE.
 */
int command_fail(const struct fault *fault, int error);

/* Flushes what goes to standard output. Returns 0, or -errno with `fault`, -EPIPE without. */
int command_finish_output(struct output *output, struct fault *fault);

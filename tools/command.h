/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of pilotlight: a row of a table with its name, its help, the options that it takes and
 * the function that does its work. A row with `commands` is a group, such as `pilotlight symbols`.
 *
 * command_main() parses the arguments into a struct of the command's own, which begins with a
 * struct invocation, and runs it. All commands take --help. Exit statuses: 0 done, 1 failed, 2
 * wrong usage. Failures and wrong usage are reported here, in one sentence on standard error.
 */
#pragma once

#include "base/fault.h"
#include "base/json.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 };

struct invocation;

/* How the value of an option is stored in the invocation. */
enum option_kind {
	OPTION_END, /* no option: the end of a table */
	OPTION_SET, /* a bool, which becomes true */
	OPTION_CLEAR,
	OPTION_STRING,	 /* a const char *, borrowed from argv */
	OPTION_CHOICE,	 /* the same, one of the words in `argument`: "used|name" */
	OPTION_NUMBER,	 /* a uint32_t from `min` to `max` */
	OPTION_BYTES,	 /* a uint64_t of at least `min`: "4096", "512K", "1G" */
	OPTION_DURATION, /* a uint64_t of ns from `min` to `max` (base/time_text.h) */
	OPTION_CALL,	 /* passed to `take` */
};

struct option_row {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* "HZ": for help; NULL: it takes none */
	const char *help;     /* NULL: another name of the row above */
	enum option_kind kind;
	size_t offset; /* in the command's struct */
	uint64_t min, max;
	/* Returns 0, EXIT_USAGE from command_misuse(), or -errno. `value` is borrowed from argv. */
	int (*take)(void *invocation, const struct option_row *option, const char *value);
};

enum { COMMAND_TABLES_MAX = 4 };

struct command {
	const char *name;	 /* as it is typed behind "pilotlight": "symbols add" */
	const char *summary;	 /* a line in the list of commands; NULL: not listed */
	const char *synopsis;	 /* behind the name: "[OPTION...] FILE..." */
	const char *description; /* paragraphs of help before the options */
	const char *notes;	 /* and after them; NULL: none */

	/* Of a group; ends with NULL. If it also has run(), that is for arguments that begin with
	 * none of them. */
	const struct command *const *commands;

	const struct option_row *options[COMMAND_TABLES_MAX]; /* tables; NULL: no more */
	bool has_json;					      /* takes --json */
	bool has_own_command; /* its arguments are a command, whose options are not ours */
	int arguments_min, arguments_max;
	const char *argument;		   /* what the first one is: "a build-id" */
	size_t bytes;			   /* of its struct */
	void (*prepare)(void *invocation); /* sets defaults in a struct of zeros; may be NULL */
	/* Returns an exit status, or -errno with the invocation's fault. */
	int (*run)(void *invocation);
	void (*done)(void *invocation); /* may be NULL */
};

struct invocation {
	const struct command *command;
	int argument_count;
	char **arguments; /* ends with NULL; borrowed from argv */
	bool is_json;
	struct fault fault;
	struct output output; /* standard output */
	struct json json;     /* onto it */
};

/* `argv[0]` is the command's name. Returns the exit status. */
int command_main(const struct command *command, int argc, char **argv);

/*
 * The first half: parses into `invocation`, of command->bytes bytes. Returns 0, -errno, or what to
 * exit with as `ret_status` and 1: help was asked for, or the use was wrong.
 */
int command_parse(
	const struct command *command, int argc, char **argv, void *invocation, int *ret_status);

/* Reports wrong use, "pilotlight: SENTENCE; see `pilotlight NAME --help`". Returns EXIT_USAGE. */
int command_misuse(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Flushes standard output. Returns 0 or -errno with the invocation's fault; -EPIPE without one: the
 * reader has gone away and wants no message.
 */
int command_flush(struct invocation *invocation);

/* "4096", "512K", "1G", with binary units. Returns 0, -EINVAL or -ERANGE. */
int command_parse_bytes(const char *text, uint64_t *ret_bytes);

/* A whole number without a sign. Returns 0, -EINVAL or -ERANGE where it is not in the range. */
int command_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);

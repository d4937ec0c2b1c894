/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/command.h"

#include "base/log.h"
#include "base/output.h"
#include "tools/exit_status.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_usage(const struct command_group *group, FILE *file, int status)
{
	(void)fputs(group->head, file);
	for (size_t i = 0; i < group->count; i++)
		(void)fprintf(
			file, "  %-8s %s\n", group->commands[i]->name, group->commands[i]->line);
	(void)fputs(group->tail, file);
	return status;
}

int command_group_main(const struct command_group *group, int argc, char **argv)
{
	if (argc < 2)
		return print_usage(group, stderr, EXIT_USAGE);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_usage(group, stdout, EXIT_SUCCESS);
	for (size_t i = 0; i < group->count; i++)
		if (strcmp(argv[1], group->commands[i]->name) == 0) {
			/* 0: getopt begins anew. */
			optind = 0;
			return group->commands[i]->run(group->commands[i], argc - 1, argv + 1);
		}
	(void)fprintf(stderr,
		"pilotlight: there is no command '%s %s'; see `pilotlight %s --help`\n",
		group->name, argv[1], group->name);
	return EXIT_USAGE;
}

enum command_parse command_wrong(
	const struct command *command, const char *sentence, const char *what)
{
	(void)fprintf(stderr, "pilotlight: %s '%s'; see `pilotlight %s %s --help`\n", sentence,
		what, command->group, command->name);
	return COMMAND_PARSE_WRONG;
}

enum command_parse command_take_option(const struct command *command, int option, bool *ret_is_json)
{
	switch (option) {
	case COMMAND_OPTION_JSON:
		*ret_is_json = true;
		return COMMAND_PARSE_RUN;
	case 'h':
		(void)fputs(command->help, stdout);
		return COMMAND_PARSE_HELP;
	default:
		(void)fprintf(stderr, "pilotlight: see `pilotlight %s %s --help`\n", command->group,
			command->name);
		return COMMAND_PARSE_WRONG;
	}
}

enum command_parse command_check_arguments(
	const struct command *command, int argc, char **argv, int min, int max, const char *what)
{
	if (argc - optind < min) {
		(void)fprintf(stderr, "pilotlight: %s %s needs %s; see `pilotlight %s %s --help`\n",
			command->group, command->name, what, command->group, command->name);
		return COMMAND_PARSE_WRONG;
	}
	if (argc - optind > max)
		return command_wrong(
			command, "one argument too many, beginning with", argv[optind + max]);
	return COMMAND_PARSE_RUN;
}

enum command_parse command_parse_plainly(const struct command *command, int argc, char **argv,
	int min, int max, const char *what, bool *ret_is_json)
{
	static const struct option long_options[] = { COMMAND_OPTIONS, { 0 } };
	enum command_parse r;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		r = command_take_option(command, option, ret_is_json);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, min, max, what);
}

int command_parse_status(enum command_parse parse)
{
	return parse == COMMAND_PARSE_HELP ? EXIT_SUCCESS : EXIT_USAGE;
}

int command_fail(const struct fault *fault, int error)
{
	if (fault->text[0] || error != -EPIPE)
		log_error("%s", fault->text[0] ? fault->text : strerror(-error));
	return EXIT_FAILURE;
}

int command_finish_output(struct output *output, struct fault *fault)
{
	int r = output_finish(output);

	if (r < 0 && r != -EPIPE)
		return fault_set(fault, r, "cannot write to standard output: %s", strerror(-r));
	return r;
}

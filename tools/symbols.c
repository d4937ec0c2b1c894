/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols.h"

#include "base/array.h"
#include "tools/exit_status.h"
#include "tools/symbols_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct symbols_command *const commands[] = {
	&symbols_add,
	&symbols_list,
	&symbols_show,
	&symbols_lookup,
	&symbols_prune,
	&symbols_verify,
	&symbols_fetch,
	&symbols_export,
};

static int print_usage(FILE *file, int status)
{
	(void)fputs(
		"usage: pilotlight symbols COMMAND [OPTION...] [ARGUMENT...]\n"
		"\n"
		"Functions, inlined calls and source lines of binaries by build-id, in a folder\n"
		"that recordings take names from.\n"
		"\n",
		file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->line);
	(void)fputs(
		"\n"
		"Each takes --cache DIR, --json and --help. BUILD-ID is all of a build-id or at\n"
		"least its first 4 digits, `htlhash:HEX` of a binary without one, or the path of\n"
		"an ELF file.\n",
		file);
	return status;
}

int symbols_main(int argc, char **argv)
{
	if (argc < 2)
		return print_usage(stderr, EXIT_USAGE);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_usage(stdout, EXIT_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[1], commands[i]->name) == 0) {
			/* 0: getopt begins anew. */
			optind = 0;
			return commands[i]->run(commands[i], argc - 1, argv + 1);
		}
	(void)fprintf(stderr,
		"pilotlight: there is no command 'symbols %s'; see `pilotlight symbols --help`\n",
		argv[1]);
	return EXIT_USAGE;
}

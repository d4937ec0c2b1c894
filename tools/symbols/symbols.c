/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols.h"

#include "base/array.h"
#include "tools/symbols/symbols_command.h"

static const struct command *const commands[] = {
	&symbols_add,
	&symbols_list,
	&symbols_show,
	&symbols_lookup,
	&symbols_prune,
	&symbols_verify,
	&symbols_fetch,
};

static const char head[] =
	"usage: pilotlight symbols COMMAND [OPTION...] [ARGUMENT...]\n"
	"\n"
	"Functions, inlined calls and source lines of binaries by build-id, in a folder\n"
	"that recordings take names from.\n"
	"\n";

static const char tail[] =
	"\n"
	"Each takes --cache DIR, --json and --help. BUILD-ID is all of a build-id or at\n"
	"least its first 4 digits, `htlhash:HEX` of a binary without one, or the path of\n"
	"an ELF file.\n";

int symbols_main(int argc, char **argv)
{
	static const struct command_group group = {
		"symbols",
		head,
		tail,
		commands,
		ARRAY_SIZE(commands),
	};

	return command_group_main(&group, argc, argv);
}

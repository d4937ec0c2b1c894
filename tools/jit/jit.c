/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit.h"

#include "base/array.h"
#include "tools/jit/jit_command.h"

static const struct command *const commands[] = {
	&jit_list,
	&jit_dump,
	&jit_symbols,
	&jit_verify,
	&jit_tail,
};

static const char head[] =
	"usage: pilotlight jit COMMAND [OPTION...] [ARGUMENT...]\n"
	"\n"
	"Code that virtual machines generate while they run, and the files that they name\n"
	"it by: jitdump files and perf maps.\n"
	"\n";

static const char tail[] =
	"\n"
	"Each takes --json and --help. FILE is a jitdump file, jit-PID.dump, and for\n"
	"`symbols` also a perf map, perf-PID.map.\n";

int jit_main(int argc, char **argv)
{
	static const struct command_group group = {
		"jit",
		head,
		tail,
		commands,
		ARRAY_SIZE(commands),
	};

	return command_group_main(&group, argc, argv);
}

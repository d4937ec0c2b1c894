/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that people type: a table of subcommands. */
#include "base/array.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/worker_pool.h"
#include "tools/doctor/doctor.h"
#include "tools/exit_status.h"
#include "tools/history/diff_command.h"
#include "tools/history/flamegraph_command.h"
#include "tools/history/status_command.h"
#include "tools/jit/jit.h"
#include "tools/record/record.h"
#include "tools/symbols/symbols.h"
#include "tools/top/top_command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name;
	int (*function)(int argc, char **argv);
	const char *line; /* NULL: not for people */
} commands[] = {
	{ "record", record_main, "profile now: this machine, some processes, or a command" },
	{ "flamegraph", flamegraph_main,
		"what has run, out of the history that pilotlightd keeps" },
	{ "report", report_main, "the functions that took the most time, out of the history" },
	{ "export", export_main, "a profile for other programs, out of the history" },
	{ "diff", diff_main, "what takes more time and what less than at another time" },
	{ "top", top_main, "what takes the CPUs' time now, on a terminal" },
	{ "status", status_main, "how pilotlightd is, and what it costs" },
	{ "doctor", doctor_main, "what this machine offers a profiler, and what it lacks" },
	{ "symbols", symbols_main,
		"the symbol cache: add, list, show, look up, prune, verify, fetch, export" },
	{ "jit", jit_main, "generated code: list, dump, symbols, verify, tail" },
	{ "symbol-worker", worker_main, NULL },
	{ "symbol-fetch", debuginfod_fetch_main, NULL },
};

static void print_usage(FILE *file)
{
	(void)fputs("usage: pilotlight COMMAND [ARGUMENT...]\n\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].line)
			(void)fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].line);
	(void)fputs("\n`pilotlight COMMAND --help` says more; so does pilotlight(1).\n", file);
}

/* A descriptor that we open must not come to be the standard error of someone who closed theirs. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	/* A reader of our output that goes away is an error to report like any other. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)puts("pilotlight " PILOTLIGHT_VERSION);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].function(argc - 1, argv + 1);
	(void)fprintf(
		stderr, "pilotlight: there is no command '%s'; see `pilotlight --help`\n", argv[1]);
	return EXIT_USAGE;
}

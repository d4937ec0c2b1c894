/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command that people type. */
#include "base/array.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/worker_pool.h"
#include "tools/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Our own children, not for people. */
static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} children[] = {
	{ "symbol-worker", worker_main },
	{ "symbol-fetch", debuginfod_fetch_main },
};

/* If our caller closed standard error, a file that we open would get its number and our messages.
 */
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
	/* A reader of our output that goes away is an error like any other. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		(void)puts("pilotlight " PILOTLIGHT_VERSION);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(children); i++)
		if (strcmp(argv[1], children[i].name) == 0)
			return children[i].main(argc - 1, argv + 1);
	return command_main(&pilotlight_command, argc, argv);
}

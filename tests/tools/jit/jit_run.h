/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the commands of `pilotlight jit` on a file in a temporary folder. */
#pragma once

#include "tests/jit/jitdump_fixture.h"
#include "tests/tools/command_run.h"
#include "tests/tools/test_folder.h"
#include "tools/jit/jit_commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct jit_run {
	char path[64]; /* of the file */
	struct jitdump_fixture dump;
} jit_run;

static inline int jit_run_set_up(void **state)
{
	if (test_folder_enter(state) < 0)
		return -1;
	(void)snprintf(jit_run.path, sizeof(jit_run.path), "%s/jit-1234.dump", test_folder);
	jit_run.dump = (struct jitdump_fixture){ 0 };
	return 0;
}

static inline int jit_run_tear_down(void **state)
{
	jitdump_fixture_done(&jit_run.dump);
	(void)unlink(jit_run.path);
	/* Fails if the command left a file of its own behind. */
	return chdir("/") == 0 ? rmdir(test_folder) : -1;
}

/* Replaces the file's content. */
static inline bool jit_run_write(const void *bytes, size_t size)
{
	int fd = open(jit_run.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool is_written = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

	if (fd >= 0)
		(void)close(fd);
	return is_written;
}

/* Runs a command on the file, with `options` before its path. */
static inline int jit_run_file(const struct command *command, const char *options)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "%s%s%s", options, *options ? " " : "", jit_run.path);
	return command_run(command, line);
}

/* Writes the dump to the file and runs a command on it; -1 if it cannot be written. */
static inline int jit_run_dump(const struct command *command, const char *options)
{
	return jit_run_write(jit_run.dump.bytes, jit_run.dump.size) ? jit_run_file(command, options)
								    : -1;
}

static inline size_t jit_run_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

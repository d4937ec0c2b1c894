/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a command of `pilotlight jit` within the test, over files of a folder of its own. */
#pragma once

#include "tests/jit/jitdump_fixture.h"
#include "tests/tools/command_run.h"
#include "tools/jit/jit_commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct jit_run {
	char folder[32];
	char path[64]; /* of the file in it */
	struct jitdump_fixture dump;
	int status;
	char out[COMMAND_RUN_TEXT_BYTES], err[COMMAND_RUN_TEXT_BYTES];
};

static struct jit_run ran;

static inline int jit_run_set_up(void **state)
{
	(void)state;
	(void)strcpy(ran.folder, "/tmp/jit-run.XXXXXX");
	if (!mkdtemp(ran.folder))
		return -1;
	(void)snprintf(ran.path, sizeof(ran.path), "%s/jit-1234.dump", ran.folder);
	ran.dump = (struct jitdump_fixture){ 0 };
	return 0;
}

static inline int jit_run_tear_down(void **state)
{
	(void)state;
	jitdump_fixture_done(&ran.dump);
	(void)unlink(ran.path);
	return rmdir(ran.folder);
}

/* The file becomes these bytes. */
static inline bool jit_run_write(const void *bytes, size_t size)
{
	int fd = open(ran.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool is_written = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

	if (fd >= 0)
		(void)close(fd);
	return is_written;
}

/* `line` is split at its spaces. Returns the exit status. */
static inline int jit_run_line(const struct command *command, const char *line)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)command->name };
	int argc = command_run_split(line, argv, 1);

	ran.status = command_run_words(command, argc, argv, "", 0, ran.out, ran.err);
	return ran.status;
}

/* With `options` before the path of the file. */
static inline int jit_run_file(const struct command *command, const char *options)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "%s%s%s", options, *options ? " " : "", ran.path);
	return jit_run_line(command, line);
}

/* With the dump as the file; -1 where that cannot be written. */
static inline int jit_run_dump(const struct command *command, const char *options)
{
	return jit_run_write(ran.dump.bytes, ran.dump.size) ? jit_run_file(command, options) : -1;
}

/* Was there one line on standard error, with these words? */
static inline bool jit_run_complained(const char *words)
{
	return command_run_is_complaint(ran.err, words);
}

static inline size_t jit_run_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

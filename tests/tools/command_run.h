/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command inside the test process and keeps its exit status and what it printed in `ran`.
 * The subjects' headers (jit_run.h, symbols_run.h, service_run.h) add the files or the service that
 * their commands need.
 */
#pragma once

#include "tools/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COMMAND_RUN_TEXT_BYTES = 1 << 20, COMMAND_RUN_WORDS_MAX = 32 };

/* The last run. */
static struct command_run {
	int status;
	char out[COMMAND_RUN_TEXT_BYTES], err[COMMAND_RUN_TEXT_BYTES];
} ran;

/* Replaces a descriptor by an anonymous file that holds `bytes`. Returns a duplicate of the old
 * one. */
static inline int command_run_replace(int fd, const char *bytes, size_t size)
{
	int saved = dup(fd), file = memfd_create("stream", MFD_CLOEXEC);

	if (saved < 0 || file < 0 || write(file, bytes, size) != (ssize_t)size ||
		lseek(file, 0, SEEK_SET) != 0 || dup2(file, fd) < 0)
		_exit(99);
	(void)close(file);
	return saved;
}

/* Restores a descriptor, after copying what was written to it into `text` unless that is NULL. */
static inline void command_run_restore(int fd, int saved, char *text)
{
	ssize_t size = text ? pread(fd, text, COMMAND_RUN_TEXT_BYTES - 1, 0) : 0;

	if (text)
		text[size > 0 ? size : 0] = '\0';
	(void)dup2(saved, fd);
	(void)close(saved);
}

/* Appends the words of `line`, split at spaces, to `argc` words. Returns the new number of words.
 */
static inline int command_run_split(
	const char *line, char *argv[COMMAND_RUN_WORDS_MAX + 1], int argc)
{
	static char text[4096];
	char *rest = text;

	(void)snprintf(text, sizeof(text), "%s", line);
	while (*line && rest && argc < COMMAND_RUN_WORDS_MAX)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	return argc;
}

/* Runs with these words and `input` as standard input. Returns the exit status. */
static inline int command_run_words(
	const struct command *command, int argc, char **argv, const char *input, size_t size)
{
	int in, out, err;

	(void)fflush(NULL);
	in = command_run_replace(STDIN_FILENO, input, size);
	out = command_run_replace(STDOUT_FILENO, "", 0);
	err = command_run_replace(STDERR_FILENO, "", 0);
	ran.status = command_main(command, argc, argv);
	(void)fflush(NULL);
	command_run_restore(STDIN_FILENO, in, NULL);
	command_run_restore(STDOUT_FILENO, out, ran.out);
	command_run_restore(STDERR_FILENO, err, ran.err);
	return ran.status;
}

/* Runs with the words of `line` as arguments and no input. Returns the exit status. */
static inline int command_run(const struct command *command, const char *line)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)command->name };

	return command_run_words(command, command_run_split(line, argv, 1), argv, "", 0);
}

/* Was standard error one line for people that contains `words`? */
static inline bool command_run_complained(const char *words)
{
	const char *newline = strchr(ran.err, '\n');

	return strncmp(ran.err, "pilotlight: ", 12) == 0 && newline && newline[1] == '\0' &&
	       strstr(ran.err, words);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a command within the test and keeps what it prints. One at a time. */
#pragma once

#include "tools/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COMMAND_RUN_TEXT_BYTES = 1 << 20, COMMAND_RUN_WORDS_MAX = 32 };

/* Puts an anonymous file with `bytes` in the place of a descriptor; returns the old one. */
static inline int command_run_replace(int fd, const char *bytes, size_t size)
{
	int saved = dup(fd), file = memfd_create("stream", MFD_CLOEXEC);

	if (saved < 0 || file < 0 || write(file, bytes, size) != (ssize_t)size ||
		lseek(file, 0, SEEK_SET) != 0 || dup2(file, fd) < 0)
		_exit(99);
	(void)close(file);
	return saved;
}

static inline void command_run_restore(int fd, int saved, char *text)
{
	ssize_t size = text ? pread(fd, text, COMMAND_RUN_TEXT_BYTES - 1, 0) : 0;

	if (text)
		text[size > 0 ? size : 0] = '\0';
	(void)dup2(saved, fd);
	(void)close(saved);
}

/* The words of `line`, split at its spaces, behind the first `argc`. Returns how many there are. */
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

/* `out` and `err` have COMMAND_RUN_TEXT_BYTES. Returns the exit status. */
static inline int command_run_words(const struct command *command, int argc, char **argv,
	const char *input, size_t size, char *ret_out, char *ret_err)
{
	int in, out, err, status;

	(void)fflush(NULL);
	in = command_run_replace(STDIN_FILENO, input, size);
	out = command_run_replace(STDOUT_FILENO, "", 0);
	err = command_run_replace(STDERR_FILENO, "", 0);
	status = command_main(command, argc, argv);
	(void)fflush(NULL);
	command_run_restore(STDIN_FILENO, in, NULL);
	command_run_restore(STDOUT_FILENO, out, ret_out);
	command_run_restore(STDERR_FILENO, err, ret_err);
	return status;
}

/* Is `text` one line for people, with these words? */
static inline bool command_run_is_complaint(const char *text, const char *words)
{
	const char *newline = strchr(text, '\n');

	return strncmp(text, "pilotlight: ", 12) == 0 && newline && newline[1] == '\0' &&
	       strstr(text, words);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command of `pilotlight symbols` within the test, with a cache of its own, and keeps what
 * it prints. One at a time.
 */
#pragma once

#include "tests/symbol/symbol_cache_fixture.h"
#include "tools/symbols_command.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SYMBOLS_RUN_TEXT_BYTES = 1 << 20, SYMBOLS_RUN_WORDS_MAX = 32 };

struct symbols_run {
	struct cache_fixture cache;
	int status;
	char out[SYMBOLS_RUN_TEXT_BYTES], err[SYMBOLS_RUN_TEXT_BYTES];
};

static struct symbols_run ran;

static inline int symbols_run_set_up(void **state)
{
	(void)state;
	return cache_fixture_open(&ran.cache, 1 << 30) ? 0 : -1;
}

static inline int symbols_run_tear_down(void **state)
{
	(void)state;
	cache_fixture_close(&ran.cache);
	return 0;
}

/* Puts an anonymous file with `bytes` in the place of a descriptor; returns the old one. */
static inline int symbols_run_replace(int fd, const char *bytes, size_t size)
{
	int saved = dup(fd), file = memfd_create("stream", MFD_CLOEXEC);

	if (saved < 0 || file < 0 || write(file, bytes, size) != (ssize_t)size ||
		lseek(file, 0, SEEK_SET) != 0 || dup2(file, fd) < 0)
		_exit(99);
	(void)close(file);
	return saved;
}

static inline void symbols_run_restore(int fd, int saved, char *text)
{
	ssize_t size = text ? pread(fd, text, SYMBOLS_RUN_TEXT_BYTES - 1, 0) : 0;

	if (text)
		text[size > 0 ? size : 0] = '\0';
	(void)dup2(saved, fd);
	(void)close(saved);
}

/* `line` is split at its spaces; `--cache` is put behind the command's name. Returns the status. */
static inline int symbols_run_with(
	const struct symbols_command *command, const char *line, const char *input, size_t size)
{
	static char text[4096];
	char *argv[SYMBOLS_RUN_WORDS_MAX + 4] = { (char *)command->name, "--cache",
		ran.cache.folder };
	char *rest = text;
	int argc = 3, in, out, err;

	(void)snprintf(text, sizeof(text), "%s", line);
	while (*line && rest && argc < SYMBOLS_RUN_WORDS_MAX)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	(void)fflush(NULL);
	in = symbols_run_replace(STDIN_FILENO, input, size);
	out = symbols_run_replace(STDOUT_FILENO, "", 0);
	err = symbols_run_replace(STDERR_FILENO, "", 0);
	optind = 0;
	ran.status = command->run(command, argc, argv);
	(void)fflush(NULL);
	symbols_run_restore(STDIN_FILENO, in, NULL);
	symbols_run_restore(STDOUT_FILENO, out, ran.out);
	symbols_run_restore(STDERR_FILENO, err, ran.err);
	return ran.status;
}

static inline int symbols_run(const struct symbols_command *command, const char *line)
{
	return symbols_run_with(command, line, "", 0);
}

/* Was there one line on standard error, with these words? */
static inline bool symbols_run_complained(const char *words)
{
	const char *newline = strchr(ran.err, '\n');

	return strncmp(ran.err, "pilotlight: ", 12) == 0 && newline && newline[1] == '\0' &&
	       strstr(ran.err, words);
}

/* The example of symbol_file_fixture_fill(), as `identity`. 0 or -errno. */
static inline int symbols_run_store_example(const struct symbol_identity *identity)
{
	static struct symbol_file_fixture file;

	file = (struct symbol_file_fixture){
		.identity_bytes = identity->id.size,
		.kind = (uint8_t)identity->kind,
		.created_s = (uint64_t)time(NULL),
	};
	memcpy(file.identity, identity->id.bytes, sizeof(file.identity));
	symbol_file_fixture_fill(&file);
	symbol_file_fixture_build(&file);
	return cache_fixture_commit_bytes(ran.cache.cache, identity, file.bytes, file.size);
}

/* Another byte at the beginning of its first section. 0 or -1. */
static inline int symbols_run_damage_in(
	const struct cache_fixture *cache, const struct symbol_identity *identity)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct pilotlight_symbol_section section;
	uint8_t byte;
	int fd = open(cache_fixture_path(cache, identity, path), O_RDWR | O_CLOEXEC), r = -1;

	if (fd < 0)
		return -1;
	if (pread(fd, &section, sizeof(section), sizeof(struct pilotlight_symbol_header)) ==
			(ssize_t)sizeof(section) &&
		pread(fd, &byte, 1, (off_t)section.offset) == 1) {
		byte ^= 0x40;
		r = pwrite(fd, &byte, 1, (off_t)section.offset) == 1 ? 0 : -1;
	}
	(void)close(fd);
	return r;
}

static inline int symbols_run_damage(const struct symbol_identity *identity)
{
	return symbols_run_damage_in(&ran.cache, identity);
}

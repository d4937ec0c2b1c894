/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command of `pilotlight symbols` within the test, with a cache of its own, and keeps what
 * it prints. One at a time.
 */
#pragma once

#include "tests/symbol/symbol_cache_fixture.h"
#include "tests/tools/command_run.h"
#include "tools/symbols/symbols_commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct symbols_run {
	struct cache_fixture cache;
	int status;
	char out[COMMAND_RUN_TEXT_BYTES], err[COMMAND_RUN_TEXT_BYTES];
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

/* `line` is split at its spaces; `--cache` is put behind the command's name. Returns the status. */
static inline int symbols_run_with(
	const struct command *command, const char *line, const char *input, size_t size)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)command->name, "--cache",
		ran.cache.folder };
	int argc = command_run_split(line, argv, 3);

	ran.status = command_run_words(command, argc, argv, input, size, ran.out, ran.err);
	return ran.status;
}

static inline int symbols_run(const struct command *command, const char *line)
{
	return symbols_run_with(command, line, "", 0);
}

/* Was there one line on standard error, with these words? */
static inline bool symbols_run_complained(const char *words)
{
	return command_run_is_complaint(ran.err, words);
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

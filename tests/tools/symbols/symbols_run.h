/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the commands of `pilotlight symbols` on a temporary symbol cache. */
#pragma once

#include "tests/symbol/symbol_cache_fixture.h"
#include "tests/tools/command_run.h"
#include "tools/symbols/symbols_commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct cache_fixture symbols_run_cache;

static inline int symbols_run_set_up(void **state)
{
	return cache_fixture_open(&symbols_run_cache, 1 << 30) ? 0 : -1;
}

static inline int symbols_run_tear_down(void **state)
{
	cache_fixture_close(&symbols_run_cache);
	return 0;
}

/* Runs with the words of `line` behind `--cache FOLDER`. Returns the exit status. */
static inline int symbols_run_with(
	const struct command *command, const char *line, const char *input, size_t size)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)command->name, "--cache",
		symbols_run_cache.folder };

	return command_run_words(command, command_run_split(line, argv, 3), argv, input, size);
}

static inline int symbols_run(const struct command *command, const char *line)
{
	return symbols_run_with(command, line, "", 0);
}

/* Stores the example of symbol_file_fixture_fill() under `identity`. Returns 0 or -errno. */
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
	return cache_fixture_commit_bytes(symbols_run_cache.cache, identity, file.bytes, file.size);
}

/* Flips a bit at the beginning of the file's first section. Returns 0 or -1. */
static inline int symbols_run_damage_in(
	const struct cache_fixture *folder, const struct symbol_identity *identity)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct pilotlight_symbol_section section;
	uint8_t byte;
	int fd = open(cache_fixture_path(folder, identity, path), O_RDWR | O_CLOEXEC), r = -1;

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
	return symbols_run_damage_in(&symbols_run_cache, identity);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dump that is written, read and asked about, step by step: for tests of the reader. */
#pragma once

#include "jit/jitdump_reader.h"
#include "tests/jit/jitdump_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
	INDEX_BYTES = 1 << 20,
	ENOUGH_STEPS = 1000000,
	PID = 1234,
	ADDRESS = 0x100000,
	NOW_NS = 2000000000, /* all test times but those that are to be later are before it */
};

struct bench {
	struct jitdump_fixture dump;
	struct code_index *index;
	struct jitdump_reader *reader;
	struct jitdump_reader_state state;
	int fd;		/* the writer's */
	size_t written; /* of the dump */
};

static inline void open_bench(struct bench *bench, const struct jitdump_reader_options *options)
{
	struct jitdump_reader_options used = { 0 };
	int fd;

	bench->fd = memfd_create("jitdump", MFD_CLOEXEC);
	assert_true(bench->fd >= 0);
	fd = dup(bench->fd);
	assert_true(fd >= 0);
	assert_int_equal(code_index_new(INDEX_BYTES, &bench->index), 0);
	if (options)
		used = *options;
	if (!used.latest_ns)
		used.latest_ns = NOW_NS;
	assert_int_equal(jitdump_reader_new(fd, &used, &bench->reader), 0);
}

static inline void close_bench(struct bench *bench)
{
	jitdump_reader_free(bench->reader);
	code_index_free(bench->index);
	jitdump_fixture_done(&bench->dump);
	(void)close(bench->fd);
}

static inline void write_on(struct bench *bench, size_t end)
{
	const size_t size = bench->dump.size;

	bench->dump.size = end;
	assert_true(jitdump_fixture_append(&bench->dump, bench->fd, bench->written));
	bench->dump.size = size;
	bench->written = end;
}

static inline int64_t run_for(struct bench *bench, int64_t steps)
{
	int64_t left = jitdump_reader_run(bench->reader, bench->index, steps);

	jitdump_reader_state(bench->reader, &bench->state);
	return left;
}

/* Writes what is new and reads it. */
static inline void read_all(struct bench *bench)
{
	write_on(bench, bench->dump.size);
	assert_in_range(run_for(bench, ENOUGH_STEPS), 1, ENOUGH_STEPS);
}

static inline bool find(
	const struct bench *bench, uint64_t address, uint64_t time_ns, struct code_found *ret_found)
{
	return code_index_find(bench->index, address, time_ns, NULL, ret_found);
}

static inline void assert_name(const struct bench *bench, uint64_t address, const char *name)
{
	struct code_found found;

	assert_true(find(bench, address, NOW_NS, &found));
	assert_string_equal(found.name, name);
}

static inline void assert_line(const struct bench *bench, uint64_t address, const char *file,
	uint32_t line, uint32_t column)
{
	struct code_found found;

	assert_true(find(bench, address, NOW_NS, &found));
	assert_int_equal(found.line, line);
	assert_int_equal(found.column, column);
	if (file) {
		assert_non_null(found.file);
		assert_string_equal(found.file, file);
	}
}

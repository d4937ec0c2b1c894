/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `offset` is the start of the next line; while `is_skipping`, it is within the rest of a line that
 * was too long. Between runs only the first bytes of the file are kept, so an unfinished line is
 * read again. That costs little: a long one would have been cut.
 */
#include "jit/perf_map_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 64,
	BYTES_PER_STEP = 4096,
	BLOCK_BYTES = 64 << 10,
	/* A line that has no end in this is too long. */
	BLOCK_BYTES_MIN = PERF_MAP_LINE_BYTES_MAX + 1,
	/* A run of few steps reads no more than it can use. */
	BLOCK_BYTES_OF_STEP = 128,
};

struct perf_map_reader {
	int fd; /* owned */
	uint64_t offset, file_bytes;
	bool is_skipping;
	bool is_erlang;
	/* The first bytes of the file, and those before `offset`. */
	size_t head_size, tail_size;
	char head[HEAD_BYTES], tail[HEAD_BYTES];
	struct perf_map_counters counters;
	perf_map_line_function watcher;
	void *watcher_context;
};

/* A part of the file, and the position in it. */
struct block {
	const char *at, *end;
};

int perf_map_reader_new(int fd, struct perf_map_reader **ret_reader)
{
	_cleanup_close_ int taken = fd;
	struct perf_map_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->fd = TAKE_FD(taken);
	*ret_reader = reader;
	return 0;
}

void perf_map_reader_free(struct perf_map_reader *reader)
{
	if (!reader)
		return;
	closep(&reader->fd);
	free(reader);
}

void perf_map_reader_set_watcher(
	struct perf_map_reader *reader, perf_map_line_function function, void *context)
{
	reader->watcher = function;
	reader->watcher_context = context;
}

/* Returns the bytes read: 0 at the end of the file and on errors. */
static size_t read_at(
	const struct perf_map_reader *reader, char *bytes, size_t size, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(reader->fd, bytes, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? 0 : (size_t)got;
}

static bool has_tail(const struct perf_map_reader *reader)
{
	char tail[HEAD_BYTES];

	return read_at(reader, tail, reader->tail_size, reader->offset - reader->tail_size) ==
		       reader->tail_size &&
	       memcmp(tail, reader->tail, reader->tail_size) == 0;
}

/*
 * Starts again, with an empty index, if the file was rewritten. The size alone does not show that:
 * the new file may have grown as long and begin alike.
 */
static void check_rewrite(struct perf_map_reader *reader, struct code_index *index)
{
	char head[HEAD_BYTES];
	size_t got = read_at(reader, head, sizeof(head), 0);
	/* What follows a NUL may be a hole that the writer fills later. */
	size_t size = strnlen(head, got);

	/* It cannot be read now. */
	if (got == 0 && reader->file_bytes > 0)
		return;
	if (reader->file_bytes < reader->offset || size < reader->head_size ||
		memcmp(head, reader->head, reader->head_size) != 0 || !has_tail(reader)) {
		if (index)
			code_index_clear(index);
		reader->offset = 0;
		reader->tail_size = 0;
		reader->is_skipping = false;
		reader->counters.restarts++;
	}
	memcpy(reader->head, head, size);
	reader->head_size = size;
}

static void note_tail(struct perf_map_reader *reader)
{
	size_t size = reader->offset < HEAD_BYTES ? (size_t)reader->offset : (size_t)HEAD_BYTES;

	reader->tail_size = read_at(reader, reader->tail, size, reader->offset - size);
	/* The file is being rewritten right now: the next run will see that. */
	if (reader->tail_size < size)
		reader->tail_size = 0;
}

/* The index counts the lines that it refuses. */
static int take_line(struct perf_map_reader *reader, struct code_index *index, const char *text,
	size_t size, bool *ret_is_malformed)
{
	struct perf_map_line line;
	struct code_load load;
	int r = perf_map_line_parse(text, size, &line);

	*ret_is_malformed = r < 0;
	if (r < 0)
		return 0;
	load = (struct code_load){
		.address = line.address,
		.size = line.size,
		.name = line.name,
		.name_size = line.name_size,
	};
	r = reader->watcher ? reader->watcher(reader->watcher_context, &line) : 0;
	if (r == 0 && index)
		r = code_index_load(index, &load) == -ENOMEM ? -ENOMEM : 0;
	if (r < 0)
		return r;
	reader->is_erlang |= line.is_erlang;
	return 0;
}

static void advance(struct perf_map_reader *reader, struct block *block, size_t size)
{
	block->at += size;
	reader->offset += size;
	reader->counters.bytes += size;
}

/*
 * Reads the next line or the start of one that is too long, or skips the rest of one. Returns the
 * steps that it took, 0 if the line is unfinished, or -errno.
 */
static int take_next(
	struct perf_map_reader *reader, struct code_index *index, struct block *block, bool is_last)
{
	size_t left = (size_t)(block->end - block->at);
	const char *newline = memchr(block->at, '\n', left);
	size_t size = newline ? (size_t)(newline - block->at) : left;
	size_t whole = size + (newline ? 1 : 0);
	bool is_long = size > PERF_MAP_LINE_BYTES_MAX, is_malformed;
	int r;

	if (left == 0)
		return 0;
	if (!reader->is_skipping) {
		if (!newline && !is_long && !is_last)
			return 0;
		r = take_line(reader, index, block->at,
			is_long ? (size_t)PERF_MAP_LINE_BYTES_MAX : size, &is_malformed);
		if (r < 0)
			return r;
		reader->counters.lines++;
		reader->counters.malformed += is_malformed;
	}
	reader->is_skipping = !newline && (is_long || reader->is_skipping);
	advance(reader, block, whole);
	return 1 + (int)(whole / BYTES_PER_STEP);
}

static size_t block_size(int64_t steps)
{
	if (steps >= BLOCK_BYTES / BLOCK_BYTES_OF_STEP)
		return BLOCK_BYTES;
	return steps <= BLOCK_BYTES_MIN / BLOCK_BYTES_OF_STEP ? (size_t)BLOCK_BYTES_MIN
							      : (size_t)steps * BLOCK_BYTES_OF_STEP;
}

/* The next block, which ends at a NUL: no line has any. */
static struct block read_block(const struct perf_map_reader *reader, char *bytes, int64_t steps)
{
	size_t size = read_at(reader, bytes, block_size(steps), reader->offset);
	const char *nul = memchr(bytes, '\0', size);

	return (struct block){ .at = bytes, .end = nul ? nul : bytes + size };
}

/*
 * Skips NULs. If a file is truncated while its writer continues, the writer leaves a hole before
 * its next line. A hostile hole may be as long as the file system allows, so holes are not read.
 * Returns the steps that it took; 0: no data follows.
 */
static int skip_nuls(struct perf_map_reader *reader, char *bytes)
{
	off_t data = lseek(reader->fd, (off_t)reader->offset, SEEK_DATA);
	size_t size, count = 0;

	if (data < 0)
		return 0;
	if ((uint64_t)data > reader->offset) {
		reader->offset = (uint64_t)data;
		return 1;
	}
	size = read_at(reader, bytes, BLOCK_BYTES_MIN, reader->offset);
	while (count < size && bytes[count] == '\0')
		count++;
	reader->offset += count;
	reader->counters.bytes += count;
	return count > 0 ? 1 + (int)(count / BYTES_PER_STEP) : 0;
}

static int64_t read_lines(struct perf_map_reader *reader, struct code_index *index, char *bytes,
	bool is_final, int64_t steps)
{
	while (steps > 0) {
		struct block block = read_block(reader, bytes, steps);
		int taken;

		while (steps > 0 && (taken = take_next(reader, index, &block, false)) != 0) {
			if (taken < 0)
				return taken;
			steps -= taken;
		}
		if (block.at > bytes)
			continue;
		if (block.end == bytes && (taken = skip_nuls(reader, bytes)) > 0) {
			steps -= taken;
			continue;
		}
		/* The file ends here: a line that fills the block would have been cut. */
		taken = is_final ? take_next(reader, index, &block, true) : 0;
		if (taken <= 0)
			return taken < 0 ? taken : steps;
		steps -= taken;
	}
	return 0;
}

int64_t perf_map_reader_run(
	struct perf_map_reader *reader, struct code_index *index, bool is_final, int64_t steps)
{
	_cleanup_free_ char *bytes = NULL;
	struct stat status;
	int64_t left;

	if (steps <= 0)
		return 0;
	if (fstat(reader->fd, &status) < 0)
		return steps;
	reader->file_bytes = (uint64_t)status.st_size;
	check_rewrite(reader, index);
	if (reader->file_bytes == reader->offset)
		return steps;
	/* Freed at the end: there are many files, and most of them have nothing new. */
	bytes = malloc(block_size(steps));
	if (!bytes)
		return -ENOMEM;
	left = read_lines(reader, index, bytes, is_final, steps);
	note_tail(reader);
	if (reader->file_bytes < reader->offset)
		reader->file_bytes = reader->offset;
	return left;
}

void perf_map_reader_state(
	const struct perf_map_reader *reader, struct perf_map_reader_state *ret_state)
{
	*ret_state = (struct perf_map_reader_state){
		.file_bytes = reader->file_bytes,
		.is_erlang = reader->is_erlang,
		.counters = reader->counters,
	};
	if (reader->file_bytes > reader->offset)
		ret_state->unread_bytes = reader->file_bytes - reader->offset;
}

size_t perf_map_reader_bytes(const struct perf_map_reader *reader)
{
	return sizeof(*reader);
}

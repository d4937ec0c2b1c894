/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing perf map. The first byte is the number of steps a run has; the second says after which
 * part of the rest, in 1/256, the writer pauses. Every way to read the map gives the same result.
 * Bytes of NUL are skipped. Then the map is truncated at the pause and read again.
 */
#include "jit/perf_map_reader.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INDEX_BYTES = 256 << 10 };

struct reading {
	struct perf_map_reader *reader;
	struct code_index *index;
};

static struct reading reading_of(int fd)
{
	struct reading reading;
	int r = perf_map_reader_new(fcntl(fd, F_DUPFD_CLOEXEC, 3), &reading.reader);

	assert(r == 0);
	r = code_index_new(INDEX_BYTES, &reading.index);
	assert(r == 0);
	return reading;
}

static void reading_done(struct reading *reading)
{
	perf_map_reader_free(reading->reader);
	code_index_free(reading->index);
}

static struct perf_map_reader_state read_on(struct reading *reading, bool is_final, int64_t steps)
{
	struct perf_map_reader_state state;
	int64_t left;

	do
		left = perf_map_reader_run(reading->reader, reading->index, is_final, steps);
	while (left == 0);
	assert(left > 0 && left <= steps);
	perf_map_reader_state(reading->reader, &state);
	assert(state.counters.malformed <= state.counters.lines);
	return state;
}

static void write_all(int fd, const uint8_t *bytes, size_t size)
{
	/* The reader has the same file position. */
	ssize_t written = lseek(fd, 0, SEEK_END) >= 0 && size > 0 ? write(fd, bytes, size) : 0;

	assert(written == (ssize_t)size);
	(void)written;
}

static void check_line(const char *text, size_t size)
{
	struct perf_map_line line;

	if (perf_map_line_parse(text, size, &line) < 0)
		return;
	assert(line.size > 0 && line.address + line.size > line.address);
	assert(line.name > text && line.name_size > 0);
	assert(line.name + line.name_size <= text + size);
	assert(!memchr(line.name, '\0', line.name_size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_map_reader_state parts, whole;
	struct reading in_parts, at_once;
	int64_t steps;
	size_t pause;
	int fd;

	check_line((const char *)bytes, size);
	if (size < 2)
		return 0;
	steps = 1 + 8 * bytes[0];
	pause = (size - 2) * bytes[1] / 256;
	bytes += 2;
	size -= 2;
	fd = memfd_create("perf-1.map", MFD_CLOEXEC);
	assert(fd >= 0);
	in_parts = reading_of(fd);
	at_once = reading_of(fd);

	write_all(fd, bytes, pause);
	parts = read_on(&in_parts, false, steps);
	assert(memchr(bytes, 0, pause) || parts.unread_bytes <= PERF_MAP_LINE_BYTES_MAX);
	write_all(fd, bytes + pause, size - pause);
	parts = read_on(&in_parts, true, steps);
	whole = read_on(&at_once, true, INT64_MAX);
	assert(parts.unread_bytes == 0 && whole.unread_bytes == 0);
	assert(memcmp(&parts.counters, &whole.counters, sizeof(parts.counters)) == 0);
	assert(parts.is_erlang == whole.is_erlang && parts.counters.bytes == size);
	assert(parts.counters.restarts == 0);
	assert(code_index_count(in_parts.index) == code_index_count(at_once.index));

	if (ftruncate(fd, (off_t)pause) == 0)
		parts = read_on(&in_parts, false, steps);
	assert(parts.counters.restarts == (pause < size));
	reading_done(&in_parts);
	reading_done(&at_once);
	(void)close(fd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_index.h"
#include "jit/jitdump_reader.h"
#include "jit/line_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	INDEX_BYTES = 256 << 10,
	NOW_NS = INT32_MAX,
	FLAGS_FIRST = 32, /* the byte with bit 0, of either order */
	FLAGS_LAST = 39,
};

/* Replaces the file by a shorter one, then by a longer one with another header. */
static void rewrite(int fd, struct jitdump_reader *reader, struct code_index *index,
	const uint8_t *bytes, size_t size)
{
	enum { STAMP = 24 };
	uint8_t stamp = size > STAMP ? (uint8_t)~bytes[STAMP] : 0;

	for (size_t part = 3; part > 0; part--) {
		if (ftruncate(fd, 0) < 0 || pwrite(fd, bytes, size / part, 0) < 0)
			abort();
		if (size / part > STAMP && pwrite(fd, &stamp, 1, STAMP) < 0)
			abort();
		if (jitdump_reader_run(reader, index, INT32_MAX) < 0)
			abort();
		stamp++;
	}
}

/* Reads the file after each of two writes, `steps` steps at a time. */
static void read_file(const uint8_t *bytes, size_t first, size_t size, size_t buffer_bytes,
	int64_t steps, bool is_rewritten, struct jitdump_reader_state *ret_state)
{
	const struct jitdump_reader_options options = { .buffer_bytes = buffer_bytes,
		.latest_ns = NOW_NS };
	int fd = memfd_create("jitdump", MFD_CLOEXEC);
	struct jitdump_reader *reader = NULL;
	struct code_index *index = NULL;
	const size_t ends[] = { first, size };
	struct code_found found;
	uint64_t before;

	if (fd < 0 || jitdump_reader_new(fd, &options, &reader) < 0 ||
		code_index_new(INDEX_BYTES, &index) < 0)
		abort();
	for (size_t i = 0; i < 2; i++) {
		if (pwrite(fd, bytes, ends[i], 0) != (ssize_t)ends[i])
			abort();
		do {
			jitdump_reader_state(reader, ret_state);
			before = ret_state->counters.records;
			if (jitdump_reader_run(reader, index, steps) > 0)
				break;
			jitdump_reader_state(reader, ret_state);
		} while (ret_state->counters.records > before);
	}
	if (is_rewritten)
		rewrite(fd, reader, index, bytes, size);
	jitdump_reader_state(reader, ret_state);
	if (ret_state->unread_bytes > size || jitdump_reader_bytes(reader) > 1 << 20)
		abort();
	(void)code_index_find(index, ret_state->header.timestamp, NOW_NS, NULL, &found);
	jitdump_reader_free(reader);
	code_index_free(index);
}

static void read_lines(const uint8_t *bytes, size_t size)
{
	struct line_cursor cursor = { 0 };
	struct line_entry entry, last = { 0 };

	while (line_list_next(bytes, size, &cursor))
		last = cursor.entry;
	if (line_list_find(bytes, size, UINT32_MAX, &entry) != (last.line != 0))
		abort();
}

/* The result is the same for every division of the writes and of the reads. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jitdump_reader_state whole, pieces;
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, bytes, size);
	/* Pairs of CPU time stamps and clock readings are slow to take and differ each time. */
	if (size > FLAGS_LAST) {
		copy[FLAGS_FIRST] &= 0xfe;
		copy[FLAGS_LAST] &= 0xfe;
	}
	read_file(copy, 0, size, 0, INT32_MAX, false, &whole);
	read_file(copy, size / 2, size, 0, 3, false, &pieces);
	/* The file is read once only, and two runs have equal counters. */
	if (whole.fault != pieces.fault || whole.fault_offset != pieces.fault_offset ||
		whole.runtime != pieces.runtime || whole.last_record_ns != pieces.last_record_ns ||
		whole.unread_bytes != pieces.unread_bytes ||
		memcmp(&whole.counters, &pieces.counters, sizeof(whole.counters)) != 0)
		abort();
	read_file(copy, 0, size, 1, 1, false, &pieces);
	if (whole.counters.bytes != pieces.counters.bytes)
		abort();
	read_file(copy, size / 2, size, 0, 3, true, &pieces);
	free(copy);
	read_lines(bytes, size);
	return 0;
}

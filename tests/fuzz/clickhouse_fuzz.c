/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile made of the input, written as a batch for ClickHouse and read back by the definition of
 * RowBinary alone: rows end where they should, they refer to rows that are there, and no sample is
 * lost or changed.
 */
#include "export/clickhouse.h"
#include "pilotlight/clickhouse_batch.h"
#include "tests/fuzz/made_profile.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { OUTPUT_MAX = 4 << 20, IDS_MAX = 4 * STEPS_MAX };
enum { IDENTITY, NAMES, LOCATIONS, STACKS, SPANS, SAMPLES, ID_BYTES = 24 };

struct ids {
	uint64_t items[IDS_MAX];
	size_t count;
};

struct found {
	struct ids locations, stacks;
	uint64_t sum, of_spans;
};

/* --- RowBinary --- */

static uint64_t number(struct bytes *at, unsigned size)
{
	uint64_t value = 0;

	assert((size_t)(at->end - at->next) >= size);
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)*at->next++ << 8 * i;
	return value;
}

static uint64_t length(struct bytes *at)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte >= 0x80; shift += 7) {
		assert(shift < 64);
		byte = number(at, 1);
		value |= (byte & 0x7f) << shift;
	}
	return value;
}

static void text(struct bytes *at)
{
	uint64_t size = length(at);
	char clean[UTF8_CLEAN_BYTES];

	assert(size <= (uint64_t)(at->end - at->next));
	/* Valid UTF-8 stays as it is. */
	if (size < sizeof(clean)) {
		size_t kept = utf8_clean(clean, (const char *)at->next, size);

		assert(kept == size && memcmp(clean, at->next, size) == 0);
		(void)kept;
	}
	at->next += size;
}

static uint64_t texts(struct bytes *at)
{
	uint64_t count = length(at);

	for (uint64_t i = 0; i < count; i++)
		text(at);
	return count;
}

static void add(struct ids *ids, uint64_t id)
{
	assert(ids->count < IDS_MAX);
	ids->items[ids->count++] = id;
}

static void check_known(const struct ids *ids, uint64_t id)
{
	size_t i = 0;

	while (i < ids->count && ids->items[i] != id)
		i++;
	assert(i < ids->count);
}

static void read_name(struct bytes *at)
{
	uint64_t count;

	text(at);
	(void)number(at, 8);
	(void)number(at, 1);
	count = texts(at);
	assert(count > 0 && texts(at) == count && length(at) == count);
	(void)number(at, 4);
	for (uint64_t i = 1; i < count; i++)
		(void)number(at, 4);
}

static void read_stack(struct bytes *at, struct found *found)
{
	uint64_t count;

	add(&found->stacks, number(at, 8));
	count = length(at);
	for (uint64_t i = 0; i < count; i++)
		check_known(&found->locations, number(at, 8));
}

/* Returns the count. */
static uint64_t read_sample(struct bytes *at, struct found *found)
{
	uint64_t count;

	(void)number(at, 4);
	(void)number(at, 8);
	text(at);
	text(at);
	text(at);
	(void)texts(at);
	check_known(&found->stacks, number(at, 8));
	count = number(at, 8);
	(void)number(at, 8);
	(void)number(at, 8);
	return count;
}

static void read_row(int table, struct bytes *at, struct found *found)
{
	if (table == SAMPLES) {
		found->sum += read_sample(at, found);
		return;
	}
	if (table == SPANS) {
		found->of_spans += read_sample(at, found);
		assert(at->end - at->next >= ID_BYTES);
		at->next += ID_BYTES;
		return;
	}
	(void)number(at, 2);
	text(at);
	if (table == NAMES) {
		read_name(at);
	} else if (table == STACKS) {
		read_stack(at, found);
	} else {
		add(&found->locations, number(at, 8));
		text(at);
		(void)number(at, 8);
		text(at);
		text(at);
	}
}

/* --- a batch --- */

static void read_body(int table, struct bytes body, struct found *found)
{
	static uint8_t plain[OUTPUT_MAX];
	z_stream stream = {
		.next_in = (unsigned char *)body.next,
		.avail_in = (unsigned int)(body.end - body.next),
		.next_out = plain,
		.avail_out = sizeof(plain),
	};
	struct bytes at = { plain, plain };
	int r = inflateInit2(&stream, 16 + 15);

	assert(r == Z_OK);
	r = inflate(&stream, Z_FINISH);
	assert(r == Z_STREAM_END);
	at.end += stream.total_out;
	while (at.next < at.end)
		read_row(table, &at, found);
	(void)inflateEnd(&stream);
	(void)r;
}

static void read_batch(struct bytes at, struct found *found)
{
	at.next += sizeof(struct pilotlight_clickhouse_batch);
	for (int i = IDENTITY; i <= SAMPLES; i++) {
		struct pilotlight_clickhouse_request request;

		assert((size_t)(at.end - at.next) >= sizeof(request));
		memcpy(&request, at.next, sizeof(request));
		at.next += sizeof(request);
		assert(at.next <= at.end && request.body_bytes <= (uint64_t)(at.end - at.next));
		if (i != IDENTITY && request.body_bytes > 0)
			read_body(
				i, (struct bytes){ at.next, at.next + request.body_bytes }, found);
		at.next += request.body_bytes;
	}
	assert(at.next == at.end);
}

static void write_and_check(const struct profile *profile, enum pprof_labels labels)
{
	const struct clickhouse_options options = { labels, "host", "host.id=1", 1 };
	struct output_memory memory = { .limit_bytes = OUTPUT_MAX };
	uint64_t expected = profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL];
	static struct found found;
	static struct output output;
	int r;

	output_init(&output, output_to_memory, &memory);
	r = clickhouse_write(profile, &options, &output);
	if (r == 0)
		r = output_finish(&output);
	assert(r == 0);
	found = (struct found){ 0 };
	read_batch((struct bytes){ (uint8_t *)memory.bytes, (uint8_t *)memory.bytes + memory.size },
		&found);
	for (size_t i = 0; i < profile->samples.count; i++)
		expected += profile->samples.items[i].count;
	assert(found.sum == expected && found.of_spans <= expected);
	free(memory.bytes);
	(void)r;
	(void)expected;
}

/* Sums of more counts than the samples have, and of more spans than there is room for. */
static void add_spans(struct profile *profile, unsigned count)
{
	for (uint32_t i = 0; i < profile->samples.count; i++)
		for (unsigned k = 1; k <= count; k++) {
			const struct pilotlight_thread_context ids = { .trace_id = { (uint8_t)k } };
			int r = profile_spans_add(&profile->spans, i, &ids, k, OUTPUT_MAX);

			assert(r == 0);
			(void)r;
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes input = { bytes, bytes + size };
	enum pprof_labels labels = take(&input) % 2 ? PPROF_LABELS_ALL : PPROF_LABELS_SERVICE;
	struct profile *profile = make_profile(&input);

	add_spans(profile, size > 0 ? bytes[size - 1] % 32 : 0);
	write_and_check(profile, labels);
	profile_free(profile);
	return 0;
}

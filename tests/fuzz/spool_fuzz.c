/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of a batch, up to a newline, and the record of how far a spool reaches. */
#include "push/spool.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *newline = size > 0 ? memchr(bytes, '\n', size) : NULL;
	size_t name_size = newline ? (size_t)(newline - bytes) : size;
	char name[256], canonical[BATCH_NAME_BYTES];
	uint64_t until_ns = 0;
	struct batch batch;

	if (name_size >= sizeof(name))
		return 0;
	if (name_size > 0)
		memcpy(name, bytes, name_size);
	name[name_size] = '\0';
	if (batch_name_parse(name, ".pb.gz", &batch) == 0) {
		assert(batch.end_ns >= batch.start_ns && batch.source < PILOTLIGHT_SOURCES);
		batch_name_format(&batch, ".pb.gz", canonical);
		assert(strcmp(name, canonical) == 0);
	}
	if (newline &&
		spool_parse_until((const char *)newline + 1, size - name_size - 1, &until_ns) == 0)
		assert(until_ns <= INT64_MAX);
	return 0;
}

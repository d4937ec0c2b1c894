/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/clickhouse_requests.h"

#include "pilotlight/clickhouse_schema.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#define INSERT(table, columns) \
	"INSERT INTO " PILOTLIGHT_CLICKHOUSE_DATABASE "." table " (" columns ") FORMAT RowBinary"

static const char *const queries[PILOTLIGHT_CLICKHOUSE_REQUESTS] = {
	[CLICKHOUSE_NAMES] = INSERT("names", PILOTLIGHT_CLICKHOUSE_NAMES),
	[CLICKHOUSE_LOCATIONS] = INSERT("locations", PILOTLIGHT_CLICKHOUSE_LOCATIONS),
	[CLICKHOUSE_STACKS] = INSERT("stacks", PILOTLIGHT_CLICKHOUSE_STACKS),
	[CLICKHOUSE_SAMPLES] = INSERT("samples", PILOTLIGHT_CLICKHOUSE_SAMPLES),
};

/* Reads all or nothing. */
static int take(struct clickhouse_requests *requests, void *to, size_t size)
{
	ssize_t n;

	if (size > requests->bytes - requests->at)
		return -EBADMSG;
	n = pread(requests->fd, to, size, (off_t)requests->at);
	if (n < 0)
		return -errno;
	if ((size_t)n != size)
		return -EBADMSG;
	requests->at += size;
	return 0;
}

int clickhouse_requests_open(struct clickhouse_requests *requests, int fd, uint64_t bytes)
{
	struct pilotlight_clickhouse_batch header;
	int r;

	*requests = (struct clickhouse_requests){ .fd = fd, .bytes = bytes };
	r = take(requests, &header, sizeof(header));
	if (r < 0)
		return r;
	return header.magic == PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC &&
			       header.version == PILOTLIGHT_CLICKHOUSE_BATCH_VERSION
		       ? 0
		       : -EBADMSG;
}

int clickhouse_requests_next(
	struct clickhouse_requests *requests, struct clickhouse_request *ret_request)
{
	struct pilotlight_clickhouse_request header;
	int r;

	if (requests->count == PILOTLIGHT_CLICKHOUSE_REQUESTS)
		return -ENOENT;
	r = take(requests, &header, sizeof(header));
	if (r < 0)
		return r;
	if (header.body_bytes > requests->bytes - requests->at)
		return -EBADMSG;
	*ret_request = (struct clickhouse_request){
		.insert = (enum clickhouse_insert)requests->count,
		.query = queries[requests->count],
		.body_at = requests->at,
		.body_bytes = header.body_bytes,
	};
	requests->count++;
	requests->at += header.body_bytes;
	return 0;
}

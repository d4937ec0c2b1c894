/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/clickhouse_requests.h"

#include "pilotlight/clickhouse_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INSERT(table, columns) \
	"INSERT INTO " PILOTLIGHT_CLICKHOUSE_DATABASE "." table " (" columns ") FORMAT RowBinary"

static const char *const queries[PILOTLIGHT_CLICKHOUSE_REQUESTS] = {
	[CLICKHOUSE_NAMES] = INSERT("names", PILOTLIGHT_CLICKHOUSE_NAMES),
	[CLICKHOUSE_LOCATIONS] = INSERT("locations", PILOTLIGHT_CLICKHOUSE_LOCATIONS),
	[CLICKHOUSE_STACKS] = INSERT("stacks", PILOTLIGHT_CLICKHOUSE_STACKS),
	[CLICKHOUSE_SPANS] = INSERT("spans", PILOTLIGHT_CLICKHOUSE_SPANS),
	[CLICKHOUSE_SAMPLES] = INSERT("samples", PILOTLIGHT_CLICKHOUSE_SAMPLES),
};

/* Reads all or nothing. */
static int read_at(int fd, uint64_t at, void *to, size_t size)
{
	ssize_t n = pread(fd, to, size, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EBADMSG;
}

static int take(struct clickhouse_requests *requests, void *to, size_t size)
{
	int r;

	if (size > requests->bytes - requests->at)
		return -EBADMSG;
	r = read_at(requests->fd, requests->at, to, size);
	if (r == 0)
		requests->at += size;
	return r;
}

int clickhouse_requests_open(struct clickhouse_requests *requests, int fd, uint64_t bytes)
{
	struct pilotlight_clickhouse_batch header;
	int r;

	*requests = (struct clickhouse_requests){ .fd = fd, .bytes = bytes };
	r = take(requests, &header, sizeof(header));
	if (r < 0)
		return r;
	requests->version = header.version;
	return header.magic == PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC &&
			       (header.version == PILOTLIGHT_CLICKHOUSE_BATCH_VERSION ||
				       header.version == PILOTLIGHT_CLICKHOUSE_BATCH_WITHOUT_SPANS)
		       ? 0
		       : -EBADMSG;
}

int clickhouse_requests_next(
	struct clickhouse_requests *requests, struct clickhouse_request *ret_request)
{
	struct pilotlight_clickhouse_request header;
	int r;

	if (requests->count == CLICKHOUSE_SPANS &&
		requests->version == PILOTLIGHT_CLICKHOUSE_BATCH_WITHOUT_SPANS)
		requests->count++;
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

/* In digits, so that the text is no SQL, whatever it is (I8). Returns the end of the query. */
static char *put_text(char *query, const char *before, const char *text, const char *behind)
{
	query = stpcpy(query, before);
	query = stpcpy(query, "unhex('");
	for (; *text; text++)
		query += sprintf(query, "%02x", (unsigned char)*text);
	query = stpcpy(query, "')");
	return stpcpy(query, behind);
}

int clickhouse_requests_question(const struct clickhouse_requests *requests,
	const struct clickhouse_request *identity, char ret_query[CLICKHOUSE_QUESTION_BYTES])
{
	enum { TYPE, SERVICE, HOST, LABEL, TEXTS };
	static const char *const before[TEXTS] = {
		" AND type = ", " AND service = ", " AND host = ", " AND has(labels, "
	};
	char bytes[PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX], *query = ret_query;
	struct pilotlight_clickhouse_identity row;
	size_t size = identity->body_bytes, at = sizeof(row);
	int r;

	if (size <= sizeof(row) || size > sizeof(bytes))
		return -EBADMSG;
	r = read_at(requests->fd, identity->body_at, bytes, size);
	if (r < 0)
		return r;
	if (bytes[size - 1] != '\0')
		return -EBADMSG;
	memcpy(&row, bytes, sizeof(row));
	query += sprintf(query,
		"SELECT count() FROM " PILOTLIGHT_CLICKHOUSE_DATABASE
		".samples WHERE ts = toDateTime(%" PRIu32 ") AND duration_ns = %" PRIu64,
		row.ts, row.duration_ns);
	for (int i = 0; i < TEXTS; i++) {
		if (at == size)
			return -EBADMSG;
		if (i != LABEL || bytes[at] != '\0')
			query = put_text(query, before[i], bytes + at, i == LABEL ? ")" : "");
		at += strlen(bytes + at) + 1;
	}
	return at == size ? 0 : -EBADMSG;
}

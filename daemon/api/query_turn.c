/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fair queueing (Demers, Keshav, Shenker 1989) with jobs of equal size. A new user's first query
 * ranks with the first queries of all other users, not behind one user's whole backlog.
 */
#include "api/api_private.h"

#include <string.h>

/* Returns the length of the host part. TCP clients use a new port for each connection. */
static size_t host_bytes(const char *address)
{
	const char *port = strrchr(address, ':');

	return port ? (size_t)(port - address) : strlen(address);
}

static bool is_same_user(const struct http_peer *a, const struct http_peer *b)
{
	size_t size = host_bytes(a->address);

	if (a->is_local || b->is_local)
		return a->is_local == b->is_local && a->uid == b->uid;
	return size == host_bytes(b->address) && memcmp(a->address, b->address, size) == 0;
}

void query_assign_turn(struct api *api, struct query *query)
{
	uint64_t before = api->turn;

	for (const struct query *t = api->first; t; t = t->next)
		if (t != query && t->state >= QUERY_QUEUED && t->turn > before &&
			is_same_user(&t->peer, &query->peer))
			before = t->turn;
	query->turn = before + 1;
}

struct query *query_next(const struct api *api)
{
	struct query *next = NULL;

	for (struct query *t = api->first; t; t = t->next)
		if (t->state == QUERY_QUEUED && (!next || t->turn < next->turn))
			next = t;
	return next;
}

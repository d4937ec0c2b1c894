/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fair queueing (Demers, Keshav, Shenker 1989) with jobs of equal size. A new user's first query
 * ranks with the first queries of all other users, not behind one user's whole backlog.
 */
#include "api/api_private.h"

void query_assign_turn(struct api *api, struct query *query)
{
	uint64_t before = api->turn;

	for (const struct query *t = api->first; t; t = t->next)
		if (t != query && t->state >= QUERY_QUEUED && t->turn > before &&
			http_peer_is_same_user(&t->peer, &query->peer))
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

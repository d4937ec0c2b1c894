/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fair queueing (Demers, Keshav, Shenker 1989) with jobs of equal size. A new user's first query
 * ranks with the first queries of all other users, not behind one user's whole backlog. Guests
 * (http_server.h) come after all others, among themselves in the same order.
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

/* Guests leave half of the processes free, so that others need not wait for theirs to end. */
static bool may_guest_run(const struct api *api)
{
	unsigned running = 0;

	for (const struct query *t = api->first; t; t = t->next)
		running += t->state == QUERY_RUNNING && http_peer_is_guest(&t->peer);
	return running < (api->options.queries_max + 1) / 2;
}

static bool is_before(const struct query *a, const struct query *b)
{
	bool is_guest = http_peer_is_guest(&a->peer);

	return is_guest != http_peer_is_guest(&b->peer) ? !is_guest : a->turn < b->turn;
}

struct query *query_next(const struct api *api)
{
	bool allows_guests = may_guest_run(api);
	struct query *next = NULL;

	for (struct query *t = api->first; t; t = t->next)
		if (t->state == QUERY_QUEUED && (allows_guests || !http_peer_is_guest(&t->peer)) &&
			(!next || is_before(t, next)))
			next = t;
	return next;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api_private.h"
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void add(struct api *api, struct query *query)
{
	query->state = QUERY_QUEUED;
	query->previous = api->last;
	if (api->last)
		api->last->next = query;
	else
		api->first = query;
	api->last = query;
	query_assign_turn(api, query);
}

static struct query *start(struct api *api)
{
	struct query *query = query_next(api);

	if (query) {
		query->state = QUERY_RUNNING;
		api->turn = query->turn;
	}
	return query;
}

/* Runs all queries, one after another, and writes their numbers in that order. */
static void order_of(struct api *api, const struct query *queries, char *order)
{
	struct query *query;
	size_t count = 0;

	while ((query = start(api))) {
		order[count++] = (char)('0' + (query - queries));
		order[count] = '\0';
	}
}

static void queries_of_one_user_run_in_order(void **state)
{
	struct api api = { 0 };
	struct query queries[5] = { 0 };
	char order[8];

	assert_null(query_next(&api));
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		queries[i].peer =
			(struct http_peer){ .is_local = true, .access = HTTP_PEER_ALL, .uid = 7 };
		add(&api, &queries[i]);
	}
	order_of(&api, queries, order);
	assert_string_equal(order, "01234");
}

static void users_take_turns(void **state)
{
	struct api api = { 0 };
	struct query queries[8] = { 0 };
	char order[16];

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i].peer = (struct http_peer){
			.is_local = true, .access = HTTP_PEER_ALL, .uid = i < 5 ? 1 : 2
		};
	queries[7].peer.uid = 3;
	for (size_t i = 0; i < 5; i++)
		add(&api, &queries[i]);
	assert_ptr_equal(start(&api), &queries[0]);
	assert_ptr_equal(start(&api), &queries[1]);
	for (size_t i = 5; i < ARRAY_SIZE(queries); i++)
		add(&api, &queries[i]);
	order_of(&api, queries, order);
	/* Of turns 3 4 5, 3 4 and 3. */
	assert_string_equal(order, "257364");
}

/* A user's idle time saves up no turns. */
static void idle_users_save_up_no_turns(void **state)
{
	struct api api = { 0 };
	struct query queries[6] = { 0 };
	char order[8];

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i].peer = (struct http_peer){
			.is_local = true, .access = HTTP_PEER_ALL, .uid = i < 2 ? 1 : 2
		};
	api.turn = 100;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		add(&api, &queries[i]);
	order_of(&api, queries, order);
	assert_string_equal(order, "021345");
}

static void users_of_tcp_are_addresses(void **state)
{
	static const char *const addresses[] = { "10.0.0.1:1000", "10.0.0.1:1001", "10.0.0.1:9",
		"10.0.0.12:1000", "[::1]:1000", "[::1]:1001" };
	struct api api = { 0 };
	struct query queries[ARRAY_SIZE(addresses) + 1] = { 0 };
	char order[16];

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		queries[i].peer.uid = (uid_t)-1;
		queries[i].peer.access = HTTP_PEER_ALL;
		strcpy(queries[i].peer.address, addresses[i]);
		add(&api, &queries[i]);
	}
	queries[6].peer =
		(struct http_peer){ .is_local = true, .access = HTTP_PEER_ALL, .uid = (uid_t)-1 };
	add(&api, &queries[6]);
	order_of(&api, queries, order);
	assert_string_equal(order, "0346152");
}

/* Guests wait for all others, and leave half of the processes to them. */
static void guests_come_last(void **state)
{
	struct api api = { .options = { .queries_max = 2 } };
	struct query queries[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		queries[i].peer = (struct http_peer){
			.is_local = true,
			.access = i < 4 ? HTTP_PEER_SELF : HTTP_PEER_ALL,
			.uid = 1000 + (uid_t)(i < 4 ? i / 2 : 10 + i),
		};
		add(&api, &queries[i]);
	}
	assert_ptr_equal(start(&api), &queries[4]);
	assert_ptr_equal(start(&api), &queries[5]);
	/* Of users 1000, 1000, 1001 and 1001. */
	assert_ptr_equal(start(&api), &queries[0]);
	assert_null(start(&api));
	queries[0].state = QUERY_RECORDING;
	assert_ptr_equal(start(&api), &queries[2]);
	queries[2].state = QUERY_RECORDING;
	assert_ptr_equal(start(&api), &queries[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_of_one_user_run_in_order),
		cmocka_unit_test(users_take_turns),
		cmocka_unit_test(idle_users_save_up_no_turns),
		cmocka_unit_test(users_of_tcp_are_addresses),
		cmocka_unit_test(guests_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

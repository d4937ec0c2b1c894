/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this process claims, as a table learns it from the broker. */
#include "labels/claim_table.h"

#include "base/clock.h"
#include "base/user_share.h"
#include "tests/harness/failing_allocation.h"
#include "tests/harness/process_context.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

enum { USER = 1000 };
#define SECONDS(n) ((uint64_t)(n)*NSEC_PER_SEC)
#define START	   SECONDS(100)

struct fixture {
	struct broker *broker;
	struct claim_table *table;
	struct pilotlight_process_context *mapped;
	struct context_payload payload;
	struct claim_counters counters;
	uint64_t stamp;
};

static void claim(struct fixture *fixture, const char *service)
{
	fixture->payload.size = 0;
	payload_add(&fixture->payload, "service.name", service);
	context_publish(
		fixture->mapped, fixture->payload.bytes, fixture->payload.size, ++fixture->stamp);
}

/* Another user, who shares no counter with USER. */
static uint64_t other_user(void)
{
	uint64_t user = USER + 1;

	while (user_share_counter(user) == user_share_counter(USER))
		user++;
	return user;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(broker_new(NULL, &fixture->broker), 0);
	assert_int_equal(claim_table_new(fixture->broker, &fixture->table), 0);
	fixture->mapped = context_map(1);
	assert_non_null(fixture->mapped);
	claim(fixture, "first");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	context_unmap(fixture->mapped);
	claim_table_free(fixture->table);
	broker_free(fixture->broker);
	free(fixture);
	return 0;
}

static const char *find(struct fixture *fixture, uint64_t seconds)
{
	const struct broker_process ourselves = { .pid = getpid() };
	const char *text =
		claim_table_find(fixture->table, &ourselves, USER, START + SECONDS(seconds));

	claim_table_counters(fixture->table, &fixture->counters);
	return text;
}

/* Its start is not known here, so it is old enough. */
static void a_process_is_asked_again_after_a_while(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(find(fixture, 0), "first");
	claim(fixture, "second");
	assert_string_equal(find(fixture, 9), "first");
	assert_int_equal(fixture->counters.asked, 1);
	assert_string_equal(find(fixture, 10), "second");
	assert_int_equal(fixture->counters.asked, 2);
	assert_string_equal(find(fixture, 69), "second");
	claim(fixture, "third");
	assert_string_equal(find(fixture, 70), "third");
	claim(fixture, "fourth");
	assert_string_equal(find(fixture, 669), "third");
	assert_string_equal(find(fixture, 670), "fourth");
	assert_int_equal(fixture->counters.asked, 4);
	assert_int_equal(fixture->counters.read, 4);
	assert_string_equal(find(fixture, 1270), "fourth");
	context_unmap(fixture->mapped);
	assert_string_equal(find(fixture, 1870), "");
	fixture->mapped = context_map(1);
	assert_int_equal(fixture->counters.invalid, 0);
}

static void a_young_process_is_not_asked(void **state)
{
	struct fixture *fixture = *state;
	const struct broker_process young = { .pid = 1, .start_ns = START };

	assert_string_equal(claim_table_find(fixture->table, &young, USER, START), "");
	assert_string_equal(
		claim_table_find(fixture->table, &young, USER, START + SECONDS(2) - 1), "");
	claim_table_counters(fixture->table, &fixture->counters);
	assert_int_equal(fixture->counters.asked, 0);
	/* It is gone: never again. */
	for (int i = 2; i < 2000; i += 100)
		assert_string_equal(
			claim_table_find(fixture->table, &young, USER, START + SECONDS(i)), "");
	claim_table_counters(fixture->table, &fixture->counters);
	assert_int_equal(fixture->counters.asked, 1);
}

static void what_is_wrong_is_counted(void **state)
{
	struct fixture *fixture = *state;

	fixture->mapped->version = 7;
	assert_string_equal(find(fixture, 0), "");
	context_publish(fixture->mapped, "\xff", 1, 9);
	assert_string_equal(find(fixture, 10), "");
	assert_int_equal(fixture->counters.invalid, 2);
	claim(fixture, "right");
	assert_string_equal(find(fixture, 70), "right");
}

/* Five times; then it waits like others. */
static void a_process_that_writes_its_context_is_asked_again_soon(void **state)
{
	struct fixture *fixture = *state;

	fixture->mapped->published_ns = 0;
	for (unsigned int second = 0; second <= 5; second++) {
		assert_string_equal(find(fixture, second), "");
		assert_int_equal(fixture->counters.asked, second + 1);
	}
	assert_string_equal(find(fixture, 6), "");
	assert_int_equal(fixture->counters.asked, 6);
	claim(fixture, "first");
	assert_string_equal(find(fixture, 605), "first");
	assert_int_equal(fixture->counters.invalid, 0);
}

static void the_time_of_a_window_is_bounded(void **state)
{
	struct fixture *fixture = *state;

	claim_table_begin_window(fixture->table, 0);
	assert_string_equal(find(fixture, 0), "");
	assert_int_equal(fixture->counters.asked, 0);
	claim_table_begin_window(fixture->table, 1);
	assert_string_equal(find(fixture, 1), "first");
}

/* The broker does not answer. A slow answer may be a busy machine's, so a process is asked again.
 */
static void a_process_that_hangs_costs_its_users_time(void **state)
{
	const struct broker_process hanging = { .pid = 1 }, next = { .pid = 2 },
				    other = { .pid = 3 };
	_cleanup_(claim_table_freep) struct claim_table *table = NULL;
	_cleanup_(broker_freep) struct broker *broker = NULL;
	struct claim_counters counters;
	int sockets[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(broker_connect(sockets[0], &broker), 0);
	assert_int_equal(claim_table_new(broker, &table), 0);
	assert_string_equal(claim_table_find(table, &hanging, USER, START), "");
	/* Its user has had more than a share of the time, and others have not. */
	assert_string_equal(claim_table_find(table, &next, USER, START), "");
	claim_table_counters(table, &counters);
	assert_int_equal(counters.asked, 1);
	assert_string_equal(claim_table_find(table, &other, other_user(), START), "");
	claim_table_counters(table, &counters);
	assert_int_equal(counters.asked, 2);
	assert_string_equal(
		claim_table_find(table, &hanging, other_user(), START + SECONDS(9)), "");
	claim_table_counters(table, &counters);
	assert_int_equal(counters.asked, 2);
	assert_string_equal(
		claim_table_find(table, &hanging, other_user(), START + SECONDS(10)), "");
	claim_table_counters(table, &counters);
	assert_int_equal(counters.asked, 3);
	assert_int_equal(close(sockets[1]), 0);
}

/* Processes that are sampled keep their places; those that are not leave them. */
static void places_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct broker_process process = { .pid = 0 };

	assert_string_equal(find(fixture, 0), "first");
	claim_table_begin_window(fixture->table, 0);
	for (process.pid = 1; process.pid < 20000; process.pid++)
		if (process.pid != getpid())
			(void)claim_table_find(
				fixture->table, &process, USER + 1, START + SECONDS(1));
	assert_string_equal(find(fixture, 2), "first");
	assert_true(fixture->counters.refused > 10000);
	assert_true(claim_table_bytes(fixture->table) < 512 << 10);
	for (process.pid = 20000; process.pid < 40000; process.pid++)
		(void)claim_table_find(fixture->table, &process, USER + 1, START + SECONDS(20));
	claim_table_begin_window(fixture->table, UINT64_MAX);
	assert_string_equal(find(fixture, 40), "first");
}

/* A user who needs few has them, however many another one has. */
static void places_are_shared(void **state)
{
	struct fixture *fixture = *state;
	struct broker_process process;
	uint64_t refused;

	claim_table_begin_window(fixture->table, 0);
	for (process = (struct broker_process){ .pid = 50000 }; process.pid < 90000; process.pid++)
		(void)claim_table_find(fixture->table, &process, other_user(), START);
	claim_table_counters(fixture->table, &fixture->counters);
	refused = fixture->counters.refused;
	assert_true(refused > 0);
	claim_table_begin_window(fixture->table, UINT64_MAX);
	assert_string_equal(find(fixture, 1), "first");
	assert_int_equal(fixture->counters.refused, refused);
	/* It keeps its place. */
	claim_table_begin_window(fixture->table, 0);
	for (process.pid = 50000; process.pid < 90000; process.pid++)
		(void)claim_table_find(fixture->table, &process, other_user(), START + SECONDS(2));
	assert_string_equal(find(fixture, 3), "first");
	assert_int_equal(fixture->counters.asked, 1);
}

static int make_and_find(struct fixture *fixture)
{
	const struct broker_process ourselves = { .pid = getpid() };
	struct claim_table *table;
	struct claim_counters counters;
	int r = claim_table_new(fixture->broker, &table);

	if (r < 0)
		return r;
	if (!claim_table_find(table, &ourselves, USER, START)[0])
		r = -ENOMEM;
	claim_table_counters(table, &counters);
	assert_int_equal(counters.asked, 1);
	claim_table_free(table);
	return r;
}

static void failing_allocations(void **state)
{
	struct fixture *fixture = *state;

	assert_true(FAIL_EACH_ALLOCATION(make_and_find(fixture), -ENOMEM, true, 0) >= 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_asked_again_after_a_while),
		TEST(a_young_process_is_not_asked),
		TEST(what_is_wrong_is_counted),
		TEST(a_process_that_writes_its_context_is_asked_again_soon),
		TEST(the_time_of_a_window_is_bounded),
		cmocka_unit_test(a_process_that_hangs_costs_its_users_time),
		TEST(places_are_bounded),
		TEST(places_are_shared),
		TEST(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

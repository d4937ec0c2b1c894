/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/request_rate.h"

#include "base/clock.h"
#include "tests/broker/server_fixture.h"

#include <errno.h>

static const uint64_t share_ns = NSEC_PER_SEC / REQUEST_RATE_PER_S;

/* The bucket is full at any time of day. */
static struct request_rate *new_rate(void)
{
	struct request_rate *rate;

	assert_int_equal(request_rate_new(&rate), 0);
	return rate;
}

/* A user alone may take twice as much as is left. */
enum { USER = 1000, USER_BURST = 2 * (REQUEST_RATE_BURST / 3) };
_Static_assert(REQUEST_RATE_BURST % 3 == 0, "no rest");

static void empty(struct request_rate *rate, uint64_t now_ns)
{
	for (int i = 0; i < USER_BURST; i++)
		assert_true(request_rate_take(rate, USER, now_ns));
	assert_false(request_rate_take(rate, USER, now_ns));
}

static void a_burst_is_followed_by_the_rate(void **state)
{
	static const uint64_t starts[] = { 0, 1, 77ULL * NSEC_PER_SEC, UINT64_MAX / 2 };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct request_rate *rate = new_rate();
		uint64_t now_ns = starts[i];

		empty(rate, now_ns);
		assert_false(request_rate_take(rate, USER, now_ns + share_ns - 1));
		for (int j = 0; j < 1000; j++) {
			now_ns += share_ns;
			assert_true(request_rate_take(rate, USER, now_ns));
			assert_false(request_rate_take(rate, USER, now_ns));
		}
		assert_int_equal(rate->refused, 2 + 1000);
		request_rate_free(rate);
	}
	request_rate_free(NULL);
}

static void a_pause_fills_the_bucket_and_no_more(void **state)
{
	struct request_rate *rate = new_rate();
	uint64_t now_ns = NSEC_PER_SEC;

	empty(rate, now_ns);
	now_ns += USER_BURST * share_ns;
	empty(rate, now_ns);
	empty(rate, now_ns + 100 * USER_BURST * share_ns);
	request_rate_free(rate);
}

static uint64_t other_user(void)
{
	uint64_t user = USER + 1;

	while (user_share_counter(user) == user_share_counter(USER))
		user++;
	return user;
}

/* One who makes requests all the time leaves others theirs. */
static void users_do_not_take_from_each_other(void **state)
{
	struct request_rate *rate = new_rate();
	const uint64_t other = other_user();
	uint64_t now_ns = NSEC_PER_SEC;
	int others = 0;

	empty(rate, now_ns);
	for (int i = 0; i < 1000; i++) {
		now_ns += share_ns;
		(void)request_rate_take(rate, USER, now_ns);
		others += request_rate_take(rate, other, now_ns);
	}
	assert_int_equal(others, 1000);
	/* All together keep to the bound. */
	for (uint64_t user = 0; user < 100000; user++)
		(void)request_rate_take(rate, user, now_ns);
	assert_true(rate->share.used <= REQUEST_RATE_BURST * share_ns);
	request_rate_free(rate);
}

static uint64_t held_by_all(const struct request_rate *rate)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < USER_SHARE_COUNTERS; i++)
		sum += rate->share.counters[i].held;
	return sum;
}

/*
 * Two users who ask for ten minutes, each below the rate and together above it, and bursts of a
 * third meanwhile, leave room for the burst of a fourth.
 */
static void long_use_leaves_room_for_others(void **state)
{
	struct request_rate *rate = new_rate();
	uint64_t now_ns = NSEC_PER_SEC;
	int granted = 0;

	for (int second = 0; second < 600; second++) {
		for (int i = 0; i < 900; i++) {
			(void)request_rate_take(rate, 1, now_ns);
			(void)request_rate_take(rate, 2, now_ns);
			now_ns += NSEC_PER_SEC / 900;
		}
		for (int i = 0; second % 10 == 0 && i < 1000; i++)
			(void)request_rate_take(rate, 3, now_ns);
		assert_int_equal(held_by_all(rate), rate->share.used);
	}
	for (int i = 0; i < REQUEST_RATE_BURST / 16; i++)
		granted += request_rate_take(rate, 4, now_ns);
	assert_int_equal(granted, REQUEST_RATE_BURST / 16);
	request_rate_free(rate);
}

/* Less than systemd's limit of a socket, 200 connections within two seconds. */
static void fetches_keep_to_the_limit_of_their_socket(void **state)
{
	struct request_rate *rate = new_rate();
	const uint64_t start_ns = NSEC_PER_SEC, step_ns = NSEC_PER_SEC / 1000;
	uint64_t times[1000];
	int count = 0;

	for (uint64_t now_ns = start_ns; now_ns < start_ns + 10ULL * NSEC_PER_SEC;
		now_ns += step_ns)
		if (request_rate_take_fetch(rate, now_ns))
			times[count++] = now_ns;
	assert_in_range(count, 499, 501);
	for (int i = 0; i + 199 < count; i++)
		assert_true(times[i + 199] - times[i] > 2ULL * NSEC_PER_SEC);
	assert_int_equal(rate->refused, 0);
	request_rate_free(rate);
}

static int result_of(struct setting *setting, enum pilotlight_broker_operation operation)
{
	struct pilotlight_broker_request request;
	struct pilotlight_broker_answer answer;
	struct broker_message message;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_BROKER_VERSION;
	request.operation = operation;
	if (operation == PILOTLIGHT_BROKER_MAPS || operation == PILOTLIGHT_BROKER_PERF_MAP) {
		request.pid = 77;
	} else if (operation == PILOTLIGHT_BROKER_START_CHILD) {
		request.file = BROKER_CHILD_SYMBOL_FETCH;
	} else if (operation == PILOTLIGHT_BROKER_PATH) {
		request.has_path = 1;
		strcpy(request.path, "/no/such/file");
	}
	send_message(setting->client, &request, sizeof(request), -1, 0);
	assert_int_equal(broker_server_run(setting->server), 0);
	assert_int_equal(
		broker_socket_receive(setting->client, &answer, sizeof(answer), 2, &message), 0);
	broker_message_close(&message);
	return answer.result;
}

/* Also over the next engine's server. What the kernel has for every process goes on. */
static void servers_refuse_the_excess(void **state)
{
	struct setting *setting = *state;
	struct request_rate *rate = new_rate();
	const struct broker_options options = { .proc_root = setting->proc, .request_rate = rate };

	for (int i = 0; i < 2; i++) {
		int pair[2];

		broker_server_free(setting->server);
		assert_int_equal(close(setting->client), 0);
		make_pair(pair);
		setting->client = pair[0];
		assert_int_equal(broker_server_new(pair[1], &options, &setting->server), 0);
		if (i == 0)
			assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PATH), -ENOENT);
		/* Far ahead of the clock. */
		rate->refilled_ns = clock_monotonic_ns() + 3600ULL * NSEC_PER_SEC;
		rate->share.used = rate->share.capacity;
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PATH), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_MAPPING), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_MARKER), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PERF_MAP), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_DEBUG_FILE), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_MAPS), 0);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_KERNEL_FILE), -ENOENT);
		assert_int_equal(
			broker_server_counters(setting->server)->refusals[BROKER_REFUSAL_EXHAUSTED],
			5);
	}
	assert_int_equal(rate->refused, 10);
	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
	request_rate_free(rate);
}

/* By the process that the request names. */
static void servers_know_the_user(void **state)
{
	struct setting *setting = *state;
	struct request_rate *rate = new_rate();
	const struct broker_options options = { .proc_root = setting->proc, .request_rate = rate };
	int pair[2];

	broker_server_free(setting->server);
	assert_int_equal(close(setting->client), 0);
	make_pair(pair);
	setting->client = pair[0];
	assert_int_equal(broker_server_new(pair[1], &options, &setting->server), 0);
	rate->refilled_ns = clock_monotonic_ns() + 3600ULL * NSEC_PER_SEC;
	user_share_add(&rate->share, USER, USER_BURST * share_ns);
	write_file(setting->proc, "77/status", "Name:\ta\nUid:\t3\t1000\t3\t3\n");
	assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PERF_MAP), -EAGAIN);
	write_file(setting->proc, "77/status", "Name:\ta\nUid:\t1000\t3\t1000\t1000\n");
	assert_int_not_equal(result_of(setting, PILOTLIGHT_BROKER_PERF_MAP), -EAGAIN);
	assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PATH), -ENOENT);
	assert_int_equal(rate->refused, 1);
	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
	request_rate_free(rate);
}

/* Also over the next engine's server. */
static void servers_bound_the_fetches_of_a_service(void **state)
{
	struct setting *setting = *state;
	struct request_rate *rate = new_rate();
	const struct broker_options options = {
		.proc_root = setting->proc,
		.request_rate = rate,
		.fetch_socket = "/no/such/socket",
	};

	for (int i = 0; i < 2; i++) {
		int pair[2];

		broker_server_free(setting->server);
		assert_int_equal(close(setting->client), 0);
		make_pair(pair);
		setting->client = pair[0];
		assert_int_equal(broker_server_new(pair[1], &options, &setting->server), 0);
		if (i == 0)
			assert_int_equal(
				result_of(setting, PILOTLIGHT_BROKER_START_CHILD), -ENETDOWN);
		rate->fetches_paid_until_ns = clock_monotonic_ns() + 3600ULL * NSEC_PER_SEC;
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_START_CHILD), -EAGAIN);
		assert_int_equal(result_of(setting, PILOTLIGHT_BROKER_PATH), -ENOENT);
	}
	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
	request_rate_free(rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_followed_by_the_rate),
		cmocka_unit_test(users_do_not_take_from_each_other),
		cmocka_unit_test(long_use_leaves_room_for_others),
		cmocka_unit_test(a_pause_fills_the_bucket_and_no_more),
		WITH_SERVER(servers_refuse_the_excess),
		cmocka_unit_test(fetches_keep_to_the_limit_of_their_socket),
		WITH_SERVER(servers_know_the_user),
		WITH_SERVER(servers_bound_the_fetches_of_a_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

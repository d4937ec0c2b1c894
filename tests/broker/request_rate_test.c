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

static void empty(struct request_rate *rate, uint64_t now_ns)
{
	for (int i = 0; i < REQUEST_RATE_BURST; i++)
		assert_true(request_rate_take(rate, now_ns));
	assert_false(request_rate_take(rate, now_ns));
}

static void a_burst_is_followed_by_the_rate(void **state)
{
	static const uint64_t starts[] = { 0, 1, 77ULL * NSEC_PER_SEC, UINT64_MAX / 2 };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct request_rate *rate = new_rate();
		uint64_t now_ns = starts[i];

		empty(rate, now_ns);
		assert_false(request_rate_take(rate, now_ns + share_ns - 1));
		for (int j = 0; j < 1000; j++) {
			now_ns += share_ns;
			assert_true(request_rate_take(rate, now_ns));
			assert_false(request_rate_take(rate, now_ns));
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
	now_ns += REQUEST_RATE_BURST * share_ns;
	empty(rate, now_ns);
	empty(rate, now_ns + 100 * REQUEST_RATE_BURST * share_ns);
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
	if (operation == PILOTLIGHT_BROKER_MAPS) {
		request.pid = 77;
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
		rate->paid_until_ns = clock_monotonic_ns() + 3600ULL * NSEC_PER_SEC;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_followed_by_the_rate),
		cmocka_unit_test(a_pause_fills_the_bucket_and_no_more),
		WITH_SERVER(servers_refuse_the_excess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

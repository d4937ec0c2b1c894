/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share the queue and the time of workers. */
#include "tests/symbolize/symbolizer_fixture.h"

#include "symbolize/task_table.h"
#include "tests/harness/distinct_users.h"

struct users {
	uint64_t abuser, other;
};

static struct users users_of_two(void)
{
	struct user_share seen = { 0 };
	uint64_t abuser = distinct_user(&seen, 1000);

	return (struct users){ .abuser = abuser, .other = distinct_user(&seen, 2000) };
}

static struct symbolizer *open_shared(
	const struct place *place, uint64_t user_burst_ns, uint64_t overtake_ns)
{
	struct symbolizer_options options = {
		.cache = place->cache,
		.broker = place->broker,
		.workers = { .workers_max = 1, .timeout_ns = 60 * (uint64_t)NSEC_PER_SEC },
		.user_burst_ns = user_burst_ns,
		.overtake_ns = overtake_ns,
	};
	struct symbolizer *symbolizer;

	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	return symbolizer;
}

static struct symbol_binary request(struct symbolizer *symbolizer, const struct place *place,
	const char *path, uint8_t id, uint64_t user)
{
	struct symbol_binary binary = make_binary(place, path, id);

	binary.user = user;
	assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
	return binary;
}

static bool is_pending(const struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct symbol_identity identity = symbol_identity_of_build_id(&binary->build_id);
	struct symbolizer_outcome outcome;

	assert_int_equal(symbolizer_outcome(symbolizer, &identity, &outcome), 0);
	return outcome.is_pending;
}

static void run_until_done(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct pollfd event = { .fd = symbolizer_poll_fd(symbolizer), .events = POLLIN };

	symbolizer_hurry(symbolizer);
	while (is_pending(symbolizer, binary)) {
		assert_int_equal(poll(&event, 1, 60 * 1000), 1);
		assert_int_equal(symbolizer_run(symbolizer), 0);
	}
}

static void a_long_queue_of_one_user_is_overtaken(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_shared(place, 0, 0);
	const struct users users = users_of_two();
	struct symbol_binary binary;

	for (uint8_t id = 1; id <= 9; id++)
		(void)request(symbolizer, place, "/bin/works", id, users.abuser);
	binary = request(symbolizer, place, "/bin/works", 10, users.other);
	run_until_done(symbolizer, &binary);
	assert_true(counters_of(symbolizer).pending >= 7);
	wait_for_workers(symbolizer);
	assert_int_equal(counters_of(symbolizer).extracted, 10);
	assert_int_equal(symbolizer_unfinished(symbolizer)->used, 0);
	symbolizer_free(symbolizer);
}

static void a_user_whose_time_is_used_up_waits(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_shared(place, 1, 0);
	const struct users users = users_of_two();
	struct symbol_binary first, second, other;

	/* Killed workers took their time, too. */
	first = request(symbolizer, place, "/bin/crashes", 1, users.abuser);
	run_until_done(symbolizer, &first);
	second = request(symbolizer, place, "/bin/works", 2, users.abuser);
	assert_int_equal(symbolizer_run(symbolizer), 0);
	other = request(symbolizer, place, "/bin/works", 3, users.other);
	run_until_done(symbolizer, &other);
	assert_true(is_pending(symbolizer, &second));
	assert_int_equal(symbolizer_excess(symbolizer)->total[USER_SYMBOLS], 1);
	assert_int_equal(symbolizer_excess(symbolizer)->lines[0].user, users.abuser);
	assert_int_equal(user_share_held(symbolizer_unfinished(symbolizer), users.abuser), 1);
	symbolizer_ignore_time(symbolizer);
	run_until_done(symbolizer, &second);
	assert_true(
		counters_of(symbolizer).worker_spent_ns > counters_of(symbolizer).worker_cpu_ns);
	symbolizer_free(symbolizer);
}

static void a_worker_that_takes_long_is_overtaken(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_shared(place, 0, 1);
	const struct users users = users_of_two();
	struct symbol_binary hangs, second, other;

	hangs = request(symbolizer, place, "/bin/hangs", 1, users.abuser);
	second = request(symbolizer, place, "/bin/hangs", 2, users.abuser);
	other = request(symbolizer, place, "/bin/works", 3, users.other);
	run_until_done(symbolizer, &other);
	assert_true(is_pending(symbolizer, &hangs));
	assert_true(is_pending(symbolizer, &second));
	symbolizer_free(symbolizer);
}

static void one_user_does_not_fill_the_queue(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_shared(place, 0, 0);
	const struct users users = users_of_two();
	struct symbol_binary binary;
	int r = 0, requested = 0;

	(void)request(symbolizer, place, "/bin/hangs", 1, users.abuser);
	while (r == 0 && requested < TASKS_MAX) {
		binary = make_binary(place, "/bin/works", 2);
		binary.fd = -1;
		binary.user = users.abuser;
		memcpy(&binary.build_id.bytes[4], &requested, sizeof(requested));
		r = symbolizer_request(symbolizer, &binary);
		requested += r == 0;
	}
	assert_int_equal(r, -E2BIG);
	assert_in_range(requested, TASKS_MAX / 2, TASKS_MAX / 3 * 2 + 1);
	assert_int_equal(symbolizer_excess(symbolizer)->total[USER_SYMBOLS], 1);
	(void)request(symbolizer, place, "/bin/works", 3, users.other);
	symbolizer_free(symbolizer);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_long_queue_of_one_user_is_overtaken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_user_whose_time_is_used_up_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_worker_that_takes_long_is_overtaken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			one_user_does_not_fill_the_queue, set_up, tear_down),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		play_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_feed.h"

#include "base/clock.h"
#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct top_feed *new_feed(const char *unit)
{
	struct query_text query;
	struct top_feed *feed = NULL;
	struct fault fault = { 0 };

	query_text_init(&query, "/api/v1/profile");
	if (unit)
		query_text_add(&query, "unit", unit);
	assert_int_equal(top_feed_new(service.path, &query, &feed, &fault), 0);
	return feed;
}

static struct top_answer wait_for_answer(struct top_feed *feed)
{
	struct pollfd fd = { .fd = top_feed_poll_fd(feed), .events = POLLIN };
	struct top_answer answer;

	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_true(top_feed_is_asking(feed));
	assert_true(top_feed_take(feed, &answer));
	assert_false(top_feed_is_asking(feed));
	return answer;
}

static void each_question_has_an_answer(void **state)
{
	struct top_feed *feed = new_feed("a");

	for (uint64_t seconds = 10; seconds < 13; seconds++) {
		struct top_answer answer, none;

		assert_false(top_feed_take(feed, &none));
		top_feed_ask(feed, seconds * NSEC_PER_SEC, false);
		answer = wait_for_answer(feed);
		assert_int_equal(answer.error, 0);
		assert_int_equal(answer.status, 200);
		assert_true(answer.span_ns == seconds * NSEC_PER_SEC);
		assert_true(answer.covered_ns == seconds * 1250000000);
		assert_true(answer.period_ns == 100000000);
		assert_int_equal(answer.profile->samples, 100);
		assert_int_equal(answer.profile->lost, 5);
		assert_true(answer.machine.cpus == 4);
		assert_true(answer.machine.rate_hz == 10);
		assert_true(answer.machine.cost_ratio == 0.0005);
		assert_true(answer.machine.memory_bytes == 32 << 20);
		assert_true(answer.received_ns > 0);
		top_profile_free(answer.profile);
	}
	top_feed_free(feed);
}

static void a_tree_is_asked_for_if_it_is_wanted(void **state)
{
	struct top_feed *feed = new_feed("a");
	struct top_answer answer;

	for (int wants_tree = 0; wants_tree < 2; wants_tree++) {
		top_feed_ask(feed, 10ULL * NSEC_PER_SEC, wants_tree);
		answer = wait_for_answer(feed);
		assert_int_equal(answer.error, 0);
		assert_int_equal(answer.profile->has_tree, wants_tree);
		assert_int_equal(answer.profile->samples, 100);
		top_profile_free(answer.profile);
	}
	top_feed_free(feed);
}

static void an_error_is_an_answer(void **state)
{
	struct top_feed *feed = new_feed("bad");
	struct top_answer answer;

	top_feed_ask(feed, NSEC_PER_SEC, false);
	answer = wait_for_answer(feed);
	assert_int_equal(answer.error, -EREMOTEIO);
	assert_int_equal(answer.status, 400);
	assert_null(answer.profile);
	assert_non_null(strstr(answer.fault.text, "unit 'bad' is none"));
	service_run_end();
	top_feed_ask(feed, NSEC_PER_SEC, false);
	answer = wait_for_answer(feed);
	assert_int_equal(answer.status, 0);
	assert_true(answer.error < 0);
	/* The service is back, and so are answers. */
	assert_int_equal(service_run_begin(), 0);
	top_feed_ask(feed, NSEC_PER_SEC, false);
	answer = wait_for_answer(feed);
	assert_int_equal(answer.status, 400);
	top_feed_free(feed);
}

static void a_selection_that_is_too_long_is_reported(void **state)
{
	char word[4086];
	struct top_answer answer;
	struct top_feed *feed;

	/* It fits, and the time behind it does not. */
	memset(word, '%', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	feed = new_feed(word);
	top_feed_ask(feed, NSEC_PER_SEC, false);
	answer = wait_for_answer(feed);
	assert_int_equal(answer.error, -E2BIG);
	assert_non_null(strstr(answer.fault.text, "select less at once"));
	top_feed_free(feed);
}

static void an_unread_answer_is_freed(void **state)
{
	struct top_feed *feed = new_feed(NULL);
	struct pollfd fd = { .fd = top_feed_poll_fd(feed), .events = POLLIN };

	top_feed_ask(feed, NSEC_PER_SEC, false);
	assert_int_equal(poll(&fd, 1, -1), 1);
	top_feed_free(feed);
}

static void a_pending_request_is_cancelled(void **state)
{
	struct top_feed *feed = new_feed("never");

	top_feed_ask(feed, NSEC_PER_SEC, false);
	/* Would wait for ever otherwise. */
	top_feed_free(feed);
}

static void failing_allocations_are_reported(void **state)
{
	struct top_feed *feed = NULL;
	struct fault fault = { 0 };
	struct query_text query;
	size_t n;

	query_text_init(&query, "/api/v1/profile");
	assert_true(FAIL_EACH_ALLOCATION(top_feed_new(service.path, &query, &feed, &fault), -ENOMEM,
			    !feed, 0) >= 3);
	for (n = 0;; n++) {
		struct top_answer answer;

		fail_allocation(n);
		top_feed_ask(feed, NSEC_PER_SEC, false);
		answer = wait_for_answer(feed);
		top_profile_free(answer.profile);
		if (!allocation_failed()) {
			assert_int_equal(answer.error, 0);
			break;
		}
		/* Those for /metrics alone cost no more than what it tells. */
		if (answer.error == 0) {
			assert_true(answer.machine.cpus == 0);
			continue;
		}
		assert_int_equal(answer.error, -ENOMEM);
		assert_string_not_equal(answer.fault.text, "");
	}
	assert_true(n >= 5);
	top_feed_free(feed);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_question_has_an_answer),
		TEST(a_tree_is_asked_for_if_it_is_wanted),
		TEST(an_error_is_an_answer),
		TEST(a_selection_that_is_too_long_is_reported),
		TEST(an_unread_answer_is_freed),
		TEST(a_pending_request_is_cancelled),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time line of a history, and whose its time was. */
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

static void ask_timeline(struct answer_fixture *fixture, const char *by)
{
	const char *const pairs[] = { "from", "2026-09-04 10:00", "to", "2026-09-04 10:01",
		by ? "by" : NULL, by, NULL };

	fixture->request.kind = ANSWER_TIMELINE;
	answer_fixture_make(fixture, pairs);
}

#define ASK_TIMELINE(fixture, by)                          \
	do {                                               \
		ask_timeline(fixture, by);                 \
		answer_fixture_expect((fixture), 200, ""); \
	} while (false)

static void a_moment_has_the_time_of_its_windows(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK_TIMELINE(fixture, NULL);
	assert_non_null(strstr(fixture->output, "\"amount\":[0.080,0.070]"));
	assert_null(strstr(fixture->output, "\"parts\""));
}

static void it_is_of_the_kernel_or_not(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK_TIMELINE(fixture, "kind");
	assert_non_null(
		strstr(fixture->output, "\"parts\":[{\"name\":\"user\",\"amount\":[0.030,0.070]},"
					"{\"name\":\"kernel\",\"amount\":[0.050,0.000]}],"));
}

static void it_is_of_units_and_threads(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK_TIMELINE(fixture, "unit");
	assert_non_null(strstr(fixture->output,
		"\"parts\":[{\"name\":\"alpha.service\",\"amount\":[0.050,0.070]},"
		"{\"name\":\"beta.service\",\"amount\":[0.030,0.000]}],"));
	ASK_TIMELINE(fixture, "comm");
	assert_non_null(strstr(fixture->output, "{\"name\":\"alpha\",\"amount\":[0.050,0.070]}"));
	ask_timeline(fixture, "colour");
	answer_fixture_expect(fixture, 400, "invalid value of by");
}

/* Six names have the most; threads of one name are summed. */
static void the_greatest_are_told(void **state)
{
	struct answer_fixture *fixture = *state;
	struct fixture_sample samples[20];
	struct fault fault = { 0 };
	struct store *store;
	char comms[20][8];

	assert_int_equal(store_open(fixture->history, &store_default_limits, &store, &fault), 0);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		(void)snprintf(comms[i], sizeof(comms[i]), "c%zu", i % 10);
		samples[i] = (struct fixture_sample){
			.pid = (uint32_t)(100 + i),
			.address = 0x3000,
			.count = 100 + (uint32_t)(i % 10),
			.comm = comms[i],
			.owner = (uint32_t)(i / 10),
		};
	}
	answer_fixture_append(
		store, ANSWER_FIXTURE_SECOND + SECONDS(10), samples, ARRAY_SIZE(samples));
	store_close(store);
	ASK_TIMELINE(fixture, "comm");
	assert_non_null(strstr(fixture->output,
		"\"parts\":[{\"name\":\"c9\",\"amount\":[0.000,0.000,2.180]},"
		"{\"name\":\"c8\","));
	assert_non_null(strstr(fixture->output, "{\"name\":\"c4\","));
	assert_null(strstr(fixture->output, "{\"name\":\"c3\","));
}

static void append_living(struct store *store, uint64_t start_ns, const char *comm, uint64_t count)
{
	const struct fixture_sample sample = {
		.pid = 50, .address = 0x3000, .count = count, .comm = comm
	};
	struct profile *profile = fixture_profile(start_ns, &sample, 1);
	struct fault fault = { 0 };

	assert_int_equal(profile_add_string(profile, "kmem:live", &profile->event), 0);
	profile->period_ns = 4096;
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* Each moment has its own, and one of several windows what lives at its end. */
static void what_lives_has_parts_at_each_moment(void **state)
{
	struct answer_fixture *fixture = *state;
	struct fault fault = { 0 };
	struct store *store;

	assert_int_equal(store_open(fixture->history, &store_default_limits, &store, &fault), 0);
	append_living(store, ANSWER_FIXTURE_SECOND + SECONDS(10), "alpha", 3);
	append_living(store, ANSWER_FIXTURE_SECOND + SECONDS(20), "beta", 5);
	store_close(store);
	fixture->request.kind = ANSWER_TIMELINE;
	ASK(fixture, "from", "yesterday 10:00", "to", "10:01", "event", "kmem:live", "by", "comm");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "\"is_live\":true,"));
	assert_non_null(strstr(fixture->output, "\"amount\":[12288.000,20480.000],"));
	assert_non_null(strstr(fixture->output,
		"\"parts\":[{\"name\":\"beta\",\"amount\":[0.000,20480.000]},"
		"{\"name\":\"alpha\",\"amount\":[12288.000,0.000]}],"));
	ASK(fixture, "from", "yesterday 10:00", "to", "10:01", "event", "kmem:live", "by", "comm",
		"buckets", "1");
	assert_non_null(strstr(fixture->output, "\"amount\":[20480.000],"));
	assert_non_null(
		strstr(fixture->output, "\"parts\":[{\"name\":\"beta\",\"amount\":[20480.000]}],"));
}

static void time_without_history_has_no_parts(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_TIMELINE;
	ASK(fixture, "from", "2026-09-01", "to", "2026-09-02", "by", "unit");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "\"parts\":[]"));
}

static int status_without_memory(struct answer_fixture *fixture)
{
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	return fixture->reply.status;
}

static void failing_allocations_are_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK_TIMELINE(fixture, "unit");
	assert_true(FAIL_EACH_ALLOCATION(status_without_memory(fixture), 413, true, 200) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ANSWER_TEST(a_moment_has_the_time_of_its_windows),
		ANSWER_TEST(it_is_of_the_kernel_or_not),
		ANSWER_TEST(it_is_of_units_and_threads),
		ANSWER_TEST(the_greatest_are_told),
		ANSWER_TEST(what_lives_has_parts_at_each_moment),
		ANSWER_TEST(time_without_history_has_no_parts),
		ANSWER_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

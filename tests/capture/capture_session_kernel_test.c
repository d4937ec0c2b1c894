/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session lets a client change, on the running kernel.
 * Runs beside others: it asks whether there are samples, and waits for them.
 */
#include "base/clock.h"
#include "capture/capture_host.h"
#include "capture/capture_session.h"
#include "capture/cgroup_names.h"
#include "tests/capture/served_capture.h"
#include "tests/symbol/runtime_example.h"

static int open_at(
	struct capture_session *session, uint32_t rate_hz, struct pilotlight_capture_answer *answer)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	int fds[PILOTLIGHT_CAPTURE_FDS];

	request.rate_hz = rate_hz;
	(void)capture_session_execute(session, &request, answer, fds);
	return answer->result;
}

/* An engine cannot take away the maps that it has, but those of one that is gone. */
static void the_same_client_cannot_change_settings(void **state)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct capture_session session = { NULL };
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	struct capture_host *host;

	skip_without_bpf();
	assert_int_equal(open_at(&session, 99, &answer), 0);
	host = session.host;
	assert_int_equal(open_at(&session, 199, &answer), -EBUSY);
	assert_true(strlen(answer.fault) > 0);
	assert_ptr_equal(session.host, host);
	assert_int_equal(open_at(&session, 99, &answer), 0);
	assert_true(answer.layout.is_taken_over);
	assert_int_equal(open_at(&session, 199, &answer), -EBUSY);
	request.rate_hz = 99;
	request.skips_interpreted = 1;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, -EBUSY);
	capture_session_new_client(&session);
	assert_int_equal(open_at(&session, 199, &answer), 0);
	assert_false(answer.layout.is_taken_over);
	capture_session_done(&session);
	assert_int_equal(open_at(&session, 99, &answer), 0);
	capture_session_done(&session);
}

static int ask(struct capture_session *session, uint32_t operation, uint64_t value,
	struct pilotlight_capture_answer *answer)
{
	struct pilotlight_capture_request request = request_of(operation);
	int fds[PILOTLIGHT_CAPTURE_FDS];

	request.value = value;
	(void)capture_session_execute(session, &request, answer, fds);
	return answer->result;
}

static uint64_t fired_by(const struct capture_session *session)
{
	struct pilotlight_counters sums[PILOTLIGHT_SOURCES] = { 0 };

	assert_int_equal(capture_host_add_counters(session->host, sums), 0);
	for (int i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		assert_int_equal(sums[i].fired, 0);
	return sums[PILOTLIGHT_SOURCE_CPU].fired;
}

/* Returns once another sample has fired. */
static void assert_samples(const struct capture_session *session)
{
	const uint64_t before = fired_by(session);

	while (fired_by(session) == before)
		;
}

/* For ten periods of the lowest rate of the test, on a busy CPU. */
static void assert_stopped(const struct capture_session *session)
{
	const uint64_t before = fired_by(session);
	const uint64_t end_ns = clock_monotonic_ns() + 10 * (NSEC_PER_SEC / 49);

	while (clock_monotonic_ns() < end_ns)
		;
	assert_int_equal(fired_by(session), before);
}

/* Otherwise an engine that an attacker controls would just keep what it has. */
static void lowered_limits_hold_for_what_is_open(void **state)
{
	struct capture_limits limits = {
		.rate_hz = 999, .map_bytes = 64 << 20, .allows_kernel = true
	};
	struct capture_session session = { NULL };
	struct pilotlight_capture_answer answer;

	skip_without_bpf();
	capture_session_limit(&session, &limits);
	assert_int_equal(open_at(&session, 999, &answer), 0);
	if (ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer) < 0)
		fail_msg("%s", answer.fault);
	assert_samples(&session);
	limits.rate_hz = 99;
	capture_session_limit(&session, &limits);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_STATE, 0, &answer), 0);
	assert_int_equal(answer.state.rate_hz, 99);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_SET_RATE, 100, &answer), -EPERM);
	/* A lower one stays. */
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_SET_RATE, 49, &answer), 0);
	capture_session_limit(&session, &limits);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_STATE, 0, &answer), 0);
	assert_int_equal(answer.state.rate_hz, 49);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer), 0);
	assert_samples(&session);

	limits.event = CAPTURE_EVENT_CLOCK;
	capture_session_limit(&session, &limits);
	assert_stopped(&session);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer), -EPERM);
	assert_true(strlen(answer.fault) > 0);
	assert_stopped(&session);
	/* For its successor it is dropped. */
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_CLOSE, 0, &answer), 0);
	assert_null(session.host);
	capture_session_done(&session);
}

/* Neither what is open nor a new engine records other cgroups than the broker's process chose. */
static void what_is_open_stops_if_others_are_chosen(void **state)
{
	struct capture_limits limits = {
		.rate_hz = 999, .map_bytes = 64 << 20, .allows_kernel = true
	};
	struct capture_session session = { NULL };
	struct pilotlight_capture_answer answer;
	struct fault fault = { 0 };

	skip_without_bpf();
	if (cgroup_names_find_missing()) {
		print_message("skipped: this machine lacks %s\n", cgroup_names_find_missing());
		skip();
	}
	capture_session_limit(&session, &limits);
	assert_int_equal(open_at(&session, 999, &answer), 0);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer), 0);
	assert_samples(&session);
	assert_int_equal(
		cgroup_choice_add(&limits.choice, "unit:pilotlight-none", false, &fault), 0);
	capture_session_limit(&session, &limits);
	assert_stopped(&session);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer), -EPERM);
	/* The next engine gets programs that know it. */
	capture_session_new_client(&session);
	assert_int_equal(open_at(&session, 999, &answer), 0);
	assert_false(answer.layout.is_taken_over);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_START, 0, &answer), 0);
	assert_samples(&session);
	capture_session_limit(&session, &limits);
	assert_samples(&session);
	capture_session_new_client(&session);
	assert_int_equal(open_at(&session, 999, &answer), 0);
	assert_true(answer.layout.is_taken_over);
	capture_session_done(&session);
}

/* Whom it follows with heaps gets breakpoints where the engine says. */
static void heaps_are_of_the_processes_that_the_user_named(void **state)
{
	const pid_t pids[] = { getpid(), getppid() };
	const pid_t command = INT32_MAX;
	struct capture_session session = {
		.grant = { .sources = 1 << PILOTLIGHT_SOURCE_HEAP_ALLOC,
			.pids = pids,
			.pid_count = 2,
			.command = command },
	};
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];

	skip_without_bpf();
	request.filters_processes = 1;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, 0);
	/* Without heaps it gets none. */
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_FOLLOW, 1, &answer), 0);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_CLOSE, 0, &answer), 0);

	request.sources |= 1 << PILOTLIGHT_SOURCE_HEAP_ALLOC;
	request.periods[PILOTLIGHT_SOURCE_HEAP_ALLOC] = 1;
	(void)capture_session_execute(&session, &request, &answer, fds);
	if (answer.result < 0)
		fail_msg("%s", answer.fault);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_FOLLOW, 1, &answer), -EPERM);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_FOLLOW, 0, &answer), -EINVAL);
	request = request_of(PILOTLIGHT_CAPTURE_PROBE);
	request.probe.pid = 1;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, -EPERM);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			ask(&session, PILOTLIGHT_CAPTURE_FOLLOW, (uint64_t)pids[i], &answer), 0);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_FOLLOW, (uint64_t)command, &answer), 0);
	capture_session_done(&session);
}

static int set_runtime(
	struct capture_session *session, uint64_t number, const struct pilotlight_runtime *runtime)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_SET_RUNTIME);
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];

	request.value = number;
	request.runtime = *runtime;
	assert_int_equal(capture_session_execute(session, &request, &answer, fds), 0);
	return answer.result;
}

/* The engine passes on what a worker made of a user's file. */
static void descriptions_of_interpreters_are_within_bounds(void **state)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct capture_session session = { 0 };
	struct pilotlight_capture_answer answer;
	struct pilotlight_runtime runtime = runtime_example;
	int fds[PILOTLIGHT_CAPTURE_FDS];

	skip_without_bpf();
	request.rate_hz = 99;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, 0);
	assert_int_equal(set_runtime(&session, 0, &runtime), -EOPNOTSUPP);
	assert_int_equal(ask(&session, PILOTLIGHT_CAPTURE_CLOSE, 0, &answer), 0);

	request.unwind_budget_bytes = 1 << 20;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, 0);
	assert_int_equal(set_runtime(&session, 0, &runtime), 0);
	assert_int_equal(set_runtime(&session, PILOTLIGHT_RUNTIMES_MAX - 1, &runtime), 0);
	assert_int_equal(set_runtime(&session, PILOTLIGHT_RUNTIMES_MAX, &runtime), -EINVAL);
	assert_int_equal(set_runtime(&session, 1ULL << 32, &runtime), -EINVAL);
	runtime.frame_code_at = PILOTLIGHT_RUNTIME_FRAME_MAX;
	assert_int_equal(set_runtime(&session, 0, &runtime), -EINVAL);
	capture_session_done(&session);
}

/* A description of where threads have their context is none of an interpreter. */
static void a_sampler_without_interpreters_takes_none(void **state)
{
	const struct pilotlight_runtime context = {
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_THREAD_CONTEXT,
		.anchor = PILOTLIGHT_RUNTIME_TLS,
	};
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct capture_session session = { 0 };
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];

	skip_without_bpf();
	request.rate_hz = 99;
	request.unwind_budget_bytes = 1 << 20;
	request.skips_interpreted = 1;
	(void)capture_session_execute(&session, &request, &answer, fds);
	assert_int_equal(answer.result, 0);
	assert_int_equal(set_runtime(&session, 0, &runtime_example), -EOPNOTSUPP);
	assert_int_equal(set_runtime(&session, 0, &context), 0);
	capture_session_done(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptions_of_interpreters_are_within_bounds),
		cmocka_unit_test(a_sampler_without_interpreters_takes_none),
		cmocka_unit_test(the_same_client_cannot_change_settings),
		cmocka_unit_test(lowered_limits_hold_for_what_is_open),
		cmocka_unit_test(what_is_open_stops_if_others_are_chosen),
		cmocka_unit_test(heaps_are_of_the_processes_that_the_user_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

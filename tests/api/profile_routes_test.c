/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "pilotlight/broker_request.h"
#include "tests/api/api_fixture.h"

#include <sys/wait.h>

static struct report_queries queries_of(const struct engine *engine)
{
	return engine->api->queries;
}

static void a_profile_is_made_by_a_process(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine,
		ask(engine,
			"/api/v1/profile?comm=echo&last=10min&unit=a%20b&unit=c&format=svg&lines"),
		200, "Content-Type: text/x-test\r\n",
		"\r\n\r\nkind 1, scope 1, owner 0, history '/history', cache '/symbols'",
		"comm=echo;last=10min;unit=a b;unit=c;format=svg;lines=;");
	assert_int_equal(engine->seal_requests, 1);
	CHECK_REPLY(engine,
		ask(engine, "/api/v1/"
			    "diff?comm=echo&against.from=yesterday&against.pid=1&normalise=time"),
		200, "\r\n\r\nkind 2, ", ";against.from=yesterday;against.pid=1;normalise=time;");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=many+3000000"), 200,
		"Content-Length: 3000000\r\n", "mmmmmmmm");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=cover"), 200,
		"X-Pilotlight-Covered-Seconds: 20.000000000\r\n",
		"X-Pilotlight-Period-Seconds: 0.010101010\r\n");
	assert_int_equal(queries_of(engine).answered, 4);
}

static void errors_of_an_answer_process_are_reported(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=refuse+404"), 404,
		"text/plain; charset=utf-8", "That is\xef\xbf\xbd not to be had.\n");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=exit+1"), 500, "sent no reply");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=lie+bytes"), 500,
		"sent an invalid reply");
	assert_int_equal(queries_of(engine).refused, 1);
	assert_int_equal(queries_of(engine).failed, 2);
}

static void unknown_parameters_are_named(void **state)
{
	static const struct {
		const char *target, *text;
	} refused[] = {
		{ "/api/v1/profile?last=1h&nuit=x",
			"Unknown parameter 'nuit' of '/api/v1/profile'" },
		{ "/api/v1/profile?against.last=1h", "Unknown parameter 'against.last'" },
		{ "/api/v1/profile?normalise=time", "Unknown parameter 'normalise'" },
		{ "/api/v1/profile?seconds=3", "Unknown parameter 'seconds'" },
		{ "/api/v1/diff?against.format=svg", "Unknown parameter 'against.format'" },
		{ "/api/v1/diff?against.=svg", "Unknown parameter 'against.'" },
		{ "/debug/pprof/profile?seconds=1&last=1h", "Unknown parameter 'last'" },
		{ "/debug/pprof/profile?from=1", "Unknown parameter 'from'" },
		{ "/debug/pprof/profile?format=svg", "Unknown parameter 'format'" },
	};
	struct engine *engine = *state;

	start_api(engine, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		CHECK_REPLY(engine, ask(engine, refused[i].target), 400, refused[i].text);
	assert_int_equal(queries_of(engine).refused, ARRAY_SIZE(refused));
	assert_int_equal(engine->seal_requests, 0);
}

static const struct http_limits narrow = { 8, 8, 16 << 10, 8 << 20, 10, 60 };

static void give_little_room(struct api_options *options)
{
	options->limits = &narrow;
}

/* The refusal says that a retry helps only if unread answers are the reason. */
static void unread_answers_leave_less_room(void **state)
{
	struct http_counters counters;
	struct engine *engine = *state;
	int fd;

	start_api(engine, give_little_room);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=refuse+413"), 413, "not to be had");
	fd = ask(engine, "/api/v1/profile?comm=many+4000000");
	do {
		step(engine, -1, 0);
		api_counters(engine->api, &counters);
	} while (counters.bytes < 100000);
	assert_int_equal(counters.file_bytes, 4000000);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=refuse+413"), 503,
		"leave memory for only 256 KiB");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=many+262144"), 200, "mmmm");
	CHECK_REPLY(engine, fd, 200, "Content-Length: 4000000\r\n");
	api_counters(engine->api, &counters);
	assert_int_equal(counters.file_bytes, 0);
}

static void keep_no_history(struct api_options *options)
{
	options->history = "";
}

static void without_a_history_there_is_no_profile(void **state)
{
	struct engine *engine = *state;

	start_api(engine, keep_no_history);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile"), 404, "No history");
	CHECK_REPLY(engine, ask(engine, "/debug/pprof/profile"), 404, "X-Go-Pprof: 1\r\n",
		"No history");
}

/* --- sealing --- */

static void unsealed_history_is_awaited(void **state)
{
	struct engine *engine = *state;
	uint64_t before_ns = clock_realtime_ns();
	char now[64];
	int fd, other_fd;

	start_api(engine, NULL);
	engine->seals = false;
	fd = ask(engine, "/api/v1/profile?comm=echo");
	wait_for_queries(engine, QUERY_SEALING, 1);
	assert_int_equal(engine->seal_requests, 1);
	assert_true(engine->seal_requested_ns >= before_ns &&
		    engine->seal_requested_ns <= clock_realtime_ns());
	/* A second query soon after waits for the same seal. */
	other_fd = ask(engine, "/api/v1/profile?comm=echo");
	wait_for_queries(engine, QUERY_SEALING, 2);
	assert_int_equal(engine->seal_requests, 1);
	api_sealed(engine->api, engine->seal_requested_ns - 1);
	assert_int_equal(api_run(engine->api), 0);
	assert_int_equal(count_queries(engine, QUERY_SEALING), 2);
	/* However long the query waits, "last" counts back from its arrival. */
	(void)snprintf(
		now, sizeof(now), ", now %llu;", (unsigned long long)engine->seal_requested_ns);
	api_sealed(engine->api, engine->seal_requested_ns);
	assert_int_equal(api_timeout_ns(engine->api), 0);
	CHECK_REPLY(engine, fd, 200, now, "comm=echo");
	CHECK_REPLY(engine, other_fd, 200, "comm=echo");
	/* A seal this recent is reused. */
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 200, "comm=echo");
	assert_int_equal(engine->seal_requests, 1);
}

static void seal_in_no_time(struct api_options *options)
{
	options->seal_timeout_ns = 1;
}

static void a_history_that_is_not_sealed_serves_as_it_is(void **state)
{
	struct engine *engine = *state;

	start_api(engine, seal_in_no_time);
	engine->seals = false;
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 200, "comm=echo");
	assert_int_equal(engine->seal_requests, 1);
}

static void sealed_history_is_answered_at_once(void **state)
{
	static const struct {
		const char *target;
		unsigned seal_requests;
	} times[] = {
		{ "/api/v1/profile?comm=echo&to=@1763608320", 0 },
		{ "/api/v1/profile?comm=echo&from=2020-11-20&to=2020-11-21+03:12", 0 },
		{ "/api/v1/diff?comm=echo&to=@2&against.to=@1", 0 },
		{ "/api/v1/profile?comm=echo&last=1h&fresh=no", 0 },
		/* These mean another time on another day. */
		{ "/api/v1/profile?comm=echo&from=yesterday&to=03:12", 1 },
		{ "/api/v1/profile?comm=echo&to=yesterday", 1 },
		{ "/api/v1/profile?comm=echo&to=10min+ago", 1 },
		{ "/api/v1/profile?comm=echo&to=2999-01-01", 1 },
		{ "/api/v1/profile?comm=echo&to=nonsense", 1 },
		{ "/api/v1/profile?comm=echo&from=@1", 1 },
		{ "/api/v1/diff?comm=echo&to=@2", 1 },
		{ "/api/v1/diff?comm=echo&against.to=@2", 1 },
	};
	struct engine *one = *state;

	start_api(one, NULL);
	CHECK_REPLY(one, ask(one, "/api/v1/profile?last=1h&fresh=yes"), 400, "'fresh' is no");
	assert_int_equal(one->seal_requests, 0);
	end_engine(one);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct engine *engine = *state;

		start_api(engine, NULL);
		/* Too long ago to be reused for a query up to now. */
		api_sealed(engine->api, clock_realtime_ns() - 60000000000);
		CHECK_REPLY(engine, ask(engine, times[i].target), 200, "comm=echo");
		if (engine->seal_requests != times[i].seal_requests)
			fail_msg("'%s': %u requests to seal", times[i].target,
				engine->seal_requests);
		end_engine(engine);
	}
}

static void a_clock_that_was_set_back_is_not_believed(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	api_sealed(engine->api, clock_realtime_ns() + 3600000000000);
	engine->api->seal_requested_ns = engine->api->sealed_ns;
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 200, "comm=echo");
	assert_int_equal(engine->seal_requests, 1);
}

/* --- the queue --- */

static void allow_one(struct api_options *options)
{
	options->queries_max = 1;
}

static void queries_beyond_the_limit_wait(void **state)
{
	struct engine *engine = *state;
	int fds[5];

	start_api(engine, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = ask(engine, "/api/v1/profile?comm=hang");
	wait_for_queries(engine, QUERY_QUEUED, 3);
	assert_int_equal(count_queries(engine, QUERY_RUNNING), 2);
	CHECK_REPLY(engine, ask(engine, "/metrics"), 200, "\npilotlight_queries_running 2\n",
		"\npilotlight_queries_waiting 3\n");
	/* Running queries end with their clients, and waiting ones start. */
	for (unsigned i = 0; i < 3; i++) {
		(void)close(fds[i]);
		wait_for_queries(engine, QUERY_QUEUED, 2 - i);
		assert_int_equal(count_queries(engine, QUERY_RUNNING), 2);
	}
	(void)close(fds[3]);
	wait_for_queries(engine, QUERY_RUNNING, 1);
	(void)close(fds[4]);
	wait_for_queries(engine, QUERY_RUNNING, 0);
	assert_int_equal(engine->api->running, 0);
	assert_int_equal(queries_of(engine).abandoned, 5);
}

static int ask_as(struct engine *engine, uid_t uid, const char *target)
{
	int fd;

	assert_int_equal(seteuid(uid), 0);
	fd = ask(engine, target);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

static void users_take_turns(void **state)
{
	struct engine *engine = *state;
	int fds[3], other_fd;

	if (geteuid() != 0) {
		print_message("skipped: only root can be two users\n");
		skip();
	}
	start_api(engine, allow_one);
	fds[0] = ask_as(engine, 1000, engine->waiting_target);
	wait_for_queries(engine, QUERY_RUNNING, 1);
	fds[1] = ask_as(engine, 1000, engine->waiting_target);
	fds[2] = ask_as(engine, 1000, engine->waiting_target);
	wait_for_queries(engine, QUERY_QUEUED, 2);
	other_fd = ask_as(engine, 1001, "/api/v1/profile?comm=echo");
	wait_for_queries(engine, QUERY_QUEUED, 3);
	release(engine);
	CHECK_REPLY(engine, fds[0], 200, "comm=wait");
	/* The first user's second query arrived first; then it is the other user's turn. */
	release(engine);
	CHECK_REPLY(engine, fds[1], 200, "comm=wait");
	CHECK_REPLY(engine, other_fd, 200, "comm=echo");
	assert_int_equal(queries_of(engine).answered, 3);
	release(engine);
	CHECK_REPLY(engine, fds[2], 200, "comm=wait");
}

static void queries_of_disconnected_clients_are_cancelled(void **state)
{
	struct engine *engine = *state;
	int running_fd, queued_fd, fd;

	start_api(engine, allow_one);
	running_fd = ask(engine, engine->waiting_target);
	wait_for_queries(engine, QUERY_RUNNING, 1);
	queued_fd = ask(engine, "/api/v1/profile?comm=hang");
	wait_for_queries(engine, QUERY_QUEUED, 1);
	(void)close(queued_fd);
	wait_for_queries(engine, QUERY_QUEUED, 0);
	assert_int_equal(queries_of(engine).abandoned, 1);
	/* The process waits at the fifo until its client disconnects. */
	fd = open(engine->fifo, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)close(running_fd);
	wait_for_queries(engine, QUERY_RUNNING, 0);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	(void)close(fd);
	assert_int_equal(queries_of(engine).abandoned, 2);
	assert_int_equal(engine->api->running, 0);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 200, "comm=echo");
}

static void allow_one_for_little_time(struct api_options *options)
{
	options->queries_max = 1;
	options->query_timeout_ns = 2 * NSEC_PER_SEC;
}

static void queries_time_out(void **state)
{
	struct engine *engine = *state;
	int fds[3];

	start_api(engine, allow_one_for_little_time);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = ask(engine, "/api/v1/profile?comm=hang");
	wait_for_queries(engine, QUERY_QUEUED, 2);
	CHECK_REPLY(engine, fds[0], 504, "s. Ask for a shorter time.");
	for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
		CHECK_REPLY(engine, fds[i], 504, "");
	assert_int_equal(queries_of(engine).timed_out, 3);
}

static void a_query_can_time_out_in_the_queue(void **state)
{
	struct engine *engine = *state;
	int fd, queued_fd;

	start_api(engine, allow_one);
	fd = ask(engine, "/api/v1/profile?comm=hang");
	wait_for_queries(engine, QUERY_RUNNING, 1);
	engine->api->options.query_timeout_ns = 1000000;
	queued_fd = ask(engine, "/api/v1/profile?comm=echo");
	CHECK_REPLY(engine, queued_fd, 504,
		"timed out after 0.001 s in the queue behind other queries");
	(void)close(fd);
	wait_for_queries(engine, QUERY_RUNNING, 0);
}

static void use_no_program(struct api_options *options)
{
	options->program = "/nothing/here";
}

static void processes_that_cannot_start_are_reported(void **state)
{
	struct engine *engine = *state;

	start_api(engine, use_no_program);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile"), 503,
		"Cannot start the query process: No such file or directory");
	assert_int_equal(queries_of(engine).failed, 1);
}

/* A broker in a process of its own that refuses to start a child three times. */
static pid_t start_full_broker(int fd)
{
	struct pilotlight_broker_request request;
	int results[] = { -EAGAIN, -EAGAIN, -EAGAIN, -EPERM };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		struct pilotlight_broker_answer answer = { .version = PILOTLIGHT_BROKER_VERSION,
			.result = results[i] };

		if (recv(fd, &request, sizeof(request), 0) != sizeof(request) ||
			request.operation != PILOTLIGHT_BROKER_START_CHILD ||
			request.file != BROKER_CHILD_ANSWER)
			_exit(1);
		answer.number = request.number;
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			_exit(2);
	}
	_exit(0);
}

static void a_broker_without_room_is_asked_again(void **state)
{
	_cleanup_(broker_freep) struct broker *broker = NULL;
	struct engine *engine = *state;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = start_full_broker(fds[1]);
	assert_true(pid > 0);
	(void)close(fds[1]);
	assert_int_equal(broker_connect(fds[0], &broker), 0);
	start_api(engine, NULL);
	engine->api->options.broker = broker;
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 503,
		"Cannot start the query process: Operation not permitted");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void an_api_may_end_before_its_answers(void **state)
{
	struct engine *engine = *state;
	int fds[3];

	start_api(engine, allow_one);
	fds[0] = ask(engine, engine->waiting_target);
	fds[1] = ask(engine, "/api/v1/profile?comm=hang");
	fds[2] = ask(engine, "/debug/pprof/profile?seconds=600");
	wait_for_queries(engine, QUERY_RECORDING, 1);
	wait_for_queries(engine, QUERY_QUEUED, 1);
	end_engine(engine);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		char byte;

		assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
		(void)close(fds[i]);
	}
}

/* --- new profiles --- */

static void a_new_profile_has_just_its_time(void **state)
{
	struct engine *engine = *state;
	unsigned long long from_s, from_ns, to_s, to_ns;
	uint64_t before_ns = clock_realtime_ns(), begin_ns;
	char *reply;

	start_api(engine, NULL);
	reply = receive(engine, ask(engine, "/debug/pprof/profile?seconds=1&unit=x&comm=echo"));
	assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
	assert_non_null(strstr(reply, "Content-Type: application/octet-stream\r\n"));
	assert_non_null(strstr(reply, "Content-Disposition: attachment; filename=\"profile\"\r\n"));
	assert_null(strstr(reply, "X-Go-Pprof"));
	assert_int_equal(sscanf(strstr(reply, "unit=x;"),
				 "unit=x;comm=echo;labels=service;from=@%llu.%llu;to=@%llu.%llu;"
				 "format=pprof;",
				 &from_s, &from_ns, &to_s, &to_ns),
		4);
	begin_ns = from_s * NSEC_PER_SEC + from_ns;
	/* Exactly the start of the window that follows the seal. */
	assert_true(begin_ns >= before_ns && (begin_ns - 1234) <= clock_realtime_ns());
	assert_int_equal(to_s * NSEC_PER_SEC + to_ns, begin_ns + NSEC_PER_SEC);
	assert_int_equal(engine->seal_requests, 2);
	assert_int_equal(engine->seal_requested_ns, begin_ns + NSEC_PER_SEC);
	assert_true(clock_realtime_ns() >= engine->seal_requested_ns);
	free(reply);
	reply = receive(engine, ask(engine, "/debug/pprof/profile?seconds=1&labels=all"));
	assert_non_null(strstr(reply, "labels=all;"));
	assert_null(strstr(reply, "labels=service;"));
	free(reply);
}

static void a_new_profile_begins_where_a_window_does(void **state)
{
	struct engine *engine = *state;
	uint64_t sealed_ns;
	int fd;

	start_api(engine, NULL);
	engine->seals = false;
	fd = ask(engine, "/debug/pprof/profile?seconds=600");
	wait_for_queries(engine, QUERY_ALIGNING, 1);
	assert_int_equal(engine->seal_requests, 1);
	sealed_ns = engine->seal_requested_ns + 7654321;
	api_sealed(engine->api, sealed_ns);
	wait_for_queries(engine, QUERY_RECORDING, 1);
	assert_int_equal(engine->api->first->begin_ns, sealed_ns);
	assert_int_equal(engine->api->first->end_ns, sealed_ns + 600ULL * NSEC_PER_SEC);
	/* Only the end time or the client ends it. */
	assert_true(api_timeout_ns(engine->api) > 590ULL * NSEC_PER_SEC);
	(void)close(fd);
	wait_for_queries(engine, QUERY_RECORDING, 0);
	assert_null(engine->api->first);
	assert_int_equal(queries_of(engine).abandoned, 1);
}

static void a_clock_that_is_set_ends_a_new_profile(void **state)
{
	struct engine *engine = *state;
	int fd;

	start_api(engine, NULL);
	for (int i = 0; i < 2; i++) {
		fd = ask(engine, "/debug/pprof/profile?seconds=600");
		wait_for_queries(engine, QUERY_RECORDING, 1);
		/* As if ten minutes passed only on CLOCK_MONOTONIC; then, as if the wall clock was
		 * set ahead by an hour. */
		if (i > 0)
			engine->api->first->end_ns -= 3600ULL * NSEC_PER_SEC;
		engine->api->first->deadline_ns = 0;
		CHECK_REPLY(engine, fd, 503, "X-Go-Pprof: 1\r\n", "its clock was set");
	}
}

static void without_a_window_a_new_profile_begins_when_it_was_asked_for(void **state)
{
	struct engine *engine = *state;
	uint64_t seal_requested_ns;
	int fd;

	start_api(engine, seal_in_no_time);
	engine->seals = false;
	fd = ask(engine, "/debug/pprof/profile?seconds=600");
	wait_for_queries(engine, QUERY_RECORDING, 1);
	seal_requested_ns = engine->seal_requested_ns;
	assert_int_equal(engine->api->first->begin_ns, seal_requested_ns);
	/* End it now. */
	engine->api->first->end_ns = clock_realtime_ns();
	engine->api->first->deadline_ns = 0;
	CHECK_REPLY(engine, fd, 200, "format=pprof;");
	assert_int_equal(engine->seal_requests, 2);
}

static void seconds_are_a_number_in_bounds(void **state)
{
	static const char *const refused[] = { "0", "601", "-1", "+5", "1.5", "", "abc", "1e2",
		"99999999999999999999", "%201" };
	struct engine *engine = *state;
	char target[128];
	int fd;

	start_api(engine, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		(void)snprintf(
			target, sizeof(target), "/debug/pprof/profile?seconds=%s", refused[i]);
		CHECK_REPLY(engine, ask(engine, target), 400, "X-Go-Pprof: 1\r\n", "from 1 to 600");
	}
	fd = ask(engine, "/debug/pprof/profile");
	wait_for_queries(engine, QUERY_RECORDING, 1);
	assert_int_equal(engine->api->first->duration_ns, 30ULL * NSEC_PER_SEC);
	(void)close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_ENGINE(a_profile_is_made_by_a_process),
		WITH_ENGINE(errors_of_an_answer_process_are_reported),
		WITH_ENGINE(unknown_parameters_are_named),
		WITH_ENGINE(unread_answers_leave_less_room),
		WITH_ENGINE(without_a_history_there_is_no_profile),
		WITH_ENGINE(unsealed_history_is_awaited),
		WITH_ENGINE(a_history_that_is_not_sealed_serves_as_it_is),
		WITH_ENGINE(sealed_history_is_answered_at_once),
		WITH_ENGINE(a_clock_that_was_set_back_is_not_believed),
		WITH_ENGINE(queries_beyond_the_limit_wait),
		WITH_ENGINE(users_take_turns),
		WITH_ENGINE(queries_of_disconnected_clients_are_cancelled),
		WITH_ENGINE(queries_time_out),
		WITH_ENGINE(a_query_can_time_out_in_the_queue),
		WITH_ENGINE(processes_that_cannot_start_are_reported),
		WITH_ENGINE(a_broker_without_room_is_asked_again),
		WITH_ENGINE(an_api_may_end_before_its_answers),
		WITH_ENGINE(a_new_profile_has_just_its_time),
		WITH_ENGINE(a_new_profile_begins_where_a_window_does),
		WITH_ENGINE(a_clock_that_is_set_ends_a_new_profile),
		WITH_ENGINE(without_a_window_a_new_profile_begins_when_it_was_asked_for),
		WITH_ENGINE(seconds_are_a_number_in_bounds),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

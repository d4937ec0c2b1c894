/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/answer_job.h"
#include "base/array.h"
#include "tests/api/answer_role.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { GUARD_MS = 20000 };

/* The parameter "comm" alone. */
struct asked {
	struct answer_job_options options;
	char parameters[128];
};

static void ask(struct asked *asked, const char *what)
{
	int size = snprintf(asked->parameters, sizeof(asked->parameters), "comm%c%s", '\0', what);

	asked->options = (struct answer_job_options){ .kind = ANSWER_PROFILE,
		.scope = ANSWER_OWN,
		.owner = 1001,
		.history = "/history",
		.symbol_cache = "/symbols",
		.parameters = asked->parameters,
		.parameters_bytes = (size_t)size + 1,
		.now_ns = 1,
		.bytes_max = 1 << 20,
		.memory_max = 96 << 20,
		.timeout_ns = 60000000000 };
}

static struct answer_outcome outcome_of(struct asked *asked)
{
	_cleanup_(answer_job_freep) struct answer_job *job = NULL;
	struct answer_outcome outcome;
	int r;

	assert_int_equal(answer_job_start(&asked->options, &job), 0);
	while ((r = answer_job_take(job, &outcome)) == -EAGAIN) {
		struct pollfd fd = { .fd = answer_job_poll_fd(job), .events = POLLIN };

		assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	}
	assert_int_equal(r, 0);
	return outcome;
}

static void an_answer_is_a_file(void **state)
{
	struct answer_outcome outcome;
	struct asked asked;
	char text[512] = "";

	ask(&asked, "echo");
	asked.options.kind = ANSWER_DIFFERENCE;
	outcome = outcome_of(&asked);
	assert_int_equal(outcome.status, 200);
	assert_string_equal(outcome.content_type, "text/x-test");
	assert_true(outcome.bytes < sizeof(text));
	assert_int_equal(pread(outcome.fd, text, outcome.bytes, 0), outcome.bytes);
	assert_string_equal(text, "kind 2, scope 2, owner 1001, history '/history', cache "
				  "'/symbols', timeout 59, now 1;comm=echo;");
	/* Nobody can make what is to be sent shorter. */
	assert_int_equal(ftruncate(outcome.fd, 0), -1);
	(void)close(outcome.fd);
}

static void an_answer_may_be_as_large_as_its_bound(void **state)
{
	struct answer_outcome outcome;
	struct asked asked;

	ask(&asked, "many 1048576");
	outcome = outcome_of(&asked);
	assert_int_equal(outcome.status, 200);
	assert_int_equal(outcome.bytes, 1 << 20);
	(void)close(outcome.fd);
	ask(&asked, "many 1048577");
	outcome = outcome_of(&asked);
	assert_int_equal(outcome.status, 500);
	assert_int_equal(outcome.fd, -1);
	assert_non_null(strstr(outcome.text, "exited with status 7"));
}

static void a_refusal_is_a_text(void **state)
{
	struct answer_outcome outcome;
	struct asked asked;

	ask(&asked, "refuse 404");
	outcome = outcome_of(&asked);
	assert_int_equal(outcome.status, 404);
	assert_int_equal(outcome.fd, -1);
	assert_string_equal(outcome.text, "That is\x1b not to be had.");
}

static void replies_that_make_no_sense_are_not_believed(void **state)
{
	static const char *const lies[] = { "lie version", "lie status", "lie zero", "lie bytes",
		"lie type", "lie field", "lie empty", "lie text", "lie short" };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct answer_outcome outcome;
		struct asked asked;

		ask(&asked, lies[i]);
		outcome = outcome_of(&asked);
		if (outcome.status != 500)
			fail_msg("'%s': %u", lies[i], outcome.status);
		assert_int_equal(outcome.fd, -1);
		assert_non_null(strstr(outcome.text, "sent an invalid reply"));
	}
}

static void ends_are_explained(void **state)
{
	static const struct {
		const char *what, *text;
		uint64_t timeout_ns;
		unsigned status;
	} ends[] = {
		{ "exit 3", "exited with status 3 and sent no reply", 60000000000, 500 },
		{ "signal 11", "killed by signal 11 (Segmentation fault)", 60000000000, 500 },
		{ "hang", "timed out after 0.05 s", 50000000, 504 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct answer_outcome outcome;
		struct asked asked;

		ask(&asked, ends[i].what);
		asked.options.timeout_ns = ends[i].timeout_ns;
		outcome = outcome_of(&asked);
		assert_int_equal(outcome.status, ends[i].status);
		if (!strstr(outcome.text, ends[i].text))
			fail_msg("'%s'", outcome.text);
	}
}

static void oversized_requests_are_refused(void **state)
{
	char path[ANSWER_PATH_BYTES + 1];
	struct answer_job *job = NULL;
	struct asked asked;

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ask(&asked, "echo");
	asked.options.symbol_cache = path;
	assert_int_equal(answer_job_start(&asked.options, &job), -ENAMETOOLONG);
	ask(&asked, "echo");
	asked.options.parameters_bytes = ANSWER_PARAMETERS_BYTES + 1;
	assert_int_equal(answer_job_start(&asked.options, &job), -E2BIG);
	ask(&asked, "echo");
	asked.options.program = "/nothing/here";
	assert_int_equal(answer_job_start(&asked.options, &job), -ENOENT);
	assert_null(job);
}

static void freeing_a_job_kills_its_process(void **state)
{
	struct answer_job *job = NULL;
	char path[] = "/tmp/answer-job-XXXXXX", fifo[64], what[96];
	struct asked asked;
	int fd;

	assert_non_null(mkdtemp(path));
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", path);
	(void)snprintf(what, sizeof(what), "wait %s", fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	ask(&asked, what);
	assert_int_equal(answer_job_start(&asked.options, &job), 0);
	/* It is there. */
	fd = open(fifo, O_WRONLY);
	assert_true(fd >= 0);
	answer_job_free(job);
	/* And now it is not. */
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	(void)close(fd);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(rmdir(path), 0);
}

static void failing_allocations_start_nothing(void **state)
{
	struct answer_job *job = NULL;
	struct asked asked;

	ask(&asked, "echo");
	assert_true(FAIL_EACH_ALLOCATION(
			    answer_job_start(&asked.options, &job), -ENOMEM, !job, 0) >= 2);
	answer_job_free(job);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_a_file),
		cmocka_unit_test(an_answer_may_be_as_large_as_its_bound),
		cmocka_unit_test(a_refusal_is_a_text),
		cmocka_unit_test(replies_that_make_no_sense_are_not_believed),
		cmocka_unit_test(ends_are_explained),
		cmocka_unit_test(oversized_requests_are_refused),
		cmocka_unit_test(freeing_a_job_kills_its_process),
		cmocka_unit_test(failing_allocations_start_nothing),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_feed.h"

#include "base/clock.h"
#include "base/output.h"
#include "client/http_client.h"
#include "tools/top/metrics_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	TIMEOUT_S = 60,
	PROFILE_BYTES_MAX = 64 << 20,
	METRICS_BYTES_MAX = 1 << 20,
};

struct top_feed {
	struct http_client *client; /* the thread's */
	struct query_text query;
	pthread_t thread;
	bool has_thread;
	bool is_asking; /* for the owner's thread: the answer has not been taken yet */
	int event_fd;	/* readable if there is an answer */
	atomic_bool is_ending;

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* signals has_question and is_ending */
	/* Under the mutex: */
	bool has_question;
	uint64_t span_ns;
	struct top_answer answer;
};

static int look_for_end(void *context, uint64_t received_bytes)
{
	struct top_feed *feed = context;

	(void)received_bytes;
	return atomic_load(&feed->is_ending);
}

static void read_machine(struct top_feed *feed, struct top_machine *ret_machine)
{
	struct output_memory text = { .limit_bytes = METRICS_BYTES_MAX };
	struct top_machine machine = { 0 };
	struct http_reply reply;
	struct fault fault = { 0 };

	/* A failure only leaves some figures out. */
	if (http_client_get(feed->client, "/metrics", output_to_memory, &text, &reply, &fault) ==
		0) {
		(void)metrics_text_find(
			text.bytes, text.size, "pilotlight_online_cpus", &machine.cpus);
		(void)metrics_text_find(
			text.bytes, text.size, "pilotlight_sampling_rate_hertz", &machine.rate_hz);
		(void)metrics_text_find(
			text.bytes, text.size, "pilotlight_cost_ratio", &machine.cost_ratio);
		(void)metrics_text_find(
			text.bytes, text.size, "pilotlight_memory_bytes", &machine.memory_bytes);
	}
	free(text.bytes);
	*ret_machine = machine;
}

static int make_target(
	const struct top_feed *feed, uint64_t span_ns, struct query_text *query, const char **ret)
{
	char last[32];

	(void)snprintf(last, sizeof(last), "%" PRIu64 "ms", span_ns / 1000000);
	*query = feed->query;
	query_text_add(query, "last", last);
	query_text_add(query, "format", "folded");
	return query_text_finish(query, ret);
}

static int read_profile(struct top_feed *feed, uint64_t span_ns, struct top_answer *answer)
{
	struct output_memory text = { .limit_bytes = PROFILE_BYTES_MAX };
	struct http_reply reply = { 0 };
	struct query_text query;
	const char *target;
	int r = make_target(feed, span_ns, &query, &target);

	if (r < 0)
		return fault_set(&answer->fault, r,
			"the selection is longer than a request may be; select less at once");
	r = http_client_get(feed->client, target, output_to_memory, &text, &reply, &answer->fault);
	answer->status = reply.status;
	answer->covered_ns = reply.covered_ns;
	answer->period_ns = reply.period_ns;
	if (r == 0) {
		r = top_profile_new(text.bytes, text.size, &answer->profile);
		if (r < 0)
			(void)fault_set(&answer->fault, r,
				"no memory for the profile; choose a shorter time or a narrower "
				"selection");
	}
	free(text.bytes);
	return r;
}

static void answer_question(struct top_feed *feed, uint64_t span_ns, struct top_answer *answer)
{
	*answer = (struct top_answer){ .span_ns = span_ns };
	answer->error = read_profile(feed, span_ns, answer);
	if (answer->error == 0)
		read_machine(feed, &answer->machine);
	answer->received_ns = clock_realtime_ns();
}

/* Waits for a query. False: the thread has to end. */
static bool take_question(struct top_feed *feed, uint64_t *ret_span_ns)
{
	bool is_ending;

	(void)pthread_mutex_lock(&feed->mutex);
	while (!feed->has_question && !atomic_load(&feed->is_ending))
		(void)pthread_cond_wait(&feed->changed, &feed->mutex);
	is_ending = atomic_load(&feed->is_ending);
	feed->has_question = false;
	*ret_span_ns = feed->span_ns;
	(void)pthread_mutex_unlock(&feed->mutex);
	return !is_ending;
}

static void *run(void *context)
{
	struct top_feed *feed = context;
	uint64_t span_ns;

	while (take_question(feed, &span_ns)) {
		struct top_answer answer;

		answer_question(feed, span_ns, &answer);
		(void)pthread_mutex_lock(&feed->mutex);
		feed->answer = answer;
		(void)pthread_mutex_unlock(&feed->mutex);
		(void)eventfd_write(feed->event_fd, 1);
	}
	return NULL;
}

/* The owner's thread handles signals. */
static int start(struct top_feed *feed)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&feed->thread, NULL, run, feed);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	feed->has_thread = error == 0;
	return -error;
}

int top_feed_new(const char *socket_path, const struct query_text *query,
	struct top_feed **ret_feed, struct fault *fault)
{
	_cleanup_(top_feed_freep) struct top_feed *feed = calloc(1, sizeof(*feed));
	struct http_client_options options = {
		.socket_path = socket_path,
		.timeout_s = TIMEOUT_S,
		.limit_bytes = PROFILE_BYTES_MAX,
		.progress = look_for_end,
		.context = feed,
	};
	int r;

	if (!feed)
		return -ENOMEM;
	feed->query = *query;
	feed->event_fd = -1;
	atomic_init(&feed->is_ending, false);
	(void)pthread_mutex_init(&feed->mutex, NULL);
	(void)pthread_cond_init(&feed->changed, NULL);
	r = http_client_new(&options, &feed->client, fault);
	if (r < 0)
		return r;
	feed->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (feed->event_fd < 0)
		return -errno;
	r = start(feed);
	if (r < 0)
		return r;
	*ret_feed = TAKE_PTR(feed);
	return 0;
}

void top_feed_free(struct top_feed *feed)
{
	if (!feed)
		return;
	if (feed->has_thread) {
		(void)pthread_mutex_lock(&feed->mutex);
		atomic_store(&feed->is_ending, true);
		(void)pthread_cond_signal(&feed->changed);
		(void)pthread_mutex_unlock(&feed->mutex);
		(void)pthread_join(feed->thread, NULL);
	}
	top_profile_free(feed->answer.profile);
	http_client_free(feed->client);
	if (feed->event_fd >= 0)
		(void)close(feed->event_fd);
	(void)pthread_cond_destroy(&feed->changed);
	(void)pthread_mutex_destroy(&feed->mutex);
	free(feed);
}

void top_feed_ask(struct top_feed *feed, uint64_t span_ns)
{
	assert(!feed->is_asking);
	feed->is_asking = true;
	(void)pthread_mutex_lock(&feed->mutex);
	feed->has_question = true;
	feed->span_ns = span_ns;
	(void)pthread_cond_signal(&feed->changed);
	(void)pthread_mutex_unlock(&feed->mutex);
}

bool top_feed_is_asking(const struct top_feed *feed)
{
	return feed->is_asking;
}

int top_feed_poll_fd(const struct top_feed *feed)
{
	return feed->event_fd;
}

bool top_feed_take(struct top_feed *feed, struct top_answer *ret_answer)
{
	eventfd_t count;

	if (eventfd_read(feed->event_fd, &count) < 0)
		return false;
	(void)pthread_mutex_lock(&feed->mutex);
	*ret_answer = feed->answer;
	feed->answer.profile = NULL;
	(void)pthread_mutex_unlock(&feed->mutex);
	feed->is_asking = false;
	return true;
}

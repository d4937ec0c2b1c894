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
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	TIMEOUT_S = 60,
	PROFILE_BYTES_MAX = 64 << 20,
	METRICS_BYTES_MAX = 1 << 20,
};

struct top_feed {
	struct http_client *client;
	struct query_text query;
	int event_fd; /* readable if there is an answer */
	bool is_asking;
	bool has_thread; /* which uses the client and fills in the answer until it is joined */
	pthread_t thread;
	struct top_answer answer;
	atomic_bool is_ending;
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

static int make_target(const struct top_feed *feed, const struct top_answer *answer,
	struct query_text *query, const char **ret)
{
	char last[32];

	(void)snprintf(last, sizeof(last), "%" PRIu64 "ms", answer->span_ns / 1000000);
	*query = feed->query;
	query_text_add(query, "last", last);
	query_text_add(query, "format", answer->wants_tree ? "folded" : "top");
	return query_text_finish(query, ret);
}

static int read_profile(struct top_feed *feed, struct top_answer *answer)
{
	struct output_memory text = { .limit_bytes = PROFILE_BYTES_MAX };
	struct http_reply reply = { 0 };
	struct query_text query;
	const char *target;
	int r = make_target(feed, answer, &query, &target);

	if (r < 0)
		return fault_set(&answer->fault, r,
			"the selection is longer than a request may be; select less at once");
	r = http_client_get(feed->client, target, output_to_memory, &text, &reply, &answer->fault);
	answer->status = reply.status;
	answer->covered_ns = reply.covered_ns;
	answer->period_ns = reply.period_ns;
	if (r == 0) {
		r = answer->wants_tree
			    ? top_profile_new(text.bytes, text.size, &answer->profile)
			    : top_profile_read_table(text.bytes, text.size, &answer->profile);
		if (r < 0)
			(void)fault_set(&answer->fault, r,
				"no memory for the profile; choose a shorter time or a narrower "
				"selection");
	}
	free(text.bytes);
	return r;
}

static void *run(void *context)
{
	struct top_feed *feed = context;
	struct top_answer *answer = &feed->answer;

	answer->error = read_profile(feed, answer);
	if (answer->error == 0)
		read_machine(feed, &answer->machine);
	answer->received_ns = clock_realtime_ns();
	(void)eventfd_write(feed->event_fd, 1);
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

static void join(struct top_feed *feed)
{
	if (feed->has_thread)
		(void)pthread_join(feed->thread, NULL);
	feed->has_thread = false;
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
	r = http_client_new(&options, &feed->client, fault);
	if (r < 0)
		return r;
	feed->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (feed->event_fd < 0)
		return -errno;
	*ret_feed = TAKE_PTR(feed);
	return 0;
}

void top_feed_free(struct top_feed *feed)
{
	if (!feed)
		return;
	atomic_store(&feed->is_ending, true);
	join(feed);
	top_profile_free(feed->answer.profile);
	http_client_free(feed->client);
	if (feed->event_fd >= 0)
		(void)close(feed->event_fd);
	free(feed);
}

void top_feed_ask(struct top_feed *feed, uint64_t span_ns, bool wants_tree)
{
	int r;

	assert(!feed->is_asking);
	feed->is_asking = true;
	feed->answer = (struct top_answer){ .span_ns = span_ns, .wants_tree = wants_tree };
	r = start(feed);
	if (r == 0)
		return;
	feed->answer.error = fault_set(&feed->answer.fault, r,
		"cannot start a thread that asks pilotlightd: %s", strerror(-r));
	(void)eventfd_write(feed->event_fd, 1);
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
	join(feed);
	*ret_answer = feed->answer;
	feed->answer.profile = NULL;
	feed->is_asking = false;
	return true;
}

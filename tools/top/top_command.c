/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_command.h"

#include "base/clock.h"
#include "tools/history/history_request.h"
#include "tools/stop_signals.h"
#include "tools/top/top_feed.h"
#include "tools/top/top_screen.h"
#include "tools/top/top_terminal.h"
#include "tools/top/top_text.h"
#include "tools/top/top_view.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DELAY_DEFAULT_S = 2,
	SPAN_DEFAULT_S = 10,
	STATUS_WRONG = 400, /* of HTTP: asking again gives the same error */
	STATUS_NOTHING = 404,
};
#define DELAY_MIN_NS (NSEC_PER_SEC / 2)
#define DELAY_MAX_NS (3600ULL * NSEC_PER_SEC)
#define SPAN_MIN_NS  ((uint64_t)NSEC_PER_SEC)
#define SPAN_MAX_NS  (24ULL * 3600 * NSEC_PER_SEC)

struct top {
	struct history_request request;
	uint64_t delay_ns, span_ns;
	bool is_batch;
	struct stop_signals signals;
	struct top_feed *feed;
	struct top_view view;
	struct top_answer answer; /* the last that had a profile */
	bool has_answer;
	struct fault complaint; /* of a later query that failed */
	unsigned status;	/* HTTP status of the last query; 0: no answer */
	uint64_t next_ns;	/* when to ask again, CLOCK_MONOTONIC */
	struct top_screen *screen;
};

static void done(void *invocation)
{
	struct top *top = invocation;

	/* Restore the terminal first: cancelling a query may take a second. */
	top_screen_free(top->screen);
	top_feed_free(top->feed);
	top_profile_free(top->answer.profile);
	top_view_done(&top->view);
	stop_signals_done(&top->signals);
}

/* Shows a new answer. Returns 0, -ENOMEM, or an error that asking again cannot mend. */
static int take_answer(struct top *top, struct fault *fault)
{
	struct top_answer answer;

	if (!top_feed_take(top->feed, &answer))
		return 0;
	answer.event = top->request.event;
	top->complaint = answer.fault;
	top->status = answer.status;
	if (answer.error < 0 && answer.status == STATUS_WRONG)
		return fault_set(fault, answer.error, "%s", answer.fault.text);
	if (answer.error < 0 && (answer.status != STATUS_NOTHING || !top->has_answer))
		return 0;
	/* Nothing matches now: do not show the old profile as if it were current. */
	if (answer.error < 0) {
		top_profile_free(top->answer.profile);
		top->answer.profile = NULL;
		top->has_answer = false;
		return top_view_update(&top->view, NULL);
	}
	top_profile_free(top->answer.profile);
	top->answer = answer;
	top->has_answer = true;
	return top_view_update(&top->view, top->answer.profile);
}

static void ask(struct top *top)
{
	if (top_feed_is_asking(top->feed))
		return;
	top_feed_ask(top->feed, top->view.span_ns, top->view.mode == TOP_TREE);
	top->next_ns = clock_monotonic_ns() + top->delay_ns;
}

static void draw(struct top *top)
{
	struct top_picture picture = {
		.view = &top->view,
		.answer = top->has_answer ? &top->answer : NULL,
		.complaint = top->complaint.text,
	};

	top_view_resize(&top->view, top_screen_rows());
	top_screen_draw(top->screen, &picture);
}

/* Handles all waiting keys. Returns 1 to quit, 0, or -ENOMEM. */
static int take_keys(struct top *top)
{
	uint32_t key;

	while (top_screen_key(&key)) {
		enum top_action action = TOP_ACTION_NONE;
		int r = 0;

		if (key)
			r = top_view_press(&top->view, top->has_answer ? top->answer.profile : NULL,
				key, &action);
		if (r < 0)
			return r;
		if (action == TOP_ACTION_QUIT)
			return 1;
		/* If a query is under way, the next one follows at once. A table has no tree. */
		if (action == TOP_ACTION_ASK || (top->view.mode == TOP_TREE && top->has_answer &&
							!top->answer.profile->has_tree))
			top->next_ns = 0;
	}
	return 0;
}

/* The time until the next query; -1: wait for an event. */
static int timeout_ms(const struct top *top)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (top->view.is_paused || top_feed_is_asking(top->feed))
		return -1;
	return top->next_ns > now_ns ? (int)((top->next_ns - now_ns) / 1000000 + 1) : 0;
}

/* Runs until a key or a signal ends it, or the terminal is gone. */
static int show(struct top *top, struct fault *fault)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = top_feed_poll_fd(top->feed), .events = POLLIN },
		{ .fd = top->signals.fd, .events = POLLIN },
	};
	int r = 0;

	while (r == 0) {
		if (!top->view.is_paused && clock_monotonic_ns() >= top->next_ns)
			ask(top);
		draw(top);
		if (poll(fds, 3, timeout_ms(top)) < 0 && errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		if (stop_signals_take(&top->signals) ||
			(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
			return 0;
		r = take_answer(top, fault);
		if (r == 0)
			r = take_keys(top);
	}
	return r < 0 ? r : 0;
}

/* Waits for the first answer. Returns 0, 1 if interrupted, or -errno with `fault`. */
static int wait_for_first(struct top *top, struct fault *fault)
{
	struct pollfd fds[] = {
		{ .fd = top_feed_poll_fd(top->feed), .events = POLLIN },
		{ .fd = top->signals.fd, .events = POLLIN },
	};

	ask(top);
	while (top_feed_is_asking(top->feed)) {
		int r;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		if (stop_signals_take(&top->signals))
			return 1;
		r = take_answer(top, fault);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_table(struct top *top, struct fault *fault)
{
	struct invocation *invocation = &top->request.base;
	int r;

	if (!top->has_answer)
		return fault_set(fault, -ENODATA, "%s", top->complaint.text);
	r = top_text_write(&top->answer, &invocation->output);
	return r < 0 ? r : command_flush(invocation);
}

static int look(struct top *top, struct fault *fault)
{
	int r = stop_signals_init(&top->signals, fault);

	if (r == 0)
		r = top_feed_new(top->request.socket_path, &top->request.query, &top->feed, fault);
	if (r == 0)
		r = wait_for_first(top, fault);
	if (r != 0)
		return r < 0 ? r : 0;
	if (top->is_batch || !top_terminal_can_draw())
		return write_table(top, fault);
	/* A service that stops later may come back; one that is missing now may not exist. */
	if (!top->has_answer && top->status == 0)
		return fault_set(fault, -ENODATA, "%s", top->complaint.text);
	r = top_screen_new(&top->screen);
	if (r < 0)
		return r;
	return show(top, fault);
}

static const struct option_row options[] = {
	{ 'd', "delay", "DELAY", "Refresh after DELAY (2s).", OPTION_DURATION,
		.offset = offsetof(struct top, delay_ns), .min = DELAY_MIN_NS,
		.max = DELAY_MAX_NS },
	{ 0, "last", "DURATION", "Show what was sampled in the last DURATION (10s).",
		OPTION_DURATION, .offset = offsetof(struct top, span_ns), .min = SPAN_MIN_NS,
		.max = SPAN_MAX_NS },
	{ 'b', "batch", NULL, "Write one table and end, as without a terminal.", OPTION_SET,
		.offset = offsetof(struct top, is_batch) },
	{ 0 },
};

static void prepare(void *invocation)
{
	struct top *top = invocation;

	history_request_init(&top->request, "/api/v1/profile");
	top->delay_ns = DELAY_DEFAULT_S * (uint64_t)NSEC_PER_SEC;
	top->span_ns = SPAN_DEFAULT_S * (uint64_t)NSEC_PER_SEC;
	top->signals.fd = -1;
}

static int run(void *invocation)
{
	struct top *top = invocation;
	int r;

	top_view_init(&top->view, top->span_ns);
	r = look(top, &top->request.base.fault);
	/* Close the screen first: it would take an error message with it. */
	top_screen_free(TAKE_PTR(top->screen));
	return r;
}

const struct command top_command = {
	.name = "top",
	.summary = "show on a terminal what takes CPU time now",
	.synopsis = "[SELECT...] [OPTION...]",
	.description = "Show what takes CPU time now: functions, processes, or the tree of calls, "
		       "from what pilotlightd has sampled in the last seconds. `?` shows the keys.",
	.options = { options, history_select_options, history_socket_options },
	.bytes = sizeof(struct top),
	.prepare = prepare,
	.run = run,
	.done = done,
};

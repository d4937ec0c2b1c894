/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sinks with a stand-in for the query process: the test, started again with "answer". What it does
 * stands where the folder of the symbol cache would: "echo" answers with its parameters, a number
 * refuses with that status, "gzip" answers as gzip ends, "parca" puts a batch that lacks names
 * before its parameters, "names" refuses to add any and is as "parca" otherwise, "hang" never
 * answers.
 */
#pragma once

#include "push/push.h"

#include "answer/answer_request.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "pilotlight/parca_batch.h"
#include "query/host_sample.h"
#include "tests/push/spool_fixture.h"

#include <poll.h>
#include <sys/socket.h>

#define SECONDS(n) ((n)*1000000000ULL)

enum { GUARD_MS = 20000, STEP_MS = 20 };

struct parca_bytes {
	struct pilotlight_parca_batch header;
	struct pilotlight_parca_binary binary;
};

static struct spool_thread *spools;
static struct push *push;
static char what[32];
static uint64_t sealed_ns;

static inline int answer_role(void)
{
	struct answer_reply reply = {
		.version = ANSWER_VERSION, .status = 200, .content_type = "text/x-test"
	};
	static struct answer_request request;
	bool is_parca;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	is_parca = strcmp(request.symbol_cache, "parca") == 0;
	if (strcmp(request.symbol_cache, "names") == 0) {
		is_parca = !memmem(request.parameters, request.parameters_bytes, "late-names", 10);
		strcpy(request.symbol_cache, "413");
	}
	if (is_parca) {
		const struct parca_bytes batch = {
			{ PILOTLIGHT_PARCA_BATCH_MAGIC, PILOTLIGHT_PARCA_BATCH_VERSION, 1 },
			{ .symbols_s = 0x65, .build_id = { 1, 0xab }, .build_id_bytes = 2 },
		};

		if (write(ANSWER_OUTPUT_FD, &batch, sizeof(batch)) < 0)
			return 8;
		reply.bytes = sizeof(batch);
	}
	if (strcmp(request.symbol_cache, "echo") == 0 || reply.bytes > 0) {
		for (size_t i = 0; i < request.parameters_bytes; i++)
			if (!request.parameters[i])
				request.parameters[i] = ' ';
		if (write(ANSWER_OUTPUT_FD, request.parameters, request.parameters_bytes) < 0)
			return 8;
		reply.bytes += request.parameters_bytes;
	} else if (strcmp(request.symbol_cache, "gzip") == 0) {
		/* As its end says, it holds a byte for each second. */
		const char *to = memmem(request.parameters, request.parameters_bytes, "to\0@", 4);
		const uint32_t end =
			(uint32_t)(atoll(to + 4) - atoll(request.parameters + strlen("from") + 2));

		if (write(ANSWER_OUTPUT_FD, "gzip", 4) < 0 ||
			write(ANSWER_OUTPUT_FD, &end, sizeof(end)) < 0)
			return 8;
		reply.bytes = 8;
	} else {
		reply.status = (uint16_t)atoi(request.symbol_cache);
		(void)snprintf(reply.text, sizeof(reply.text), "refused, as asked");
	}
	if (strcmp(request.symbol_cache, "hang") != 0)
		(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	for (;;)
		(void)pause();
}

static inline struct push_options options_of(uint32_t sources)
{
	struct push_options options = { .spools = spools,
		.sink_count = 1,
		.history = "/history",
		.symbol_cache = what,
		.sources = sources,
		.catch_up_ns = 45 * SPOOL_MINUTE_NS };

	options.sinks[0] = (struct push_sink_options){ .name = "files",
		.type = "pprof",
		.format = "pprof",
		.labels = "service",
		.interval_ns = SPOOL_MINUTE_NS,
		.host_id = "host",
		.sample_hosts_ppm = HOST_SAMPLE_ALL,
		.name_wait_ns = SECONDS(3600) };
	return options;
}

/* Returns once the thread has opened the spool. */
static inline void start(const struct push_options *options)
{
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(push_new(options, &push), 0);
	strcpy(what, "echo");
	sealed_ns = 0;
	fd.fd = push_poll_fd(push);
	assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	push_run(push, false);
}

static inline void open_spools(uint64_t bytes_max)
{
	struct spool_thread_options threads = { .count = 1 };

	threads.spools[0] = spool_options_of(bytes_max);
	/* The spool reads the real clock. */
	threads.spools[0].age_max_ns = INT64_MAX;
	assert_int_equal(spool_thread_new(&threads, &spools), 0);
}

static inline void open_push(uint32_t sources, uint64_t bytes_max)
{
	struct push_options options;

	open_spools(bytes_max);
	options = options_of(sources);
	start(&options);
}

static inline void close_push(void)
{
	push_free(TAKE_PTR(push));
	spool_thread_free(TAKE_PTR(spools));
}

static inline int tear_down(void **state)
{
	close_push();
	return spool_tear_down(state);
}

static inline struct service_status_sink report(void)
{
	struct service_status_sink sink;

	push_report(push, 0, &sink);
	return sink;
}

/* Runs until `condition` holds. */
#define RUN_UNTIL(condition)                                                       \
	do {                                                                       \
		uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000); \
                                                                                   \
		while (!(condition)) {                                             \
			struct pollfd fd = { push_poll_fd(push), POLLIN, 0 };      \
                                                                                   \
			assert_true(clock_monotonic_ns() < end_ns);                \
			(void)poll(&fd, 1, STEP_MS);                               \
			push_run(push, false);                                     \
		}                                                                  \
	} while (0)

/* Runs what is due, several times, so that what must not happen could. */
static inline void run_some(bool are_names_pending)
{
	for (int i = 0; i < 5; i++) {
		struct pollfd fd = { push_poll_fd(push), POLLIN, 0 };

		(void)poll(&fd, 1, STEP_MS);
		push_run(push, are_names_pending);
	}
}

/* The window that ended so long after SPOOL_NOW_NS, a round minute. It began when the last one
 * ended, or if that ended later, ten seconds before. */
static inline void seal(uint64_t seconds)
{
	const uint64_t end_ns = SPOOL_NOW_NS + SECONDS(seconds);

	push_sealed(push, sealed_ns > 0 && sealed_ns < end_ns ? sealed_ns : end_ns - SECONDS(10),
		end_ns);
	sealed_ns = end_ns;
}

static inline const char *text_of(const char *name)
{
	static char text[512];
	int fd = open(file_path(spool_folder, name), O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		fail_msg("no %s", name);
	size = read(fd, text, sizeof(text) - 1);
	assert_true(size >= 0 && close(fd) == 0);
	text[size] = '\0';
	return text;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, spool_set_up, tear_down)

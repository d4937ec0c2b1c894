/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbolizer with scripted workers: the test program is its own worker (play_worker()), and the
 * name of the binary says what the worker does.
 */
#pragma once

#include "symbolize/symbolizer.h"

#include "base/clock.h"
#include "child/child_request.h"
#include "pilotlight/symbol_worker.h"
#include "tests/symbol/symbol_cache_fixture.h"
#include "tests/symbolize/symbolizer_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* --- the worker ------------------------------------------------------------------------------- */

static inline void write_symbols(const struct pilotlight_symbol_request *request, bool is_other)
{
	static struct symbol_file_fixture fixture;

	memcpy(fixture.identity, request->identity, sizeof(fixture.identity));
	fixture.identity[0] ^= is_other;
	fixture.identity_bytes = request->identity_bytes;
	fixture.kind = request->identity_kind;
	fixture.rank = request->has_debug ? request->debug_rank : PILOTLIGHT_SYMBOL_RANK_BINARY;
	fixture.is_old = strstr(request->origin, "old");
	fixture.created_s = (uint64_t)time(NULL);
	symbol_file_fixture_fill(&fixture);
	if (strstr(request->origin, "undecoded"))
		fixture.contents |= PILOTLIGHT_SYMBOL_LACKS_DECODER;
	symbol_file_fixture_build(&fixture);
	if (write(PILOTLIGHT_WORKER_OUTPUT_FD, fixture.bytes, fixture.size) !=
		(ssize_t)fixture.size)
		_exit(1);
}

static inline void play_worker(void)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
		.cpu_ns = 1000,
	};
	struct pilotlight_symbol_request request;

	if (child_request_receive(&request, sizeof(request)) < 0)
		_exit(1);
	if (request.has_debug) {
		report.rank = request.debug_rank;
		report.has_taken_debug = 1;
	}
	if (strstr(request.origin, "crashes") ||
		(strstr(request.origin, "alone") && request.has_debug))
		abort();
	if (strstr(request.origin, "hangs"))
		for (;;)
			(void)pause();
	if (strstr(request.origin, "nothing"))
		report.error = -ENODATA;
	else
		write_symbols(&request, strstr(request.origin, "lies"));
	if (send(PILOTLIGHT_WORKER_SOCKET_FD, &report, sizeof(report), 0) != sizeof(report))
		_exit(1);
	_exit(0);
}

/* --- the tests -------------------------------------------------------------------------------- */

struct place {
	char root[64], cache_path[96], debug_path[96];
	struct symbol_cache *cache;
	struct broker *broker;
	int fd; /* of any file: the workers do not read it */
};

static inline int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct broker_options options = { 0 };
	struct fault fault = { 0 };

	assert_non_null(place);
	(void)strcpy(place->root, "/tmp/symbolizer_test.XXXXXX");
	assert_non_null(mkdtemp(place->root));
	(void)snprintf(place->cache_path, sizeof(place->cache_path), "%s/cache", place->root);
	(void)snprintf(place->debug_path, sizeof(place->debug_path), "%s/debug", place->root);
	options.debug_root = place->debug_path;
	assert_int_equal(broker_new(&options, &place->broker), 0);
	assert_int_equal(symbol_cache_open(place->cache_path, 1 << 30, &place->cache, &fault), 0);
	place->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(place->fd >= 0);
	*state = place;
	return 0;
}

static inline int tear_down(void **state)
{
	struct place *place = *state;

	symbol_cache_free(place->cache);
	broker_free(place->broker);
	(void)close(place->fd);
	cache_fixture_remove_tree(place->root);
	free(place);
	return 0;
}

static inline struct symbolizer *open_symbolizer(
	const struct place *place, struct symbol_cache *cache)
{
	struct symbolizer_options options = { .cache = cache, .broker = place->broker };
	struct symbolizer *symbolizer;

	options.workers.timeout_ns = 60 * (uint64_t)NSEC_PER_SEC;
	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	return symbolizer;
}

static inline struct symbol_binary make_binary(
	const struct place *place, const char *path, uint8_t id)
{
	return (struct symbol_binary){
		.build_id = { .bytes = { 0xaa, id, 7 }, .size = 20 },
		.path = path,
		.fd = place->fd,
		.debug_fd = -1,
	};
}

static inline void request_and_wait(
	struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	assert_int_equal(symbolizer_request(symbolizer, binary), 0);
	wait_for_workers(symbolizer);
}

static inline struct symbolizer_outcome outcome_of(
	const struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct symbol_identity identity = symbol_identity_of_build_id(&binary->build_id);
	struct symbolizer_outcome outcome;

	assert_int_equal(symbolizer_outcome(symbolizer, &identity, &outcome), 0);
	assert_false(outcome.is_pending);
	return outcome;
}

static inline struct symbolizer_counters counters_of(const struct symbolizer *symbolizer)
{
	struct symbolizer_counters counters;

	symbolizer_counters(symbolizer, &counters);
	return counters;
}

/* Looks up an inlined chain of three, and two addresses without a function. */
static inline int look_up(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct symbol_source *source = symbolizer_source(symbolizer);
	struct symbol_request requests[] = {
		{ .vaddr = SYMBOL_FILE_FIXTURE_BASE + 0x14 },
		{ .vaddr = SYMBOL_FILE_FIXTURE_BASE + 0x70 },
		{ .vaddr = SYMBOL_FILE_FIXTURE_BASE + 0x84 },
	};
	struct string_pool strings;
	struct symbol_batch batch = {
		.requests = requests, .request_count = 3, .strings = &strings
	};
	int r;

	assert_int_equal(string_pool_init(&strings, 4096), 0);
	r = source->lookup(source, binary, &batch);
	if (r == 0) {
		const struct symbol_frame *frames = batch.frames + requests[0].first_frame;

		assert_int_equal(requests[0].frame_count, 3);
		assert_string_equal(string_pool_get(&strings, frames[0].function), "inner");
		assert_string_equal(string_pool_get(&strings, frames[0].file), "/src/inner.h");
		assert_int_equal(frames[0].line, 5);
		assert_string_equal(string_pool_get(&strings, frames[1].function), "outer");
		assert_int_equal(frames[1].line, 7);
		assert_string_equal(string_pool_get(&strings, frames[2].function), "main");
		assert_int_equal(frames[2].line, 11);
		assert_int_equal(frames[2].column, 4);
		assert_int_equal(requests[1].frame_count, 0);
		assert_int_equal(requests[2].frame_count, 0);
	}
	symbol_batch_done(&batch);
	string_pool_done(&strings);
	return r;
}

static inline enum pilotlight_symbol_rank rank_in_cache(
	const struct place *place, const struct symbol_binary *binary)
{
	struct symbol_identity identity = symbol_identity_of_build_id(&binary->build_id);
	enum pilotlight_symbol_rank rank;
	struct symbol_file *file;

	assert_int_equal(symbol_cache_find(place->cache, &identity, &file), 0);
	rank = symbol_file_header(file)->rank;
	symbol_file_free(file);
	return rank;
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

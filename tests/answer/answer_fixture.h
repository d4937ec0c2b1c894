/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A history whose truth is known, a symbol cache that knows one function of it, and questions.
 *
 *   2026-09-04 10:00:00  alpha 5 (with a kernel frame), beta 3
 *              10:00:10  alpha 7
 *   2026-09-05 00:00:00  gamma 2
 *
 * Alpha is of user 1000, beta of 1001, gamma of nobody. It is 2026-09-05 00:01:00. All run prog's
 * one function, at SYMBOL_FILE_FIXTURE_BASE.
 */
#pragma once

#include "answer/answer.h"
#include "base/array.h"
#include "tests/store/store_fixture.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <sys/mman.h>

#define ANSWER_FIXTURE_FIRST  (FIXTURE_DAY_NS + SECONDS(36000))
#define ANSWER_FIXTURE_SECOND (FIXTURE_DAY_NS + SECONDS(36010))
#define ANSWER_FIXTURE_NEXT   (FIXTURE_DAY_NS + DAY_NS)
#define ANSWER_FIXTURE_NOW    (ANSWER_FIXTURE_NEXT + SECONDS(60))
#define PROG		      "[prog+0x401000]"

struct answer_fixture {
	char history[64];
	struct cache_fixture cache;
	char function[80]; /* of prog */
	struct answer_request request;
	struct answer_reply reply;
	char *output; /* of the last answer, with a NUL */
	size_t output_bytes;
	int output_fd;
};

/* Prog has the fixture's build-id of that number, 0: none, and its symbols are found by `symbols`,
 * NULL: by the build-id. */
static inline void answer_fixture_append_all(struct store *store, uint64_t start_ns,
	const struct fixture_sample *samples, size_t count, uint8_t build_id,
	const struct symbol_identity *symbols)
{
	struct profile *profile = fixture_profile(start_ns, samples, count);
	struct profile_binary *prog = &profile->binaries.items[0];
	struct fault fault = { 0 };

	prog->build_id = (struct build_id){ 0 };
	if (build_id)
		prog->build_id = cache_fixture_identity(build_id).id;
	if (symbols)
		prog->symbols = *symbols;
	prog->text_vaddr = SYMBOL_FILE_FIXTURE_BASE;
	prog->text_bytes = 0x1000;
	for (size_t i = 0; i < profile->locations.count; i++)
		if (profile->locations.items[i].binary == 0)
			profile->locations.items[i].address = SYMBOL_FILE_FIXTURE_BASE;
	if (fixture_append(store, profile, &fault) < 0)
		fail_msg("%s", fault.text);
	profile_free(profile);
}

static inline void answer_fixture_append(
	struct store *store, uint64_t start_ns, const struct fixture_sample *samples, size_t count)
{
	answer_fixture_append_all(store, start_ns, samples, count, 7, NULL);
}

static inline void answer_fixture_fill(struct store *store)
{
	static const struct fixture_sample first[] = {
		{ .pid = 10,
			.address = 0x3000,
			.count = 5,
			.comm = "alpha",
			.in_kernel = true,
			.owner = 1001 },
		{ .pid = 20, .address = 0x3000, .count = 3, .comm = "beta", .owner = 1002 },
	};
	static const struct fixture_sample second[] = {
		{ .pid = 10, .address = 0x3000, .count = 7, .comm = "alpha", .owner = 1001 },
	};
	static const struct fixture_sample next[] = {
		{ .pid = 30, .address = 0x4000, .count = 2, .comm = "gamma" },
	};

	answer_fixture_append(store, ANSWER_FIXTURE_FIRST, first, ARRAY_SIZE(first));
	answer_fixture_append(store, ANSWER_FIXTURE_SECOND, second, ARRAY_SIZE(second));
	answer_fixture_append(store, ANSWER_FIXTURE_NEXT, next, ARRAY_SIZE(next));
}

static inline void answer_fixture_init(struct answer_fixture *fixture)
{
	struct symbol_identity prog = cache_fixture_identity(7);
	const unsigned rank = PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;

	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	memset(fixture, 0, sizeof(*fixture));
	fixture_folder(fixture->history);
	assert_true(cache_fixture_open(&fixture->cache, 1 << 20));
	assert_int_equal(cache_fixture_store(fixture->cache.cache, &prog, rank, 0), 0);
	cache_fixture_function(&prog, rank, fixture->function);
	fixture->request = (struct answer_request){
		.version = ANSWER_VERSION,
		.kind = ANSWER_PROFILE,
		.scope = ANSWER_ALL,
		.now_ns = ANSWER_FIXTURE_NOW,
		.bytes_max = 1 << 20,
		.memory_max = 64 << 20,
		.timeout_s = 60,
	};
	(void)strcpy(fixture->request.history, fixture->history);
	(void)strcpy(fixture->request.symbol_cache, fixture->cache.folder);
	fixture->output_fd = memfd_create("answer", MFD_CLOEXEC);
	assert_true(fixture->output_fd >= 0);
}

static inline void answer_fixture_done(struct answer_fixture *fixture)
{
	(void)close(fixture->output_fd);
	free(fixture->output);
	cache_fixture_close(&fixture->cache);
	fixture_remove(fixture->history);
}

/* Pairs up to a NULL name. */
static inline void answer_fixture_set(struct answer_fixture *fixture, const char *const *pairs)
{
	struct answer_request *request = &fixture->request;
	size_t size = 0;

	for (; pairs[0]; pairs += 2)
		for (size_t i = 0; i < 2; i++) {
			size_t length = strlen(pairs[i]) + 1;

			assert_true(size + length <= sizeof(request->parameters));
			memcpy(request->parameters + size, pairs[i], length);
			size += length;
		}
	request->parameters_bytes = (uint32_t)size;
}

/* Empties the output for the next one. */
static inline void answer_fixture_begin(struct answer_fixture *fixture)
{
	assert_int_equal(ftruncate(fixture->output_fd, 0), 0);
	assert_int_equal(lseek(fixture->output_fd, 0, SEEK_SET), 0);
	memset(&fixture->reply, 0x5a, sizeof(fixture->reply));
}

/* The reply is there: is it whole, and the output what it says? */
static inline void answer_fixture_end(struct answer_fixture *fixture)
{
	const struct answer_reply *reply = &fixture->reply;
	struct stat status;

	assert_int_equal(reply->version, ANSWER_VERSION);
	assert_non_null(memchr(reply->text, '\0', sizeof(reply->text)));
	assert_non_null(memchr(reply->content_type, '\0', sizeof(reply->content_type)));
	free(fixture->output);
	fixture->output = NULL;
	if (reply->status != 200) {
		assert_true(reply->text[0] != '\0');
		assert_int_equal(reply->bytes, 0);
		return;
	}
	assert_int_equal(fstat(fixture->output_fd, &status), 0);
	assert_int_equal(status.st_size, reply->bytes);
	fixture->output_bytes = (size_t)reply->bytes;
	fixture->output = malloc(fixture->output_bytes + 1);
	assert_non_null(fixture->output);
	assert_int_equal(pread(fixture->output_fd, fixture->output, fixture->output_bytes, 0),
		fixture->output_bytes);
	fixture->output[fixture->output_bytes] = '\0';
}

static inline void answer_fixture_make(struct answer_fixture *fixture, const char *const *pairs)
{
	answer_fixture_set(fixture, pairs);
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	answer_fixture_end(fixture);
}

/* A title as it is shown on this host. */
static inline const char *answer_fixture_titled(const char *before, const char *title)
{
	static char text[512];
	char host[65] = "";

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	(void)snprintf(text, sizeof(text), "%s%s%s%s", before, host, host[0] ? ": " : "", title);
	return text;
}

#define ASK(fixture, ...) answer_fixture_make((fixture), (const char *const[]){ __VA_ARGS__, NULL })

/* The samples of folded stacks whose line begins with `start`. */
static inline uint64_t answer_fixture_count(const struct answer_fixture *fixture, const char *start)
{
	const char *line = fixture->output;
	uint64_t sum = 0;

	while (line && *line) {
		const char *end = strchr(line, '\n');
		const char *space = memrchr(line, ' ', (size_t)(end - line));

		if (strncmp(line, start, strlen(start)) == 0)
			sum += strtoull(space + 1, NULL, 10);
		line = end + 1;
	}
	return sum;
}

static inline void answer_fixture_expect(
	const struct answer_fixture *fixture, int status, const char *says)
{
	if (fixture->reply.status != status || !strstr(fixture->reply.text, says))
		fail_msg("%d, \"%s\" (%d, \"%s\" expected)", fixture->reply.status,
			fixture->reply.text, status, says);
}

static inline int answer_fixture_set_up(void **state)
{
	struct answer_fixture *fixture = calloc(1, sizeof(*fixture));
	struct store *store;

	assert_non_null(fixture);
	answer_fixture_init(fixture);
	store = fixture_open(fixture->history);
	answer_fixture_fill(store);
	store_close(store);
	*state = fixture;
	return 0;
}

static inline int answer_fixture_tear_down(void **state)
{
	answer_fixture_done(*state);
	free(*state);
	return 0;
}

/* A test whose state is a filled fixture. */
#define ANSWER_TEST(test) \
	cmocka_unit_test_setup_teardown(test, answer_fixture_set_up, answer_fixture_tear_down)

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/cached_symbol_source.h"

#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct symbol_identity make_file_identity(uint8_t id)
{
	return (struct symbol_identity){ .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id = { .bytes = { 0xbb, id, 1 }, .size = 20 } };
}

/* NONE: the rank of the binary. */
static struct symbol_file *make_ranked_file(uint8_t id, enum pilotlight_symbol_rank rank)
{
	static struct symbol_file_fixture fixture;
	struct symbol_file *file = NULL;
	int fd;

	fixture = (struct symbol_file_fixture){ .identity = { 0xbb, id, 1 }, .rank = rank };
	symbol_file_fixture_fill(&fixture);
	symbol_file_fixture_build(&fixture);
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	(void)close(fd);
	return file;
}

static struct symbol_file *make_file(uint8_t id)
{
	return make_ranked_file(id, PILOTLIGHT_SYMBOL_RANK_NONE);
}

static struct symbol_binary make_binary(uint8_t id)
{
	return (struct symbol_binary){
		.build_id = { .bytes = { 0xbb, id, 1 }, .size = 20 }, .fd = -1, .debug_fd = -1
	};
}

struct question {
	struct symbol_request requests[2];
	struct string_pool strings;
	struct symbol_batch batch;
};

static void question_init(struct question *question, size_t pool_bytes)
{
	*question = (struct question){
		.requests = { { .vaddr = SYMBOL_FILE_FIXTURE_BASE },
			{ .vaddr = SYMBOL_FILE_FIXTURE_BASE + 0x10 } },
	};
	assert_int_equal(string_pool_init(&question->strings, pool_bytes), 0);
	question->batch = (struct symbol_batch){
		.requests = question->requests, .request_count = 2, .strings = &question->strings
	};
}

static void question_done(struct question *question)
{
	symbol_batch_done(&question->batch);
	string_pool_done(&question->strings);
}

static int ask(struct cached_symbol_source *source, uint8_t id, struct question *question)
{
	struct symbol_source *interface = cached_symbol_source_interface(source);
	struct symbol_binary binary = make_binary(id);

	return interface->lookup(interface, &binary, &question->batch);
}

static void kept_files_are_found(void **state)
{
	struct cached_symbol_source *source;
	struct question question;

	assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
	question_init(&question, 4096);
	assert_int_equal(ask(source, 1, &question), -ENODATA);
	assert_int_equal(cached_symbol_source_keep(source, make_file(1)), 0);
	assert_int_equal(cached_symbol_source_keep(source, make_file(2)), 0);
	assert_int_equal(cached_symbol_source_keep(source, make_file(1)), 0);
	assert_int_equal(ask(source, 1, &question), 0);
	assert_int_equal(question.requests[0].frame_count, 1);
	assert_int_equal(question.requests[0].first_frame, 0);
	assert_int_equal(question.requests[1].frame_count, 3);
	assert_int_equal(question.requests[1].first_frame, 1);
	assert_int_equal(question.batch.frame_count, 4);
	/* A batch may be looked up in several files. */
	assert_int_equal(ask(source, 2, &question), 0);
	assert_int_equal(question.requests[0].first_frame, 4);
	assert_int_equal(question.batch.frame_count, 8);
	assert_int_equal(ask(source, 3, &question), -ENODATA);
	assert_int_equal(question.requests[0].first_frame, 4);
	question_done(&question);
	cached_symbol_source_free(source);
}

static void files_without_identity_are_unknown(void **state)
{
	struct symbol_binary binary = { .fd = -1, .debug_fd = -1 };
	struct cached_symbol_source *source;
	struct symbol_source *interface;
	struct question question;

	assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
	interface = cached_symbol_source_interface(source);
	question_init(&question, 4096);
	assert_int_equal(interface->lookup(interface, &binary, &question.batch), -ENODATA);
	question_done(&question);
	cached_symbol_source_free(source);
}

/* A given identity takes precedence over build-id and descriptor. */
static void given_identities_are_used(void **state)
{
	struct symbol_binary binary = {
		.identity = make_file_identity(1), .fd = -1, .debug_fd = -1
	};
	struct cached_symbol_source *source;
	struct symbol_source *interface;
	struct question question;

	assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
	interface = cached_symbol_source_interface(source);
	assert_int_equal(cached_symbol_source_keep(source, make_file(1)), 0);
	question_init(&question, 4096);
	assert_int_equal(interface->lookup(interface, &binary, &question.batch), 0);
	assert_int_equal(question.requests[1].frame_count, 3);
	/* An untrusted file does not get the names of a trusted one. */
	binary.build_id = binary.identity.id;
	binary.identity.kind = PILOTLIGHT_SYMBOL_OWNED;
	assert_int_equal(interface->lookup(interface, &binary, &question.batch), -ENODATA);
	/* Except for names from a trusted debug file. */
	cached_symbol_source_free(source);
	assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
	interface = cached_symbol_source_interface(source);
	assert_int_equal(cached_symbol_source_keep(
				 source, make_ranked_file(1, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE)),
		0);
	assert_int_equal(interface->lookup(interface, &binary, &question.batch), 0);
	question_done(&question);
	cached_symbol_source_free(source);
}

static void full_pool_leaves_the_batch_unchanged(void **state)
{
	struct cached_symbol_source *source;
	struct question question;

	assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
	assert_int_equal(cached_symbol_source_keep(source, make_file(1)), 0);
	question_init(&question, 12);
	assert_int_equal(ask(source, 1, &question), -E2BIG);
	assert_int_equal(question.batch.frame_count, 0);
	assert_int_equal(question.requests[0].frame_count, 0);
	question_done(&question);
	cached_symbol_source_free(source);
}

static void failing_allocations_are_reported(void **state)
{
	struct cached_symbol_source *source = NULL;
	size_t n;
	int r;

	fail_allocation(0);
	assert_int_equal(cached_symbol_source_new(NULL, &source), -ENOMEM);
	assert_true(allocation_failed());
	for (n = 0;; n++) {
		struct symbol_file *file = make_file(1);
		struct question question;
		bool has_failed;

		assert_int_equal(cached_symbol_source_new(NULL, &source), 0);
		question_init(&question, 4096);
		fail_allocation(n);
		r = cached_symbol_source_keep(source, file);
		if (r == 0)
			r = ask(source, 1, &question);
		else
			symbol_file_free(file);
		has_failed = allocation_failed();
		if (has_failed) {
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(question.batch.frame_count, 0);
		}
		question_done(&question);
		cached_symbol_source_free(source);
		if (!has_failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_files_are_found),
		cmocka_unit_test(files_without_identity_are_unknown),
		cmocka_unit_test(given_identities_are_used),
		cmocka_unit_test(full_pool_leaves_the_batch_unchanged),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

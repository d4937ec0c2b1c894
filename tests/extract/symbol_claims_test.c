/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_claims.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { VADDRS = 200, CLAIMS = 60 };

static int init(struct scratch_array *pool, struct scratch *scratch)
{
	return scratch_array_init(pool, scratch, sizeof(struct symbol_claim), UINT32_MAX);
}

static int add(struct scratch_array *pool, const struct symbol_claim *claim)
{
	return scratch_array_append(pool, claim, sizeof(*claim));
}

/* Of equal rank the smaller name is preferred. */
static bool prefer_smaller(
	void *context, const struct symbol_claim *a, const struct symbol_claim *b)
{
	assert_true(a->start == b->start);
	assert_int_equal(a->rank, b->rank);
	assert_int_equal(a->kind, b->kind);
	return a->name < b->name;
}

static bool is_better(const struct symbol_claim *a, const struct symbol_claim *b)
{
	if (a->start != b->start)
		return a->start > b->start;
	return a->rank != b->rank ? a->rank > b->rank : a->name < b->name;
}

/* Looks at all claims for one address; 0: nobody has it. */
static uint32_t find_slowly(const struct symbol_claim *claims, size_t count, uint64_t vaddr)
{
	const struct symbol_claim *best = NULL;
	uint64_t last = 0;

	for (int kind = SYMBOL_CLAIM_FUNCTION; kind >= SYMBOL_CLAIM_LABEL && !best; kind--)
		for (size_t i = 0; i < count; i++)
			if (claims[i].kind == kind && claims[i].start <= vaddr &&
				claims[i].end > vaddr && (!best || is_better(&claims[i], best)))
				best = &claims[i];
	if (best)
		return best->name;
	/* A guess: nothing else begins or ends between its start and the address. */
	for (size_t i = 0; i < count; i++) {
		if (claims[i].start <= vaddr && claims[i].start > last)
			last = claims[i].start;
		if (claims[i].kind != SYMBOL_CLAIM_GUESS && claims[i].end <= vaddr &&
			claims[i].end > last)
			last = claims[i].end;
	}
	for (size_t i = 0; i < count; i++) {
		if (claims[i].start != last)
			continue;
		if (claims[i].kind != SYMBOL_CLAIM_GUESS)
			return 0;
		if (!best || is_better(&claims[i], best))
			best = &claims[i];
	}
	return best && best->end > vaddr ? best->name : 0;
}

struct map {
	uint32_t names[VADDRS];
	uint64_t end; /* of the last range */
	uint32_t last_name;
	size_t ranges;
};

static int draw_range(void *context, struct symbol_claim *claim, uint64_t start, uint64_t end)
{
	struct map *map = context;

	assert_true(start < end);
	assert_true(start >= map->end);
	assert_true(end <= VADDRS);
	assert_true(start >= claim->start && end <= claim->end);
	/* What belongs together is told at once. */
	assert_false(start == map->end && claim->name == map->last_name && map->ranges > 0);
	for (uint64_t i = start; i < end; i++)
		map->names[i] = claim->name;
	map->end = end;
	map->last_name = claim->name;
	map->ranges++;
	return 0;
}

static void make_claims(struct symbol_claim *claims, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t start = 1 + (uint64_t)random() % (VADDRS - 70);

		claims[i] = (struct symbol_claim){
			.start = start,
			.end = start + 1 + (uint64_t)random() % (random() % 2 ? 6 : 60),
			.name = 1 + (uint32_t)i,
			.rank = 1 + (uint8_t)(random() % 3),
			.kind = (uint8_t)(random() % SYMBOL_CLAIM_KINDS),
		};
		/* A section's end is the same for all guesses of one place. */
		if (claims[i].kind == SYMBOL_CLAIM_GUESS)
			claims[i].end = VADDRS - 10;
	}
}

static void ranges_are_those_of_a_slow_search(void **state)
{
	struct symbol_claim claims[CLAIMS];
	size_t named = 0, unnamed = 0;

	srandom(1);
	for (int round = 0; round < 3000; round++) {
		size_t count = (size_t)random() % (CLAIMS + 1);
		_cleanup_(scratch_array_done) struct scratch_array pool = { 0 };
		struct map map = { 0 };
		struct scratch scratch;
		_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);

		scratch_init(&scratch, fd, 1 << 30, 0);
		make_claims(claims, count);
		assert_int_equal(init(&pool, &scratch), 0);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(add(&pool, &claims[i]), 0);
		assert_int_equal(pool.count, count);
		assert_int_equal(symbol_claims_each(&pool, prefer_smaller, draw_range, &map), 0);
		for (uint64_t i = 0; i < VADDRS; i++) {
			assert_int_equal(map.names[i], find_slowly(claims, count, i));
			*(map.names[i] ? &named : &unnamed) += 1;
		}
	}
	assert_true(named > 1000);
	assert_true(unnamed > 1000);
}

static int count_range(void *context, struct symbol_claim *claim, uint64_t start, uint64_t end)
{
	size_t *count = context;

	/* Seen again by the next range of the claim. */
	assert_true((start == claim->start) == (claim->flags == 0));
	claim->flags = 1;
	assert_true(end > start);
	++*count;
	return 0;
}

/* Each within the one before: to search all of them for each would take hours. */
static void many_nested_claims_are_no_more_work(void **state)
{
	enum { NESTED = 1000 * 1000 };
	_cleanup_(scratch_array_done) struct scratch_array pool = { 0 };
	struct scratch scratch;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	size_t count = 0;

	scratch_init(&scratch, fd, 1 << 30, 0);
	assert_int_equal(init(&pool, &scratch), 0);
	for (uint64_t i = 0; i < NESTED; i++) {
		const struct symbol_claim claim = { .start = i,
			.end = UINT64_MAX - i,
			.name = 1 + (uint32_t)i,
			.kind = SYMBOL_CLAIM_FUNCTION };

		assert_int_equal(add(&pool, &claim), 0);
	}
	assert_int_equal(symbol_claims_each(&pool, prefer_smaller, count_range, &count), 0);
	assert_int_equal(count, 2 * NESTED - 1);
}

static int fail_third(void *context, struct symbol_claim *claim, uint64_t start, uint64_t end)
{
	size_t *count = context;

	(void)claim;
	(void)start;
	(void)end;
	return ++*count == 3 ? -EPIPE : 0;
}

static void an_error_ends_the_walk(void **state)
{
	_cleanup_(scratch_array_done) struct scratch_array pool = { 0 };
	struct scratch scratch;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	size_t count = 0;

	scratch_init(&scratch, fd, 1 << 30, 0);
	assert_int_equal(init(&pool, &scratch), 0);
	for (uint64_t i = 0; i < 5; i++) {
		const struct symbol_claim claim = {
			.start = 2 * i, .end = 2 * i + 1, .kind = SYMBOL_CLAIM_LABEL
		};

		assert_int_equal(add(&pool, &claim), 0);
	}
	assert_int_equal(symbol_claims_each(&pool, prefer_smaller, fail_third, &count), -EPIPE);
	assert_int_equal(count, 3);
}

/* One piece for the claims, one to sort them, and one for each stack. */
static void a_scratch_without_room_is_an_error(void **state)
{
	static const struct symbol_claim claims[] = {
		{ .start = 1, .end = 4, .name = 1, .kind = SYMBOL_CLAIM_FUNCTION },
		{ .start = 0, .end = 3, .name = 2, .kind = SYMBOL_CLAIM_LABEL },
	};
	const uint64_t piece = 64 * 1024;
	int r;

	for (uint64_t pieces = 0;; pieces++) {
		_cleanup_(scratch_array_done) struct scratch_array pool = { 0 };
		struct scratch scratch;
		_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
		struct map map = { 0 };

		scratch_init(&scratch, fd, pieces * piece, 0);
		assert_int_equal(init(&pool, &scratch), 0);
		r = add(&pool, &claims[0]);
		if (r == 0)
			r = add(&pool, &claims[1]);
		if (r == 0)
			r = symbol_claims_each(&pool, prefer_smaller, draw_range, &map);
		if (r == 0) {
			assert_int_equal(map.ranges, 2);
			assert_true(pieces > 1);
			break;
		}
		assert_int_equal(r, -EFBIG);
		assert_true(pieces < 8);
	}
}

static void no_claims_are_no_error(void **state)
{
	_cleanup_(scratch_array_done) struct scratch_array pool = { 0 };
	struct scratch scratch;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct map map = { 0 };

	scratch_init(&scratch, fd, 1 << 20, 0);
	assert_int_equal(init(&pool, &scratch), 0);
	assert_int_equal(symbol_claims_each(&pool, prefer_smaller, draw_range, &map), 0);
	assert_int_equal(map.ranges, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_those_of_a_slow_search),
		cmocka_unit_test(many_nested_claims_are_no_more_work),
		cmocka_unit_test(an_error_ends_the_walk),
		cmocka_unit_test(a_scratch_without_room_is_an_error),
		cmocka_unit_test(no_claims_are_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

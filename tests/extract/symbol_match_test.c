/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_match.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { REQUESTS = 37, SYMBOLS = 24, VADDRS = 120 };

static bool prefer_smaller(void *context, uint32_t a, uint32_t b)
{
	(void)context;
	return a < b;
}

static int note_name(void *context, size_t request, uint32_t name)
{
	uint32_t *names = context;

	names[request] = name;
	return 0;
}

static int fail_third(void *context, size_t request, uint32_t name)
{
	size_t *last = context;

	(void)name;
	*last = request;
	return request == 2 ? -EPIPE : 0;
}

/* What the header promises, by looking at each symbol for each address. */
static uint32_t find_slowly(const struct symbol_candidate *symbols, size_t count, uint64_t vaddr)
{
	const struct symbol_candidate *best = NULL, *last = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct symbol_candidate *symbol = &symbols[i];

		if (symbol->is_guess || symbol->start > vaddr || symbol->end <= vaddr)
			continue;
		if (!best || symbol->start > best->start ||
			(symbol->start == best->start &&
				(symbol->rank > best->rank ||
					(symbol->rank == best->rank && symbol->name < best->name))))
			best = symbol;
	}
	if (best)
		return best->name;

	for (size_t i = 0; i < count; i++) {
		const struct symbol_candidate *symbol = &symbols[i];

		if (symbol->start > vaddr)
			continue;
		if (!last || symbol->start > last->start ||
			(symbol->start == last->start &&
				(symbol->is_guess < last->is_guess ||
					(symbol->is_guess == last->is_guess &&
						(symbol->rank > last->rank ||
							(symbol->rank == last->rank &&
								symbol->name < last->name))))))
			last = symbol;
	}
	if (!last || !last->is_guess || last->end <= vaddr)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (!symbols[i].is_guess && symbols[i].end > last->start && symbols[i].end <= vaddr)
			return 0;
	return last->name;
}

static void answers_are_those_of_a_slow_search(void **state)
{
	struct symbol_candidate symbols[SYMBOLS];
	struct symbol_request requests[REQUESTS];
	size_t named = 0, unnamed = 0;

	(void)state;
	srandom(1);
	for (int round = 0; round < 3000; round++) {
		size_t request_count = 1 + (size_t)random() % REQUESTS;
		size_t symbol_count = (size_t)random() % (SYMBOLS + 1);
		uint32_t names[REQUESTS] = { 0 };
		struct symbol_match match;
		uint64_t vaddr = 0;

		for (size_t i = 0; i < request_count; i++) {
			vaddr += 1 + (uint64_t)random() % 4;
			requests[i] = (struct symbol_request){ .vaddr = vaddr };
		}
		for (size_t i = 0; i < symbol_count; i++) {
			uint64_t start = (uint64_t)random() % VADDRS;

			symbols[i] = (struct symbol_candidate){ .start = start,
				.end = start + 1 + (uint64_t)random() % (random() % 2 ? 6 : 60),
				.name = 1 + (uint32_t)random() % 50,
				.rank = 1 + (uint16_t)(random() % 3),
				.is_guess = random() % 4 == 0 };
		}
		assert_int_equal(
			symbol_match_init(&match, requests, request_count, prefer_smaller, NULL),
			0);
		for (size_t i = 0; i < symbol_count; i++)
			symbol_match_add(&match, &symbols[i]);
		assert_int_equal(symbol_match_each(&match, note_name, names), 0);
		for (size_t i = 0; i < request_count; i++) {
			assert_int_equal(
				names[i], find_slowly(symbols, symbol_count, requests[i].vaddr));
			*(names[i] ? &named : &unnamed) += 1;
		}
		symbol_match_done(&match);
	}
	assert_true(named > 1000);
	assert_true(unnamed > 1000);
}

static void the_greatest_addresses_are_no_special_case(void **state)
{
	const struct symbol_request requests[] = { { .vaddr = 0 }, { .vaddr = UINT64_MAX - 1 },
		{ .vaddr = UINT64_MAX } };
	const struct symbol_candidate whole = {
		.start = 0, .end = UINT64_MAX, .name = 1, .rank = 1
	};
	uint32_t names[3] = { 0 };
	struct symbol_match match;

	(void)state;
	assert_int_equal(symbol_match_init(&match, requests, 3, prefer_smaller, NULL), 0);
	symbol_match_add(&match, &whole);
	assert_int_equal(symbol_match_each(&match, note_name, names), 0);
	assert_int_equal(names[0], 1);
	assert_int_equal(names[1], 1);
	assert_int_equal(names[2], 0);
	symbol_match_done(&match);
}

static void an_error_ends_the_walk(void **state)
{
	const struct symbol_request requests[] = { { .vaddr = 1 }, { .vaddr = 2 }, { .vaddr = 3 },
		{ .vaddr = 4 } };
	const struct symbol_candidate symbol = { .start = 1, .end = 9, .name = 1, .rank = 1 };
	struct symbol_match match;
	size_t last = 0;

	(void)state;
	assert_int_equal(symbol_match_init(&match, requests, 4, prefer_smaller, NULL), 0);
	symbol_match_add(&match, &symbol);
	assert_int_equal(symbol_match_each(&match, fail_third, &last), -EPIPE);
	assert_int_equal(last, 2);
	symbol_match_done(&match);
}

static void no_requests_are_no_error(void **state)
{
	const struct symbol_candidate symbol = { .start = 1, .end = 9, .name = 1, .rank = 1 };
	struct symbol_match match;
	size_t last = 7;

	(void)state;
	assert_int_equal(symbol_match_init(&match, NULL, 0, prefer_smaller, NULL), 0);
	symbol_match_add(&match, &symbol);
	assert_int_equal(symbol_match_each(&match, fail_third, &last), 0);
	assert_int_equal(last, 7);
	symbol_match_done(&match);
}

static void failing_allocations_are_reported(void **state)
{
	const struct symbol_request requests[] = { { .vaddr = 1 } };
	struct symbol_match match;
	size_t n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		fail_allocation(n);
		r = symbol_match_init(&match, requests, 1, prefer_smaller, NULL);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 3);
	symbol_match_done(&match);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_a_slow_search),
		cmocka_unit_test(the_greatest_addresses_are_no_special_case),
		cmocka_unit_test(an_error_ends_the_walk),
		cmocka_unit_test(no_requests_are_no_error),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A selection of tests, from pairs of names and values. */
#pragma once

#include "base/clock.h"
#include "query/selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 2026-11-20 12:00:00 UTC. */
#define SELECTION_NOW (1795176000ULL * NSEC_PER_SEC)

/* Pairs, up to a NULL name. */
static inline struct selection *make_selection(const char *const *pairs)
{
	struct selection *selection;
	struct fault fault = { 0 };

	assert_int_equal(selection_new(&selection), 0);
	for (; pairs[0]; pairs += 2)
		if (selection_add(selection, pairs[0], pairs[1], &fault) < 0)
			fail_msg("%s", fault.text);
	if (selection_finish(selection, SELECTION_NOW, &fault) < 0)
		fail_msg("%s", fault.text);
	return selection;
}

#define MAKE(...) make_selection((const char *const[]){ __VA_ARGS__, NULL })

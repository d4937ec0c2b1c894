/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set-up of tests that infer the rows of one function's code. */
#pragma once

#include "tests/extract/inferred_fixture.h"

static struct inferred_fixture fixture;

static inline int set_up(void **state)
{
	inferred_fixture_init(&fixture);
	return code_instruction_load(NULL);
}

static inline int tear_down(void **state)
{
	inferred_fixture_done(&fixture);
	return 0;
}

/* The rows of this code, as text. */
static inline const char *infer(const uint8_t *code, size_t size)
{
	inferred_fixture_put(&fixture, code, size);
	assert_int_equal(inferred_fixture_infer(&fixture), 0);
	return inferred_fixture_text(&fixture);
}

#define assert_rows(code, rows) assert_string_equal(infer(code, sizeof(code)), rows)

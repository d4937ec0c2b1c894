/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int freed;

static void count_free(struct symbol_source *source)
{
	(void)source;
	freed++;
}

static void a_source_frees_itself(void **state)
{
	struct symbol_source source = { .free = count_free };

	(void)state;
	symbol_source_free(NULL);
	assert_int_equal(freed, 0);
	symbol_source_free(&source);
	assert_int_equal(freed, 1);
}

static void a_batch_can_be_done_and_used_again(void **state)
{
	struct symbol_batch batch = { .frames = calloc(3, sizeof(struct symbol_frame)),
		.frame_count = 2,
		.frame_capacity = 3 };

	(void)state;
	assert_non_null(batch.frames);
	symbol_batch_done(&batch);
	assert_null(batch.frames);
	assert_int_equal(batch.frame_count, 0);
	assert_int_equal(batch.frame_capacity, 0);
	symbol_batch_done(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_frees_itself),
		cmocka_unit_test(a_batch_can_be_done_and_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/batch_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void batches_grow_after_some_that_are_small(void **state)
{
	struct batch_size size = { 0 };

	batch_size_note_refused(&size, 1000, 60);
	assert_int_equal(size.refused_ns, 60);
	for (unsigned i = 1; i < BATCH_SIZE_GROW_AFTER; i++)
		batch_size_note_taken(&size, 500);
	/* Twice as much of this would be refused. */
	batch_size_note_taken(&size, 501);
	for (unsigned i = 1; i < BATCH_SIZE_GROW_AFTER; i++)
		batch_size_note_taken(&size, 500);
	assert_false(size.has_room);
	batch_size_note_taken(&size, 500);
	assert_true(size.has_room);
	batch_size_note_refused(&size, 800, 30);
	assert_false(size.has_room);
	assert_int_equal(size.refused_bytes, 800);
}

static void a_receiver_may_be_mended(void **state)
{
	struct batch_size size = { 0 };

	batch_size_note_refused(&size, 1000, 60);
	batch_size_note_refused(&size, 2000, 60);
	assert_int_equal(size.refused_bytes, 1000);
	batch_size_note_taken(&size, 1000);
	assert_int_equal(size.refused_bytes, 0);
	for (unsigned i = 1; i < BATCH_SIZE_GROW_AFTER; i++)
		batch_size_note_taken(&size, 5000);
	assert_true(size.has_room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_grow_after_some_that_are_small),
		cmocka_unit_test(a_receiver_may_be_mended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process table reports to the stage that keeps data for some of its images. */
#include "process/process_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* The data of one image. */
struct data {
	struct process_image image;
	struct data *parent;
	uint64_t end_ns;
	unsigned int ends;
	bool is_finished, is_freed;
};

struct fixture {
	struct process_table *table;
	struct data data[4];
	size_t count;
};

static struct data *new_data(struct fixture *fixture, const struct process_image *image)
{
	struct data *data = &fixture->data[fixture->count++];

	*data = (struct data){ .image = *image, .end_ns = image->end_ns };
	return data;
}

static void *fork_data(void *context, void *parent, const struct process_image *child)
{
	struct data *data = new_data(context, child);

	data->parent = parent;
	return data;
}

static void end_data(void *context, void *data, uint64_t end_ns)
{
	struct data *ended = data;

	ended->end_ns = end_ns;
	ended->ends++;
}

static bool is_finished(void *context, const void *data)
{
	return ((const struct data *)data)->is_finished;
}

static void free_data(void *context, void *data)
{
	((struct data *)data)->is_freed = true;
}

/* With process 5, whose program began at 10 and which has data. */
static void set_up(struct fixture *fixture, size_t images)
{
	const struct process_table_limits limits = {
		.images = images, .mappings_per_image = 4, .files = 16, .path_bytes = 4096
	};
	const struct process_follower follower = {
		.context = fixture,
		.forked = fork_data,
		.ended = end_data,
		.is_finished = is_finished,
		.free = free_data,
	};
	struct process_image image;

	*fixture = (struct fixture){ 0 };
	assert_int_equal(process_table_new(&limits, &fixture->table), 0);
	process_table_follow(fixture->table, &follower);
	assert_int_equal(process_table_exec(fixture->table, 5, 10), 0);
	assert_true(process_table_image(fixture->table, 5, 10, &image));
	assert_null(image.data);
	process_table_set_data(fixture->table, image.id, new_data(fixture, &image));
}

static void a_child_gets_data_of_its_own_and_its_parents_program(void **state)
{
	struct process_image image;
	struct fixture fixture;

	set_up(&fixture, 16);
	assert_int_equal(process_table_fork(fixture.table, 6, 5, 20), 0);
	assert_true(process_table_image(fixture.table, 6, 20, &image));
	assert_ptr_equal(image.data, &fixture.data[1]);
	assert_ptr_equal(fixture.data[1].parent, &fixture.data[0]);
	assert_int_equal(image.parent, 5);
	assert_int_equal(image.start_ns, 20);
	assert_int_equal(image.program_ns, 10);
	assert_true(image.end_ns == PROCESS_LIVE);
	/* Another program has none, nor has a child of an unknown process. */
	assert_int_equal(process_table_exec(fixture.table, 6, 30), 0);
	assert_int_equal(fixture.data[1].end_ns, 30);
	assert_true(process_table_image(fixture.table, 6, 30, &image));
	assert_null(image.data);
	assert_int_equal(image.program_ns, 30);
	assert_int_equal(process_table_fork(fixture.table, 8, 7, 40), 0);
	assert_true(process_table_image(fixture.table, 8, 40, &image));
	assert_null(image.data);
	assert_int_equal(image.program_ns, 40);
	assert_false(process_table_image(fixture.table, 8, 39, &image));
	assert_int_equal(fixture.count, 2);
	process_table_free(fixture.table);
}

static void ends_are_reported_and_taken_back(void **state)
{
	struct fixture fixture;

	set_up(&fixture, 16);
	process_table_exit(fixture.table, 5, 20);
	assert_int_equal(fixture.data[0].end_ns, 20);
	/* A thread that begins later shows that the process lives. */
	assert_int_equal(process_table_fork(fixture.table, 5, 5, 30), 0);
	assert_true(fixture.data[0].end_ns == PROCESS_LIVE);
	process_table_gone(fixture.table, 5, 40);
	assert_int_equal(fixture.data[0].end_ns, 40);
	assert_int_equal(fixture.data[0].ends, 3);
	process_table_free(fixture.table);
}

static void images_in_use_do_not_retire(void **state)
{
	struct fixture fixture;

	set_up(&fixture, 16);
	assert_int_equal(process_table_fork(fixture.table, 8, 7, 15), 0);
	process_table_exit(fixture.table, 5, 20);
	process_table_exit(fixture.table, 8, 20);
	process_table_retire(fixture.table, 1000);
	assert_true(process_table_has(fixture.table, 5, 20));
	assert_false(process_table_has(fixture.table, 8, 20));
	fixture.data[0].is_finished = true;
	process_table_retire(fixture.table, 20);
	assert_true(process_table_has(fixture.table, 5, 20));
	assert_false(fixture.data[0].is_freed);
	process_table_retire(fixture.table, 21);
	assert_false(process_table_has(fixture.table, 5, 20));
	assert_true(fixture.data[0].is_freed);
	process_table_free(fixture.table);
}

/* I4: the bound of images counts, in use or not. */
static void images_in_use_are_evicted_at_the_bound(void **state)
{
	struct fixture fixture;

	set_up(&fixture, 2);
	process_table_exit(fixture.table, 5, 20);
	assert_int_equal(process_table_fork(fixture.table, 8, 7, 30), 0);
	assert_false(fixture.data[0].is_freed);
	assert_int_equal(process_table_fork(fixture.table, 9, 7, 40), 0);
	assert_true(fixture.data[0].is_freed);
	process_table_free(fixture.table);
}

static void without_a_follower_no_image_has_data(void **state)
{
	struct process_image image;
	struct fixture fixture;

	set_up(&fixture, 16);
	process_table_follow(fixture.table, NULL);
	assert_true(process_table_image(fixture.table, 5, 10, &image));
	assert_null(image.data);
	process_table_exit(fixture.table, 5, 20);
	process_table_retire(fixture.table, 1000);
	assert_int_equal(fixture.data[0].ends, 0);
	assert_false(fixture.data[0].is_freed);
	process_table_free(fixture.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_gets_data_of_its_own_and_its_parents_program),
		cmocka_unit_test(ends_are_reported_and_taken_back),
		cmocka_unit_test(images_in_use_do_not_retire),
		cmocka_unit_test(images_in_use_are_evicted_at_the_bound),
		cmocka_unit_test(without_a_follower_no_image_has_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

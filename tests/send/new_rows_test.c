/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/new_rows.h"

#include "export/gzip.h"
#include "export/row_writer.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { DAY = 20000 };

static int known_fd, batch_fd;
static struct known_rows *known;
static struct clickhouse_request request;
static struct output packed, plain;
static struct gzip *gzip;
static struct output_memory body;

/* --- bodies --- */

static void begin_body(enum clickhouse_insert insert)
{
	request = (struct clickhouse_request){ .insert = insert, .body_at = 3 };
	body = (struct output_memory){ .limit_bytes = 1 << 20 };
	output_init(&packed, output_to_memory, &body);
	assert_int_equal(gzip_new(&packed, &gzip), 0);
	output_init(&plain, gzip_write, gzip);
}

/* The batch has other bytes around the body. */
static void end_body(void)
{
	assert_int_equal(output_finish(&plain), 0);
	assert_int_equal(gzip_finish(gzip), 0);
	assert_int_equal(output_finish(&packed), 0);
	gzip_free(gzip);
	request.body_bytes = body.size;
	assert_int_equal(ftruncate(batch_fd, 0), 0);
	assert_int_equal(
		pwrite(batch_fd, body.bytes, body.size, (off_t)request.body_at), body.size);
	assert_int_equal(pwrite(batch_fd, "xx", 2, (off_t)(request.body_at + body.size)), 2);
	free(body.bytes);
}

static void put_name(uint16_t day, const char *function)
{
	row_put_u16(&plain, day);
	row_put_text(&plain, "host");
	row_put_text(&plain, "aabb");
	row_put_u64(&plain, 0x1234);
	row_put_u8(&plain, 2);
	row_put_length(&plain, 2);
	row_put_text(&plain, function);
	row_put_text(&plain, "caller");
	row_put_length(&plain, 2);
	row_put_text(&plain, "a.c");
	row_put_text(&plain, "");
	row_put_length(&plain, 2);
	row_put_u32(&plain, 7);
	row_put_u32(&plain, 0);
}

static void put_location(uint16_t day, uint64_t id)
{
	row_put_u16(&plain, day);
	row_put_text(&plain, "host");
	row_put_u64(&plain, id);
	row_put_text(&plain, "aabb");
	row_put_u64(&plain, 0x1234);
	row_put_text(&plain, "library");
	row_put_text(&plain, "/lib/x.so");
}

static void put_stack(uint16_t day, uint64_t id, size_t depth)
{
	row_put_u16(&plain, day);
	row_put_text(&plain, "host");
	row_put_u64(&plain, id);
	row_put_length(&plain, depth);
	for (size_t i = 0; i < depth; i++)
		row_put_u64(&plain, id + i);
}

/* Returns how many rows are new, and notes them; or -errno. */
static int take(const char *url)
{
	struct new_rows rows = { 0 };
	int r = new_rows_take(&rows, &request, batch_fd, url, known);

	if (r == 0) {
		r = (int)rows.count;
		assert_true((rows.count > 0) == (rows.body.size > 0));
		new_rows_note(&rows, known);
	}
	new_rows_done(&rows);
	return r;
}

/* --- tests --- */

static void each_row_is_new_once(void **state)
{
	begin_body(CLICKHOUSE_NAMES);
	put_name(DAY, "one");
	put_name(DAY, "two");
	end_body();
	assert_int_equal(take("http://a"), 2);
	assert_int_equal(take("http://a"), 0);
	begin_body(CLICKHOUSE_NAMES);
	put_name(DAY, "two");
	put_name(DAY, "three");
	put_name(DAY, "one");
	end_body();
	assert_int_equal(take("http://a"), 1);
	begin_body(CLICKHOUSE_LOCATIONS);
	put_location(DAY, 1);
	put_location(DAY, 2);
	end_body();
	assert_int_equal(take("http://a"), 2);
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 0);
	put_stack(DAY, 2, 100);
	put_stack(DAY, 3, 200);
	end_body();
	assert_int_equal(take("http://a"), 3);
	assert_int_equal(take("http://a"), 0);
	/* Another receiver has none. */
	assert_int_equal(take("http://b"), 3);
}

/* What was sent yesterday expires before what refers to it today. */
static void a_day_begins_anew(void **state)
{
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	end_body();
	assert_int_equal(take("http://a"), 1);
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY + 1, 1, 3);
	end_body();
	assert_int_equal(take("http://a"), 1);
	assert_int_equal(take("http://a"), 0);
}

static void rows_that_are_new_are_whole(void **state)
{
	struct new_rows rows = { 0 };

	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	end_body();
	assert_int_equal(take("http://a"), 1);
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	put_stack(DAY, 2, 5);
	put_stack(DAY, 3, 1);
	end_body();
	assert_int_equal(new_rows_take(&rows, &request, batch_fd, "http://a", known), 0);
	/* Nothing is noted until it is confirmed. */
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 2, 5);
	put_stack(DAY, 3, 1);
	end_body();
	assert_int_equal(request.body_bytes, rows.body.size);
	body.bytes = malloc(rows.body.size);
	assert_non_null(body.bytes);
	assert_int_equal(pread(batch_fd, body.bytes, rows.body.size, (off_t)request.body_at),
		rows.body.size);
	assert_memory_equal(body.bytes, rows.body.bytes, rows.body.size);
	free(body.bytes);
	new_rows_done(&rows);
	assert_int_equal(take("http://a"), 2);
}

static void other_bodies_are_left_alone(void **state)
{
	const struct clickhouse_request beyond = { .insert = CLICKHOUSE_STACKS, .body_bytes = 99 };
	uint64_t whole;

	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	put_stack(DAY, 2, 3);
	end_body();
	for (whole = request.body_bytes--; request.body_bytes > 0; request.body_bytes--)
		assert_int_equal(take("http://a"), -EBADMSG);
	/* Two days, rows that are cut off, rows of another table, and no rows. */
	request.body_bytes = whole;
	request.insert = CLICKHOUSE_SAMPLES;
	assert_int_equal(take("http://a"), -EBADMSG);
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	put_stack(DAY + 1, 2, 3);
	end_body();
	assert_int_equal(take("http://a"), -EBADMSG);
	begin_body(CLICKHOUSE_STACKS);
	put_stack(DAY, 1, 3);
	row_put_u16(&plain, DAY);
	end_body();
	assert_int_equal(take("http://a"), -EBADMSG);
	begin_body(CLICKHOUSE_NAMES);
	end_body();
	assert_int_equal(take("http://a"), -EBADMSG);
	assert_int_equal(pwrite(batch_fd, "no gzip, but some text", 22, 0), 22);
	request = beyond;
	assert_int_equal(take("http://a"), -EBADMSG);
}

static void memory_may_run_out(void **state)
{
	struct new_rows rows = { 0 };

	begin_body(CLICKHOUSE_NAMES);
	put_name(DAY, "one");
	end_body();
	assert_true(
		FAIL_EACH_ALLOCATION((new_rows_done(&rows), new_rows_take(&rows, &request, batch_fd,
								    "http://a", known)),
			-ENOMEM, true, 0) >= 3);
	assert_int_equal(rows.count, 1);
	new_rows_done(&rows);
}

static int set_up(void **state)
{
	batch_fd = memfd_create("batch", MFD_CLOEXEC);
	return batch_fd < 0 || known_rows_create(&known_fd) < 0 ||
			       known_rows_map(known_fd, &known) < 0
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	known_rows_unmap(known);
	return close(known_fd) | close(batch_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_row_is_new_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_day_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_that_are_new_are_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_bodies_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_may_run_out, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

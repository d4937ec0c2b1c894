/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/ring_sample.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct record {
	struct pilotlight_ring_sample header;
	__u64 kernel_ips[2];
	struct pilotlight_user_frame user_frames[3];
};

static const struct record good = {
	.header = {
		.time_ns = 12345,
		.process = { .start_ns = 99, .tgid = 7, .exec_id = 1 },
		.cgroup_id = 4711,
		.tid = 8,
		.kernel_count = 2,
		.user_count = 3,
		.header = { .kind = PILOTLIGHT_RING_SAMPLE, .set = 1 },
		.comm = "worker",
	},
	.kernel_ips = { 0xffffffff81000010, 0xffffffff81000020 },
	.user_frames = { { .status = 1, .offset_or_ip = 0x1000 }, { .status = 2 }, { .status = 1 } },
};

static void good_record_is_read(void **state)
{
	struct ring_sample sample;

	(void)state;
	assert_int_equal(ring_sample_parse(&good, sizeof(good), &sample), 0);
	assert_int_equal(sample.header.tid, 8);
	assert_int_equal(sample.header.cgroup_id, 4711);
	assert_string_equal(sample.header.comm, "worker");
	assert_int_equal(sample.kernel_ips[1], 0xffffffff81000020);
	assert_int_equal(sample.user_frames[0].offset_or_ip, 0x1000);
	assert_ptr_equal(sample.user_frames, good.user_frames);
}

static void comm_without_an_end_gets_one(void **state)
{
	struct record record = good;
	struct ring_sample sample;

	(void)state;
	memset(record.header.comm, 'x', sizeof(record.header.comm));
	assert_int_equal(ring_sample_parse(&record, sizeof(record), &sample), 0);
	assert_int_equal(strlen(sample.header.comm), PILOTLIGHT_COMM_BYTES - 1);
}

static void every_other_length_is_refused(void **state)
{
	struct ring_sample sample;

	(void)state;
	for (size_t size = 0; size < sizeof(good); size++)
		assert_int_equal(ring_sample_parse(&good, size, &sample), -EINVAL);
}

static void counts_and_set_are_bounded(void **state)
{
	struct record record = good;
	struct ring_sample sample;

	(void)state;
	record.header.header.set = PILOTLIGHT_SET_COUNT;
	assert_int_equal(ring_sample_parse(&record, sizeof(record), &sample), -EINVAL);
	record = good;
	record.header.kernel_count = 3;
	assert_int_equal(ring_sample_parse(&record, sizeof(record), &sample), -EINVAL);
	record.header.kernel_count = PILOTLIGHT_STACK_DEPTH + 1;
	assert_int_equal(ring_sample_parse(&record, SIZE_MAX, &sample), -EINVAL);
	record = good;
	record.header.user_count = PILOTLIGHT_STACK_DEPTH + 1;
	assert_int_equal(ring_sample_parse(&record, SIZE_MAX, &sample), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_record_is_read),
		cmocka_unit_test(comm_without_an_end_gets_one),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(counts_and_set_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

static void an_unterminated_comm_is_terminated(void **state)
{
	struct record record = good;
	struct ring_sample sample;

	(void)state;
	memset(record.header.comm, 'x', sizeof(record.header.comm));
	assert_int_equal(ring_sample_parse(&record, sizeof(record), &sample), 0);
	assert_int_equal(strlen(sample.header.comm), PILOTLIGHT_COMM_BYTES - 1);
}

static void other_lengths_are_refused(void **state)
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

struct walk_record {
	struct pilotlight_ring_walk header;
	__u64 words[5]; /* three frames, and two ips of the kernel */
};

static const struct walk_record good_walk = {
	.header = {
		.header = { .kind = PILOTLIGHT_RING_WALKED_SAMPLE, .set = 1 },
		.hash = 0x1234567890abcdef,
		.time_ns = 12345,
		.process = { .start_ns = 99, .tgid = 7, .exec_id = 1 },
		.cgroup_id = 4711,
		.tid = 8,
		.count = 3,
		.kernel_count = 2,
		.end = PILOTLIGHT_WALK_ROOT,
		.comm = "worker",
	},
	.words = { 1, 2, 3, 0xffffffff81000010, 0xffffffff81000020 },
};

static void walks_are_read_with_their_sample_and_without(void **state)
{
	struct walk_record record = good_walk;
	struct ring_walk walk;

	(void)state;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), 0);
	assert_int_equal(ring_record_kind(&record, sizeof(record)), PILOTLIGHT_RING_WALKED_SAMPLE);
	assert_int_equal(walk.header.hash, 0x1234567890abcdef);
	assert_int_equal(walk.header.tid, 8);
	assert_string_equal(walk.header.comm, "worker");
	assert_ptr_equal(walk.frames, record.words);
	assert_ptr_equal(walk.kernel_ips, record.words + 3);
	record.header.header.kind = PILOTLIGHT_RING_WALK;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), 0);
	memset(record.header.comm, 'x', sizeof(record.header.comm));
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), 0);
	assert_int_equal(strlen(walk.header.comm), PILOTLIGHT_COMM_BYTES - 1);
}

static void malformed_walks_are_refused(void **state)
{
	struct walk_record record = good_walk;
	struct ring_walk walk;

	(void)state;
	for (size_t size = 0; size < sizeof(record); size++)
		assert_int_equal(ring_walk_parse(&record, size, &walk), -EINVAL);
	record.header.count = 4;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
	record.header.kernel_count = 1; /* five words all the same */
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), 0);
	record = good_walk;
	record.header.end = PILOTLIGHT_WALK_ENDS;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
	record = good_walk;
	record.header.header.kind = PILOTLIGHT_RING_SAMPLE;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
	record.header.header.kind = PILOTLIGHT_RING_KINDS;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
	record = good_walk;
	record.header.header.set = PILOTLIGHT_SET_COUNT;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
}

/* Counts that the length would bear out. */
static void walks_that_are_too_deep_are_refused(void **state)
{
	static struct {
		struct pilotlight_ring_walk header;
		__u64 words[PILOTLIGHT_WALK_DEPTH + PILOTLIGHT_STACK_DEPTH + 1];
	} record;
	size_t deepest = sizeof(record) - sizeof(__u64);
	struct ring_walk walk;

	(void)state;
	record.header = good_walk.header;
	record.header.count = PILOTLIGHT_WALK_DEPTH;
	record.header.kernel_count = PILOTLIGHT_STACK_DEPTH;
	assert_int_equal(ring_walk_parse(&record, deepest, &walk), 0);
	record.header.count++;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
	record.header.count--;
	record.header.kernel_count++;
	assert_int_equal(ring_walk_parse(&record, sizeof(record), &walk), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_record_is_read),
		cmocka_unit_test(an_unterminated_comm_is_terminated),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(counts_and_set_are_bounded),
		cmocka_unit_test(walks_are_read_with_their_sample_and_without),
		cmocka_unit_test(malformed_walks_are_refused),
		cmocka_unit_test(walks_that_are_too_deep_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

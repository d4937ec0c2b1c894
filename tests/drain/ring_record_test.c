/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/ring_record.h"

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
		.user = 1000,
		.tid = 8,
		.kernel_count = 2,
		.user_count = 3,
		.header = { .kind = PILOTLIGHT_RING_SAMPLE,
			.set = 1,
			.source = PILOTLIGHT_SOURCE_OFFCPU },
		.periods = 12,
		.comm = "worker",
	},
	.kernel_ips = { 0xffffffff81000010, 0xffffffff81000020 },
	.user_frames = { { .status = 1, .offset_or_ip = 0x1000 }, { .status = 2 }, { .status = 1 } },
};

static struct raw_sample sample; /* of the last parse() */

static int parse(const void *record, size_t size)
{
	static char comm[PILOTLIGHT_COMM_BYTES];

	return ring_record_parse(record, size, &sample, comm);
}

static void a_sample_is_read(void **state)
{
	assert_int_equal(parse(&good, sizeof(good)), 0);
	assert_int_equal(sample.tid, 8);
	assert_int_equal(sample.process.tgid, 7);
	assert_int_equal(sample.cgroup_id, 4711);
	assert_int_equal(sample.user, 1000);
	assert_string_equal(sample.comm, "worker");
	assert_int_equal(sample.source, PILOTLIGHT_SOURCE_OFFCPU);
	assert_int_equal(sample.wait, PILOTLIGHT_WAIT_NONE);
	assert_int_equal(sample.count, 12);
	assert_int_equal(sample.first_ns, 12345);
	assert_int_equal(sample.last_ns, 12345);
	assert_int_equal(sample.path, PILOTLIGHT_PATH_RING);
	assert_int_equal(sample.kernel_count, 2);
	assert_int_equal(sample.kernel_ips[1], 0xffffffff81000020);
	assert_int_equal(sample.user_count, 3);
	assert_int_equal(sample.address, 0);
	assert_int_equal(sample.user_frames[0].offset_or_ip, 0x1000);
	assert_ptr_equal(sample.user_frames, good.user_frames);
}

/* Kernel memory has a kind in place of a wait, and what lives has an address. */
static void a_sample_of_memory_is_read(void **state)
{
	struct record record = good;

	record.header.header.source = PILOTLIGHT_SOURCE_KMEM_LIVE;
	record.header.header.wait = PILOTLIGHT_KMEM_KINDS - 1;
	record.header.address = 0xffff888000001000;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(sample.source, PILOTLIGHT_SOURCE_KMEM_LIVE);
	assert_int_equal(sample.kind, PILOTLIGHT_KMEM_KINDS - 1);
	assert_int_equal(sample.wait, PILOTLIGHT_WAIT_NONE);
	assert_int_equal(sample.address, 0xffff888000001000);
	record.header.header.wait = PILOTLIGHT_KMEM_KINDS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

/* Block I/O has a disk beside the operation. */
static void a_sample_of_block_io_is_read(void **state)
{
	struct record record = good;

	record.header.header.source = PILOTLIGHT_SOURCE_BLOCK;
	record.header.header.wait =
		PILOTLIGHT_WAIT_BLOCK_WRITE | PILOTLIGHT_BLOCK_DISKS << PILOTLIGHT_BLOCK_DISK_SHIFT;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(sample.wait, PILOTLIGHT_WAIT_BLOCK_WRITE);
	assert_int_equal(sample.kind, PILOTLIGHT_BLOCK_DISKS);
	record.header.header.wait += 1 << PILOTLIGHT_BLOCK_DISK_SHIFT;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.header.wait = PILOTLIGHT_WAITS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

static void an_unterminated_comm_is_terminated(void **state)
{
	struct record record = good;

	memset(record.header.comm, 'x', sizeof(record.header.comm));
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(strlen(sample.comm), PILOTLIGHT_COMM_BYTES - 1);
}

static void malformed_samples_are_refused(void **state)
{
	struct record record = good;

	for (size_t size = 0; size < sizeof(good); size++)
		assert_int_equal(parse(&good, size), -EINVAL);
	record.header.header.set = PILOTLIGHT_SET_COUNT;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good;
	record.header.header.kind = PILOTLIGHT_RING_KINDS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good;
	record.header.kernel_count = 3;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.kernel_count = PILOTLIGHT_STACK_DEPTH + 1;
	assert_int_equal(parse(&record, SIZE_MAX), -EINVAL);
	record = good;
	record.header.user_count = PILOTLIGHT_STACK_DEPTH + 1;
	assert_int_equal(parse(&record, SIZE_MAX), -EINVAL);
	record = good;
	record.header.header.source = PILOTLIGHT_SOURCES;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good;
	record.header.header.wait = PILOTLIGHT_WAITS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good;
	record.header.periods = 0;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

struct walk_record {
	struct pilotlight_ring_walk header;
	__u64 words[5]; /* three frames, and two ips of the kernel */
};

static const struct walk_record good_walk = {
	.header = {
		.header = { .kind = PILOTLIGHT_RING_WALKED_SAMPLE,
			.set = 1,
			.source = PILOTLIGHT_SOURCE_RUNQUEUE },
		.periods = 3,
		.hash = 0x1234567890abcdef,
		.time_ns = 12345,
		.process = { .start_ns = 99, .tgid = 7, .exec_id = 1 },
		.cgroup_id = 4711,
		.user = 1000,
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
	struct pilotlight_ring_header header;

	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(ring_record_header(&record, sizeof(record), &header), 0);
	assert_int_equal(header.kind, PILOTLIGHT_RING_WALKED_SAMPLE);
	assert_int_equal(sample.walk_hash, 0x1234567890abcdef);
	assert_int_equal(sample.source, PILOTLIGHT_SOURCE_RUNQUEUE);
	assert_int_equal(sample.count, 3);
	assert_int_equal(sample.tid, 8);
	assert_int_equal(sample.user, 1000);
	assert_string_equal(sample.comm, "worker");
	assert_ptr_equal(sample.walk_frames, record.words);
	assert_ptr_equal(sample.kernel_ips, record.words + 3);
	assert_false(sample.is_waker);
	record.header.header.kind = PILOTLIGHT_RING_WAKER;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_true(sample.is_waker);
	record.header.header.kind = PILOTLIGHT_RING_WALK;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	memset(record.header.comm, 'x', sizeof(record.header.comm));
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(strlen(sample.comm), PILOTLIGHT_COMM_BYTES - 1);
}

/* It is between the frames and the kernel's ips. */
static void a_context_is_read(void **state)
{
	struct {
		struct walk_record walk;
		__u64 words[3];
	} record = { .walk = good_walk };

	assert_int_equal(parse(&good_walk, sizeof(good_walk)), 0);
	assert_int_equal(sample.context.trace_id[0] | sample.context.span_id[7], 0);
	record.walk.header.has_context = 1;
	memset(record.walk.words + 3, 0x11, 16);
	memset(record.words, 0x22, 8);
	record.words[1] = 0xffffffff81000010;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_int_equal(sample.context.trace_id[0], 0x11);
	assert_int_equal(sample.context.trace_id[15], 0x11);
	assert_int_equal(sample.context.span_id[7], 0x22);
	assert_int_equal(sample.kernel_ips[0], 0xffffffff81000010);
	assert_int_equal(parse(&record, sizeof(record.walk)), -EINVAL);
}

static void malformed_walks_are_refused(void **state)
{
	struct walk_record record = good_walk;

	for (size_t size = 0; size < sizeof(record); size++)
		assert_int_equal(parse(&record, size), -EINVAL);
	record.header.count = 4;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.kernel_count = 1; /* the length is right again */
	assert_int_equal(parse(&record, sizeof(record)), 0);
	record = good_walk;
	record.header.end = PILOTLIGHT_WALK_ENDS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good_walk;
	record.header.header.kind = PILOTLIGHT_RING_SAMPLE;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.header.kind = PILOTLIGHT_RING_KINDS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good_walk;
	record.header.periods = 0;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record = good_walk;
	record.header.header.set = PILOTLIGHT_SET_COUNT;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

/* The lengths match the counts. */
static void walks_that_are_too_deep_are_refused(void **state)
{
	static struct {
		struct pilotlight_ring_walk header;
		__u64 words[PILOTLIGHT_WALK_DEPTH + PILOTLIGHT_STACK_DEPTH + 1];
	} record;
	size_t deepest = sizeof(record) - sizeof(__u64);

	record.header = good_walk.header;
	record.header.count = PILOTLIGHT_WALK_DEPTH;
	record.header.kernel_count = PILOTLIGHT_STACK_DEPTH;
	assert_int_equal(parse(&record, deepest), 0);
	record.header.count++;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.count--;
	record.header.kernel_count++;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

static void walks_have_the_frames_of_an_interpreter(void **state)
{
	struct {
		struct pilotlight_ring_walk header;
		__u64 native[3];
		struct pilotlight_runtime_frame interpreted[2];
		__u64 kernel[2];
	} record = { .header = good_walk.header };

	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.runtime_count = 2;
	record.header.runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	record.header.runtime_file = 77;
	assert_int_equal(parse(&record, sizeof(record)), 0);
	assert_ptr_equal(sample.walk_frames, record.native);
	assert_ptr_equal(sample.runtime_frames, record.interpreted);
	assert_ptr_equal(sample.kernel_ips, record.kernel);
	assert_int_equal(sample.runtime_count, 2);
	assert_int_equal(sample.runtime_end, PILOTLIGHT_RUNTIME_ROOT);
	assert_int_equal(sample.runtime_file, 77);
	record.header.runtime_end = PILOTLIGHT_RUNTIME_ENDS;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	record.header.runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	record.header.runtime_count = PILOTLIGHT_RUNTIME_FRAMES_MAX + 1;
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
}

static void code_objects_are_passed_on_unchecked(void **state)
{
	struct pilotlight_ring_code record = {
		.header = { .kind = PILOTLIGHT_RING_CODE },
		.time_ns = 5,
		.process.tgid = 6,
		.cgroup_id = 7,
		.user = 1000,
	};
	const size_t least = offsetof(struct pilotlight_ring_code, code);
	struct raw_code code;

	for (size_t size = 0; size < least; size++)
		assert_int_equal(ring_record_parse_code(&record, size, &code), -EINVAL);
	assert_int_equal(ring_record_parse_code(&record, least + 3, &code), 0);
	assert_int_equal(code.time_ns, 5);
	assert_int_equal(code.process.tgid, 6);
	assert_int_equal(code.cgroup_id, 7);
	assert_int_equal(code.user, 1000);
	assert_ptr_equal(code.contents, &record.code);
	assert_int_equal(code.size, 3);
	/* It is no sample, and a sample is none. */
	assert_int_equal(parse(&record, sizeof(record)), -EINVAL);
	assert_int_equal(ring_record_parse_code(&good_walk, sizeof(good_walk), &code), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_have_the_frames_of_an_interpreter),
		cmocka_unit_test(code_objects_are_passed_on_unchecked),
		cmocka_unit_test(a_sample_is_read),
		cmocka_unit_test(a_sample_of_memory_is_read),
		cmocka_unit_test(a_sample_of_block_io_is_read),
		cmocka_unit_test(an_unterminated_comm_is_terminated),
		cmocka_unit_test(malformed_samples_are_refused),
		cmocka_unit_test(walks_are_read_with_their_sample_and_without),
		cmocka_unit_test(a_context_is_read),
		cmocka_unit_test(malformed_walks_are_refused),
		cmocka_unit_test(walks_that_are_too_deep_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

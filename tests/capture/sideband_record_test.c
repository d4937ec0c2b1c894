/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sideband_record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID_BYTES                           \
	"\xd2\x04\x00\x00\xd3\x04\x00\x00" \
	"\x15\xcd\x5b\x07\x00\x00\x00\x00" \
	"\x03\x00\x00\x00\x00\x00\x00\x00"

/* PERF_RECORD_MMAP2 of /bin/a [0x400000, 0x402000), r-x, offset 0x1000: by device and inode. */
static const char map_by_inode[] = "\x0a\x00\x00\x00\x02\x00\x68\x00"
				   "\xd2\x04\x00\x00\xd3\x04\x00\x00"
				   "\x00\x00\x40\x00\x00\x00\x00\x00"
				   "\x00\x20\x00\x00\x00\x00\x00\x00"
				   "\x00\x10\x00\x00\x00\x00\x00\x00"
				   "\xfe\x00\x00\x00\x01\x00\x00\x00"
				   "\x39\x05\x00\x00\x00\x00\x00\x00"
				   "\x07\x00\x00\x00\x00\x00\x00\x00"
				   "\x05\x00\x00\x00\x02\x00\x00\x00"
				   "/bin/a\x00\x00" ID_BYTES;

/* The same by a build-id of 16 bytes. */
static const char map_by_build_id[] = "\x0a\x00\x00\x00\x02\x40\x68\x00"
				      "\xd2\x04\x00\x00\xd3\x04\x00\x00"
				      "\x00\x00\x40\x00\x00\x00\x00\x00"
				      "\x00\x20\x00\x00\x00\x00\x00\x00"
				      "\x00\x10\x00\x00\x00\x00\x00\x00"
				      "\x10\x00\x00\x00\x01\x02\x03\x04"
				      "\x05\x06\x07\x08\x09\x0a\x0b\x0c"
				      "\x0d\x0e\x0f\x10\x00\x00\x00\x00"
				      "\x05\x00\x00\x00\x02\x00\x00\x00"
				      "/bin/a\x00\x00" ID_BYTES;

static const char comm[] = "\x03\x00\x00\x00\x00\x00\x30\x00"
			   "\xd2\x04\x00\x00\xd3\x04\x00\x00"
			   "thread\x00\x00" ID_BYTES;
static const char exec[] = "\x03\x00\x00\x00\x00\x20\x30\x00"
			   "\xd2\x04\x00\x00\xd2\x04\x00\x00"
			   "sh\x00\x00\x00\x00\x00\x00" ID_BYTES;
static const char fork_process[] = "\x07\x00\x00\x00\x00\x00\x38\x00"
				   "\xe1\x10\x00\x00\xd2\x04\x00\x00"
				   "\xe1\x10\x00\x00\xd3\x04\x00\x00"
				   "\x14\xcd\x5b\x07\x00\x00\x00\x00" ID_BYTES;
static const char exit_thread[] = "\x04\x00\x00\x00\x00\x00\x38\x00"
				  "\xd2\x04\x00\x00\x01\x00\x00\x00"
				  "\xd3\x04\x00\x00\x01\x00\x00\x00"
				  "\x14\xcd\x5b\x07\x00\x00\x00\x00" ID_BYTES;
static const char lost[] = "\x02\x00\x00\x00\x00\x00\x30\x00"
			   "\x63\x00\x00\x00\x00\x00\x00\x00"
			   "\x01\x00\x00\x00\x01\x00\x00\x00" ID_BYTES;
/* PERF_RECORD_CGROUP of /a/b.scope, and of the root. */
static const char cgroup[] = "\x13\x00\x00\x00\x00\x00\x38\x00"
			     "\x2a\x01\x00\x00\x01\x00\x00\x00"
			     "/a/b.scope\x00\x00\x00\x00\x00\x00" ID_BYTES;
static const char root_cgroup[] = "\x13\x00\x00\x00\x00\x00\x30\x00"
				  "\x01\x00\x00\x00\x00\x00\x00\x00"
				  "/\x00\x00\x00\x00\x00\x00\x00" ID_BYTES;
/* PERF_RECORD_KSYMBOL of a BPF program that goes, of 300 bytes. */
static const char kernel_symbol[] = "\x11\x00\x00\x00\x00\x00\x40\x00"
				    "\x00\x10\x20\xc0\xff\xff\xff\xff"
				    "\x2c\x01\x00\x00\x01\x00\x01\x00"
				    "bpf_prog_0123ab\x00" ID_BYTES;
static const char throttle[] = "\x05\x00\x00\x00\x00\x00\x38\x00"
			       "\x14\xcd\x5b\x07\x00\x00\x00\x00"
			       "\x14\xcd\x5b\x07\x00\x00\x00\x00"
			       "\x14\xcd\x5b\x07\x00\x00\x00\x00" ID_BYTES;

#define PARSE(bytes, ret_record) sideband_record_parse(bytes, sizeof(bytes) - 1, ret_record)

static void mapping_with_an_inode(void **state)
{
	struct sideband_record record;

	assert_int_equal(PARSE(map_by_inode, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_MAP);
	assert_int_equal(record.time_ns, 123456789);
	assert_int_equal(record.pid, 1234);
	assert_int_equal(record.tid, 1235);
	assert_int_equal(record.start, 0x400000);
	assert_int_equal(record.end, 0x402000);
	assert_int_equal(record.offset, 0x1000);
	assert_int_equal(record.device_major, 0xfe);
	assert_int_equal(record.device_minor, 1);
	assert_int_equal(record.inode, 1337);
	assert_int_equal(record.build_id.size, 0);
	assert_string_equal(record.text, "/bin/a");
	assert_ptr_equal(record.text, map_by_inode + 72);
}

static void mapping_with_a_build_id(void **state)
{
	struct sideband_record record;
	char hex[BUILD_ID_HEX_BYTES];

	assert_int_equal(PARSE(map_by_build_id, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_MAP);
	assert_int_equal(record.inode, 0);
	assert_int_equal(record.device_major, 0);
	assert_int_equal(record.build_id.size, 16);
	assert_string_equal(
		build_id_format(&record.build_id, hex), "0102030405060708090a0b0c0d0e0f10");
	assert_string_equal(record.text, "/bin/a");
}

static void tasks_and_names(void **state)
{
	struct sideband_record record;

	assert_int_equal(PARSE(comm, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_COMM);
	assert_int_equal(record.pid, 1234);
	assert_int_equal(record.tid, 1235);
	assert_string_equal(record.text, "thread");
	assert_int_equal(PARSE(exec, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_EXEC);
	assert_int_equal(record.tid, 1234);
	assert_string_equal(record.text, "sh");
	assert_int_equal(PARSE(fork_process, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_FORK);
	assert_int_equal(record.pid, 4321);
	assert_int_equal(record.tid, 4321);
	assert_int_equal(record.parent, 1234);
	assert_int_equal(record.time_ns, 123456789);
	assert_int_equal(PARSE(exit_thread, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_EXIT);
	assert_int_equal(record.pid, 1234);
	assert_int_equal(record.tid, 1235);
	assert_int_equal(record.parent, 1);
	assert_null(record.text);
	assert_int_equal(PARSE(lost, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_LOST);
	assert_int_equal(record.lost, 0x100000001);
	assert_int_equal(record.pid, 0);
	assert_int_equal(record.time_ns, 123456789);
}

static void cgroups_have_an_id_and_a_path(void **state)
{
	struct sideband_record record;

	assert_int_equal(PARSE(cgroup, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_CGROUP);
	assert_int_equal(record.cgroup, 0x10000012a);
	assert_int_equal(record.time_ns, 123456789);
	assert_int_equal(record.pid, 0);
	assert_string_equal(record.text, "/a/b.scope");
	assert_ptr_equal(record.text, cgroup + 16);
	assert_int_equal(PARSE(root_cgroup, &record), 0);
	assert_int_equal(record.cgroup, 1);
	assert_string_equal(record.text, "/");
}

static void kernel_code_has_a_range(void **state)
{
	struct sideband_record record;

	assert_int_equal(PARSE(kernel_symbol, &record), 0);
	assert_int_equal(record.kind, SIDEBAND_KERNEL_SYMBOL);
	assert_int_equal(record.start, 0xffffffffc0201000);
	assert_int_equal(record.end, 0xffffffffc0201000 + 300);
}

/* Each byte string, changed at one place. */
static int parse_changed(
	const char *golden, size_t size, size_t offset, const char *bytes, size_t byte_count)
{
	struct sideband_record record = { .time_ns = 7 };
	char changed[128];
	int r;

	assert_true(size <= sizeof(changed) && offset + byte_count <= size);
	memcpy(changed, golden, size);
	memcpy(changed + offset, bytes, byte_count);
	r = sideband_record_parse(changed, size, &record);
	if (r < 0)
		assert_int_equal(record.time_ns, 7);
	return r;
}

#define PARSE_CHANGED(golden, offset, bytes) \
	parse_changed(golden, sizeof(golden) - 1, offset, bytes, sizeof(bytes) - 1)

static void uninteresting_records_say_so(void **state)
{
	struct sideband_record record = { .time_ns = 7 };

	assert_int_equal(PARSE(throttle, &record), -ENOMSG);
	assert_int_equal(record.time_ns, 7);
	assert_int_equal(PARSE_CHANGED(map_by_inode, 64, "\x03"), -ENOMSG);
	assert_int_equal(PARSE_CHANGED(map_by_inode, 0, "\x01"), -ENOMSG);
	assert_int_equal(PARSE_CHANGED(map_by_inode, 64, "\x07"), 0);
}

static void inconsistent_records_are_refused(void **state)
{
	/* The size of the record, one off either way. */
	assert_int_equal(PARSE_CHANGED(map_by_inode, 6, "\x67"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(map_by_inode, 6, "\x69"), -EINVAL);
	/* No mapping, one beyond the end of the address space, and the last that fits. */
	assert_int_equal(PARSE_CHANGED(map_by_inode, 24, "\0\0\0\0\0\0\0\0"), -EINVAL);
	assert_int_equal(
		PARSE_CHANGED(map_by_inode, 24, "\xff\xff\xff\xff\xff\xff\xff\xff"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(map_by_inode, 24, "\xff\xff\xbf\xff\xff\xff\xff\xff"), 0);
	/* Build-ids that are too long, and none. */
	assert_int_equal(PARSE_CHANGED(map_by_build_id, 40, "\x15"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(map_by_build_id, 40, "\xff"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(map_by_build_id, 40, "\x14"), 0);
	assert_int_equal(PARSE_CHANGED(map_by_build_id, 40, "\0"), 0);
	/* Texts that only the sample_id would end. */
	assert_int_equal(PARSE_CHANGED(map_by_inode, 72, "/bin/abc"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(comm, 16, "12345678"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(exec, 16, "12345678"), -EINVAL);
	assert_int_equal(PARSE_CHANGED(root_cgroup, 16, "/2345678"), -EINVAL);
}

/* A truncated record that still states its full size, in memory of exactly the truncated size. */
static void assert_cut_records_parse_or_fail(const char *golden, size_t size, size_t least_size)
{
	for (size_t cut = 0; cut < size; cut++) {
		struct sideband_record record = { .time_ns = 7 };
		char *bytes = malloc(cut ? cut : 1);
		uint16_t cut_size = (uint16_t)cut;
		int r;

		assert_non_null(bytes);
		memcpy(bytes, golden, cut);
		if (cut >= 8)
			memcpy(bytes + 6, &cut_size, sizeof(cut_size));
		r = sideband_record_parse(bytes, cut, &record);
		if (cut < least_size) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(record.time_ns, 7);
		}
		free(bytes);
	}
}

#define ASSERT_CUT(golden, least_size) \
	assert_cut_records_parse_or_fail(golden, sizeof(golden) - 1, least_size)

static void short_records_are_refused(void **state)
{
	ASSERT_CUT(map_by_inode, 8 + 64 + 1 + 24);
	ASSERT_CUT(map_by_build_id, 8 + 64 + 1 + 24);
	ASSERT_CUT(comm, 8 + 8 + 1 + 24);
	ASSERT_CUT(fork_process, 8 + 24 + 24);
	ASSERT_CUT(lost, 8 + 16 + 24);
	ASSERT_CUT(root_cgroup, 8 + 8 + 1 + 24);
	ASSERT_CUT(throttle, 8 + 24);
}

static void no_alignment_is_needed(void **state)
{
	struct sideband_record record;
	char bytes[sizeof(map_by_inode) + 8];

	for (size_t shift = 0; shift < 8; shift++) {
		memcpy(bytes + shift, map_by_inode, sizeof(map_by_inode) - 1);
		assert_int_equal(
			sideband_record_parse(bytes + shift, sizeof(map_by_inode) - 1, &record), 0);
		assert_int_equal(record.end, 0x402000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_code_has_a_range),
		cmocka_unit_test(mapping_with_an_inode),
		cmocka_unit_test(mapping_with_a_build_id),
		cmocka_unit_test(tasks_and_names),
		cmocka_unit_test(cgroups_have_an_id_and_a_path),
		cmocka_unit_test(uninteresting_records_say_so),
		cmocka_unit_test(inconsistent_records_are_refused),
		cmocka_unit_test(short_records_are_refused),
		cmocka_unit_test(no_alignment_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/utf8.h"
#include "extract/symbol_file_writer.h"
#include "symbol/symbol_file.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <xxhash.h>

static const struct symbol_identity identity = {
	.kind = PILOTLIGHT_SYMBOL_HTLHASH,
	.id = { .bytes = { 9, 8, 7 }, .size = 3 },
};

static const struct pilotlight_symbol_segment segment = { .vaddr = 0x1000, .memory_bytes = 5 };

static void add_sections(struct symbol_file_writer *writer)
{
	static const struct pilotlight_symbol_frame frames[2] = { { 0 }, { .name = 1 } };

	symbol_file_writer_add(writer, PILOTLIGHT_SYMBOL_SEGMENTS, &segment, 1, sizeof(segment));
	symbol_file_writer_add(writer, PILOTLIGHT_SYMBOL_ROWS, NULL, 0, 12);
	symbol_file_writer_add(writer, PILOTLIGHT_SYMBOL_FRAMES, frames, 2, sizeof(frames[0]));
	symbol_file_writer_add(writer, PILOTLIGHT_SYMBOL_STRINGS, "\0main", 6, 1);
}

static int write_to(int fd)
{
	struct symbol_file_writer writer;

	symbol_file_writer_init(
		&writer, &identity, PILOTLIGHT_SYMBOL_RANK_DEBUGLINK, "/usr/lib/libc.so.6");
	writer.head.header.base_vaddr = 0x1000;
	add_sections(&writer);
	return symbol_file_writer_write(&writer, fd);
}

static void a_reader_finds_what_was_written(void **state)
{
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_symbol_header *header;
	uint64_t before_s = clock_realtime_ns() / NSEC_PER_SEC;
	struct symbol_identity found;

	assert_int_equal(write_to(fd), 0);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	header = symbol_file_header(file);
	found = symbol_file_identity(file);
	assert_true(symbol_identity_equal(&found, &identity));
	assert_int_equal(found.kind, PILOTLIGHT_SYMBOL_HTLHASH);
	assert_int_equal(header->rank, PILOTLIGHT_SYMBOL_RANK_DEBUGLINK);
	assert_int_equal(header->base_vaddr, 0x1000);
	assert_string_equal(header->origin, "/usr/lib/libc.so.6");
	assert_in_range(header->created_s, before_s, clock_realtime_ns() / NSEC_PER_SEC);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS), 0);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES), 2);
	assert_memory_equal(
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_SEGMENTS), &segment, sizeof(segment));
	assert_string_equal(symbol_file_frame_name(file, 1), "main");
}

static void the_layout_is_what_the_format_says(void **state)
{
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	struct {
		struct pilotlight_symbol_header header;
		struct pilotlight_symbol_section sections[3];
	} head;
	uint8_t bytes[64];
	struct stat status;
	uint64_t hash;

	assert_int_equal(write_to(fd), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	assert_memory_equal(head.header.magic, "PLSYMBOL", 8);
	assert_int_equal(head.header.section_count, 3);
	assert_int_equal(head.header.file_bytes, status.st_size);
	hash = head.header.header_hash;
	head.header.header_hash = 0;
	assert_true(XXH3_64bits(&head, sizeof(head)) == hash);
	for (size_t i = 0; i < 3; i++) {
		const struct pilotlight_symbol_section *section = &head.sections[i];

		assert_int_equal(section->offset % PILOTLIGHT_SYMBOL_ALIGNMENT, 0);
		assert_int_equal(
			pread(fd, bytes, section->bytes, (off_t)section->offset), section->bytes);
		assert_true(XXH3_64bits(bytes, section->bytes) == section->hash);
	}
	assert_int_equal(head.sections[2].id, PILOTLIGHT_SYMBOL_STRINGS);
	assert_int_equal(head.sections[2].offset + 6, status.st_size);
}

static void of_a_long_origin_the_end_is_kept(void **state)
{
	struct symbol_file_writer writer;
	char origin[600];
	const char *kept = writer.head.header.origin;

	for (size_t length = 1; length < sizeof(origin) - 2; length++) {
		/* Of two bytes each, so that the cut falls into one of them now and then. */
		for (size_t i = 0; i < length; i++)
			origin[i] = "ä"[i % 2];
		(void)strcpy(origin + length / 2 * 2, "/x");
		symbol_file_writer_init(&writer, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, origin);
		assert_true(strlen(kept) < sizeof(writer.head.header.origin));
		assert_string_equal(kept + strlen(kept) - 2, "/x");
		for (size_t i = 0; kept[i];) {
			size_t size = utf8_sequence(kept + i, strlen(kept) - i);

			assert_true(size > 0);
			i += size;
		}
		if (length < 120)
			assert_string_equal(kept, origin);
		else if (length > 130)
			assert_memory_equal(kept, "…", 3);
	}
	symbol_file_writer_init(&writer, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, "/a\033\xff");
	assert_string_equal(kept, "/a\xef\xbf\xbd\xef\xbf\xbd");
}

static void files_too_large_for_readers_are_refused(void **state)
{
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	struct symbol_file_writer writer;
	struct stat status;
	size_t size = (4ULL << 30) - 4096;
	void *zeros =
		mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(zeros, MAP_FAILED);
	symbol_file_writer_init(&writer, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, "");
	symbol_file_writer_add(&writer, PILOTLIGHT_SYMBOL_STRINGS, zeros, 4096, 1);
	symbol_file_writer_add(&writer, PILOTLIGHT_SYMBOL_FRAMES, zeros, size / 16, 16);
	assert_int_equal(symbol_file_writer_write(&writer, fd), -EFBIG);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 0);
	(void)munmap(zeros, size);
}

static void errors_are_reported(void **state)
{
	_cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);

	if (full >= 0)
		assert_int_equal(write_to(full), -ENOSPC);
	assert_int_equal(write_to(-1), -EBADF);
	assert_int_equal(FAIL_EACH_ALLOCATION(write_to(fd), -ENOMEM, true, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_finds_what_was_written),
		cmocka_unit_test(the_layout_is_what_the_format_says),
		cmocka_unit_test(of_a_long_origin_the_end_is_kept),
		cmocka_unit_test(files_too_large_for_readers_are_refused),
		cmocka_unit_test(errors_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

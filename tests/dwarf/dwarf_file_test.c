/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_file.h"
#include "tests/base/scratch_fixture.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { INFO_BYTES = 150000, SCRATCH_BYTES = 64 << 20, PACKED_BYTES = 60 * 1000 };

static char info[INFO_BYTES]; /* what .debug_info unpacks to */

/* A section's contents as they are in the file. */
struct packed {
	uint8_t bytes[PACKED_BYTES];
	size_t size;
};

static void put(struct packed *packed, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(packed->bytes) - packed->size);
	memcpy(packed->bytes + packed->size, bytes, size);
	packed->size += size;
}

static void put_stream(struct packed *packed, const void *bytes, size_t size)
{
	uLongf length = sizeof(packed->bytes) - packed->size;

	assert_int_equal(compress(packed->bytes + packed->size, &length, bytes, size), Z_OK);
	packed->size += length;
}

/* Elf32_Chdr or Elf64_Chdr, in the order of the file. */
static void put_header(
	struct packed *packed, const struct fixture *like, uint32_t type, uint64_t size)
{
	struct fixture header = { .is_narrow = like->is_narrow, .is_swapped = like->is_swapped };

	fixture_put(&header, type, 4);
	if (!header.is_narrow)
		fixture_put(&header, 0, 4);
	fixture_put_word(&header, size);
	fixture_put_word(&header, 1);
	put(packed, header.bytes, header.size);
}

/* The file, what opening it returned, and the scratch that it was unpacked to. */
struct opened {
	struct scratch_fixture scratch;
	struct dwarf_file file;
	int r;
};

static void opened_done(struct opened *opened)
{
	dwarf_file_close(&opened->file);
	scratch_fixture_done(&opened->scratch);
}

static int open_file(
	struct opened *opened, const struct fixture *fixture, bool is_split, uint64_t limit_bytes)
{
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);

	*opened = (struct opened){ .r = -1 };
	assert_true(scratch_fixture_init(&opened->scratch, limit_bytes));
	assert_int_equal(write(fd, fixture->bytes, fixture->size), fixture->size);
	opened->r = dwarf_file_open(&opened->file, fd, is_split, &opened->scratch.scratch);
	return opened->r;
}

static int open_sections(struct opened *opened, struct fixture *fixture,
	const struct fixture_section *sections, size_t count, uint64_t limit_bytes)
{
	fixture_build_sections(fixture, sections, count);
	return open_file(opened, fixture, false, limit_bytes);
}

static void assert_contents(const struct dwarf_bytes *section, const void *bytes, size_t size)
{
	assert_int_equal(dwarf_bytes_left(section), size);
	if (size > 0)
		assert_memory_equal(section->position, bytes, size);
}

static void files_of_all_classes_are_read(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };
		struct packed info_bytes = { 0 }, line_bytes = { 0 };
		_cleanup_(opened_done) struct opened opened = { .r = -1 };

		put_header(&info_bytes, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
		put_stream(&info_bytes, info, sizeof(info));
		put(&line_bytes, "ZLIB\0\0\0\0\0\0\0\4", 12);
		put_stream(&line_bytes, "line", 4);
		const struct fixture_section sections[] = {
			{ .name = ".debug_addr", .type = SHT_NOBITS, .is_empty_in_file = true },
			{ .name = ".debug_info",
				.type = SHT_PROGBITS,
				.flags = SHF_COMPRESSED,
				.bytes = info_bytes.bytes,
				.size = info_bytes.size },
			{ .name = ".zdebug_line",
				.type = SHT_PROGBITS,
				.bytes = line_bytes.bytes,
				.size = line_bytes.size },
			{ .name = ".debug_str",
				.type = SHT_PROGBITS,
				.bytes = "strings",
				.size = 8 },
			{ .name = ".debug_str", .type = SHT_PROGBITS, .bytes = "x", .size = 1 },
			{ .name = ".debug_abbrev", .type = SHT_PROGBITS },
			{ .name = ".debug_ranges.dwo",
				.type = SHT_PROGBITS,
				.bytes = "split",
				.size = 5 },
			/* It is compressed with an unknown method, and nobody reads it. */
			{ .name = ".debug_loc",
				.type = SHT_PROGBITS,
				.flags = SHF_COMPRESSED,
				.bytes = "x",
				.size = 1 },
		};

		assert_int_equal(open_sections(&opened, &fixture, sections, ARRAY_SIZE(sections),
					 SCRATCH_BYTES),
			0);
		assert_contents(&opened.file.sections.info, info, sizeof(info));
		assert_int_equal(opened.file.sections.info.is_swapped, fixture.is_swapped);
		assert_int_equal(opened.file.sections.info_index, 2);
		assert_contents(&opened.file.sections.line, "line", 4);
		/* The first one of a name counts. */
		assert_contents(&opened.file.sections.str, "strings", 8);
		assert_null(opened.file.sections.abbrev.position);
		assert_null(opened.file.sections.addr.position);
		assert_null(opened.file.sections.ranges.position);
	}
}

static void files_without_compression_need_no_scratch(void **state)
{
	static const struct fixture_section sections[] = {
		{ .name = ".debug_info", .type = SHT_PROGBITS, .bytes = "info", .size = 4 },
	};
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct fixture fixture = { 0 };

	assert_int_equal(open_sections(&opened, &fixture, sections, 1, SCRATCH_BYTES), 0);
	assert_contents(&opened.file.sections.info, "info", 4);
	assert_int_equal(opened.scratch.scratch.used_bytes, 0);
}

/* Opens a file whose only section is .debug_info with these contents. */
static int open_info(struct opened *opened, const struct packed *packed, uint64_t limit_bytes)
{
	const struct fixture_section section = { .name = ".debug_info",
		.type = SHT_PROGBITS,
		.flags = SHF_COMPRESSED,
		.bytes = packed->bytes,
		.size = packed->size };
	struct fixture fixture = { 0 };

	return open_sections(opened, &fixture, &section, 1, limit_bytes);
}

static void the_size_in_the_header_is_not_trusted(void **state)
{
	static const struct {
		uint64_t said;
		size_t size;
	} cases[] = { { 0, 0 }, { 1, 1 }, { INFO_BYTES - 1, INFO_BYTES - 1 },
		{ INFO_BYTES, INFO_BYTES }, { INFO_BYTES + 1, INFO_BYTES },
		{ SCRATCH_BYTES / 2, INFO_BYTES } };
	struct fixture fixture = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		struct packed packed = { 0 };

		put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, cases[i].said);
		put_stream(&packed, info, sizeof(info));
		assert_int_equal(open_info(&opened, &packed, SCRATCH_BYTES), 0);
		assert_contents(&opened.file.sections.info, info, cases[i].size);
	}
}

static void streams_may_follow_each_other(void **state)
{
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };

	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, INFO_BYTES);
	put_stream(&packed, info, INFO_BYTES / 2);
	put_stream(&packed, "", 0);
	put_stream(&packed, info + INFO_BYTES / 2, INFO_BYTES - INFO_BYTES / 2);
	assert_int_equal(open_info(&opened, &packed, SCRATCH_BYTES), 0);
	assert_contents(&opened.file.sections.info, info, INFO_BYTES);
}

static void damage_is_refused(void **state)
{
	struct fixture fixture = { 0 };
	struct packed whole = { 0 };

	put_header(&whole, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
	put_stream(&whole, info, sizeof(info));
	for (size_t size = 1; size < whole.size; size += 1 + size / 3) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		struct packed packed = whole;

		packed.size = size;
		assert_int_equal(open_info(&opened, &packed, SCRATCH_BYTES), -ENOEXEC);
		assert_null(opened.file.mapping);
	}
	for (size_t i = sizeof(Elf64_Chdr); i < sizeof(Elf64_Chdr) + 3; i++) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		struct packed packed = whole;

		packed.bytes[i] ^= 0x55;
		assert_int_equal(open_info(&opened, &packed, SCRATCH_BYTES), -ENOEXEC);
	}
	for (uint32_t type = 2; type < 4; type++) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		struct packed packed = { 0 };

		put_header(&packed, &fixture, type, 4);
		put_stream(&packed, "info", 4);
		assert_int_equal(open_info(&opened, &packed, SCRATCH_BYTES), -ENOTSUP);
	}
}

static void damage_of_the_old_style_is_refused(void **state)
{
	static const char *const contents[] = { "ZLIB\0\0\0\0\0\0\0", "GZIP\0\0\0\0\0\0\0\4",
		"ZLIB\0\0\0\0\0\0\0\4" };

	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		const struct fixture_section section = { .name = ".zdebug_info",
			.type = SHT_PROGBITS,
			.bytes = contents[i],
			.size = i == 0 ? 11 : 12 };
		struct fixture fixture = { 0 };

		assert_int_equal(
			open_sections(&opened, &fixture, &section, 1, SCRATCH_BYTES), -ENOEXEC);
	}
}

/* A bomb that fits is unpacked; one that does not is not begun. */
static void bombs_end_at_the_limit(void **state)
{
	enum { ZEROS = 50 * 1000 * 1000 };
	_cleanup_(opened_done) struct opened large = { .r = -1 }, small = { .r = -1 },
					     lying = { .r = -1 };
	_cleanup_free_ char *zeros = calloc(1, ZEROS);
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };

	assert_non_null(zeros);
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, ZEROS);
	put_stream(&packed, zeros, ZEROS);
	assert_int_equal(open_info(&large, &packed, SCRATCH_BYTES), 0);
	assert_contents(&large.file.sections.info, zeros, ZEROS);
	assert_int_equal(open_info(&small, &packed, ZEROS / 4), -EFBIG);
	assert_true(small.scratch.scratch.used_bytes <= ZEROS / 8);

	packed.size = 0;
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, UINT64_MAX);
	put_stream(&packed, "info", 4);
	assert_int_equal(open_info(&lying, &packed, SCRATCH_BYTES), -EFBIG);
}

static void sections_outside_the_file_are_refused(void **state)
{
	static const uint64_t flags[] = { 0, SHF_COMPRESSED };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const struct fixture_section section = { .name = ".debug_str",
			.type = SHT_PROGBITS,
			.flags = flags[i],
			.bytes = "strings",
			.size = 1 << 20,
			.is_empty_in_file = true };
		_cleanup_(opened_done) struct opened opened = { .r = -1 };
		struct fixture fixture = { 0 };

		assert_int_equal(
			open_sections(&opened, &fixture, &section, 1, SCRATCH_BYTES), -ENOEXEC);
	}
}

static void a_file_may_be_opened_after_another(void **state)
{
	static const struct fixture_section section = {
		.name = ".debug_info", .type = SHT_PROGBITS, .bytes = "info", .size = 4
	};
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct fixture fixture = { 0 };

	assert_int_equal(open_sections(&opened, &fixture, &section, 1, SCRATCH_BYTES), 0);
	/* An empty file is no ELF file, and the one before is closed. */
	assert_int_equal(
		dwarf_file_open(&opened.file, fd, false, &opened.scratch.scratch), -ENOEXEC);
	assert_null(opened.file.mapping);
	assert_null(opened.file.sections.info.position);
}

/* Split units that are searched in turn name a file with many types again and again. */
static void each_info_of_a_split_file_is_unpacked_once(void **state)
{
	enum { INFOS = 3, BYTES = 10000 };
	struct fixture_section sections[INFOS];
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct packed packed[INFOS] = { 0 };
	struct fixture fixture = { 0 };
	uint64_t used_bytes = 0;

	for (size_t i = 0; i < INFOS; i++) {
		put_header(&packed[i], &fixture, ELFCOMPRESS_ZLIB, BYTES - i);
		put_stream(&packed[i], info, BYTES - i);
		sections[i] = (struct fixture_section){ .name = ".debug_info.dwo",
			.type = SHT_PROGBITS,
			.flags = SHF_COMPRESSED,
			.bytes = packed[i].bytes,
			.size = packed[i].size };
	}
	fixture_build_sections(&fixture, sections, INFOS);
	assert_int_equal(open_file(&opened, &fixture, true, SCRATCH_BYTES), 0);
	for (int pass = 0; pass < 100; pass++) {
		struct dwarf_sections found = opened.file.sections;

		for (size_t i = 0; i < INFOS; i++) {
			assert_int_equal(found.info_index, i + 1);
			assert_contents(&found.info, info, BYTES - i);
			assert_int_equal(dwarf_file_next_info(&opened.file, &found), i + 1 < INFOS);
		}
		if (pass == 0)
			used_bytes = opened.scratch.scratch.used_bytes;
		assert_int_equal(opened.scratch.scratch.used_bytes, used_bytes);
	}
}

/* A string ends with the file even if its NUL is overwritten after it was read. */
static void strings_of_a_file_that_changes_have_an_end(void **state)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const struct fixture_section section = {
		.name = ".debug_str", .type = SHT_PROGBITS, .bytes = "", .size = 1
	};
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct fixture fixture = { 0 };
	const char *string;

	fixture_build_sections(&fixture, &section, 1);
	/* The section is the end of a file of whole pages. */
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_offset), page_bytes - 4, 8);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_size), 4, 8);
	assert_true(fixture.size < page_bytes - 4);
	memcpy(fixture.bytes + page_bytes - 4, "end", 4);
	assert_true(scratch_fixture_init(&opened.scratch, SCRATCH_BYTES));
	assert_int_equal(write(fd, fixture.bytes, page_bytes), page_bytes);
	assert_int_equal(dwarf_file_open(&opened.file, fd, false, &opened.scratch.scratch), 0);
	string = dwarf_sections_string(&opened.file.sections.str, 0);
	assert_string_equal(string, "end");
	assert_int_equal(pwrite(fd, "s and goes on", 13, (off_t)page_bytes - 1), 13);
	assert_string_equal(string, "ends");
}

/* Is the page of this address part of the process's memory? */
static bool is_present(const void *address)
{
	const uint64_t page = (uintptr_t)address / (uintptr_t)sysconf(_SC_PAGESIZE);
	_cleanup_close_ int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	assert_int_equal(pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))), 8);
	return entry >> 63;
}

static void released_pages_are_read_again(void **state)
{
	static const struct fixture_section section = {
		.name = ".debug_info", .type = SHT_PROGBITS, .bytes = "info", .size = 4
	};
	_cleanup_(opened_done) struct opened opened = { .r = -1 };
	struct fixture fixture = { 0 };

	dwarf_file_release_pages(&opened.file);
	assert_int_equal(open_sections(&opened, &fixture, &section, 1, SCRATCH_BYTES), 0);
	assert_contents(&opened.file.sections.info, "info", 4);
	assert_true(is_present(opened.file.sections.info.position));
	dwarf_file_release_pages(&opened.file);
	assert_false(is_present(opened.file.sections.info.position));
	assert_contents(&opened.file.sections.info, "info", 4);
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };
	size_t n;
	int r;

	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
	put_stream(&packed, info, sizeof(info));
	for (n = 0;; n++) {
		_cleanup_(opened_done) struct opened opened = { .r = -1 };

		fail_allocation(n);
		r = open_info(&opened, &packed, SCRATCH_BYTES);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 2);
}

/* Objcopy compresses what the compiler wrote, in both styles; unpacked it is the same again. */
static void files_that_objcopy_compressed_are_unpacked(void **state)
{
	static const char *const styles[] = { "zlib-gabi", "zlib-gnu" };
	char folder[] = "/tmp/dwarf_file_XXXXXX", command[512], path[64];
	bool is_built;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(command, sizeof(command),
		"cd %s && printf '#include <stdio.h>\nint main(void) { return puts(\"x\"); }' > "
		"c.c && gcc -g -O1 c.c -o plain 2>/dev/null && "
		"objcopy --compress-debug-sections=zlib-gabi plain zlib-gabi 2>/dev/null && "
		"objcopy --compress-debug-sections=zlib-gnu plain zlib-gnu 2>/dev/null",
		folder);
	is_built = system(command) == 0;
	for (size_t i = 0; is_built && i < ARRAY_SIZE(styles); i++) {
		_cleanup_(opened_done) struct opened plain = { .r = -1 }, packed = { .r = -1 };
		_cleanup_close_ int plain_fd = -1, fd = -1;
		const struct dwarf_sections *expected = &plain.file.sections;
		const struct dwarf_sections *found = &packed.file.sections;

		assert_true(scratch_fixture_init(&plain.scratch, SCRATCH_BYTES));
		assert_true(scratch_fixture_init(&packed.scratch, SCRATCH_BYTES));
		(void)snprintf(path, sizeof(path), "%s/plain", folder);
		plain_fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(
			dwarf_file_open(&plain.file, plain_fd, false, &plain.scratch.scratch), 0);
		(void)snprintf(path, sizeof(path), "%s/%s", folder, styles[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(
			dwarf_file_open(&packed.file, fd, false, &packed.scratch.scratch), 0);
		assert_false(plain.file.has_unpacked);
		assert_true(packed.file.has_unpacked);
		assert_contents(
			&found->info, expected->info.position, dwarf_bytes_left(&expected->info));
		assert_contents(&found->abbrev, expected->abbrev.position,
			dwarf_bytes_left(&expected->abbrev));
		assert_contents(
			&found->line, expected->line.position, dwarf_bytes_left(&expected->line));
		assert_contents(
			&found->str, expected->str.position, dwarf_bytes_left(&expected->str));
	}
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	if (!is_built) {
		print_message("skipped: gcc or objcopy does not work here\n");
		skip();
	}
}

static int set_up(void **state)
{
	srandom(1);
	for (size_t i = 0; i < sizeof(info); i++)
		info[i] = (char)(random() % 4);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_all_classes_are_read),
		cmocka_unit_test(files_without_compression_need_no_scratch),
		cmocka_unit_test(the_size_in_the_header_is_not_trusted),
		cmocka_unit_test(streams_may_follow_each_other),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(damage_of_the_old_style_is_refused),
		cmocka_unit_test(bombs_end_at_the_limit),
		cmocka_unit_test(sections_outside_the_file_are_refused),
		cmocka_unit_test(a_file_may_be_opened_after_another),
		cmocka_unit_test(each_info_of_a_split_file_is_unpacked_once),
		cmocka_unit_test(strings_of_a_file_that_changes_have_an_end),
		cmocka_unit_test(released_pages_are_read_again),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(files_that_objcopy_compressed_are_unpacked),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged files, and files with valid hashes and wrong contents. */
#include "base/array.h"
#include "symbol/symbol_file.h"
#include "symbol/symbol_file_check.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = SYMBOL_FILE_FIXTURE_BASE };

static struct symbol_file_fixture fixture;

static void build(void)
{
	fixture = (struct symbol_file_fixture){ .identity = { 0xab, 0xcd } };
	symbol_file_fixture_fill(&fixture);
	symbol_file_fixture_build(&fixture);
}

static int open_bytes(struct symbol_file **ret_file)
{
	_cleanup_close_ int fd = symbol_file_fixture_fd(&fixture);

	assert_true(fd >= 0);
	return symbol_file_open(fd, ret_file);
}

static int open_sealed(struct symbol_file **ret_file)
{
	symbol_file_fixture_seal(fixture.bytes, fixture.size);
	return open_bytes(ret_file);
}

static void assert_refused(int error)
{
	struct symbol_file *file = NULL;

	assert_int_equal(open_sealed(&file), error);
	assert_null(file);
}

/* Is the byte hashed? Otherwise it is padding. */
static bool is_covered(size_t at)
{
	const struct pilotlight_symbol_header *header = symbol_file_fixture_header(&fixture);
	const struct pilotlight_symbol_section *sections = (const void *)(header + 1);

	if (at < sizeof(*header) + header->section_count * sizeof(*sections))
		return true;
	for (size_t i = 0; i < header->section_count; i++)
		if (at >= sections[i].offset && at < sections[i].offset + sections[i].bytes)
			return true;
	return false;
}

static void every_damaged_byte_is_detected(void **state)
{
	size_t padding = 0;

	build();
	for (size_t i = 0; i < fixture.size; i++) {
		bool is_version = i >= 8 && i < 12;
		struct symbol_file *file = NULL;
		int wanted;

		wanted = !is_covered(i) ? 0 : is_version ? -EPROTONOSUPPORT : -EBADMSG;
		fixture.bytes[i] ^= 0x40;
		assert_int_equal(open_bytes(&file), wanted);
		symbol_file_free(file);
		fixture.bytes[i] ^= 0x40;
		padding += wanted == 0;
	}
	assert_true(padding > 0 && padding < fixture.size / 2);
}

static void every_truncation_is_detected(void **state)
{
	size_t whole;

	build();
	whole = fixture.size;
	for (size_t size = 0; size < whole; size++) {
		struct symbol_file *file = NULL;

		build();
		fixture.size = size;
		assert_int_equal(open_bytes(&file), -EBADMSG);
		symbol_file_fixture_header(&fixture)->file_bytes = size;
		assert_int_equal(open_sealed(&file), -EBADMSG);
		assert_null(file);
	}
	assert_true(whole > 1000);
}

static void invalid_headers_are_refused(void **state)
{
	static const struct {
		size_t offset, bytes;
		uint64_t value;
		int error;
	} damages[] = {
#define FIELD(name)                                      \
	offsetof(struct pilotlight_symbol_header, name), \
		sizeof(((struct pilotlight_symbol_header *)NULL)->name)
		{ FIELD(magic), 0, -EBADMSG },
		{ FIELD(version), 0, -EPROTONOSUPPORT },
		{ FIELD(version), 2, -EPROTONOSUPPORT },
		{ FIELD(header_bytes), 255, -EBADMSG },
		{ FIELD(header_bytes), 320, -EBADMSG },
		{ FIELD(section_count), PILOTLIGHT_SYMBOL_SECTIONS_MAX + 1, -EBADMSG },
		{ FIELD(section_count), UINT16_MAX, -EBADMSG },
		{ FIELD(file_bytes), 0, -EBADMSG },
		{ FIELD(file_bytes), UINT64_MAX, -EBADMSG },
		{ FIELD(identity_bytes), 0, -EBADMSG },
		{ FIELD(identity_bytes), 21, -EBADMSG },
		{ FIELD(identity_bytes), 1, -EBADMSG }, /* two bytes are set */
		{ FIELD(identity_kind), 0, -EBADMSG },
		{ FIELD(identity_kind), PILOTLIGHT_SYMBOL_OWNED + 1, -EBADMSG },
		{ FIELD(rank), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE + 1, -EBADMSG },
		{ FIELD(rank), PILOTLIGHT_SYMBOL_RANK_NONE, -EBADMSG }, /* with tables */
		{ FIELD(failure), PILOTLIGHT_SYMBOL_FAILURES, -EBADMSG },
		{ FIELD(boundary_shift), 32, -EBADMSG },
		{ FIELD(row_shift), 255, -EBADMSG },
		{ FIELD(boundary_shift), 1, -EBADMSG }, /* too few ranges */
		{ FIELD(row_shift), 1, -EBADMSG },
		/* For later versions. */
		{ offsetof(struct pilotlight_symbol_header, reserved), 8, 1, 0 },
		{ FIELD(contents), UINT32_MAX, 0 },
#undef FIELD
	};

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct symbol_file *file = NULL;

		build();
		memcpy(fixture.bytes + damages[i].offset, &damages[i].value, damages[i].bytes);
		assert_int_equal(open_sealed(&file), damages[i].error);
		symbol_file_free(file);
	}
	build();
	memset(symbol_file_fixture_header(&fixture)->origin, 'x', 128);
	assert_refused(-EBADMSG);
}

static void invalid_sections_are_refused(void **state)
{
	static const struct {
		uint32_t id;
		size_t offset, bytes;
		uint64_t value;
	} damages[] = {
#define FIELD(name)                                       \
	offsetof(struct pilotlight_symbol_section, name), \
		sizeof(((struct pilotlight_symbol_section *)NULL)->name)
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(id), PILOTLIGHT_SYMBOL_ROWS }, /* twice */
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(entry_bytes), 8 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(entry_bytes), 0 },
		{ PILOTLIGHT_SYMBOL_STRINGS, FIELD(entry_bytes), 2 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(bytes), 79 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(bytes), UINT64_MAX },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(bytes), UINT64_MAX - 15 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(offset), 65 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(offset), UINT64_MAX - 63 },
		{ PILOTLIGHT_SYMBOL_FRAMES, FIELD(offset), 1 << 20 },
		{ PILOTLIGHT_SYMBOL_BOUNDARY_INDEX, FIELD(id), 1000 }, /* no index */
		{ PILOTLIGHT_SYMBOL_BOUNDARY_INDEX, FIELD(bytes), 12 },
		{ PILOTLIGHT_SYMBOL_ROW_INDEX, FIELD(bytes), 0 },
		{ PILOTLIGHT_SYMBOL_STRINGS, FIELD(bytes), 3 }, /* in the middle of a string */
#undef FIELD
	};

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		build();
		memcpy((uint8_t *)symbol_file_fixture_section(&fixture, damages[i].id) +
				damages[i].offset,
			&damages[i].value, damages[i].bytes);
		assert_refused(-EBADMSG);
	}
	build();
	*(char *)symbol_file_fixture_contents(&fixture, PILOTLIGHT_SYMBOL_STRINGS) = 'x';
	assert_refused(-EBADMSG);
	/* An offset beyond the index. */
	build();
	((struct pilotlight_symbol_row *)symbol_file_fixture_contents(
		&fixture, PILOTLIGHT_SYMBOL_ROWS))[6]
		.offset = UINT32_MAX;
	assert_refused(-EBADMSG);
}

static void unwind_sections_need_the_right_entry_size(void **state)
{
	static const struct {
		uint32_t id, entry_bytes;
	} sections[] = {
		{ PILOTLIGHT_SYMBOL_UNWIND, 48 },
		{ PILOTLIGHT_SYMBOL_UNWIND_PAGES, 4 },
		{ PILOTLIGHT_SYMBOL_UNWIND_LINES, 64 },
		{ PILOTLIGHT_SYMBOL_UNWIND_RULES, 16 },
		{ PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, 8 },
		{ PILOTLIGHT_SYMBOL_RUNTIME, 128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		struct symbol_file *file = NULL;

		build();
		(void)symbol_file_fixture_append(
			&fixture, sections[i].id, sections[i].entry_bytes, NULL, 3);
		symbol_file_fixture_finish(&fixture);
		assert_int_equal(open_bytes(&file), 0);
		symbol_file_free(file);
		symbol_file_fixture_section(&fixture, sections[i].id)->bytes--;
		assert_refused(-EBADMSG);
		build();
		(void)symbol_file_fixture_append(
			&fixture, sections[i].id, sections[i].entry_bytes / 2, NULL, 2);
		symbol_file_fixture_finish(&fixture);
		assert_refused(-EBADMSG);
	}
}

/* Overlapping sections would be hashed many times. */
static void overlapping_sections_are_refused(void **state)
{
	struct symbol_file *file = NULL;
	uint64_t offset;

	build();
	(void)symbol_file_fixture_append(&fixture, 1000, 1, NULL, 1000);
	offset = symbol_file_fixture_section(&fixture, 1000)->offset;
	(void)symbol_file_fixture_append(&fixture, 1001, 1, NULL, 1000);
	symbol_file_fixture_finish(&fixture);
	assert_int_equal(open_sealed(&file), 0);
	symbol_file_free(file);
	(void)symbol_file_fixture_append(&fixture, 1002, 1, NULL, 0);
	(void)symbol_file_fixture_append(&fixture, 1003, 1, NULL, 0);
	for (uint32_t id = 1002; id <= 1003; id++) {
		symbol_file_fixture_section(&fixture, id)->offset = offset;
		symbol_file_fixture_section(&fixture, id)->bytes = 1500;
	}
	symbol_file_fixture_finish(&fixture);
	assert_refused(-EBADMSG);
}

static void segments_are_bounded(void **state)
{
	static const struct pilotlight_symbol_segment segments[SYMBOL_FILE_SEGMENTS_MAX + 1];
	struct symbol_file *file = NULL;

	fixture = (struct symbol_file_fixture){ .identity = { 1 } };
	symbol_file_fixture_fill(&fixture);
	fixture.segments = segments;
	fixture.segment_count = SYMBOL_FILE_SEGMENTS_MAX;
	symbol_file_fixture_build(&fixture);
	assert_int_equal(open_bytes(&file), 0);
	symbol_file_free(file);
	fixture.segment_count++;
	symbol_file_fixture_build(&fixture);
	assert_refused(-EBADMSG);
}

static void unmappable_files_are_errors(void **state)
{
	char path[] = "/tmp/symbol_file_check_test.XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	_cleanup_close_ int write_only = open(path, O_WRONLY | O_CLOEXEC);
	_cleanup_close_ int folder = open("/", O_RDONLY | O_CLOEXEC);
	struct symbol_file *file = NULL;

	(void)unlink(path);
	assert_true(fd >= 0 && write_only >= 0 && folder >= 0);
	assert_int_equal(symbol_file_open(fd, &file), -EBADMSG);
	/* Longer than any symbol file, and sparse. */
	assert_int_equal(ftruncate(fd, (off_t)(SYMBOL_FILE_BYTES_MAX + 4096)), 0);
	assert_int_equal(symbol_file_open(fd, &file), -EBADMSG);
	assert_int_equal(symbol_file_open(write_only, &file), -EACCES);
	assert_int_equal(symbol_file_open(folder, &file), -EBADMSG);
	assert_int_equal(symbol_file_open(-1, &file), -EBADF);
	assert_null(file);
}

/* Valid hashes, wrong contents: the answers are wrong, but the walk ends. */
static void wrong_ids_stay_in_bounds(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_symbol_boundary *boundaries;
	struct pilotlight_symbol_frame *frames;
	struct pilotlight_symbol_row *rows;
	struct symbol_line lines[8];
	uint64_t call = 7;
	uint32_t *paths;

	build();
	frames = symbol_file_fixture_contents(&fixture, PILOTLIGHT_SYMBOL_FRAMES);
	frames[0] = (struct pilotlight_symbol_frame){ 4, 1, 1, 1 };
	frames[1].parent = 1;		 /* itself */
	frames[2].parent = 3;		 /* its child */
	frames[3].parent = UINT32_MAX;	 /* no such frame */
	frames[3].name = UINT32_MAX - 1; /* out of range */
	boundaries = symbol_file_fixture_contents(&fixture, PILOTLIGHT_SYMBOL_BOUNDARIES);
	boundaries[3].frame = 5; /* one too many */
	boundaries[4].frame = UINT32_MAX;
	rows = symbol_file_fixture_contents(&fixture, PILOTLIGHT_SYMBOL_ROWS);
	rows[0].place_high = UINT32_MAX;
	rows[0].place_low = UINT32_MAX;
	paths = symbol_file_fixture_contents(&fixture, PILOTLIGHT_SYMBOL_FILES);
	paths[2] = UINT32_MAX;
	assert_int_equal(open_sealed(&file), 0);

	assert_int_equal(symbol_file_find_chain(file, BASE, lines, 8), 1);
	assert_string_equal(lines[0].function, "main");
	assert_string_equal(lines[0].place.file, "");
	assert_int_equal(lines[0].place.line, 0xffffff);
	assert_int_equal(lines[0].place.column, 0xffff);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x10, lines, 8), 1);
	assert_string_equal(lines[0].function, "");
	assert_string_equal(lines[0].place.file, "");
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x20, lines, 8), 1);
	assert_string_equal(lines[0].function, "outer");
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x30, lines, 8), 1);
	assert_string_equal(lines[0].function, "");
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x40, lines, 8), 0);
	assert_int_equal(symbol_file_frame_parent(file, 0, &call), 0);
	assert_int_equal(call, 0);
	assert_int_equal(symbol_file_frame_parent(file, 5, NULL), 0);
	assert_int_equal(symbol_file_frame_parent(file, UINT32_MAX, &call), 0);
	assert_string_equal(symbol_file_frame_name(file, 0), "");
	assert_string_equal(symbol_file_frame_name(file, UINT32_MAX), "");
}

static void wrong_indexes_stay_in_bounds(void **state)
{
	static const uint32_t lies[] = { 0, 1, 3, 6, 7, 8, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lies); j++) {
			_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
			uint32_t *index;
			size_t count;

			build();
			index = symbol_file_fixture_contents(
				&fixture, PILOTLIGHT_SYMBOL_BOUNDARY_INDEX);
			count = symbol_file_fixture_section(
					&fixture, PILOTLIGHT_SYMBOL_BOUNDARY_INDEX)
					->bytes /
				4;
			for (size_t k = 0; k < count; k++)
				index[k] = lies[k % 2 ? i : j];
			assert_int_equal(open_sealed(&file), 0);
			for (uint32_t offset = 0; offset < 0x100; offset++) {
				uint64_t vaddr = BASE + offset;
				uint32_t frame;

				symbol_file_find(file, &vaddr, 1, &frame, NULL);
				assert_in_range(frame, 0, 4);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_damaged_byte_is_detected),
		cmocka_unit_test(every_truncation_is_detected),
		cmocka_unit_test(invalid_headers_are_refused),
		cmocka_unit_test(invalid_sections_are_refused),
		cmocka_unit_test(unwind_sections_need_the_right_entry_size),
		cmocka_unit_test(overlapping_sections_are_refused),
		cmocka_unit_test(segments_are_bounded),
		cmocka_unit_test(unmappable_files_are_errors),
		cmocka_unit_test(wrong_ids_stay_in_bounds),
		cmocka_unit_test(wrong_indexes_stay_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

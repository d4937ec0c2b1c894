/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_builder.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/symbol_model.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { BASE = 0x400000, HOLE = BASE + 0x400, CODE_END = BASE + 0x800, MACHINE = 62 };

static const struct symbol_builder_code code = {
	.segments = { { .vaddr = HOLE + 0x100, .memory_bytes = 0x300, .offset = 0x500 },
		{ .vaddr = BASE, .memory_bytes = 0x400, .file_bytes = 0x400 } },
	.segment_count = 2,
};

static const struct symbol_identity identity = {
	.kind = PILOTLIGHT_SYMBOL_BUILD_ID,
	.id = { .bytes = { 1, 2, 3, 4 }, .size = 4 },
};

struct fixture {
	struct scratch_fixture scratch;
	struct symbol_builder *builder;
	int output_fd;
};

static int init(struct fixture *fixture)
{
	*fixture = (struct fixture){ .output_fd = memfd_create("output", MFD_CLOEXEC) };
	if (!scratch_fixture_init(&fixture->scratch, 1ULL << 30) || fixture->output_fd < 0)
		return -1;
	return symbol_builder_new(&code, &fixture->scratch.scratch, &fixture->builder);
}

static void done(struct fixture *fixture)
{
	symbol_builder_free(fixture->builder);
	scratch_fixture_done(&fixture->scratch);
	closep(&fixture->output_fd);
}

static int set_up(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	return init(&fixture);
}

static int tear_down(void **state)
{
	done(*state);
	return 0;
}

static int write_file(struct fixture *fixture)
{
	return symbol_builder_write(fixture->builder, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY,
		MACHINE, "/usr/bin/program", fixture->output_fd);
}

static struct symbol_file *finish(struct fixture *fixture)
{
	struct symbol_file *file = NULL;

	assert_int_equal(write_file(fixture), 0);
	assert_int_equal(symbol_file_open(fixture->output_fd, &file), 0);
	return file;
}

static int add_name(struct symbol_builder *builder, const char *name, uint32_t *ret_name)
{
	return symbol_builder_add_name(builder, name, strlen(name), ret_name);
}

/* main() at BASE+0x10, with a call of add() in it and a piece of its own that is called main.cold;
 * a row for each; and a function that has but a symbol. Stops at the first error. */
static int add_program(struct symbol_builder *builder)
{
	uint32_t names[4], file = 0, function = 0, call = 0;
	int r = add_name(builder, "main", &names[0]);

	if (r == 0)
		r = add_name(builder, "_Z3addii", &names[1]);
	if (r == 0)
		r = add_name(builder, "main.cold", &names[2]);
	if (r == 0)
		r = add_name(builder, "_start", &names[3]);
	if (r == 0)
		r = symbol_builder_add_file(builder, "/src/a.c", 8, &file);
	if (r == 0)
		r = symbol_builder_begin_function(builder, names[0], &function);
	if (r == 0)
		r = symbol_builder_add_range(builder, function, BASE + 0x10, BASE + 0x40);
	if (r == 0)
		r = symbol_builder_add_range(builder, function, BASE + 0x80, BASE + 0x90);
	if (r == 0)
		r = symbol_builder_add_inlined(
			builder, function, names[1], symbol_place_pack(file, 7, 3), &call);
	if (r == 0)
		r = symbol_builder_add_range(builder, call, BASE + 0x20, BASE + 0x30);
	if (r == 0)
		r = symbol_builder_add_range(builder, call, BASE + 0x88, BASE + 0x90);
	if (r == 0)
		r = symbol_builder_end_function(builder);
	if (r == 0)
		r = symbol_builder_add_row(builder, BASE + 0x10, symbol_place_pack(file, 5, 1));
	if (r == 0)
		r = symbol_builder_add_row(builder, BASE + 0x20, symbol_place_pack(file, 2, 9));
	if (r == 0)
		r = symbol_builder_end_sequence(builder, BASE + 0x30);
	if (r == 0)
		r = symbol_builder_add_symbol(builder, BASE + 0x10, BASE + 0x40, names[0], false);
	if (r == 0)
		r = symbol_builder_add_symbol(builder, BASE + 0x80, BASE + 0x90, names[2], false);
	if (r == 0)
		r = symbol_builder_add_symbol(builder, HOLE + 0x100, HOLE + 0x120, names[3], true);
	return r;
}

static void assert_line(const struct symbol_line *line, const char *function, const char *file,
	uint32_t number, uint32_t column)
{
	assert_string_equal(line->function, function);
	assert_string_equal(line->place.file, file);
	assert_int_equal(line->place.line, number);
	assert_int_equal(line->place.column, column);
}

static void a_program_is_found_again(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_line lines[4];

	assert_int_equal(add_program(fixture->builder), 0);
	file = finish(fixture);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x2f, lines, 4), 2);
	assert_line(&lines[0], "add(int, int)", "/src/a.c", 2, 9);
	assert_line(&lines[1], "main", "/src/a.c", 7, 3);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x1f, lines, 4), 1);
	assert_line(&lines[0], "main", "/src/a.c", 5, 1);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x30, lines, 4), 1);
	assert_line(&lines[0], "main", "", 0, 0);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x8f, lines, 4), 2);
	assert_line(&lines[0], "add(int, int)", "", 0, 0);
	assert_line(&lines[1], "main.cold", "/src/a.c", 7, 3);
	assert_int_equal(symbol_file_find_chain(file, HOLE + 0x100, lines, 4), 1);
	assert_line(&lines[0], "_start", "", 0, 0);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0xf, lines, 4), 0);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x40, lines, 4), 0);
	assert_int_equal(symbol_file_find_chain(file, HOLE + 0x120, lines, 4), 0);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES), 6);
}

static void the_header_tells_what_was_met(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_builder *builder = fixture->builder;
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_symbol_header *header;
	uint32_t frame;

	assert_int_equal(add_program(builder), 0);
	assert_int_equal(symbol_builder_begin_function(builder, 0, &frame), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, 0, 0x20), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, UINT64_MAX, 0x1f), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, BASE, BASE), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, HOLE - 1, HOLE + 1), 0);
	assert_int_equal(symbol_builder_end_function(builder), 0);
	assert_int_equal(symbol_builder_add_row(builder, 0, 1), 0);
	assert_int_equal(symbol_builder_end_sequence(builder, 8), 0);
	assert_int_equal(symbol_builder_add_row(builder, HOLE + 8, 1), 0);
	assert_int_equal(symbol_builder_end_sequence(builder, HOLE + 12), 0);
	assert_int_equal(symbol_builder_add_symbol(builder, HOLE, HOLE + 1, 1, false), 0);
	symbol_builder_count_loss(builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
	symbol_builder_count_loss(builder, SYMBOL_LOSS_NAME, -ENOEXEC);
	symbol_builder_count_loss(builder, SYMBOL_LOSS_NAME, -ENOEXEC);
	for (int i = 0; i < 5; i++)
		symbol_builder_count_loss(builder, SYMBOL_LOSS_SYMBOLS, -ENOEXEC);
	symbol_builder_add_contents(builder, PILOTLIGHT_SYMBOL_HAS_DYNSYM);
	symbol_builder_add_contents(builder, PILOTLIGHT_SYMBOL_HAS_DWARF);

	file = finish(fixture);
	header = symbol_file_header(file);
	/* Of the function and of the lines in a hole; what is at 0 and -1 was discarded. */
	assert_int_equal(header->ranges_outside, 2);
	assert_int_equal(header->units_failed, 1);
	assert_int_equal(header->names_failed, 2);
	assert_int_equal(header->symbols_failed, 5);
	assert_int_equal(
		header->contents, PILOTLIGHT_SYMBOL_HAS_DYNSYM | PILOTLIGHT_SYMBOL_HAS_DWARF);
	assert_int_equal(header->machine, MACHINE);
	assert_int_equal(header->base_vaddr, BASE);
	assert_int_equal(header->rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS), 2);
	assert_int_equal(((const struct pilotlight_symbol_segment *)symbol_file_entries(
				 file, PILOTLIGHT_SYMBOL_SEGMENTS))[0]
				 .vaddr,
		BASE);
	assert_int_equal(symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES), 6);
}

/* Random programs, of which the model knows what is where. */
static int tell_function(struct symbol_model *model, struct symbol_builder *builder)
{
	uint64_t start = BASE + (uint64_t)random() % 0x700;
	size_t name;
	char text[32];
	int r;

	(void)snprintf(text, sizeof(text), "function %ld", random() % 20);
	r = model_add_name(model, builder, text, strlen(text), &name);
	if (r == 0)
		r = model_begin_function(model, builder, name);
	for (int i = 0; r == 0 && i < 1 + random() % 2; i++)
		r = model_add_range(model, builder, 0, start, start + (uint64_t)random() % 0x100);
	for (int i = 0; r == 0 && i < random() % 8; i++) {
		(void)snprintf(text, sizeof(text), "_Z%d%cv", 1, (char)('a' + random() % 20));
		r = model_add_name(model, builder, text, strlen(text), &name);
		if (r == 0)
			r = model_add_inlined(
				model, builder, (size_t)random(), name, (uint64_t)random());
		for (int j = 0; r == 0 && j < random() % 3; j++) {
			uint64_t from = start + (uint64_t)random() % 0x80;

			r = model_add_range(model, builder, (size_t)random(), from,
				from + (uint64_t)random() % 0x40);
		}
	}
	return r < 0 ? r : model_end_function(model, builder);
}

static int tell_lines(struct symbol_model *model, struct symbol_builder *builder)
{
	uint64_t vaddr = BASE + (uint64_t)random() % 0x700;
	int r = 0;

	for (int i = 0; r == 0 && i < random() % 20; i++) {
		vaddr += (uint64_t)random() % 9 - (random() % 16 == 0 ? 20 : 0);
		r = model_add_row(model, builder, vaddr,
			random() % 8 == 0 ? 0 : symbol_place_pack(1, (uint32_t)random() % 5, 1));
	}
	return r < 0 ? r : model_end_sequence(model, builder, vaddr + (uint64_t)random() % 9);
}

static int tell_symbols(struct symbol_model *model, struct symbol_builder *builder)
{
	uint64_t vaddr = BASE - 10;
	char text[32];
	size_t name;
	int r = 0;

	while (r == 0 && vaddr < CODE_END) {
		uint64_t end = vaddr + (uint64_t)random() % 0x80;

		(void)snprintf(text, sizeof(text), "function %ld", random() % 20);
		r = model_add_name(model, builder, text, strlen(text), &name);
		if (r == 0)
			r = model_add_symbol(model, builder, vaddr, end, name, random() % 3 == 0);
		vaddr = end + (random() % 2 ? (uint64_t)random() % 0x40 : 0);
	}
	return r;
}

static void random_programs_are_what_the_model_says(void **state)
{
	static struct symbol_model model;

	srandom(1);
	for (int round = 0; round < 60; round++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		struct fixture fixture;
		uint32_t path;

		assert_int_equal(init(&fixture), 0);
		model_init(&model, &code);
		assert_int_equal(
			model_add_file(&model, fixture.builder, "/src/main.c", 11, &path), 0);
		for (int i = 0; i < 20; i++)
			assert_int_equal(tell_function(&model, fixture.builder), 0);
		for (int i = 0; i < 15; i++)
			assert_int_equal(tell_lines(&model, fixture.builder), 0);
		if (round % 4 != 0)
			assert_int_equal(tell_symbols(&model, fixture.builder), 0);
		file = finish(&fixture);
		model_check(&model, file, BASE - 8, CODE_END + 8);
		done(&fixture);
	}
}

static void equal_programs_make_equal_files(void **state)
{
	uint8_t bytes[2][8192];
	ssize_t sizes[2];

	for (size_t i = 0; i < 2; i++) {
		struct pilotlight_symbol_header *header = (void *)bytes[i];
		struct fixture fixture;

		assert_int_equal(init(&fixture), 0);
		assert_int_equal(add_program(fixture.builder), 0);
		assert_int_equal(write_file(&fixture), 0);
		sizes[i] = pread(fixture.output_fd, bytes[i], sizeof(bytes[i]), 0);
		assert_true(sizes[i] > (ssize_t)sizeof(*header));
		assert_true(sizes[i] < (ssize_t)sizeof(bytes[i]));
		header->created_s = header->header_hash = 0;
		done(&fixture);
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(bytes[0], bytes[1], (size_t)sizes[0]);
}

static void of_nothing_no_file_is_made(void **state)
{
	struct fixture *fixture = *state;
	uint32_t name, frame;
	struct stat status;

	assert_int_equal(add_name(fixture->builder, "main", &name), 0);
	assert_int_equal(symbol_builder_begin_function(fixture->builder, name, &frame), 0);
	assert_int_equal(symbol_builder_end_function(fixture->builder), 0);
	assert_int_equal(
		symbol_builder_add_symbol(fixture->builder, HOLE, HOLE + 8, name, false), 0);
	assert_int_equal(write_file(fixture), -ENODATA);
	assert_int_equal(fstat(fixture->output_fd, &status), 0);
	assert_int_equal(status.st_size, 0);
}

static void one_source_of_names_is_enough(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		struct fixture fixture;
		struct symbol_builder *builder;
		struct symbol_line line;
		uint32_t name, frame;

		assert_int_equal(init(&fixture), 0);
		builder = fixture.builder;
		assert_int_equal(add_name(builder, "main", &name), 0);
		if (kind == 0) {
			assert_int_equal(symbol_builder_begin_function(builder, name, &frame), 0);
			assert_int_equal(
				symbol_builder_add_range(builder, frame, BASE, BASE + 0x400), 0);
			assert_int_equal(symbol_builder_end_function(builder), 0);
		} else if (kind == 1) {
			assert_int_equal(
				symbol_builder_add_row(builder, BASE, symbol_place_pack(0, 4, 2)),
				0);
			assert_int_equal(symbol_builder_end_sequence(builder, CODE_END), 0);
		} else {
			assert_int_equal(
				symbol_builder_add_symbol(builder, BASE, UINT64_MAX, name, true),
				0);
		}
		file = finish(&fixture);
		assert_int_equal(symbol_file_find_chain(file, BASE + 0x3ff, &line, 1), 1);
		assert_line(
			&line, kind == 1 ? "" : "main", "", kind == 1 ? 4 : 0, kind == 1 ? 2 : 0);
		assert_int_equal(symbol_file_find_chain(file, HOLE, &line, 1), 0);
		done(&fixture);
	}
}

static void a_chain_may_be_very_long(void **state)
{
	enum { DEPTH = 300000 };
	struct fixture *fixture = *state;
	struct symbol_builder *builder = fixture->builder;
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	_cleanup_free_ struct symbol_line *lines = calloc(DEPTH + 2, sizeof(*lines));
	uint32_t names[3], frame;

	assert_non_null(lines);
	assert_int_equal(add_name(builder, "main", &names[0]), 0);
	assert_int_equal(add_name(builder, "call", &names[1]), 0);
	assert_int_equal(add_name(builder, "main.cold", &names[2]), 0);
	assert_int_equal(symbol_builder_begin_function(builder, names[0], &frame), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, BASE, BASE + 0x10), 0);
	for (uint32_t i = 0; i < DEPTH; i++) {
		assert_int_equal(
			symbol_builder_add_inlined(builder, frame, names[1], i, &frame), 0);
		assert_int_equal(symbol_builder_add_range(builder, frame, BASE, BASE + 8), 0);
	}
	assert_int_equal(symbol_builder_end_function(builder), 0);
	assert_int_equal(symbol_builder_add_symbol(builder, BASE, BASE + 4, names[2], false), 0);
	file = finish(fixture);
	assert_int_equal(symbol_file_find_chain(file, BASE + 3, lines, DEPTH + 2), DEPTH + 1);
	assert_string_equal(lines[DEPTH].function, "main.cold");
	assert_int_equal(symbol_file_find_chain(file, BASE + 4, lines, DEPTH + 2), DEPTH + 1);
	assert_string_equal(lines[DEPTH].function, "main");
	assert_string_equal(lines[DEPTH - 1].function, "call");
}

/* A name for each byte of code with a long chain. */
static void copies_that_are_refused_are_counted(void **state)
{
	enum { DEPTH = 100000 };
	struct fixture *fixture = *state;
	struct symbol_builder *builder = fixture->builder;
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	uint32_t name, frame, call;
	struct symbol_line line;
	char text[32];

	assert_int_equal(add_name(builder, "main", &name), 0);
	assert_int_equal(symbol_builder_begin_function(builder, name, &frame), 0);
	assert_int_equal(symbol_builder_add_range(builder, frame, BASE, BASE + 0x400), 0);
	call = frame;
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_int_equal(symbol_builder_add_inlined(builder, call, name, i, &call), 0);
	assert_int_equal(symbol_builder_add_range(builder, call, BASE, BASE + 0x400), 0);
	assert_int_equal(symbol_builder_end_function(builder), 0);
	for (uint64_t i = 0; i < 0x400; i++) {
		(void)snprintf(text, sizeof(text), "symbol %u", (unsigned int)i);
		assert_int_equal(add_name(builder, text, &name), 0);
		assert_int_equal(
			symbol_builder_add_symbol(builder, BASE + i, BASE + i + 1, name, false), 0);
	}
	file = finish(fixture);
	assert_int_equal(symbol_file_header(file)->names_failed, 0x400 - 2);
	assert_int_equal(symbol_file_find_chain(file, BASE + 0x3ff, &line, 1), 1);
	assert_string_equal(line.function, "main");
}

static void ranges_outside_code_are_refused(void **state)
{
	const struct symbol_builder_code nothing = { 0 };
	const struct symbol_builder_code huge = {
		.segments = { { .vaddr = 0, .memory_bytes = 1ULL << 32 } },
		.segment_count = 1,
	};
	struct scratch_fixture scratch;
	struct symbol_builder *builder = NULL;

	assert_true(scratch_fixture_init(&scratch, 1 << 20));
	assert_int_equal(symbol_builder_new(&nothing, &scratch.scratch, &builder), -ENODATA);
	assert_int_equal(symbol_builder_new(&huge, &scratch.scratch, &builder), -EFBIG);
	assert_null(builder);
	symbol_builder_free(NULL);
	scratch_fixture_done(&scratch);
}

static int build(struct scratch *scratch, int output_fd)
{
	_cleanup_(symbol_builder_freep) struct symbol_builder *builder = NULL;
	int r = symbol_builder_new(&code, scratch, &builder);

	if (r == 0)
		r = add_program(builder);
	if (r == 0)
		r = symbol_builder_write(
			builder, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, MACHINE, "", output_fd);
	return r;
}

/* Whichever array is the one that finds no room. */
static void a_full_scratch_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	int r = -EFBIG;

	for (uint64_t limit = 0; r != 0; limit += 65536) {
		struct scratch_fixture scratch;

		assert_true(limit < 4 << 20);
		assert_true(scratch_fixture_init(&scratch, limit));
		r = build(&scratch.scratch, fixture->output_fd);
		assert_true(r == 0 || r == -EFBIG);
		assert_true(scratch.scratch.used_bytes <= limit);
		scratch_fixture_done(&scratch);
	}
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture *fixture = *state;
	size_t n, failed = 0;
	int r;

	for (n = 0;; n++) {
		struct scratch_fixture scratch;

		assert_true(scratch_fixture_init(&scratch, 64 << 20));
		fail_allocation(n);
		r = build(&scratch.scratch, fixture->output_fd);
		scratch_fixture_done(&scratch);
		if (!allocation_failed())
			break;
		/* A name that there is no memory to demangle is kept as it is. */
		assert_true(r == -ENOMEM || r == 0);
		failed += r == -ENOMEM;
	}
	assert_int_equal(r, 0);
	assert_true(failed >= 5);
}

static void a_full_disk_is_an_error(void **state)
{
	_cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct fixture *fixture = *state;

	if (full < 0) {
		print_message("there is no /dev/full\n");
		skip();
	}
	assert_int_equal(build(&fixture->scratch.scratch, full), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_program_is_found_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_header_tells_what_was_met, set_up, tear_down),
		cmocka_unit_test(random_programs_are_what_the_model_says),
		cmocka_unit_test(equal_programs_make_equal_files),
		cmocka_unit_test_setup_teardown(of_nothing_no_file_is_made, set_up, tear_down),
		cmocka_unit_test(one_source_of_names_is_enough),
		cmocka_unit_test_setup_teardown(a_chain_may_be_very_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			copies_that_are_refused_are_counted, set_up, tear_down),
		cmocka_unit_test(ranges_outside_code_are_refused),
		cmocka_unit_test_setup_teardown(a_full_scratch_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

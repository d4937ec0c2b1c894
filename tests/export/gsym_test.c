/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader is llvm-gsymutil, which we did not write; what it prints is compared line by line. */
#include "base/array.h"
#include "export/gsym.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	BASE = SYMBOL_FILE_FIXTURE_BASE,
	CODE_BYTES = 0x2000,
	CHAIN_MAX = 300,
	LIMIT = 4 << 20,
};

static struct symbol_file_fixture fixture;

static void fill(void)
{
	fixture = (struct symbol_file_fixture){ .identity = { 0xab, 0xcd, 0xef, 4, 5 } };
	symbol_file_fixture_fill(&fixture);
}

static struct symbol_file *open_built(void)
{
	struct symbol_file *file = NULL;
	_cleanup_close_ int fd = -1;

	symbol_file_fixture_build(&fixture);
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	return file;
}

static int write_to_memory(const struct symbol_file *file, struct output_memory *memory)
{
	static struct output output;
	int r, finished;

	*memory = (struct output_memory){ .limit_bytes = LIMIT };
	output_init(&output, output_to_memory, memory);
	r = gsym_write(file, &output);
	finished = output_finish(&output);
	assert_int_equal(finished, 0);
	return r;
}

/* NULL: there is none. */
static const char *find_reader(void)
{
	static const char *const programs[] = { "llvm-gsymutil", "llvm-gsymutil-19",
		"llvm-gsymutil-18", "llvm-gsymutil-17", "llvm-gsymutil-16", "llvm-gsymutil-15",
		"llvm-gsymutil-14" };
	char command[128];

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		(void)snprintf(
			command, sizeof(command), "command -v %s >/dev/null 2>&1", programs[i]);
		if (system(command) == 0)
			return programs[i];
	}
	return NULL;
}

/* `name + 5 @ file:7 [inlined]` without the offset and the mark, as a lookup would have it. */
static void simplify(char *line)
{
	char *mark = strstr(line, " [inlined]");
	char *place = strstr(line, " @ ");
	char *plus = strstr(line, " + ");

	line[strcspn(line, "\n")] = '\0';
	if (mark)
		*mark = '\0';
	if (plus && place)
		memmove(plus, place, strlen(place) + 1);
	else if (plus)
		*plus = '\0';
}

static void expect_line(FILE *answers, const struct symbol_line *line)
{
	char text[256], wanted[256];

	assert_non_null(fgets(text, sizeof(text), answers));
	simplify(text);
	if (line->place.file[0] != '\0')
		(void)snprintf(wanted, sizeof(wanted), "%s @ %s:%u", line->function,
			line->place.file, line->place.line);
	else
		(void)snprintf(wanted, sizeof(wanted), "%s", line->function);
	assert_string_equal(text + strspn(text, " "), wanted + strspn(wanted, " "));
}

/* One answer: the address, a link of the chain on each line, an empty line. */
static void expect_answer(FILE *answers, const struct symbol_file *file, uint64_t vaddr)
{
	static struct symbol_line lines[CHAIN_MAX];
	size_t count = symbol_file_find_chain(file, vaddr, lines, CHAIN_MAX);
	uint64_t answered;
	uint32_t frame;
	char text[256];

	symbol_file_find(file, &vaddr, 1, &frame, NULL);
	assert_int_equal(fscanf(answers, "%" SCNx64 ":", &answered), 1);
	assert_int_equal(answered, vaddr);
	if (frame == 0) {
		assert_non_null(fgets(text, sizeof(text), answers));
		assert_non_null(strstr(text, "is not in GSYM"));
		count = 0;
	}
	for (size_t i = 0; i < count; i++)
		expect_line(answers, &lines[i]);
	assert_non_null(fgets(text, sizeof(text), answers));
	assert_string_equal(text, "\n");
}

static void put(const char *path, const void *bytes, size_t size)
{
	_cleanup_fclose_ FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
}

/* Asks for every byte of the code and some around it. */
static void assert_reader_agrees(const char *reader, const struct symbol_file *file)
{
	char folder[] = "/tmp/gsym_test.XXXXXX", gsym[64], addresses[64], command[256];
	struct output_memory memory, list = { .limit_bytes = LIMIT };
	static struct output output;
	FILE *answers;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(gsym, sizeof(gsym), "%s/gsym", folder);
	(void)snprintf(addresses, sizeof(addresses), "%s/addresses", folder);
	assert_int_equal(write_to_memory(file, &memory), 0);
	put(gsym, memory.bytes, memory.size);
	free(memory.bytes);
	output_init(&output, output_to_memory, &list);
	for (uint64_t vaddr = BASE - 2; vaddr < BASE + CODE_BYTES + 2; vaddr++)
		output_printf(&output, "0x%" PRIx64 " %s\n", vaddr, gsym);
	assert_int_equal(output_finish(&output), 0);
	put(addresses, list.bytes, list.size);
	free(list.bytes);

	(void)snprintf(
		command, sizeof(command), "%s --addresses-from-stdin <%s", reader, addresses);
	answers = popen(command, "re");
	assert_non_null(answers);
	for (uint64_t vaddr = BASE - 2; vaddr < BASE + CODE_BYTES + 2; vaddr++)
		expect_answer(answers, file, vaddr);
	assert_int_equal(pclose(answers), 0);
	(void)unlink(gsym);
	(void)unlink(addresses);
	(void)rmdir(folder);
}

static void reader_finds_what_we_find(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const char *reader = find_reader();

	(void)state;
	if (!reader) {
		print_message("no llvm-gsymutil here\n");
		skip();
	}
	fill();
	file = open_built();
	assert_reader_agrees(reader, file);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33) % below;
}

/* Functions of some hundred bytes with calls inlined several deep, in pieces, with and without
 * lines; some names, files and lines are unknown. */
static void fill_random(uint64_t seed)
{
	enum { FRAMES = 150, BOUNDARIES = 700, ROWS = 1200 };
	static struct symbol_file_fixture_frame frames[FRAMES];
	static struct pilotlight_symbol_boundary boundaries[BOUNDARIES];
	static struct pilotlight_symbol_row rows[ROWS];
	static char names[FRAMES][16];
	uint32_t offset = 0;

	fill();
	for (uint32_t i = 0; i < FRAMES; i++) {
		uint32_t near = i < 8 ? i : 8;
		bool is_inlined = near > 0 && draw(&seed, 5) > 0;

		(void)snprintf(names[i], sizeof(names[i]), "f%u", draw(&seed, 60));
		frames[i] = (struct symbol_file_fixture_frame){
			.parent = is_inlined ? i - draw(&seed, near) : 0,
			.name = draw(&seed, 40) > 0 ? names[i] : "",
			.call = is_inlined ? symbol_place_pack(draw(&seed, 7), draw(&seed, 2000), 3)
					   : 0,
		};
	}
	for (uint32_t i = 0; i < BOUNDARIES; i++) {
		uint32_t frame = i * FRAMES / BOUNDARIES + draw(&seed, 9);

		boundaries[i].offset = offset;
		boundaries[i].frame = draw(&seed, 30) > 0 && frame <= FRAMES ? frame : 0;
		offset += 1 + draw(&seed, 20);
	}
	offset = draw(&seed, 100);
	for (uint32_t i = 0; i < ROWS; i++) {
		rows[i] = symbol_file_fixture_row(offset, draw(&seed, 6),
			draw(&seed, 8) > 0 ? 300 + draw(&seed, 20) : draw(&seed, 1 << 24),
			draw(&seed, 90));
		offset += 1 + draw(&seed, 10) * draw(&seed, 3);
	}
	fixture.frames = frames;
	fixture.frame_count = FRAMES;
	fixture.boundaries = boundaries;
	fixture.boundary_count = BOUNDARIES;
	fixture.rows = rows;
	fixture.row_count = draw(&seed, 4) > 0 ? ROWS : 0;
	fixture.boundary_shift = fixture.row_shift = 6;
}

static void reader_finds_what_we_find_in_anything(void **state)
{
	const char *reader = find_reader();

	(void)state;
	if (!reader) {
		print_message("no llvm-gsymutil here\n");
		skip();
	}
	for (uint64_t seed = 1; seed <= 8; seed++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

		fill_random(seed);
		file = open_built();
		assert_reader_agrees(reader, file);
	}
}

static void header_tells_of_the_binary(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	static const uint8_t wanted[] = { 'M', 'Y', 'S', 'G', 1, 0, 4, 5, 0, 0x10, 0x40, 0, 0, 0, 0,
		0, 2, 0, 0, 0 };
	struct output_memory memory;

	(void)state;
	fill();
	fixture.identity_bytes = 5;
	file = open_built();
	assert_int_equal(write_to_memory(file, &memory), 0);
	assert_true(memory.size > 48);
	assert_memory_equal(memory.bytes, wanted, sizeof(wanted));
	assert_memory_equal(memory.bytes + 28, fixture.identity, 20);
	free(memory.bytes);
}

static void nothing_is_not_written(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *negative = NULL, *lines = NULL;
	struct output_memory memory;

	(void)state;
	fixture = (struct symbol_file_fixture){ .failure = PILOTLIGHT_SYMBOL_NOTHING };
	negative = open_built();
	assert_int_equal(write_to_memory(negative, &memory), -ENODATA);
	assert_int_equal(memory.size, 0);
	/* A line without a function has no place in the format. */
	fill();
	fixture.boundary_count = 0;
	lines = open_built();
	assert_int_equal(write_to_memory(lines, &memory), -ENODATA);
	assert_int_equal(memory.size, 0);
}

/* The file of `depth` calls within each other, of which the code is in the innermost. */
static void write_nested(uint32_t depth, struct output_memory *memory)
{
	static struct symbol_file_fixture_frame frames[GSYM_DEPTH_MAX + 50];
	const struct pilotlight_symbol_boundary boundaries[] = { { 0, depth + 1 }, { 0x80, 0 } };
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	fill();
	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = (struct symbol_file_fixture_frame){ i, "f",
			i > 0 ? symbol_place_pack(1, i, 0) : 0 };
	fixture.frames = frames;
	fixture.frame_count = ARRAY_SIZE(frames);
	fixture.boundaries = boundaries;
	fixture.boundary_count = ARRAY_SIZE(boundaries);
	file = open_built();
	assert_int_equal(write_to_memory(file, memory), 0);
}

static void too_deep_calls_are_their_callers(void **state)
{
	struct output_memory less, deepest, deeper;

	(void)state;
	write_nested(GSYM_DEPTH_MAX - 1, &less);
	write_nested(GSYM_DEPTH_MAX, &deepest);
	write_nested(GSYM_DEPTH_MAX + 40, &deeper);
	assert_true(less.size < deepest.size);
	assert_int_equal(deepest.size, deeper.size);
	assert_memory_equal(deepest.bytes, deeper.bytes, deeper.size);
	free(less.bytes);
	free(deepest.bytes);
	free(deeper.bytes);
}

/* The last function ends with its segment, or where offsets do. */
static void last_function_has_an_end(void **state)
{
	static const struct pilotlight_symbol_segment overflowing = { 0, BASE, 1, UINT64_MAX };
	static const struct pilotlight_symbol_boundary boundary = { 0x10, 1 };
	static const struct {
		size_t segments, sizes;
	} cases[] = { { 1, 0xf0 }, { 0, UINT32_MAX - 0x10 }, { 2, UINT32_MAX - 0x10 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		struct output_memory memory;
		uint32_t info, size;

		fill();
		fixture.boundaries = &boundary;
		fixture.boundary_count = 1;
		fixture.segment_count = cases[i].segments > 0;
		if (cases[i].segments == 2)
			fixture.segments = &overflowing;
		file = open_built();
		assert_int_equal(write_to_memory(file, &memory), 0);
		memcpy(&info, memory.bytes + 48 + 4, sizeof(info));
		assert_int_equal(info % 4, 0);
		memcpy(&size, memory.bytes + info, sizeof(size));
		assert_int_equal(size, cases[i].sizes);
		free(memory.bytes);
	}
}

static void tables_out_of_order_are_refused(void **state)
{
	static const uint32_t sections[] = { PILOTLIGHT_SYMBOL_BOUNDARIES, PILOTLIGHT_SYMBOL_ROWS };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		_cleanup_close_ int fd = -1;
		struct output_memory memory;
		uint32_t *words;

		fill();
		symbol_file_fixture_build(&fixture);
		words = symbol_file_fixture_contents(&fixture, sections[i]);
		words[0] = words[i == 0 ? 2 : 3]; /* the second entry's offset */
		symbol_file_fixture_finish(&fixture);
		fd = symbol_file_fixture_fd(&fixture);
		assert_int_equal(symbol_file_open(fd, &file), 0);
		assert_int_equal(write_to_memory(file, &memory), -EBADMSG);
		assert_int_equal(memory.size, 0);
	}
}

/* Two deep chains by turns: each boundary ends and begins all of their calls. */
static void calls_that_change_too_often_are_refused(void **state)
{
	enum { DEPTH = 200, BOUNDARIES = 1000 };
	static struct symbol_file_fixture_frame frames[1 + 2 * DEPTH];
	static struct pilotlight_symbol_boundary boundaries[BOUNDARIES];
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct output_memory memory;

	(void)state;
	fill();
	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = (struct symbol_file_fixture_frame){ .parent = i == DEPTH + 1 ? 1 : i,
			.name = "f" };
	for (uint32_t i = 0; i < BOUNDARIES; i++)
		boundaries[i] =
			(struct pilotlight_symbol_boundary){ i, i % 2 ? 1 + DEPTH : 1 + 2 * DEPTH };
	fixture.frames = frames;
	fixture.frame_count = ARRAY_SIZE(frames);
	fixture.boundaries = boundaries;
	fixture.boundary_count = BOUNDARIES;
	file = open_built();
	assert_int_equal(write_to_memory(file, &memory), -EFBIG);
	assert_int_equal(memory.size, 0);
}

static int refuse(void *context, const void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return -ENOSPC;
}

static void errors_of_the_output_are_returned(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	static struct output output;
	static char long_name[20000];
	static struct symbol_file_fixture_frame frames[3];

	(void)state;
	fill();
	/* More than the buffer takes, or the error would come with the flush. */
	memset(long_name, 'x', sizeof(long_name) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i].name = long_name;
	fixture.frames = frames;
	fixture.frame_count = ARRAY_SIZE(frames);
	file = open_built();
	output_init(&output, refuse, NULL);
	output.used = OUTPUT_BUFFER_BYTES - 100;
	assert_int_equal(gsym_write(file, &output), -ENOSPC);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	static struct output output;
	struct output_memory memory;
	size_t n;
	int r;

	(void)state;
	fill();
	file = open_built();
	for (n = 0;; n++) {
		memory = (struct output_memory){ .limit_bytes = LIMIT };
		output_init(&output, output_to_memory, &memory);
		fail_allocation(n);
		r = gsym_write(file, &output);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 6); /* frames, runs, calls, bytes, starts, offsets */
	free(memory.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_finds_what_we_find),
		cmocka_unit_test(reader_finds_what_we_find_in_anything),
		cmocka_unit_test(header_tells_of_the_binary),
		cmocka_unit_test(nothing_is_not_written),
		cmocka_unit_test(too_deep_calls_are_their_callers),
		cmocka_unit_test(last_function_has_an_end),
		cmocka_unit_test(tables_out_of_order_are_refused),
		cmocka_unit_test(calls_that_change_too_often_are_refused),
		cmocka_unit_test(errors_of_the_output_are_returned),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

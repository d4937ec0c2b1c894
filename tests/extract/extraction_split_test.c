/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extractions of small programs with split DWARF, by both compilers and of both
 * versions of DWARF. What is expected is what llvm-symbolizer says of the same code built whole.
 */
#include "tests/extract/extraction_fixture.h"

#include "tests/harness/failing_allocation.h"

#define SPLIT "tests/data/extract/split/"

enum { CODE_START = 0x2b0, CODE_END = 0x340 };

static size_t split_count; /* that may still be had */
static size_t asked;

/* Pieces are beside their programs. */
static int open_beside(void *context, const char *path, int *ret_fd)
{
	const char *name = strrchr(path, '/');
	char joined[256];

	asked++;
	assert_non_null(name);
	if (split_count == 0)
		return -ENOENT;
	split_count--;
	(void)snprintf(joined, sizeof(joined), SPLIT "%s", name + 1);
	return open_split(context, joined, ret_fd);
}

struct run {
	int binary_fd, debug_fd, package_fd, scratch_fd, output_fd;
};

static void run_done(struct run *run)
{
	closep(&run->binary_fd);
	closep(&run->debug_fd);
	closep(&run->package_fd);
	closep(&run->scratch_fd);
	closep(&run->output_fd);
}

static int extract_run(const struct run *run)
{
	const struct dwarf_split_opener split_opener = { .open = open_beside };
	const struct extraction_files files = {
		.binary_fd = run->binary_fd,
		.debug_fd = run->debug_fd,
		.alternate_fd = -1,
		.package_fd = run->package_fd,
		.scratch_fd = run->scratch_fd,
		.output_fd = run->output_fd,
		.split_opener = &split_opener,
	};

	asked = 0;
	symbol_file_free(file);
	file = NULL;
	return extraction_run(&files, &request, &report);
}

static struct run run_of(const char *name, const char *package)
{
	char path[128];

	(void)snprintf(path, sizeof(path), SPLIT "%s", name);
	return (struct run){
		.binary_fd = open_data(path),
		.debug_fd = -1,
		.package_fd = open_data(package),
		.scratch_fd = memfd_create("scratch", MFD_CLOEXEC),
		.output_fd = memfd_create("output", MFD_CLOEXEC),
	};
}

/* Extracts with at most `count` split files available. */
static void extract_split(const char *name, const char *package, size_t count)
{
	_cleanup_(run_done) struct run run = run_of(name, package);

	split_count = count;
	assert_int_equal(extract_run(&run), 0);
	assert_int_equal(symbol_file_open(run.output_fd, &file), 0);
}

static uint32_t contents(void)
{
	return symbol_file_header(file)->contents &
	       (PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
}

static const struct program {
	const char *name, *package;
	uint64_t vaddrs[3];
	const char *chains[3];
} programs[] = {
	{ "gcc4", SPLIT "gcc4.dwp", { 0x2c0, 0x2f0, 0x333 },
		{ "twice ./gcc4-a.c:4:5 < used ./gcc4-a.c:20:11",
			"twice ./gcc4-a.c:4:10 < fourfold ./gcc4-a.c:10:9 < used ./gcc4-a.c:18:11",
			"thrice ./gcc4-b.c:3:11 < other ./gcc4-b.c:7:9" } },
	{ "gcc5", SPLIT "gcc5.dwp", { 0x2c0, 0x2f0, 0x333 },
		{ "twice ././gcc5-a.c:4:5 < used ././gcc5-a.c:20:11",
			"twice ././gcc5-a.c:4:10 < fourfold ././gcc5-a.c:10:9 < "
			"used ././gcc5-a.c:18:11",
			"thrice ././gcc5-b.c:3:11 < other ././gcc5-b.c:7:9" } },
	{ "clang4", SPLIT "clang4.dwp", { 0x302, 0x302, 0x330 },
		{ "twice ./clang4-a.c:4:6 < fourfold ./clang4-a.c:10:15 < used ./clang4-a.c:18:11",
			"twice ./clang4-a.c:4:6 < fourfold ./clang4-a.c:10:15 < "
			"used ./clang4-a.c:18:11",
			"thrice ./clang4-b.c:3:11 < other ./clang4-b.c:7:9" } },
	{ "clang5", SPLIT "clang5.dwp", { 0x302, 0x302, 0x330 },
		{ "twice ././clang5-a.c:4:6 < fourfold ././clang5-a.c:10:15 < "
		  "used ././clang5-a.c:18:11",
			"twice ././clang5-a.c:4:6 < fourfold ././clang5-a.c:10:15 < "
			"used ././clang5-a.c:18:11",
			"thrice ././clang5-b.c:3:11 < other ././clang5-b.c:7:9" } },
};

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static void assert_whole(const struct program *program)
{
	for (size_t i = 0; i < 3; i++)
		assert_chain(program->vaddrs[i], program->chains[i]);
	assert_int_equal(report.units_failed, 0);
	assert_int_equal(contents(), PILOTLIGHT_SYMBOL_HAS_SPLIT);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
}

static void split_files_are_read_one_by_one(void **state)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		extract_split(programs[i].name, NULL, 2);
		assert_whole(&programs[i]);
		assert_int_equal(asked, 2);
	}
}

static void split_files_are_read_from_a_package(void **state)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		extract_split(programs[i].name, programs[i].package, 0);
		assert_whole(&programs[i]);
		assert_int_equal(asked, 0);
	}
}

static void the_package_of_another_program_leaves_the_split_files(void **state)
{
	extract_split("gcc4", SPLIT "clang5.dwp", 2);
	assert_whole(&programs[0]);
	extract_split("gcc4", SPLIT "gcc4-a.dwo", 2);
	assert_whole(&programs[0]);
	extract_split("gcc4", "tests/data/symbols_oracle/program.rs", 2);
	assert_whole(&programs[0]);
}

static void missing_split_files_are_counted_and_the_rest_is_read(void **state)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		const struct program *program = &programs[i];

		/* The first split file is used()'s. */
		extract_split(program->name, NULL, 1);
		assert_chain(program->vaddrs[0], program->chains[0]);
		assert_non_null(strstr(look_up(program->vaddrs[2]), "other ./"));
		assert_null(strstr(look_up(program->vaddrs[2]), "thrice"));
		assert_int_equal(report.units_failed, 1);
		assert_int_equal(
			contents(), PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
		/* Lines and symbols remain, and the rank by which better may come. */
		extract_split(program->name, NULL, 0);
		assert_non_null(strstr(look_up(program->vaddrs[0]), "used ./"));
		assert_null(strstr(look_up(program->vaddrs[0]), "twice"));
		assert_int_equal(report.units_failed, 2);
		assert_int_equal(contents(), PILOTLIGHT_SYMBOL_LACKS_SPLIT);
		assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	}
}

static void split_files_of_a_debug_file_are_read(void **state)
{
	_cleanup_(run_done) struct run run = run_of("gcc5", NULL);

	run.debug_fd = open_data(SPLIT "gcc5");
	split_count = 2;
	assert_int_equal(extract_run(&run), 0);
	assert_int_equal(symbol_file_open(run.output_fd, &file), 0);
	assert_chain(programs[1].vaddrs[1], programs[1].chains[1]);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_int_equal(asked, 2);
}

/* A split file truncated at any length costs its unit. */
static int open_truncated(void *context, const char *path, int *ret_fd)
{
	_cleanup_close_ int whole = -1, part = memfd_create("part", MFD_CLOEXEC);
	size_t size = *(const size_t *)context;
	char bytes[8192];
	ssize_t n;

	split_count = 1;
	if (open_beside(NULL, path, &whole) < 0)
		return -ENOENT;
	n = read(whole, bytes, sizeof(bytes));
	assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
	if ((size_t)n > size)
		n = (ssize_t)size;
	assert_int_equal(write(part, bytes, (size_t)n), n);
	*ret_fd = TAKE_FD(part);
	return 0;
}

static void truncated_split_files_cost_their_units(void **state)
{
	for (size_t size = 1; size < 1200; size += 13) {
		_cleanup_(run_done) struct run run = run_of("clang5", NULL);
		const struct dwarf_split_opener split_opener = { open_truncated, &size };
		const struct extraction_files files = {
			.binary_fd = run.binary_fd,
			.debug_fd = -1,
			.alternate_fd = -1,
			.package_fd = -1,
			.scratch_fd = run.scratch_fd,
			.output_fd = run.output_fd,
			.split_opener = &split_opener,
		};

		assert_int_equal(extraction_run(&files, &request, &report), 0);
		assert_true(report.units_failed > 0);
	}
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	for (n = 0;; n++) {
		_cleanup_(run_done) struct run run = run_of("gcc5", SPLIT "gcc5.dwp");

		split_count = 2;
		fail_allocation(n);
		r = extract_run(&run);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(split_files_are_read_one_by_one),
		TEST(split_files_are_read_from_a_package),
		TEST(the_package_of_another_program_leaves_the_split_files),
		TEST(missing_split_files_are_counted_and_the_rest_is_read),
		TEST(split_files_of_a_debug_file_are_read),
		TEST(truncated_split_files_cost_their_units),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizes programs with split DWARF files, with a real worker in its sandbox: this program is
 * its own worker.
 */
#include "symbolize/symbolizer.h"

#include "symbol/symbol_file.h"
#include "tests/symbol/symbol_cache_fixture.h"
#include "tests/symbolize/symbolizer_wait.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SPLIT "tests/data/extract/split/"

/* A folder with a program, and a cache. */
struct place {
	char root[64], program[96], cache_path[96];
	struct symbol_cache *cache;
	struct broker *broker;
	struct symbol_identity identity;
	int fd; /* of the program */
};

static bool copy(const struct place *place, const char *files)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "cp %s '%s'", files, place->root);
	return system(text) == 0;
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct fault fault = { 0 };

	assert_non_null(place);
	(void)strcpy(place->root, "/tmp/symbolizer_split_test.XXXXXX");
	assert_non_null(mkdtemp(place->root));
	assert_int_equal(chmod(place->root, 0755), 0);
	(void)snprintf(place->cache_path, sizeof(place->cache_path), "%s/cache", place->root);
	(void)snprintf(place->program, sizeof(place->program), "%s/gcc5", place->root);
	assert_true(copy(place, SPLIT "gcc5"));
	assert_int_equal(broker_new(NULL, &place->broker), 0);
	assert_int_equal(symbol_cache_open(place->cache_path, 1 << 30, &place->cache, &fault), 0);
	place->fd = open(place->program, O_RDONLY | O_CLOEXEC);
	assert_true(place->fd >= 0);
	assert_int_equal(symbol_identity_read_file(place->fd, &place->identity), 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	symbol_cache_free(place->cache);
	broker_free(place->broker);
	(void)close(place->fd);
	cache_fixture_remove_tree(place->root);
	free(place);
	return 0;
}

static struct symbolizer_counters symbolize(const struct place *place, bool is_named)
{
	const struct symbolizer_options options = {
		.cache = place->cache,
		.broker = place->broker,
		.takes_debug_files = is_named,
	};
	const struct symbol_binary binary = {
		.path = place->program, .fd = place->fd, .debug_fd = -1
	};
	struct symbolizer_counters counters;
	struct symbolizer *symbolizer;

	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
	wait_for_workers(symbolizer);
	symbolizer_counters(symbolizer, &counters);
	symbolizer_free(symbolizer);
	return counters;
}

/* Checks the entry's chain at 0x2f0: three frames if all split files exist. */
static void assert_cached(const struct place *place, size_t frames, uint32_t contents)
{
	struct symbol_line lines[8];
	struct symbol_file *file;

	assert_int_equal(symbol_cache_find(place->cache, &place->identity, &file), 0);
	assert_int_equal(symbol_file_find_chain(file, 0x2f0, lines, 8), frames);
	assert_string_equal(lines[frames - 1].function, "used");
	if (frames > 1)
		assert_string_equal(lines[0].function, "twice");
	assert_int_equal(symbol_file_header(file)->contents &
				 (PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT),
		contents);
	symbol_file_free(file);
}

static void assert_extracted(const struct place *place, bool is_named, uint64_t units_failed)
{
	struct symbolizer_counters counters = symbolize(place, is_named);

	assert_int_equal(counters.extracted, 1);
	assert_int_equal(counters.units_failed, units_failed);
}

static void worker_requests_split_files(void **state)
{
	const struct place *place = *state;

	assert_true(copy(place, SPLIT "gcc5-a.dwo " SPLIT "gcc5-b.dwo"));
	assert_extracted(place, false, 0);
	assert_cached(place, 3, PILOTLIGHT_SYMBOL_HAS_SPLIT);
	assert_int_equal(symbolize(place, true).cached, 1);
}

static void worker_gets_the_package(void **state)
{
	const struct place *place = *state;

	assert_true(copy(place, SPLIT "gcc5.dwp"));
	assert_extracted(place, false, 0);
	assert_cached(place, 3, PILOTLIGHT_SYMBOL_HAS_SPLIT);
	assert_int_equal(symbolize(place, true).cached, 1);
}

static void new_split_files_are_used_on_request(void **state)
{
	const struct place *place = *state;

	assert_extracted(place, false, 2);
	assert_cached(place, 1, PILOTLIGHT_SYMBOL_LACKS_SPLIT);
	assert_true(copy(place, SPLIT "gcc5-a.dwo"));
	/* Without a user's request they are searched again after a day. */
	assert_int_equal(symbolize(place, false).cached, 1);
	assert_extracted(place, true, 1);
	assert_cached(place, 3, PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
	assert_true(copy(place, SPLIT "gcc5-b.dwo"));
	assert_extracted(place, true, 0);
	assert_cached(place, 3, PILOTLIGHT_SYMBOL_HAS_SPLIT);
}

static void new_package_is_used_at_once(void **state)
{
	const struct place *place = *state;

	assert_extracted(place, false, 2);
	assert_true(copy(place, SPLIT "gcc5.dwp"));
	assert_extracted(place, false, 0);
	assert_cached(place, 3, PILOTLIGHT_SYMBOL_HAS_SPLIT);
}

/* The id in a split DWARF file must match. */
static void wrong_split_files_are_not_used(void **state)
{
	const struct place *place = *state;
	char path[128];

	assert_true(copy(place, SPLIT "clang5-a.dwo " SPLIT "gcc5-b.dwo"));
	(void)snprintf(path, sizeof(path), "%s/gcc5-a.dwo", place->root);
	assert_int_equal(symlink("clang5-a.dwo", path), 0);
	assert_extracted(place, false, 1);
	assert_cached(place, 1, PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_extracted(place, true, 1);
}

/* Files writable by others must not contribute to a trusted program. */
static void untrusted_split_files_are_not_used(void **state)
{
	const struct place *place = *state;
	char path[128];

	assert_true(copy(place, SPLIT "gcc5-a.dwo " SPLIT "gcc5-b.dwo"));
	(void)snprintf(path, sizeof(path), "%s/gcc5-a.dwo", place->root);
	assert_int_equal(chmod(path, 0666), 0);
	assert_extracted(place, false, 1);
	assert_cached(place, 1, PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
	/* They contribute to an untrusted program. */
	assert_int_equal(chmod(place->program, 0777), 0);
	assert_extracted(place, false, 0);
	assert_cached(place, 1, PILOTLIGHT_SYMBOL_HAS_SPLIT | PILOTLIGHT_SYMBOL_LACKS_SPLIT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(worker_requests_split_files),
		TEST(worker_gets_the_package),
		TEST(new_split_files_are_used_on_request),
		TEST(new_package_is_used_at_once),
		TEST(wrong_split_files_are_not_used),
		TEST(untrusted_split_files_are_not_used),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding debug files that objcopy has made, and replacing entries when better files exist. */
#include "symbolize/debug_files.h"

#include "base/clock.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder with a tool, its debug file, and a copy with a debuglink to that. */
struct place {
	char root[64], debug_root[80];
	char tool[80], linked[80], debug[80];
	struct broker *broker;
	bool has_tools;
};

static bool run(const struct place *place, const char *command)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "cd '%s' && %s", place->root, command);
	return system(text) == 0;
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct broker_options options = { 0 };

	assert_non_null(place);
	(void)strcpy(place->root, "/tmp/debug_files_test.XXXXXX");
	assert_non_null(mkdtemp(place->root));
	(void)snprintf(place->debug_root, sizeof(place->debug_root), "%s/debug", place->root);
	(void)snprintf(place->tool, sizeof(place->tool), "%s/tool", place->root);
	(void)snprintf(place->linked, sizeof(place->linked), "%s/linked", place->root);
	(void)snprintf(place->debug, sizeof(place->debug), "%s/tool.debug", place->root);
	place->has_tools = run(place, "objcopy --remove-section .gnu_debuglink /bin/true tool") &&
			   run(place, "objcopy --only-keep-debug tool tool.debug") &&
			   run(place, "objcopy --add-gnu-debuglink=tool.debug tool linked");
	options.debug_root = place->debug_root;
	assert_int_equal(broker_new(&options, &place->broker), 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	broker_free(place->broker);
	cache_fixture_remove_tree(place->root);
	free(place);
	return 0;
}

static void need_tools(const struct place *place)
{
	if (place->has_tools)
		return;
	print_message("objcopy is missing\n");
	skip();
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool is_same(int fd, const char *path)
{
	struct stat first, second;

	return fstat(fd, &first) == 0 && stat(path, &second) == 0 && first.st_ino == second.st_ino;
}

static void debuglink_finds_its_file(void **state)
{
	struct place *place = *state;
	struct symbol_binary binary = { .debug_fd = -1 };
	struct debug_files files;

	need_tools(place);
	binary.path = place->tool;
	binary.fd = open_file(place->tool);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.debug_fd, -1);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	debug_files_done(&files);
	(void)close(binary.fd);

	binary.path = place->linked;
	binary.fd = open_file(place->linked);
	debug_files_find(place->broker, &binary, &files);
	assert_true(is_same(files.debug_fd, place->debug));
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_DEBUGLINK);
	assert_int_equal(files.alternate_fd, -1);
	assert_true(files.changed_s > 0);
	debug_files_done(&files);
	assert_int_equal(files.debug_fd, -1);
	binary.path = "linked";
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.debug_fd, -1);
	(void)close(binary.fd);
}

static void build_id_takes_precedence_over_a_debuglink(void **state)
{
	struct place *place = *state;
	struct symbol_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 2 },
		.debug_fd = -1 };
	struct debug_files files;

	need_tools(place);
	assert_true(run(place, "mkdir -p debug/.build-id/ab"));
	assert_true(run(place, "cp tool.debug debug/.build-id/ab/cd.debug"));
	binary.path = place->linked;
	binary.fd = open_file(place->linked);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_false(is_same(files.debug_fd, place->debug));
	debug_files_done(&files);

	/* A debug file that the user names comes first. */
	binary.debug_fd = open_file(place->tool);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_true(is_same(files.debug_fd, place->tool));
	debug_files_done(&files);
	(void)close(binary.debug_fd);
	(void)close(binary.fd);
}

/* A file of this mode is not trusted. */
static void trust(const char *path, bool is_trusted)
{
	assert_int_equal(chmod(path, is_trusted ? 0644 : 0666), 0);
}

static void untrusted_files_do_not_contribute_to_trusted_ones(void **state)
{
	struct place *place = *state;
	struct symbol_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 2 },
		.debug_fd = -1 };
	struct debug_files files;
	char path[128], package[128];

	need_tools(place);
	assert_true(run(place, "mkdir -p debug/.build-id/ab && printf '\\177ELF1' >linked.dwp"));
	assert_true(run(place, "cp tool.debug debug/.build-id/ab/cd.debug"));
	(void)snprintf(path, sizeof(path), "%s/.build-id/ab/cd.debug", place->debug_root);
	(void)snprintf(package, sizeof(package), "%s/linked.dwp", place->root);
	binary.path = place->linked;
	binary.fd = open_file(place->linked);
	trust(path, false);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_DEBUGLINK);
	assert_true(is_same(files.package_fd, package));
	debug_files_done(&files);
	trust(place->debug, false);
	trust(package, false);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(files.debug_fd, -1);
	assert_int_equal(files.package_fd, -1);
	assert_int_equal(files.changed_s, 0);
	debug_files_done(&files);

	/* For an untrusted binary they are used. */
	trust(place->linked, false);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_true(is_same(files.debug_fd, path));
	assert_true(is_same(files.package_fd, package));
	debug_files_done(&files);
	(void)close(binary.fd);

	/* A build-id without a file means trusted files. */
	binary.fd = -1;
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.debug_fd, -1);
	debug_files_done(&files);
}

static void debug_files_are_distinguished_from_binaries(void **state)
{
	struct place *place = *state;
	int tool, debug, none;

	need_tools(place);
	tool = open_file(place->tool);
	debug = open_file(place->debug);
	none = open_file("/dev/null");
	assert_false(debug_files_is_debug_file(tool));
	assert_true(debug_files_is_debug_file(debug));
	assert_false(debug_files_is_debug_file(none));
	(void)close(tool);
	(void)close(debug);
	(void)close(none);
}

static void better_and_newer_files_replace_entries(void **state)
{
	struct place *place = *state;
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;
	struct pilotlight_symbol_header header = { .rank = PILOTLIGHT_SYMBOL_RANK_BINARY };
	struct symbol_binary binary = { .debug_fd = -1 };

	need_tools(place);
	binary.path = place->linked;
	binary.fd = open_file(place->linked);
	header.created_s = now_s - 100;
	assert_true(debug_files_has_better(place->broker, &binary, &header, false));
	header.rank = PILOTLIGHT_SYMBOL_RANK_DEBUGLINK;
	assert_false(debug_files_has_better(place->broker, &binary, &header, true));
	/* The file existed when the entry was made, and was rejected. */
	header.rank = PILOTLIGHT_SYMBOL_RANK_BINARY;
	header.created_s = now_s + 100;
	assert_false(debug_files_has_better(place->broker, &binary, &header, false));
	assert_true(debug_files_has_better(place->broker, &binary, &header, true));
	(void)close(binary.fd);
	binary.path = place->tool;
	binary.fd = open_file(place->tool);
	assert_false(debug_files_has_better(place->broker, &binary, &header, true));
	(void)close(binary.fd);
}

static void packages_are_found_by_path_and_by_build_id(void **state)
{
	struct place *place = *state;
	struct symbol_binary binary = { .fd = -1, .debug_fd = -1 };
	struct debug_files files;
	char path[128];

	need_tools(place);
	binary.path = place->tool;
	binary.fd = open_file(place->tool);
	debug_files_find(place->broker, &binary, &files);
	assert_int_equal(files.package_fd, -1);
	assert_int_equal(files.package_changed_s, 0);
	debug_files_done(&files);

	(void)build_id_set(&binary.build_id, "\xab\xcd", 2);
	assert_true(run(place,
		"mkdir -p debug/.build-id/ab && printf '\\177ELF3' >debug/.build-id/ab/cd.dwp"));
	(void)snprintf(path, sizeof(path), "%s/.build-id/ab/cd.dwp", place->debug_root);
	debug_files_find(place->broker, &binary, &files);
	assert_true(is_same(files.package_fd, path));
	assert_true(files.package_changed_s > 0);
	assert_int_equal(files.debug_fd, -1);
	assert_int_equal(files.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	debug_files_done(&files);
	assert_int_equal(files.package_fd, -1);

	assert_true(run(place, "printf '\\177ELF2' >debug/.build-id/ab/cd.debug.dwp"));
	(void)snprintf(path, sizeof(path), "%s/.build-id/ab/cd.debug.dwp", place->debug_root);
	debug_files_find(place->broker, &binary, &files);
	assert_true(is_same(files.package_fd, path));
	debug_files_done(&files);

	/* A package beside the binary, its link target or its debug file comes first. */
	assert_true(run(place, "printf '\\177ELF1' >real.dwp && ln -s real.dwp tool.dwp"));
	(void)snprintf(path, sizeof(path), "%s/real.dwp", place->root);
	debug_files_find(place->broker, &binary, &files);
	assert_true(is_same(files.package_fd, path));
	debug_files_done(&files);
	assert_true(run(place, "printf '\\177ELF0' >tool.debug.dwp"));
	(void)snprintf(path, sizeof(path), "%s/tool.debug.dwp", place->root);
	binary.debug_path = place->debug;
	debug_files_take(place->broker, &binary, open_file(place->debug),
		PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD, &files);
	assert_true(is_same(files.package_fd, path));
	assert_true(is_same(files.debug_fd, place->debug));
	debug_files_done(&files);
	(void)close(binary.fd);
}

static void found_split_files_replace_entries_that_lack_them(void **state)
{
	struct place *place = *state;
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;
	struct pilotlight_symbol_header header = {
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
		.contents = PILOTLIGHT_SYMBOL_LACKS_SPLIT,
		.created_s = now_s + 100,
	};
	struct symbol_binary binary = { .debug_fd = -1 };

	need_tools(place);
	binary.path = place->tool;
	binary.fd = open_file(place->tool);
	assert_false(debug_files_has_better(place->broker, &binary, &header, false));
	/* A user requests it, or a day has passed. */
	assert_true(debug_files_has_better(place->broker, &binary, &header, true));
	header.created_s = now_s - 100;
	assert_false(debug_files_has_better(place->broker, &binary, &header, false));
	header.created_s = now_s - 2 * 24 * 60 * 60;
	assert_true(debug_files_has_better(place->broker, &binary, &header, false));
	/* The package is newer than the entry. */
	assert_true(run(place, "printf '\\177ELF1' >tool.dwp"));
	header.created_s = now_s - 100;
	assert_true(debug_files_has_better(place->broker, &binary, &header, false));
	header.contents = 0;
	assert_false(debug_files_has_better(place->broker, &binary, &header, false));
	/* Its rank would be lower than that of the entry. */
	header.contents = PILOTLIGHT_SYMBOL_LACKS_SPLIT;
	header.rank = PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;
	assert_false(debug_files_has_better(place->broker, &binary, &header, true));
	/* There is neither a binary nor a debug file. */
	header.rank = PILOTLIGHT_SYMBOL_RANK_BINARY;
	(void)close(binary.fd);
	binary.fd = -1;
	assert_false(debug_files_has_better(place->broker, &binary, &header, true));
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(debuglink_finds_its_file),
		IN_PLACE(build_id_takes_precedence_over_a_debuglink),
		IN_PLACE(untrusted_files_do_not_contribute_to_trusted_ones),
		IN_PLACE(debug_files_are_distinguished_from_binaries),
		IN_PLACE(better_and_newer_files_replace_entries),
		IN_PLACE(packages_are_found_by_path_and_by_build_id),
		IN_PLACE(found_split_files_replace_entries_that_lack_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

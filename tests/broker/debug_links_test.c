/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a binary's .gnu_debuglink and .gnu_debugaltlink name. */
#include "base/cleanup.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A machine with /bin/tool, and its folder for debug files. */
struct tree {
	char root[64], tool[96], debug[96];
	struct placed_broker placed;
	struct broker *broker; /* that one */
};

static void make_folders(const char *root, const char *name)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "mkdir -p '%s/%s'", root, name);
	assert_int_equal(system(command), 0);
}

static void assert_reads(int fd, const char *text)
{
	char read_text[64] = "";
	ssize_t n = read(fd, read_text, sizeof(read_text) - 1);

	assert_true(n >= 0);
	assert_string_equal(read_text, text);
	(void)close(fd);
}

static int set_up(void **state)
{
	const enum broker_place *place = *state;
	struct tree *tree = calloc(1, sizeof(*tree));
	struct broker_options options = { 0 };

	assert_non_null(tree);
	(void)strcpy(tree->root, "/tmp/debug_links_test.XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	(void)snprintf(tree->tool, sizeof(tree->tool), "%s/bin/tool", tree->root);
	(void)snprintf(tree->debug, sizeof(tree->debug), "%s/debug", tree->root);
	make_folders(tree->root, "bin/.debug");
	make_folders(tree->root, "debug");
	write_file(tree->root, "bin/tool", ELFMAG "tool");
	options.debug_root = tree->debug;
	placed_broker_start(&tree->placed, *place, &options);
	tree->broker = tree->placed.broker;
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	placed_broker_stop(&tree->placed);
	remove_folder(tree->root);
	free(tree);
	return 0;
}

static void debuglinks_are_looked_for_in_three_places(void **state)
{
	struct tree *tree = *state;
	char folder[256], name[512];
	int fd = -7;

	assert_int_equal(
		broker_open_debuglink(tree->broker, tree->tool, "tool.debug", &fd), -ENOENT);
	assert_int_equal(fd, -7);

	(void)snprintf(folder, sizeof(folder), "%s/bin", tree->root);
	make_folders(tree->debug, folder);
	(void)snprintf(name, sizeof(name), "%s/tool.debug", folder);
	write_file(tree->debug, name, ELFMAG "far");
	assert_int_equal(broker_open_debuglink(tree->broker, tree->tool, "tool.debug", &fd), 0);
	assert_reads(fd, ELFMAG "far");

	write_file(tree->root, "bin/.debug/tool.debug", ELFMAG "below");
	assert_int_equal(broker_open_debuglink(tree->broker, tree->tool, "tool.debug", &fd), 0);
	assert_reads(fd, ELFMAG "below");

	write_file(tree->root, "bin/tool.debug", ELFMAG "beside");
	assert_int_equal(broker_open_debuglink(tree->broker, tree->tool, "tool.debug", &fd), 0);
	assert_reads(fd, ELFMAG "beside");
}

static void a_binary_is_not_its_own_debug_file(void **state)
{
	struct tree *tree = *state;
	int fd = -7;

	assert_int_equal(broker_open_debuglink(tree->broker, tree->tool, "tool", &fd), -ENOENT);
	assert_int_equal(fd, -7);
	write_file(tree->root, "bin/.debug/tool", ELFMAG "below");
	assert_int_equal(broker_open_debuglink(tree->broker, tree->tool, "tool", &fd), 0);
	assert_reads(fd, ELFMAG "below");
}

static void debuglinks_must_be_plain_file_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/etc/passwd", "../tool" };
	struct tree *tree = *state;
	char link[256], path[PATH_MAX + 8];
	int fd = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			broker_open_debuglink(tree->broker, tree->tool, bad[i], &fd), -EINVAL);
	assert_int_equal(broker_open_debuglink(tree->broker, "bin/tool", "x", &fd), -EINVAL);
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[100] = '/';
	path[sizeof(path) - 1] = '\0';
	path[PATH_MAX - 2] = '/';
	assert_int_equal(broker_open_debuglink(tree->broker, path, "x", &fd), -ENAMETOOLONG);
	/* A user may have put the link there, so it is not followed. */
	(void)snprintf(link, sizeof(link), "%s/bin/secret.debug", tree->root);
	assert_int_equal(symlink(tree->tool, link), 0);
	assert_true(broker_open_debuglink(tree->broker, tree->tool, "secret.debug", &fd) < 0);
	assert_int_equal(fd, -7);
}

static void packages_lie_beside_debug_files(void **state)
{
	const struct build_id id = { .bytes = { 0xab, 0xcd, 1 }, .size = 3 };
	const struct build_id none = { .size = 0 };
	const struct build_id too_long = { .size = BUILD_ID_BYTES + 1 };
	struct tree *tree = *state;
	int fd = -7;

	make_folders(tree->debug, ".build-id/ab");
	assert_int_equal(broker_open_debug_package(tree->broker, &id, &fd), -ENOENT);
	assert_int_equal(broker_open_debug_package(tree->broker, &none, &fd), -EINVAL);
	assert_int_equal(broker_open_debug_package(tree->broker, &too_long, &fd), -EINVAL);
	assert_int_equal(
		broker_open_alternate_file(tree->broker, tree->tool, &too_long, &fd), -EINVAL);
	assert_int_equal(fd, -7);
	write_file(tree->debug, ".build-id/ab/cd01.dwp", ELFMAG "binary's");
	assert_int_equal(broker_open_debug_package(tree->broker, &id, &fd), 0);
	assert_reads(fd, ELFMAG "binary's");
	write_file(tree->debug, ".build-id/ab/cd01.debug.dwp", ELFMAG "debug file's");
	assert_int_equal(broker_open_debug_package(tree->broker, &id, &fd), 0);
	assert_reads(fd, ELFMAG "debug file's");
}

static void alternate_files_open_by_build_id_then_by_path(void **state)
{
	const struct build_id id = { .bytes = { 0xab, 0xcd, 1 }, .size = 3 };
	const struct build_id none = { .size = 0 };
	struct tree *tree = *state;
	char path[256];
	int fd = -7;

	assert_int_equal(
		broker_open_alternate_file(tree->broker, "../../.dwz/x/tool.debug", &id, &fd),
		-ENOENT);
	(void)snprintf(path, sizeof(path), "%s/common", tree->root);
	write_file(tree->root, "common", ELFMAG "absolute");
	assert_int_equal(broker_open_alternate_file(tree->broker, path, &none, &fd), 0);
	assert_reads(fd, ELFMAG "absolute");

	make_folders(tree->debug, ".dwz/x");
	write_file(tree->debug, ".dwz/x/tool.debug", ELFMAG "dwz");
	assert_int_equal(
		broker_open_alternate_file(tree->broker, "../../.dwz/x/tool.debug", &id, &fd), 0);
	assert_reads(fd, ELFMAG "dwz");
	assert_int_equal(broker_open_alternate_file(
				 tree->broker, "/usr/lib/debug/.dwz/x/tool.debug", &none, &fd),
		0);
	assert_reads(fd, ELFMAG "dwz");

	make_folders(tree->debug, ".build-id/ab");
	write_file(tree->debug, ".build-id/ab/cd01.debug", ELFMAG "id");
	assert_int_equal(
		broker_open_alternate_file(tree->broker, "../../.dwz/x/tool.debug", &id, &fd), 0);
	assert_reads(fd, ELFMAG "id");
}

static void alternate_paths_cannot_leave_the_root(void **state)
{
	const struct build_id none = { .size = 0 };
	struct tree *tree = *state;
	int fd = -7;

	make_folders(tree->debug, ".dwz/x");
	assert_int_equal(
		broker_open_alternate_file(tree->broker, "/.dwz/x/../../../bin/tool", &none, &fd),
		-ENOENT);
	assert_int_equal(broker_open_alternate_file(tree->broker, "bin/tool", &none, &fd), -ENOENT);
	assert_int_equal(fd, -7);
}

#define IN_TREE(test) IN_BOTH_PLACES(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(debuglinks_are_looked_for_in_three_places),
		IN_TREE(a_binary_is_not_its_own_debug_file),
		IN_TREE(debuglinks_must_be_plain_file_names),
		IN_TREE(packages_lie_beside_debug_files),
		IN_TREE(alternate_files_open_by_build_id_then_by_path),
		IN_TREE(alternate_paths_cannot_leave_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

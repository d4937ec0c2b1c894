/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps_line.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Parses out of memory of exactly that size. */
static int parse(const char *text, struct maps_line *ret_line, char *path, size_t room)
{
	size_t size = strlen(text);
	char *exact = malloc(size ? size : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, text, size);
	r = maps_line_parse(exact, size, ret_line);
	if (r == 0)
		r = maps_line_path(ret_line, path, room);
	free(exact);
	return r;
}

static void a_file(void **state)
{
	struct maps_line line;
	char path[64];

	assert_int_equal(
		parse("7ff8c375c000-7ff8c3766000 r-xp 00027000 fe:1f 325835                     "
		      "/usr/lib/ld.so",
			&line, path, sizeof(path)),
		0);
	assert_int_equal(line.start, 0x7ff8c375c000);
	assert_int_equal(line.end, 0x7ff8c3766000);
	assert_int_equal(line.offset, 0x27000);
	assert_int_equal(line.device_major, 0xfe);
	assert_int_equal(line.device_minor, 0x1f);
	assert_int_equal(line.inode, 325835);
	assert_true(line.is_executable);
	assert_false(line.is_deleted);
	assert_string_equal(path, "/usr/lib/ld.so");
}

static void memory_without_a_file(void **state)
{
	struct maps_line line;
	char path[64];

	assert_int_equal(parse("7f1e9f076000-7f1e9f13a000 rw-p 00000000 00:00 0 ", &line, path,
				 sizeof(path)),
		0);
	assert_false(line.is_executable);
	assert_int_equal(line.path_size, 0);
	assert_string_equal(path, "");
	assert_int_equal(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		      "[vsyscall]",
			&line, path, sizeof(path)),
		0);
	assert_true(line.is_executable);
	assert_string_equal(path, "[vsyscall]");
	assert_int_equal(parse("0-ffffffffffffffff ---s ffffffffffffffff ffffffff:ffffffff "
			       "18446744073709551615 x",
				 &line, path, sizeof(path)),
		0);
	assert_true(
		line.end == UINT64_MAX && line.offset == UINT64_MAX && line.inode == UINT64_MAX);
	assert_int_equal(line.device_minor, UINT32_MAX);
}

#define PREFIX "1000-2000 r-xp 00000000 00:01 7 "

static void hostile_paths(void **state)
{
	static const struct {
		const char *text, *path;
		bool is_deleted;
	} cases[] = {
		{ "/a b  c", "/a b  c", false },
		{ "/a\\012b", "/a\nb", false },
		{ "/a\\012", "/a\n", false },
		{ "\\012\\012", "\n\n", false },
		{ "/a\\01", "/a\\01", false },
		{ "/a\\040b\\134012", "/a\\040b\\134012", false },
		{ "/a (deleted)", "/a", true },
		{ "/a (deleted) (deleted)", "/a (deleted)", true },
		{ "/a (deleted)b", "/a (deleted)b", false },
		{ "/a(deleted)", "/a(deleted)", false },
		{ "(deleted)", "(deleted)", false },
		{ "/memfd:x\\012 (deleted)", "/memfd:x\n", true },
		{ "/\xff\xfe\x01", "/\xff\xfe\x01", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct maps_line line;
		char text[128], path[64];

		(void)snprintf(text, sizeof(text), PREFIX "%s", cases[i].text);
		assert_int_equal(parse(text, &line, path, sizeof(path)), 0);
		assert_string_equal(path, cases[i].path);
		assert_int_equal(line.is_deleted, cases[i].is_deleted);
	}
}

static void a_path_needs_room(void **state)
{
	struct maps_line line;
	char path[8] = "?????";

	assert_int_equal(parse(PREFIX "/abcd", &line, path, 5), -ENAMETOOLONG);
	assert_int_equal(path[5], 0);
	assert_int_equal(parse(PREFIX "/abcd", &line, path, 6), 0);
	assert_string_equal(path, "/abcd");
	assert_int_equal(parse(PREFIX "/abc\\012", &line, path, 6), 0);
	assert_int_equal(parse(PREFIX, &line, path, 0), -ENAMETOOLONG);
	assert_int_equal(parse(PREFIX, &line, path, 1), 0);
}

static void broken_lines_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1000",
		"1000-",
		"1000-2000",
		"-2000 r-xp 00000000 00:01 7 /a",
		"2000-1000 r-xp 00000000 00:01 7 /a",
		"1000-1000 r-xp 00000000 00:01 7 /a",
		"1000-2000r-xp 00000000 00:01 7 /a",
		"10000000000000000-20000000000000000 r-xp 0 00:01 7 /a",
		"1000-2000 rwx 00000000 00:01 7 /a",
		"1000-2000 xr-p 00000000 00:01 7 /a",
		"1000-2000 r-xq 00000000 00:01 7 /a",
		"1000-2000 r-xp 00000000 0001 7 /a",
		"1000-2000 r-xp 00000000 00:100000000 7 /a",
		"1000-2000 r-xp 00000000 00:01 7",
		"1000-2000 r-xp 00000000 00:01 18446744073709551616 /a",
		"1000-2000 r-xp 00000000 00:01 7a /a",
		"1000-2000 r-xp -0000000 00:01 7 /a",
		"0x1000-2000 r-xp 00000000 00:01 7 /a",
		" 1000-2000 r-xp 00000000 00:01 7 /a",
		"1000-FFFF r-xp 00000000 00:01 7 /a",
	};
	struct maps_line line = { .inode = 99 };
	char path[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &line, path, sizeof(path)), -EINVAL);
	assert_int_equal(
		maps_line_parse(PREFIX "/a\0b", sizeof(PREFIX "/a\0b") - 1, &line), -EINVAL);
	assert_int_equal(line.inode, 99);
}

static void the_kernels_own_lines_parse(void **state)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char text[MAPS_LINE_BYTES_MAX];
	size_t executable = 0;

	assert_non_null(maps);
	while (fgets(text, sizeof(text), maps)) {
		struct maps_line line;

		text[strcspn(text, "\n")] = '\0';
		assert_int_equal(maps_line_parse(text, strlen(text), &line), 0);
		executable += line.is_executable;
	}
	assert_true(executable > 0);
	assert_int_equal(fclose(maps), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file),
		cmocka_unit_test(memory_without_a_file),
		cmocka_unit_test(hostile_paths),
		cmocka_unit_test(a_path_needs_room),
		cmocka_unit_test(broken_lines_are_refused),
		cmocka_unit_test(the_kernels_own_lines_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

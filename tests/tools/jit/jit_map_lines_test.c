/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_map_lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct jit_map_lines lines;
static char seen[256];
static size_t longest;
static int fd;

static int set_up(void **state)
{
	(void)state;
	fd = memfd_create("map", MFD_CLOEXEC);
	return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(fd);
}

static void add(const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int visit(void *context, const struct perf_map_line *line)
{
	size_t used = strlen(seen);

	(void)context;
	if (line->name_size > longest)
		longest = line->name_size;
	(void)snprintf(seen + used, sizeof(seen) - used, "%llx:%.*s ",
		(unsigned long long)line->address, line->name_size > 20 ? 4 : (int)line->name_size,
		line->name);
	return 0;
}

static const char *run(bool is_final)
{
	seen[0] = '\0';
	assert_int_equal(jit_map_lines_run(&lines, is_final, visit, NULL), 0);
	return seen;
}

static void each_complete_line_is_returned_once(void **state)
{
	(void)state;
	add("1000 10 a b\nnone\n2000 10 c");
	assert_int_equal(jit_map_lines_init(&lines, fd, true), 0);
	assert_string_equal(run(false), "1000:a b ");
	assert_string_equal(run(false), "");
	add("ont\n3000 10 d\n4000 10 e");
	assert_string_equal(run(false), "2000:cont 3000:d ");
	assert_string_equal(run(true), "4000:e ");
}

static void starting_at_the_end_skips_an_incomplete_line(void **state)
{
	(void)state;
	add("1000 10 a\n2000 10 b");
	assert_int_equal(jit_map_lines_init(&lines, fd, false), 0);
	add("egun\n3000 10 c\n");
	assert_string_equal(run(false), "3000:c ");
	assert_int_equal(jit_map_lines_init(&lines, fd, false), 0);
	add("4000 10 d\n");
	assert_string_equal(run(false), "4000:d ");
}

static void a_shorter_file_is_read_anew(void **state)
{
	(void)state;
	add("1000 10 a\n2000 10 b");
	assert_int_equal(jit_map_lines_init(&lines, fd, true), 0);
	assert_string_equal(run(false), "1000:a ");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	add("5000 10 e\n");
	assert_string_equal(run(false), "5000:e ");
}

static void long_lines_lose_their_end(void **state)
{
	(void)state;
	add("1000 10 ");
	for (int i = 0; i < 10000; i++)
		add("long");
	add("\n2000 10 b\n");
	longest = 0;
	assert_int_equal(jit_map_lines_init(&lines, fd, true), 0);
	assert_string_equal(run(false), "1000:long 2000:b ");
	assert_int_equal(longest, PERF_MAP_LINE_BYTES_MAX - strlen("1000 10 "));
}

static int refuse(void *context, const struct perf_map_line *line)
{
	(void)context;
	(void)line;
	return -EPIPE;
}

static void failures_are_returned(void **state)
{
	(void)state;
	add("1000 10 a\n");
	assert_int_equal(jit_map_lines_init(&lines, fd, true), 0);
	assert_int_equal(jit_map_lines_run(&lines, false, refuse, NULL), -EPIPE);
	assert_int_equal(jit_map_lines_init(&lines, -1, false), -EBADF);
	assert_int_equal(jit_map_lines_init(&lines, -1, true), 0);
	assert_int_equal(jit_map_lines_run(&lines, false, visit, NULL), -EBADF);
}

#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(each_complete_line_is_returned_once),
		FILE_TEST(starting_at_the_end_skips_an_incomplete_line),
		FILE_TEST(a_shorter_file_is_read_anew),
		FILE_TEST(long_lines_lose_their_end),
		FILE_TEST(failures_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

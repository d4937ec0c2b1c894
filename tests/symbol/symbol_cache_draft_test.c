/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_unnamed(int fd)
{
	struct stat status;
	char c = 0;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_nlink, 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_int_equal(pread(fd, &c, 1, 0), 1);
	assert_int_equal(c, 'x');
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void drafts_without_a_cache_have_no_name(void **state)
{
	struct symbol_cache_draft draft;
	int fd = -1;

	if (symbol_cache_begin_or_unnamed(NULL, &draft) == -EROFS) {
		print_message("/var/tmp and /tmp are in memory\n");
		skip();
	}
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(symbol_cache_begin_or_unnamed(NULL, &draft), 0);
	assert_int_equal(draft.name[0], 0);
	assert_unnamed(draft.fd);
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(draft.fd, -1);
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(symbol_cache_open_scratch(NULL, &fd), 0);
	assert_unnamed(fd);
	(void)close(fd);
}

static void drafts_are_in_the_folder_of_the_cache(void **state)
{
	struct symbol_cache_draft draft;
	struct cache_fixture fixture;
	struct stat place, status;
	int fd = -1;

	assert_true(cache_fixture_open(&fixture, 1 << 20));
	assert_int_equal(symbol_cache_begin_or_unnamed(fixture.cache, &draft), 0);
	assert_int_not_equal(draft.name[0], 0);
	assert_int_equal(fstat(draft.fd, &status), 0);
	assert_int_equal(status.st_nlink, 1);
	symbol_cache_draft_done(fixture.cache, &draft);
	assert_int_equal(draft.fd, -1);
	assert_int_equal(draft.name[0], 0);

	assert_int_equal(symbol_cache_open_scratch(fixture.cache, &fd), 0);
	assert_unnamed(fd);
	assert_int_equal(stat(fixture.folder, &place), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_dev, place.st_dev);
	(void)close(fd);
	cache_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drafts_without_a_cache_have_no_name),
		cmocka_unit_test(drafts_are_in_the_folder_of_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

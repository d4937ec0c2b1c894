/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/draft_file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void assert_nameless(int fd)
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

static void without_a_cache_files_have_no_name(void **state)
{
	struct symbol_cache_draft draft;
	int fd = -1;

	(void)state;
	if (draft_file_begin(NULL, &draft) == -EROFS) {
		print_message("/var/tmp and /tmp are in memory\n");
		skip();
	}
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(draft_file_begin(NULL, &draft), 0);
	assert_int_equal(draft.name[0], 0);
	assert_nameless(draft.fd);
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(draft.fd, -1);
	symbol_cache_draft_done(NULL, &draft);
	assert_int_equal(draft_file_open_scratch(NULL, &fd), 0);
	assert_nameless(fd);
	(void)close(fd);
}

static void with_a_cache_files_are_in_its_folder(void **state)
{
	char root[] = "/tmp/draft_file_test.XXXXXX", folder[64];
	struct symbol_cache_draft draft;
	struct symbol_cache *cache;
	struct fault fault = { 0 };
	struct stat place, status;
	int fd = -1;

	(void)state;
	assert_non_null(mkdtemp(root));
	(void)snprintf(folder, sizeof(folder), "%s/cache", root);
	assert_int_equal(symbol_cache_open(folder, 1 << 20, &cache, &fault), 0);
	assert_int_equal(draft_file_begin(cache, &draft), 0);
	assert_int_not_equal(draft.name[0], 0);
	assert_int_equal(fstat(draft.fd, &status), 0);
	assert_int_equal(status.st_nlink, 1);
	symbol_cache_draft_done(cache, &draft);
	assert_int_equal(draft.fd, -1);
	assert_int_equal(draft.name[0], 0);

	assert_int_equal(draft_file_open_scratch(cache, &fd), 0);
	assert_nameless(fd);
	assert_int_equal(stat(folder, &place), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_dev, place.st_dev);
	(void)close(fd);
	symbol_cache_free(cache);
	(void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_cache_files_have_no_name),
		cmocka_unit_test(with_a_cache_files_are_in_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

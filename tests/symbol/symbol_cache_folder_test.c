/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which folder holds the cache, and its modes. */
#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void folder_may_have_any_path(void **state)
{
	char start[] = "/tmp/symbol-cache-XXXXXX", here[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_identity identity = cache_fixture_identity(1);
	_cleanup_free_ char *path = NULL;
	struct symbol_cache *cache;
	struct fault fault = { "" };
	size_t length = 0;

	assert_non_null(getcwd(here, sizeof(here)));
	assert_non_null(mkdtemp(start));
	assert_int_equal(chdir(start), 0);
	/* Longer than PATH_MAX. */
	path = malloc(30 * 203 + 1);
	assert_non_null(path);
	for (int i = 0; i < 30; i++) {
		memset(path + length, 'a' + i % 26, 200);
		memcpy(path + length + 200, "/.//", i % 2 ? 1 : 3);
		length += i % 2 ? 201 : 203;
	}
	path[length] = '\0';
	assert_true(length > 4096);
	assert_int_equal(symbol_cache_open(path, 1 << 20, &cache, &fault), 0);
	/* The path is resolved only once. */
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(cache_fixture_store(cache, &identity, 1, 10), 0);
	assert_int_equal(cache_fixture_find(cache, &identity), 1);
	symbol_cache_free(cache);
	assert_int_equal(chdir(start), 0);
	assert_int_equal(symbol_cache_open(path, 1 << 20, &cache, &fault), 0);
	assert_int_equal(cache_fixture_find(cache, &identity), 1);
	symbol_cache_free(cache);
	assert_int_equal(symbol_cache_open("plain", 1 << 20, &cache, &fault), 0);
	symbol_cache_free(cache);
	assert_string_equal(fault.text, "");

	assert_int_equal(cache_fixture_overwrite("file", "x", 1), 0);
	assert_int_equal(symbol_cache_open("file/x", 1 << 20, &cache, &fault), -ENOTDIR);
	assert_non_null(strstr(fault.text, "\"file/x\""));
	assert_non_null(strstr(fault.text, "PILOTLIGHT_SYMBOL_CACHE"));
	assert_int_equal(symbol_cache_open("", 1 << 20, &cache, NULL), -ENOENT);
	memset(path, 'a', 300);
	path[300] = '\0';
	assert_int_equal(symbol_cache_open(path, 1 << 20, &cache, NULL), -ENAMETOOLONG);
	assert_int_equal(chdir(here), 0);
	(void)snprintf(path, 64, "rm -rf %s", start);
	assert_int_equal(system(path), 0);
}

static mode_t mode_of(const char *folder, const char *name)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

static void new_files_have_private_modes(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_draft draft = { .fd = -1 };
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;
	struct symbol_cache *cache;
	struct stat status;
	mode_t mask;

	assert_true(cache_fixture_open(&fixture, 1 << 20));
	mask = umask(0);
	(void)snprintf(path, sizeof(path), "%s/old", fixture.folder);
	assert_int_equal(mkdir(path, 0751), 0);
	(void)snprintf(path, sizeof(path), "%s/old/new/symbols", fixture.folder);
	assert_int_equal(symbol_cache_open(path, 1 << 20, &cache, NULL), 0);
	assert_int_equal(cache_fixture_store(cache, &identity, 1, 10), 0);
	assert_int_equal(symbol_cache_begin(cache, &draft), 0);
	assert_int_equal(fstat(draft.fd, &status), 0);
	(void)umask(mask);
	assert_int_equal(status.st_mode & 07777, 0600);
	symbol_cache_draft_done(cache, &draft);
	assert_int_equal(mode_of(fixture.folder, "old"), 0751);
	assert_int_equal(mode_of(fixture.folder, "old/new"), 0700);
	assert_int_equal(mode_of(path, ""), 0700);
	assert_int_equal(mode_of(path, "tmp"), 0700);
	assert_int_equal(mode_of(path, "01"), 0700);
	assert_int_equal(mode_of(path, "lock"), 0600);
	assert_int_equal(mode_of(path, "01/005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.sym"), 0600);
	symbol_cache_free(cache);
	/* An existing folder keeps its mode. */
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(symbol_cache_open(path, 1 << 20, &cache, NULL), 0);
	assert_int_equal(mode_of(path, ""), 0755);
	symbol_cache_free(cache);
	cache_fixture_close(&fixture);
}

static void removed_folders_are_made_again(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, 1 << 20));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	cache_fixture_remove_tree(fixture.folder);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	assert_true(cache_fixture_has(&fixture, &identity));
	cache_fixture_close(&fixture);
}

/* Unsets it if `value` is NULL. */
static void set(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void assert_default(
	const char *named, const char *caches, const char *home, const char *expected)
{
	_cleanup_free_ char *directory = NULL;

	set("PILOTLIGHT_SYMBOL_CACHE", named);
	set("XDG_CACHE_HOME", caches);
	set("HOME", home);
	assert_int_equal(symbol_cache_default_directory(&directory), 0);
	assert_string_equal(directory, expected);
}

static void environment_chooses_the_folder(void **state)
{
	uid_t user = geteuid();
	char *directory;

	assert_default("/else", "/caches", "/home/her", "/else");
	assert_default("else", NULL, NULL, "else");
	if (user == 0) {
		assert_default("", "/caches", "/home/her", "/var/cache/pilotlight/symbols");
		assert_int_equal(seteuid(65534), 0);
	}
	assert_default(NULL, "/caches", "/home/her", "/caches/pilotlight/symbols");
	assert_default("", "", "/home/her", "/home/her/.cache/pilotlight/symbols");
	assert_default("", "relative", "/home/her", "/home/her/.cache/pilotlight/symbols");
	set("HOME", NULL);
	assert_int_equal(symbol_cache_default_directory(&directory), -ENOENT);
	set("HOME", "");
	assert_int_equal(symbol_cache_default_directory(&directory), -ENOENT);
	assert_int_equal(seteuid(user), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folder_may_have_any_path),
		cmocka_unit_test(new_files_have_private_modes),
		cmocka_unit_test(removed_folders_are_made_again),
		cmocka_unit_test(environment_chooses_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

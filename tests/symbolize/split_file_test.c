/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a worker may get, whatever paths it requests. */
#include "symbolize/split_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/harness/failing_allocation.h"
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

struct place {
	char root[64], binary[80], file[80];
	struct broker *broker;
	int binary_fd;
	bool is_trusted; /* the binary */
};

static void write_file(const char *path, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	assert_int_equal(fchmod(fd, 0644), 0);
}

static void write_split_file(const char *path, uint16_t type, const char *section)
{
	static struct fixture fixture;
	const struct fixture_section sections[] = {
		{ section, SHT_PROGBITS, .bytes = "info", .size = 4 },
	};

	memset(&fixture, 0, sizeof(fixture));
	fixture.type = type;
	fixture_build_sections(&fixture, sections, 1);
	write_file(path, fixture.bytes, fixture.size);
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	(void)strcpy(place->root, "/tmp/split_file_test.XXXXXX");
	assert_non_null(mkdtemp(place->root));
	(void)snprintf(place->binary, sizeof(place->binary), "%s/binary", place->root);
	(void)snprintf(place->file, sizeof(place->file), "%s/a.dwo", place->root);
	assert_int_equal(broker_new(NULL, &place->broker), 0);
	write_file(place->binary, "binary", 6);
	write_split_file(place->file, ET_REL, ".debug_info.dwo");
	place->binary_fd = open(place->binary, O_RDONLY | O_CLOEXEC);
	assert_true(place->binary_fd >= 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	broker_free(place->broker);
	(void)close(place->binary_fd);
	cache_fixture_remove_tree(place->root);
	free(place);
	return 0;
}

static int try_to_open(const struct place *place, const char *path)
{
	_cleanup_close_ int fd = -1;
	const struct symbol_binary binary = {
		.identity.kind =
			place->is_trusted ? PILOTLIGHT_SYMBOL_BUILD_ID : PILOTLIGHT_SYMBOL_OWNED,
		.path = place->binary,
		.fd = place->binary_fd,
		.debug_fd = -1,
	};
	struct stat expected, found;
	int r = split_file_open(place->broker, path, &binary, &fd);

	if (r < 0) {
		assert_int_equal(fd, -1);
		return r;
	}
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(stat(place->file, &expected), 0);
	assert_int_equal(found.st_ino, expected.st_ino);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	return 0;
}

static void split_files_are_opened_by_path(void **state)
{
	const struct place *place = *state;
	char path[128];

	assert_int_equal(try_to_open(place, place->file), 0);
	assert_int_equal(try_to_open(place, "a.dwo"), 0);
	assert_int_equal(try_to_open(place, "./a.dwo"), 0);
	(void)snprintf(path, sizeof(path), "%s/folder", place->root);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(try_to_open(place, "folder/../a.dwo"), 0);
	(void)snprintf(path, sizeof(path), "%s/link", place->root);
	assert_int_equal(symlink(place->root, path), 0);
	assert_int_equal(try_to_open(place, "link/a.dwo"), 0);
	assert_int_equal(try_to_open(place, "b.dwo"), -ENOENT);
	assert_int_equal(try_to_open(place, "a.dwo/"), -ENOTDIR);
}

static void relative_paths_start_at_the_folder_of_the_binary(void **state)
{
	static const char *const paths[] = { NULL, "binary", "x/binary" };
	struct symbol_binary binary = { .fd = -1, .debug_fd = -1 };
	const struct place *place = *state;
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		binary.path = paths[i];
		assert_int_equal(split_file_open(place->broker, "a.dwo", &binary, &fd), -ENOENT);
		assert_int_equal(fd, -1);
	}
	assert_int_equal(split_file_open(place->broker, place->file, &binary, &fd), 0);
	(void)close(fd);
}

static void other_files_are_refused(void **state)
{
	const struct place *place = *state;
	char path[128];

	assert_int_equal(try_to_open(place, place->binary), -ENOEXEC);
	assert_int_equal(try_to_open(place, "/etc/passwd"), -ENOEXEC);
	assert_int_equal(try_to_open(place, "/proc/self/exe"), -ENOEXEC);
	assert_int_equal(try_to_open(place, "/proc/self/mem"), -EINVAL);
	assert_int_equal(try_to_open(place, "/dev/null"), -EINVAL);
	assert_int_equal(try_to_open(place, place->root), -EINVAL);
	(void)snprintf(path, sizeof(path), "%s/fifo", place->root);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(try_to_open(place, path), -EINVAL);
	(void)snprintf(path, sizeof(path), "%s/b.dwo", place->root);
	write_split_file(path, ET_REL, ".debug_info");
	assert_int_equal(try_to_open(place, path), -ENOEXEC);
	write_split_file(path, ET_DYN, ".debug_info.dwo");
	assert_int_equal(try_to_open(place, path), -ENOEXEC);
	write_split_file(place->file, ET_REL, ".zdebug_info.dwo");
	assert_int_equal(try_to_open(place, place->file), 0);
}

static void too_big_files_are_refused(void **state)
{
	const struct place *place = *state;

	assert_int_equal(truncate(place->file, 1LL << 30), 0);
	assert_int_equal(try_to_open(place, place->file), 0);
	assert_int_equal(truncate(place->file, (1LL << 30) + 1), 0);
	assert_int_equal(try_to_open(place, place->file), -EFBIG);
}

/* Files that this process may read, but not everybody. */
static void private_files_of_other_users_are_refused(void **state)
{
	struct place *place = *state;

	/* The broker opens no private file by its name. */
	assert_int_equal(chmod(place->file, 0600), 0);
	assert_int_equal(try_to_open(place, place->file), -EACCES);
	/* A private file of the binary's owner, who named it, is opened. */
	assert_int_equal(chmod(place->file, 0700), 0);
	assert_int_equal(try_to_open(place, place->file), 0);
	if (geteuid() != 0) {
		print_message("only root can give files away\n");
		skip();
	}
	assert_int_equal(chown(place->binary, 12345, 12345), 0);
	assert_int_equal(try_to_open(place, place->file), -EACCES);
	assert_int_equal(chmod(place->file, 0710), 0);
	assert_int_equal(try_to_open(place, place->file), -EACCES);
	assert_int_equal(chmod(place->file, 0604), 0);
	assert_int_equal(try_to_open(place, place->file), 0);
	assert_int_equal(chmod(place->file, 0700), 0);
	assert_int_equal(chown(place->file, 12345, 0), 0);
	assert_int_equal(try_to_open(place, place->file), 0);
	place->is_trusted = true;
	assert_int_equal(try_to_open(place, place->file), -EACCES);
}

/* The allocations of realpath() are in libc and cannot be made to fail. */
static void failing_allocations_are_reported(void **state)
{
	const struct place *place = *state;

	(void)FAIL_EACH_ALLOCATION(try_to_open(place, "a.dwo"), -ENOMEM, true, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(split_files_are_opened_by_path),
		TEST(relative_paths_start_at_the_folder_of_the_binary),
		TEST(other_files_are_refused),
		TEST(too_big_files_are_refused),
		TEST(private_files_of_other_users_are_refused),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

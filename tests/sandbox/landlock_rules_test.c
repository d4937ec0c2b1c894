/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With every version of the kernel's interface that this one can play. */
#include "sandbox/landlock_rules.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { VERSION_MAX = 7 };

/* The folder of the tests, which holds: read/ write/ write/other/ listed/ hidden/, a file `a` in
 * each, and the file `single`. */
static char root[] = "/tmp/landlock_rules_XXXXXX";
static const char *const folders[] = { "read", "write", "write/other", "listed", "hidden" };
static const char *const files[] = { "read/a", "write/a", "write/other/a", "listed/a", "hidden/a",
	"single" };
static int hidden_fd, sockets[2], listen_fd;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_bytes = sizeof(address);

/* Of the trial that runs. */
static int trial_version;

static const char *path_of(char path[64], const char *name)
{
	(void)snprintf(path, 64, "%s/%s", root, name);
	return path;
}

static int try_open(const char *name, int flags)
{
	char path[64];
	_cleanup_close_ int fd = open(path_of(path, name), flags | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

static int try_rename(const char *from, const char *to)
{
	char paths[2][64];

	return rename(path_of(paths[0], from), path_of(paths[1], to)) < 0 ? -errno : 0;
}

static int try_remove(const char *name)
{
	char path[64];

	return unlink(path_of(path, name)) < 0 ? -errno : 0;
}

static int try_make_folder(const char *name)
{
	char path[64];

	return mkdir(path_of(path, name), 0700) < 0 ? -errno : 0;
}

static int confine(void)
{
	char paths[5][64];
	const struct sandbox_folder allowed[] = {
		{ .path = path_of(paths[0], "read") },
		{ .path = path_of(paths[1], "write"), .is_written = true },
		{ .path = path_of(paths[2], "listed"), .is_listed = true },
		{ .path = path_of(paths[3], "missing"), .is_written = true },
		{ .path = path_of(paths[4], "single") },
		{ .path = NULL },
	};
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	return r < 0 ? r : landlock_confine(trial_version, allowed, ARRAY_SIZE(allowed));
}

static void stays_within_its_folders(void)
{
	char byte;

	REQUIRE(try_open("read/a", O_RDONLY) == 0);
	REQUIRE(try_open("read", O_RDONLY | O_DIRECTORY) == 0);
	REQUIRE(try_open("single", O_RDONLY) == 0);
	REQUIRE(try_open("listed", O_RDONLY | O_DIRECTORY) == 0);
	REQUIRE(try_open("read/a", O_RDWR) == -EACCES);
	REQUIRE(try_open("read/b", O_WRONLY | O_CREAT) == -EACCES);
	REQUIRE(try_open("single", O_RDWR) == -EACCES);
	REQUIRE(try_open("listed/a", O_RDONLY) == -EACCES);
	REQUIRE(try_open("hidden/a", O_RDONLY) == -EACCES);
	REQUIRE(try_open("hidden", O_RDONLY | O_DIRECTORY) == -EACCES);
	REQUIRE(try_open(".", O_RDONLY | O_DIRECTORY) == -EACCES);
	REQUIRE(try_open("read/../hidden/a", O_RDONLY) == -EACCES);
	REQUIRE(try_open("write/link", O_RDONLY) == -EACCES);
	REQUIRE(try_make_folder("missing") == -EACCES);
	REQUIRE(try_remove("read/a") == -EACCES);
	REQUIRE(try_rename("read/a", "write/b") != 0);
	REQUIRE(open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	REQUIRE(open("/proc/self/status", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	REQUIRE(openat(hidden_fd, "a", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	/* Open files are not restricted. */
	REQUIRE(fcntl(hidden_fd, F_GETFD) >= 0);
	REQUIRE(read(sockets[0], &byte, 1) == 1);
}

static void writes_where_it_may(void)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	REQUIRE(try_open("write/b", O_RDWR | O_CREAT | O_EXCL) == 0);
	REQUIRE(try_open("write/a", O_RDWR | O_TRUNC) == 0);
	REQUIRE(try_rename("write/b", "write/other/b") == 0);
	REQUIRE(try_remove("write/other/b") == 0);
	REQUIRE(try_make_folder("write/c") == 0);
	REQUIRE(rmdir(path_of(path, "write/c")) == 0);
	REQUIRE(truncate(path_of(path, "write/a"), 10) == 0);
	fd = open(path_of(path, "write"), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 || errno == EOPNOTSUPP);
	/* Of nothing that could be run, opened from elsewhere, or be a device. */
	REQUIRE(mkfifo(path_of(path, "write/fifo"), 0600) < 0 && errno == EACCES);
	REQUIRE(symlink("/etc/passwd", path_of(path, "write/symlink")) < 0 && errno == EACCES);
}

static void every_version_confines(void **state)
{
	int newest = landlock_version();

	if (newest < 2) {
		print_message("skipped: this kernel has no Landlock, or only its first version\n");
		skip();
	}
	if (newest > VERSION_MAX)
		newest = VERSION_MAX;
	for (trial_version = 2; trial_version <= newest; trial_version++) {
		/* Processes outside must still be able to connect to the confined one. */
		assert_int_equal(write(sockets[1], "x", 1), 1);
		assert_passes(confine, stays_within_its_folders);
		assert_passes(confine, writes_where_it_may);
	}
}

static int confine_readers_by_the_first(void)
{
	char path[64];
	const struct sandbox_folder allowed[] = { { .path = path_of(path, "read") } };
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	return r < 0 ? r : landlock_confine(1, allowed, ARRAY_SIZE(allowed));
}

static void only_reads(void)
{
	REQUIRE(try_open("read/a", O_RDONLY) == 0);
	REQUIRE(try_open("read/a", O_RDWR) == -EACCES);
	REQUIRE(try_open("hidden/a", O_RDONLY) == -EACCES);
}

static int do_nothing(void)
{
	return 0;
}

static void writing_needs_more_than_the_first(void)
{
	trial_version = 1;
	REQUIRE(confine() == -EOPNOTSUPP);
	REQUIRE(try_open("hidden/a", O_RDWR) == 0);
}

static void the_first_version_is_for_readers(void **state)
{
	if (landlock_version() < 1) {
		print_message("skipped: this kernel has no Landlock\n");
		skip();
	}
	assert_passes(confine_readers_by_the_first, only_reads);
	assert_passes(do_nothing, writing_needs_more_than_the_first);
}

static void reaches_nobody(void)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	REQUIRE(kill(getppid(), 0) < 0 && errno == EPERM);
	REQUIRE(raise(SIGCHLD) == 0);
	REQUIRE(connect(fd, (struct sockaddr *)&address, address_bytes) < 0 && errno == EPERM);
	/* As to the journal, by a socket that was connected before. */
	REQUIRE(send(sockets[0], "y", 1, MSG_NOSIGNAL) == 1);
}

static void signals_and_abstract_sockets_stay_inside(void **state)
{
	char byte = 0;

	if (landlock_version() < 6) {
		print_message("skipped: this kernel's Landlock has no scopes (6.12)\n");
		skip();
	}
	trial_version = 6;
	assert_passes(confine, reaches_nobody);
	assert_int_equal(read(sockets[1], &byte, 1), 1);
	assert_int_equal(byte, 'y');
}

static void refuses_what_makes_no_sense(void)
{
	char path[64];
	const struct sandbox_folder list_of_file = { .path = path_of(path, "single"),
		.is_listed = true };

	REQUIRE(sandbox_confine(&list_of_file, 1) == -ENOTDIR);
	/* Without either privilege or the promise to gain none. */
	REQUIRE(try_open("hidden/a", O_RDWR) == 0);
}

static void confines_to_nothing(void)
{
	REQUIRE(sandbox_drop_privileges_to(getuid(), getgid()) == 0);
	REQUIRE(sandbox_confine(NULL, 0) == 0);
	REQUIRE(try_open("read/a", O_RDONLY) == -EACCES);
	REQUIRE(open("/", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
}

static void the_version_of_the_kernel_is_used(void **state)
{
	if (landlock_version() < 1) {
		assert_true(sandbox_confine(NULL, 0) < 0);
		print_message("skipped: this kernel has no Landlock\n");
		skip();
	}
	assert_passes(do_nothing, refuses_what_makes_no_sense);
	assert_passes(do_nothing, confines_to_nothing);
}

static int set_up(void **state)
{
	char path[64];

	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (try_make_folder(folders[i]) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (try_open(files[i], O_RDWR | O_CREAT) < 0)
			return -1;
	if (symlink("../hidden/a", path_of(path, "write/link")) < 0)
		return -1;
	hidden_fd = open(path_of(path, "hidden"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	listen_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (hidden_fd < 0 || listen_fd < 0 ||
		bind(listen_fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
		getsockname(listen_fd, (struct sockaddr *)&address, &address_bytes) < 0)
		return -1;
	return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets);
}

static int tear_down(void **state)
{
	char path[64];

	(void)try_remove("write/link");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (try_remove(files[i]) < 0)
			return -1;
	for (size_t i = ARRAY_SIZE(folders); i-- > 0;)
		if (rmdir(path_of(path, folders[i])) < 0)
			return -1;
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_confines),
		cmocka_unit_test(the_first_version_is_for_readers),
		cmocka_unit_test(signals_and_abstract_sockets_stay_inside),
		cmocka_unit_test(the_version_of_the_kernel_is_used),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a fetcher can open; tests/sandbox/ and service_roles.sh try its calls. */
#include "symbolize/fetch_sandbox.h"

#include "sandbox/landlock_rules.h"
#include "sandbox/sandbox.h"
#include "tests/harness/files.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/fetch_sandbox_test.XXXXXX";
static const char *trial_variable, *trial_urls;

static int confine(void)
{
	static struct fetch_request request = { .bytes_max = 1 << 20, .timeout_s = 10 };
	int fd = open(file_path(folder, "fetch"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, FETCH_FOLDER_FD) < 0 ||
		sandbox_drop_privileges(SANDBOX_ROOT_FAILS) < 0)
		return -1;
	(void)setenv("SSL_CERT_DIR", trial_variable, 1);
	(void)snprintf(request.urls, sizeof(request.urls), "%s", trial_urls);
	return fetch_sandbox_close_files(&request);
}

static bool opens(const char *name)
{
	int fd = open(file_path(folder, name), O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static void opens_what_is_named(void)
{
	int fd = open("written", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	REQUIRE(opens("first/file"));
	REQUIRE(opens("second/file"));
	REQUIRE(opens("served/file"));
	REQUIRE(!opens("other/file"));
	REQUIRE(open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
}

static void opens_nothing_of_others(void)
{
	REQUIRE(!opens("first/file"));
	REQUIRE(!opens("other/file"));
}

/* Certificates may be in several folders. */
static void folders_of_certificates_are_a_list(void **state)
{
	char variable[512], urls[256];

	if (landlock_version() < 2) {
		print_message("skipped: this kernel has no Landlock\n");
		skip();
	}
	(void)snprintf(
		variable, sizeof(variable), "%s/first:/no/such/folder:%s/second", folder, folder);
	(void)snprintf(urls, sizeof(urls), "http://127.0.0.1:1 file://%s/served", folder);
	trial_variable = variable;
	trial_urls = urls;
	assert_passes(confine, opens_what_is_named);
	trial_variable = "";
	assert_passes(confine, opens_nothing_of_others);
}

/* More than there is room for are left out. */
static void long_lists_are_cut(void **state)
{
	char variable[512];

	if (landlock_version() < 2) {
		print_message("skipped: this kernel has no Landlock\n");
		skip();
	}
	(void)snprintf(variable, sizeof(variable), "/no/1:/no/2:/no/3:/no/4:%s/first", folder);
	trial_variable = variable;
	trial_urls = "http://127.0.0.1:1";
	assert_passes(confine, opens_nothing_of_others);
}

static int set_up(void **state)
{
	static const char *const folders[] = { "fetch", "first", "second", "served", "other" };
	char name[64];

	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		make_folder(folder, folders[i]);
		(void)snprintf(name, sizeof(name), "%s/file", folders[i]);
		write_file(folder, name, "a file\n");
	}
	return chmod(file_path(folder, "fetch"), 0777);
}

static int tear_down(void **state)
{
	remove_folder(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_of_certificates_are_a_list),
		cmocka_unit_test(long_lists_are_cut),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group's number, by a name service that is the test's own. */
#include "supervise/group_lookup.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000, GROUP = 4711 };

static bool was_asked; /* in this process */

static bool has_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	return syscall(SYS_capget, &header, sets) < 0 || sets[0].permitted || sets[1].permitted;
}

struct group *getgrnam(const char *name)
{
	static struct group group = { .gr_gid = GROUP };

	was_asked = true;
	if (strcmp(name, "crashes") == 0)
		(void)raise(SIGKILL);
	while (strcmp(name, "hangs") == 0)
		(void)pause();
	return strcmp(name, "there") == 0 && !has_privileges() ? &group : NULL;
}

/* Every lookup leaves no child and no descriptor. */
static int look_up(const char *name, int timeout_ms, gid_t *ret_group)
{
	int before = dup(STDIN_FILENO), after, r;

	assert_true(before >= 0);
	assert_int_equal(close(before), 0);
	r = group_lookup(name, timeout_ms, ret_group);
	assert_false(was_asked);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	after = dup(STDIN_FILENO);
	assert_int_equal(after, before);
	assert_int_equal(close(after), 0);
	return r;
}

static void an_unprivileged_child_resolves_the_group(void **state)
{
	gid_t group = 0;

	assert_int_equal(look_up("there", PATIENCE_MS, &group), 0);
	assert_int_equal(group, GROUP);
}

static void a_missing_answer_is_an_error(void **state)
{
	gid_t group = 5;

	assert_int_equal(look_up("not-there", PATIENCE_MS, &group), -ENOENT);
	assert_int_equal(look_up("crashes", PATIENCE_MS, &group), -ENOENT);
	assert_int_equal(look_up("hangs", 1, &group), -ETIMEDOUT);
	assert_int_equal(group, 5);
}

static void without_descriptors_it_fails(void **state)
{
	struct rlimit before, limit;
	gid_t group = 5;
	int r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	r = group_lookup("there", PATIENCE_MS, &group);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, -EMFILE);
	assert_int_equal(group, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unprivileged_child_resolves_the_group),
		cmocka_unit_test(a_missing_answer_is_an_error),
		cmocka_unit_test(without_descriptors_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

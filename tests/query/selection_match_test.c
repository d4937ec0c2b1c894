/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/selection.h"
#include "tests/query/selection_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct store_thread nginx = {
	.tgid = 100,
	.tid = 101,
	.comm = "worker",
	.owner = 1, /* root */
	.exe = "/usr/sbin/nginx",
	.cgroup = "/system.slice/nginx.service",
	.claims = "checkout,shop",
};

static const struct store_thread escaped = {
	.tgid = 2,
	.tid = 2,
	.comm = "fsck",
	.owner = UINT32_MAX,
	.exe = "/sbin/fsck",
	.cgroup = "/system.slice/system-fsck.slice/fsck@dev-disk\\x2dby.service",
	.claims = "",
};

static const struct store_thread user = {
	.tgid = 300,
	.tid = 300,
	.comm = "a-thread-of-15b",
	.owner = 1001,
	.exe = "/home/x/bin/app",
	.cgroup = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-1.scope",
	.claims = ",checkout",
};

static const struct store_thread docker = {
	.tgid = 400,
	.tid = 400,
	.comm = "sh",
	.exe = "/bin/sh",
	.cgroup = "/system.slice/docker-" CONTAINER ".scope",
	.claims = "",
};

static const struct store_thread pod = {
	.tgid = 500,
	.tid = 500,
	.comm = "pause",
	.exe = "/pause",
	.cgroup = "/kubepods.slice/kubepods-besteffort.slice/"
		  "kubepods-besteffort-pod1c2d3e4f_0000_1111_2222_333344445555.slice/"
		  "cri-containerd-" CONTAINER ".scope",
	.claims = "",
};

static const struct store_thread bare = { .comm = "", .exe = "", .cgroup = "", .claims = "" };

static const struct store_thread *const threads[] = { &nginx, &escaped, &user, &docker, &pod,
	&bare };

/* Returns the selected ones of the above, as a mask. */
static unsigned selected_threads(const char *const *pairs)
{
	struct selection *selection = make_selection(pairs);
	struct store_selection asked;
	unsigned mask = 0;

	selection_store(selection, &asked);
	assert_non_null(asked.wants_thread);
	assert_true(selection_has_filter(selection));
	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		mask |= (unsigned)asked.wants_thread(asked.context, threads[i]) << i;
	selection_free(selection);
	return mask;
}

enum { NGINX = 1, ESCAPED = 2, USER = 4, DOCKER = 8, POD = 16, BARE = 32, ALL = 63 };
static const struct {
	const char *pairs[7];
	unsigned mask;
} thread_cases[] = {
	{ { "pid", "100" }, NGINX },
	{ { "pid", "101" }, 0 },
	{ { "tid", "101" }, NGINX },
	{ { "pid", "100", "pid", "400" }, NGINX | DOCKER },
	{ { "user", "0" }, NGINX },
	{ { "user", "1000" }, USER },
	{ { "user", "4294967294" }, ESCAPED },
	{ { "user", "1001" }, 0 },
	{ { "user", "1000", "user", "0" }, NGINX | USER },
	{ { "user", "1000", "pid", "100" }, 0 },
	{ { "comm", "worker" }, NGINX },
	{ { "thread", "w*r" }, NGINX },
	{ { "comm", "a-thread-of-15bytes-and-more" }, USER },
	{ { "comm", "work" }, 0 },
	{ { "exe", "nginx" }, NGINX },
	{ { "exe", "/usr/sbin/nginx" }, NGINX },
	{ { "exe", "/usr/*" }, NGINX },
	{ { "exe", "*s*" }, ESCAPED | DOCKER | POD },
	{ { "service", "checkout" }, NGINX },
	{ { "service", "check*" }, NGINX },
	{ { "service", "nginx" }, 0 },
	{ { "service", "shop" }, 0 },
	{ { "unit", "nginx" }, NGINX },
	{ { "unit", "nginx.service" }, NGINX },
	{ { "unit", "nginx*" }, NGINX },
	{ { "unit", "nginx.socket" }, 0 },
	{ { "unit", "*" }, ALL },
	{ { "unit", "?*" }, NGINX | ESCAPED | USER | DOCKER | POD },
	{ { "unit", "fsck@dev-disk\\x2dby" }, ESCAPED },
	{ { "unit", "fsck@dev-disk\\x2d*" }, ESCAPED },
	{ { "unit", "user@1000" }, USER },
	{ { "unit", "app-1.scope" }, USER },
	{ { "slice", "system" }, NGINX | ESCAPED | DOCKER },
	{ { "slice", "system-fsck.slice" }, ESCAPED },
	{ { "slice", "app" }, USER },
	{ { "slice", "user*" }, USER },
	{ { "slice", "*" }, ALL },
	{ { "cgroup", "/system.slice" }, NGINX | ESCAPED | DOCKER },
	{ { "cgroup", "system.slice/" }, NGINX | ESCAPED | DOCKER },
	{ { "cgroup", "/system.slic" }, 0 },
	{ { "cgroup", "/*/nginx.service" }, NGINX },
	{ { "cgroup", "/user.slice/user-*" }, USER },
	{ { "cgroup", "/" }, ALL },
	{ { "container", CONTAINER }, DOCKER | POD },
	{ { "container", "0123" }, DOCKER | POD },
	{ { "container", "123" }, 0 },
	{ { "container", "*cdef" }, DOCKER | POD },
	{ { "pod", "1c2d3e4f-0000" }, POD },
	{ { "pod", "2c" }, 0 },
	{ { "unit", "nginx", "comm", "worker" }, NGINX },
	{ { "unit", "nginx", "comm", "sh" }, 0 },
	{ { "unit", "nginx", "unit", "none", "pid", "100" }, NGINX },
};

static void threads_are_selected(void **state)
{
	for (size_t i = 0; i < sizeof(thread_cases) / sizeof(thread_cases[0]); i++)
		if (selected_threads(thread_cases[i].pairs) != thread_cases[i].mask)
			fail_msg("%s %s: %x", thread_cases[i].pairs[0], thread_cases[i].pairs[1],
				selected_threads(thread_cases[i].pairs));
}

/* Of others nothing is compared, counted or suggested. */
static void a_restricted_selection_knows_one_user(void **state)
{
	struct profile_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 20 } };
	struct selection *selection = NULL;
	const char *parameter, *const *names;
	struct store_selection asked;

	assert_int_equal(selection_new(&selection), 0);
	selection_restrict(selection, user.owner);
	assert_int_equal(selection_add(selection, "unit", "nginx", NULL), 0);
	assert_int_equal(selection_add(selection, "build-id", "ff", NULL), 0);
	assert_int_equal(selection_finish(selection, SELECTION_NOW, NULL), 0);
	assert_non_null(strstr(selection_text(selection), ", of user 1000 alone"));
	selection_store(selection, &asked);
	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		assert_false(asked.wants_thread(asked.context, threads[i]));
	assert_false(asked.wants_binary(asked.context, &binary, "/secret"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 1);
	assert_string_equal(parameter, "unit");
	assert_string_equal(names[0], "app-1.scope");
	selection_free(selection);
}

static void whole_names_are_no_prefixes_and_no_globs(void **state)
{
	static const struct {
		const char *name, *value;
		bool is_selected;
	} cases[] = { { "container", CONTAINER, true }, { "container", "0123", false },
		{ "container", "*", false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_selection asked;
		struct selection *selection;

		assert_int_equal(selection_new(&selection), 0);
		assert_int_equal(
			selection_add_exact(selection, cases[i].name, cases[i].value, NULL), 0);
		assert_int_equal(selection_finish(selection, SELECTION_NOW, NULL), 0);
		selection_store(selection, &asked);
		assert_int_equal(asked.wants_thread(asked.context, &docker), cases[i].is_selected);
		selection_free(selection);
	}
}

/* No parameter widens it, and it needs none. */
static void a_restriction_holds_with_any_parameters(void **state)
{
	enum { OWN = 4 };
	static const struct {
		const char *pairs[5];
		unsigned mask;
	} cases[] = {
		{ { NULL }, OWN },
		{ { "user", "1000" }, OWN },
		{ { "user", "0" }, 0 },
		{ { "user", "1000", "user", "0" }, OWN },
		{ { "unit", "*" }, OWN },
		{ { "cgroup", "/" }, OWN },
		{ { "pid", "100", "pid", "300" }, OWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make_selection(cases[i].pairs);
		struct store_selection asked;
		unsigned mask = 0;

		selection_restrict(selection, user.owner);
		assert_true(selection_has_filter(selection));
		selection_store(selection, &asked);
		for (unsigned n = 0; n < sizeof(threads) / sizeof(threads[0]); n++)
			mask |= (unsigned)asked.wants_thread(asked.context, threads[n]) << n;
		assert_int_equal(mask, cases[i].mask);
		selection_free(selection);
	}
}

static void binaries_are_selected(void **state)
{
	struct profile_binary binary = { .build_id = { .bytes = { 0xab, 0xcd }, .size = 20 } };
	struct profile_binary none = { .kind = BINARY_JIT };
	struct selection *selection = MAKE("build-id", "ABC");
	const char *parameter, *const *names;
	struct store_selection asked;

	selection_store(selection, &asked);
	assert_null(asked.wants_thread);
	assert_true(selection_has_filter(selection));
	assert_false(asked.wants_binary(asked.context, &none, "/a"));
	binary.build_id.bytes[1] = 0xdd;
	assert_false(asked.wants_binary(asked.context, &binary, "/lib/libc.so"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 1);
	assert_string_equal(parameter, "build-id");
	assert_string_equal(names[0], "abdd00000000 (libc.so)");
	binary.build_id.bytes[1] = 0xcd;
	assert_true(asked.wants_binary(asked.context, &binary, "libc.so"));
	assert_int_equal(selection_seen(selection, &parameter, &names), 0);
	assert_null(parameter);
	selection_free(selection);
}

static void what_there_is_instead_is_seen(void **state)
{
	struct selection *selection = MAKE("pid", "100", "unit", "nginy");
	const char *parameter, *const *names;
	struct store_selection asked;
	size_t count;

	selection_store(selection, &asked);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		for (size_t again = 0; again < 2; again++)
			assert_false(asked.wants_thread(asked.context, threads[i]));
	/* pid was met; the bare one has no unit. */
	count = selection_seen(selection, &parameter, &names);
	assert_string_equal(parameter, "unit");
	assert_int_equal(count, 5);
	assert_string_equal(names[0], "nginx.service");
	assert_string_equal(names[1], "fsck@dev-disk\\x2dby.service");
	assert_string_equal(names[2], "app-1.scope");
	assert_string_equal(names[3], "docker-" CONTAINER ".scope");
	assert_string_equal(names[4], "cri-containerd-" CONTAINER ".scope");
	selection_store(selection, &asked);
	assert_int_equal(selection_seen(selection, &parameter, &names), 0);
	assert_string_equal(parameter, "pid");
	selection_free(selection);
}

static void the_likest_names_are_kept(void **state)
{
	struct selection *selection = MAKE("comm", "thread-7");
	const char *parameter, *const *names;
	struct store_selection asked;
	char comm[16];

	selection_store(selection, &asked);
	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(comm, sizeof(comm), "%s-%u", i % 10 ? "x" : "thread", i * 7);
		assert_int_equal(
			asked.wants_thread(asked.context,
				&(struct store_thread){ .comm = comm, .exe = "", .cgroup = "" }),
			false);
	}
	assert_int_equal(selection_seen(selection, &parameter, &names), SELECTION_SEEN_MAX);
	assert_string_equal(names[0], "thread-70");
	for (size_t i = 0; i < SELECTION_SEEN_MAX; i++)
		assert_memory_equal(names[i], "thread-", 7);
	selection_free(selection);
}

/* One whose steps would double with each '*'. */
static void a_glob_is_not_a_trap(void **state)
{
	char pattern[SELECTION_VALUE_BYTES_MAX + 1] = "", comm[1024];
	struct store_thread thread = { .comm = comm, .exe = "", .cgroup = "" };
	struct store_selection asked;
	struct selection *selection;

	for (size_t i = 0; i + 4 < sizeof(pattern); i += 2)
		(void)strcpy(pattern + i, "*a");
	(void)strcat(pattern, "b");
	memset(comm, 'a', sizeof(comm) - 1);
	comm[sizeof(comm) - 1] = '\0';
	selection = MAKE("comm", pattern);
	selection_store(selection, &asked);
	assert_false(asked.wants_thread(asked.context, &thread));
	selection_free(selection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_selected),
		cmocka_unit_test(whole_names_are_no_prefixes_and_no_globs),
		cmocka_unit_test(a_restricted_selection_knows_one_user),
		cmocka_unit_test(a_restriction_holds_with_any_parameters),
		cmocka_unit_test(binaries_are_selected),
		cmocka_unit_test(what_there_is_instead_is_seen),
		cmocka_unit_test(the_likest_names_are_kept),
		cmocka_unit_test(a_glob_is_not_a_trap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

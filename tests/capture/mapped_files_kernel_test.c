/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests that capture_list_files() leaves: the files that running programs have mapped.
 * Runs beside others: it judges which files of its own are requested.
 */
#include "capture/capture.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct found {
	struct stat executable; /* of this program */
	unsigned executables, vdsos, requests;
	struct pilotlight_walk_request request; /* for the executable */
};

static void open_capture(bool filters_processes, struct capture **ret_capture)
{
	const struct capture_settings settings = {
		.rate_hz = 99,
		.filters_processes = filters_processes,
		.map_budget_bytes = 16 << 20,
		.unwind_budget_bytes = 1 << 20,
		.skips_interpreted = true, /* faster to verify */
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	if (capture_open(&settings, ret_capture, &fault) < 0)
		fail_msg("%s", fault.text);
	if (!capture_walk_maps(*ret_capture)) {
		capture_free(*ret_capture);
		print_message("skipped: this kernel keeps mappings in another way\n");
		skip();
	}
}

static void take_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	static const struct pilotlight_file_key vdso;
	struct found *found = context;

	found->requests++;
	found->vdsos += memcmp(key, &vdso, sizeof(vdso)) == 0;
	assert_true(request->start < request->end);
	assert_true(request->time_ns > 0);
	if (key->inode != found->executable.st_ino ||
		key->size_bytes != (uint64_t)found->executable.st_size)
		return;
	found->executables++;
	found->request = *request;
}

static void list_files(struct capture *capture, struct found *ret_found)
{
	*ret_found = (struct found){ 0 };
	assert_int_equal(stat("/proc/self/exe", &ret_found->executable), 0);
	assert_int_equal(capture_list_files(capture), 0);
	assert_true(
		walk_maps_drain_requests(capture_walk_maps(capture), take_request, ret_found) >= 0);
}

static void each_mapped_file_is_requested_once(void **state)
{
	struct capture *capture;
	struct found found;

	open_capture(false, &capture);
	list_files(capture, &found);
	assert_int_equal(found.executables, 1);
	assert_int_equal(found.vdsos, 1);
	assert_int_equal(found.request.process.tgid, getpid());
	assert_true(found.request.process.start_ns > 0);
	assert_true(found.request.start <= (uintptr_t)each_mapped_file_is_requested_once &&
		    found.request.end > (uintptr_t)each_mapped_file_is_requested_once);
	/* It has run, and on one CPU at a time. */
	assert_true(found.request.use_ppm > 0);
	assert_true(found.request.use_ppm <= 1100000);
	capture_free(capture);
}

static void only_followed_processes_are_listed(void **state)
{
	struct capture *capture;
	struct found found;

	open_capture(true, &capture);
	list_files(capture, &found);
	assert_int_equal(found.requests, 0);
	assert_int_equal(capture_follow(capture, getpid()), 0);
	list_files(capture, &found);
	assert_int_equal(found.executables, 1);
	assert_true(found.requests > 1);
	capture_free(capture);
}

static void without_walks_there_is_nothing_to_list(void **state)
{
	const struct capture_settings settings = { .rate_hz = 99, .map_budget_bytes = 16 << 20 };
	struct capture *capture;
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	if (capture_open(&settings, &capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(capture_list_files(capture), -EOPNOTSUPP);
	capture_free(capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mapped_file_is_requested_once),
		cmocka_unit_test(only_followed_processes_are_listed),
		cmocka_unit_test(without_walks_there_is_nothing_to_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

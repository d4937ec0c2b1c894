/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `symbols fetch` from a folder that libdebuginfod takes for a server (file://). This program is
 * its own fetcher, and its own worker, which writes an example whatever it is given.
 */
#include "child/child_request.h"
#include "pilotlight/symbol_worker.h"
#include "symbolize/debuginfod_fetch.h"
#include "tests/tools/symbols/symbols_run.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

#define KNOWN	"1111111111111111111111111111111111111111"
#define UNKNOWN "2222222222222222222222222222222222222222"

static int play_worker(void)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.has_taken_debug = 1,
		.cpu_ns = 3000000000,
	};
	static struct symbol_file_fixture file;
	struct pilotlight_symbol_request request;
	char first = 0;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 1;
	report.rank = request.debug_rank;
	symbol_file_fixture_fill(&file);
	memcpy(file.identity, request.identity, sizeof(file.identity));
	file.identity_bytes = request.identity_bytes;
	file.kind = request.identity_kind;
	file.rank = request.debug_rank;
	file.created_s = (uint64_t)time(NULL);
	symbol_file_fixture_build(&file);
	if (pread(PILOTLIGHT_WORKER_DEBUG_FD, &first, 1, 0) != 1 || first != 'd')
		report.error = -ENODATA;
	else if (write(PILOTLIGHT_WORKER_OUTPUT_FD, file.bytes, file.size) != (ssize_t)file.size)
		return 1;
	return send(PILOTLIGHT_WORKER_SOCKET_FD, &report, sizeof(report), 0) == sizeof(report) ? 0
											       : 1;
}

static char folder[64], urls[128];

static void put_file(const char *id, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/buildid/%s", folder, id);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	(void)strcat(path, "/debuginfo");
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	char path[128];

	(void)strcpy(folder, "/tmp/symbols-fetch-test.XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/buildid", folder);
	(void)snprintf(urls, sizeof(urls), "file://%s", folder);
	(void)setenv("DEBUGINFOD_URLS", urls, 1);
	return mkdir(path, 0755) == 0 ? symbols_run_set_up(state) : -1;
}

static int tear_down(void **state)
{
	cache_fixture_remove_tree(folder);
	return symbols_run_tear_down(state);
}

static int fetch(const char *line)
{
	return symbols_run(&symbols_fetch, line);
}

static void skip_without_library(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);

	if (!library) {
		print_message("no libdebuginfod.so.1\n");
		skip();
	}
	(void)dlclose(library);
}

static void debug_files_are_fetched(void **state)
{
	skip_without_library();
	put_file(KNOWN, "debug");
	assert_int_equal(fetch("--timeout 60 " KNOWN), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_non_null(strstr(ran.out, KNOWN ", added from a debug file of a debuginfod server: 2 "
					      "functions, 2 inlined, 7 lines, "));
	assert_int_equal(symbols_run(&symbols_lookup, "1111 401040"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "cold\n??:0:0\n\n");
	assert_int_equal(fetch("--json " KNOWN), EXIT_SUCCESS);
	assert_memory_equal(ran.out,
		"{\"identity\":\"" KNOWN "\",\"source\":\"debuginfod\",\"contents\":[", 85);
	assert_non_null(strstr(ran.out, "\"cpu_seconds\":3.000}\n"));
}

static void a_file_that_no_server_has_is_reported(void **state)
{
	skip_without_library();
	assert_int_equal(fetch(UNKNOWN), EXIT_FAILURE);
	assert_true(
		command_run_complained("cannot fetch the debug file of '" UNKNOWN "' from file:"));
	assert_non_null(strstr(ran.err, "no server has a debug file"));
	put_file(UNKNOWN, "something else");
	assert_int_equal(fetch(UNKNOWN), EXIT_FAILURE);
	assert_true(command_run_complained("is not its debug file"));
}

static void servers_are_needed(void **state)
{
	(void)setenv("DEBUGINFOD_URLS", " ", 1);
	assert_int_equal(fetch(KNOWN), EXIT_FAILURE);
	assert_true(command_run_complained("no server to ask; name one by --urls"));
	(void)unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(fetch(KNOWN), EXIT_FAILURE);
	assert_true(command_run_complained("no server to ask"));
}

static void only_build_ids_are_asked_for(void **state)
{
	assert_int_equal(fetch("htlhash:00112233445566778899aabbccddeeff"), EXIT_FAILURE);
	assert_true(command_run_complained("has no build-id"));
	assert_int_equal(fetch("main"), EXIT_FAILURE);
	assert_true(command_run_complained("'main' is neither a whole build-id"));
	assert_int_equal(fetch("./missing"), EXIT_FAILURE);
	assert_true(command_run_complained("cannot open './missing'"));
}

#define CACHE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(debug_files_are_fetched),
		CACHE_TEST(a_file_that_no_server_has_is_reported),
		CACHE_TEST(servers_are_needed),
		CACHE_TEST(only_build_ids_are_asked_for),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return play_worker();
	if (argc > 1 && strcmp(argv[1], "symbol-fetch") == 0)
		return debuginfod_fetch_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

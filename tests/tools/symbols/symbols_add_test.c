/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `symbols add` with workers that do as they are told: this program is its own worker, and the name
 * of the binary is what the worker does.
 */
#include "child/child_request.h"
#include "pilotlight/symbol_worker.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"
#include "tests/tools/symbols/symbols_run.h"
#include "tests/tools/symbols/unwind_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

/* --- the worker ------------------------------------------------------------------------------- */

static void write_symbols(
	const struct pilotlight_symbol_request *request, enum pilotlight_symbol_rank rank)
{
	static struct symbol_file_fixture file;

	symbol_file_fixture_fill(&file);
	memcpy(file.identity, request->identity, sizeof(file.identity));
	file.identity_bytes = request->identity_bytes;
	file.kind = request->identity_kind;
	file.rank = (uint8_t)rank;
	file.created_s = (uint64_t)time(NULL);
	symbol_file_fixture_build(&file);
	if (write(PILOTLIGHT_WORKER_OUTPUT_FD, file.bytes, file.size) != (ssize_t)file.size)
		_exit(1);
}

static int play_worker(void)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
		.cpu_ns = 2000000000,
	};
	struct pilotlight_symbol_request request;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 1;
	if (request.has_debug && !strstr(request.origin, "refuses")) {
		report.rank = request.debug_rank;
		report.has_taken_debug = 1;
	}
	if (strstr(request.origin, "crashes"))
		abort();
	if (strstr(request.origin, "memory") && request.memory_bytes_max != 512 << 20)
		report.error = -ENOMEM;
	else if (strstr(request.origin, "nothing"))
		report.error = -ENODATA;
	else
		write_symbols(&request, report.rank);
	return send(PILOTLIGHT_WORKER_SOCKET_FD, &report, sizeof(report), 0) == sizeof(report) ? 0
											       : 1;
}

/* --- the tests -------------------------------------------------------------------------------- */

static char folder[64];

static int set_up(void **state)
{
	(void)strcpy(folder, "/tmp/symbols-add-test.XXXXXX");
	return mkdtemp(folder) && symbols_run_set_up(state) == 0 && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	int r = chdir("/");

	cache_fixture_remove_tree(folder);
	return symbols_run_tear_down(state) == 0 ? r : -1;
}

/* An ELF file in the folder. Its build-id is `number` four times; 0: it has none. */
static void make_elf(const char *name, uint8_t number, bool is_debug_file)
{
	static const struct fixture_symbol symbol = { "f", FIXTURE_TEXT_VADDR, 16, 2,
		FIXTURE_TEXT };
	uint8_t build_id[BUILD_ID_BYTES];
	static struct fixture elf;
	FILE *file;

	memset(build_id, number, sizeof(build_id));
	elf = (struct fixture){
		.build_id = build_id,
		.build_id_bytes = number ? sizeof(build_id) : 0,
		.symbols = &symbol,
		.symbol_count = 1,
	};
	fixture_build(&elf);
	if (!is_debug_file)
		fixture_patch(&elf, elf.shdrs + FIXTURE_TEXT * elf.shdr_bytes + 4, SHT_PROGBITS, 4);
	file = fopen(name, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(elf.bytes, 1, elf.size, file), elf.size);
	assert_int_equal(fclose(file), 0);
}

static int add(const char *line)
{
	return symbols_run(&symbols_add, line);
}

static struct symbol_identity identity_of(uint8_t number)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id.size = BUILD_ID_BYTES };

	memset(identity.id.bytes, number, BUILD_ID_BYTES);
	return identity;
}

/* The rank of what the cache has; -ENOENT. */
static int rank_of(uint8_t number)
{
	struct symbol_identity identity = identity_of(number);
	struct symbol_file *file;
	int r = symbol_cache_find(symbols_run_cache.cache, &identity, &file);

	if (r == 0) {
		r = symbol_file_header(file)->rank;
		symbol_file_free(file);
	}
	return r;
}

#define COUNTS "2 functions, 2 inlined, 7 lines, "

static void binaries_are_added(void **state)
{
	make_elf("one", 0x11, false);
	make_elf("two", 0x22, false);
	make_elf("three", 0x33, false);
	assert_int_equal(add("-j 2 one two ./three"), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_non_null(
		strstr(ran.out, "one: 1111111111111111111111111111111111111111, added from the "
				"binary itself: " COUNTS));
	assert_non_null(strstr(ran.out, "two: 2222"));
	assert_non_null(strstr(ran.out, "./three: 3333"));
	assert_int_equal(rank_of(0x11), PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(rank_of(0x22), PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(rank_of(0x33), PILOTLIGHT_SYMBOL_RANK_BINARY);
}

static void existing_symbols_are_kept(void **state)
{
	make_elf("one", 0x11, false);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ", kept what was there from the binary itself: " COUNTS));
	assert_int_equal(add("--force one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ", added from the binary itself: "));
}

static void json_is_an_object_a_file(void **state)
{
	make_elf("one", 0x11, false);
	assert_int_equal(add("--json one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out,
		"{\"file\":\"one\",\"result\":\"added\",\"identity\":"
		"\"1111111111111111111111111111111111111111\",\"source\":\"binary\",\"contents\":["
		"\"symtab\",\"dwarf\"],\"functions\":2,\"inlined\":2,\"lines\":7,\"bytes\":"));
	assert_non_null(strstr(ran.out, ",\"cpu_seconds\":2.000,\"unwind_removed\":false}\n"));
	assert_int_equal(add("--json /dev/null one"), EXIT_FAILURE);
	assert_non_null(strstr(ran.out,
		"{\"file\":\"/dev/null\",\"result\":\"failed\",\"reason\":\"unreadable\","
		"\"message\":\"'/dev/null' is not an ELF file"));
	assert_non_null(strstr(ran.out, "{\"file\":\"one\",\"result\":\"kept\""));
}

static void failures_are_reported_with_a_remedy(void **state)
{
	make_elf("one", 0x11, false);
	make_elf("crashes", 0x22, false);
	make_elf("nothing", 0x33, false);
	assert_int_equal(add("crashes one nothing missing"), EXIT_FAILURE);
	assert_non_null(strstr(ran.err, "no symbols of 'crashes' (22222222222222222222222222222222"
					"22222222): it crashed a worker; report this"));
	assert_non_null(
		strstr(ran.err, "): it has neither symbols nor debug information; install"));
	assert_non_null(strstr(ran.err, "cannot open 'missing': No such file or directory"));
	assert_int_equal(rank_of(0x11), PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(rank_of(0x22), PILOTLIGHT_SYMBOL_RANK_NONE);
}

/* An explicit `add` tries again: the user may have mended the cause. */
static void failures_are_tried_again(void **state)
{
	make_elf("memory", 0x44, false);
	assert_int_equal(add("memory"), EXIT_FAILURE);
	assert_non_null(
		strstr(ran.err, "a worker's memory was not enough; add it with `symbols add "
				"--memory`"));
	assert_int_equal(rank_of(0x44), PILOTLIGHT_SYMBOL_RANK_NONE);
	assert_int_equal(add("--memory 512M memory"), EXIT_SUCCESS);
	assert_int_equal(rank_of(0x44), PILOTLIGHT_SYMBOL_RANK_BINARY);
}

static void debug_files_are_taken(void **state)
{
	make_elf("one", 0x11, false);
	make_elf("one.debug", 0x11, true);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_int_equal(add("--debug one.debug one"), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_non_null(strstr(ran.out, ", added from a debug file, by build-id: "));
	assert_int_equal(rank_of(0x11), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	/* A lower rank does not replace it. */
	assert_int_equal(add("--force one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ", kept what was there from a debug file, by build-id: "));
	assert_int_equal(rank_of(0x11), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
}

static void a_debug_file_goes_before_its_binary(void **state)
{
	make_elf("one", 0x11, false);
	make_elf("one.debug", 0x11, true);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_int_equal(add("one.debug"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "one.debug: 1111"));
	assert_non_null(strstr(ran.out, ", added from a debug file, by build-id: "));
	assert_int_equal(rank_of(0x11), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_int_equal(add("one.debug"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ", kept what was there from a debug file"));
}

static void force_removes_the_unwind_table(void **state)
{
	struct symbol_identity one = identity_of(0x11), two = identity_of(0x22);

	make_elf("one", 0x11, false);
	assert_int_equal(add("--force one"), EXIT_SUCCESS);
	assert_null(strstr(ran.out, "unwind"));
	assert_int_equal(unwind_folder_store(&one, 1, true), 0);
	assert_int_equal(unwind_folder_store(&two, 1, true), 0);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_true(unwind_folder_has(&one));
	assert_int_equal(add("--force one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "; its unwind table was removed and is made anew"));
	assert_false(unwind_folder_has(&one));
	assert_true(unwind_folder_has(&two));
	assert_int_equal(unwind_folder_store(&one, 1, true), 0);
	assert_int_equal(add("--force --json one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"unwind_removed\":true"));
	assert_int_equal(add("--force --json one"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"unwind_removed\":false"));
}

static void wrong_debug_files_are_reported(void **state)
{
	make_elf("one", 0x11, false);
	make_elf("refuses", 0x22, false);
	make_elf("two.debug", 0x22, true);
	make_elf("none.debug", 0, true);
	assert_int_equal(add("--debug two.debug one"), EXIT_FAILURE);
	assert_true(command_run_complained("'two.debug' belongs to another binary: its build-id is "
					   "2222"));
	assert_int_equal(rank_of(0x11), -ENOENT);
	assert_int_equal(add("--debug missing one"), EXIT_FAILURE);
	assert_true(command_run_complained("cannot open 'missing'"));
	assert_int_equal(add("--debug /dev/null one"), EXIT_FAILURE);
	assert_true(command_run_complained("'/dev/null' is not an ELF file"));
	assert_int_equal(add("none.debug"), EXIT_FAILURE);
	assert_true(command_run_complained("has no build-id, so name its binary"));
	/* The worker knows better. */
	assert_int_equal(add("--debug none.debug refuses"), EXIT_SUCCESS);
	assert_int_equal(rank_of(0x22), PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_true(command_run_complained("'none.debug' belongs to another binary or cannot be"));
}

static void files_without_a_build_id_have_a_hash(void **state)
{
	make_elf("one", 0, false);
	assert_int_equal(add("one"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "one: htlhash:", 13);
	assert_int_equal(symbols_run(&symbols_lookup, "./one 0x401040"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "cold\n??:0:0\n\n");
}

/* Anybody may write to it, so it tells nothing of others with its build-id. */
static void symbols_of_untrusted_files_are_kept_apart(void **state)
{
	struct symbol_identity one = identity_of(0x11);

	make_elf("one", 0x11, false);
	assert_int_equal(chmod("one", 0777), 0);
	assert_int_equal(unwind_folder_store(&one, 1, true), 0);
	assert_int_equal(add("--force one"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "one: owned:", 11);
	assert_int_equal(rank_of(0x11), -ENOENT);
	assert_true(unwind_folder_has(&one));
	assert_int_equal(symbols_run(&symbols_lookup, "./one 0x401040"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "cold\n??:0:0\n\n");
	assert_int_equal(symbols_run(&symbols_show, "owned:"), EXIT_FAILURE);
	assert_int_equal(symbols_run(&symbols_show, "./one"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "identity   owned:", 17);
	/* A debug file by itself, too. */
	make_elf("one.debug", 0x11, true);
	assert_int_equal(chmod("one.debug", 0666), 0);
	assert_int_equal(add("one.debug"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "one.debug: owned:", 17);
	assert_int_equal(rank_of(0x11), -ENOENT);
}

/* More files than run at a time; some fail. */
static void many_files_take_turns(void **state)
{
	static const char *const names[] = { "a", "b", "nothing-c", "d", "e", "f", "crashes-g",
		"h" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		make_elf(names[i], (uint8_t)(0x51 + i), false);
	assert_int_equal(add("-j 3 a b x nothing-c d e y f crashes-g h"), EXIT_FAILURE);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(rank_of((uint8_t)(0x51 + i)),
			strlen(names[i]) > 1 ? PILOTLIGHT_SYMBOL_RANK_NONE
					     : PILOTLIGHT_SYMBOL_RANK_BINARY);
}

static void an_unwritable_cache_is_reported_first(void **state)
{
	make_elf("one", 0x11, false);
	assert_int_equal(add("--cache /proc/self one"), EXIT_FAILURE);
	assert_true(command_run_complained("symbol cache"));
	assert_string_equal(ran.out, "");
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;

	make_elf("one", 0x11, false);
	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = add("one");
		if (!allocation_failed())
			break;
		/* Some are for things that can be done without. */
		if (status == EXIT_SUCCESS)
			assert_non_null(strstr(ran.out, COUNTS));
		else
			assert_memory_equal(ran.err, "pilotlight: ", 12);
	}
	assert_int_equal(ran.status, EXIT_SUCCESS);
	assert_true(n > 10);
}

#define CACHE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(binaries_are_added),
		CACHE_TEST(existing_symbols_are_kept),
		CACHE_TEST(json_is_an_object_a_file),
		CACHE_TEST(failures_are_reported_with_a_remedy),
		CACHE_TEST(failures_are_tried_again),
		CACHE_TEST(debug_files_are_taken),
		CACHE_TEST(a_debug_file_goes_before_its_binary),
		CACHE_TEST(force_removes_the_unwind_table),
		CACHE_TEST(wrong_debug_files_are_reported),
		CACHE_TEST(files_without_a_build_id_have_a_hash),
		CACHE_TEST(symbols_of_untrusted_files_are_kept_apart),
		CACHE_TEST(many_files_take_turns),
		CACHE_TEST(an_unwritable_cache_is_reported_first),
		CACHE_TEST(failing_allocations_are_reported),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return play_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

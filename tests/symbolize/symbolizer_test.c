/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/symbolize/symbolizer_fixture.h"

#include "extract/code_instruction.h"
#include "tests/harness/failing_allocation.h"

#include <dirent.h>

static void symbols_are_extracted_once_and_then_cached(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbolizer_counters counters;

	assert_int_equal(look_up(symbolizer, &binary), -ENODATA);
	request_and_wait(symbolizer, &binary);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	counters = counters_of(symbolizer);
	assert_int_equal(counters.requested, 1);
	assert_int_equal(counters.extracted, 1);
	assert_int_equal(counters.cached, 0);
	assert_int_equal(counters.pending, 0);
	assert_int_equal(counters.worker_cpu_ns, 1000);
	assert_false(outcome_of(symbolizer, &binary).was_cached);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	binary.path = "/bin/crashes";
	request_and_wait(symbolizer, &binary);
	counters = counters_of(symbolizer);
	assert_int_equal(counters.cached, 1);
	assert_int_equal(counters.extracted, 0);
	assert_true(outcome_of(symbolizer, &binary).was_cached);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	/* The kernel reports build-ids without a length. */
	binary.build_id.size = 3;
	assert_int_equal(look_up(symbolizer, &binary), 0);
	symbolizer_free(symbolizer);
}

static uint32_t extraction_in_cache(const struct place *place, const struct symbol_binary *binary)
{
	struct symbol_identity identity = symbol_identity_of_build_id(&binary->build_id);
	struct pilotlight_symbol_header header;

	assert_int_equal(symbol_cache_peek(place->cache, &identity, &header), 0);
	return header.extraction;
}

/* Of an older version, which found fewer names. */
static void old_symbols_serve_until_new_ones_are_made(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/old", 1);

	request_and_wait(symbolizer, &binary);
	assert_int_equal(extraction_in_cache(place, &binary), 0);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	binary.path = "/bin/crashes";
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).cached, 0);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	binary.path = "/bin/works";
	assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	wait_for_workers(symbolizer);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(extraction_in_cache(place, &binary), PILOTLIGHT_SYMBOL_EXTRACTION);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).cached, 1);
	symbolizer_free(symbolizer);
}

/* Returns how many of the requested files a worker has made. */
static uint64_t extract_for(const struct place *place, const struct symbol_binary *binary,
	enum pilotlight_symbol_product product)
{
	struct symbolizer_options options = {
		.cache = place->cache, .broker = place->broker, .product = product
	};
	struct symbolizer *symbolizer;
	uint64_t extracted;

	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	request_and_wait(symbolizer, binary);
	assert_int_equal(outcome_of(symbolizer, binary).failure, PILOTLIGHT_SYMBOL_OK);
	extracted = counters_of(symbolizer).extracted;
	symbolizer_free(symbolizer);
	return extracted;
}

static void what_was_made_without_zydis_is_made_anew_with_it(void **state)
{
	const enum pilotlight_symbol_product products[] = { PILOTLIGHT_PRODUCT_SYMBOLS,
		PILOTLIGHT_PRODUCT_UNWIND };
	struct place *place = *state;
	struct symbol_binary binaries[2];

	for (uint8_t i = 0; i < 2; i++) {
		binaries[i] = make_binary(place, "/bin/undecoded", 1 + i);
		assert_int_equal(extract_for(place, &binaries[i], products[i]), 1);
		assert_int_equal(extract_for(place, &binaries[i], products[i]), 0);
		binaries[i].path = "/bin/works";
	}
	assert_int_equal(code_instruction_load(NULL), 0);
	for (uint8_t i = 0; i < 2; i++) {
		assert_int_equal(extract_for(place, &binaries[i], products[i]), 1);
		assert_int_equal(extract_for(place, &binaries[i], products[i]), 0);
	}
}

/* The debug file is gone, and the binary alone would give less. */
static void old_symbols_stay_without_their_files(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/old", 1);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/old.debug", place->root);
	binary.debug_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_true(binary.debug_fd >= 0);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	(void)close(binary.debug_fd);
	binary.debug_fd = -1;
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).cached, 1);
	assert_int_equal(counters_of(symbolizer).extracted, 0);
	symbolizer_free(symbolizer);
}

static void negative_entries_prevent_a_retry(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/nothing", 1);

	request_and_wait(symbolizer, &binary);
	assert_int_equal(outcome_of(symbolizer, &binary).failure, PILOTLIGHT_SYMBOL_NOTHING);
	assert_int_equal(counters_of(symbolizer).failed[PILOTLIGHT_SYMBOL_NOTHING], 1);
	assert_int_equal(look_up(symbolizer, &binary), -ENODATA);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, place->cache);
	binary.path = "/bin/works";
	request_and_wait(symbolizer, &binary);
	assert_int_equal(outcome_of(symbolizer, &binary).failure, PILOTLIGHT_SYMBOL_NOTHING);
	assert_int_equal(counters_of(symbolizer).extracted, 0);
	assert_int_equal(counters_of(symbolizer).failed[PILOTLIGHT_SYMBOL_NOTHING], 1);
	assert_int_equal(look_up(symbolizer, &binary), -ENODATA);
	symbolizer_free(symbolizer);
}

static void debug_file_replaces_the_binary_and_stays(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	char path[128];

	request_and_wait(symbolizer, &binary);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_BINARY);
	symbolizer_free(symbolizer);

	(void)snprintf(path, sizeof(path), "%s/works.debug", place->root);
	binary.debug_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_true(binary.debug_fd >= 0);
	symbolizer = open_symbolizer(place, place->cache);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	symbolizer_free(symbolizer);
	(void)close(binary.debug_fd);
	binary.debug_fd = -1;

	symbolizer = open_symbolizer(place, place->cache);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).cached, 1);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	symbolizer_free(symbolizer);
}

static void crash_on_a_debug_file_falls_back_to_the_binary(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/alone", 1);

	binary.debug_fd = place->fd;
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	symbolizer_free(symbolizer);
}

static void failures_of_workers_are_counted_by_reason(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary crashes = make_binary(place, "/bin/crashes", 1);
	struct symbol_binary lies = make_binary(place, "/bin/lies", 2);
	struct symbolizer_counters counters;

	request_and_wait(symbolizer, &crashes);
	request_and_wait(symbolizer, &lies);
	counters = counters_of(symbolizer);
	assert_int_equal(counters.failed[PILOTLIGHT_SYMBOL_CRASHED], 1);
	assert_int_equal(counters.failed[PILOTLIGHT_SYMBOL_DAMAGED], 1);
	assert_int_equal(counters.extracted, 0);
	assert_int_equal(look_up(symbolizer, &crashes), -ENODATA);
	assert_int_equal(look_up(symbolizer, &lies), -ENODATA);
	symbolizer_free(symbolizer);
}

/* A failed extraction keeps the old entry. */
static void old_symbols_outlive_a_failure(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbolizer_options options = {
		.cache = place->cache, .broker = place->broker, .is_forced = true
	};

	request_and_wait(symbolizer, &binary);
	symbolizer_free(symbolizer);
	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	binary.path = "/bin/crashes";
	request_and_wait(symbolizer, &binary);
	assert_int_equal(outcome_of(symbolizer, &binary).failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(counters_of(symbolizer).extracted, 0);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	symbolizer_free(symbolizer);
}

static void without_a_cache_symbols_stay_in_memory(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, NULL);
	struct symbol_binary first = make_binary(place, "/bin/works", 1);
	struct symbol_binary second = make_binary(place, "/bin/works too", 2);

	request_and_wait(symbolizer, &first);
	request_and_wait(symbolizer, &second);
	assert_int_equal(counters_of(symbolizer).extracted, 2);
	assert_int_equal(look_up(symbolizer, &first), 0);
	assert_int_equal(look_up(symbolizer, &second), 0);
	symbolizer_free(symbolizer);

	symbolizer = open_symbolizer(place, NULL);
	assert_int_equal(look_up(symbolizer, &first), -ENODATA);
	symbolizer_free(symbolizer);
}

static void more_binaries_than_workers_are_symbolized(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary;

	for (uint8_t i = 0; i < 20; i++) {
		binary = make_binary(place, i % 2 ? "/bin/works" : "/bin/crashes", i);
		assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
	}
	assert_int_equal(counters_of(symbolizer).pending, 20);
	wait_for_workers(symbolizer);
	assert_int_equal(counters_of(symbolizer).extracted, 10);
	assert_int_equal(counters_of(symbolizer).failed[PILOTLIGHT_SYMBOL_CRASHED], 10);
	for (uint8_t i = 0; i < 20; i++) {
		binary = make_binary(place, "", i);
		assert_int_equal(look_up(symbolizer, &binary), i % 2 ? 0 : -ENODATA);
	}
	symbolizer_free(symbolizer);
}

static void pending_workers_end_with_the_symbolizer(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/hangs", 1);

	assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
	assert_int_equal(counters_of(symbolizer).pending, 1);
	/* Kills the worker. */
	symbolizer_free(symbolizer);
}

static void files_without_a_build_id_are_identified_by_a_hash(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbol_binary nothing = { .path = "/bin/works", .fd = -1, .debug_fd = -1 };
	char path[128], copy[256];

	(void)snprintf(path, sizeof(path), "%s/without", place->root);
	(void)snprintf(copy, sizeof(copy),
		"objcopy --remove-section .note.gnu.build-id /bin/true %s", path);
	if (system(copy) != 0) {
		symbolizer_free(symbolizer);
		skip(); /* no objcopy */
	}
	binary.build_id.size = 0;
	binary.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(binary.fd >= 0);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	assert_int_equal(symbolizer_request(symbolizer, &nothing), -ENOENT);
	(void)close(binary.fd);
	symbolizer_free(symbolizer);
}

/* Otherwise any process could displace trusted symbols by mapping a file. */
static void only_files_that_a_user_names_count_as_debug_files(void **state)
{
	static const enum pilotlight_symbol_rank ranks[] = { PILOTLIGHT_SYMBOL_RANK_BINARY,
		PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE };
	struct place *place = *state;
	char path[128], command[256];

	(void)snprintf(path, sizeof(path), "%s/only.debug", place->root);
	(void)snprintf(command, sizeof(command), "objcopy --only-keep-debug /proc/%d/exe %s 2>&1",
		(int)getpid(), path);
	if (system(command) != 0)
		skip(); /* no objcopy */
	for (int is_named = 0; is_named < 2; is_named++) {
		struct symbol_binary binary = make_binary(place, "/bin/works", 1);
		struct symbolizer_options options = { .cache = place->cache,
			.broker = place->broker,
			.takes_debug_files = is_named };
		struct symbolizer *symbolizer;

		binary.fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(binary.fd >= 0);
		assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
		request_and_wait(symbolizer, &binary);
		assert_int_equal(counters_of(symbolizer).extracted, 1);
		assert_int_equal(rank_in_cache(place, &binary), ranks[is_named]);
		symbolizer_free(symbolizer);
		(void)close(binary.fd);
	}
}

static size_t count_entries(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

static void jobs_that_cannot_start_leave_no_files(void **state)
{
	struct place *place = *state;
	struct symbolizer_options options = { .cache = place->cache, .broker = place->broker };
	struct symbolizer *symbolizer;
	size_t descriptors, drafts;
	char drafts_path[128];

	options.workers.program = "/nonexistent";
	assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
	(void)snprintf(drafts_path, sizeof(drafts_path), "%s/tmp", place->cache_path);
	descriptors = count_entries("/proc/self/fd");
	drafts = 0;
	for (uint8_t i = 0; i < 50; i++) {
		struct symbol_binary binary = make_binary(place, "/bin/works", i);

		assert_int_equal(symbolizer_request(symbolizer, &binary), 0);
		wait_for_workers(symbolizer);
		if (i == 0)
			drafts = count_entries(drafts_path);
	}
	assert_int_equal(counters_of(symbolizer).failed[PILOTLIGHT_SYMBOL_UNREADABLE], 50);
	assert_int_equal(count_entries("/proc/self/fd"), descriptors);
	assert_int_equal(count_entries(drafts_path), drafts);
	assert_int_equal(drafts, 2); /* . and .. */
	symbolizer_free(symbolizer);
}

static void refused_requests_are_counted(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);

	binary.fd = 1 << 20;
	assert_int_equal(symbolizer_request(symbolizer, &binary), -EBADF);
	assert_int_equal(counters_of(symbolizer).refused, 1);
	assert_int_equal(counters_of(symbolizer).requested, 0);
	symbolizer_free(symbolizer);
}

static void fetching_needs_a_server(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "", 1);

	assert_int_equal(symbolizer_fetch(symbolizer, &binary.build_id, UINT64_MAX), -EINVAL);
	symbolizer_free(symbolizer);
}

static void failing_allocations_are_reported(void **state)
{
	struct place *place = *state;
	struct symbolizer_options options = { .cache = place->cache,
		.broker = place->broker,
		.debuginfod_urls = "http://127.0.0.1:1" };
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbolizer *symbolizer = NULL;
	size_t n;
	int r;

	assert_true(FAIL_EACH_ALLOCATION(
			    symbolizer_new(&options, &symbolizer), -ENOMEM, !symbolizer, 0) >= 4);
	symbolizer_free(symbolizer);

	/* A failure during a request affects only that binary. */
	options.debuginfod_urls = NULL;
	for (n = 0;; n++) {
		bool has_failed;

		binary = make_binary(place, "/bin/works", (uint8_t)n);
		assert_int_equal(symbolizer_new(&options, &symbolizer), 0);
		fail_allocation(n);
		r = symbolizer_request(symbolizer, &binary);
		has_failed = allocation_failed();
		assert_true(r == 0 || r == -ENOMEM);
		wait_for_workers(symbolizer);
		symbolizer_free(symbolizer);
		if (!has_failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_true(n >= 4);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(symbols_are_extracted_once_and_then_cached),
		IN_PLACE(old_symbols_serve_until_new_ones_are_made),
		IN_PLACE(old_symbols_stay_without_their_files),
		IN_PLACE(what_was_made_without_zydis_is_made_anew_with_it),
		IN_PLACE(negative_entries_prevent_a_retry),
		IN_PLACE(debug_file_replaces_the_binary_and_stays),
		IN_PLACE(crash_on_a_debug_file_falls_back_to_the_binary),
		IN_PLACE(failures_of_workers_are_counted_by_reason),
		IN_PLACE(old_symbols_outlive_a_failure),
		IN_PLACE(without_a_cache_symbols_stay_in_memory),
		IN_PLACE(more_binaries_than_workers_are_symbolized),
		IN_PLACE(pending_workers_end_with_the_symbolizer),
		IN_PLACE(files_without_a_build_id_are_identified_by_a_hash),
		IN_PLACE(only_files_that_a_user_names_count_as_debug_files),
		IN_PLACE(jobs_that_cannot_start_leave_no_files),
		IN_PLACE(refused_requests_are_counted),
		IN_PLACE(fetching_needs_a_server),
		IN_PLACE(failing_allocations_are_reported),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		play_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

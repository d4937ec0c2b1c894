/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request of the sampler to a table in its arrays. Binaries, their files and the symbolizer
 * are made up here: the inode of a request is the number of the file, the binary and the identity.
 */
#include "engine/unwinding.h"

#include "base/array.h"
#include "base/clock.h"
#include "tests/harness/failing_allocation.h"
#include "tests/unwind/unwinder_fixture.h"

#include <sys/eventfd.h>

enum { FILES_MAX = ENTRIES_MAX, ALICE = 1000, BOB = 1001 };

/* --- the world -------------------------------------------------------------------------------- */

static struct {
	struct sampler sampler;
	uint64_t users[FILES_MAX];   /* of binaries */
	uint32_t waiting[FILES_MAX]; /* requests of the sampler that are not drained */
	size_t waiting_count;
	int identify_error, request_error;
	struct made_up_task {
		bool is_requested, is_done;
		enum pilotlight_symbol_failure failure;
	} tasks[FILES_MAX];
	unsigned opened_again;
	struct user_excess no_excess;
	struct user_share no_share;
	struct symbol_file *found;
	struct unwinding *unwinding;
} world;

struct symbolizer {
	int poll_fd;
};

static uint32_t number_of(const struct symbol_identity *identity)
{
	return identity->id.bytes[0] * 256U + identity->id.bytes[1];
}

int walk_maps_drain_requests(
	const struct walk_maps *maps, walk_request_function function, void *context)
{
	size_t count = world.waiting_count;

	(void)maps;
	world.waiting_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct pilotlight_file_key key = key_of(world.waiting[i]);
		struct pilotlight_walk_request mapping = { .use_ppm = 1000 };

		function(context, &key, &mapping);
	}
	return (int)count;
}

int unwinding_files_identify(const struct unwinding_files *files,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request,
	uint32_t *ret_binary, int *ret_fd)
{
	(void)files;
	(void)request;
	if (world.identify_error < 0)
		return world.identify_error;
	*ret_binary = (uint32_t)key->inode;
	*ret_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(*ret_fd >= 0);
	return 0;
}

int unwinding_files_identity(
	const struct binary *binary, int fd, struct symbol_identity *ret_identity)
{
	if (fd < 0)
		return -ENOENT;
	*ret_identity = symbol_identity_of_build_id(&binary->build_id);
	return 0;
}

int unwinding_files_open_again(const struct unwinding_files *files, const struct walk_file *file,
	const struct binary *binary)
{
	(void)files;
	(void)file;
	(void)binary;
	world.opened_again++;
	return eventfd(0, EFD_CLOEXEC);
}

void binary_table_get(const struct binary_table *table, uint32_t binary, struct binary *ret_binary)
{
	(void)table;
	*ret_binary = (struct binary){
		.build_id = { .size = 3, .bytes = { (uint8_t)(binary >> 8), (uint8_t)binary, 1 } },
		.path = "/usr/bin/example",
		.fd = -1,
		.user = world.users[binary],
	};
}

bool binary_table_is_doomed(const struct binary_table *table, uint32_t binary)
{
	(void)table;
	(void)binary;
	return false;
}

void binary_table_spare(struct binary_table *table, uint32_t binary)
{
	(void)table;
	(void)binary;
}

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	assert_int_equal(options->product, PILOTLIGHT_PRODUCT_UNWIND);
	if (!symbolizer)
		return -ENOMEM;
	symbolizer->poll_fd = eventfd(1, EFD_CLOEXEC);
	assert_true(symbolizer->poll_fd >= 0);
	*ret_symbolizer = symbolizer;
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	(void)close(symbolizer->poll_fd);
	free(symbolizer);
}

void symbolizer_hurry(struct symbolizer *symbolizer)
{
	(void)symbolizer;
}

int symbolizer_poll_fd(const struct symbolizer *symbolizer)
{
	return symbolizer->poll_fd;
}

int symbolizer_run(struct symbolizer *symbolizer)
{
	(void)symbolizer;
	return 0;
}

int symbolizer_request(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	const struct symbol_identity identity = symbol_identity_of_build_id(&binary->build_id);

	(void)symbolizer;
	assert_true(binary->fd >= 0);
	if (world.request_error < 0)
		return world.request_error;
	world.tasks[number_of(&identity)].is_requested = true;
	return 0;
}

int symbolizer_outcome(const struct symbolizer *symbolizer, const struct symbol_identity *identity,
	struct symbolizer_outcome *ret_outcome)
{
	const struct made_up_task *task = &world.tasks[number_of(identity)];

	(void)symbolizer;
	if (!task->is_requested)
		return -ENOENT;
	*ret_outcome = (struct symbolizer_outcome){
		.is_pending = !task->is_done,
		.failure = task->failure,
	};
	return 0;
}

int symbolizer_find_file(struct symbolizer *symbolizer, const struct symbol_identity *identity,
	const struct symbol_file **ret_file)
{
	(void)symbolizer;
	symbol_file_free(TAKE_PTR(world.found));
	unwind_table_fixture_make(&fixture, 1, number_of(identity));
	world.found = unwind_table_fixture_open(&fixture);
	if (!world.found)
		return -ENOMEM;
	*ret_file = world.found;
	return 0;
}

void symbolizer_counters(
	const struct symbolizer *symbolizer, struct symbolizer_counters *ret_counters)
{
	(void)symbolizer;
	*ret_counters = (struct symbolizer_counters){ 0 };
}

const struct user_excess *symbolizer_excess(const struct symbolizer *symbolizer)
{
	(void)symbolizer;
	return &world.no_excess;
}

const struct user_share *symbolizer_unfinished(const struct symbolizer *symbolizer)
{
	(void)symbolizer;
	return &world.no_share;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static int make(void)
{
	const struct unwinding_parts parts = { .maps = &world.sampler.maps };

	return unwinding_new(&parts, &world.unwinding);
}

static int set_up(void **state)
{
	memset(&world, 0, sizeof(world));
	reset(&world.sampler);
	assert_int_equal(make(), 0);
	unwinding_begin_window(world.unwinding, 1);
	return 0;
}

static int tear_down(void **state)
{
	unwinding_free(TAKE_PTR(world.unwinding));
	symbol_file_free(TAKE_PTR(world.found));
	return 0;
}

/* A stack of the user goes through the file. */
static void sample(uint32_t number, uint64_t user)
{
	world.users[number] = user;
	world.waiting[world.waiting_count++] = number;
}

static void run(void)
{
	unwinding_read_requests(world.unwinding);
	assert_int_equal(unwinding_run(world.unwinding), 0);
}

static void work(uint32_t number, enum pilotlight_symbol_failure failure)
{
	assert_true(world.tasks[number].is_requested);
	world.tasks[number].is_done = true;
	world.tasks[number].failure = failure;
}

static struct unwinder_report files(void)
{
	struct unwinding_report report;

	unwinding_report(world.unwinding, &report);
	return report.files;
}

static bool has_table(uint32_t number)
{
	const struct pilotlight_walk_file *entry = entry_of(&world.sampler, number);

	return entry && entry->flags & PILOTLIGHT_FILE_HAS_TABLE;
}

static uint64_t refused(uint64_t user)
{
	struct user_excess excess = { 0 };
	struct user_holdings holdings = { 0 };

	unwinding_users(world.unwinding, &excess, &holdings);
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (excess.lines[i].user == user)
			return excess.lines[i].refused[USER_SYMBOLS];
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_table_is_loaded_when_it_is_made(void **state)
{
	sample(1, ALICE);
	run();
	assert_int_equal(files().pending, 1);
	assert_false(has_table(1));
	run();
	assert_int_equal(files().pending, 1);
	work(1, PILOTLIGHT_SYMBOL_OK);
	run();
	assert_true(has_table(1));
	assert_int_equal(files().pending, 0);
}

/* One user maps more new files than there are places. Another's file gets its table at once. */
static void a_flood_of_files_delays_only_its_user(void **state)
{
	enum { FLOOD = FILES_MAX - 1, OTHER = FLOOD };

	for (uint32_t number = 0; number < FLOOD; number++)
		sample(number, ALICE);
	run();
	sample(OTHER, BOB);
	run();
	work(OTHER, PILOTLIGHT_SYMBOL_OK);
	run();
	assert_true(has_table(OTHER));
	assert_true(refused(ALICE) > 0);
	assert_int_equal(refused(BOB), 0);
}

/* Places that were given back serve the files that found none. */
static void refused_files_are_tried_again(void **state)
{
	enum { FLOOD = FILES_MAX };
	uint64_t waiting;

	for (uint32_t number = 0; number < FLOOD; number++)
		sample(number, ALICE);
	run();
	waiting = files().retry;
	assert_int_equal(waiting, refused(ALICE));
	assert_true(waiting > 0);
	for (uint32_t number = 0; number < FLOOD; number++)
		if (world.tasks[number].is_requested)
			work(number, PILOTLIGHT_SYMBOL_DAMAGED);
	run();
	assert_int_equal(files().pending, 0);
	for (uint32_t window = 2; window < 8; window++) {
		unwinding_begin_window(world.unwinding, window);
		for (uint32_t number = 0; number < FLOOD; number++)
			use(&world.sampler, number, window);
		run();
	}
	assert_int_equal(files().retry, 0);
	assert_int_equal(files().pending, waiting);
}

static void failures_decide_about_a_retry(void **state)
{
	static const struct {
		enum pilotlight_symbol_failure failure;
		bool is_retried;
	} cases[] = {
		{ PILOTLIGHT_SYMBOL_NOTHING, false },
		{ PILOTLIGHT_SYMBOL_DAMAGED, false },
		{ PILOTLIGHT_SYMBOL_TOO_BIG, false },
		{ PILOTLIGHT_SYMBOL_NO_SPACE, true },
		{ PILOTLIGHT_SYMBOL_NO_MEMORY, true },
		{ PILOTLIGHT_SYMBOL_UNREADABLE, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwinder_report before = files();

		sample((uint32_t)i, ALICE);
		run();
		work((uint32_t)i, cases[i].failure);
		run();
		assert_int_equal(files().retry, before.retry + cases[i].is_retried);
		assert_int_equal(files().nothing, before.nothing + !cases[i].is_retried);
	}
}

static void a_file_that_cannot_be_requested_is_retried(void **state)
{
	static const struct {
		int error;
		bool is_retried;
	} cases[] = { { -E2BIG, true }, { -ENOMEM, true }, { -ENOEXEC, false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwinder_report before = files();

		world.request_error = cases[i].error;
		sample((uint32_t)i, ALICE);
		run();
		assert_int_equal(files().pending, 0);
		assert_int_equal(files().retry, before.retry + cases[i].is_retried);
		assert_int_equal(files().nothing, before.nothing + !cases[i].is_retried);
	}
}

static void a_file_that_cannot_be_identified_has_no_table(void **state)
{
	world.identify_error = -ESTALE;
	sample(1, ALICE);
	run();
	assert_int_equal(files().unidentified, 1);
	assert_false(has_table(1));
}

/* An evicted or refused file's descriptor is gone by the time of the retry. */
static void a_retry_opens_the_file_again(void **state)
{
	world.request_error = -E2BIG;
	sample(1, ALICE);
	run();
	world.request_error = 0;
	for (uint32_t window = 2; window < 6; window++) {
		unwinding_begin_window(world.unwinding, window);
		use(&world.sampler, 1, window);
		run();
	}
	assert_int_equal(world.opened_again, 1);
	work(1, PILOTLIGHT_SYMBOL_OK);
	run();
	assert_true(has_table(1));
}

static void preparation_loads_tables_before_sampling(void **state)
{
	sample(1, ALICE);
	world.tasks[1] = (struct made_up_task){ .is_requested = true, .is_done = true };
	assert_int_equal(unwinding_prepare(world.unwinding, UINT64_MAX), 0);
	assert_true(has_table(1));
}

static void preparation_ends_at_its_deadline(void **state)
{
	sample(1, ALICE);
	run();
	sample(2, ALICE);
	assert_int_equal(unwinding_prepare(world.unwinding, 0), 0);
	assert_int_equal(files().pending, 1);
	work(1, PILOTLIGHT_SYMBOL_OK);
	run();
	assert_true(has_table(1));
}

static size_t count_requested(void)
{
	size_t count = 0;

	for (size_t number = 0; number < FILES_MAX; number++)
		count += world.tasks[number].is_requested;
	return count;
}

/* Tables are made in the order of the requests. So what a sample requests must not wait for what
 * nothing but the preparation has requested. */
static void preparation_leaves_no_queue_behind(void **state)
{
	enum { PREPARED = 100, AT_ONCE_MAX = 8 };

	for (uint32_t number = 0; number < PREPARED; number++)
		sample(number, ALICE);
	assert_int_equal(
		unwinding_prepare(world.unwinding, clock_monotonic_ns() + 10 * 1000000ULL), 0);
	assert_true(count_requested() > 0);
	assert_true(count_requested() <= AT_ONCE_MAX);
	sample(PREPARED - 1, ALICE);
	run();
	work(PREPARED - 1, PILOTLIGHT_SYMBOL_OK);
	run();
	assert_true(has_table(PREPARED - 1));
}

static int make_again(void)
{
	unwinding_free(TAKE_PTR(world.unwinding));
	return make();
}

static int request_again(uint32_t *number)
{
	sample((*number)++, ALICE);
	unwinding_read_requests(world.unwinding);
	return unwinding_run(world.unwinding);
}

static void memory_failures_cost_a_table_only(void **state)
{
	uint32_t number = 0;

	assert_true(FAIL_EACH_ALLOCATION(make_again(), -ENOMEM, !world.unwinding, 0) >= 3);
	unwinding_begin_window(world.unwinding, 1);
	/* The run itself never fails: the file is requested again, or retried. */
	assert_true(FAIL_EACH_ALLOCATION(request_again(&number), 0, true, 0) >= 2);
	assert_true(world.tasks[number - 1].is_requested);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_table_is_loaded_when_it_is_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_flood_of_files_delays_only_its_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_files_are_tried_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_decide_about_a_retry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_that_cannot_be_requested_is_retried, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_that_cannot_be_identified_has_no_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_retry_opens_the_file_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			preparation_loads_tables_before_sampling, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			preparation_ends_at_its_deadline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			preparation_leaves_no_queue_behind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			memory_failures_cost_a_table_only, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

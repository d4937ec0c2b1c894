/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One user's names, stacks and threads take the user's share of a day, and no more. */
#include "store/store.h"
#include "tests/store/store_folder.h"

#include <errno.h>

enum { LIMIT_BYTES = 64 << 20, SAMPLES_OF_A_WINDOW = 300 };

static struct store *open_store(void)
{
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	struct store *store = NULL;

	limits.bytes = LIMIT_BYTES;
	if (store_open(store_folder, &limits, &store, &fault) < 0)
		fail_msg("%s", fault.text);
	return store;
}

/* Letters that do not compress well. */
static void random_text(char *text, size_t size, uint64_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		text[i] = (char)('a' + (seed >> 60));
	}
	text[size] = '\0';
}

/* Adds a sample of generated code, whose name only this sample has. */
static void add_jit_sample(struct profile *profile, uint32_t user, uint64_t number, bool has_thread)
{
	struct profile_thread thread = { .user = user, .owner = user + 1, .tgid = 77, .tid = 77 };
	struct profile_sample sample = { .count = 1 };
	struct profile_frame frame = { 0 };
	uint32_t location;
	char text[200];

	random_text(text, 150, number);
	assert_int_equal(profile_add_string(profile, text, &frame.function), 0);
	thread.comm = frame.function;
	thread.tid = has_thread ? (uint32_t)number : 77;
	if (!has_thread)
		assert_int_equal(profile_add_string(profile, "hostile", &thread.comm), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_jit_location(profile, 3, number, &frame, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired++;
	profile->accounts.stored[PILOTLIGHT_PATH_RING]++;
}

/* Appends a window with an ordinary sample of root, new in this window, and those of the users. */
static void append(struct store *store, uint64_t second, uint32_t users, bool has_threads,
	struct user_excess *excess)
{
	char comm[16];
	const struct fixture_sample ordinary = {
		.pid = 10, .address = 0x3000 + second, .count = 1, .comm = comm
	};
	struct store_window window = { .boot_id = "a boot of a test", .excess = excess };
	struct fault fault = { 0 };
	struct profile *profile;

	(void)snprintf(comm, sizeof(comm), "job-%llu", (unsigned long long)second);
	profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(second), &ordinary, 1);
	assert_int_equal(fixture_binary(profile, BINARY_JIT, "[JIT]", 0), 3);
	for (uint64_t i = 0; i < SAMPLES_OF_A_WINDOW; i++)
		add_jit_sample(profile, 1000 + (uint32_t)(i % users),
			second * SAMPLES_OF_A_WINDOW + i, has_threads);
	if (store_append(store, &window, profile, &fault) < 0)
		fail_msg("%s", fault.text);
	profile_free(profile);
}

static void expect_history(uint64_t windows, uint32_t users, uint64_t excess, bool has_threads)
{
	struct store_found found;
	struct profile *read = fixture_read(store_folder, NULL, &found);
	uint64_t over_quota = 0, ordinary = 0;

	assert_int_equal(found.windows, windows);
	assert_int_equal(fixture_total(read), windows * (SAMPLES_OF_A_WINDOW + 1));
	/* What is over quota stays with its user. */
	for (uint32_t i = 0; i < users; i++)
		assert_int_equal(fixture_owned(read, 1001 + i),
			windows * ((SAMPLES_OF_A_WINDOW + users - 1 - i) / users));
	for (size_t i = 0; i < read->samples.count; i++) {
		const struct profile_sample *sample = &read->samples.items[i];
		const struct profile_location *location =
			&read->locations.items[read->nodes.items[sample->node].location];
		const char *comm =
			string_pool_get(&read->strings, read->threads.items[sample->thread].comm);

		if (read->binaries.items[location->binary].kind == BINARY_SYNTHETIC) {
			const struct profile_frame *frame =
				&read->frames.items[location->first_frame];

			assert_string_equal(string_pool_get(&read->strings, frame->function),
				"[names over quota]");
			/* A thread that the day knows keeps its name. */
			assert_string_equal(comm, has_threads ? "[names over quota]" : "hostile");
			over_quota += sample->count;
		}
		ordinary += strncmp(comm, "job-", 4) == 0 ? sample->count : 0;
	}
	assert_int_equal(over_quota, excess);
	assert_int_equal(ordinary, windows);
	assert_int_equal(found.days_damaged, 0);
	profile_free(read);
}

static long long dictionary_bytes(void)
{
	char path[DAY_PATH_BYTES];

	fixture_path(path, store_folder);
	return fixture_sql(path, "SELECT sum(length(body)) FROM dictionary");
}

static void flood(uint32_t users, bool has_threads)
{
	struct user_excess excess = { 0 };
	struct store *store = open_store();
	long long before, after;
	uint64_t second = 0;

	for (; excess.total[USER_HISTORY] < 20 * SAMPLES_OF_A_WINDOW; second += 10)
		append(store, second, users, has_threads, &excess);
	before = dictionary_bytes();
	for (int i = 0; i < 100; i++, second += 10)
		append(store, second, users, has_threads, &excess);
	after = dictionary_bytes();
	/* 100 windows with all their names take 2 MB, those with the ordinary sample's 20 KB. */
	assert_true(after < before + 100 * 1000);
	expect_history(second / 10, users, excess.total[USER_HISTORY], has_threads);
	assert_true(user_excess_is_used(&excess.lines[0]));
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (user_excess_is_used(&excess.lines[i]))
			assert_in_range(excess.lines[i].user, 1000, 1000 + users - 1);
	store_close(store);
}

static void a_users_names_take_a_share_of_a_day(void **state)
{
	flood(1, false);
}

static void a_users_threads_take_a_share_of_a_day(void **state)
{
	flood(1, true);
}

static void the_shares_of_many_users_leave_room_for_others(void **state)
{
	flood(8, true);
}

static void each_day_has_its_own_shares(void **state)
{
	struct user_excess excess = { 0 }, next = { 0 };
	struct store *store = open_store();
	uint64_t second = 0;

	for (; excess.total[USER_HISTORY] == 0; second += 10)
		append(store, second, 1, false, &excess);
	append(store, 86400, 1, false, &next);
	assert_int_equal(next.total[USER_HISTORY], 0);
	store_close(store);
}

/* As after a failed write. */
static void shares_outlive_a_store_that_is_opened_again(void **state)
{
	struct user_excess excess = { 0 }, next = { 0 }, fresh = { 0 };
	struct store *store = open_store();
	struct store_shares shares;
	uint64_t second = 0;

	for (; excess.total[USER_HISTORY] == 0; second += 10)
		append(store, second, 1, false, &excess);
	shares = *store_shares(store);
	store_close(store);
	store = open_store();
	append(store, second, 1, false, &fresh);
	assert_int_equal(fresh.total[USER_HISTORY], 0);
	store_close(store);
	store = open_store();
	store_set_shares(store, &shares);
	append(store, second + 10, 1, false, &next);
	assert_true(next.total[USER_HISTORY] > 0);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_users_names_take_a_share_of_a_day),
		STORE_TEST(a_users_threads_take_a_share_of_a_day),
		STORE_TEST(the_shares_of_many_users_leave_room_for_others),
		STORE_TEST(each_day_has_its_own_shares),
		STORE_TEST(shares_outlive_a_store_that_is_opened_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store.h"
#include "tests/store/store_folder.h"

#include <errno.h>

static const struct fixture_sample some[] = {
	{ .pid = 10, .address = 0x3000, .count = 5, .comm = "alpha" },
	{ .pid = 10, .address = 0x3000, .count = 2, .comm = "alpha", .in_kernel = true },
	{ .pid = 20, .address = 0x4000, .count = 3, .comm = "beta" },
};

static const char *const described[] = {
	"/system.slice/alpha.service/alpha;/usr/bin/prog+1000;/usr/lib/libwork.so+3000 5",
	("/system.slice/alpha.service/alpha;/usr/bin/prog+1000;/usr/lib/libwork.so+3000;"
	 "do_work@work.c:7 2"),
	"/system.slice/beta.service/beta;/usr/bin/prog+1000;/usr/lib/libwork.so+4000 3",
};

static void appended_windows_are_read(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(100), some, 3), *read;
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;

	store = fixture_open(store_folder);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	/* While it is written to. */
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.windows, 1);
	assert_int_equal(found.supplements, 0);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(found.start_ns, profile->start_ns);
	assert_int_equal(found.end_ns, profile->end_ns);
	assert_int_equal(read->samples.count, 3);
	for (size_t i = 0; i < 3; i++)
		fixture_expect(read, described[i]);
	assert_int_equal(read->period_ns, FIXTURE_PERIOD);
	assert_int_equal(read->cpu_count, 4);
	assert_string_equal(string_pool_get(&read->strings, read->event), "cpu-clock");
	assert_memory_equal(&read->accounts, &profile->accounts, sizeof(read->accounts));
	assert_int_equal(read->threads.items[0].tid, read->threads.items[0].tgid + 1);
	assert_int_equal(
		read->threads.items[0].process_start_ns, SECONDS(1) * read->threads.items[0].tgid);
	assert_int_equal(read->binaries.items[0].build_id.size, 20);
	profile_free(read);
	profile_free(profile);
	store_close(store);
}

static void ids_go_on_after_a_restart(void **state)
{
	struct store_found found;
	struct profile *read;

	for (uint32_t i = 0; i < 4; i++) {
		struct profile *profile =
			fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, some, 3);
		struct store *store = fixture_open(store_folder);
		struct fault fault = { 0 };

		assert_int_equal(fixture_append(store, profile, &fault), 0);
		store_close(store);
		profile_free(profile);
	}
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.windows, 4);
	assert_int_equal(read->samples.count, 3);
	assert_int_equal(fixture_total(read), 40);
	assert_int_equal(read->accounts.fired, 4 * 13);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
}

static void one_writer_at_a_time(void **state)
{
	struct store *store, *second = NULL;
	struct fault fault = { 0 };

	store = fixture_open(store_folder);
	assert_int_equal(store_open(store_folder, &store_default_limits, &second, &fault), -EBUSY);
	assert_non_null(strstr(fault.text, "another process"));
	assert_null(second);
	store_close(store);
	store = fixture_open(store_folder);
	store_close(store);
}

static void a_folder_that_is_not_there(void **state)
{
	struct store_found found;
	struct fault fault = { 0 };
	struct store *store = NULL;
	struct profile *read;

	assert_int_equal(
		store_open("/nowhere/at/all", &store_default_limits, &store, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nowhere/at/all"));
	read = fixture_read("/nowhere/at/all", NULL, &found);
	assert_int_equal(found.windows, 0);
	assert_int_equal(read->samples.count, 0);
	profile_free(read);
}

static void windows_that_make_no_sense_are_refused(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 3);
	struct fault fault = { 0 };
	struct store *store;

	store = fixture_open(store_folder);
	profile->period_ns = 0;
	assert_int_equal(fixture_append(store, profile, &fault), -EINVAL);
	profile->period_ns = 1;
	profile->end_ns = profile->start_ns - 1;
	assert_int_equal(fixture_append(store, profile, &fault), -EINVAL);
	profile->end_ns = UINT64_MAX;
	assert_int_equal(fixture_append(store, profile, &fault), -EINVAL);
	profile_free(profile);
	store_close(store);
}

static void days_and_clocks_may_jump(void **state)
{
	static const uint64_t starts[] = { 5 * DAY_NS - SECONDS(5), DAY_NS, 4 * DAY_NS, 10,
		4 * DAY_NS + SECONDS(5), 5 * DAY_NS };
	struct store_selection selection = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;

	store = fixture_open(store_folder);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + starts[i], 7, 1U << i), 0);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(fixture_total(read), 63);
	assert_int_equal(found.start_ns, FIXTURE_DAY_NS + 10);
	profile_free(read);
	/* The first one began on the day before and lasts into this one. */
	selection.start_ns = FIXTURE_DAY_NS + 5 * DAY_NS;
	selection.end_ns = selection.start_ns + 1;
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(fixture_total(read), 1 + 32);
	profile_free(read);
	selection.start_ns = FIXTURE_DAY_NS + 4 * DAY_NS + SECONDS(10);
	selection.end_ns = FIXTURE_DAY_NS + 5 * DAY_NS - SECONDS(5);
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(fixture_total(read), 16);
	profile_free(read);
}

static bool is_beta(void *context, const struct store_thread *thread)
{
	(*(size_t *)context)++;
	assert_int_equal(thread->tid, thread->tgid + 1);
	return strcmp(thread->exe, "/usr/bin/beta") == 0 &&
	       strcmp(thread->cgroup, "/system.slice/beta.service") == 0;
}

static bool is_kernel(void *context, const struct profile_binary *binary, const char *path)
{
	assert_int_equal(binary->kind == BINARY_KERNEL, strcmp(path, "[kernel.kallsyms]") == 0);
	return binary->kind == BINARY_KERNEL;
}

static void only_what_is_selected(void **state)
{
	struct profile *profile, *read;
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;
	size_t asked = 0;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 3; i++) {
		profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, some, 3);
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	selection.wants_thread = is_beta;
	selection.context = &asked;
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(asked, 2);
	assert_int_equal(read->samples.count, 1);
	assert_int_equal(fixture_total(read), 9);
	assert_int_equal(read->threads.count, 1);
	assert_int_equal(read->accounts.fired, 3 * 13);
	profile_free(read);

	selection.wants_thread = NULL;
	selection.wants_binary = is_kernel;
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(read->samples.count, 1);
	assert_int_equal(fixture_total(read), 6);
	profile_free(read);
	store_close(store);
}

/* JIT code: the same address and function, in other lines, comes back as two. */
static void jit_code_comes_back_by_its_lines(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1), *read;
	struct profile_sample sample = { .count = 1 };
	struct profile_frame frame = { .line = 3 };
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;
	uint32_t location;

	store = fixture_open(store_folder);
	assert_int_equal(fixture_binary(profile, BINARY_JIT, "[jit]", 0), 3);
	assert_int_equal(profile_add_string(profile, "hot_loop", &frame.function), 0);
	assert_int_equal(profile_add_string(profile, "a.js", &frame.file), 0);
	for (uint32_t i = 0; i < 2; i++) {
		sample.count = 1 + i;
		frame.line += i;
		assert_int_equal(
			profile_add_jit_location(profile, 3, 0x7000, &frame, &location), 0);
		assert_int_equal(
			profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(read->samples.count, 3);
	fixture_expect(read, "/system.slice/alpha.service/alpha;hot_loop@a.js:3 1");
	fixture_expect(read, "/system.slice/alpha.service/alpha;hot_loop@a.js:4 2");
	profile_free(read);
	profile_free(profile);
}

/* Rows of the dictionary are written anew as one now and then, across restarts too. */
static void a_dictionary_has_few_rows(void **state)
{
	enum { WINDOWS = 200 };
	char path[DAY_PATH_BYTES];
	struct store_found found;
	struct profile *read;
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) * i, i + 1, 1), 0);
		if (i == WINDOWS / 2 + 5) {
			store_close(store);
			store = fixture_open(store_folder);
		}
	}
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(read->threads.count, WINDOWS);
	assert_int_equal(fixture_total(read), WINDOWS);
	profile_free(read);
	fixture_path(path, store_folder);
	assert_in_range(fixture_sql(path, "SELECT count(*) FROM dictionary WHERE part = 1"), 2, 70);
}

static void threads_may_be_merged(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX, .merges_threads = true };
	struct store_found found;
	struct profile *read;
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + i, i + 1, 2), 0);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(read->threads.count, 9);
	assert_int_equal(read->samples.count, 9);
	profile_free(read);
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(read->threads.count, 1);
	assert_int_equal(read->threads.items[0].tgid, 0);
	assert_int_equal(read->samples.count, 1);
	assert_int_equal(fixture_total(read), 18);
	profile_free(read);
}

static void one_event_at_a_time(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct profile *profile, *read;
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 2; i++) {
		profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, some, 1 + i);
		assert_int_equal(
			profile_add_string(profile, i ? "cycles" : "cpu-clock", &profile->event),
			0);
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	store_close(store);
	read = fixture_read(store_folder, &selection, &found);
	assert_true(found.has_other_events);
	assert_int_equal(found.windows, 1);
	assert_int_equal(fixture_total(read), 5);
	profile_free(read);
	selection.event = "cycles";
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(fixture_total(read), 7);
	assert_string_equal(string_pool_get(&read->strings, read->event), "cycles");
	profile_free(read);
}

/* 100 samples of 10 ms and 7 of 25 ms are 1175 ms, hence 117 or 118 of 10 ms. */
static void periods_are_brought_to_the_shortest(void **state)
{
	struct fixture_sample samples[107];
	struct profile *profile, *read;
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;

	for (uint32_t i = 0; i < 107; i++)
		samples[i] = (struct fixture_sample){
			.pid = i + 1, .address = 0x5000 + i, .count = 1, .comm = "p"
		};
	store = fixture_open(store_folder);
	profile = fixture_profile(FIXTURE_DAY_NS, samples, 7);
	profile->period_ns = 25000000;
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
	profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(10), samples + 7, 100);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(read->period_ns, 10000000);
	assert_int_equal(read->samples.count, 107);
	assert_int_equal(fixture_total(read), 117);
	/* 7 and 100 stored, and 7 and 100 lost; the accounts tell of the same samples. */
	assert_int_equal(accounts_stored(&read->accounts), 117);
	assert_int_equal(accounts_lost(&read->accounts), 117 + 1);
	assert_int_equal(read->accounts.fired, 235);
	assert_int_equal(read->possible_cpu_ns, SECONDS(20) * 4);
	assert_int_equal(read->covered_ns, SECONDS(20));
	assert_int_equal(read->longest_period_ns, 25000000);
	assert_true(accounts_close(&read->accounts));
	for (size_t i = 0; i < 107; i++)
		assert_in_range(read->samples.items[i].count, 1, 3);
	profile_free(read);
}

static void supplements_add_samples_and_no_accounts(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 3), *read;
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;
	char path[DAY_PATH_BYTES];

	store = fixture_open(store_folder);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	store_close(store);
	fixture_path(path, store_folder);
	(void)fixture_sql(path, FIXTURE_SUPPLEMENT);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.windows, 1);
	assert_int_equal(found.supplements, 1);
	assert_int_equal(read->possible_cpu_ns, SECONDS(10) * 4);
	assert_int_equal(read->covered_ns, SECONDS(10));
	assert_int_equal(fixture_total(read), 20);
	assert_int_equal(read->accounts.fired, 13);
	profile_free(read);
	profile_free(profile);
}

/* More threads than a generation holds, in one window and in many. */
static void generations_follow_each_other(void **state)
{
	enum { THREADS = 60000 };
	struct profile *profile, *read;
	struct store_found found;
	struct fault fault = { 0 };
	struct store_selection selection = { .end_ns = UINT64_MAX, .merges_threads = true };
	struct store *store;

	store = fixture_open(store_folder);
	assert_int_equal(profile_new(64 << 20, &profile), 0);
	profile_free(profile);
	profile = fixture_profile(FIXTURE_DAY_NS, some, 3);
	profile->limit_bytes = 64 << 20;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct fixture_sample sample = {
			.pid = 1000 + i, .address = 0x9000 + i % 50, .count = 1, .comm = "many"
		};

		fixture_add(profile, &sample);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(20), 5, 3), 0);
	store_close(store);
	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(30), 6, 3), 0);
	store_close(store);
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(found.windows, 3);
	assert_true(found.supplements >= 2);
	assert_int_equal(fixture_total(read), 10 + THREADS + 6);
	assert_int_equal(read->accounts.fired, profile->accounts.fired + 8);
	profile_free(read);
	profile_free(profile);
}

struct seen_windows {
	size_t count;
	uint64_t last_ns, samples, fired;
};

static int see_window(void *context, const struct store_window_line *line)
{
	struct seen_windows *seen = context;

	assert_true(line->start_ns >= seen->last_ns);
	assert_true(line->bytes > 0);
	seen->last_ns = line->start_ns;
	seen->samples += line->samples;
	seen->fired += line->accounts.fired;
	seen->count++;
	return seen->count == 100 ? -ECANCELED : 0;
}

static void windows_are_listed(void **state)
{
	struct seen_windows seen = { 0 };
	struct store_summary summary;
	struct fault fault = { 0 };
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + (4 - i) * DAY_NS / 2, 1, i + 1),
			0);
	store_close(store);
	assert_int_equal(
		store_reader_each(store_folder, 0, UINT64_MAX, see_window, &seen, &fault), 0);
	assert_int_equal(seen.count, 5);
	assert_int_equal(seen.samples, 15);
	assert_int_equal(seen.fired, 20);
	seen = (struct seen_windows){ .count = 99 };
	assert_int_equal(store_reader_each(store_folder, 0, UINT64_MAX, see_window, &seen, &fault),
		-ECANCELED);
	assert_int_equal(store_reader_summary(store_folder, &summary, &fault), 0);
	assert_int_equal(summary.days, 3);
	assert_int_equal(summary.windows, 5);
	assert_int_equal(summary.first_ns, FIXTURE_DAY_NS);
	assert_int_equal(summary.last_ns, FIXTURE_DAY_NS + 2 * DAY_NS + SECONDS(10));
	assert_true(summary.bytes > 0);
	assert_int_equal(summary.days_set_aside, 0);
}

/* Whose ends and starts differ by some clock reads, in either direction. */
static void each_window_ends_in_one_of_adjacent_times(void **state)
{
	const uint64_t ends_ns[] = { FIXTURE_DAY_NS, FIXTURE_DAY_NS + SECONDS(20) - 3000,
		FIXTURE_DAY_NS + SECONDS(30), FIXTURE_DAY_NS + SECONDS(99) };
	const uint64_t samples[] = { 1 + 2, 4, 8 };
	struct store *store = fixture_open(store_folder);

	/* Each is of 10 s. */
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) - 3000, 1, 2), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(20) - 5000, 1, 4), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(30), 1, 8), 0);
	store_close(store);
	for (size_t i = 0; i < 3; i++) {
		const struct store_selection selection = {
			.start_ns = ends_ns[i],
			.end_ns = ends_ns[i + 1],
			.by_end = true,
			.merges_threads = i == 1,
		};
		struct profile *read = NULL;
		struct store_found found;
		struct fault fault = { 0 };
		uint64_t count = 0;

		assert_int_equal(
			store_reader_read(store_folder, &selection, 1 << 20, &read, &found, &fault),
			0);
		for (size_t j = 0; j < read->samples.count; j++)
			count += read->samples.items[j].count;
		assert_int_equal(count, samples[i]);
		profile_free(read);
	}
}

static void a_profile_that_is_too_large(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct profile *read = NULL;
	struct store_found found;
	struct fault fault = { 0 };
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + i, i + 1, 1), 0);
	store_close(store);
	assert_int_equal(
		store_reader_read(store_folder, &selection, 4096, &read, &found, &fault), -E2BIG);
	assert_null(read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(appended_windows_are_read),
		STORE_TEST(ids_go_on_after_a_restart),
		STORE_TEST(one_writer_at_a_time),
		cmocka_unit_test(a_folder_that_is_not_there),
		STORE_TEST(windows_that_make_no_sense_are_refused),
		STORE_TEST(days_and_clocks_may_jump),
		STORE_TEST(only_what_is_selected),
		STORE_TEST(jit_code_comes_back_by_its_lines),
		STORE_TEST(a_dictionary_has_few_rows),
		STORE_TEST(threads_may_be_merged),
		STORE_TEST(one_event_at_a_time),
		STORE_TEST(periods_are_brought_to_the_shortest),
		STORE_TEST(supplements_add_samples_and_no_accounts),
		STORE_TEST(generations_follow_each_other),
		STORE_TEST(windows_are_listed),
		STORE_TEST(each_window_ends_in_one_of_adjacent_times),
		STORE_TEST(a_profile_that_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds hold what their windows hold, no more and no less, and are only read where that is asked.
 */
#include "store/store.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_folder.h"

#include <errno.h>

enum { WINDOWS = 360 };

static const struct store_selection merged = { .end_ns = UINT64_MAX, .merges_threads = true };

static int64_t ask(const char *folder, const char *sql)
{
	char path[DAY_PATH_BYTES];

	fixture_path(path, folder);
	return fixture_sql(path, sql);
}

#define COUNT_FOLDS "SELECT count(*) FROM windows WHERE level >= 8"
/* Whoever reads the windows themselves meets damage. */
#define DAMAGE_FOLDED                                                   \
	"UPDATE bodies SET body = x'01284a' WHERE window IN (SELECT id" \
	" FROM windows WHERE fold > 0)"

/* An hour of windows with two commands, of ever new processes, in some stacks. */
static void append_hour(struct store *store, uint64_t start_ns)
{
	struct fault fault = { 0 };

	for (uint32_t i = 0; i < WINDOWS; i++) {
		struct fixture_sample samples[] = {
			{ .pid = 1, .address = 0x3000 + i % 5, .count = 3, .comm = "stays" },
			{ .pid = 100 + i, .address = 0x4000 + i % 3, .count = 1, .comm = "goes" },
			{ .pid = 100 + i,
				.address = 0x4000,
				.count = 1 + i,
				.comm = "goes",
				.in_kernel = true },
		};
		struct profile *profile = fixture_profile(start_ns + SECONDS(10) * i, samples, 3);

		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
}

static void expect_same(const struct profile *a, const struct profile *b)
{
	char text[512];

	assert_int_equal(a->samples.count, b->samples.count);
	assert_int_equal(a->period_ns, b->period_ns);
	assert_int_equal(a->cpu_count, b->cpu_count);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_memory_equal(&a->accounts, &b->accounts, sizeof(a->accounts));
	for (size_t i = 0; i < a->samples.count; i++) {
		fixture_describe(a, i, text, sizeof(text));
		fixture_expect(b, text);
	}
}

/* A store with an hour in it, made coarser; what was read of it before. */
static struct store *make_folded(const char *folder, uint64_t hours, struct profile **ret_before)
{
	struct store *store = fixture_open(folder);
	struct store_found found;

	append_hour(store, FIXTURE_DAY_NS);
	*ret_before = fixture_read(folder, &merged, &found);
	assert_int_equal(found.windows, WINDOWS);
	assert_int_equal(ask(folder, COUNT_FOLDS), 0);
	maintain(store, FIXTURE_DAY_NS + SECONDS(3600) * hours);
	return store;
}

static void folds_hold_what_their_windows_hold(void **state)
{
	/* After 4 h: of ten minutes. After 7: of four hours. After 73: of a day. */
	static const struct {
		uint64_t hours;
		int64_t folds;
		uint64_t windows;
	} ages[] = { { 1, 0, 360 }, { 4, 6, 60 }, { 7, 1, 60 }, { 73, 1, 6 } };

	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		struct store_selection processes = merged;
		struct profile *before, *read;
		struct store_found found;
		struct store *store;
		char folder[64];

		fixture_folder(folder);
		store = make_folded(folder, ages[i].hours, &before);
		assert_int_equal(ask(folder, COUNT_FOLDS), ages[i].folds);
		(void)ask(folder, DAMAGE_FOLDED);
		read = fixture_read(folder, &merged, &found);
		assert_int_equal(found.windows, ages[i].windows);
		assert_int_equal(found.days_damaged, 0);
		expect_same(read, before);
		profile_free(read);
		processes.wants_processes = true;
		read = fixture_read(folder, &processes, &found);
		assert_int_equal(found.days_damaged, ages[i].folds > 0);
		profile_free(read);
		profile_free(before);
		store_close(store);
		fixture_remove(folder);
	}
}

/* It is its windows' affair then. */
static void a_damaged_fold_costs_nothing(void **state)
{
	static const char *const ways[] = {
		("UPDATE bodies SET body = x'01284a' WHERE window IN"
		 " (SELECT id FROM windows WHERE level >= 8)"),
		"DELETE FROM bodies WHERE window IN (SELECT id FROM windows WHERE level >= 8)",
		"DELETE FROM windows WHERE level >= 8",
		"UPDATE windows SET samples = samples + 1 WHERE level >= 8",
		"UPDATE windows SET period_ns = period_ns + 1 WHERE level >= 8",
		"UPDATE dictionary SET body = x'02' WHERE part = 2",
		"DELETE FROM dictionary WHERE part = 2",
		"UPDATE windows SET thread_generation = 9 WHERE level >= 8",
	};
	char folder[64];

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct profile *before, *read;
		struct store_found found;
		struct store *store;

		fixture_folder(folder);
		store = make_folded(folder, 4, &before);
		(void)ask(folder, ways[i]);
		read = fixture_read(folder, &merged, &found);
		assert_int_equal(found.days_damaged, 0);
		assert_int_equal(found.windows, 60);
		expect_same(read, before);
		profile_free(read);
		profile_free(before);
		/* Nor does it hold up what comes. */
		maintain(store, FIXTURE_DAY_NS + 4 * DAY_NS);
		store_close(store);
		fixture_remove(folder);
	}
}

static void late_samples_are_counted_once(void **state)
{
	static const struct fixture_sample late = {
		.pid = 7777, .address = 0x3000, .count = 1000, .comm = "stays"
	};
	struct profile *before, *supplement, *read;
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;
	uint64_t total;

	store = make_folded(store_folder, 4, &before);
	total = fixture_total(before);
	supplement = fixture_profile(FIXTURE_DAY_NS + SECONDS(600), &late, 1);
	for (uint64_t hours = 4; hours < 80; hours += 25) {
		assert_int_equal(fixture_append(store, supplement, &fault), 0);
		(void)ask(store_folder, FIXTURE_SUPPLEMENT);
		total += 1000;
		for (int round = 0; round < 2; round++) {
			read = fixture_read(store_folder, &merged, &found);
			assert_int_equal(fixture_total(read), total);
			assert_int_equal(read->samples.count, before->samples.count);
			assert_int_equal(found.supplements > 0, true);
			assert_memory_equal(
				&read->accounts, &before->accounts, sizeof(read->accounts));
			profile_free(read);
			maintain(store, FIXTURE_DAY_NS + SECONDS(3600) * hours);
		}
		assert_int_equal(
			ask(store_folder, "SELECT count(*) FROM windows WHERE fold = 0"), 0);
	}
	/* All of it is in folds by now. */
	(void)ask(store_folder, DAMAGE_FOLDED);
	read = fixture_read(store_folder, &merged, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(fixture_total(read), total);
	profile_free(read);
	profile_free(supplement);
	profile_free(before);
	store_close(store);
}

/* Ten minutes of the hour and some of the next ones, from any minute on. */
static void a_part_of_a_fold_is_read_from_windows(void **state)
{
	struct profile *before;
	struct store *store;

	store = make_folded(store_folder, 7, &before);
	assert_int_equal(ask(store_folder, COUNT_FOLDS), 1);
	for (uint64_t minute = 0; minute < 50; minute += 7) {
		struct store_selection selection = merged, processes;
		struct profile *read, *expected;
		struct store_found found, other;

		selection.start_ns = FIXTURE_DAY_NS + SECONDS(60) * minute;
		selection.end_ns = selection.start_ns + SECONDS(60 * 10);
		processes = selection;
		processes.wants_processes = true;
		read = fixture_read(store_folder, &selection, &found);
		expected = fixture_read(store_folder, &processes, &other);
		assert_int_equal(found.windows, 10);
		assert_memory_equal(&found, &other, sizeof(found));
		expect_same(read, expected);
		profile_free(expected);
		profile_free(read);
	}
	profile_free(before);
	store_close(store);
}

struct asked {
	size_t count, with_tid;
};

static bool is_stays(void *context, const struct store_thread *thread)
{
	struct asked *asked = context;

	asked->count++;
	asked->with_tid += thread->tid != 0 || thread->tgid != 0 || thread->process_start_ns != 0;
	return strcmp(thread->comm, "stays") == 0;
}

static bool is_kernel(void *context, const struct profile_binary *binary, const char *path)
{
	return binary->kind == BINARY_KERNEL;
}

static void folds_are_selected_from_like_windows(void **state)
{
	struct store_selection selection = merged;
	struct profile *before, *read;
	struct asked asked = { 0 };
	struct store_found found;
	struct store *store;

	store = make_folded(store_folder, 7, &before);
	selection.wants_thread = is_stays;
	selection.context = &asked;
	for (int round = 0; round < 2; round++) {
		read = fixture_read(store_folder, &selection, &found);
		assert_int_equal(fixture_total(read), 3 * WINDOWS);
		assert_int_equal(read->samples.count, 5);
		assert_int_equal(asked.count, round ? 1 + WINDOWS : 2);
		assert_int_equal(asked.with_tid, round ? 1 + WINDOWS : 0);
		profile_free(read);
		asked = (struct asked){ 0 };
		selection.wants_processes = true;
	}
	selection = merged;
	selection.wants_binary = is_kernel;
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(fixture_total(read), WINDOWS * (WINDOWS + 1) / 2);
	profile_free(read);
	profile_free(before);
	store_close(store);
}

/* Of many generations of threads one fold is made in the end. */
static void generations_of_threads_are_folded(void **state)
{
	enum { THREADS = 20000, ROUNDS = 4 };
	struct fault fault = { 0 };
	struct profile *profile, *read;
	struct store_found found;
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * round, NULL, 0);
		profile->limit_bytes = 64 << 20;
		for (uint32_t i = 0; i < THREADS; i++)
			fixture_add(profile, &(struct fixture_sample){
						     .pid = 1 + round * THREADS + i,
						     .address = 0x9000 + i % 50,
						     .count = 1,
						     .comm = "many",
					     });
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, FIXTURE_DAY_NS + 4 * DAY_NS);
	assert_true(ask(store_folder, "SELECT count(DISTINCT thread_generation) FROM windows "
				      "WHERE level < 8") > 2);
	assert_int_equal(ask(store_folder, COUNT_FOLDS), 1);
	(void)ask(store_folder, DAMAGE_FOLDED);
	read = fixture_read(store_folder, &merged, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(found.windows + found.supplements,
		ask(store_folder, "SELECT count(*) FROM windows WHERE level < 8"));
	assert_int_equal(read->threads.count, 1);
	assert_int_equal(read->samples.count, 50);
	assert_int_equal(fixture_total(read), THREADS * ROUNDS);
	profile_free(read);
	store_close(store);
}

/* More rows than a fold may have: then there is none of it, or several. */
static void oversized_windows_are_not_folded(void **state)
{
	enum { ROWS = 20000, ROUNDS = 3 };
	struct fault fault = { 0 };
	struct profile *profile, *read;
	struct store_found found;
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t rows = round == 0 ? 2 * ROWS : ROWS;

		profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(60) * round, NULL, 0);
		profile->limit_bytes = 64 << 20;
		profile->end_ns = profile->start_ns + SECONDS(60);
		for (uint32_t i = 0; i < rows; i++)
			fixture_add(profile, &(struct fixture_sample){
						     .pid = 1,
						     .address = 0x9000 + i + round * ROWS,
						     .count = 1,
						     .comm = "large",
					     });
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, FIXTURE_DAY_NS + SECONDS(3600 * 3));
	assert_int_equal(ask(store_folder, COUNT_FOLDS), 2);
	assert_int_equal(
		ask(store_folder, "SELECT count(*) FROM windows WHERE fold = -1 AND level < 8"), 1);
	read = fixture_read(store_folder, &merged, &found);
	assert_int_equal(found.windows, ROUNDS);
	assert_int_equal(fixture_total(read), ROWS * (ROUNDS + 1));
	profile_free(read);
	store_close(store);
}

static void failing_allocations_cost_no_fold(void **state)
{
	struct fault fault = { 0 };
	struct profile *before, *read;
	struct store_found found;
	struct store *store;
	size_t n;
	int r = 0;

	store = make_folded(store_folder, 1, &before);
	for (n = 0; n < 100000; n += 1 + n / 50) {
		fault = (struct fault){ 0 };
		fail_allocation(n);
		r = store_maintain(store, FIXTURE_DAY_NS + SECONDS(3600 * 7), UINT64_MAX, &fault);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		read = fixture_read(store_folder, &merged, &found);
		expect_same(read, before);
		profile_free(read);
	}
	assert_int_equal(r, 0);
	assert_true(n > 50);
	assert_int_equal(ask(store_folder, COUNT_FOLDS), 1);
	(void)ask(store_folder, DAMAGE_FOLDED);
	for (n = 0; n < 1000; n++) {
		fail_allocation(n);
		r = store_reader_read(store_folder, &merged, 8 << 20, &read, &found, &fault);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	expect_same(read, before);
	profile_free(read);
	profile_free(before);
	store_close(store);
}

static uint64_t claimed(const struct profile *profile, const char *claims)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];

		if (strcmp(string_pool_get(&profile->strings,
				   profile->threads.items[sample->thread].claims),
			    claims) == 0)
			sum += sample->count;
	}
	return sum;
}

/* One program of two users, with what it claims, and of nobody, in one cgroup. */
static void folds_keep_users_apart(void **state)
{
	const char *folder = store_folder;
	struct store *store = fixture_open(folder);
	struct fault fault = { 0 };
	struct store_found found;
	struct profile *read;

	for (uint32_t i = 0; i < WINDOWS; i++) {
		const struct fixture_sample samples[] = {
			{ .pid = 100 + i,
				.address = 0x3000,
				.count = 3,
				.comm = "one",
				.owner = 1001 },
			{ .pid = 900 + i,
				.address = 0x3000,
				.count = 2,
				.comm = "one",
				.owner = 1002,
				.claims = "shop,eu" },
			{ .pid = 5000 + i, .address = 0x3000, .count = 1, .comm = "one" },
		};
		struct profile *profile =
			fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, samples, 3);

		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, FIXTURE_DAY_NS + SECONDS(3600) * 73);
	store_close(store);
	assert_int_equal(ask(folder, COUNT_FOLDS), 1);
	(void)ask(folder, DAMAGE_FOLDED);
	read = fixture_read(folder, &merged, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(read->threads.count, 3);
	assert_int_equal(fixture_owned(read, 1001), 3 * WINDOWS);
	assert_int_equal(fixture_owned(read, 1002), 2 * WINDOWS);
	assert_int_equal(fixture_owned(read, 0), WINDOWS);
	assert_int_equal(claimed(read, "shop,eu"), 2 * WINDOWS);
	assert_int_equal(claimed(read, ""), 4 * WINDOWS);
	profile_free(read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(folds_keep_users_apart),
		cmocka_unit_test(folds_hold_what_their_windows_hold),
		cmocka_unit_test(a_damaged_fold_costs_nothing),
		STORE_TEST(late_samples_are_counted_once),
		STORE_TEST(a_part_of_a_fold_is_read_from_windows),
		STORE_TEST(folds_are_selected_from_like_windows),
		STORE_TEST(generations_of_threads_are_folded),
		STORE_TEST(oversized_windows_are_not_folded),
		STORE_TEST(failing_allocations_cost_no_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

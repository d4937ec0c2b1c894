/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a trace or a span are selected, and a profile gets the spans of its samples. */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/times_fixture.h"

#include <errno.h>

static struct pilotlight_thread_context ids_of(int trace, int span)
{
	struct pilotlight_thread_context ids;

	memset(ids.trace_id, trace, sizeof(ids.trace_id));
	memset(ids.span_id, span, sizeof(ids.span_id));
	return ids;
}

static struct span_choice choice_of(int trace, int span)
{
	return (struct span_choice){
		.has_trace = trace > 0,
		.has_span = span > 0,
		.ids = ids_of(trace, span),
	};
}

/* Of the last sample that was added, of one count. */
static void note(struct profile *profile, int trace, int span)
{
	const struct pilotlight_thread_context ids = ids_of(trace, span);
	struct profile_sample sample = profile->samples.items[profile->samples.count - 1];

	sample.count = 1;
	profile_note_span(profile, &sample, &ids);
}

/* Three counts of two spans and one of none at one place, one of another trace elsewhere. */
static void append_spans(struct store *store, uint64_t start_ns)
{
	const struct timed first = { .pid = 1, .address = 0x3000, .count = 1, .first_ms = 10 };
	const struct timed second = { .pid = 1, .address = 0x4000, .count = 1, .first_ms = 20 };
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct fault fault = { 0 };

	profile_keep_times(profile, monotonic_of(start_ns));
	profile->keeps_spans = true;
	for (int i = 0; i < 4; i++) {
		add_timed(profile, &first);
		if (i > 0)
			note(profile, 1, i < 3 ? 1 : 2);
	}
	add_timed(profile, &second);
	note(profile, 2, 3);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

static struct profile *read_spans(
	const char *folder, int trace, int span, struct store_found *ret_found)
{
	const struct span_choice choice = choice_of(trace, span);
	const struct store_selection selection = {
		.start_ns = START,
		.end_ns = START + SECONDS(60),
		.merges_threads = true,
		.spans = &choice,
	};

	return fixture_read(folder, &selection, ret_found);
}

static void expect(const char *folder, int trace, int span, uint64_t total)
{
	struct store_found found;
	struct profile *read = read_spans(folder, trace, span, &found);

	assert_int_equal(fixture_total(read), total);
	assert_int_equal(found.windows, 3);
	assert_int_equal(found.coarse_windows, 0);
	assert_int_equal(found.days_damaged, 0);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
}

/* The second window keeps no times, and so no spans. */
static void a_trace_is_selected(void **state)
{
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spans(store, START);
	assert_int_equal(fixture_append_one(store, START + SECONDS(10), 1, 5), 0);
	append_spans(store, START + SECONDS(20));
	store_close(store);
	expect(folder, 1, 0, 6);
	expect(folder, 1, 1, 4);
	expect(folder, 0, 2, 2);
	expect(folder, 2, 0, 2);
	expect(folder, 2, 1, 0);
	expect(folder, 9, 0, 0);
	read = read_spans(folder, 1, 0, &found);
	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+3000 6");
	assert_true(found.lacks_spans);
	profile_free(read);
	fixture_remove(folder);
}

/* They last as long as the times of samples. */
static void merged_windows_keep_their_spans(void **state)
{
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spans(store, START);
	assert_int_equal(fixture_append_one(store, START + SECONDS(10), 1, 5), 0);
	append_spans(store, START + SECONDS(20));
	maintain(store, START + SECONDS(3 * 3600));
	fixture_expect_windows(folder, 1, 0);
	read = read_spans(folder, 1, 1, &found);
	assert_int_equal(fixture_total(read), 4);
	assert_int_equal(found.days_damaged, 0);
	assert_false(found.lacks_spans);
	profile_free(read);
	read = read_spans(folder, 2, 3, &found);
	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+4000 2");
	profile_free(read);
	expect_total(folder, 0, 20, 4, 5);
	store_close(store);
	fixture_remove(folder);
}

/* Times are worth more than the spans of a program that has thousands. */
static void many_spans_cost_no_times(void **state)
{
	enum { WINDOWS = 3, SPANS = 4000 };
	const struct timed sample = { .pid = 1, .address = 0x3000, .count = 1, .first_ms = 10 };
	struct store_found found;
	struct profile *read;
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	for (uint64_t i = 0; i < WINDOWS; i++) {
		struct profile *profile = fixture_profile(START + SECONDS(10 * i), NULL, 0);

		profile_keep_times(profile, monotonic_of(START + SECONDS(10 * i)));
		profile->keeps_spans = true;
		for (uint32_t j = 0; j < SPANS; j++) {
			struct pilotlight_thread_context ids = ids_of(1, 1);
			struct profile_sample added;
			const uint64_t span = i * SPANS + j;

			add_timed(profile, &sample);
			added = profile->samples.items[profile->samples.count - 1];
			added.count = 1;
			memcpy(ids.span_id, &span, sizeof(span));
			profile_note_span(profile, &added, &ids);
		}
		assert_int_equal(profile->spans.count, SPANS);
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, START + SECONDS(3 * 3600));
	fixture_expect_windows(folder, 1, 0);
	read = read_spans(folder, 1, 0, &found);
	assert_false(found.lacks_spans);
	assert_in_range(fixture_total(read), SPANS / 2, WINDOWS * SPANS);
	profile_free(read);
	/* All samples of the first window are of these 20 ms. */
	expect_total(folder, 0, 20, SPANS, 0);
	store_close(store);
	fixture_remove(folder);
}

static int merge_once(const char *folder)
{
	struct store *store = fixture_open(folder);
	struct fault fault = { 0 };
	int r = fixture_maintain(store, START + SECONDS(3 * 3600), &fault);

	store_close(store);
	return r;
}

static uint64_t span_count(const struct profile *profile, int trace, int span)
{
	const struct pilotlight_thread_context ids = ids_of(trace, span);
	const struct profile_spans *spans = &profile->spans;
	uint64_t sum = 0;

	for (size_t i = 0; i < spans->counts_count; i++)
		if (memcmp(&spans->items[spans->counts[i].span], &ids, sizeof(ids)) == 0)
			sum += spans->counts[i].count;
	return sum;
}

/* What is read for a sink: all samples, and which of them are of a span. */
static void a_profile_takes_the_spans(void **state)
{
	const struct span_choice choice = choice_of(1, 1);
	struct store_selection selection = {
		.start_ns = START,
		.end_ns = START + SECONDS(60),
		.merges_threads = true,
		.takes_spans = true,
	};
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spans(store, START);
	assert_int_equal(fixture_append_one(store, START + SECONDS(10), 1, 5), 0);
	append_spans(store, START + SECONDS(20));
	store_close(store);
	for (int i = 0; i < 2; i++) {
		read = fixture_read(folder, &selection, &found);
		assert_int_equal(fixture_total(read), 15);
		assert_int_equal(read->spans.count, 3);
		assert_int_equal(span_count(read, 1, 1), 4);
		assert_int_equal(span_count(read, 1, 2), 2);
		assert_int_equal(span_count(read, 2, 3), 2);
		assert_true(accounts_close(&read->accounts));
		profile_free(read);
		assert_int_equal(merge_once(folder), 0);
	}
	selection.spans = &choice;
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(fixture_total(read), 4);
	assert_int_equal(read->spans.count, 1);
	assert_int_equal(span_count(read, 1, 1), 4);
	profile_free(read);
	fixture_remove(folder);
}

/* A window without another one to merge with is kept as it is. */
static void a_lone_window_keeps_its_spans(void **state)
{
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spans(store, START);
	maintain(store, START + SECONDS(1800));
	read = read_spans(folder, 1, 0, &found);
	assert_int_equal(fixture_total(read), 3);
	assert_false(found.lacks_spans);
	profile_free(read);
	store_close(store);
	fixture_remove(folder);
}

static void failing_allocations(void **state)
{
	const struct span_choice choice = choice_of(1, 0);
	const struct store_selection selection = {
		.start_ns = START,
		.end_ns = START + SECONDS(60),
		.spans = &choice,
	};
	struct profile *read = NULL;
	struct store_found found;
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spans(store, START);
	store_close(store);
	assert_true(FAIL_EACH_ALLOCATION(
			    store_reader_read(folder, &selection, 1 << 20, &read, &found, &fault),
			    -ENOMEM, !read, 0) > 10);
	assert_int_equal(fixture_total(read), 3);
	profile_free(read);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_selected),
		cmocka_unit_test(merged_windows_keep_their_spans),
		cmocka_unit_test(many_spans_cost_no_times),
		cmocka_unit_test(a_profile_takes_the_spans),
		cmocka_unit_test(a_lone_window_keeps_its_spans),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows with times of samples, and what is read of a part of them. */
#pragma once

#include "base/array.h"
#include "tests/store/store_fixture.h"

#define MS(ms)	  ((ms)*1000000ULL)
#define START	  (FIXTURE_DAY_NS + SECONDS(3600))
#define MONOTONIC (START - FIXTURE_DAY_NS + DAY_NS)

/* Samples of a thread and a stack; several at one time if `last_ms` is 0. */
struct timed {
	uint32_t pid;
	uint64_t address, count, first_ms, last_ms;
	uint32_t owner;
};

static inline uint64_t monotonic_of(uint64_t realtime_ns)
{
	return realtime_ns - FIXTURE_DAY_NS + DAY_NS;
}

static inline void add_timed(struct profile *profile, const struct timed *from)
{
	const struct fixture_sample thread = {
		.pid = from->pid, .comm = "one", .owner = from->owner
	};
	const uint64_t start_ns = monotonic_of(profile->start_ns);
	struct profile_sample sample = {
		.count = from->count,
		.first_ns = start_ns + MS(from->first_ms),
		.last_ns = start_ns + MS(from->last_ms ? from->last_ms : from->first_ms),
	};
	uint32_t location;

	assert_int_equal(fixture_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_location(profile, 1, from->address, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired += from->count + 1;
	profile->accounts.stored[PILOTLIGHT_PATH_RING] += from->count;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL]++;
}

static inline void append(
	struct store *store, uint64_t start_ns, const struct timed *samples, size_t count)
{
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct fault fault = { 0 };

	profile_keep_times(profile, monotonic_of(start_ns));
	for (size_t i = 0; i < count; i++)
		add_timed(profile, &samples[i]);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* Of 100 counts of pid 2, only the first and the last have a time. */
static const struct timed some[] = {
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 0 },
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 250 },
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 259 },
	{ .pid = 1, .address = 0x4000, .count = 1, .first_ms = 399, .owner = 0 },
	{ .pid = 1, .address = 0x4000, .count = 2, .first_ms = 400 },
	{ .pid = 2, .address = 0x3000, .count = 100, .first_ms = 300, .last_ms = 9999, .owner = 7 },
};

static inline struct profile *read_exactly(
	const char *folder, uint64_t from_ms, uint64_t to_ms, struct store_found *ret_found)
{
	struct store_selection selection = {
		.start_ns = START + MS(from_ms),
		.end_ns = START + MS(to_ms),
		.is_exact = true,
	};

	return fixture_read(folder, &selection, ret_found);
}

static inline void expect_total(
	const char *folder, uint64_t from_ms, uint64_t to_ms, uint64_t total, uint64_t untimed)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, from_ms, to_ms, &found);

	assert_int_equal(found.coarse_windows, 0);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(fixture_total(read), total);
	assert_int_equal(found.timed_ns, total * FIXTURE_PERIOD);
	assert_int_equal(found.untimed_ns, untimed * FIXTURE_PERIOD);
	assert_int_equal(read->start_ns, START + MS(from_ms));
	assert_int_equal(read->covered_ns, MS(to_ms - from_ms));
	/* What was lost of a part is not known. */
	assert_int_equal(read->accounts.fired, total);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
}

/* The second window has none, the third has some of both kinds. */
static inline void append_minute(struct store *store)
{
	const struct timed later = { .pid = 1, .address = 0x4000, .count = 1, .first_ms = 7 };

	append(store, START, some, ARRAY_SIZE(some));
	assert_int_equal(fixture_append_one(store, START + SECONDS(10), 1, 5), 0);
	append(store, START + SECONDS(20), &later, 1);
}

/* Of the two samples at 400. */
static inline void expect_slices(const char *folder, uint64_t from_ms, uint64_t to_ms,
	uint64_t slices_ms, uint64_t slices_end_ms)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, from_ms, to_ms, &found);

	assert_int_equal(fixture_total(read), 2);
	assert_int_equal(read->start_ns, START + MS(slices_ms));
	assert_int_equal(read->end_ns, START + MS(slices_end_ms));
	assert_int_equal(read->covered_ns, MS(slices_end_ms - slices_ms));
	profile_free(read);
}

static inline void expect_parts(const char *folder)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, 250, 400, &found);

	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+3000 2");
	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+4000 1");
	profile_free(read);
	expect_total(folder, 250, 400, 4, 98);
	expect_total(folder, 260, 300, 0, 98);
	expect_total(folder, 400, 410, 2, 98);
	/* A slice counts if a part of it is selected, and so does its time. */
	expect_slices(folder, 409, 410, 400, 410);
	expect_slices(folder, 400, 401, 400, 410);
	expect_total(folder, 9990, 10000, 1, 98);
}

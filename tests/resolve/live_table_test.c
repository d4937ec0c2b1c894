/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/live_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LIVE PILOTLIGHT_SOURCE_KMEM_LIVE

enum { ENTRIES = 64, PLENTY = 1 << 20 };

static const struct live_table_limits usual = {
	.entries_max = ENTRIES,
	.bytes_max = PLENTY,
	.age_ns_max = 1000,
};

static const struct resolved_frame stack[] = {
	{ .binary = 3, .address = 0x1000 },
	{ .binary = 4, .address = 0x2000, .name = "do_sys_open" },
	{ .binary = RESOLVED_SYNTHETIC, .name = "[filp]" },
};
enum { FRAMES = sizeof(stack) / sizeof(stack[0]) };

static const struct live_labels labels = { .exe = "/bin/leaker", .cgroup = "/a.service" };

static struct raw_sample sample_of(uint64_t address, uint64_t time_ns)
{
	return (struct raw_sample){
		.source = LIVE,
		.process = { .tgid = 7, .start_ns = 99 },
		.tid = 8,
		.user = 1000,
		.share_user = 1000,
		.cgroup_id = 4711,
		.comm = "leaker",
		.count = 3,
		.address = address,
		.first_ns = time_ns,
		.last_ns = time_ns,
	};
}

static int add(struct live_table *table, uint64_t address, uint64_t time_ns)
{
	const struct raw_sample sample = sample_of(address, time_ns);

	return live_table_add(table, &sample, &labels, stack, FRAMES);
}

/* The kernel's side: addresses below `dead` are freed. */
struct world {
	uint64_t dead;
	uint64_t forgotten; /* the last one */
	size_t forgotten_count;
};

static bool lives(void *context, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	const struct world *world = context;

	assert_int_equal(key->tgid, 0);
	assert_int_equal(key->source, LIVE);
	assert_true(time_ns > 0);
	return key->address >= world->dead;
}

static void forget(void *context, const struct pilotlight_live_key *key)
{
	struct world *world = context;

	world->forgotten = key->address;
	world->forgotten_count++;
}

static int sweep(struct live_table *table, struct world *world, uint64_t now_ns)
{
	const struct live_objects objects = { .lives = lives, .forget = forget, .context = world };

	return live_table_sweep(table, now_ns, &objects);
}

struct seen {
	size_t count;
	uint64_t periods, addresses;
};

static int see(void *context, const struct raw_sample *sample, const struct live_labels *found,
	const struct resolved_frame *frames, size_t count)
{
	struct seen *seen = context;

	assert_int_equal(sample->source, LIVE);
	assert_int_equal(sample->process.tgid, 7);
	assert_int_equal(sample->process.start_ns, 99);
	assert_int_equal(sample->tid, 8);
	assert_int_equal(sample->user, 1000);
	assert_int_equal(sample->cgroup_id, 4711);
	assert_string_equal(sample->comm, "leaker");
	assert_string_equal(found->exe, "/bin/leaker");
	assert_string_equal(found->cgroup, "/a.service");
	assert_int_equal(count, FRAMES);
	assert_int_equal(frames[0].address, 0x1000);
	assert_string_equal(frames[1].name, "do_sys_open");
	assert_int_equal(frames[2].binary, RESOLVED_SYNTHETIC);
	assert_string_equal(frames[2].name, "[filp]");
	seen->count++;
	seen->periods += sample->count;
	seen->addresses += sample->address;
	return 0;
}

static struct seen look(const struct live_table *table)
{
	struct seen seen = { 0 };

	assert_int_equal(live_table_visit(table, LIVE, 0, see, &seen), 0);
	return seen;
}

static struct live_counters counters_of(const struct live_table *table)
{
	struct live_counters counters;

	live_table_counters(table, LIVE, &counters);
	return counters;
}

/* What users hold of the entries, and what they were refused. */
struct users {
	struct user_excess excess;
	struct user_holdings holdings;
};

static struct users users_of(const struct live_table *table)
{
	struct users users = { 0 };

	live_table_users(table, &users.excess, &users.holdings);
	assert_int_equal(users.holdings.capacity[USER_LIVE], ENTRIES);
	return users;
}

static uint64_t held_by(const struct live_table *table, uint64_t user)
{
	const struct users users = users_of(table);

	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (users.holdings.lines[i].user == user)
			return users.holdings.lines[i].held[USER_LIVE];
	return 0;
}

static void what_lives_is_seen_until_it_is_freed(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };

	assert_int_equal(live_table_new(&usual, &table), 0);
	assert_int_equal(look(table).count, 0);
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(add(table, i * 0x100, i), 0);
	assert_int_equal(look(table).periods, 30);
	assert_int_equal(sweep(table, &world, 20), 0);
	assert_int_equal(look(table).count, 10);

	world.dead = 0x800;
	assert_int_equal(sweep(table, &world, 20), 0);
	assert_int_equal(look(table).count, 3);
	assert_int_equal(look(table).addresses, 0x800 + 0x900 + 0xa00);
	assert_int_equal(world.forgotten_count, 0);
	assert_int_equal(counters_of(table).added, 10);
	assert_int_equal(counters_of(table).freed, 7);
	assert_int_equal(live_table_count(table), 3);
	assert_true(live_table_bytes(table) > 0);
	/* Another one at such an address is another entry. */
	assert_int_equal(add(table, 0x100, 21), 0);
	assert_int_equal(look(table).count, 4);
}

static void a_later_allocation_of_an_address_replaces_the_earlier_one(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;

	assert_int_equal(live_table_new(&usual, &table), 0);
	assert_int_equal(add(table, 0x100, 1), 0);
	assert_int_equal(add(table, 0x200, 2), 0);
	assert_int_equal(add(table, 0x100, 3), 0);
	assert_int_equal(look(table).addresses, 0x300);
	assert_int_equal(counters_of(table).replaced, 1);
	assert_int_equal(held_by(table, 1000), 2);
}

/* A sample of JIT code waits for names, and later ones may overtake it. */
static void an_earlier_allocation_that_comes_late_replaces_none(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };

	assert_int_equal(live_table_new(&usual, &table), 0);
	assert_int_equal(add(table, 0x100, 1000), 0);
	assert_int_equal(add(table, 0x100, 1), 0);
	assert_int_equal(look(table).count, 1);
	assert_int_equal(counters_of(table).added, 2);
	assert_int_equal(counters_of(table).replaced, 1);
	/* The earlier one would have expired. */
	assert_int_equal(sweep(table, &world, 1500), 0);
	assert_int_equal(look(table).count, 1);
}

static void what_is_old_expires(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };

	assert_int_equal(live_table_new(&usual, &table), 0);
	assert_int_equal(add(table, 0x100, 10), 0);
	assert_int_equal(add(table, 0x200, 11), 0);
	assert_int_equal(sweep(table, &world, 1010), 0);
	assert_int_equal(look(table).count, 2);
	assert_int_equal(sweep(table, &world, 1011), 0);
	assert_int_equal(look(table).addresses, 0x200);
	assert_int_equal(world.forgotten, 0x100);
	assert_int_equal(counters_of(table).expired, 1);
	assert_int_equal(counters_of(table).freed, 0);
}

/* A user alone gets two thirds. */
static void users_share_the_entries(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct raw_sample other = sample_of(0x1, 1);
	struct world world = { .dead = UINT64_MAX };
	uint64_t count = 0;

	other.share_user = 1001;
	assert_int_equal(live_table_new(&usual, &table), 0);
	while (add(table, (count + 1) * 0x100, 1) == 0)
		count++;
	assert_true(count > ENTRIES / 2 && count < ENTRIES * 3 / 4);
	assert_int_equal(add(table, 0x10000, 1), -E2BIG);
	assert_int_equal(live_table_add(table, &other, &labels, stack, FRAMES), 0);
	assert_int_equal(held_by(table, 1000), count);
	assert_int_equal(held_by(table, 1001), 1);
	/* It may still replace its own, but not the other's. */
	assert_int_equal(add(table, 0x100, 2), 0);
	assert_int_equal(add(table, other.address, 2), -E2BIG);
	assert_int_equal(sweep(table, &world, 3), 0);
	assert_int_equal(held_by(table, 1000), 0);
	assert_int_equal(add(table, 0x10000, 1), 0);
}

/* The caller may make room, so it says what was refused in the end. */
static void refusals_are_counted_by_user(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	const struct raw_sample sample = sample_of(0x10000, 1);
	struct users users;
	uint64_t count = 0;

	assert_int_equal(live_table_new(&usual, &table), 0);
	while (add(table, (count + 1) * 0x100, 1) == 0)
		count++;
	assert_int_equal(counters_of(table).refused, 0);
	live_table_refuse(table, &sample);
	assert_int_equal(counters_of(table).refused, 1);
	assert_int_equal(counters_of(table).refused_periods, 3);
	users = users_of(table);
	assert_int_equal(users.excess.total[USER_LIVE], 1);
	assert_int_equal(users.excess.lines[0].user, 1000);
	assert_int_equal(users.excess.lines[0].refused[USER_LIVE], 1);
}

/* A user other than `user` with a counter of its own. */
static uint64_t other_than(uint64_t user)
{
	uint64_t other = user + 1;

	while (user_share_counter(other) == user_share_counter(user))
		other++;
	return other;
}

enum { DEEP = 100 };

/* A stack of DEEP frames for each `root`. */
static int add_deep(struct live_table *table, uint64_t address, uint64_t root, uint64_t user)
{
	struct resolved_frame frames[DEEP] = { { .address = root } };
	struct raw_sample sample = sample_of(address, 1);

	sample.share_user = user;
	return live_table_add(table, &sample, &labels, frames, DEEP);
}

/* Distinct stacks fill their bytes before the entries run out. A sweep removes unused ones. */
static void stacks_are_bounded(void **state)
{
	const struct live_table_limits limits = {
		.entries_max = 1 << 20, .bytes_max = 512 << 10, .age_ns_max = UINT64_MAX
	};
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };
	uint64_t count = 0;
	int r = 0;

	assert_int_equal(live_table_new(&limits, &table), 0);
	while (r == 0) {
		count++;
		r = add_deep(table, count, count, 1000);
	}
	assert_int_equal(r, -E2BIG);
	assert_in_range(count, 50, 1000);
	/* All are in use: no room comes, nor for a known address. */
	assert_int_equal(sweep(table, &world, 1), 0);
	assert_int_equal(add_deep(table, 1 << 20, count, 1000), -E2BIG);
	assert_int_equal(add_deep(table, 1, count, 1000), -E2BIG);
	assert_int_equal(counters_of(table).replaced, 0);
	/* A known stack needs none, and others have some. */
	assert_int_equal(add_deep(table, 1 << 20, 1, 1000), 0);
	assert_int_equal(add_deep(table, 1 << 21, count, other_than(1000)), 0);
	world.dead = count - 1;
	assert_int_equal(sweep(table, &world, 1), 0);
	assert_int_equal(live_table_count(table), 3);
	assert_int_equal(add_deep(table, 1 << 22, count, 1000), 0);
	assert_true(live_table_bytes(table) < 256 << 10);
}

static int stop_at_once(void *context, const struct raw_sample *sample,
	const struct live_labels *found, const struct resolved_frame *frames, size_t count)
{
	return -ECANCELED;
}

static void a_visit_chooses_source_and_process(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct seen seen = { 0 };

	assert_int_equal(live_table_new(&usual, &table), 0);
	assert_int_equal(add(table, 0x100, 1), 0);
	assert_int_equal(live_table_visit(table, LIVE, 7, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(live_table_visit(table, LIVE, 6, see, &seen), 0);
	assert_int_equal(live_table_visit(table, PILOTLIGHT_SOURCE_KMEM_ALLOC, 0, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(live_table_visit(table, LIVE, 0, stop_at_once, NULL), -ECANCELED);
}

static int use(const struct live_table_limits *limits, struct live_table **ret_table)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	int r = live_table_new(limits, &table);

	if (r == 0)
		r = add(table, 0x100, 1);
	if (r == 0)
		r = add(table, 0x100, 2);
	if (r == 0)
		*ret_table = TAKE_PTR(table);
	return r;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct live_table *table = NULL;

	assert_true(FAIL_EACH_ALLOCATION(use(&usual, &table), -ENOMEM, !table, 0) >= 8);
	live_table_free(table);
}

/* A sweep that finds no memory to shrink has still removed what is freed. */
static void a_sweep_without_memory_is_complete(void **state)
{
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct resolved_frame frames[100] = { 0 };
	struct world world = { .dead = 200 };

	for (size_t failing = 0;; failing++) {
		int r;

		live_table_free(TAKE_PTR(table));
		assert_int_equal(live_table_new(&usual, &table), 0);
		for (uint64_t i = 1; i <= 40; i++) {
			const struct raw_sample sample = sample_of(i + 180, 1);

			frames[0].address = i;
			assert_int_equal(live_table_add(table, &sample, &labels, frames, 100), 0);
		}
		fail_allocation(failing);
		r = sweep(table, &world, 2);
		assert_int_equal(live_table_count(table), 21);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			assert_true(failing >= 3);
			return;
		}
		assert_int_equal(r, -ENOMEM);
	}
}

/* A live_function. */
static int add_up(void *context, const struct raw_sample *sample, const struct live_labels *found,
	const struct resolved_frame *frames, size_t count)
{
	*(uint64_t *)context += sample->count;
	return 0;
}

enum { LARGE = 1000000 };

/* A live_function. */
static int find_large(void *context, const struct raw_sample *sample,
	const struct live_labels *found, const struct resolved_frame *frames, size_t count)
{
	return sample->count == LARGE;
}

/* A user's own entries are thinned out, so the sum stays right and the others' stay as they are. */
static void what_has_no_room_is_thinned_out(void **state)
{
	enum { MANY = 50000, ROOM = 6000 };
	const struct live_table_limits limits = {
		.entries_max = ROOM, .bytes_max = PLENTY, .age_ns_max = UINT64_MAX
	};
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };
	const struct raw_sample first = sample_of(1, 1);
	struct raw_sample other = sample_of(MANY + 1, 1), large = sample_of(MANY + 2, 1);
	const struct live_objects objects = { .lives = lives, .forget = forget, .context = &world };
	struct live_counters counters;
	uint64_t sum = 0;

	large.count = LARGE;
	assert_int_equal(live_table_new(&limits, &table), 0);
	other.share_user = 2000;
	other.count = 5;
	while (user_share_counter(other.share_user) == user_share_counter(1000))
		other.share_user++;
	assert_int_equal(live_table_add(table, &other, &labels, stack, FRAMES), 0);
	assert_int_equal(live_table_add(table, &large, &labels, stack, FRAMES), 0);
	for (uint64_t i = 1; i <= MANY; i++) {
		int r = add(table, i, i);

		while (r == -E2BIG && live_table_thin(table, 1000, &objects) > 0)
			r = add(table, i, i);
		assert_in_range(r, 0, LIVE_TABLE_THINNED);
	}
	live_table_counters(table, LIVE, &counters);
	assert_in_range(live_table_count(table), ROOM / 4, ROOM);
	assert_int_equal(live_table_count(table) + counters.thinned, MANY + 2);
	/* One of them that found no room would stand for more periods than it has. */
	live_table_refuse(table, &first);
	live_table_counters(table, LIVE, &counters);
	assert_in_range(counters.refused_periods, 4, LARGE);
	live_table_counters(table, PILOTLIGHT_SOURCE_HEAP_LIVE, &counters);
	assert_int_equal(counters.thinned, 0);
	assert_int_equal(live_table_thin(table, other.share_user, &objects), 0);
	assert_int_equal(live_table_visit(table, LIVE, 0, add_up, &sum), 0);
	/* 2,000 entries or more have an error of 2.3 %. */
	assert_in_range(sum - LARGE - 5, 3 * MANY * 8 / 10, 3 * MANY * 12 / 10);
	/* What is larger than all that went stays, and counts as it is. */
	assert_int_equal(live_table_visit(table, LIVE, 0, find_large, NULL), 1);
	/* What is freed makes the next ones count less. */
	world.dead = 2 * MANY;
	for (int i = 0; i < 32; i++)
		assert_int_equal(sweep(table, &world, MANY), 0);
	sum = 0;
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(add(table, 4 * MANY + i, 2 * MANY), 0);
	assert_int_equal(live_table_visit(table, LIVE, 0, add_up, &sum), 0);
	assert_int_equal(sum, 3 * 100);
}

/* A live_function. */
static int count_user(void *context, const struct raw_sample *sample,
	const struct live_labels *found, const struct resolved_frame *frames, size_t count)
{
	uint64_t *of_user = context;

	of_user[sample->share_user == 1000]++;
	return 0;
}

/* By default, 16 MiB: one user has many entries of one stack, another one many stacks. */
static void stacks_of_one_user_cost_no_entries_of_another(void **state)
{
	enum { ENTRIES_OF_ONE = 20000, STACKS_OF_OTHER = 4000 };
	const struct live_table_limits limits = {
		.entries_max = (8 << 20) / LIVE_ENTRY_BYTES,
		.bytes_max = 8 << 20,
		.age_ns_max = UINT64_MAX,
	};
	const uint64_t other = other_than(1000);
	_cleanup_(live_table_freep) struct live_table *table = NULL;
	struct world world = { 0 };
	const struct live_objects objects = { .lives = lives, .forget = forget, .context = &world };
	uint64_t of_user[2] = { 0 };

	assert_int_equal(live_table_new(&limits, &table), 0);
	for (uint64_t i = 1; i <= ENTRIES_OF_ONE; i++)
		assert_int_equal(add(table, i, i), 0);
	for (uint64_t i = 1; i <= STACKS_OF_OTHER; i++) {
		const uint64_t address = ENTRIES_OF_ONE + i;
		int r = add_deep(table, address, i, other);

		while (r == -E2BIG && live_table_thin(table, other, &objects) > 0)
			r = add_deep(table, address, i, other);
		assert_in_range(r, 0, LIVE_TABLE_THINNED);
	}
	assert_true(world.forgotten_count > 0);
	assert_int_equal(add(table, 1 << 20, 1), 0);
	/* So has one that is new. */
	assert_int_equal(add_deep(table, 1 << 21, 1 << 20, 1000), 0);
	assert_int_equal(live_table_thin(table, other_than(other), &objects), 0);
	assert_int_equal(live_table_visit(table, LIVE, 0, count_user, of_user), 0);
	assert_int_equal(of_user[true], ENTRIES_OF_ONE + 2);
	assert_in_range(of_user[false], 500, STACKS_OF_OTHER / 2);
	assert_true(live_table_bytes(table) < 16 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lives_is_seen_until_it_is_freed),
		cmocka_unit_test(a_later_allocation_of_an_address_replaces_the_earlier_one),
		cmocka_unit_test(an_earlier_allocation_that_comes_late_replaces_none),
		cmocka_unit_test(what_is_old_expires),
		cmocka_unit_test(users_share_the_entries),
		cmocka_unit_test(refusals_are_counted_by_user),
		cmocka_unit_test(stacks_are_bounded),
		cmocka_unit_test(stacks_of_one_user_cost_no_entries_of_another),
		cmocka_unit_test(a_visit_chooses_source_and_process),
		cmocka_unit_test(what_has_no_room_is_thinned_out),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(a_sweep_without_memory_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_dictionary.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>

enum { DEPTH = 3000 };

static const struct fixture_sample some[] = {
	{ .pid = 10, .address = 0x3000, .count = 5, .comm = "alpha", .in_kernel = true },
	{ .pid = 20,
		.address = 0x4000,
		.count = 3,
		.comm = "beta",
		.owner = 1001,
		.claims = "shop" },
};

static int intern(struct day_dictionary *dictionary, const struct profile *profile)
{
	struct day_mapping stacks = { 0 }, threads = { 0 };
	int r = day_mapping_init(&stacks, profile, true);

	if (r == 0)
		r = day_mapping_init(&threads, profile, false);
	for (size_t i = 0; r == 0 && i < profile->samples.count; i++) {
		uint32_t thread, node;

		r = day_dictionary_thread(
			dictionary, &threads, profile->samples.items[i].thread, &thread);
		if (r == 0)
			r = day_dictionary_node(
				dictionary, &stacks, profile->samples.items[i].node, &node);
	}
	day_mapping_done(&stacks);
	day_mapping_done(&threads);
	return r;
}

static void expect_same(const struct day_tables *a, const struct day_tables *b)
{
	struct day_mark first = day_tables_mark(a), second = day_tables_mark(b);

	assert_memory_equal(&first, &second, sizeof(first));
	for (uint32_t i = 0; i < first.strings; i++)
		assert_string_equal(
			string_pool_get(&a->strings, i), string_pool_get(&b->strings, i));
	assert_memory_equal(a->nodes.items + 1, b->nodes.items + 1,
		(first.nodes - 1) * sizeof(*a->nodes.items));
	assert_memory_equal(
		a->frames.items, b->frames.items, first.frames * sizeof(*a->frames.items));
	for (uint32_t i = 0; i < first.locations; i++) {
		assert_int_equal(a->locations.items[i].address, b->locations.items[i].address);
		assert_int_equal(a->locations.items[i].binary, b->locations.items[i].binary);
		assert_int_equal(
			a->locations.items[i].frame_count, b->locations.items[i].frame_count);
	}
	for (uint32_t i = 0; i < first.threads; i++) {
		assert_int_equal(a->threads.items[i].tgid, b->threads.items[i].tgid);
		assert_int_equal(a->threads.items[i].tid, b->threads.items[i].tid);
		assert_int_equal(a->threads.items[i].cgroup, b->threads.items[i].cgroup);
		assert_int_equal(a->threads.items[i].owner, b->threads.items[i].owner);
		assert_int_equal(a->threads.items[i].claims, b->threads.items[i].claims);
	}
	for (uint32_t i = 0; i < first.binaries; i++) {
		assert_true(build_id_equal(
			&a->binaries.items[i].build_id, &b->binaries.items[i].build_id));
		assert_true(symbol_identity_equal(
			&a->binaries.items[i].symbols, &b->binaries.items[i].symbols));
	}
}

/* What is known adds nothing; what is written in pieces is read as a whole. */
static void pieces_make_the_whole(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct day_dictionary dictionary, again;
	struct day_mark marks[3];
	uint8_t *blobs[2];
	size_t sizes[2];

	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(day_dictionary_init(&again), 0);
	marks[0] = day_tables_mark(&dictionary.tables);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(intern(&dictionary, profile), 0);
		marks[i + 1] = day_tables_mark(&dictionary.tables);
		assert_int_equal(intern(&dictionary, profile), 0);
		marks[2] = day_tables_mark(&dictionary.tables);
		assert_memory_equal(&marks[i + 1], &marks[2], sizeof(marks[2]));
		assert_int_equal(
			day_tables_write(&dictionary.tables, &marks[i], 3, &blobs[i], &sizes[i]),
			0);
		profile_free(profile);
		profile = fixture_profile(FIXTURE_DAY_NS, some, 2);
	}
	/* Out of turn, and twice. */
	assert_int_equal(day_tables_read(&again.tables, blobs[1], sizes[1]), -EBADMSG);
	assert_int_equal(day_tables_read(&again.tables, blobs[0], sizes[0]), 0);
	assert_int_equal(day_tables_read(&again.tables, blobs[0], sizes[0]), -EBADMSG);
	assert_int_equal(day_tables_read(&again.tables, blobs[1], sizes[1]), 0);
	expect_same(&again.tables, &dictionary.tables);
	assert_int_equal(day_dictionary_index(&again, &marks[0]), 0);
	assert_int_equal(intern(&again, profile), 0);
	expect_same(&again.tables, &dictionary.tables);
	/* An element that is there twice would be found once. */
	assert_int_equal(day_dictionary_index(&again, &marks[0]), -EBADMSG);
	day_dictionary_done(&again);
	day_dictionary_done(&dictionary);
	profile_free(profile);
	free(blobs[0]);
	free(blobs[1]);
}

/* A name of a file's function comes late and is not kept; a JIT function's is. */
static void names_are_kept_where_nobody_finds_them_later(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct profile_sample sample = { .count = 1 };
	struct day_dictionary dictionary;
	uint32_t function, location;

	assert_int_equal(fixture_binary(profile, BINARY_JIT, "[jit]", 0), 3);
	assert_int_equal(profile_add_string(profile, "hot_loop", &function), 0);
	assert_int_equal(profile_add_jit_location(profile, 3, 0x7000,
				 &(struct profile_frame){ .function = function }, &location),
		0);
	assert_int_equal(profile_name_location(
				 profile, 0, &(struct profile_frame){ .function = function }, 1),
		0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_synthetic(profile, "[lost: ring full]", &location), 0);
	assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.locations.count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct day_location *kept = &dictionary.tables.locations.items[i];
		enum binary_kind kind = dictionary.tables.binaries.items[kept->binary].kind;

		assert_int_equal(
			kept->frame_count, kind != BINARY_EXECUTABLE && kind != BINARY_LIBRARY);
		assert_int_equal(kept->function > 0, kind == BINARY_JIT);
		if (kind == BINARY_SYNTHETIC)
			assert_int_equal(kept->address, 0);
	}
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

/* Many locations of one function at one address, which differ in their lines and files alone. */
static void jit_locations_that_differ_in_a_line_stay_apart(void **state)
{
	enum { LINES = 10000 };
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct day_dictionary dictionary;
	struct profile_frame frame = { 0 };
	uint32_t files[2], location, before;

	profile->limit_bytes = 64 << 20;
	assert_int_equal(fixture_binary(profile, BINARY_JIT, "[jit]", 0), 3);
	assert_int_equal(profile_add_string(profile, "hot_loop", &frame.function), 0);
	assert_int_equal(profile_add_string(profile, "a.js", &files[0]), 0);
	assert_int_equal(profile_add_string(profile, "b.js", &files[1]), 0);
	for (uint32_t i = 0; i < LINES; i++) {
		struct profile_sample sample = { .count = 1 };

		frame.line = i / 2;
		frame.file = files[i % 2];
		assert_int_equal(
			profile_add_jit_location(profile, 3, 0x7000, &frame, &location), 0);
		assert_int_equal(
			profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(intern(&dictionary, profile), 0);
	before = (uint32_t)dictionary.tables.locations.count;
	assert_int_equal(before, LINES + 3);
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.locations.count, before);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

/* Files of one path and build-id that differ in what their symbols are found by. */
static void binaries_of_other_symbols_stay_apart(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct day_dictionary dictionary, again;
	struct day_mark none;
	uint8_t *blob;
	size_t size;

	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(day_dictionary_init(&again), 0);
	none = day_tables_mark(&dictionary.tables);
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.binaries.count, 3);
	profile->binaries.items[0].symbols =
		(struct symbol_identity){ .kind = PILOTLIGHT_SYMBOL_OWNED,
			.id = { .bytes = { 1 }, .size = 16 } };
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.binaries.count, 4);
	profile->binaries.items[0].symbols.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.binaries.count, 5);
	assert_int_equal(day_tables_write(&dictionary.tables, &none, 3, &blob, &size), 0);
	assert_int_equal(day_tables_read(&again.tables, blob, size), 0);
	expect_same(&again.tables, &dictionary.tables);
	assert_int_equal(day_dictionary_index(&again, &none), 0);
	free(blob);
	day_dictionary_done(&again);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

/*
 * A version that knew fewer deceptive characters stored these names as they were: U+202D and
 * U+202E. They replace two names of the same length in the pool.
 */
static void names_of_earlier_versions_are_clean_and_stay_apart(void **state)
{
	static const char *const names[] = { "first", "other" }, *const stored[] = {
		"a\xe2\x80\xadz", "a\xe2\x80\xaez"
	};
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct day_dictionary dictionary, again;
	uint32_t ids[2];
	struct day_mark none;
	uint8_t *blob;
	size_t size;

	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(day_dictionary_init(&again), 0);
	none = day_tables_mark(&dictionary.tables);
	assert_int_equal(intern(&dictionary, profile), 0);
	for (int i = 0; i < 2; i++) {
		struct string_pool *pool = &dictionary.tables.strings;

		assert_int_equal(string_pool_intern(pool, names[i], 5, &ids[i]), 0);
		memcpy(pool->bytes + pool->offsets[ids[i]], stored[i], 5);
	}
	assert_int_equal(day_tables_write(&dictionary.tables, &none, 3, &blob, &size), 0);
	assert_int_equal(day_tables_read(&again.tables, blob, size), 0);
	for (int i = 0; i < 2; i++)
		assert_string_equal(
			string_pool_get(&again.tables.strings, ids[i]), "a\xef\xbf\xbdz");
	assert_int_equal(day_dictionary_index(&again, &none), 0);
	free(blob);
	day_dictionary_done(&again);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

/* Kinds that there are not, in a blob that is whole otherwise. */
static void symbols_of_no_kind_are_damage(void **state)
{
	static const struct {
		int kind, outcome;
	} cases[] = {
		{ 0, -EBADMSG },
		{ PILOTLIGHT_SYMBOL_BUILD_ID, 0 },
		{ PILOTLIGHT_SYMBOL_OWNED, 0 },
		{ PILOTLIGHT_SYMBOL_OWNED + 1, -EBADMSG },
		{ 127, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
		struct day_dictionary dictionary, again;
		struct day_mark none;
		uint8_t *blob;
		size_t size;

		profile->binaries.items[1].symbols.kind =
			(enum pilotlight_symbol_identity_kind)cases[i].kind;
		assert_int_equal(day_dictionary_init(&dictionary), 0);
		assert_int_equal(day_dictionary_init(&again), 0);
		none = day_tables_mark(&dictionary.tables);
		assert_int_equal(intern(&dictionary, profile), 0);
		assert_int_equal(day_tables_write(&dictionary.tables, &none, 3, &blob, &size), 0);
		assert_int_equal(day_tables_read(&again.tables, blob, size), cases[i].outcome);
		free(blob);
		day_dictionary_done(&again);
		day_dictionary_done(&dictionary);
		profile_free(profile);
	}
}

/* What differs in its process alone is one, with the strings of other tables. */
static void threads_are_folded(void **state)
{
	static const struct fixture_sample threads[] = {
		{ .pid = 10, .address = 1, .count = 1, .comm = "alpha" },
		{ .pid = 11, .address = 1, .count = 1, .comm = "alpha" },
		{ .pid = 12, .address = 1, .count = 1, .comm = "beta" },
	};
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, threads, 3);
	struct day_dictionary from, folded;
	uint32_t ids[3];
	size_t n;

	assert_int_equal(day_dictionary_init(&from), 0);
	assert_int_equal(intern(&from, profile), 0);
	assert_int_equal(from.tables.threads.count, 3);
	for (n = 0;; n++) {
		int r;

		assert_int_equal(day_dictionary_init(&folded), 0);
		fail_allocation(n);
		r = 0;
		for (uint32_t i = 0; r == 0 && i < 3; i++)
			r = day_dictionary_folded_thread(&folded, &from.tables, i, &ids[i]);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		day_dictionary_done(&folded);
	}
	assert_true(n > 1);
	assert_int_equal(folded.tables.threads.count, 2);
	assert_int_equal(ids[0], ids[1]);
	assert_int_not_equal(ids[0], ids[2]);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_thread *thread = &folded.tables.threads.items[ids[i]];

		assert_string_equal(
			string_pool_get(&folded.tables.strings, thread->comm), threads[i].comm);
		assert_int_equal(thread->tid + thread->tgid + thread->process_start_ns, 0);
		assert_true(thread->exe > 0 && thread->cgroup > 0);
	}
	day_dictionary_done(&folded);
	day_dictionary_done(&from);
	profile_free(profile);
}

static void stacks_of_any_depth(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 1);
	struct profile_sample sample = { .count = 1 };
	struct day_dictionary dictionary;
	uint32_t location;

	for (uint32_t i = 0; i < DEPTH; i++) {
		assert_int_equal(profile_add_location(profile, 0, i % 50, &location), 0);
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	}
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(intern(&dictionary, profile), 0);
	assert_int_equal(dictionary.tables.nodes.count, 1 + 3 + DEPTH);
	for (uint32_t i = 1; i < dictionary.tables.nodes.count; i++)
		assert_true(dictionary.tables.nodes.items[i].parent < i);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

static void a_full_dictionary_refuses_and_stays_whole(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, NULL, 0);
	struct day_dictionary dictionary;
	struct day_mapping mapping;
	uint32_t id, refused = 0;
	uint8_t *blob;
	size_t size;

	profile->limit_bytes = 64 << 20;
	for (uint32_t i = 0; i < DAY_THREADS_MAX + 10; i++) {
		struct profile_thread thread = { .tid = i };

		assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	}
	assert_int_equal(day_dictionary_init(&dictionary), 0);
	assert_int_equal(day_mapping_init(&mapping, profile, false), 0);
	for (uint32_t i = 0; i < DAY_THREADS_MAX + 10; i++) {
		int r = day_dictionary_thread(&dictionary, &mapping, i, &id);

		assert_true(r == (i < DAY_THREADS_MAX ? 0 : -E2BIG));
		refused += r < 0;
	}
	assert_int_equal(refused, 10);
	assert_int_equal(day_dictionary_thread(&dictionary, &mapping, 7, &id), 0);
	assert_int_equal(id, 7);
	assert_true(day_dictionary_bytes(&dictionary) < 3 << 20);
	assert_int_equal(day_tables_write(&dictionary.tables,
				 &(struct day_mark){ .strings = 1, .nodes = 1 }, 1, &blob, &size),
		0);
	free(blob);
	day_mapping_done(&mapping);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

static void failing_allocations(void **state)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS, some, 2);
	struct day_dictionary dictionary;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = day_dictionary_init(&dictionary);
		if (r == 0)
			r = intern(&dictionary, profile);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		if (dictionary.tables.nodes.count > 0)
			assert_int_equal(intern(&dictionary, profile), 0);
		day_dictionary_done(&dictionary);
	}
	assert_int_equal(r, 0);
	assert_true(n > 15);
	day_dictionary_done(&dictionary);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_the_whole),
		cmocka_unit_test(names_are_kept_where_nobody_finds_them_later),
		cmocka_unit_test(jit_locations_that_differ_in_a_line_stay_apart),
		cmocka_unit_test(binaries_of_other_symbols_stay_apart),
		cmocka_unit_test(names_of_earlier_versions_are_clean_and_stay_apart),
		cmocka_unit_test(symbols_of_no_kind_are_damage),
		cmocka_unit_test(threads_are_folded),
		cmocka_unit_test(stacks_of_any_depth),
		cmocka_unit_test(a_full_dictionary_refuses_and_stays_whole),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

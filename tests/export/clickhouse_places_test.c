/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/clickhouse_places.h"

#include "base/array.h"
#include "tests/export/pprof_profile.h"

static struct clickhouse_place place_of(const struct profile *profile, uint32_t location)
{
	struct output_memory scratch = { .limit_bytes = BUDGET };
	struct clickhouse_place place;

	assert_int_equal(
		clickhouse_place(profile, &profile->locations.items[location], &scratch, &place),
		0);
	free(scratch.bytes);
	return place;
}

/* They must not change: other hosts, and rows that are stored, have them. The values are from
 * Python, by libxxhash. */
static void identities_are_for_ever(void **state)
{
	struct profile *profile = new_profile();
	uint32_t file = add_file(profile, "/lib/liba.so", "\x01\xab");
	uint32_t jit = add_binary(profile, BINARY_JIT, "/memfd");
	struct clickhouse_place place = place_of(profile, add_location(profile, file, 0x1100));

	assert_string_equal(place.build_id, "01ab");
	assert_int_equal(place.vaddr, 0x1100);
	assert_true(place.id == 0x3c1803b5aaafaf1a);
	place = place_of(profile, add_named(profile, jit, 5, "f", "f.js", 9));
	assert_string_equal(place.build_id, "jit");
	assert_true(place.vaddr == 0x15c477808596df44 && place.id == 0x6139ce6c8ebf84db);
	place = place_of(profile, add_location(profile, jit, 0x77));
	assert_int_equal(place.vaddr, 0x77);
	assert_true(place.id == 0x3d85e4211ab43ffb);
	assert_true(clickhouse_stack(0, 1) == 0x0cfbaea74a8cc0e5);
	assert_true(clickhouse_stack(1, 2) == 0x7ee86c281446bef);
	profile_free(profile);
}

static void code_is_one_on_all_hosts(void **state)
{
	struct profile *profile = new_profile();
	uint32_t files[2] = { add_file(profile, "/lib/liba.so", "\x01\xab"),
		add_file(profile, "/opt/liba.so", "\x01\xab") };
	uint32_t jits[2] = { add_binary(profile, BINARY_JIT, "/memfd"),
		add_binary(profile, BINARY_JIT, "/other") };
	struct profile_binary *owned;
	struct clickhouse_place place;

	/* Paths are no part of code with a build-id, and of other code they are. */
	assert_int_equal(place_of(profile, add_location(profile, files[0], 1)).id,
		place_of(profile, add_location(profile, files[1], 1)).id);
	assert_int_equal(place_of(profile, add_named(profile, jits[0], 1, "f", "", 0)).id,
		place_of(profile, add_named(profile, jits[0], 2, "f", "", 0)).id);
	assert_int_not_equal(place_of(profile, add_named(profile, jits[0], 3, "f", "", 0)).id,
		place_of(profile, add_named(profile, jits[0], 4, "f", "", 1)).id);
	assert_int_not_equal(place_of(profile, add_named(profile, jits[0], 5, "f", "", 0)).id,
		place_of(profile, add_named(profile, jits[1], 5, "f", "", 0)).id);
	assert_int_not_equal(place_of(profile, add_location(profile, jits[0], 6)).id,
		place_of(profile, add_location(profile, jits[1], 6)).id);
	/* Names of a file that a user made never serve another file. */
	owned = &profile->binaries.items[files[1]];
	owned->symbols = symbol_identity_make(
		PILOTLIGHT_SYMBOL_OWNED, (const uint8_t[BUILD_ID_BYTES]){ 1, 0xab }, 20);
	place = place_of(profile, add_location(profile, files[1], 1));
	assert_ptr_equal(strstr(place.build_id, "owned:01ab"), place.build_id);
	profile_free(profile);
}

static void names_have_ranks(void **state)
{
	struct profile *profile = new_profile();
	uint32_t file = add_file(profile, "/lib/liba.so", "\x01\xab");
	static const struct {
		const char *name, *file;
		uint32_t line;
		enum pilotlight_name_rank rank;
	} cases[] = {
		{ "f", "f.c", 3, PILOTLIGHT_NAME_LINE },
		{ "f", "f.c", 0, PILOTLIGHT_NAME_FUNCTION },
		{ "f", "", 0, PILOTLIGHT_NAME_FUNCTION },
		{ "[liba.so function at +0x12]", "", 0, PILOTLIGHT_NAME_PLACE },
		{ "", "f.c", 3, PILOTLIGHT_NAME_PLACE },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t location = add_named(
			profile, file, i + 1, cases[i].name, cases[i].file, cases[i].line);

		assert_int_equal(clickhouse_rank(profile, &profile->locations.items[location]),
			cases[i].rank);
	}
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities_are_for_ever),
		cmocka_unit_test(code_is_one_on_all_hosts),
		cmocka_unit_test(names_have_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

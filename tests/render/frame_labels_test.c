/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_labels.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

static const char *name_of(const struct frame_labels *labels, uint32_t label)
{
	static char name[FRAME_NAME_BYTES];
	size_t size;

	assert_true(label < labels->count);
	size = frame_label_format(&labels->items[label], name);
	assert_int_equal(size, strlen(name));
	return name;
}

static struct frame_labels *labels_of(const struct profile *profile)
{
	struct frame_labels *labels = NULL;

	assert_int_equal(frame_labels_new(profile, FRAME_BY_FUNCTION, &labels), 0);
	return labels;
}

static void chains_are_outermost_first(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	uint32_t location = example_location(profile, "k:outer^middle^inner", "c");
	const struct frame_chain *chain;

	labels = labels_of(profile);
	chain = &labels->chains[location];
	assert_int_equal(chain->count, 3);
	assert_string_equal(name_of(labels, labels->chain[chain->first]), "outer");
	assert_string_equal(name_of(labels, labels->chain[chain->first + 1]), "middle");
	assert_string_equal(name_of(labels, labels->chain[chain->first + 2]), "inner");
	assert_int_equal(labels->items[labels->chain[chain->first]].kind, FRAME_KERNEL);
	assert_int_equal(labels->items[labels->chain[chain->first + 1]].kind, FRAME_INLINED);
	assert_int_equal(labels->items[labels->chain[chain->first + 2]].kind, FRAME_INLINED);
}

static void nameless_locations_tell_binary_and_address(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "/usr/bin/xz", "[xz+0x1f00]" },
		{ "[vdso]", "[vdso+0x1f00]" },
		{ "[kernel.kallsyms]", "[kernel.kallsyms+0x1f00]" },
		{ "memfd:jit (deleted)", "[memfd:jit (deleted)+0x1f00]" },
		{ "[]", "[[]+0x1f00]" },
		{ "", "[unknown]" },
		{ "/", "[unknown]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(profile_freep) struct profile *profile = example_empty();
		_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
		uint32_t binary = example_binary(profile, BINARY_LIBRARY, cases[i].path);
		uint32_t location;

		assert_int_equal(profile_add_location(profile, binary, 0x1f00, &location), 0);
		labels = labels_of(profile);
		assert_string_equal(name_of(labels, labels->chain[0]), cases[i].name);
	}
}

static void longest_names_fit(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	char path[3000];
	uint32_t location;

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(
		profile_add_location(profile, example_binary(profile, BINARY_LIBRARY, path),
			UINT64_MAX, &location),
		0);
	labels = labels_of(profile);
	assert_non_null(strstr(name_of(labels, labels->chain[0]), "p+0xffffffffffffffff]"));
}

static void longest_names_with_lines_fit(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	struct profile_frame frame = { .line = UINT32_MAX };
	char path[3000];
	uint32_t location;

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	frame.file = example_string(profile, path);
	assert_int_equal(
		profile_add_location(profile, example_binary(profile, BINARY_LIBRARY, path),
			UINT64_MAX, &location),
		0);
	assert_int_equal(profile_name_location(profile, location, &frame, 1), 0);
	assert_int_equal(frame_labels_new(profile, FRAME_BY_LINE, &labels), 0);
	assert_non_null(strstr(name_of(labels, labels->chain[0]), "p+0xffffffffffffffff] (p"));
	assert_non_null(strstr(name_of(labels, labels->chain[0]), "p:4294967295)"));
}

/* By line, a function has a label for each, with the same ones for the same base name. */
static void lines_are_labels_if_asked(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	uint32_t ninth = example_location(profile, "l:f#/a/f.c:9", "c");
	uint32_t tenth = example_location(profile, "l:f#/a/f.c:10", "c");
	uint32_t copy = example_location(profile, "l:f#/b/f.c:9", "c");
	uint32_t earlier = example_location(profile, "l:f#/a/e.c:11", "c");
	uint32_t none = example_location(profile, "l:f", "c");

	assert_int_equal(frame_labels_new(profile, FRAME_BY_LINE, &labels), 0);
#define LABEL(location) (labels->chain[labels->chains[location].first])
	assert_int_equal(LABEL(ninth), LABEL(copy));
	assert_true(LABEL(none) < LABEL(earlier));
	assert_true(LABEL(earlier) < LABEL(ninth));
	assert_true(LABEL(ninth) < LABEL(tenth));
	assert_string_equal(name_of(labels, LABEL(tenth)), "f (f.c:10)");
	assert_string_equal(name_of(labels, LABEL(none)), "f");
#undef LABEL
	frame_labels_free(TAKE_PTR(labels));
	labels = labels_of(profile);
	assert_int_equal(labels->count, 2); /* with the root */
}

/* One label by text and kind, wherever the code is; numbers in the order of the texts. */
static void equal_names_of_a_kind_are_one_label(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	uint32_t one = example_location(profile, "l:zoo", "c");
	uint32_t two = example_location(profile, "l:zoo@2", "c");
	uint32_t other_library = example_location(profile, "m:zoo", "c");
	uint32_t kernel = example_location(profile, "k:zoo", "c");
	uint32_t first = example_location(profile, "l:ant", "c");
	uint32_t nearer = example_location(profile, "l:+9", "c");
	uint32_t farther = example_location(profile, "l:+10", "c");

	labels = labels_of(profile);
#define LABEL(location) (labels->chain[labels->chains[location].first])
	assert_int_equal(LABEL(one), LABEL(two));
	assert_int_equal(LABEL(one), LABEL(other_library));
	assert_int_not_equal(LABEL(one), LABEL(kernel));
	assert_true(LABEL(first) < LABEL(one));
	assert_true(LABEL(kernel) < LABEL(one));
	assert_true(LABEL(nearer) < LABEL(farther));
#undef LABEL
}

static void binaries_rank_by_path_and_build_id(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	struct profile_binary binary = { .kind = BINARY_LIBRARY,
		.path = example_string(profile, "/b") };
	uint32_t ids[4], locations[4];

	assert_int_equal(build_id_set(&binary.build_id, "\x02", 1), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &ids[0]), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &ids[1]), 0);
	assert_int_equal(build_id_set(&binary.build_id, "\x01", 1), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &ids[2]), 0);
	binary.path = example_string(profile, "/a");
	assert_int_equal(profile_add_binary(profile, &binary, &ids[3]), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(profile_add_location(profile, ids[i], 1, &locations[i]), 0);
	labels = labels_of(profile);
	assert_int_equal(labels->chains[locations[3]].binary_rank, 0);
	assert_int_equal(labels->chains[locations[2]].binary_rank, 1);
	assert_int_equal(labels->chains[locations[0]].binary_rank, 2);
	assert_int_equal(labels->chains[locations[1]].binary_rank, 2);
	assert_int_equal(labels->ranked_binaries[0], ids[3]);
	assert_int_equal(labels->ranked_binaries[1], ids[2]);
}

static void losses_have_labels_where_there_are_any(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;

	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		example_lose(profile, i, i == PILOTLIGHT_DROP_UNREAD ? 0 : 1 + i);
	labels = labels_of(profile);
	assert_int_equal(labels->losses[PILOTLIGHT_DROP_IDLE], FRAME_NONE);
	assert_int_equal(labels->losses[PILOTLIGHT_DROP_FILTERED], FRAME_NONE);
	assert_int_equal(labels->losses[PILOTLIGHT_DROP_UNREAD], FRAME_NONE);
	assert_string_equal(
		name_of(labels, labels->losses[PILOTLIGHT_DROP_RING_FULL]), "[lost: ring full]");
	assert_int_equal(
		labels->items[labels->losses[PILOTLIGHT_DROP_RING_FULL]].kind, FRAME_SYNTHETIC);
	assert_int_equal(frame_samples(profile), accounts_lost(&profile->accounts));
}

static void kinds_have_names(void **state)
{
	for (enum frame_kind i = 0; i < FRAME_KIND_COUNT; i++) {
		assert_true(*frame_kind_name(i));
		for (enum frame_kind j = 0; j < i; j++)
			assert_string_not_equal(frame_kind_name(i), frame_kind_name(j));
	}
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	struct frame_labels *labels = NULL;

	assert_true(FAIL_EACH_ALLOCATION(frame_labels_new(profile, FRAME_BY_LINE, &labels), -ENOMEM,
			    !labels, 0) >= 8);
	frame_labels_free(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_outermost_first),
		cmocka_unit_test(nameless_locations_tell_binary_and_address),
		cmocka_unit_test(longest_names_fit),
		cmocka_unit_test(longest_names_with_lines_fit),
		cmocka_unit_test(lines_are_labels_if_asked),
		cmocka_unit_test(equal_names_of_a_kind_are_one_label),
		cmocka_unit_test(binaries_rank_by_path_and_build_id),
		cmocka_unit_test(losses_have_labels_where_there_are_any),
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

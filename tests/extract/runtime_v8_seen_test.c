/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's whole search for V8's code, in made-up memory: code that it remembers never stands
 * for other code that runs. */
#include "tests/extract/v8_sampled.h"

struct found {
	uint64_t code;
	int32_t unit;
	size_t copies;
};

static struct found take_sample(uint32_t count)
{
	struct walk *walk = &made_up_walker.walk;
	struct found found;

	made_up_walker.runtime.begin_ns = now_ns;
	walk->runtime.file_id = FILE_ID;
	walk->record.count = count;
	walk->record.runtime_count = 0;
	planted.copies = 0;
	(void)add_v8_frames(&made_up_walker, 0);
	assert_int_equal(walk->record.runtime_count, 1);
	assert_int_equal(walk->record.runtime_end, PILOTLIGHT_RUNTIME_ROOT);
	found.code = *runtime_words(walk, 0);
	found.unit = (int32_t)runtime_words(walk, 0)[1];
	found.copies = planted.copies;
	return found;
}

/* What a sample finds that runs in the native frame. */
static struct found sample(uint64_t frame)
{
	struct walk *walk = &made_up_walker.walk;

	walk->leaf_sp = PLANTED_AT;
	walk->frames[0] = 0x10 | (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT;
	walk->frames[1] = frame;
	walk->depths[2] = FRAME + V8_FRAME_BYTES;
	return take_sample(3);
}

/* The same of the leaf, which has pushed so many bytes below its frame pointer. */
static struct found sample_leaf(uint32_t pushed)
{
	struct walk *walk = &made_up_walker.walk;

	walk->leaf_fp = PLANTED_AT + FRAME;
	walk->leaf_sp = walk->leaf_fp - pushed;
	walk->frames[0] = BUILTIN | PILOTLIGHT_FRAME_EXACT;
	walk->depths[1] = pushed + V8_FRAME_BYTES;
	return take_sample(2);
}

/* A second sample finds the copied code in the cache. */
static struct found meet(uint64_t frame)
{
	struct found first = sample(frame), again = sample(frame);

	assert_int_equal(again.code, first.code);
	assert_int_equal(again.unit, first.unit);
	assert_true(again.copies > 1);
	return first;
}

static void check_seen(uint64_t frame, struct found first)
{
	struct found again = sample(frame);

	assert_int_equal(again.code, first.code);
	assert_int_equal(again.unit, first.unit);
	assert_int_equal(again.copies, 1);
}

/* Beside its function are words that look like bytecodes, and a place in them. */
static void the_place_in_optimized_code_stays(void **state)
{
	struct found first = meet(GENERATED);

	assert_int_equal(first.unit, RETURN_AT - 1);
	check_seen(GENERATED, first);
	/* Words that look so in the first sample only, or in the second. */
	words[FRAME / 8 - 5] += 1ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	check_seen(GENERATED, first);
	words[FRAME / 8 - 4] = 0;
	check_seen(GENERATED, first);
}

/* Each sample has the place that runs then. */
static void the_place_in_bytecodes_changes(void **state)
{
	struct found first = meet(BUILTIN);

	assert_int_equal(first.unit, PLACE);
	check_seen(BUILTIN, first);
	words[FRAME / 8 - 5] += 1ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	first.unit++;
	check_seen(BUILTIN, first);
	/* Other bytecodes are of another function. */
	words[FUNCTION / 8 + 3] = object_at(OTHER_SHARED);
	words[FRAME / 8 - 4] = object_at(OTHER_BYTECODES);
	assert_int_not_equal(meet(BUILTIN).code, first.code);
}

/* V8 moves young functions, and makes others where they were. */
static void a_function_without_code_is_told_anew(void **state)
{
	static const uint64_t bytecodes[] = { 0, SCRIPT, BYTECODES };

	for (size_t i = 0; i < sizeof(bytecodes) / sizeof(bytecodes[0]); i++) {
		(void)set_up(NULL);
		/* The words beside the function are anything, such as another one's bytecodes. */
		words[FRAME / 8 - 4] = bytecodes[i] ? object_at(bytecodes[i]) : 0;
		words[SHARED / 8 + 1] = object_at(OTHER);
		assert_string_equal(name_of(meet(BUILTIN).code), "first");
		words[FUNCTION / 8 + 3] = object_at(OTHER_SHARED);
		assert_string_equal(name_of(sample(BUILTIN).code), "second");
	}
}

/* Code that is not optimized runs for any function. */
static void a_function_of_plain_code_is_told_anew(void **state)
{
	words[CODE / 8 + 6] = BASELINE_KIND - 1;
	assert_string_equal(name_of(meet(GENERATED).code), "first");
	words[FUNCTION / 8 + 3] = object_at(OTHER_SHARED);
	assert_string_equal(name_of(sample(GENERATED).code), "second");
}

/* Code of the first compiler whose table is too long stands for its function, and is copied once.
 */
static void code_that_is_too_long_is_tried_once(void **state)
{
	struct found first;
	size_t taken;

	words[CODE / 8 + 2] = object_at(BYTECODES);
	words[CODE / 8 + 6] = BASELINE_KIND;
	words[POSITIONS / 8 + 1] = (PILOTLIGHT_V8_BASELINE_PART_MAX + 1ULL)
				   << PILOTLIGHT_V8_NUMBER_SHIFT;
	assert_string_equal(name_of(sample(GENERATED).code), "first");
	first = sample(GENERATED);
	assert_string_equal(name_of(first.code), "first");
	assert_int_equal(first.unit, -1);
	taken = taken_count;
	assert_int_equal(taken, 2); /* the function's, and its code's */
	check_seen(GENERATED, first);
	/* In the next period it is looked for again, but not copied again. */
	now_ns += PERIOD_NS;
	assert_int_equal(sample(GENERATED).code, first.code);
	assert_int_equal(taken_count, taken);
}

/* What cannot be sent now has the identity that a later sample sends. */
static void code_without_room_stands_for_its_function(void **state)
{
	static const uint64_t kinds[] = { BASELINE_KIND, KIND };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct found first;

		(void)set_up(NULL);
		words[CODE / 8 + 6] = kinds[i];
		if (kinds[i] == BASELINE_KIND)
			words[CODE / 8 + 2] = object_at(BYTECODES);
		has_room = 0;
		first = sample(GENERATED);
		assert_int_equal(first.unit, -1);
		assert_string_equal(name_of(first.code), "");
		check_seen(GENERATED, first);
		/* In the next period there is room for the function, and then for its code. */
		now_ns += PERIOD_NS;
		has_room = 1;
		made_up_walker.runtime.is_spent = 0;
		assert_int_not_equal(sample(GENERATED).code, first.code);
		assert_string_equal(name_of(first.code), "first");
	}
}

/* The outermost function was sent, and one that it contains cannot be. */
static void code_with_a_part_unsent_stands_for_its_outermost(void **state)
{
	(void)sample(GENERATED);
	/* The code now contains another function at the place that runs. */
	words[CODE / 8 + 7] -= 8;
	words[POSITIONS / 8 + 2] ^= 4;
	words[LITERALS / 8 + 1] = 1ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	words[LITERALS / 8 + 2] = object_at(OTHER_SHARED);
	words[DEOPT / 8 + 2] = 1ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	now_ns += PERIOD_NS;
	has_room = 0;
	assert_string_equal(name_of(sample(GENERATED).code), "first");
	assert_int_equal(made_up_walker.runtime.is_spent, 1);
}

/* They are where an earlier call of the function left its bytecodes and a place. */
static void a_leaf_has_no_words_below_its_stack(void **state)
{
	struct found first = sample_leaf(16);

	assert_string_equal(name_of(first.code), "first");
	assert_int_equal(first.unit, -1);
	assert_int_equal(sample_leaf(32).unit, -1);
	(void)sample_leaf(40); /* a copy */
	assert_int_equal(sample_leaf(40).unit, PLACE);
}

/* Another function that returns to the same place, in code that has taken its place. */
static void another_function_has_other_code(void **state)
{
	struct found first = meet(GENERATED), other;

	memcpy(words + OTHER / 8, words + FUNCTION / 8, 32);
	words[OTHER / 8 + 3] = object_at(OTHER_SHARED);
	words[FRAME / 8 - 2] = object_at(OTHER);
	words[DEOPT / 8 + 4] = object_at(OTHER_SHARED);
	other = meet(GENERATED);
	assert_int_not_equal(other.code, first.code);
	assert_int_equal(other.unit, RETURN_AT - 1);
	check_seen(GENERATED, other);
}

/* Of code that has taken the place of other code of the same function. */
static void a_second_later_all_is_proved_again(void **state)
{
	struct found first = meet(GENERATED);

	now_ns += PERIOD_NS - 1;
	check_seen(GENERATED, first);
	words[CODE / 8 + 7] -= 8;
	words[POSITIONS / 8 + 2] ^= 4;
	now_ns++;
	assert_int_not_equal(sample(GENERATED).code, first.code);
}

/* The next process may have the same addresses. */
static void another_process_has_other_functions(void **state)
{
	struct found first = meet(GENERATED);

	made_up_walker.runtime.owner++;
	assert_true(sample(GENERATED).copies > 1);
	made_up_walker.runtime.owner--;
	check_seen(GENERATED, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_place_in_optimized_code_stays, set_up),
		cmocka_unit_test_setup(the_place_in_bytecodes_changes, set_up),
		cmocka_unit_test_setup(a_function_without_code_is_told_anew, set_up),
		cmocka_unit_test_setup(a_function_of_plain_code_is_told_anew, set_up),
		cmocka_unit_test_setup(code_that_is_too_long_is_tried_once, set_up),
		cmocka_unit_test_setup(code_without_room_stands_for_its_function, set_up),
		cmocka_unit_test_setup(code_with_a_part_unsent_stands_for_its_outermost, set_up),
		cmocka_unit_test_setup(a_leaf_has_no_words_below_its_stack, set_up),
		cmocka_unit_test_setup(another_function_has_other_code, set_up),
		cmocka_unit_test_setup(a_second_later_all_is_proved_again, set_up),
		cmocka_unit_test_setup(another_process_has_other_functions, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

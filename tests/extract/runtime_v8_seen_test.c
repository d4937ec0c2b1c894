/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's whole search for V8's code, in made-up memory: code that it remembers never stands
 * for other code that runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/extract/v8_sampler.h"

enum {
	CODE = 0x200,
	DEOPT = 0x300,
	OTHER_SHARED = 0x480,
	LITERALS = 0x900,
	INLININGS = 0x940,
	NAME = 0xa00,
	OTHER_NAME = 0xa40,
	OTHER_BYTECODES = 0xb00,
	START = 0x1000,
	SIZE = 0x200,
	RETURN_AT = 0x101, /* behind the call */
	ENTERED_AT = 4,	   /* in the prologue */
	KIND = 12,
	BASELINE_KIND = 11,
	DEOPT_TYPE = 9,
	LITERALS_TYPE,
	INLININGS_TYPE,
	FILE_ID = 5,
};

#define BUILTIN                                                           \
	((uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT | \
		(uint64_t)FILE_ID << PILOTLIGHT_FRAME_FILE_SHIFT | 0x1234)
#define GENERATED ((uint64_t)PLANTED_AT + START + RETURN_AT)
#define ENTERED	  ((uint64_t)PLANTED_AT + START + ENTERED_AT)

static uint64_t words[2 * V8_PAGE_WORDS];

static const struct pilotlight_runtime_v8 described = { .code_bytes = 1 << 20,
	.frame_function_at = -16,
	.map_type_at = 8,
	.function_type_first = FUNCTION_TYPE,
	.function_type_last = FUNCTION_TYPE,
	.shared_type = SHARED_TYPE,
	.script_type = SCRIPT_TYPE,
	.function_shared_at = 24,
	.shared_name_at = 16,
	.shared_script_at = 32,
	.shared_number_at = 48,
	.script_source_at = 8,
	.script_name_at = 16,
	.script_line_ends_at = 24,
	.script_id_at = 64,
	.array_length_at = 8,
	.array_data_at = 16,
	.string_length_at = 12,
	.string_characters_at = 16,
	.code = { .before_bytes = 16,
		.code_at = 8,
		.start_at = 40,
		.type = CODE_TYPE,
		.deopt_at = 16,
		.positions_at = 24,
		.flags_at = 48,
		.size_at = 56,
		.last_kind = BASELINE_KIND,
		.deopt_type = DEOPT_TYPE,
		.literals_type = LITERALS_TYPE,
		.inlinings_type = INLININGS_TYPE,
		.positions_type = POSITIONS_TYPE,
		.count_at = 16,
		.literals_at = 24,
		.function_at = 32,
		.inlinings_at = 40 },
	.bytecodes_type = BYTECODES_TYPE,
	.bytecodes_positions_at = 32,
	.bytecodes_data_at = DATA_AT };

static void plant_name(uint64_t at, const char *name)
{
	plant_object(words, at, PILOTLIGHT_V8_STRING_NARROW);
	words[at / 8 + 1] = (uint64_t)strlen(name) << 32;
	memcpy(words + at / 8 + 2, name, strlen(name));
}

/* Optimized code of the function, which has no other functions. */
static void plant_code(void)
{
	plant_object(words, CODE, CODE_TYPE);
	words[CODE / 8 + 2] = object_at(DEOPT);
	words[CODE / 8 + 3] = object_at(POSITIONS);
	words[CODE / 8 + 5] = PLANTED_AT + START;
	words[CODE / 8 + 6] = KIND;
	words[CODE / 8 + 7] = SIZE;
	words[START / 8 - 2] = object_at(TYPES);
	words[START / 8 - 1] = object_at(CODE);
	plant_object(words, DEOPT, DEOPT_TYPE);
	words[DEOPT / 8 + 1] = 4ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	words[DEOPT / 8 + 3] = object_at(LITERALS);
	words[DEOPT / 8 + 4] = object_at(SHARED);
	words[DEOPT / 8 + 5] = object_at(INLININGS);
	plant_object(words, LITERALS, LITERALS_TYPE);
	plant_object(words, INLININGS, INLININGS_TYPE);
}

/* A frame, whose words look like those of the interpreter, between the leaf and the outermost. */
static int set_up(void **state)
{
	(void)state;
	made_up_v8 = described;
	memset(words, 0, sizeof(words));
	memset(seen, 0, sizeof(seen));
	memset(&made_up_walker, 0, sizeof(made_up_walker));
	planted.bytes = (uint8_t *)words;
	planted.size = sizeof(words);
	sent_count = taken_count = 0;
	has_room = has_register = 1;
	now_ns = 7ULL * PERIOD_NS;
	plant_frame(words);
	memcpy(words + OTHER_BYTECODES / 8, words + BYTECODES / 8, 40);
	memcpy(words + OTHER_SHARED / 8, words + SHARED / 8, 56);
	words[OTHER_SHARED / 8 + 1] = object_at(OTHER_BYTECODES);
	words[SHARED / 8 + 2] = object_at(NAME);
	words[OTHER_SHARED / 8 + 2] = object_at(OTHER_NAME);
	plant_name(NAME, "first");
	plant_name(OTHER_NAME, "second");
	plant_code();
	return 0;
}

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

/* Samples a leaf without a frame of its own, which has pushed so many bytes, in this native frame.
 * Returns how many functions were found. */
static uint32_t sample_entered(uint64_t frame, uint32_t pushed)
{
	struct walk *walk = &made_up_walker.walk;

	made_up_walker.runtime.begin_ns = now_ns;
	walk->runtime.file_id = FILE_ID;
	walk->leaf_fp = PLANTED_AT + FRAME;
	walk->leaf_sp = walk->leaf_fp - 0x100;
	walk->frames[0] = frame | PILOTLIGHT_FRAME_EXACT;
	walk->depths[1] = pushed + 8;
	walk->record.count = 2;
	walk->record.runtime_count = 0;
	(void)add_v8_frames(&made_up_walker, 0);
	return walk->record.runtime_count;
}

/* The function that was sent as this. */
static const char *name_of(uint64_t code)
{
	for (size_t i = 0; i < sent_count; i++)
		if ((sent[i].hash & PILOTLIGHT_RUNTIME_CODE_MASK) == code && sent[i].name[0])
			return sent[i].name;
	return "";
}

static int was_sent(const char *name)
{
	for (size_t i = 0; i < sent_count; i++)
		if (strcmp(sent[i].name, name) == 0)
			return 1;
	return 0;
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

/* It is in %rdi, whether the caller's frame pointer was pushed or not. */
static void a_function_that_is_entered_has_no_frame(void **state)
{
	static const uint64_t kinds[] = { KIND, BASELINE_KIND };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (uint32_t pushed = 0; pushed <= 8; pushed += 8) {
			struct walk *walk = &made_up_walker.walk;

			(void)set_up(NULL);
			register_rdi = object_at(FUNCTION);
			words[CODE / 8 + 6] = kinds[i];
			if (kinds[i] == BASELINE_KIND)
				words[CODE / 8 + 2] = object_at(BYTECODES);
			assert_int_equal(sample_entered(ENTERED, pushed), 1);
			assert_true(was_sent("first"));
			/* The second time all is known. */
			assert_int_equal(sample_entered(ENTERED, pushed), 1);
			assert_int_equal((int32_t)runtime_words(walk, 0)[1], ENTERED_AT);
			assert_int_equal((uint32_t)(runtime_words(walk, 0)[1] >> 32) & 0xffff, 0);
		}
}

/* The last sample of this CPU, perhaps of another process, has left its state. */
static void a_function_that_is_entered_has_nothing_of_another_sample(void **state)
{
	static const uint32_t left[][2] = { { 0, 0 }, { TYPES, 0 }, { POSITIONS, BYTECODES } };
	static const uint64_t kinds[] = { KIND, BASELINE_KIND };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t code = 0;

		for (size_t k = 0; k < sizeof(left) / sizeof(left[0]); k++) {
			(void)set_up(NULL);
			register_rdi = object_at(FUNCTION);
			words[CODE / 8 + 6] = kinds[i];
			if (kinds[i] == BASELINE_KIND)
				words[CODE / 8 + 2] = object_at(BYTECODES);
			made_up_walker.runtime.v8.pcs = left[k][0] ? object_at(left[k][0]) : 0;
			made_up_walker.runtime.v8.bytecodes =
				left[k][1] ? object_at(left[k][1]) : 0;
			made_up_walker.runtime.v8.table = made_up_walker.runtime.v8.pcs;
			made_up_walker.runtime.v8.seen_key = left[k][0];
			assert_int_equal(sample_entered(ENTERED, 0), 1);
			assert_int_equal(sample_entered(ENTERED, 0), 1);
			/* Its identity is that of what was copied. */
			if (k == 0)
				code = runtime_words(&made_up_walker.walk, 0)[0];
			assert_true(runtime_words(&made_up_walker.walk, 0)[0] == code);
		}
	}
}

/* The register has any value once the frame is made, and when it has been dropped. */
static void no_function_is_entered_in_code_of_another(void **state)
{
	static const uint64_t kinds[] = { KIND, BASELINE_KIND };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)set_up(NULL);
		register_rdi = object_at(FUNCTION);
		words[CODE / 8 + 6] = kinds[i];
		if (kinds[i] == BASELINE_KIND)
			words[CODE / 8 + 2] = object_at(BYTECODES);
		words[FUNCTION / 8 + 3] = object_at(OTHER_SHARED);
		assert_int_equal(sample_entered(ENTERED, 0), 0);
	}
}

static void no_function_is_entered_without_proof(void **state)
{
	register_rdi = 0;
	assert_int_equal(sample_entered(ENTERED, 0), 0);
	register_rdi = object_at(SHARED);
	assert_int_equal(sample_entered(ENTERED, 0), 0);
	register_rdi = object_at(FUNCTION);
	assert_int_equal(sample_entered(BUILTIN, 0), 0);
	assert_int_equal(sample_entered(ENTERED + SIZE, 0), 0);
	words[CODE / 8 + 6] = BASELINE_KIND - 1;
	assert_int_equal(sample_entered(ENTERED, 0), 0);
	has_register = 0;
	words[CODE / 8 + 6] = KIND;
	assert_int_equal(sample_entered(ENTERED, 0), 0);
	has_register = 1;
	assert_int_equal(sample_entered(ENTERED, 0), 1);
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
		cmocka_unit_test_setup(a_function_that_is_entered_has_no_frame, set_up),
		cmocka_unit_test_setup(
			a_function_that_is_entered_has_nothing_of_another_sample, set_up),
		cmocka_unit_test_setup(no_function_is_entered_in_code_of_another, set_up),
		cmocka_unit_test_setup(no_function_is_entered_without_proof, set_up),
		cmocka_unit_test_setup(another_function_has_other_code, set_up),
		cmocka_unit_test_setup(a_second_later_all_is_proved_again, set_up),
		cmocka_unit_test_setup(another_process_has_other_functions, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

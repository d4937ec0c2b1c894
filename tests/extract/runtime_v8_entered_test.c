/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of V8 that are being entered: the leaf runs their code, or makes the frame for it. */
#include "tests/extract/v8_sampled.h"

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

enum {
	PUSH_RBP = 0x55,
	MAKER = 0x1f00, /* the function of V8 that makes frames */
	/* Where the code starts: xor %ebx, %ebx; mov $bytecodes, %r12; call */
	MOV_R12_AT = START + 2,
	NEAR_CALL_AT = MOV_R12_AT + 10,
	NEAR_RETURN_AT = NEAR_CALL_AT + 5,
	FAR_RETURN_AT = NEAR_CALL_AT + 7,
};

static void plant_bytes(uint64_t at, const char *bytes, size_t count)
{
	memcpy((char *)words + at, bytes, count);
}

static void set_up_maker(void)
{
	(void)set_up(NULL);
	register_rdi = object_at(FUNCTION);
	register_rip = PLANTED_AT + MAKER;
	words[CODE / 8 + 6] = BASELINE_KIND;
	words[CODE / 8 + 2] = object_at(BYTECODES);
	words[MAKER / 8] = PUSH_RBP;
	plant_bytes(START, "\x33\xdb\x49\xbc", 4);
	plant_bytes(NEAR_CALL_AT, "\xe8", 1);
}

/* The leaf is a function of V8 that has been called at this place, and has no frame. */
static uint32_t sample_maker(uint64_t return_at)
{
	struct walk *walk = &made_up_walker.walk;

	made_up_walker.runtime.begin_ns = now_ns;
	walk->runtime.file_id = FILE_ID;
	walk->leaf_fp = PLANTED_AT + FRAME;
	walk->leaf_sp = walk->leaf_fp - 0x100;
	walk->frames[0] = BUILTIN | PILOTLIGHT_FRAME_EXACT;
	walk->frames[1] = PLANTED_AT + return_at;
	walk->frames[2] = PLANTED_AT;
	walk->depths[1] = 8;
	walk->depths[2] = 0x800; /* no function's frame */
	walk->record.count = 3;
	walk->record.runtime_count = 0;
	(void)add_v8_frames(&made_up_walker, 0);
	return walk->record.runtime_count;
}

/* Its code has called a function of V8 for that. */
static void a_function_whose_frame_is_being_made_is_entered(void **state)
{
	set_up_maker();
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 1);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 1);
	assert_true(was_sent("first"));
	/* It stands for the leaf. */
	assert_int_equal((uint32_t)(runtime_words(&made_up_walker.walk, 0)[1] >> 32) & 0xffff, 0);

	set_up_maker();
	plant_bytes(NEAR_CALL_AT, "\x41\xff\x95", 3);
	assert_int_equal(sample_maker(FAR_RETURN_AT), 1);
}

/* The code has called something else, or the frame is made, or another function is in %rdi. */
static void a_function_with_a_frame_is_not_entered_again(void **state)
{
	set_up_maker();
	assert_int_equal(sample_maker(NEAR_RETURN_AT + 1), 0);
	plant_bytes(MOV_R12_AT, "\x49\xbd", 2);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);

	set_up_maker();
	plant_bytes(MAKER, "\xc3", 1);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);
	plant_bytes(MAKER, "\x49\x8b\x85\x20\x02\x00\x00\xc3", 8);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);
	plant_bytes(MAKER, "\x49\x8b\x85\x20\x02\x00\x00\x90", 8);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 1);

	set_up_maker();
	words[FUNCTION / 8 + 3] = object_at(OTHER_SHARED);
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);

	set_up_maker();
	register_rip = 8; /* cannot be read */
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);
	register_rip = PLANTED_AT + MAKER;
	has_register = 0;
	assert_int_equal(sample_maker(NEAR_RETURN_AT), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_function_that_is_entered_has_no_frame, set_up),
		cmocka_unit_test_setup(
			a_function_that_is_entered_has_nothing_of_another_sample, set_up),
		cmocka_unit_test_setup(no_function_is_entered_in_code_of_another, set_up),
		cmocka_unit_test(a_function_whose_frame_is_being_made_is_entered),
		cmocka_unit_test(a_function_with_a_frame_is_not_entered_again),
		cmocka_unit_test_setup(no_function_is_entered_without_proof, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

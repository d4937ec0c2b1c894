/* SPDX-License-Identifier: GPL-2.0-or-later */
/* V8's optimized code in made-up memory: the search for it, and the copy of its table, compiled for
 * the host. */
#include "tests/extract/v8_objects.h"

#include "base/array.h"
#include "pilotlight/runtime_v8.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_inlined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct pilotlight_runtime_v8 runtime;

/* Optimized code with as many functions, calls and positions as a table has room for. */
static void the_longest_table_is_read(void **state)
{
	static uint64_t words[1024];
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	__u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX];
	struct runtime_v8 v8 = { .function_count = PILOTLIGHT_V8_FUNCTIONS_MAX };
	const size_t positions = 512;

	runtime = (struct pilotlight_runtime_v8){ .array_length_at = 8, .array_data_at = 16 };
	v8.inlinings = PLANTED_AT + PILOTLIGHT_V8_OBJECT;
	v8.positions = v8.inlinings + positions * sizeof(uint64_t);
	words[1] = (uint64_t)(PILOTLIGHT_V8_INLININGS_MAX * V8_INLINING_BYTES)
		   << PILOTLIGHT_V8_NUMBER_SHIFT;
	words[positions + 1] = (uint64_t)PILOTLIGHT_V8_POSITION_BYTES_MAX
			       << PILOTLIGHT_V8_NUMBER_SHIFT;
	for (size_t i = 0; i < PILOTLIGHT_V8_FUNCTIONS_MAX; i++)
		functions[i] = 1000 + i;
	planted.bytes = (uint8_t *)words;
	planted.size = sizeof(words);
	assert_true(v8_copy_inlined(&v8, &runtime, functions, &record));
	assert_int_equal(record.line_bytes, PILOTLIGHT_RUNTIME_TABLE_MAX);
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	assert_int_equal(runtime_inlined_find(code.table, code.table_bytes, 0, frames), 1);
	assert_int_equal(frames[0].code, 1000);
}

/* The same addresses with another function, other literals or other inlinings are other code. */
static void check_others(struct runtime_v8 *v8, uint64_t ip, uint64_t *deopt)
{
	uint64_t *const changed[] = { (uint64_t *)&v8->outer, deopt + 3, deopt + 4 };
	struct runtime_step first, step;

	assert_true(is_optimized(v8, &runtime, ip, &first));
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		(*changed[i])++;
		assert_true(is_optimized(v8, &runtime, ip, &step));
		assert_int_not_equal(step.check, first.check);
		(*changed[i])--;
	}
	assert_true(is_optimized(v8, &runtime, ip, &step));
	assert_int_equal(step.check, first.check);
}

/* Where the code's objects are, and what the words say. */
enum {
	TYPE = 200,
	KIND = 12,
	MAP = 0x100,
	CODE = 0x200,
	DEOPT = 0x300,
	START = 0x1000,
	SIZE = 0x1800,
	LIKE = 40
};

/* What is before the instructions: the code, or an object that has a pointer to it. */
struct layout {
	uint16_t before_bytes, code_at, start_at;
};

/* Returns where the code is. Instructions behind it look like such an object, too. */
static uint64_t plant(uint64_t *words, const struct layout *layout)
{
	const uint64_t map = PLANTED_AT + MAP + PILOTLIGHT_V8_OBJECT;
	const uint64_t object = START - layout->before_bytes;
	const uint64_t code = layout->code_at ? CODE : object;

	words[MAP / 8 + 1] = TYPE;
	words[object / 8] = map;
	words[object / 8 + 1] = PLANTED_AT + CODE + PILOTLIGHT_V8_OBJECT;
	words[code / 8] = map;
	words[code / 8 + 2] = PLANTED_AT + DEOPT + PILOTLIGHT_V8_OBJECT;
	words[code / 8 + 5] = PLANTED_AT + START;
	words[code / 8 + 6] = KIND;
	words[code / 8 + 7] = SIZE;
	for (uint64_t at = START + 64; at <= START + LIKE * 64; at += 64) {
		words[(at - layout->before_bytes) / 8] = map - 16;
		words[(at - layout->before_bytes) / 8 + 1] = map - 16;
	}
	return code;
}

/* The code of instructions on the page behind the one where the object before them is. */
static void the_code_is_found_from_an_instruction(void **state)
{
	static uint64_t words[3 * V8_PAGE_WORDS];
	static const struct layout layouts[] = { { 128, 0, 128 }, { 16, 8, 40 }, { 32, 8, 40 } };
	const uint64_t ip = PLANTED_AT + START;

	planted.bytes = (uint8_t *)words;
	planted.size = sizeof(words);
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct runtime_step step;
		struct runtime_v8 v8;
		uint64_t code;

		runtime = (struct pilotlight_runtime_v8){ .map_type_at = 8,
			.code = { .before_bytes = layouts[i].before_bytes,
				.code_at = layouts[i].code_at,
				.start_at = layouts[i].start_at,
				.type = TYPE,
				.deopt_at = 16,
				.literals_at = 24,
				.inlinings_at = 32,
				.flags_at = 48,
				.size_at = 56,
				.last_kind = KIND - 1 } };
		memset(words, 0, sizeof(words));
		code = plant(words, &layouts[i]);
		runtime_v8_begin(&v8);
		v8.outer = 0;
		planted.page_copies = 0;
		assert_true(is_optimized(&v8, &runtime, ip + SIZE - 1, &step));
		assert_int_equal(planted.page_copies, 3);
		assert_int_equal(step.unit, SIZE - 1);
		assert_int_equal(step.code, PLANTED_AT + code + PILOTLIGHT_V8_OBJECT);
		assert_true(is_optimized(&v8, &runtime, ip, &step));
		assert_int_equal(step.unit, 0);
		check_others(&v8, ip, words + DEOPT / 8);
		assert_false(is_optimized(&v8, &runtime, ip + SIZE, &step));
		words[code / 8 + 6] = KIND - 1;
		assert_false(is_optimized(&v8, &runtime, ip, &step));
	}
}

/* The place in the source that runs; negative: the frame has no bytecodes that are its own. */
static int32_t find_place(void)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	const __u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX] = { 1000 };
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	struct runtime_step step;
	struct runtime_v8 v8;

	runtime_v8_begin(&v8);
	v8.outer = find_shared(&v8, &runtime, PLANTED_AT + FRAME);
	assert_int_equal(v8.outer, object_at(SHARED));
	runtime_v8_prove(&v8, &runtime, v8.outer, &step);
	assert_int_equal(step.code, v8.outer);
	if (!v8_has_table(&v8, &step) || !v8_read_bytecodes(&v8, &runtime))
		return -2;
	assert_true(v8_copy_inlined(&v8, &runtime, functions, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	assert_int_equal(
		runtime_inlined_find(code.table, code.table_bytes, v8.table_unit, frames), 1);
	assert_int_equal(frames[0].code, 1000);
	return frames[0].unit;
}

static void check_changed(uint64_t *words, uint64_t at, uint64_t value)
{
	uint64_t word = words[at / 8];

	words[at / 8] = value;
	assert_int_equal(find_place(), -2);
	words[at / 8] = word;
	assert_int_equal(find_place(), 28);
}

static void the_place_in_bytecodes_is_found(void **state)
{
	static uint64_t words[512];

	runtime = (struct pilotlight_runtime_v8){ .frame_function_at = -16,
		.map_type_at = 8,
		.function_type_first = FUNCTION_TYPE,
		.function_type_last = FUNCTION_TYPE,
		.shared_type = SHARED_TYPE,
		.script_type = SCRIPT_TYPE,
		.function_shared_at = 24,
		.shared_name_at = 16,
		.shared_script_at = 32,
		.shared_number_at = 48,
		.script_id_at = 64,
		.array_length_at = 8,
		.array_data_at = 16,
		.code = { .type = CODE_TYPE, .deopt_at = 16, .positions_type = POSITIONS_TYPE },
		.bytecodes_type = BYTECODES_TYPE,
		.bytecodes_positions_at = 32,
		.bytecodes_data_at = DATA_AT };
	memset(words, 0, sizeof(words));
	planted.bytes = (uint8_t *)words;
	planted.size = sizeof(words);
	plant_frame(words);
	assert_int_equal(find_place(), 28);
	check_changed(words, FRAME - 32, object_at(OTHER));
	check_changed(words, FRAME - 32, 0);
	check_changed(words, FRAME - 40, object_at(OTHER));
	check_changed(words, FRAME - 40, 1ULL << PILOTLIGHT_V8_NUMBER_SHIFT);
	check_changed(words, BYTECODES, object_at(OTHER));
	check_changed(words, POSITIONS, object_at(OTHER));
	/* V8's own functions have no script. */
	check_changed(words, SCRIPT, object_at(OTHER));
	/* V8 has compiled them, too. */
	words[SHARED / 8 + 1] = object_at(OTHER);
	words[OTHER / 8 + 2] = object_at(BYTECODES);
	assert_int_equal(find_place(), 28);
	check_changed(words, OTHER + 16, object_at(OTHER));
	/* No position is before the first one. */
	words[FRAME / 8 - 5] = (uint64_t)(DATA_AT - 1 + 7) << PILOTLIGHT_V8_NUMBER_SHIFT;
	assert_int_equal(find_place(), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_table_is_read),
		cmocka_unit_test(the_code_is_found_from_an_instruction),
		cmocka_unit_test(the_place_in_bytecodes_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

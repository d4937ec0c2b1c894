/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel side remembers of code objects, compiled for the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_known.bpf.h"
#include "bpf/runtime_php.bpf.h"

/* A code object of a made-up interpreter, whose type is at place 0x40. Behind it are its file, its
 * name, its table of lines, and two frames of it. */
enum { START = 0x1000, FILE_AT = 12, NAME_AT = 20, LINES_AT = 28, FRAME_AT = 32, WORDS = 40 };

enum { KNOWN_SHIFT = 9 };

static uint64_t object[WORDS];
static unsigned reads;
static struct runtime_known_way recent[RUNTIME_RECENT];

static const struct pilotlight_runtime runtime = {
	.instruction = PILOTLIGHT_RUNTIME_INDEX,
	.group = PILOTLIGHT_RUNTIME_GROUP_SINGLE,
	.frame_bytes = 24,
	.frame_previous_at = 8,
	.frame_instruction_at = 16,
	.code_type_place = 0x40,
	.object_type_at = 8,
	.code_file_at = 48,
	.code_name_at = 56,
	.code_first_line_at = 64,
	.code_lines_at = 72,
	.string_state_at = 16,
	.string_ascii_at = 24,
	.string_other_at = 32,
	.bytes_data_at = 16,
};

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	__asm__ volatile("" : "+r"(address)); /* or the compiler warns of some */
	reads++;
	if (address < START || address > START + sizeof(object) - size)
		return 0;
	memcpy(bytes, (uint8_t *)object + (address - START), size);
	return 1;
}

static struct runtime_step step_of_object(void)
{
	struct runtime_walk walk = { .base = 0x400000, .frame = START + FRAME_AT * 8 };
	struct runtime_span spans[RUNTIME_SPANS] = { 0 };
	struct runtime_step step;

	walk.code_bytes = runtime_code_bytes(&runtime);
	assert_int_equal(runtime_next(&walk, spans, &runtime, &step), RUNTIME_ROOT);
	return step;
}

/* A recursion: while the thread stands still, the object is the same. */
static void an_object_is_read_once_in_a_walk(void **state)
{
	struct runtime_walk walk = { .base = 0x400000, .frame = START + FRAME_AT * 8 };
	struct runtime_span spans[RUNTIME_SPANS] = { 0 };
	struct runtime_step first, second;

	object[FRAME_AT + 1] = START + (FRAME_AT + 3) * 8;
	object[FRAME_AT + 3] = START;
	object[FRAME_AT + 4] = 0;
	object[FRAME_AT + 5] = 9;
	walk.code_bytes = runtime_code_bytes(&runtime);
	assert_int_equal(runtime_next(&walk, spans, &runtime, &first), RUNTIME_ON);
	runtime_last_seen(&walk)->identity = 77;
	reads = 0;
	assert_int_equal(runtime_next(&walk, spans, &runtime, &second), RUNTIME_ROOT);
	assert_int_equal(reads, 1);
	assert_int_equal(runtime_last_seen(&walk)->identity, 77);
	assert_int_equal(second.code, first.code);
	assert_int_equal(second.check, first.check);
	assert_int_equal(second.unit, 9);
}

static int set_up(void **state)
{
	for (size_t i = 0; i < sizeof(object) / sizeof(object[0]); i++)
		object[i] = 0x1111 * i;
	object[1] = 0x400040;
	object[6] = START + FILE_AT * 8;
	object[7] = START + NAME_AT * 8;
	object[9] = START + LINES_AT * 8;
	object[FILE_AT] = 23;
	object[NAME_AT] = 11;
	object[FILE_AT + 1] = RUNTIME_NO_HASH;
	object[FILE_AT + 2] = object[NAME_AT + 2] =
		1 << 2 | PILOTLIGHT_RUNTIME_STRING_COMPACT | PILOTLIGHT_RUNTIME_STRING_ASCII;
	object[LINES_AT] = 40;
	object[FRAME_AT] = START;
	object[FRAME_AT + 1] = 0;
	object[FRAME_AT + 2] = 7;
	return 0;
}

static bool is_known(const struct runtime_known *known, uint64_t owner,
	const struct runtime_step *step, uint64_t hash)
{
	__u64 found;

	return runtime_is_known(known, owner, step, &found) && found == hash;
}

static void an_object_is_known_once_it_is_remembered(void **state)
{
	struct runtime_known known = { 0 };
	struct runtime_step step = step_of_object();

	assert_int_equal(step.code, START);
	assert_int_equal(step.unit, 7);
	assert_false(is_known(&known, 5, &step, 0));
	runtime_remember(&known, recent, 5, &step, 77);
	assert_true(is_known(&known, 5, &step, 77));
	assert_false(is_known(&known, 6, &step, 77));
	step.code += 16;
	assert_false(is_known(&known, 5, &step, 77));
}

static void four_objects_share_a_place(void **state)
{
	struct runtime_known known = { 0 };
	struct runtime_step step = { 0 };

	for (step.code = 0; step.code < 5; step.code++)
		runtime_remember(&known, recent, 5, &step, 70 + step.code);
	for (step.code = 0; step.code < 5; step.code++)
		assert_int_equal(is_known(&known, 5, &step, 70 + step.code), step.code > 0);
}

/* Code that was replaced is not found again, and the other objects stay known. */
static void an_object_has_one_entry(void **state)
{
	struct runtime_known known = { 0 };
	struct runtime_step step = { 0 };
	const struct runtime_known_way *last = runtime_recent(recent, &step);

	for (step.code = 1; step.code < 4; step.code++)
		runtime_remember(&known, recent, 5, &step, 70 + step.code);
	step.code = 0;
	for (uint64_t hash = 60; hash < 70; hash++) {
		runtime_remember(&known, recent, 5, &step, hash);
		assert_true(is_known(&known, 5, &step, hash));
		assert_true(runtime_is_way(last, 5, &step));
		assert_int_equal(last->hash, hash);
	}
	for (step.code = 1; step.code < 4; step.code++)
		assert_true(is_known(&known, 5, &step, 70 + step.code));
}

/* An interrupt came between the words of an entry. */
static void half_an_entry_is_of_no_object(void **state)
{
	struct runtime_known first = { 0 }, second = { 0 };
	struct runtime_step step = { .code = 16, .check = 1 }, other = { .code = 32, .check = 2 };
	__u64 hash;

	runtime_remember(&first, recent, 5, &step, 70);
	runtime_remember(&second, recent, 5, &other, 71);
	first.ways[0].hash = second.ways[0].hash;
	assert_false(runtime_is_known(&first, 5, &step, &hash));
	assert_false(runtime_is_known(&first, 5, &other, &hash));
}

static void another_object_in_its_place_is_not_known(void **state)
{
	/* The name has a hash, the file has none. */
	static const size_t words[] = { 2, 3, 4, 5, 6, 7, 8, 9, FILE_AT, FILE_AT + 1, FILE_AT + 4,
		FILE_AT + 5, NAME_AT, NAME_AT + 1 };
	static const size_t others[] = { 0, FILE_AT + 6, NAME_AT + 2, LINES_AT, LINES_AT + 2 };
	struct runtime_known known = { 0 };
	struct runtime_step step = step_of_object();

	runtime_remember(&known, recent, 5, &step, 77);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		(void)set_up(NULL);
		object[words[i]]++;
		step = step_of_object();
		assert_int_equal(step.code, START);
		assert_false(is_known(&known, 5, &step, 77));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		(void)set_up(NULL);
		object[others[i]]++;
		step = step_of_object();
		assert_true(is_known(&known, 5, &step, 77));
	}
	/* The first line has four bytes; what follows may change. */
	(void)set_up(NULL);
	object[8] ^= 1ULL << 32;
	step = step_of_object();
	assert_true(is_known(&known, 5, &step, 77));
	/* It is no code object any more. */
	object[1]++;
	assert_int_equal(step_of_object().code, 0);
}

static void places_are_spread(void **state)
{
	static uint8_t used[1 << KNOWN_SHIFT];
	struct runtime_step step = { .code = 0x7f0000001000 };
	size_t count = 0;

	for (size_t i = 0; i < 1 << KNOWN_SHIFT; i++, step.code += 0x90) {
		__u32 place = runtime_known_place(5, &step, KNOWN_SHIFT);

		assert_true(place < 1 << KNOWN_SHIFT);
		count += !used[place];
		used[place] = 1;
	}
	assert_true(count > (1 << KNOWN_SHIFT) / 2);
}

/* Four processes at once, each with stacks of 60 frames from 200 functions. */
static void several_deep_programs_are_known(void **state)
{
	static struct runtime_known known[1 << KNOWN_SHIFT];
	size_t count = 0;

	for (__u64 owner = 1; owner <= 4; owner++)
		for (size_t i = 0; i < 200; i++) {
			struct runtime_step step = { .code = 0x7f0000001000 + i * 0x90 };

			runtime_remember(&known[runtime_known_place(owner, &step, KNOWN_SHIFT)],
				recent, owner, &step, i);
		}
	for (__u64 owner = 1; owner <= 4; owner++)
		for (size_t i = 0; i < 200; i++) {
			struct runtime_step step = { .code = 0x7f0000001000 + i * 0x90 };

			count += is_known(&known[runtime_known_place(owner, &step, KNOWN_SHIFT)],
				owner, &step, i);
		}
	print_message("%zu of 800 are known\n", count);
	assert_true(count > 780);
}

/* The lines of some instructions are read once a walk. The next walk reads what is there then. */
static void lines_are_read_once_a_walk(void **state)
{
	enum { LINE_AT = 4, INSTRUCTIONS = WORDS - 1 };
	const uint64_t absent = START - 8;
	struct runtime_walk walk = { 0 };
	struct runtime_span spans[RUNTIME_SPANS] = { 0 };

	for (uint64_t i = 0; i < WORDS; i++)
		object[i] = (100 + i) << 32 | (uint32_t)~0;
	/* More than are kept, so some take the place of others. */
	for (unsigned round = 0; round < 2; round++)
		for (int i = 0; i < INSTRUCTIONS; i++)
			assert_int_equal(runtime_line(&walk, START + i * 8, LINE_AT), 100 + i);
	runtime_forget(&walk, spans);
	reads = 0;
	for (unsigned round = 0; round < 3; round++)
		assert_int_equal(runtime_line(&walk, START, LINE_AT), 100);
	assert_int_equal(reads, 1);
	object[0] = 7ULL << 32;
	runtime_forget(&walk, spans);
	assert_int_equal(runtime_line(&walk, START, LINE_AT), 7);
	/* None, memory that is not there, which may be there later, and a line that makes no sense.
	 */
	assert_int_equal(runtime_line(&walk, 0, LINE_AT), RUNTIME_UNIT_UNKNOWN);
	reads = 0;
	for (unsigned round = 0; round < 2; round++)
		assert_int_equal(runtime_line(&walk, absent, LINE_AT), RUNTIME_UNIT_UNKNOWN);
	assert_int_equal(reads, 2);
	object[1] = (uint64_t)RUNTIME_UNITS_MAX << 32;
	runtime_forget(&walk, spans);
	assert_int_equal(runtime_line(&walk, START + 8, LINE_AT), RUNTIME_UNIT_UNKNOWN);
}

/* One that was read already. */
static void lines_may_come_with_others(void **state)
{
	struct runtime_walk walk = { 0 };
	struct runtime_span spans[RUNTIME_SPANS] = { 0 };

	reads = 0;
	runtime_keep_line(&walk, START, 12);
	assert_int_equal(runtime_line(&walk, START, 4), 12);
	runtime_keep_line(&walk, START, RUNTIME_UNITS_MAX);
	assert_int_equal(runtime_line(&walk, START, 4), RUNTIME_UNIT_UNKNOWN);
	assert_int_equal(reads, 0);
	runtime_forget(&walk, spans);
	object[0] = 7ULL << 32;
	assert_int_equal(runtime_line(&walk, START, 4), 7);
}

/* Two that are called by turns do not displace each other, and none is taken for another one. */
static void two_objects_may_have_one_place(void **state)
{
	struct runtime_walk walk = { 0 };
	uint64_t addresses[3] = { START };
	struct runtime_seen *places[3];
	unsigned found = 1;

	places[0] = runtime_see(&walk, addresses[0]);
	for (uint64_t address = START + 8; found < 3; address += 8)
		if (runtime_see(&walk, address) == places[0])
			addresses[found++] = address;
	for (unsigned i = 0; i < 3; i++) {
		places[i] = runtime_see(&walk, addresses[i]);
		assert_ptr_equal(places[i], runtime_last_seen(&walk));
		assert_int_not_equal(places[i]->address, addresses[i]);
		places[i]->address = addresses[i];
		assert_ptr_equal(runtime_see(&walk, addresses[i]), places[i]);
		if (i == 1)
			assert_ptr_equal(runtime_see(&walk, addresses[0]), places[0]);
	}
	assert_ptr_not_equal(places[0], places[1]);
	assert_int_not_equal(runtime_see(&walk, addresses[1])->address, addresses[1]);
}

/* A class is read once a walk, also if functions of none are between its methods. */
static void classes_are_read_once_a_walk(void **state)
{
	enum { CLASS_NAME = 8 };
	struct runtime_walk walk = { 0 };
	struct runtime_span spans[RUNTIME_SPANS] = { 0 };
	uint64_t check;

	object[PHP_CLASS_NAME_AT / 8] = START + CLASS_NAME * 8;
	object[CLASS_NAME] = (uint64_t)PHP_STRING << PHP_STRING_TYPE_SHIFT;
	object[CLASS_NAME + PHP_HASH] = 0x1234;
	object[CLASS_NAME + PHP_LENGTH] = 5;
	reads = 0;
	check = php_check_class(&walk, START);
	assert_int_equal(php_check_class(&walk, 0), 0);
	assert_int_equal(php_check_class(&walk, START), check);
	assert_int_equal(reads, 2);
	/* Another class has got its address. */
	runtime_forget(&walk, spans);
	object[CLASS_NAME + PHP_HASH] = 0x1235;
	assert_int_not_equal(php_check_class(&walk, START), check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read_once_a_walk),
		cmocka_unit_test(lines_may_come_with_others),
		cmocka_unit_test(two_objects_may_have_one_place),
		cmocka_unit_test(classes_are_read_once_a_walk),
		cmocka_unit_test_setup(an_object_is_read_once_in_a_walk, set_up),
		cmocka_unit_test_setup(an_object_is_known_once_it_is_remembered, set_up),
		cmocka_unit_test_setup(four_objects_share_a_place, set_up),
		cmocka_unit_test_setup(an_object_has_one_entry, set_up),
		cmocka_unit_test_setup(half_an_entry_is_of_no_object, set_up),
		cmocka_unit_test_setup(another_object_in_its_place_is_not_known, set_up),
		cmocka_unit_test_setup(places_are_spread, set_up),
		cmocka_unit_test_setup(several_deep_programs_are_known, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

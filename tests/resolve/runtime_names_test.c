/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "resolve/runtime_names.h"
#include "tests/harness/failing_allocation.h"
#include "tests/resolve/runtime_code_record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { USER = 1000, OTHER_USER = 1001, LIMIT = 64 << 10 };

#define EPOCH_NS  (1ULL << RUNTIME_NAMES_EPOCH_SHIFT)
#define LONG_NAME "0123456789012345678901234567890123456789012345678901234567890123"

static struct runtime_names *names;
static struct runtime_names_counters counters;
static struct runtime_name name;

static int set_up(void **state)
{
	counters = (struct runtime_names_counters){ 0 };
	return runtime_names_new(LIMIT, &names);
}

static int tear_down(void **state)
{
	runtime_names_free(names);
	return 0;
}

static void add(uint64_t user, uint64_t hash, const char *function, const char *file)
{
	const struct raw_code code = code_record(hash, function, file);

	runtime_names_add(names, user, 0, &code);
	runtime_names_counters(names, &counters);
}

static void code_has_a_name_a_file_and_lines(void **state)
{
	add(USER, 77, "Shape.area", "/srv/shape.py");
	assert_true(runtime_names_find(names, USER, 0, 77, 0, &name));
	assert_string_equal(name.name, "Shape.area");
	assert_string_equal(name.file, "/srv/shape.py");
	assert_int_equal(name.line, 10);
	assert_true(runtime_names_find(names, USER, 0, 77, 1, &name));
	assert_int_equal(name.line, 11);
	assert_true(runtime_names_find(names, USER, 0, 77, 99, &name));
	assert_int_equal(name.line, 0);
	assert_false(runtime_names_find(names, USER, 0, 78, 0, &name));
	/* Frames have no more bits of it. */
	add(USER, 0xf000000000000001, "f", "f.py");
	assert_true(runtime_names_find(names, USER, 0, 1, 0, &name));
}

/* Anybody can make code that has the hash of another's. */
static void a_user_names_their_own_code_alone(void **state)
{
	add(OTHER_USER, 77, "lie", "/tmp/lie.py");
	assert_false(runtime_names_find(names, USER, 0, 77, 0, &name));
	add(USER, 77, "truth", "/srv/truth.py");
	assert_true(runtime_names_find(names, USER, 0, 77, 0, &name));
	assert_string_equal(name.name, "truth");
	assert_true(runtime_names_find(names, OTHER_USER, 0, 77, 0, &name));
	assert_string_equal(name.name, "lie");
}

/* Of a cgroup nobody knows yet whose it is: perhaps a container's, whose root is no root here. */
static void code_of_an_unknown_cgroup_is_its_own(void **state)
{
	struct raw_code code;

	add(USER, 77, "outside", "/srv/outside.py");
	code = code_record(77, "inside", "/srv/inside.py");
	runtime_names_add(names, USER, 5, &code);
	runtime_names_add(names, USER, 6, &code);
	runtime_names_counters(names, &counters);
	assert_int_equal(counters.disputed, 0);
	assert_int_equal(counters.codes, 3);
	assert_true(runtime_names_find(names, USER, 0, 77, 0, &name));
	assert_string_equal(name.name, "outside");
	assert_true(runtime_names_find(names, USER, 5, 77, 0, &name));
	assert_string_equal(name.name, "inside");
	assert_false(runtime_names_find(names, USER, 7, 77, 0, &name));
}

/* The same user need not be the same person. */
static void code_with_the_hash_of_other_code_has_no_name(void **state)
{
	add(USER, 77, "truth", "/srv/truth.py");
	add(USER, 77, "truth", "/srv/truth.py");
	assert_true(runtime_names_find(names, USER, 0, 77, 0, &name));
	assert_int_equal(counters.disputed, 0);
	add(USER, 77, "lie", "/srv/truth.py");
	assert_false(runtime_names_find(names, USER, 0, 77, 0, &name));
	assert_int_equal(counters.disputed, 1);
	add(USER, 77, "truth", "/srv/truth.py");
	assert_false(runtime_names_find(names, USER, 0, 77, 0, &name));
	add(USER, 78, "truth", "/srv/truth.py");
	add(USER, 78, "truth", "/srv/lie.py");
	assert_false(runtime_names_find(names, USER, 0, 78, 0, &name));
	assert_int_equal(counters.disputed, 2);
}

/* In some samples it was not found. */
static void an_unknown_first_line_is_taken_later(void **state)
{
	const int32_t lines[] = { 0, 0, 20, 0, 20, 21 }, found[] = { 0, 0, 20, 20, 20 };
	struct raw_code code = code_record(77, "area", "/srv/shape.js");
	struct pilotlight_runtime_code record;

	memcpy(&record, code.contents, code.size);
	record.language = PILOTLIGHT_RUNTIME_V8;
	record.lines = PILOTLIGHT_RUNTIME_LINE_ENDS;
	record.line_bytes = record.line_bytes_all = sizeof(uint64_t);
	code.contents = &record;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		record.first_line = lines[i];
		runtime_names_add(names, USER, 0, &code);
		assert_int_equal(
			runtime_names_find(names, USER, 0, 77, -1, &name), i < ARRAY_SIZE(found));
		if (i < ARRAY_SIZE(found))
			assert_int_equal(name.line, found[i]);
	}
}

/* Where the source cannot be read there are no marks. */
static void marks_of_line_ends_may_be_missing(void **state)
{
	struct raw_code code = code_record(77, "area", "/srv/shape.js");
	struct pilotlight_runtime_code record = { .hash = 0 };

	memcpy(&record, code.contents, code.size);
	record.language = PILOTLIGHT_RUNTIME_V8;
	record.lines = PILOTLIGHT_RUNTIME_LINE_ENDS;
	record.line_bytes = record.line_bytes_all = 2 * sizeof(uint64_t);
	code.contents = &record;
	code.size += sizeof(uint64_t);
	runtime_names_add(names, USER, 0, &code);
	record.line_bytes = record.line_bytes_all = sizeof(uint64_t);
	code.size -= sizeof(uint64_t);
	runtime_names_add(names, USER, 0, &code);
	assert_true(runtime_names_find(names, USER, 0, 77, -1, &name));
	/* Another place is that of another function. */
	record.table[0]++;
	runtime_names_add(names, USER, 0, &code);
	assert_false(runtime_names_find(names, USER, 0, 77, -1, &name));
	runtime_names_counters(names, &counters);
	assert_int_equal(counters.malformed, 0);
}

static void code_of_several_functions_has_no_name(void **state)
{
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	struct raw_code code = code_record(78, "area", "/srv/shape.js");

	runtime_names_add(names, USER, 0, &code);
	assert_int_equal(runtime_names_find_inlined(names, USER, 0, 78, 5, frames), 0);
	code = native_code_record(79);
	runtime_names_add(names, USER, 0, &code);
	assert_false(runtime_names_find(names, USER, 0, 79, -1, &name));
	assert_int_equal(runtime_names_find_inlined(names, USER, 0, 79, 5, frames), 3);
	assert_int_equal(frames[0].code, 1);
	assert_int_equal(runtime_names_find_inlined(names, USER + 1, 0, 79, 5, frames), 0);
}

static void what_makes_no_sense_is_counted(void **state)
{
	struct raw_code code = code_record(77, "f", "f.py");

	code.size--;
	runtime_names_add(names, USER, 0, &code);
	code.size = 0;
	runtime_names_add(names, USER, 0, &code);
	runtime_names_counters(names, &counters);
	assert_int_equal(counters.malformed, 2);
	assert_int_equal(counters.codes, 0);
}

static void fill(uint32_t user)
{
	uint64_t refused = counters.refused;
	char text[32];

	for (uint64_t hash = 1; counters.refused == refused; hash++) {
		(void)snprintf(text, sizeof(text), "function_%u", (unsigned)hash);
		add(user, hash, text, "/usr/lib/python3/module.py");
		assert_true(counters.bytes <= LIMIT);
	}
}

/* Tables of lines take the room that names can spare. The outermost function stands for those of
 * native code. */
static void names_come_before_lines(void **state)
{
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	struct raw_code code = code_record(1, "f", "f.py");
	struct pilotlight_runtime_code record = { .hash = 0 };
	size_t count;

	memcpy(&record, code.contents, offsetof(struct pilotlight_runtime_code, table) + 8);
	record.line_bytes = record.line_bytes_all = 1024;
	code.contents = &record;
	code.size = offsetof(struct pilotlight_runtime_code, table) + record.line_bytes;
	do {
		record.hash++;
		runtime_names_add(names, USER, 0, &code);
		assert_true(runtime_names_find(names, USER, 0, record.hash, 0, &name));
		assert_string_equal(name.name, "f");
	} while (name.line != 0);
	assert_in_range(record.hash, 10, LIMIT / 1024);
	runtime_names_counters(names, &counters);
	assert_int_equal(counters.cut, 1);
	/* That it has no table makes it no other code. */
	runtime_names_add(names, USER, 0, &code);
	assert_true(runtime_names_find(names, USER, 0, record.hash, 0, &name));
	for (uint64_t hash = 1000, cut = 0; cut < 30; hash++) {
		code = native_code_record(hash);
		runtime_names_add(names, USER, 0, &code);
		runtime_names_add(names, USER, 0, &code);
		count = runtime_names_find_inlined(names, USER, 0, hash, 5, frames);
		assert_true(count == 1 || (count == 3 && cut == 0));
		assert_int_equal(frames[0].code, count == 1 ? 3 : 1);
		cut += count == 1;
	}
	add(USER, 999, "g", "f.py");
	assert_true(runtime_names_find(names, USER, 0, 999, 0, &name));
	/* With room, the table is taken when the code comes again. */
	runtime_names_begin_window(names, EPOCH_NS);
	code.contents = &record;
	code.size = offsetof(struct pilotlight_runtime_code, table) + record.line_bytes;
	runtime_names_add(names, USER, 0, &code);
	assert_true(runtime_names_find(names, USER, 0, record.hash, 0, &name));
	assert_int_equal(name.line, 0);
	runtime_names_begin_window(names, 2 * EPOCH_NS);
	runtime_names_add(names, USER, 0, &code);
	assert_true(runtime_names_find(names, USER, 0, record.hash, 0, &name));
	assert_int_equal(name.line, 10);
	runtime_names_counters(names, &counters);
	assert_int_equal(counters.codes, 1);
	assert_int_equal(counters.refused, 0);
	assert_int_equal(counters.disputed, 0);
}

static void users_share_the_room(void **state)
{
	fill(USER);
	assert_true(counters.codes > 100);
	/* The other user gets room, though less than half of it. */
	add(OTHER_USER, 1, "f", "f.py");
	assert_true(runtime_names_find(names, OTHER_USER, 0, 1, 0, &name));
}

static void what_has_not_come_for_two_epochs_makes_room(void **state)
{
	fill(USER);
	runtime_names_begin_window(names, EPOCH_NS);
	add(USER, 1, "function_1", "/usr/lib/python3/module.py");
	add(USER, 1 << 20, LONG_NAME LONG_NAME, LONG_NAME LONG_NAME);
	assert_false(runtime_names_find(names, USER, 0, 1 << 20, 0, &name));
	/* Many windows make no epoch. */
	for (uint64_t i = 1; i < 1000; i++)
		runtime_names_begin_window(names, EPOCH_NS + i * (EPOCH_NS / 1000));
	add(USER, 1 << 20, LONG_NAME LONG_NAME, LONG_NAME LONG_NAME);
	assert_false(runtime_names_find(names, USER, 0, 1 << 20, 0, &name));
	runtime_names_begin_window(names, 2 * EPOCH_NS);
	add(USER, 1 << 20, LONG_NAME LONG_NAME, LONG_NAME LONG_NAME);
	assert_true(runtime_names_find(names, USER, 0, 1 << 20, 0, &name));
	assert_int_equal(counters.codes, 2);
	/* What came again has the name that it had. */
	assert_true(runtime_names_find(names, USER, 0, 1, 0, &name));
	assert_string_equal(name.name, "function_1");
	assert_false(runtime_names_find(names, USER, 0, 2, 0, &name));
}

/* Returns -ENOMEM if that is why it is not there. */
static int add_one(uint64_t hash)
{
	add(USER, hash, "f", "f.py");
	return runtime_names_find(names, USER, 0, hash, 0, &name) ? 0 : -ENOMEM;
}

static void without_memory_code_has_no_name(void **state)
{
	struct runtime_names *other = NULL;

	assert_int_equal(
		FAIL_EACH_ALLOCATION(runtime_names_new(LIMIT, &other), -ENOMEM, !other, 0), 1);
	runtime_names_free(other);
	/* The arrays that were made stay. */
	assert_int_equal(FAIL_EACH_ALLOCATION(add_one(5), -ENOMEM, counters.codes == 0, 0), 2);
	fail_allocation(0);
	assert_int_equal(add_one(6), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(counters.refused, 3);
	assert_int_equal(counters.codes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			code_has_a_name_a_file_and_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_user_names_their_own_code_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_of_an_unknown_cgroup_is_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_with_the_hash_of_other_code_has_no_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_unknown_first_line_is_taken_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			marks_of_line_ends_may_be_missing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_of_several_functions_has_no_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_come_before_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(users_share_the_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_has_not_come_for_two_epochs_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_memory_code_has_no_name, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

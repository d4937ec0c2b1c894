/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/runtime_bounds.h"
#include "symbol/runtime_description.h"

#include "base/array.h"
#include "symbol/symbol_file.h"
#include "tests/symbol/runtime_example.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct symbol_file_fixture fixture;
static struct pilotlight_runtime runtime;

static int set_up(void **state)
{
	runtime = runtime_example;
	return 0;
}

static void an_example_is_sound(void **state)
{
	assert_true(runtime_bounds_hold(&runtime));
}

/* What makes the example unsound. */
static const struct change {
	size_t at, size;
	int64_t value;
} changes[] = {
#define CHANGE(field, value)                                                   \
	{                                                                      \
		offsetof(struct pilotlight_runtime, field),                    \
			sizeof(((struct pilotlight_runtime *)0)->field), value \
	}
	CHANGE(version, 0),
	CHANGE(version, 1),
	CHANGE(language, 0),
	CHANGE(language, PILOTLIGHT_RUNTIME_LANGUAGES),
	CHANGE(anchor, 0),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_ANCHORS),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_TLS), /* needs no libc and no place */
	CHANGE(libc, 0),
	CHANGE(libc, PILOTLIGHT_RUNTIME_LIBCS),
	CHANGE(instruction, 0),
	CHANGE(instruction, PILOTLIGHT_RUNTIME_INSTRUCTIONS),
	CHANGE(instruction, PILOTLIGHT_RUNTIME_INDEX), /* has no code_units_at */
	CHANGE(unit_bytes, 0),
	CHANGE(unit_bytes, 17),
	CHANGE(group, 0),
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUPS),
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUP_FRAME),	/* has no list, and a least byte */
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUP_SINGLE), /* has no byte */
	CHANGE(group_least, 1),
	CHANGE(lines, 0),
	CHANGE(lines, PILOTLIGHT_RUNTIME_LINE_TABLES),
	CHANGE(frame_bytes, 129),
	CHANGE(frame_bytes, 68),
	CHANGE(frame_bytes, 0),
	CHANGE(line_bytes, 1),
	CHANGE(first_line_shift, 1),
	CHANGE(string_state_shift, 8),
	CHANGE(frame_copy_at, 66), /* beyond the frame, and has no code_copies_at */
	CHANGE(code_copies_at, 1), /* has no frame_copy_at */
	CHANGE(code_version_at, 249),
	CHANGE(state_task_at, 1),      /* has no other field of tasks */
	CHANGE(coroutine_frame_at, 1), /* has no state_task_at */
	CHANGE(coroutine_waits, 1),
	CHANGE(stack_awaited_below, 8),
	CHANGE(loop_bytes, 1), /* of another group */
	CHANGE(loop_place, 1),
	CHANGE(loop_rest_place, 1),
	CHANGE(loop_rest_bytes, 1),
	CHANGE(anchor_place, (1LL << 40) + 1),
	CHANGE(anchor_place, -(1LL << 40) - 1),
	CHANGE(anchor_offset, INT64_MAX),
	CHANGE(anchor_offset, INT64_MIN),
	CHANGE(code_type_place, INT64_MAX),
	CHANGE(state_thread_at, 4096),
	CHANGE(state_frame_at, 4096),
	CHANGE(holder_frame_at, 4096),
	CHANGE(state_mark_at, 4096),
	CHANGE(state_mark_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(mark_next_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(frame_previous_at, 62),
	CHANGE(frame_previous_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(frame_code_at, 62),
	CHANGE(frame_instruction_at, 62),
	CHANGE(frame_group_at, 69),
	CHANGE(frame_group_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(object_type_at, 4096),
	CHANGE(code_file_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(code_name_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(code_first_line_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(code_lines_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(code_lines_at, 249),
	CHANGE(object_type_at, 249),
	CHANGE(code_units_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(string_length_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(string_state_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(string_ascii_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(string_other_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(bytes_size_at, PILOTLIGHT_RUNTIME_NONE),
	CHANGE(bytes_data_at, PILOTLIGHT_RUNTIME_NONE),
};

static void each_field_is_checked(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		runtime = runtime_example;
		memcpy((uint8_t *)&runtime + changes[i].at, &changes[i].value, changes[i].size);
		if (runtime_bounds_hold(&runtime))
			fail_msg("%ld at %zu is not refused", changes[i].value, changes[i].at);
	}
}

/* A Ruby whose fields are sound. */
static const struct pilotlight_runtime ruby_example = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_RUBY,
	.release = 0x03010200,
	.anchor = PILOTLIGHT_RUNTIME_TLS,
	.instruction = PILOTLIGHT_RUNTIME_POINTER,
	.unit_bytes = 8,
	.group = PILOTLIGHT_RUNTIME_GROUP_FINISH,
	.lines = PILOTLIGHT_RUNTIME_POSITIONS,
	.frame_bytes = 64,
	.line_bytes = 12,
	.loop_bytes = 1,
	.state_thread_at = PILOTLIGHT_RUNTIME_NONE,
	.frame_code_at = 16,
	.frame_group_at = 56,
	.code_units_at = 8,
	.code_file_at = 64,
	.code_name_at = 80,
	.code_first_line_at = 88,
	.code_lines_at = 224,
	.string_length_at = 16,
	.string_ascii_at = 16,
};

static const struct change ruby_changes[] = {
	CHANGE(version, 1),
	CHANGE(anchor, 0),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_ANCHORS),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_KEY),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_KEY_BEHIND),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_GLOBAL), /* needs a proof */
	CHANGE(anchor_offset, INT64_MAX),
	CHANGE(libc, 1),
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUP_CALL),
	CHANGE(lines, PILOTLIGHT_RUNTIME_LINE_ENDS),
	CHANGE(frame_bytes, 0),
	CHANGE(frame_bytes, 56),
	CHANGE(frame_bytes, 65),
	CHANGE(frame_bytes, 136),
	CHANGE(line_bytes, 3),
	CHANGE(line_bytes, 17),
	CHANGE(loop_bytes, 0),
	CHANGE(loop_place, INT64_MAX),
	CHANGE(loop_rest_place, 1),
	CHANGE(state_thread_at, 8),
	CHANGE(frame_code_at, 57),
	CHANGE(frame_instruction_at, 57),
	CHANGE(frame_group_at, 57),
	CHANGE(code_units_at, 217),
	CHANGE(code_file_at, 217),
	CHANGE(code_name_at, 217),
	CHANGE(code_first_line_at, 217),
	CHANGE(code_lines_at, 88),
	CHANGE(code_lines_at, 220),
	CHANGE(code_lines_at, 232),
	CHANGE(code_type_place, 8), /* without the greatest operator */
	CHANGE(first_line_shift, 2),
	CHANGE(string_length_at, 4096),
	CHANGE(string_ascii_at, 4096),
	CHANGE(string_state_shift, 1),
	CHANGE(frame_copy_at, 1),
	CHANGE(code_copies_at, 1),
	CHANGE(code_version_at, 1),
	CHANGE(state_task_at, 1),
};

/* The least PHP whose fields are sound. */
static const struct pilotlight_runtime php_example = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_PHP,
	.release = 0x08022400,
	.anchor = PILOTLIGHT_RUNTIME_GLOBAL,
	.group = PILOTLIGHT_RUNTIME_GROUP_TOP,
	.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
	.loop_bytes = 1,
	.code_file_at = 247,
	.code_first_line_at = 248,
	.code_lines_at = 247,
	.code_units_at = 247,
	.coroutine_frame_at = 1,
	.task_coroutine_at = 121,
	.state_mark_at = 4095,
	.coroutine_state_at = 4095,
};

static const struct change php_changes[] = {
	CHANGE(coroutine_frame_at, 0),
	CHANGE(task_coroutine_at, 0),
	CHANGE(task_coroutine_at, 1),
	CHANGE(task_coroutine_at, 122),
	CHANGE(state_mark_at, 0),
	CHANGE(state_mark_at, 4096),
	CHANGE(coroutine_state_at, 0),
	CHANGE(coroutine_state_at, 4096),
	CHANGE(task_awaiter_at, 1),
	CHANGE(version, 1),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_KEY),
	CHANGE(libc, 1),
	CHANGE(instruction, 1),
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUP_FINISH),
	CHANGE(lines, PILOTLIGHT_RUNTIME_LINE_ENDS),
	CHANGE(frame_bytes, 1),
	CHANGE(anchor_place, INT64_MAX),
	CHANGE(anchor_offset, 1),
	CHANGE(code_type_place, 1),
	CHANGE(loop_bytes, 0),
	CHANGE(loop_place, INT64_MAX),
	CHANGE(loop_rest_place, 1),
	CHANGE(state_frame_at, 1),
	CHANGE(code_file_at, 248),
	CHANGE(code_name_at, 1),
	CHANGE(code_first_line_at, 249),
	CHANGE(code_lines_at, 248),
	CHANGE(code_units_at, 248),
	CHANGE(code_copies_at, 1),
};

/* The same of one whose generators are not known. */
static const struct change php_generator_changes[] = {
	CHANGE(coroutine_frame_at, 1),
	CHANGE(task_coroutine_at, 1),
	CHANGE(state_mark_at, 1),
	CHANGE(coroutine_state_at, 1),
};

/* The same with threads: beside the changes of the anchor and what follows from it. */
static const struct change php_thread_changes[] = {
	CHANGE(anchor, PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR),
	CHANGE(anchor_place, 1),
	CHANGE(anchor_offset, INT64_MAX),
	CHANGE(code_type_place, INT64_MAX),
	CHANGE(state_thread_at, 4096),
	CHANGE(state_frame_at, 4096),
	CHANGE(holder_frame_at, 1),
};

static void refuse_changes(
	const struct pilotlight_runtime *example, const struct change *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		runtime = *example;
		memcpy((uint8_t *)&runtime + list[i].at, &list[i].value, list[i].size);
		if (runtime_bounds_hold(&runtime))
			fail_msg("%ld at %zu is not refused", list[i].value, list[i].at);
	}
}

static void each_field_of_php_is_checked(void **state)
{
	char text[RUNTIME_RELEASE_BYTES];
	struct pilotlight_runtime with_threads = php_example, without_generators = php_example;

	runtime = php_example;
	assert_true(runtime_bounds_hold(&runtime));
	assert_string_equal(runtime_description_language(&runtime), "PHP");
	assert_string_equal(runtime_description_release(&runtime, text), "8.2.36");
	refuse_changes(&php_example, php_changes, ARRAY_SIZE(php_changes));
	without_generators.coroutine_frame_at = without_generators.task_coroutine_at = 0;
	without_generators.state_mark_at = without_generators.coroutine_state_at = 0;
	runtime = without_generators;
	assert_true(runtime_bounds_hold(&runtime));
	refuse_changes(
		&without_generators, php_generator_changes, ARRAY_SIZE(php_generator_changes));
	with_threads.anchor = PILOTLIGHT_RUNTIME_TLS;
	with_threads.anchor_offset = -24;
	with_threads.code_type_place = 1;
	with_threads.state_frame_at = with_threads.state_thread_at = 4095;
	runtime = with_threads;
	assert_true(runtime_bounds_hold(&runtime));
	refuse_changes(&with_threads, php_thread_changes, ARRAY_SIZE(php_thread_changes));
}

/* The Perl whose fields are the greatest. */
static const struct pilotlight_runtime perl_example = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_PERL,
	.release = 0x05240000,
	.anchor = PILOTLIGHT_RUNTIME_KEY,
	.libc = PILOTLIGHT_RUNTIME_GLIBC,
	.group = PILOTLIGHT_RUNTIME_GROUP_CATCH,
	.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
	.loop_bytes = 1,
	.loop_rest_bytes = 1,
	.state_thread_at = 248,
	.state_frame_at = 248,
	.state_mark_at = 248,
	.code_name_at = 4095,
	.code_units_at = 1,
};

static const struct change perl_changes[] = {
	CHANGE(version, 1),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_KEY_BEHIND),
	CHANGE(anchor, PILOTLIGHT_RUNTIME_GLOBAL), /* needs no libc */
	CHANGE(libc, 0),
	CHANGE(instruction, 1),
	CHANGE(group, PILOTLIGHT_RUNTIME_GROUP_TOP),
	CHANGE(lines, PILOTLIGHT_RUNTIME_LINE_ENDS),
	CHANGE(frame_bytes, 1),
	CHANGE(anchor_place, INT64_MAX),
	CHANGE(anchor_offset, 1),
	CHANGE(code_type_place, INT64_MAX),
	CHANGE(loop_bytes, 0),
	CHANGE(loop_place, INT64_MAX),
	CHANGE(loop_rest_bytes, 0),
	CHANGE(loop_rest_place, INT64_MAX),
	CHANGE(state_thread_at, 249),
	CHANGE(state_frame_at, 249),
	CHANGE(state_mark_at, 249),
	CHANGE(code_name_at, 4096),
	CHANGE(code_units_at, 0),
	CHANGE(code_file_at, 1),
	CHANGE(code_copies_at, 1),
};

static void each_field_of_perl_is_checked(void **state)
{
	char text[RUNTIME_RELEASE_BYTES];

	runtime = perl_example;
	runtime.code_name_at = PILOTLIGHT_RUNTIME_NONE;
	assert_true(runtime_bounds_hold(&runtime));
	assert_string_equal(runtime_description_language(&runtime), "Perl");
	assert_string_equal(runtime_description_release(&runtime, text), "5.36.0");
	for (size_t i = 0; i < ARRAY_SIZE(perl_changes); i++) {
		runtime = perl_example;
		assert_true(runtime_bounds_hold(&runtime));
		memcpy((uint8_t *)&runtime + perl_changes[i].at, &perl_changes[i].value,
			perl_changes[i].size);
		if (runtime_bounds_hold(&runtime))
			fail_msg("%ld at %zu is not refused", perl_changes[i].value,
				perl_changes[i].at);
	}
}

static void each_field_of_ruby_is_checked(void **state)
{
	char text[RUNTIME_RELEASE_BYTES];

	runtime = ruby_example;
	assert_true(runtime_bounds_hold(&runtime));
	assert_string_equal(runtime_description_language(&runtime), "Ruby");
	assert_string_equal(runtime_description_release(&runtime, text), "3.1.2");
	runtime.anchor = PILOTLIGHT_RUNTIME_GLOBAL;
	runtime.state_thread_at = 152;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.anchor_offset = 8;
	assert_false(runtime_bounds_hold(&runtime));
	for (size_t i = 0; i < ARRAY_SIZE(ruby_changes); i++) {
		runtime = ruby_example;
		memcpy((uint8_t *)&runtime + ruby_changes[i].at, &ruby_changes[i].value,
			ruby_changes[i].size);
		if (runtime_bounds_hold(&runtime))
			fail_msg("%ld at %zu is not refused", ruby_changes[i].value,
				ruby_changes[i].at);
	}
}

static void kinds_need_their_fields(void **state)
{
	runtime.anchor = PILOTLIGHT_RUNTIME_TLS;
	runtime.libc = 0;
	assert_false(runtime_bounds_hold(&runtime));
	runtime.anchor_place = 0;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.anchor = PILOTLIGHT_RUNTIME_TLS_SLOT;
	runtime.anchor_place = 0x1000;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.anchor = PILOTLIGHT_RUNTIME_KEY;
	runtime.libc = PILOTLIGHT_RUNTIME_GLIBC;
	assert_false(runtime_bounds_hold(&runtime));
	runtime.anchor_offset = 0;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.instruction = PILOTLIGHT_RUNTIME_INDEX;
	runtime.code_units_at = PILOTLIGHT_RUNTIME_NONE;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_SINGLE;
	runtime.frame_group_at = PILOTLIGHT_RUNTIME_NONE;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_FRAME;
	runtime.group_least = 3;
	runtime.frame_group_at = 68;
	runtime.state_mark_at = runtime.mark_next_at = PILOTLIGHT_RUNTIME_NONE;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_CALL;
	runtime.group_least = 0;
	runtime.frame_group_at = PILOTLIGHT_RUNTIME_NONE;
	assert_false(runtime_bounds_hold(&runtime));
	runtime.loop_bytes = 1;
	runtime.loop_rest_place = 0x1000;
	assert_false(runtime_bounds_hold(&runtime));
	runtime.loop_rest_bytes = 1;
	assert_true(runtime_bounds_hold(&runtime));
	runtime.loop_place = INT64_MAX;
	assert_false(runtime_bounds_hold(&runtime));
}

/* Opens a file with `count` copies. Returns runtime_description_find(). */
static int find_in_file(size_t count)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_runtime *found = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	fixture = (struct symbol_file_fixture){ .identity_bytes = 20,
		.kind = PILOTLIGHT_SYMBOL_BUILD_ID };
	symbol_file_fixture_fill(&fixture);
	symbol_file_fixture_build(&fixture);
	if (count > 0) {
		const struct pilotlight_runtime copies[2] = { runtime, runtime };

		(void)symbol_file_fixture_append(
			&fixture, PILOTLIGHT_SYMBOL_RUNTIME, sizeof(runtime), copies, count);
		symbol_file_fixture_finish(&fixture);
	}
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	r = runtime_description_find(file, &found);
	if (r == 0)
		assert_memory_equal(found, &runtime, sizeof(runtime));
	else
		assert_null(found);
	return r;
}

static void a_file_has_one_or_none(void **state)
{
	assert_int_equal(find_in_file(0), -ENODATA);
	assert_int_equal(find_in_file(1), 0);
	assert_int_equal(find_in_file(2), -EBADMSG);
	runtime.version++;
	assert_int_equal(find_in_file(1), -EPROTONOSUPPORT);
	runtime.version--;
	runtime.group = 0;
	assert_int_equal(find_in_file(1), -EBADMSG);
}

static void releases_are_written_as_python_does(void **state)
{
	static const struct {
		uint32_t release;
		const char *text;
	} releases[] = {
		{ 0x030b02f0, "3.11.2" },
		{ 0x030e0af0, "3.14.10" },
		{ 0x030f00a3, "3.15.0a3" },
		{ 0x030f00b1, "3.15.0b1" },
		{ 0x030d00c2, "3.13.0rc2" },
		{ 0x030a0000, "3.10" },
		{ 0xffffffff, "255.255.255" },
	};
	char text[RUNTIME_RELEASE_BYTES];

	assert_string_equal(runtime_description_language(&runtime), "Python");
	assert_string_equal(runtime_description_word(&runtime), "python");
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		runtime.release = releases[i].release;
		assert_string_equal(runtime_description_release(&runtime, text), releases[i].text);
	}
	runtime.language = 77;
	assert_string_equal(runtime_description_language(&runtime), "unknown");
	assert_string_equal(runtime_description_word(&runtime), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_example_is_sound, set_up),
		cmocka_unit_test_setup(each_field_is_checked, set_up),
		cmocka_unit_test_setup(each_field_of_ruby_is_checked, set_up),
		cmocka_unit_test_setup(each_field_of_php_is_checked, set_up),
		cmocka_unit_test_setup(each_field_of_perl_is_checked, set_up),
		cmocka_unit_test_setup(kinds_need_their_fields, set_up),
		cmocka_unit_test_setup(a_file_has_one_or_none, set_up),
		cmocka_unit_test_setup(releases_are_written_as_python_does, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

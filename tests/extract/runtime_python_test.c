/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_python.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "tests/extract/python_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct python_fixture python;
static struct pilotlight_runtime runtime;

static int read_fd(int fd)
{
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : runtime_python_read(&opened, &scratch, &runtime);
}

static int read_fixture(void)
{
	_cleanup_close_ int fd = python_fixture_fd(&python);

	assert_true(fd >= 0);
	return read_fd(fd);
}

static int set_up(void **state)
{
	python_fixture_init(&python, 0x030b02f0);
	return 0;
}

static const struct {
	uint32_t release;
	uint8_t instruction, group, lines, anchor, frame_bytes;
	uint16_t thread, frame, holder, mark, mark_next, previous, code, instruction_at, group_at,
		units, ascii, other;
} versions[] = {
	{ 0x03080000, PILOTLIGHT_RUNTIME_DISTANCE, PILOTLIGHT_RUNTIME_GROUP_CALL,
		PILOTLIGHT_RUNTIME_STEPS, PILOTLIGHT_RUNTIME_KEY, 108, 176, 24, 0xffff, 0xffff,
		0xffff, 24, 32, 104, 0xffff, 0xffff, 48, 72 },
	{ 0x03090000, PILOTLIGHT_RUNTIME_DISTANCE, PILOTLIGHT_RUNTIME_GROUP_CALL,
		PILOTLIGHT_RUNTIME_STEPS, PILOTLIGHT_RUNTIME_KEY, 108, 176, 24, 0xffff, 0xffff,
		0xffff, 24, 32, 104, 0xffff, 0xffff, 48, 72 },
	{ 0x030a0000, PILOTLIGHT_RUNTIME_INDEX, PILOTLIGHT_RUNTIME_GROUP_SINGLE,
		PILOTLIGHT_RUNTIME_RANGES, PILOTLIGHT_RUNTIME_KEY, 100, 176, 24, 0xffff, 48, 8, 24,
		32, 96, 0xffff, 0xffff, 48, 72 },
	{ 0x030b02f0, PILOTLIGHT_RUNTIME_POINTER, PILOTLIGHT_RUNTIME_GROUP_FLAG,
		PILOTLIGHT_RUNTIME_LOCATIONS, PILOTLIGHT_RUNTIME_KEY, 69, 152, 56, 8, 56, 16, 48,
		32, 56, 68, 184, 48, 72 },
	{ 0x030c01f0, PILOTLIGHT_RUNTIME_POINTER, PILOTLIGHT_RUNTIME_GROUP_FRAME,
		PILOTLIGHT_RUNTIME_LOCATIONS, PILOTLIGHT_RUNTIME_KEY, 71, 136, 56, 0, 0xffff,
		0xffff, 8, 0, 56, 70, 192, 40, 56 },
	{ 0x030d00f0, PILOTLIGHT_RUNTIME_POINTER, PILOTLIGHT_RUNTIME_GROUP_FRAME,
		PILOTLIGHT_RUNTIME_LOCATIONS, PILOTLIGHT_RUNTIME_KEY, 71, 152, 72, 0xffff, 0xffff,
		0xffff, 8, 0, 56, 70, 200, 40, 56 },
	{ 0x030e0af0, PILOTLIGHT_RUNTIME_POINTER, PILOTLIGHT_RUNTIME_GROUP_FRAME,
		PILOTLIGHT_RUNTIME_LOCATIONS, PILOTLIGHT_RUNTIME_KEY, 71, 152, 72, 0xffff, 0xffff,
		0xffff, 8, 0, 56, 70, 200, 40, 56 },
	{ 0x030f02f0, PILOTLIGHT_RUNTIME_POINTER, PILOTLIGHT_RUNTIME_GROUP_FRAME,
		PILOTLIGHT_RUNTIME_LOCATIONS, PILOTLIGHT_RUNTIME_TLS, 71, 152, 72, 0xffff, 0xffff,
		0xffff, 8, 0, 56, 70, 200, 40, 56 },
};

static void each_version_is_described(void **state)
{
	for (size_t i = 0; i < 2 * ARRAY_SIZE(versions); i++) {
		bool is_key = versions[i / 2].anchor == PILOTLIGHT_RUNTIME_KEY;

		python_fixture_init_as(&python, versions[i / 2].release, i & 1);
		assert_int_equal(read_fixture(), 0);
		assert_true(runtime_bounds_hold(&runtime));
		assert_int_equal(runtime.language, PILOTLIGHT_RUNTIME_PYTHON);
		assert_int_equal(runtime.release, versions[i / 2].release);
		assert_int_equal(runtime.instruction, versions[i / 2].instruction);
		assert_int_equal(runtime.group, versions[i / 2].group);
		assert_int_equal(runtime.lines, versions[i / 2].lines);
		assert_int_equal(runtime.anchor, versions[i / 2].anchor);
		assert_int_equal(runtime.libc, is_key ? PILOTLIGHT_RUNTIME_GLIBC : 0);
		assert_int_equal(runtime.anchor_place, is_key ? 0xb54 : 0);
		assert_int_equal(runtime.anchor_offset, is_key ? 0 : -24);
		assert_int_equal(runtime.code_type_place, PYTHON_FIXTURE_TYPE);
		assert_int_equal(runtime.frame_bytes, versions[i / 2].frame_bytes);
		assert_int_equal(runtime.state_thread_at, versions[i / 2].thread);
		assert_int_equal(runtime.state_frame_at, versions[i / 2].frame);
		assert_int_equal(runtime.holder_frame_at, versions[i / 2].holder);
		assert_int_equal(runtime.state_mark_at, versions[i / 2].mark);
		assert_int_equal(runtime.mark_next_at, versions[i / 2].mark_next);
		assert_int_equal(runtime.frame_previous_at, versions[i / 2].previous);
		assert_int_equal(runtime.frame_code_at, versions[i / 2].code);
		assert_int_equal(runtime.frame_instruction_at, versions[i / 2].instruction_at);
		assert_int_equal(runtime.frame_group_at, versions[i / 2].group_at);
		assert_int_equal(runtime.code_units_at, versions[i / 2].units);
		assert_int_equal(
			runtime.code_version_at, versions[i / 2].release < 0x030c0000 ? 0 : 92);
		assert_int_equal(runtime.loop_bytes,
			versions[i / 2].release < 0x030a0000 ? PYTHON_FIXTURE_LOOP_BYTES : 0);
		assert_int_equal(runtime.string_ascii_at, versions[i / 2].ascii);
		assert_int_equal(runtime.string_other_at, versions[i / 2].other);
	}
}

static void the_rest_of_the_loop_is_found(void **state)
{
	python_fixture_init(&python, 0x03090000);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_place, PYTHON_FIXTURE_LOOP);
	assert_int_equal(runtime.loop_rest_place, PYTHON_FIXTURE_LOOP_REST);
	assert_int_equal(runtime.loop_rest_bytes, PYTHON_FIXTURE_LOOP_BYTES);

	/* A tail call; no table; another kind of table. */
	python.bytes[PYTHON_FIXTURE_LOOP + 8] = 0x34;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_bytes, PYTHON_FIXTURE_LOOP_BYTES);
	assert_int_equal(runtime.loop_rest_bytes, 0);
	python_fixture_init(&python, 0x03090000);
	python_fixture_section(&python, 1)->sh_name++;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_rest_bytes, 0);
	python_fixture_init(&python, 0x03090000);
	python.bytes[PYTHON_FIXTURE_EH_FRAME_HDR + 3] = 0x1b;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_rest_bytes, 0);

	/* No loop, and one that is too long. */
	python_fixture_symbol(&python, 6)->st_size = 0;
	assert_int_equal(read_fixture(), -ENOTSUP);
	python_fixture_symbol(&python, 6)->st_size = (1 << 20) + 1;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void put_code(size_t at, const char *code, size_t size)
{
	memset(python.bytes + at, 0xcc, 64);
	python_fixture_put(&python, at, code, size);
}

static void each_anchor_is_found(void **state)
{
	static const char behind[] = "\x48\x8b\x05\xf9\x00\x00\x00\x48\x8d\xb8\x50\x02\x00\x00\xe9"
				     "\x00\x00\x00\x00";
	static const char called[] = "\x48\x8d\x3d\xf9\x00\x00\x00\xe8\x00\x00\x00\x00\xc3";
	static const char index[] = "\x66\x48\x8d\x3d\xf8\x00\x00\x00\x66\x66\x48\xe8\x00\x00\x00"
				    "\x00\x48\x8b\x40\x08\xc3";
	static const char slot[] = "\x48\x8b\x05\xf9\x00\x00\x00\x64\x48\x8b\x00\xc3";

	put_code(PYTHON_FIXTURE_GIL_STATE, behind, sizeof(behind) - 1);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_KEY_BEHIND);
	assert_int_equal(runtime.anchor_place, PYTHON_FIXTURE_RUNTIME);
	assert_int_equal(runtime.anchor_offset, 0x254);
	assert_int_equal(runtime.libc, PILOTLIGHT_RUNTIME_GLIBC);

	put_code(PYTHON_FIXTURE_GIL_STATE, called, sizeof(called) - 1);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_KEY);
	assert_int_equal(runtime.anchor_place, PYTHON_FIXTURE_RUNTIME + 4);

	python_fixture_init(&python, 0x030f02f0);
	put_code(PYTHON_FIXTURE_GIL_STATE, index, sizeof(index) - 1);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_TLS_INDEX);
	assert_int_equal(runtime.anchor_place, PYTHON_FIXTURE_RUNTIME);
	assert_int_equal(runtime.anchor_offset, 8);
	assert_int_equal(runtime.libc, PILOTLIGHT_RUNTIME_GLIBC);

	put_code(PYTHON_FIXTURE_GIL_STATE, slot, sizeof(slot) - 1);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_TLS_SLOT);
	assert_int_equal(runtime.anchor_place, PYTHON_FIXTURE_RUNTIME);
	assert_int_equal(runtime.libc, 0);

	put_code(PYTHON_FIXTURE_GIL_STATE, "\xc3", 1);
	assert_int_equal(read_fixture(), -ENOTSUP);
}

/* Changes one thing in 3.13, and expects the result. */
static void assert_refused(size_t at, uint64_t word, int expected)
{
	python_fixture_init(&python, 0x030d00f0);
	python_fixture_put_word(&python, at, word);
	assert_int_equal(read_fixture(), expected);
	assert_int_equal(runtime.version, 0);
}

static void remove_lock(uint32_t release)
{
	python_fixture_init(&python, release);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 16, 1);
	python_fixture_put_word(&python, PYTHON_FIXTURE_TYPE + 32, 0);
	python_fixture_put_word(&python, PYTHON_FIXTURE_TYPE + 240, 0);
	python_fixture_point(&python, PYTHON_FIXTURE_TYPE + 256, PYTHON_FIXTURE_MEMBERS);
	python_fixture_put_word(&python, PYTHON_FIXTURE_TYPE + 48, 200);
}

static void builds_without_the_lock_are_described(void **state)
{
	/* Where 3.14 and 3.15 publish the copies of instructions. */
	static const uint16_t places[2][2] = { { 304, 392 }, { 368, 456 } };

	remove_lock(0x030d00f0);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.code_units_at, 200);
	assert_int_equal(runtime.string_state_shift, 0);
	assert_int_equal(runtime.frame_copy_at | runtime.code_copies_at, 0);

	for (uint32_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t frame_at = PYTHON_FIXTURE_RUNTIME + places[i][0];
		size_t code_at = PYTHON_FIXTURE_RUNTIME + places[i][1];

		remove_lock(0x030e0af0 + (i << 16));
		assert_int_equal(read_fixture(), -ENOTSUP); /* it does not say where they are */
		python_fixture_put_word(&python, frame_at, 64);
		python_fixture_put_word(&python, code_at, 192);
		assert_int_equal(read_fixture(), 0);
		assert_int_equal(runtime.string_state_shift, 6);
		assert_int_equal(runtime.frame_copy_at, 64);
		assert_int_equal(runtime.code_copies_at, 192);
		python_fixture_put_word(&python, frame_at, 121); /* too far */
		assert_int_equal(read_fixture(), -ENOTSUP);
		python_fixture_put_word(&python, frame_at, 64);
		python_fixture_put_word(&python, code_at, 249); /* the same */
		assert_int_equal(read_fixture(), -ENOTSUP);
	}
}

static void assert_tasks(uint16_t running, uint16_t awaiter, uint16_t several, uint16_t coroutine)
{
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.state_task_at, running);
	assert_int_equal(runtime.task_awaiter_at, awaiter);
	assert_int_equal(runtime.task_several_at, several);
	assert_int_equal(runtime.task_coroutine_at, coroutine);
}

/* 3.14 keeps them in a library of their own, 3.15 in a section. */
static void tasks_are_described(void **state)
{
	const size_t section = PYTHON_FIXTURE_EH_FRAME;
	const uint64_t words[13] = { [2] = 96, [4] = 109, [5] = 128, [11] = 1032 };

	python_fixture_init(&python, 0x030e0af0);
	assert_tasks(872, 96, 109, 128);
	assert_int_equal(runtime.coroutine_waits, 0xff);
	assert_int_equal(runtime.stack_awaited_below, 8);
	remove_lock(0x030e0af0);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 304, 64);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 392, 192);
	assert_tasks(872, 112, 125, 144);

	python_fixture_init(&python, 0x030f02f0);
	assert_tasks(0, 0, 0, 0);
	python_fixture_put(&python, section, words, sizeof(words));
	python_fixture_section(&python, 6)->sh_size = sizeof(words) - 1;
	assert_tasks(0, 0, 0, 0);
	python_fixture_section(&python, 6)->sh_size = sizeof(words);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 808, 72);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 816, 67);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 360, 64);
	assert_tasks(1032, 96, 109, 128);
	assert_int_equal(runtime.coroutine_frame_at, 72);
	assert_int_equal(runtime.coroutine_state_at, 67);
	assert_int_equal(runtime.frame_stack_at, 64);
	assert_int_equal(runtime.coroutine_waits, 2);
	assert_int_equal(runtime.stack_awaited_below, 16);
	python_fixture_put_word(&python, PYTHON_FIXTURE_RUNTIME + 816, 4096);
	assert_tasks(0, 0, 0, 0);
}

static void other_builds_are_not_described(void **state)
{
	const size_t offsets = PYTHON_FIXTURE_RUNTIME;

	assert_refused(offsets, 0, -ENOTSUP);		   /* no cookie */
	assert_refused(offsets + 8, 0x030d01f0, -ENOTSUP); /* of another release */
	assert_refused(offsets + 16, 1, -ENOTSUP);	   /* objects of builds without the lock */
	assert_refused(offsets + 280, 113, -ENOTSUP);	   /* contradicts the members */
	assert_refused(offsets + 184, 4096, -ENOTSUP);	   /* beyond the greatest offset */
	assert_refused(offsets + 232, 124, -ENOTSUP);	   /* a frame of too many bytes */
	assert_refused(PYTHON_FIXTURE_TYPE + 32, 0x10000, -ENOTSUP);
	assert_refused(PYTHON_FIXTURE_TYPE + 240, 0, -ENOTSUP);
	assert_refused(PYTHON_FIXTURE_MEMBERS + 40, 0, -ENOTSUP); /* the list ends */
	assert_refused(PYTHON_FIXTURE_VERSION, 0x031000f0, -ENOTSUP);
	assert_refused(PYTHON_FIXTURE_VERSION, 0x030700f0, -ENOTSUP);
	assert_refused(PYTHON_FIXTURE_VERSION, 0x040d00f0, -ENOTSUP);

	python_fixture_init(&python, 0x030b02f0); /* a build with more in each object */
	python_fixture_put_word(&python, PYTHON_FIXTURE_MEMBERS + 16, 128);
	assert_int_equal(read_fixture(), -ENOTSUP);
	python_fixture_init(&python, 0x030b02f0);
	python_fixture_symbol(&python, 1)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENOTSUP);
	python_fixture_init(&python, 0x030b02f0);
	memcpy(python.bytes + PYTHON_FIXTURE_NAMES + 1, "libc.blue", 9);
	assert_int_equal(read_fixture(), -ENOTSUP);
	memcpy(python.bytes + PYTHON_FIXTURE_NAMES + 1, "libc.so", 8);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.libc, PILOTLIGHT_RUNTIME_MUSL);

	python_fixture_init(&python, 0x03080000); /* 3.7: the name is another one */
	python.bytes[python.texts - 2] = 'x';
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_programs_are_none(void **state)
{
	python_fixture_section(&python, 1)->sh_name++;
	python_fixture_symbol(&python, 2)->st_size = 1;
	assert_int_equal(read_fixture(), -ENODATA);
	python_fixture_init(&python, 0x03080000);
	python_fixture_symbol(&python, 2)->st_size = 1;
	assert_int_equal(read_fixture(), -ENODATA);
	python_fixture_init(&python, 0x03080000);
	python_fixture_symbol(&python, 2)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENODATA);
	python_fixture_init(&python, 0x030b02f0);
	((Elf64_Ehdr *)(void *)python.bytes)->e_machine = EM_AARCH64;
	assert_int_equal(read_fixture(), -ENODATA);
}

static void damage_is_noticed(void **state)
{
	python_fixture_section(&python, 5)->sh_size = 23;
	assert_int_equal(read_fixture(), -ENOEXEC);
	python_fixture_init(&python, 0x030b02f0);
	python_fixture_symbol(&python, 2)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENOEXEC);
	python_fixture_init(&python, 0x030b02f0);
	python_fixture_symbol(&python, 2)->st_value = UINT64_MAX - 8;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void each_allocation_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 3);
}

/* The interpreters of this machine. */
static void real_interpreters_are_described(void **state)
{
	static const char *const patterns[] = {
		"/usr/bin/python3.1[0-5]",
		"/usr/lib/x86_64-linux-gnu/libpython3.1[0-5].so.1.0",
		"/root/.pyenv/versions/3.1[0-5]*/lib/libpython3.1[0-5].so.1.0",
		"/root/.pyenv/versions/3.[89].*/lib/libpython3.[89].so.1.0",
	};
	glob_t found = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		(void)glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
	if (found.gl_pathc == 0)
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++) {
		_cleanup_close_ int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		const char *minor = strstr(found.gl_pathv[i], "python3.") + strlen("python3.");
		int r = read_fd(fd);

		if (r < 0)
			fail_msg("%s: %s", found.gl_pathv[i], strerror(-r));
		assert_int_equal(runtime.release >> 16, 0x300 + strtoul(minor, NULL, 10));
	}
	globfree(&found);
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_version_is_described, set_up),
		cmocka_unit_test_setup(the_rest_of_the_loop_is_found, set_up),
		cmocka_unit_test_setup(each_anchor_is_found, set_up),
		cmocka_unit_test_setup(builds_without_the_lock_are_described, set_up),
		cmocka_unit_test_setup(tasks_are_described, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(other_programs_are_none, set_up),
		cmocka_unit_test_setup(damage_is_noticed, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
		cmocka_unit_test(real_interpreters_are_described),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}

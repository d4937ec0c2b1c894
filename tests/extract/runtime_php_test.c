/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_php.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "tests/extract/php_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct php_fixture php;
static struct pilotlight_runtime runtime;

static int read_fixture(void)
{
	_cleanup_close_ int fd = php_fixture_fd(&php);
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	assert_true(fd >= 0);
	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : runtime_php_read(&opened, &scratch, &runtime);
}

static int set_up(void **state)
{
	php_fixture_init(&php, "8.2.36", 152);
	return 0;
}

static const struct {
	const char *version;
	uint32_t release;
	uint16_t frame_at, file_at, line_at, count_at, units_at;
	uint16_t generator_frame_at, awaited_at, mark_at, state_at;
} versions[] = {
	{ "7.4.33", 0x07042100, 488, 136, 144, 60, 64, 64, 160, 200, 272 },
	{ "8.0.8", 0x08000800, 488, 144, 152, 68, 72, 0, 0, 0, 0 },
	{ "8.1.2-1ubuntu2.14", 0x08010200, 488, 144, 152, 68, 72, 56, 152, 184, 264 },
	{ "8.2.36", 0x08022400, 488, 152, 160, 80, 88, 56, 152, 184, 264 },
	{ "8.3.6", 0x08030600, 488, 144, 152, 76, 80, 56, 152, 184, 264 },
	{ "8.4.27", 0x08041b00, 488, 168, 176, 96, 104, 56, 152, 184, 272 },
	{ "8.5.7", 0x08050700, 512, 168, 176, 96, 104, 56, 152, 184, 272 },
	{ "8.6.0RC3", 0x08060000, 512, 168, 176, 96, 104, 56, 152, 184, 272 },
};

static void each_version_is_described(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		php_fixture_init(&php, versions[i].version, versions[i].file_at);
		php_fixture_set_frame(&php, versions[i].frame_at);
		assert_int_equal(read_fixture(), 0);
		assert_true(runtime_bounds_hold(&runtime));
		assert_int_equal(runtime.language, PILOTLIGHT_RUNTIME_PHP);
		assert_int_equal(runtime.release, versions[i].release);
		assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_GLOBAL);
		assert_int_equal(runtime.anchor_place, PHP_FIXTURE_GLOBALS + versions[i].frame_at);
		assert_int_equal(runtime.code_file_at, versions[i].file_at);
		assert_int_equal(runtime.code_first_line_at, versions[i].line_at);
		assert_int_equal(runtime.code_lines_at, versions[i].count_at);
		assert_int_equal(runtime.code_units_at, versions[i].units_at);
		assert_int_equal(runtime.coroutine_frame_at, versions[i].generator_frame_at);
		assert_int_equal(runtime.task_coroutine_at, versions[i].awaited_at);
		assert_int_equal(runtime.state_mark_at, versions[i].mark_at);
		assert_int_equal(runtime.coroutine_state_at, versions[i].state_at);
		assert_int_equal(runtime.loop_place, PHP_FIXTURE_LOOP);
		assert_int_equal(runtime.loop_bytes, PHP_FIXTURE_LOOP_BYTES);
		assert_int_equal(runtime.loop_rest_place, PHP_FIXTURE_LOOP_REST);
		assert_int_equal(runtime.loop_rest_bytes, PHP_FIXTURE_LOOP_BYTES);
	}
}

/* The innermost frame may be addressed from the instruction. */
static void the_globals_may_be_near(void **state)
{
	const int32_t distance = PHP_FIXTURE_GLOBALS + 488 - (PHP_FIXTURE_FILENAME + 7);

	php_fixture_put(&php, PHP_FIXTURE_FILENAME + 2, "\x05", 1);
	php_fixture_put(&php, PHP_FIXTURE_FILENAME + 3, &distance, sizeof(distance));
	assert_int_equal(read_fixture(), 0);
	php.bytes[PHP_FIXTURE_FILENAME + 3] += 8;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_builds_are_not_described(void **state)
{
	static const char *const unknown[] = { "7.3.33", "8.7.0", "8.2.", "8.2", "88.2.1", "" };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		php_fixture_init(&php, unknown[i], 152);
		assert_int_equal(read_fixture(), -ENOTSUP);
	}
	php_fixture_init(&php, "8.2.36", 160); /* a build with more in each function */
	assert_int_equal(read_fixture(), -ENOTSUP);
	php_fixture_init(&php, "8.2.36", 152);
	php_fixture_symbol(&php, PHP_SYMBOL_FILENAME)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENOTSUP);
	php_fixture_init(&php, "8.2.36", 152);
	php.bytes[PHP_FIXTURE_TEXTS + 0x40] = 'x'; /* no version */
	assert_int_equal(read_fixture(), -ENOTSUP);
	elf_fixture_section(php.bytes, 1)->sh_name++;
	assert_int_equal(read_fixture(), -ENOTSUP);
	php_fixture_init(&php, "8.5.7", 168); /* the globals of 8.4 */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void threads_have_globals_of_their_own(void **state)
{
	php_fixture_add_threads(&php);
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_TLS);
	assert_int_equal(runtime.anchor_offset, -24);
	assert_int_equal(runtime.code_type_place, PHP_FIXTURE_GLOBALS);
	assert_int_equal(runtime.state_thread_at, 16);
	assert_int_equal(runtime.state_frame_at, 488);
	php.bytes[PHP_FIXTURE_BLOCK + 1] = 0x90; /* nothing is returned */
	assert_int_equal(read_fixture(), -ENOTSUP);
	php_fixture_symbol(&php, PHP_SYMBOL_BLOCK)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

/* As in PHP 8.2.32, built from its sources. */
static void a_key_has_the_globals_of_threads(void **state)
{
	php_fixture_add_thread_key(&php);
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_KEY);
	assert_int_equal(runtime.anchor_place, PHP_FIXTURE_KEY);
	assert_int_equal(runtime.anchor_offset, 0);
	assert_int_equal(runtime.libc, PILOTLIGHT_RUNTIME_GLIBC);
	assert_int_equal(runtime.code_type_place, PHP_FIXTURE_GLOBALS);
	php.bytes[PHP_FIXTURE_BLOCK] = 0x90; /* no key is loaded */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_files_are_none(void **state)
{
	php_fixture_symbol(&php, PHP_SYMBOL_GLOBALS)->st_shndx = SHN_UNDEF; /* an extension */
	assert_int_equal(read_fixture(), -ENODATA);
	php_fixture_init(&php, "8.2.36", 152);
	php_fixture_symbol(&php, PHP_SYMBOL_LOOP)->st_value = 0;
	assert_int_equal(read_fixture(), -ENODATA);
	php_fixture_init(&php, "8.2.36", 152);
	php_fixture_symbol(&php, PHP_SYMBOL_LOOP)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENODATA);
	php_fixture_init(&php, "8.2.36", 152);
	((Elf64_Ehdr *)(void *)php.bytes)->e_machine = EM_AARCH64;
	assert_int_equal(read_fixture(), -ENODATA);
}

static void each_allocation_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 4);
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_version_is_described, set_up),
		cmocka_unit_test_setup(the_globals_may_be_near, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(threads_have_globals_of_their_own, set_up),
		cmocka_unit_test_setup(a_key_has_the_globals_of_threads, set_up),
		cmocka_unit_test_setup(other_files_are_none, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_ruby.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "tests/extract/ruby_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct python_fixture ruby;
static struct pilotlight_runtime runtime;

static int read_fixture(void)
{
	_cleanup_close_ int fd = python_fixture_fd(&ruby);
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	assert_true(fd >= 0);
	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : runtime_ruby_read(&opened, &scratch, &runtime);
}

static int set_up(void **state)
{
	ruby_fixture_init(&ruby, "3.1.2");
	return 0;
}

static const struct {
	const char *version;
	uint32_t release;
	uint8_t frame_bytes, line_bytes;
	uint16_t lines_at, shift, characters_at;
} versions[] = {
	{ "2.7.4", 0x02070400, 56, 8, 120, 1, 16 },
	{ "3.0.4", 0x03000400, 56, 8, 120, 1, 16 },
	{ "3.1.2", 0x03010200, 64, 12, 120, 1, 16 },
	{ "3.2.11", 0x03020b00, 64, 12, 112, 0, 24 },
	{ "3.3.8", 0x03030800, 56, 12, 112, 0, 24 },
	{ "3.4.11", 0x03040b00, 56, 12, 112, 0, 24 },
};

static void each_version_is_described(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		bool is_global = i == 0;

		ruby_fixture_init(&ruby, versions[i].version);
		assert_int_equal(read_fixture(), 0);
		assert_true(runtime_bounds_hold(&runtime));
		assert_int_equal(runtime.language, PILOTLIGHT_RUNTIME_RUBY);
		assert_int_equal(runtime.release, versions[i].release);
		assert_int_equal(runtime.anchor,
			is_global ? PILOTLIGHT_RUNTIME_GLOBAL : PILOTLIGHT_RUNTIME_TLS);
		assert_int_equal(runtime.anchor_place, is_global ? RUBY_FIXTURE_STATE : 0);
		assert_int_equal(runtime.anchor_offset, is_global ? 0 : -24);
		assert_int_equal(
			runtime.state_thread_at, is_global ? 152 : PILOTLIGHT_RUNTIME_NONE);
		assert_int_equal(runtime.frame_bytes, versions[i].frame_bytes);
		assert_int_equal(runtime.line_bytes, versions[i].line_bytes);
		assert_int_equal(runtime.code_lines_at, versions[i].lines_at);
		assert_int_equal(runtime.first_line_shift, versions[i].shift);
		assert_int_equal(runtime.string_ascii_at, versions[i].characters_at);
		assert_int_equal(runtime.group_least, 0xa9);
		assert_int_equal(runtime.code_type_place, RUBY_FIXTURE_SYMBOL_NAMES);
		assert_int_equal(runtime.loop_place, RUBY_FIXTURE_LOOP);
		assert_int_equal(runtime.loop_bytes, RUBY_FIXTURE_CORE - RUBY_FIXTURE_LOOP);
		assert_int_equal(runtime.loop_rest_place, RUBY_FIXTURE_CORE);
		assert_int_equal(runtime.loop_rest_bytes, RUBY_FIXTURE_CORE_BYTES);
	}
}

static void a_loop_may_do_all_itself(void **state)
{
	const int32_t end = RUBY_FIXTURE_LOOP + 0x2000 - PYTHON_FIXTURE_EH_FRAME_HDR;

	/* It calls itself. */
	python_fixture_put(&ruby, RUBY_FIXTURE_LOOP + 6, "\xf6\xff\xff\xff", 4);
	assert_int_equal(read_fixture(), -ENOTSUP); /* too short */
	python_fixture_put(&ruby, PYTHON_FIXTURE_EH_FRAME_HDR + 20, &end, sizeof(end));
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_rest_place, 0);
	assert_int_equal(runtime.loop_rest_bytes, 0);
}

static void the_loop_is_found_by_a_local_symbol(void **state)
{
	ruby_fixture_init(&ruby, "3.4.9");
	ruby_fixture_name_loop(&ruby);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.loop_place, RUBY_FIXTURE_LOOP);
	assert_int_equal(runtime.loop_rest_place, RUBY_FIXTURE_CORE);
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 4);
	python_fixture_section(&ruby, 5)->sh_entsize = 8; /* damaged */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void names_of_symbols_are_found_by_how_they_are_looked_up(void **state)
{
	/* As Debian's 3.4: cmp $0xaa,%rax, where the other compares rdi. */
	static const uint8_t shorter[] = { 0x90, 0x48, 0x3d, 0xaa, 0, 0, 0 };
	/* Bytes of the code. If one of them differs, functions of C have no names. */
	static const uint32_t others[] = { RUBY_FIXTURE_NAME + 11, RUBY_FIXTURE_NAME_REST,
		RUBY_FIXTURE_NAME_REST + 2, RUBY_FIXTURE_NAME_REST + 9,
		RUBY_FIXTURE_NAME_REST + 11 };

	python_fixture_put(&ruby, RUBY_FIXTURE_NAME + 7, shorter, sizeof(shorter));
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.group_least, 0xaa);
	assert_int_equal(runtime.code_type_place, RUBY_FIXTURE_SYMBOL_NAMES);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		ruby_fixture_init(&ruby, "3.1.2");
		ruby.bytes[others[i]]++;
		assert_int_equal(read_fixture(), 0);
		assert_int_equal(runtime.group_least, 0);
		assert_int_equal(runtime.code_type_place, 0);
	}
	ruby_fixture_init(&ruby, "3.1.2");
	python_fixture_symbol(&ruby, RUBY_SYMBOL_NAME)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.group_least, 0);
}

static void other_builds_are_not_described(void **state)
{
	static const char *const unknown[] = { "2.6.10", "3.5.0", "4.0.6", "3.1.", "3.1", "33.1.2",
		"3.1.2.345" };
	/* Exported symbols that must be there. */
	static const uint32_t needed[] = { RUBY_SYMBOL_LABEL, RUBY_SYMBOL_EVAL,
		RUBY_SYMBOL_PATCHLEVEL };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		ruby_fixture_init(&ruby, unknown[i]);
		assert_int_equal(read_fixture(), -ENOTSUP);
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		ruby_fixture_init(&ruby, "3.3.8");
		python_fixture_symbol(&ruby, needed[i])->st_shndx = SHN_UNDEF;
		assert_int_equal(read_fixture(), -ENOTSUP);
	}
	ruby_fixture_init(&ruby, "2.7.4");
	python_fixture_symbol(&ruby, RUBY_SYMBOL_STATE)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENOTSUP);
	ruby_fixture_init(&ruby, "3.4.0"); /* a preview */
	python_fixture_put(&ruby, RUBY_FIXTURE_PATCHLEVEL, "\xff\xff\xff\xff", 4);
	assert_int_equal(read_fixture(), -ENOTSUP);
	ruby_fixture_init(&ruby, "3.1.2"); /* a build with more in each body */
	ruby.bytes[RUBY_FIXTURE_LABEL + 11] += 8;
	assert_int_equal(read_fixture(), -ENOTSUP);
	ruby_fixture_init(&ruby, "3.1.2"); /* the thread's variable cannot be found */
	ruby.bytes[RUBY_FIXTURE_THREAD] = 0xc3;
	assert_int_equal(read_fixture(), -ENOTSUP);
	ruby_fixture_init(&ruby, "3.1.2"); /* the loop has no unwind entry */
	ruby.bytes[PYTHON_FIXTURE_EH_FRAME_HDR + 12]++;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_programs_are_none(void **state)
{
	python_fixture_symbol(&ruby, RUBY_SYMBOL_VERSION)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENODATA);
	ruby_fixture_init(&ruby, "3.1.2");
	python_fixture_symbol(&ruby, RUBY_SYMBOL_THREAD)->st_value = 0;
	assert_int_equal(read_fixture(), -ENODATA);
	ruby_fixture_init(&ruby, "3.1.2");
	python_fixture_symbol(&ruby, RUBY_SYMBOL_VERSION)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENODATA);
	ruby_fixture_init(&ruby, "3.1.2");
	((Elf64_Ehdr *)(void *)ruby.bytes)->e_machine = EM_AARCH64;
	assert_int_equal(read_fixture(), -ENODATA);
}

static void each_allocation_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 3);
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_version_is_described, set_up),
		cmocka_unit_test_setup(a_loop_may_do_all_itself, set_up),
		cmocka_unit_test_setup(the_loop_is_found_by_a_local_symbol, set_up),
		cmocka_unit_test_setup(
			names_of_symbols_are_found_by_how_they_are_looked_up, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(other_programs_are_none, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}

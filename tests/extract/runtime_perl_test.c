/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_perl.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "tests/extract/perl_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct perl_fixture perl;
static struct pilotlight_runtime runtime;

static int read_fixture(void)
{
	_cleanup_close_ int fd = perl_fixture_fd(&perl);
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	assert_true(fd >= 0);
	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : runtime_perl_read(&opened, &scratch, &runtime);
}

static int set_up(void **state)
{
	perl_fixture_init(&perl, 36, 0);
	return 0;
}

static const struct {
	uint8_t version, subversion;
	uint32_t release;
	uint16_t name_at;
} versions[] = {
	{ 32, 1, 0x05200100, PILOTLIGHT_RUNTIME_NONE },
	{ 34, 0, 0x05220000, PILOTLIGHT_RUNTIME_NONE },
	{ 36, 0, 0x05240000, 32 },
	{ 38, 2, 0x05260200, 32 },
	{ 40, 1, 0x05280100, 32 },
	{ 42, 0, 0x052a0000, 32 },
};

static void each_version_is_described(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		perl_fixture_init(&perl, versions[i].version, versions[i].subversion);
		assert_int_equal(read_fixture(), 0);
		assert_true(runtime_bounds_hold(&runtime));
		assert_int_equal(runtime.language, PILOTLIGHT_RUNTIME_PERL);
		assert_int_equal(runtime.release, versions[i].release);
		assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_KEY);
		assert_int_equal(runtime.libc, PILOTLIGHT_RUNTIME_GLIBC);
		assert_int_equal(runtime.anchor_place, PERL_FIXTURE_KEY);
		assert_int_equal(runtime.state_thread_at, 8);
		assert_int_equal(runtime.state_mark_at, PERL_FIXTURE_STATEMENT_AT);
		assert_int_equal(runtime.state_frame_at, PERL_FIXTURE_STATEMENT_AT + 16);
		assert_int_equal(runtime.code_name_at, versions[i].name_at);
		assert_int_equal(runtime.loop_place, PERL_FIXTURE_LOOP);
		assert_int_equal(runtime.loop_bytes, PERL_FIXTURE_LOOP_BYTES);
		assert_int_equal(runtime.loop_rest_place, PERL_FIXTURE_CATCH);
		assert_int_equal(runtime.loop_rest_bytes, PERL_FIXTURE_CATCH_BYTES);
		assert_int_equal(runtime.code_type_place, PERL_FIXTURE_MAIN);
		assert_int_equal(runtime.code_units_at, PERL_FIXTURE_MAIN_BYTES);
	}
}

static void without_threads_variables_are_the_state(void **state)
{
	perl_fixture_leave_threads_out(&perl);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_GLOBAL);
	assert_int_equal(runtime.anchor_place, PERL_FIXTURE_VARIABLES);
	assert_int_equal(runtime.state_mark_at, 0);
	assert_int_equal(runtime.state_frame_at, 0x18);
	assert_int_equal(runtime.state_thread_at, 0x40);
	perl_fixture_symbol(&perl, PERL_SYMBOL_OP)->st_value += 0x200; /* too far away */
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl_fixture_symbol(&perl, PERL_SYMBOL_OP)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

/* From 5.38 on. */
static void operations_may_be_in_a_table(void **state)
{
	perl_fixture_symbol(&perl, PERL_SYMBOL_STATEMENT)->st_shndx = SHN_UNDEF;
	perl_fixture_symbol(&perl, PERL_SYMBOL_TRY)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(runtime.state_mark_at, PERL_FIXTURE_STATEMENT_AT);
	assert_int_equal(runtime.loop_rest_place, PERL_FIXTURE_CATCH);
	/* The names end before the one that is looked for. */
	perl_fixture_symbol(&perl, PERL_SYMBOL_OPERATIONS)->st_size = 0x10;
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl_fixture_symbol(&perl, PERL_SYMBOL_OPERATIONS)->st_size = 0x18;
	perl.bytes[PERL_FIXTURE_TEXTS + 16] = 'N'; /* there is no such operation */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_versions_are_not_described(void **state)
{
	static const uint8_t others[] = { 0, 30, 31, 33, 41, 43, 44, 255 };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		perl_fixture_init(&perl, others[i], 0);
		assert_int_equal(read_fixture(), -ENOTSUP);
	}
	perl_fixture_init(&perl, 36, 0);
	perl.bytes[PERL_FIXTURE_NUMBERS] = 7;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_builds_are_not_described(void **state)
{
	/* Another nesting; and two statements. */
	perl.bytes[PERL_FIXTURE_STATEMENT + 3] = 0xe8;
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl.bytes[PERL_FIXTURE_STATEMENT + 3] = 0xe0;
	perl_fixture_put(&perl, PERL_FIXTURE_STATEMENT + 0x20, "\x90\0\0\0\xa0\0\0\0", 8);
	assert_int_equal(read_fixture(), -ENOTSUP);
	/* Nothing catches, or two functions may. */
	perl_fixture_init(&perl, 36, 0);
	perl.bytes[PERL_FIXTURE_CATCH + 1] = 0x10;
	perl.bytes[PERL_FIXTURE_CATCH] = 0x90;
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl_fixture_init(&perl, 36, 0);
	perl_fixture_put(&perl, PERL_FIXTURE_SCOPE, "\xff\x97\xf0\x08\0\0\xc3", 7);
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl_fixture_init(&perl, 36, 0);
	perl_fixture_symbol(&perl, PERL_SYMBOL_MAIN)->st_size = 5000;
	assert_int_equal(read_fixture(), -ENOTSUP);
	perl_fixture_init(&perl, 36, 0);
	perl.bytes[PERL_FIXTURE_DYNAMIC] = 0; /* no known C library */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_files_are_none(void **state)
{
	for (size_t i = PERL_SYMBOL_REVISION; i < PERL_SYMBOL_KEY; i++) {
		perl_fixture_init(&perl, 36, 0);
		perl_fixture_symbol(&perl, i)->st_shndx = SHN_UNDEF; /* a module */
		assert_int_equal(read_fixture(), -ENODATA);
	}
	perl_fixture_init(&perl, 36, 0);
	perl_fixture_symbol(&perl, PERL_SYMBOL_LOOP)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENODATA);
	perl_fixture_init(&perl, 36, 0);
	((Elf64_Ehdr *)(void *)perl.bytes)->e_machine = EM_AARCH64;
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
		cmocka_unit_test_setup(without_threads_variables_are_the_state, set_up),
		cmocka_unit_test_setup(operations_may_be_in_a_table, set_up),
		cmocka_unit_test_setup(other_versions_are_not_described, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(other_files_are_none, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}

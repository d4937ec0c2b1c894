/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_v8.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_v8.h"
#include "pilotlight/symbol_file.h"
#include "tests/extract/v8_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct v8_fixture v8;
static struct pilotlight_runtime runtime;
static struct pilotlight_runtime_v8 described;

static uint32_t lacks;

static int read_fd(int fd)
{
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	lacks = UINT32_MAX;
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	if (r == 0)
		r = runtime_v8_read(&opened, &scratch, &runtime, &lacks);
	memcpy(&described, &runtime, sizeof(described));
	return r;
}

static int read_fixture(void)
{
	_cleanup_close_ int fd = v8_fixture_fd(&v8);

	assert_true(fd >= 0);
	return read_fd(fd);
}

static int set_up(void **state)
{
	v8_fixture_init(&v8, 11);
	return 0;
}

static void what_v8_publishes_is_described(void **state)
{
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(described.language, PILOTLIGHT_RUNTIME_V8);
	assert_int_equal(described.release, 11 << 24 | 3 << 16 | 244);
	assert_int_equal(described.code_place, V8_FIXTURE_CODE);
	assert_int_equal(described.code_bytes, V8_FIXTURE_CODE_BYTES);
	assert_int_equal(described.frame_function_at, -16);
	assert_int_equal(described.map_type_at, 12);
	assert_int_equal(described.function_type_first, 2066);
	assert_int_equal(described.function_type_last, 2081);
	assert_int_equal(described.shared_type, 262);
	assert_int_equal(described.function_shared_at, 24);
	assert_int_equal(described.shared_name_at, 16);
	assert_int_equal(described.shared_script_at, 32);
	assert_int_equal(described.scope_locals_at, 24);
	assert_int_equal(described.scope_locals_begin_at, 32);
	assert_int_equal(described.scope_start_at, PILOTLIGHT_RUNTIME_NONE);
	assert_int_equal(described.script_id_at, 64);
	assert_int_equal(described.string_second_at, 24);

	v8_fixture_init(&v8, 13);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.release, 13 << 24 | 6 << 16 | 233);
	assert_int_equal(described.function_type_first, 2065);
	assert_int_equal(described.function_type_last, 2081);
	assert_int_equal(described.function_shared_at, 32);
	assert_int_equal(described.shared_name_at, 24);
	assert_int_equal(described.shared_script_at, 40);
	assert_int_equal(described.scope_start_at, 32);
	assert_int_equal(described.scope_locals_begin_at, 48);
}

static void optimized_code_is_described_where_it_is_known(void **state)
{
	static const struct pilotlight_v8_code none;
	const size_t number_at = V8_FIXTURE_SYMTAB - sizeof(int32_t);
	int32_t number = 16;

	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.code.type, 245);
	assert_int_equal(described.code.before_bytes, 16);
	v8_fixture_put(&v8, number_at, &number, sizeof(number));
	v8_fixture_add_symbol(&v8, "v8dbg_class_Code__deoptimization_data__FixedArray", number_at,
		STT_OBJECT, sizeof(number));
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.code.type, 245);
	/* It contradicts our table. */
	number = 24;
	v8_fixture_put(&v8, number_at, &number, sizeof(number));
	assert_int_equal(read_fixture(), 0);
	assert_memory_equal(&described.code, &none, sizeof(none));

	(void)set_up(NULL);
	*v8_fixture_number(&v8, "_ZN2v88internal7Version6minor_E") = 4;
	assert_int_equal(read_fixture(), 0);
	assert_memory_equal(&described.code, &none, sizeof(none));

	v8_fixture_init(&v8, 13);
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(described.code.type, 187);
}

static void check_bytecodes(uint16_t type, uint16_t positions_at, uint16_t data_at)
{
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(described.bytecodes_type, type);
	assert_int_equal(described.bytecodes_positions_at, positions_at);
	assert_int_equal(described.bytecodes_data_at, data_at);
}

static void bytecodes_are_described_where_frames_have_them(void **state)
{
	static const char *const others[] = { "v8dbg_off_fp_bytecode_array",
		"v8dbg_off_fp_bytecode_offset", "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
		"v8dbg_class_BytecodeArray__data__uintptr_t" };

	check_bytecodes(191, 32, 54);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		(void)set_up(NULL);
		*v8_fixture_number(&v8, others[i]) = -48;
		check_bytecodes(0, 0, 0);
	}
	(void)set_up(NULL);
	*v8_fixture_number(&v8, "_ZN2v88internal7Version6minor_E") = 4;
	check_bytecodes(0, 0, 0);
	v8_fixture_init(&v8, 13);
	check_bytecodes(186, 24, 64);
}

/* V8 10.2 calls the address so, and the code as follows. */
static void the_code_may_have_another_name(void **state)
{
	v8_fixture_add_symbol(
		&v8, "v8_Default_embedded_blob_code_data_", V8_FIXTURE_CODE + 64, STT_NOTYPE, 0);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.code_place, V8_FIXTURE_CODE + 64);
}

static void exported_functions_tell_the_place_too(void **state)
{
	for (uint32_t i = 0; i < 2; i++) {
		(void)set_up(NULL);
		v8_fixture_strip(&v8, i == 1);
		assert_int_equal(read_fixture(), 0);
		assert_int_equal(lacks, 0);
		assert_int_equal(described.code_place, V8_FIXTURE_CODE);
		assert_int_equal(described.code_bytes, V8_FIXTURE_CODE_BYTES);
	}
	/* One without the other is enough to have to ask. */
	(void)set_up(NULL);
	v8_fixture_strip(&v8, false);
	v8_fixture_named(&v8, "v8_Default_embedded_blob_code_")->st_shndx = 1;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.code_bytes, V8_FIXTURE_CODE_BYTES);
}

/* strip(1) moves segments of programs in the file, each by another distance. */
static void the_place_is_of_its_segment(void **state)
{
	Elf64_Ehdr *header = (void *)v8.bytes;
	Elf64_Phdr *segments = (void *)(v8.bytes + sizeof(*header));

	segments[1] = segments[0];
	segments[1].p_offset = V8_FIXTURE_CODE;
	segments[1].p_vaddr = 0x800000 + V8_FIXTURE_CODE;
	segments[1].p_filesz = segments[1].p_memsz = V8_FIXTURE_CODE_BYTES;
	header->e_phnum = 2;
	v8_fixture_named(&v8, "v8_Default_embedded_blob_code_")->st_value = segments[1].p_vaddr;
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.code_place, V8_FIXTURE_CODE);
	/* It is no code. */
	v8_fixture_named(&v8, "v8_Default_embedded_blob_code_")->st_value += 64;
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void assert_stripped(void)
{
	assert_int_equal(read_fixture(), -ENOTSUP);
	assert_int_equal(lacks, PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED);
	(void)set_up(NULL);
	v8_fixture_strip(&v8, true);
}

static void functions_that_tell_no_place_are_not_believed(void **state)
{
	v8_fixture_strip(&v8, true);
	v8_fixture_named(&v8, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv")->st_size = 0;
	assert_stripped();
	v8_fixture_named(&v8, "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv")->st_shndx =
		SHN_UNDEF;
	assert_stripped();
	/* mov 8(%rax), %rax: of what is behind the variable */
	v8_fixture_put(&v8, V8_FIXTURE_GET_PLACE + 8, "\x40\x08\xc3", 3);
	v8_fixture_named(&v8, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv")->st_size++;
	assert_stripped();
	/* lea 8(%rax), %rax: not what the variable has, but 8 bytes further */
	v8_fixture_put(&v8, V8_FIXTURE_GET_PLACE + 10, "\x48\x8d\x40\x08\xc3", 5);
	v8_fixture_named(&v8, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv")->st_size += 4;
	assert_stripped();
	/* The size is loaded where the place should be, and the other way round. */
	v8_fixture_put(&v8, V8_FIXTURE_GET_PLACE + 7, "\x8b\x00\xc3", 3);
	assert_stripped();
	v8_fixture_put(&v8, V8_FIXTURE_GET_BYTES + 7, "\xc3", 1);
	assert_stripped();
	/* Neither is code. */
	*v8_fixture_number(&v8, "v8_Default_embedded_blob_code_size_") = V8_FIXTURE_BYTES;
	assert_stripped();
	*v8_fixture_number(&v8, "v8_Default_embedded_blob_code_size_") = -1;
	assert_stripped();
	v8_fixture_put_accessor(&v8, V8_FIXTURE_GET_PLACE, 0x100000, "\x48\x8b\x00", 3);
	assert_stripped();
	v8_fixture_section(&v8, 4)->sh_size--;
	assert_int_equal(read_fixture(), -ENOEXEC);
}

static void each_number_is_needed(void **state)
{
	/* The first one tells that it is V8. */
	for (size_t i = 0; i < v8.symbols; i++) {
		const char *name =
			(char *)v8.bytes + V8_FIXTURE_NAMES + v8_fixture_symbol(&v8, i)->st_name;
		int expected = i == 1 ? -ENODATA : -ENOTSUP;

		if (i == 0)
			continue;
		(void)set_up(NULL);
		v8_fixture_symbol(&v8, i)->st_shndx = SHN_UNDEF;
		/* Others tell the same. */
		if (strstr(name, "ConsString__") || strstr(name, "SlicedString__") ||
			strstr(name, "ThinString__") || strstr(name, "ByteString__") ||
			strstr(name, "ytecode"))
			expected = 0;
		if (read_fixture() != expected)
			fail_msg("without %s it is %d", name, read_fixture());
	}
}

static void assert_refused(const char *name, int32_t value)
{
	(void)set_up(NULL);
	*v8_fixture_number(&v8, name) = value;
	if (read_fixture() != -ENOTSUP || runtime.version != 0)
		fail_msg("%s is %d, and not refused", name, value);
}

static void other_builds_are_not_described(void **state)
{
	assert_refused("v8dbg_TaggedSize", 4);
	assert_int_equal(lacks, PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED);
	assert_refused("v8dbg_SmiShiftSize", 0);
	assert_refused("v8dbg_ThinStringTag", 4);
	assert_int_equal(lacks, 0);
	assert_refused("v8dbg_class_ThinString__actual__String", 24); /* contradicts others */
	assert_refused("v8dbg_class_ExternalString__resource__Object", 8);
	assert_refused("v8dbg_class_JSFunction__shared__SharedFunctionInfo", 128);
	assert_refused("v8dbg_class_JSFunction__shared__SharedFunctionInfo", 20);
	assert_refused("v8dbg_class_JSFunction__shared__SharedFunctionInfo", -8);
	assert_refused("v8dbg_class_Script__eval_from_position__SMI", 88);
	assert_refused("v8dbg_class_Map__instance_type__uint16_t", 0x10000);
	assert_refused("v8dbg_type_JSFunction__JS_FUNCTION_TYPE", 0);
	assert_refused("v8dbg_off_fp_function", 16);
	assert_refused("v8dbg_off_fp_context", -16);
	assert_refused("v8dbg_scopeinfo_idx_first_vars", 4);
	assert_refused("v8dbg_scopeinfo_idx_ncontextlocals", 3);
	assert_refused("v8_Default_embedded_blob_code_size_", 0);
}

static void other_programs_are_none(void **state)
{
	((Elf64_Ehdr *)(void *)v8.bytes)->e_machine = EM_AARCH64;
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	v8_fixture_section(&v8, 2)->sh_type = SHT_PROGBITS;
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	v8_fixture_symbol(&v8, 1)->st_name = 0x10000; /* damaged, before it is known to be V8 */
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	v8_fixture_symbol(&v8, 2)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENOEXEC);
}

static void each_allocation_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 2);
	v8_fixture_strip(&v8, true);
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 2);
}

/* The one of this machine, and of TEST_NODE. */
static void real_programs_are_described(void **state)
{
	const char *const paths[] = { "/usr/bin/node", getenv("TEST_NODE") };
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_close_ int fd = paths[i] ? open(paths[i], O_RDONLY | O_CLOEXEC) : -1;

		if (fd < 0)
			continue;
		found++;
		assert_int_equal(read_fd(fd), 0);
		assert_in_range(described.release >> 24, 10, 13);
		assert_true(described.code_bytes > 1 << 20);
	}
	if (found == 0)
		skip();
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_v8_publishes_is_described, set_up),
		cmocka_unit_test_setup(optimized_code_is_described_where_it_is_known, set_up),
		cmocka_unit_test_setup(bytecodes_are_described_where_frames_have_them, set_up),
		cmocka_unit_test_setup(the_code_may_have_another_name, set_up),
		cmocka_unit_test_setup(exported_functions_tell_the_place_too, set_up),
		cmocka_unit_test_setup(the_place_is_of_its_segment, set_up),
		cmocka_unit_test_setup(functions_that_tell_no_place_are_not_believed, set_up),
		cmocka_unit_test_setup(each_number_is_needed, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(other_programs_are_none, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
		cmocka_unit_test(real_programs_are_described),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}

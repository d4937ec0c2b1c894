/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_hotspot.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_hotspot.h"
#include "tests/extract/hotspot_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hotspot_fixture hotspot;
static struct pilotlight_runtime runtime;
static struct pilotlight_runtime_hotspot described;

static int read_fd(int fd)
{
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	assert_true(scratch_fd >= 0);
	scratch_init(&scratch, scratch_fd, 16 << 20, 16 << 20);
	memset(&runtime, 0, sizeof(runtime));
	r = unwind_files_open(&opened, &files);
	if (r == 0)
		r = runtime_hotspot_read(&opened, &scratch, &runtime);
	memcpy(&described, &runtime, sizeof(described));
	return r;
}

static int read_fixture(void)
{
	_cleanup_close_ int fd = hotspot_fixture_fd(&hotspot);

	assert_true(fd >= 0);
	return read_fd(fd);
}

static int set_up(void **state)
{
	hotspot_fixture_init(&hotspot, 17);
	return 0;
}

static void what_hotspot_publishes_is_described(void **state)
{
	assert_int_equal(read_fixture(), 0);
	assert_true(runtime_bounds_hold(&runtime));
	assert_int_equal(described.language, PILOTLIGHT_RUNTIME_HOTSPOT);
	assert_int_equal(described.release, 17);
	assert_int_equal(described.flags, PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS);
	assert_int_equal(described.heaps_place, HOTSPOT_FIXTURE_HEAPS);
	assert_int_equal(described.frame_method_at, -24);
	assert_int_equal(described.frame_bytecode_at, -64);
	assert_int_equal(described.array_data_at, 8);
	assert_int_equal(described.heap_memory_at, 8);
	assert_int_equal(described.heap_map_at, 120);
	assert_int_equal(described.block_bytes, 16);
	assert_int_equal(described.blob_code_at, 32);
	assert_int_equal(described.blob_method_at, 112);
	assert_int_equal(described.blob_number_at, 304);
	assert_int_equal(described.const_bytes, 48);
	assert_int_equal(described.pool_source_at, 54);
	assert_int_equal(described.class_source_at, PILOTLIGHT_RUNTIME_NONE);
	assert_int_equal(described.symbol_text_at, 6);

	hotspot_fixture_init(&hotspot, 25);
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(described.release, 25);
	assert_int_equal(described.flags, PILOTLIGHT_HOTSPOT_CODE_OFFSET |
						  PILOTLIGHT_HOTSPOT_SHORT_COMPLETE |
						  PILOTLIGHT_HOTSPOT_NO_ZEROS);
	assert_int_equal(described.heap_memory_at, 0);
	assert_int_equal(described.blob_code_at, 36);
	assert_int_equal(described.blob_method_at, 80);
	assert_int_equal(described.blob_number_at, 212);
	assert_int_equal(described.const_flags_at, 28);
}

/* JDK 8 has one heap of code. */
static void one_heap_is_described(void **state)
{
	uint8_t *name = memmem(hotspot.bytes, sizeof(hotspot.bytes), "_heaps", 7);

	assert_non_null(name);
	name[5] = '\0';
	assert_int_equal(read_fixture(), 0);
	assert_int_equal(
		described.flags, PILOTLIGHT_HOTSPOT_ONE_HEAP | PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS);
	assert_int_equal(described.release, 8);
	assert_int_equal(described.heaps_place, HOTSPOT_FIXTURE_HEAPS);
	assert_int_equal(described.frame_bytecode_at, -56);
	assert_int_equal(described.array_data_at, PILOTLIGHT_RUNTIME_NONE);
}

static void assert_scopes(uint16_t base, uint16_t pcs, uint16_t end, uint16_t data)
{
	assert_int_equal(described.scopes_base_at, base);
	assert_int_equal(described.scopes_pcs_at, pcs);
	assert_int_equal(described.scopes_pcs_end_at, end);
	assert_int_equal(described.scopes_data_at, data);
}

static void assert_metadata(uint16_t base, uint16_t at, uint16_t data)
{
	assert_int_equal(described.metadata_base_at, base);
	assert_int_equal(described.metadata_at, at);
	assert_int_equal(described.data_at, data);
}

static void what_compiled_methods_contain_is_described(void **state)
{
	const uint16_t none = PILOTLIGHT_RUNTIME_NONE;
	uint8_t *name;

	assert_int_equal(read_fixture(), 0);
	assert_scopes(none, 268, 272, 120);
	assert_metadata(none, 260, none);
	hotspot_fixture_init(&hotspot, 25);
	assert_int_equal(read_fixture(), 0);
	assert_scopes(96, 196, 200, 200);
	assert_metadata(16, 28, none);
	/* JDK 24 has the metadata in the blob. */
	hotspot_fixture_set(&hotspot, "CodeBlob", "_mutable_data", 142);
	hotspot_fixture_set(&hotspot, "CodeBlob", "_relocation_size", 40);
	name = memmem(hotspot.bytes, sizeof(hotspot.bytes), "CodeBlob\0_mutable_data", 22);
	assert_non_null(name);
	memcpy(name, "nmethod\0\0_metadata_offset", 26);
	name = memmem(hotspot.bytes, sizeof(hotspot.bytes), "_relocation_size", 16);
	assert_non_null(name);
	memcpy(name, "_data_offset", 13);
	assert_int_equal(read_fixture(), 0);
	assert_scopes(96, 196, 200, 200);
	assert_metadata(none, 142, 40);
	assert_true(described.flags & PILOTLIGHT_HOTSPOT_SHORT_METADATA);
}

/* Lets the field be one of another type. */
static void take_away(size_t i)
{
	size_t entry = HOTSPOT_FIXTURE_STRUCTS;

	for (size_t before = 0; before < i; before++)
		if (hotspot_fixture_fields[before].values[0] != -1)
			entry += HOTSPOT_FIXTURE_STRUCT_BYTES;
	for (size_t at = 0; at < hotspot.relocations; at++) {
		Elf64_Rela *relocation =
			(Elf64_Rela *)(void *)(hotspot.bytes + HOTSPOT_FIXTURE_RELOCATIONS) + at;

		if (relocation->r_offset == HOTSPOT_FIXTURE_VADDR + entry)
			relocation->r_addend++;
	}
}

/* The first field is none that is wanted. The release may be missing, and what is behind it: then
 * only the compiled method itself is known. */
static void each_field_is_needed(void **state)
{
	bool is_needed = true;

	for (size_t i = 1; i < HOTSPOT_FIXTURE_FIELDS; i++) {
		const char *field = hotspot_fixture_fields[i].field;
		int expected = is_needed && strncmp(field, "_body", 5) != 0 ? -ENOTSUP : 0;

		if (hotspot_fixture_fields[i].values[0] == -1)
			continue;
		(void)set_up(NULL);
		if (strcmp(field, "_vm_major_version") == 0) {
			is_needed = false;
			continue;
		}
		take_away(i);
		if (read_fixture() != expected)
			fail_msg("without %s it is %d", field, read_fixture());
		if (!is_needed && described.scopes_pcs_at != PILOTLIGHT_RUNTIME_NONE)
			fail_msg("%s is not needed", field);
	}
}

static void assert_refused(const char *type, const char *field, int32_t offset)
{
	(void)set_up(NULL);
	hotspot_fixture_set(&hotspot, type, field, offset);
	if (read_fixture() != -ENOTSUP || runtime.version != 0)
		fail_msg("%s of %s is at %d, and not refused", field, type, offset);
}

static void other_builds_are_not_described(void **state)
{
	/* As if its store had not been found. */
	assert_refused("CodeBlob", "_name", 0);
	assert_refused("CodeBlob", "_size", 0);
	assert_refused("Method", "_constMethod", 0);
	assert_refused("InstanceKlass", "_constants", 0);
	assert_refused("CodeBlob", "_name", 496);
	assert_refused("CodeBlob", "_name", -8);
	assert_refused("ConstMethod", "_constants", 64);
	assert_refused("Klass", "_name", 4096);
	assert_refused("VirtualSpace", "_high_boundary", 16);
	assert_refused("HeapBlock::Header", "_used", 16);
	assert_refused("Symbol", "_body", 8); /* contradicts another name of it */
	(void)set_up(NULL);
	hotspot.bytes[HOTSPOT_FIXTURE_NUMBERS + 3 * 8] = 56; /* another stride */
	assert_int_equal(read_fixture(), -ENOTSUP);
}

static void other_programs_are_none(void **state)
{
	((Elf64_Ehdr *)(void *)hotspot.bytes)->e_machine = EM_AARCH64;
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	hotspot_fixture_section(&hotspot, 2)->sh_type = SHT_PROGBITS;
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	hotspot_fixture_symbol(&hotspot, 1)->st_shndx = SHN_UNDEF;
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	hotspot_fixture_symbol(&hotspot, 1)->st_name = 0x10000; /* damaged, and none yet */
	assert_int_equal(read_fixture(), -ENODATA);
	(void)set_up(NULL);
	hotspot_fixture_symbol(&hotspot, 2)->st_name = 0x10000;
	assert_int_equal(read_fixture(), -ENOEXEC);
}

static void each_allocation_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(read_fixture(), -ENOMEM, runtime.version == 0, 0) >= 4);
}

/* Those of this machine, and of TEST_JVM. */
static void real_libraries_are_described(void **state)
{
	const char *const paths[] = { "/usr/lib/jvm/default-java/lib/server/libjvm.so",
		"/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so", getenv("TEST_JVM") };
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_close_ int fd = paths[i] ? open(paths[i], O_RDONLY | O_CLOEXEC) : -1;

		if (fd < 0)
			continue;
		found++;
		assert_int_equal(read_fd(fd), 0);
		assert_in_range(described.release, 8, 99);
		assert_int_not_equal(described.scopes_pcs_at, PILOTLIGHT_RUNTIME_NONE);
	}
	if (found == 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_hotspot_publishes_is_described, set_up),
		cmocka_unit_test_setup(one_heap_is_described, set_up),
		cmocka_unit_test_setup(what_compiled_methods_contain_is_described, set_up),
		cmocka_unit_test_setup(each_field_is_needed, set_up),
		cmocka_unit_test_setup(other_builds_are_not_described, set_up),
		cmocka_unit_test_setup(other_programs_are_none, set_up),
		cmocka_unit_test_setup(each_allocation_may_fail, set_up),
		cmocka_unit_test(real_libraries_are_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

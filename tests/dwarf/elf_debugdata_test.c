/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_debugdata.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/harness/failing_allocation.h"

#include "base/cleanup.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SCRATCH_BYTES = 512 << 20, XZ_BYTES = 60 * 1000 };

/* A section's contents. */
struct packed {
	uint8_t bytes[XZ_BYTES];
	size_t size;
};

static void pack(struct packed *packed, const void *bytes, size_t size, uint32_t dictionary_bytes)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { .id = LZMA_FILTER_LZMA2, .options = &options },
		{ .id = LZMA_VLI_UNKNOWN } };

	packed->size = 0;
	assert_false(lzma_lzma_preset(&options, 0));
	if (dictionary_bytes > 0)
		options.dict_size = dictionary_bytes;
	assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, bytes, size,
				 packed->bytes, &packed->size, sizeof(packed->bytes)),
		LZMA_OK);
}

static void build_inner(struct fixture *inner)
{
	static const struct fixture_section section = {
		.name = ".inner", .type = SHT_PROGBITS, .bytes = "contents", .size = 8
	};

	*inner = (struct fixture){ .machine = EM_PPC64 };
	fixture_build_sections(inner, &section, 1);
}

/* Returns what opening a file with these contents returns, and checks what comes out. */
static int open_packed(const struct packed *packed, uint64_t limit_bytes)
{
	const struct fixture_section section = { .name = ".gnu_debugdata",
		.type = SHT_PROGBITS,
		.bytes = packed->bytes,
		.size = packed->size };
	struct scratch scratch;
	_cleanup_(scratch_array_done) struct scratch_array bytes = { 0 };
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct fixture fixture = { 0 };
	struct elf_file file, inner = { .shdr_count = 77 };
	int r;

	scratch_init(&scratch, fd, limit_bytes, 0);
	fixture_build_sections(&fixture, &section, 1);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	r = elf_debugdata_open(&file, &scratch, &bytes, &inner);
	if (r < 0) {
		assert_null(bytes.items);
		assert_int_equal(inner.shdr_count, 77);
	} else {
		struct fixture expected;

		build_inner(&expected);
		assert_int_equal(bytes.count, expected.size);
		assert_memory_equal(bytes.items, expected.bytes, expected.size);
		assert_int_equal(inner.machine, EM_PPC64);
		assert_int_equal(inner.shdr_count, 3);
	}
	return r;
}

static void the_file_within_is_opened(void **state)
{
	struct fixture inner;
	struct packed packed;

	build_inner(&inner);
	pack(&packed, inner.bytes, inner.size, 0);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), 0);
	/* As xz -9 does. */
	pack(&packed, inner.bytes, inner.size, 64 << 20);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), 0);
	/* What is behind the stream does not matter. */
	packed.bytes[packed.size++] = 'x';
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), 0);
}

static void the_section_is_optional(void **state)
{
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct scratch_array bytes;
	struct fixture fixture;
	struct elf_file file, inner;
	struct scratch scratch;

	scratch_init(&scratch, fd, SCRATCH_BYTES, 0);
	build_inner(&fixture);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	assert_int_equal(elf_debugdata_open(&file, &scratch, &bytes, &inner), -ENODATA);
}

static void damage_is_refused(void **state)
{
	struct packed whole, packed;
	struct fixture inner;

	build_inner(&inner);
	pack(&whole, inner.bytes, inner.size, 0);
	for (size_t size = 1; size < whole.size; size++) {
		packed = whole;
		packed.size = size;
		assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
	}
	for (size_t i = 0; i < whole.size; i++) {
		packed = whole;
		packed.bytes[i] ^= 0x55;
		assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
	}
	/* A stream of something else. */
	pack(&packed, "#!/bin/sh", 9, 0);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
	pack(&packed, "", 0, 0);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
}

static void bombs_end_at_the_bounds(void **state)
{
	const size_t size = ELF_DEBUGDATA_BYTES_MAX + 1;
	_cleanup_free_ uint8_t *zeros = calloc(1, size);
	struct fixture inner;
	struct packed packed;

	assert_non_null(zeros);
	build_inner(&inner);
	memcpy(zeros, inner.bytes, inner.size);
	pack(&packed, zeros, size, 0);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
	assert_int_equal(open_packed(&packed, 4 << 20), -EFBIG);
	/* Of the decoder's memory, before it is taken. */
	pack(&packed, inner.bytes, inner.size, 128 << 20);
	assert_int_equal(open_packed(&packed, SCRATCH_BYTES), -ENOEXEC);
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture inner;
	struct packed packed;

	build_inner(&inner);
	pack(&packed, inner.bytes, inner.size, 0);
	assert_true(
		FAIL_EACH_ALLOCATION(open_packed(&packed, SCRATCH_BYTES), -ENOMEM, true, 0) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_within_is_opened),
		cmocka_unit_test(the_section_is_optional),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(bombs_end_at_the_bounds),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

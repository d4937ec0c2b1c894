/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of .gnu_debugdata and of the procedure linkage table, and errors of all tables. */
#include "tests/extract/elf_symbols_fixture.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"

#include <errno.h>
#include <lzma.h>

static struct elf_file build_debugdata(struct fixture *outer, const struct fixture *inner)
{
	static uint8_t packed[32 * 1024];
	struct fixture_section section = {
		.name = ".gnu_debugdata", .type = SHT_PROGBITS, .bytes = packed
	};

	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, inner->bytes,
				 inner->size, packed, &section.size, sizeof(packed)),
		LZMA_OK);
	fixture_build_sections(outer, &section, 1);
	return open_memory(outer);
}

static void debugdata_is_read(void **state)
{
	static const struct expectation expectations[] = { { TEXT + 0x20, "two" },
		{ TEXT + 0x30, "_Z5threev" } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code, lost = all_code;
	struct fixture inner = { 0 }, outer = { 0 };
	struct elf_file file;

	(void)build(&inner, two, ARRAY_SIZE(two));
	file = build_debugdata(&outer, &inner);
	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
	assert_int_equal(builder.contents, PILOTLIGHT_SYMBOL_HAS_DEBUGDATA);
	assert_int_equal(builder.losses[SYMBOL_LOSS_SYMBOLS], 0);

	outer.bytes[outer.shdrs + 3 * outer.shdr_bytes + 40] ^= 0x55;
	file = open_memory(&outer);
	assert_int_equal(gather(&lost, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(lost.contents, 0);
	assert_int_equal(lost.losses[SYMBOL_LOSS_SYMBOLS], 1);
}

/* A stub at TEXT + 0x10, of 16 bytes, to the function at index 1. */
static struct elf_file build_plt(struct fixture *fixture, uint64_t function_name)
{
	static const char names[] = "\0_Z3foov";
	static const uint8_t code[32] = { [16] = 0xff, 0x25, 0x0a };
	struct fixture out = { 0 };
	uint8_t relocation[sizeof(Elf64_Rela)];
	uint8_t symbols[2 * sizeof(Elf64_Sym)];

	fixture_put_symbol(&out, 0, &(struct fixture_symbol){ 0 });
	fixture_put_symbol(
		&out, (uint32_t)function_name, &(struct fixture_symbol){ .info = GLOBAL });
	memcpy(symbols, out.bytes, sizeof(symbols));
	out.size = 0;
	/* The slot is 10 bytes behind the jump. */
	fixture_put(&out, TEXT + 0x10 + 6 + 10, 8);
	fixture_put(&out, UINT64_C(1) << 32 | R_X86_64_JUMP_SLOT, 8);
	fixture_put(&out, 0, 8);
	memcpy(relocation, out.bytes, sizeof(relocation));

	const struct fixture_section sections[] = {
		{ ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, sizeof(code), 0, 16,
			16, false },
		{ ".rela.plt", SHT_RELA, SHF_ALLOC, 0, relocation, sizeof(relocation), 3,
			sizeof(Elf64_Rela), 8, false },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0, symbols, sizeof(symbols), 4,
			sizeof(Elf64_Sym), 8, false },
		{ ".dynstr", SHT_STRTAB, SHF_ALLOC, 0, names, sizeof(names), 0, 0, 1, false },
	};
	fixture_build_sections(fixture, sections, ARRAY_SIZE(sections));
	return open_memory(fixture);
}

static void stubs_are_named_after_their_targets(void **state)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code, none = all_code;
	struct fixture fixture = { 0 };
	struct elf_file file = build_plt(&fixture, 1);

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(builder.count, 2);
	assert_int_equal(builder.symbols[1].start, TEXT + 0x10);
	assert_int_equal(builder.symbols[1].end, TEXT + 0x20);
	assert_string_equal(builder.symbols[1].name, "foo()@plt");
	assert_int_equal(builder.contents, PILOTLIGHT_SYMBOL_HAS_PLT);
	/* A name outside of the strings. */
	file = build_plt(&fixture, 999);
	assert_int_equal(gather(&none, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(none.count, 1);
	assert_string_equal(none.symbols[0].name, ".plt");
	assert_int_equal(none.contents, 0);
}

static void the_rest_of_the_plt_is_named_plt(void **state)
{
	static const struct expectation expectations[] = { { TEXT - 1, NULL }, { TEXT, ".plt" },
		{ TEXT + 0xf, ".plt" }, { TEXT + 0x10, "foo()@plt" }, { TEXT + 0x1f, "foo()@plt" },
		{ TEXT + 0x20, NULL } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code, none = all_code;
	struct fixture fixture = { 0 }, same = { 0 };
	struct elf_file files[2] = { build_plt(&fixture, 1), build_plt(&same, 1) };

	/* A debug file has the table's header, too. */
	assert_int_equal(gather(&builder, files, 2, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
	assert_int_equal(builder.count, 2);
	/* Where the section is no code. */
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_flags), SHF_ALLOC, 8);
	assert_int_equal(gather(&none, &files[0], 1, SCRATCH_BYTES), 0);
	assert_int_equal(none.count, 1);
	assert_string_equal(none.symbols[0].name, "foo()@plt");
}

static void a_stub_at_the_start_of_the_plt_keeps_its_name(void **state)
{
	static const struct expectation expectations[] = { { TEXT + 0x10, "foo()@plt" },
		{ TEXT + 0x1f, "foo()@plt" } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture fixture = { 0 };
	struct elf_file file = build_plt(&fixture, 1);

	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_addr), TEXT + 0x10, 8);
	/* Contents begin behind the headers of the four sections, the names and none. */
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_offset),
		fixture.shdrs + 6 * fixture.shdr_bytes + 0x10, 8);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_size), 0x10, 8);
	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
	assert_int_equal(builder.count, 1);
}

static void functions_precede_stubs(void **state)
{
	static const struct fixture_symbol known[] = { { "known", TEXT + 0x18, 8, LOCAL,
		FIXTURE_TEXT } };
	static const struct expectation expectations[] = { { TEXT + 0x10, "foo()@plt" },
		{ TEXT + 0x17, "foo()@plt" }, { TEXT + 0x18, "known" } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture fixture = { 0 }, debug = { 0 };
	struct elf_file files[2] = { build_plt(&fixture, 1),
		build(&debug, known, ARRAY_SIZE(known)) };

	assert_int_equal(gather(&builder, files, 2, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
}

static void errors_of_builder_and_scratch_are_returned(void **state)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture inner = { 0 }, fixture = { 0 }, plt = { 0 };
	struct elf_file files[2];
	int r = -EFBIG;

	(void)build(&inner, two, ARRAY_SIZE(two));
	files[0] = build_debugdata(&fixture, &inner);
	files[1] = build_plt(&plt, 1);
	for (uint64_t chunks = 0; r < 0; chunks++) {
		_cleanup_(recorded_symbols_done) struct symbol_builder other = all_code;

		r = gather(&other, files, 2, chunks * 64 * 1024);
		if (r == 0)
			assert_int_equal(other.count, 4);
		else
			assert_int_equal(r, -EFBIG);
		assert_int_equal(other.losses[SYMBOL_LOSS_SYMBOLS], 0);
		assert_true(chunks < 100);
	}
	builder.symbols_max = 1;
	assert_int_equal(gather(&builder, files, 2, SCRATCH_BYTES), -ENOSPC);
	assert_int_equal(builder.count, 1);
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture inner = { 0 }, fixture = { 0 }, plt = { 0 };
	struct elf_file files[2];
	size_t n;
	int r;

	(void)build(&inner, two, ARRAY_SIZE(two));
	files[0] = build_debugdata(&fixture, &inner);
	files[1] = build_plt(&plt, 1);
	for (n = 0;; n++) {
		_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;

		fail_allocation(n);
		r = gather(&builder, files, 2, SCRATCH_BYTES);
		if (!allocation_failed())
			break;
		/* Where memory is short a name stays mangled. */
		assert_true(r == -ENOMEM || (r == 0 && builder.count == 4));
	}
	assert_int_equal(r, 0);
	assert_true(n >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debugdata_is_read),
		cmocka_unit_test(stubs_are_named_after_their_targets),
		cmocka_unit_test(the_rest_of_the_plt_is_named_plt),
		cmocka_unit_test(a_stub_at_the_start_of_the_plt_keeps_its_name),
		cmocka_unit_test(functions_precede_stubs),
		cmocka_unit_test(errors_of_builder_and_scratch_are_returned),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/elf_symbols_fixture.h"
#include "tests/harness/counted_reads.h"

#include "base/array.h"
#include "extract/function_bounds.h"
#include "extract/symbol_table.h"

#include <errno.h>

static void assert_symbols(struct fixture *fixture, const struct fixture_symbol *symbols,
	size_t symbol_count, const struct expectation *expectations, size_t count)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct elf_file file = build(fixture, symbols, symbol_count);

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, count);
	assert_int_equal(builder.contents, PILOTLIGHT_SYMBOL_HAS_SYMTAB);
	assert_int_equal(builder.losses[SYMBOL_LOSS_SYMBOLS], 0);
	assert_int_equal(builder.losses[SYMBOL_LOSS_NAME], 0);
}

static void addresses_get_the_innermost_function(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "second", TEXT + 0x20, 0x10, LOCAL, FIXTURE_TEXT },
		{ "first", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "outer", TEXT + 0x100, 0x100, GLOBAL, FIXTURE_TEXT },
		{ "inner", TEXT + 0x140, 0x10, LOCAL, FIXTURE_TEXT },
		{ "chosen", TEXT + 0x300, 0x10, IFUNC, FIXTURE_TEXT },
		{ "far", TEXT_2, 0x10, GLOBAL, FIXTURE_TEXT_2 },
		{ "versioned@@LIB_2.0", TEXT + 0x400, 4, GLOBAL, FIXTURE_TEXT },
		{ "older@LIB_1.0", TEXT + 0x404, 4, GLOBAL, FIXTURE_TEXT },
		{ "@", TEXT + 0x408, 4, GLOBAL, FIXTURE_TEXT },
		{ "_ZN3foo3barEi", TEXT + 0x500, 4, GLOBAL, FIXTURE_TEXT },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", TEXT + 0x504, 4, LOCAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { 0, NULL }, { TEXT - 1, NULL },
		{ TEXT, "first" }, { TEXT + 0xf, "first" }, { TEXT + 0x10, NULL },
		{ TEXT + 0x1f, NULL }, { TEXT + 0x20, "second" }, { TEXT + 0x30, NULL },
		{ TEXT + 0x100, "outer" }, { TEXT + 0x13f, "outer" }, { TEXT + 0x140, "inner" },
		{ TEXT + 0x14f, "inner" }, { TEXT + 0x150, "outer" }, { TEXT + 0x1ff, "outer" },
		{ TEXT + 0x200, NULL }, { TEXT + 0x308, "chosen" }, { TEXT + 0x402, "versioned" },
		{ TEXT + 0x404, "older" }, { TEXT + 0x408, "@" }, { TEXT + 0x500, "_ZN3foo3barEi" },
		{ TEXT + 0x501, "_ZN3foo3barEi" },
		{ TEXT + 0x507, "_ZN4core3fmt5write17h0123456789abcdefE" }, { TEXT_2 + 0xf, "far" },
		{ TEXT_2 + 0x10, NULL }, { UINT32_MAX, NULL }, { UINT64_MAX, NULL } };

	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };

		assert_symbols(&fixture, symbols, ARRAY_SIZE(symbols), expectations,
			ARRAY_SIZE(expectations));
	}
}

static void the_best_of_several_names_is_shown(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "a_local", TEXT, 0x10, LOCAL, FIXTURE_TEXT },
		{ "a_global", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "a_weak", TEXT, 0x10, WEAK, FIXTURE_TEXT },
		{ "b", TEXT + 0x10, 0x10, LOCAL, FIXTURE_TEXT },
		{ "b_weak", TEXT + 0x10, 0x10, WEAK, FIXTURE_TEXT },
		{ "__c", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "_c_is_longer", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "___c", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "d_long", TEXT + 0x30, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "short", TEXT + 0x30, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "e_b", TEXT + 0x40, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "e_a", TEXT + 0x40, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "e_c", TEXT + 0x40, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "label", TEXT + 0x50, 0x10, LABEL, FIXTURE_TEXT },
		{ "local_function", TEXT + 0x50, 0x10, LOCAL, FIXTURE_TEXT },
		{ "f_version@@LONG_VERSION", TEXT + 0x60, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "f_version_x", TEXT + 0x60, 0x10, GLOBAL, FIXTURE_TEXT },
		/* The better one is shorter than the other. */
		{ "g_local", TEXT + 0x70, 0x10, LOCAL, FIXTURE_TEXT },
		{ "g", TEXT + 0x70, 0x8, GLOBAL, FIXTURE_TEXT },
		{ "@VERSION", TEXT + 0x80, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "__", TEXT + 0x80, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "..@5.loop", TEXT + 0x90, 0x10, GLOBAL, FIXTURE_TEXT },
		{ ".LTHUNK1", TEXT + 0xa0, 0x10, LOCAL, FIXTURE_TEXT },
		{ "__a_name_that_is_longer", TEXT + 0xa0, 0x10, LOCAL, FIXTURE_TEXT },
		{ ".LTHUNK2", TEXT + 0xb0, 0x10, LOCAL, FIXTURE_TEXT },
		{ ".LTHUNK10", TEXT + 0xb0, 0x10, LOCAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT + 1, "a_global" },
		{ TEXT + 0x11, "b_weak" }, { TEXT + 0x21, "_c_is_longer" },
		{ TEXT + 0x31, "short" }, { TEXT + 0x41, "e_a" }, { TEXT + 0x51, "local_function" },
		{ TEXT + 0x61, "f_version" }, { TEXT + 0x71, "g" }, { TEXT + 0x79, "g_local" },
		{ TEXT + 0x81, "@VERSION" }, { TEXT + 0x91, "..@5.loop" },
		{ TEXT + 0xa1, "__a_name_that_is_longer" }, { TEXT + 0xb1, ".LTHUNK2" } };
	struct fixture_symbol reversed[ARRAY_SIZE(symbols)];
	struct fixture fixture = { 0 };

	assert_symbols(
		&fixture, symbols, ARRAY_SIZE(symbols), expectations, ARRAY_SIZE(expectations));
	/* Whatever their order in the file. */
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		reversed[i] = symbols[ARRAY_SIZE(symbols) - 1 - i];
	assert_symbols(
		&fixture, reversed, ARRAY_SIZE(symbols), expectations, ARRAY_SIZE(expectations));
}

static void symbols_without_a_size_reach_to_the_next(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "start", TEXT, 0, LABEL, FIXTURE_TEXT },
		{ "sized", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "within", TEXT + 0x28, 0, LOCAL_LABEL, FIXTURE_TEXT },
		{ "after", TEXT + 0x40, 0, GLOBAL, FIXTURE_TEXT },
		{ "last", TEXT + 0xff0, 0, LABEL, FIXTURE_TEXT },
		{ "known", TEXT + 0x60, 4, LOCAL, FIXTURE_TEXT },
		{ "unknown", TEXT + 0x60, 0, GLOBAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT, "start" },
		{ TEXT + 0x1f, "start" }, { TEXT + 0x20, "sized" }, { TEXT + 0x28, "sized" },
		{ TEXT + 0x2f, "sized" },
		/* Neither beyond what is known to end, nor after what was within it. */
		{ TEXT + 0x30, NULL }, { TEXT + 0x3f, NULL }, { TEXT + 0x40, "after" },
		{ TEXT + 0x5f, "after" }, { TEXT + 0x63, "known" }, { TEXT + 0x64, NULL },
		{ TEXT + 0xff1, "last" }, { TEXT + 0xfff, "last" },
		/* Nor into another section. */
		{ TEXT + 0x1000, NULL }, { TEXT_2, NULL } };
	struct fixture fixture = { 0 };

	assert_symbols(
		&fixture, symbols, ARRAY_SIZE(symbols), expectations, ARRAY_SIZE(expectations));
}

static void symbols_that_name_no_code_are_ignored(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "object", FIXTURE_DATA_VADDR, 0x10, OBJECT, FIXTURE_DATA },
		{ "undefined", TEXT, 0x10, GLOBAL, SHN_UNDEF },
		{ "absolute", TEXT, 0x10, GLOBAL, SHN_ABS },
		{ "elsewhere", TEXT, 0x10, GLOBAL, 99 },
		{ "", TEXT_2 + 0x20, 0x10, GLOBAL, FIXTURE_TEXT_2 },
		{ "before_its_section", TEXT - 8, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "behind_its_section", TEXT_2, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "not_in_memory", 0, 0x10000000, GLOBAL, FIXTURE_STRINGS },
		{ "data", FIXTURE_DATA_VADDR, 0x10, LABEL, FIXTURE_DATA },
		{ "endless", TEXT + 0x20, UINT64_MAX, GLOBAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { 1, NULL }, { TEXT, NULL },
		{ TEXT + 8, NULL }, { TEXT + 0x20, "endless" }, { TEXT + 0xfff, "endless" },
		{ TEXT + 0x1000, NULL }, { TEXT_2, NULL }, { TEXT_2 + 0x20, NULL },
		{ FIXTURE_DATA_VADDR, NULL } };
	struct fixture fixture = { 0 };

	assert_symbols(
		&fixture, symbols, ARRAY_SIZE(symbols), expectations, ARRAY_SIZE(expectations));
}

static void mapping_symbols_are_ignored(void **state)
{
	static const uint16_t machines[] = { EM_ARM, EM_AARCH64, EM_RISCV };
	static const struct fixture_symbol symbols[] = {
		{ "$x", TEXT, 0, LOCAL_LABEL, FIXTURE_TEXT },
		{ "label", TEXT + 0x10, 0, LOCAL_LABEL, FIXTURE_TEXT },
		{ "$d.12", TEXT + 0x18, 0, LOCAL_LABEL, FIXTURE_TEXT },
		{ "thumb", TEXT + 0x31, 0x10, GLOBAL, FIXTURE_TEXT },
	};
	const struct expectation expectations[] = { { TEXT, NULL }, { TEXT + 0x14, "label" },
		{ TEXT + 0x1c, "label" }, { TEXT + 0x31, "thumb" } };
	const struct expectation even = { TEXT + 0x30, "thumb" };
	const struct expectation others[] = { { TEXT, "$x" }, { TEXT + 0x1c, "$d.12" } };
	struct fixture fixture = { .is_narrow = true };

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		fixture.machine = machines[i];
		assert_symbols(&fixture, symbols, ARRAY_SIZE(symbols), expectations,
			ARRAY_SIZE(expectations));
	}
	fixture.machine = EM_ARM;
	assert_symbols(&fixture, symbols, ARRAY_SIZE(symbols), &even, 1);
	/* Elsewhere a dollar sign is like any letter. */
	fixture.machine = EM_386;
	assert_symbols(&fixture, symbols, ARRAY_SIZE(symbols), others, 2);
}

static void labels_do_not_cut_functions(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "function", TEXT + 0x10, 0x20, LOCAL, FIXTURE_TEXT },
		{ "label", TEXT + 0x18, 0, LABEL, FIXTURE_TEXT },
		{ "sized", TEXT + 0x18, 8, LABEL, FIXTURE_TEXT },
		{ "across", TEXT + 0x28, 0x10, LABEL, FIXTURE_TEXT },
		{ "around", TEXT, 0x100, LABEL, FIXTURE_TEXT },
		{ "within", TEXT + 0x80, 8, LABEL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT, "around" },
		{ TEXT + 0x10, "function" }, { TEXT + 0x18, "function" },
		{ TEXT + 0x28, "function" }, { TEXT + 0x2f, "function" }, { TEXT + 0x30, "across" },
		{ TEXT + 0x37, "across" }, { TEXT + 0x38, "around" }, { TEXT + 0x80, "within" },
		{ TEXT + 0x88, "around" }, { TEXT + 0xff, "around" }, { TEXT + 0x100, NULL } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture fixture = { 0 };
	struct elf_file file = build(&fixture, symbols, ARRAY_SIZE(symbols));

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
	/* Around, function, across, around, within, around. */
	assert_int_equal(builder.count, 6);
	/* Each name is told once, however many ranges it has. */
	assert_int_equal(builder.name_count, 4);
}

static void objects_name_code_that_no_function_has(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "frame_dummy", TEXT, 0, LOCAL, FIXTURE_TEXT },
		{ "object", TEXT + 0x10, 0, OBJECT, FIXTURE_TEXT },
		{ "sized", TEXT + 0x20, 0x10, OBJECT, FIXTURE_TEXT },
		{ "function", TEXT + 0x40, 0x10, LOCAL, FIXTURE_TEXT },
		{ "same_place", TEXT + 0x40, 0x20, OBJECT, FIXTURE_TEXT },
		{ "label", TEXT + 0x60, 0x10, LOCAL_LABEL, FIXTURE_TEXT },
		{ "same_label", TEXT + 0x60, 0x10, OBJECT, FIXTURE_TEXT },
		{ "local", TEXT + 0x70, 0, LOCAL, FIXTURE_TEXT },
		{ "same_guess", TEXT + 0x70, 0, OBJECT, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT + 0xf, "frame_dummy" },
		{ TEXT + 0x10, "object" }, { TEXT + 0x1f, "object" }, { TEXT + 0x20, "sized" },
		{ TEXT + 0x30, NULL }, { TEXT + 0x40, "function" }, { TEXT + 0x50, "same_place" },
		{ TEXT + 0x60, "label" }, { TEXT + 0x70, "local" } };
	struct fixture fixture = { 0 };

	assert_symbols(
		&fixture, symbols, ARRAY_SIZE(symbols), expectations, ARRAY_SIZE(expectations));
}

/*
 * The bounds of a segment at TEXT that is in the file from its start, with call frame information
 * of two functions, at 0x10 and 0x40.
 */
static struct function_bounds bounds_of(const uint8_t *code, size_t size)
{
	static struct unwind_function functions[] = { { .start = 0x10, .end = 0x20 },
		{ .start = 0x40, .end = 0x50 } };

	return (struct function_bounds){
		.files.binary = { .machine = EM_X86_64,
			.fd = -1,
			.memory = code,
			.size_bytes = size },
		.files.code = { .segments[0] = { .vaddr = TEXT, .file_bytes = size }, .count = 1 },
		.functions.functions = { .items = functions, .count = ARRAY_SIZE(functions) },
	};
}

static void gather_bounded(struct symbol_builder *builder, const struct elf_file *file,
	const struct function_bounds *bounds)
{
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct scratch scratch;

	scratch_init(&scratch, fd, SCRATCH_BYTES, 0);
	assert_int_equal(elf_symbols_new(builder, &scratch, &symbols), 0);
	assert_false(elf_symbols_need_bounds(symbols));
	assert_int_equal(elf_symbols_add_file(symbols, file), 0);
	assert_true(elf_symbols_need_bounds(symbols));
	assert_int_equal(elf_symbols_bound(symbols, bounds), 0);
	assert_int_equal(elf_symbols_finish(symbols), 0);
}

static void bounds_end_symbols_without_a_size(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "before", TEXT, 0, GLOBAL, FIXTURE_TEXT },
		{ "first", TEXT + 0x10, 0, LABEL, FIXTURE_TEXT },
		{ "between", TEXT + 0x30, 0, GLOBAL, FIXTURE_TEXT },
		{ "within", TEXT + 0x44, 0, GLOBAL, FIXTURE_TEXT },
		{ "sized", TEXT + 0x60, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "behind", TEXT + 0x80, 0, GLOBAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT + 0xf, "before" },
		{ TEXT + 0x1f, "first" }, { TEXT + 0x20, NULL }, { TEXT + 0x3f, "between" },
		{ TEXT + 0x40, NULL }, { TEXT + 0x4f, "within" }, { TEXT + 0x50, NULL },
		{ TEXT + 0x60, "sized" }, { TEXT + 0x80, "behind" }, { TEXT + 0xfff, "behind" } };
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	static const uint8_t code[0x1000];
	const struct function_bounds bounds = bounds_of(code, sizeof(code));
	struct fixture fixture = { 0 };
	struct elf_file file = build(&fixture, symbols, ARRAY_SIZE(symbols));

	gather_bounded(&builder, &file, &bounds);
	assert_names(&builder, expectations, ARRAY_SIZE(expectations));
}

/* Without a symbol table, the functions behind an exported one have no names. */
static void only_stripped_files_need_the_code(void **state)
{
	static const struct fixture_symbol symbols[] = { { "exported", TEXT + 0x100, 0, LABEL,
		FIXTURE_TEXT } };
	static const struct expectation stripped[] = { { TEXT + 0x10f, "exported" },
		{ TEXT + 0x110, NULL } };
	static const struct expectation whole[] = { { TEXT + 0x10f, "exported" },
		{ TEXT + 0x110, "exported" } };
	static const uint8_t code[0x1000] = { [0x10e] = 0xf3, 0xc3 };
	const struct function_bounds bounds = bounds_of(code, sizeof(code));

	for (int i = 0; i < 2; i++) {
		_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
		struct fixture fixture = { .table_type = i ? SHT_SYMTAB : SHT_DYNSYM };
		struct elf_file file = build(&fixture, symbols, ARRAY_SIZE(symbols));

		gather_bounded(&builder, &file, &bounds);
		assert_names(&builder, i ? whole : stripped, 2);
	}
}

/* Half of the symbols begin at one place, and half at the bytes behind it. */
static void the_code_is_read_once(void **state)
{
	enum { COUNT = 200, BYTES = 0x1000, BYTES_OF_SYMBOL = 32 };
	static struct fixture_symbol symbols[COUNT];
	static const uint8_t code[BYTES];
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	_cleanup_close_ int fd = memfd_create("code", MFD_CLOEXEC);
	struct function_bounds bounds = bounds_of(code, sizeof(code));
	struct fixture fixture = { .table_type = SHT_DYNSYM };
	struct elf_file file;

	for (uint64_t i = 0; i < COUNT; i++)
		symbols[i] = (struct fixture_symbol){ "a", TEXT + 0x80 + i / 2 * (i % 2), 0, GLOBAL,
			FIXTURE_TEXT };
	file = build(&fixture, symbols, COUNT);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	bounds.files.binary.memory = NULL;
	bounds.files.binary.fd = fd;
	counted_reads.bytes = 0;
	gather_bounded(&builder, &file, &bounds);
	assert_in_range(counted_reads.bytes, 1, BYTES + COUNT * BYTES_OF_SYMBOL);
	assert_non_null(recorded_symbols_find(&builder, TEXT + BYTES - 1));
}

static void guessed_ends_are_marked(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "guess", TEXT, 0, GLOBAL, FIXTURE_TEXT },
		{ "sized", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
	};
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture fixture = { 0 };
	struct elf_file file = build(&fixture, symbols, ARRAY_SIZE(symbols));

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(builder.count, 2);
	assert_true(builder.symbols[0].is_guess);
	assert_int_equal(builder.symbols[0].end, TEXT + 0x20);
	assert_false(builder.symbols[1].is_guess);
}

static void symbols_outside_the_code_are_ignored(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "inside", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "outside", TEXT_2, 0x10, GLOBAL, FIXTURE_TEXT_2 },
	};
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = { .code_start = TEXT,
		.code_end = TEXT_2 };
	struct fixture fixture = { 0 };
	struct elf_file file = build(&fixture, symbols, ARRAY_SIZE(symbols));

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(builder.count, 1);
	assert_string_equal(builder.symbols[0].name, "inside");
}

static void tables_of_all_files_are_pooled(void **state)
{
	static const struct fixture_symbol dynamic[] = {
		{ "both", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "exported", TEXT + 0x10, 0x10, WEAK, FIXTURE_TEXT },
		{ "worse", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
	};
	static const struct fixture_symbol whole[] = {
		{ "both@VERSION", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "hidden", TEXT + 0x10, 0x10, LOCAL, FIXTURE_TEXT },
		{ "best", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "local", TEXT + 0x30, 0x10, LOCAL, FIXTURE_TEXT },
	};
	static const struct expectation expectations[] = { { TEXT, "both" },
		{ TEXT + 0x10, "exported" }, { TEXT + 0x20, "best" }, { TEXT + 0x30, "local" } };
	struct fixture binary = { .table_type = SHT_DYNSYM }, debug = { 0 };
	struct elf_file files[2], reversed[2];

	files[0] = build(&binary, dynamic, ARRAY_SIZE(dynamic));
	files[1] = build(&debug, whole, ARRAY_SIZE(whole));
	reversed[0] = files[1];
	reversed[1] = files[0];
	for (int i = 0; i < 2; i++) {
		_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;

		assert_int_equal(gather(&builder, i ? reversed : files, 2, SCRATCH_BYTES), 0);
		assert_names(&builder, expectations, ARRAY_SIZE(expectations));
		assert_int_equal(builder.count, 4);
		assert_int_equal(builder.contents,
			PILOTLIGHT_SYMBOL_HAS_SYMTAB | PILOTLIGHT_SYMBOL_HAS_DYNSYM);
	}
}

static const struct fixture_symbol one[] = { { "one", TEXT, 0x10, GLOBAL, FIXTURE_TEXT } };
static void a_malformed_table_costs_nothing_else(void **state)
{
	static const struct {
		size_t section, field;
		uint64_t value;
		size_t bytes;
	} damages[] = {
		{ FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_link), 99, 4 },
		{ FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_entsize), 1, 8 },
		{ FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_size), UINT64_MAX / 24 * 24, 8 },
		{ FIXTURE_STRINGS, offsetof(Elf64_Shdr, sh_type), SHT_PROGBITS, 4 },
	};
	static const struct expectation expectations[] = { { TEXT, NULL }, { TEXT + 0x20, "two" } };

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
		struct fixture damaged = { 0 }, good = { .table_type = SHT_DYNSYM };
		struct elf_file files[2];

		(void)build(&damaged, one, ARRAY_SIZE(one));
		fixture_patch(&damaged,
			damaged.shdrs + damages[i].section * damaged.shdr_bytes + damages[i].field,
			damages[i].value, damages[i].bytes);
		files[0] = open_memory(&damaged);
		files[1] = build(&good, two, ARRAY_SIZE(two));
		assert_int_equal(gather(&builder, files, 2, SCRATCH_BYTES), 0);
		assert_names(&builder, expectations, ARRAY_SIZE(expectations));
		assert_int_equal(builder.losses[SYMBOL_LOSS_SYMBOLS], 1);
		assert_int_equal(builder.contents, PILOTLIGHT_SYMBOL_HAS_DYNSYM);
	}
}

static void too_many_sections_cost_the_table(void **state)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	_cleanup_close_ int fd = -1;
	struct fixture fixture = { 0 };
	struct elf_file file;

	(void)build(&fixture, one, ARRAY_SIZE(one));
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shnum), 0, 2);
	fixture_patch(&fixture, fixture.shdrs + offsetof(Elf64_Shdr, sh_size), UINT32_MAX, 8);
	fd = fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, (off_t)UINT32_MAX * 64 + 4096), 0);
	assert_int_equal(elf_file_init(&file, fd), 0);
	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(builder.count, 0);
	assert_int_equal(builder.contents, 0);
	assert_true(builder.losses[SYMBOL_LOSS_SYMBOLS] > 0);
}

static void files_that_shrink_lose_names_or_tables(void **state)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	_cleanup_(recorded_symbols_done) struct symbol_builder empty = all_code;
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	_cleanup_close_ int fd = -1, scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	struct fixture fixture = { 0 };
	struct scratch scratch;
	struct elf_file file;

	(void)build(&fixture, two, ARRAY_SIZE(two));
	fd = fixture_fd(&fixture);
	assert_int_equal(elf_file_init(&file, fd), 0);
	scratch_init(&scratch, scratch_fd, SCRATCH_BYTES, 0);
	assert_int_equal(elf_symbols_new(&builder, &scratch, &symbols), 0);
	assert_int_equal(elf_symbols_add_file(symbols, &file), 0);
	/* Of the second name the end is missing. */
	assert_int_equal(ftruncate(fd, (off_t)fixture.size - 3), 0);
	assert_int_equal(elf_symbols_finish(symbols), 0);
	assert_int_equal(builder.losses[SYMBOL_LOSS_NAME], 1 + 1);
	assert_int_equal(builder.count, 0);

	assert_int_equal(gather(&empty, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(empty.count, 0);
	assert_int_equal(empty.losses[SYMBOL_LOSS_SYMBOLS], 1);
}

static void files_without_tables_have_no_symbols(void **state)
{
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = all_code;
	struct fixture fixture = { 0 };
	struct elf_file file = build(&fixture, NULL, 0);

	assert_int_equal(gather(&builder, &file, 1, SCRATCH_BYTES), 0);
	assert_int_equal(gather(&builder, NULL, 0, SCRATCH_BYTES), 0);
	assert_int_equal(builder.count, 0);
	assert_int_equal(builder.contents, 0);
	assert_int_equal(builder.losses[SYMBOL_LOSS_SYMBOLS], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_get_the_innermost_function),
		cmocka_unit_test(the_best_of_several_names_is_shown),
		cmocka_unit_test(symbols_without_a_size_reach_to_the_next),
		cmocka_unit_test(symbols_that_name_no_code_are_ignored),
		cmocka_unit_test(mapping_symbols_are_ignored),
		cmocka_unit_test(labels_do_not_cut_functions),
		cmocka_unit_test(objects_name_code_that_no_function_has),
		cmocka_unit_test(bounds_end_symbols_without_a_size),
		cmocka_unit_test(only_stripped_files_need_the_code),
		cmocka_unit_test(the_code_is_read_once),
		cmocka_unit_test(guessed_ends_are_marked),
		cmocka_unit_test(symbols_outside_the_code_are_ignored),
		cmocka_unit_test(tables_of_all_files_are_pooled),
		cmocka_unit_test(a_malformed_table_costs_nothing_else),
		cmocka_unit_test(too_many_sections_cost_the_table),
		cmocka_unit_test(files_that_shrink_lose_names_or_tables),
		cmocka_unit_test(files_without_tables_have_no_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_symbol_source.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	TEXT = FIXTURE_TEXT_VADDR,
	TEXT_2 = FIXTURE_TEXT_2_VADDR,
	GLOBAL = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	WEAK = ELF64_ST_INFO(STB_WEAK, STT_FUNC),
	LOCAL = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
	IFUNC = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
	LABEL = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
	LOCAL_LABEL = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
	OBJECT = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
};

static const uint8_t id_bytes[BUILD_ID_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20 };
static const uint8_t other_id_bytes[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };

/* What is asked, and the name that is expected; NULL: none. */
struct expectation {
	uint64_t vaddr;
	const char *name;
};

/* Looks all up in one batch. Returns what the lookup returned. */
static int look_up(
	const struct symbol_binary *binary, const struct expectation *expectations, size_t count)
{
	struct symbol_request requests[64];
	struct symbol_source *source;
	struct string_pool strings;
	struct symbol_batch batch = {
		.requests = requests, .request_count = count, .strings = &strings
	};
	int r;

	assert_true(count <= 64);
	for (size_t i = 0; i < count; i++)
		requests[i] = (struct symbol_request){ .vaddr = expectations[i].vaddr,
			.frame_count = 77 };
	assert_int_equal(string_pool_init(&strings, 1 << 20), 0);
	assert_int_equal(elf_symbol_source_new(&source), 0);
	r = source->lookup(source, binary, &batch);
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct symbol_frame *frame = &batch.frames[requests[i].first_frame];

		if (!expectations[i].name) {
			assert_int_equal(requests[i].frame_count, 0);
			continue;
		}
		assert_int_equal(requests[i].frame_count, 1);
		assert_in_range(requests[i].first_frame, 0, batch.frame_count - 1);
		assert_string_equal(
			string_pool_get(&strings, frame->function), expectations[i].name);
		assert_int_equal(frame->file, 0);
		assert_int_equal(frame->line, 0);
		assert_int_equal(frame->column, 0);
	}
	symbol_source_free(source);
	symbol_batch_done(&batch);
	string_pool_done(&strings);
	return r;
}

static int look_up_symbols(struct fixture *fixture, const struct fixture_symbol *symbols,
	size_t symbol_count, const struct expectation *expectations, size_t count)
{
	_cleanup_close_ int fd = -1;
	struct symbol_binary binary = { .path = "fixture", .debug_fd = -1 };

	fixture->symbols = symbols;
	fixture->symbol_count = symbol_count;
	fixture_build(fixture);
	fd = fixture_fd(fixture);
	assert_true(fd >= 0);
	binary.fd = fd;
	return look_up(&binary, expectations, count);
}

static void addresses_get_the_function_that_contains_them(void **state)
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
		{ TEXT + 0x404, "older" }, { TEXT + 0x408, "@" }, { TEXT + 0x500, "foo::bar(int)" },
		{ TEXT + 0x501, "foo::bar(int)" }, { TEXT + 0x507, "core::fmt::write" },
		{ TEXT_2 + 0xf, "far" }, { TEXT_2 + 0x10, NULL }, { UINT32_MAX, NULL },
		{ UINT64_MAX, NULL } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };

		assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols),
					 expectations, ARRAY_SIZE(expectations)),
			0);
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
	};
	static const struct expectation expectations[] = { { TEXT + 1, "a_global" },
		{ TEXT + 0x11, "b_weak" }, { TEXT + 0x21, "_c_is_longer" },
		{ TEXT + 0x31, "short" }, { TEXT + 0x41, "e_a" }, { TEXT + 0x51, "local_function" },
		{ TEXT + 0x61, "f_version" }, { TEXT + 0x71, "g" }, { TEXT + 0x79, "g_local" } };
	struct fixture_symbol reversed[ARRAY_SIZE(symbols)];
	struct fixture fixture = { 0 };

	(void)state;
	assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols), expectations,
				 ARRAY_SIZE(expectations)),
		0);
	/* Whatever their order in the file. */
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		reversed[i] = symbols[ARRAY_SIZE(symbols) - 1 - i];
	assert_int_equal(look_up_symbols(&fixture, reversed, ARRAY_SIZE(symbols), expectations,
				 ARRAY_SIZE(expectations)),
		0);
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

	(void)state;
	assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols), expectations,
				 ARRAY_SIZE(expectations)),
		0);
}

static void what_names_no_code_is_passed_over(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "object", TEXT, 0x10, OBJECT, FIXTURE_TEXT },
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

	(void)state;
	assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols), expectations,
				 ARRAY_SIZE(expectations)),
		0);
}

static void marks_of_arm_and_riscv_are_no_names(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		fixture.machine = machines[i];
		assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols),
					 expectations, ARRAY_SIZE(expectations)),
			0);
	}
	fixture.machine = EM_ARM;
	assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols), &even, 1), 0);
	/* Elsewhere a dollar sign is like any letter. */
	fixture.machine = EM_386;
	assert_int_equal(look_up_symbols(&fixture, symbols, ARRAY_SIZE(symbols), others, 2), 0);
}

static int fixture_file(const char *name, const uint8_t *build_id, uint32_t build_id_bytes,
	uint32_t table_type, size_t damage_link)
{
	const struct fixture_symbol symbol = { name, TEXT, 0x10, GLOBAL, FIXTURE_TEXT };
	struct fixture fixture = { .symbols = &symbol,
		.symbol_count = name ? 1 : 0,
		.build_id = build_id,
		.build_id_bytes = build_id_bytes,
		.table_type = table_type };
	int fd;

	fixture_build(&fixture);
	if (damage_link)
		fixture_patch(&fixture,
			fixture.shdrs + FIXTURE_SYMBOLS * fixture.shdr_bytes +
				offsetof(Elf64_Shdr, sh_link),
			damage_link, 4);
	fd = fixture_fd(&fixture);
	assert_true(fd >= 0);
	return fd;
}

static void a_debug_file_is_believed_if_it_is_the_binarys(void **state)
{
	_cleanup_close_ int stripped = fixture_file("exported", id_bytes, 20, SHT_DYNSYM, 0);
	_cleanup_close_ int whole = fixture_file("own", id_bytes, 20, SHT_SYMTAB, 0);
	_cleanup_close_ int debug = fixture_file("debug", id_bytes, 20, SHT_SYMTAB, 0);
	_cleanup_close_ int debug_8 = fixture_file("debug", other_id_bytes, 8, SHT_SYMTAB, 0);
	_cleanup_close_ int damaged = fixture_file("debug", id_bytes, 20, SHT_SYMTAB, 99);
	_cleanup_close_ int anonymous = fixture_file("debug", NULL, 0, SHT_SYMTAB, 0);
	struct build_id none = { 0 }, id, id_8, padded;
	const struct {
		const struct build_id *id;
		int fd, debug_fd;
		const char *name;
	} cases[] = {
		{ &id, stripped, debug, "debug" },
		{ &id, whole, debug, "debug" },
		{ &id, -1, debug, "debug" },
		{ &id, whole, -1, "own" },
		{ &id, stripped, -1, "exported" },
		/* Another binary's, or of no binary that is known. */
		{ &id, stripped, debug_8, "exported" },
		{ &id, stripped, anonymous, "exported" },
		{ &none, stripped, anonymous, "exported" },
		{ &none, stripped, debug, "exported" },
		/* Of the right binary, but without use. */
		{ &id, whole, damaged, "own" },
		{ &id, whole, stripped, "own" },
		{ &id_8, stripped, debug_8, "debug" },
		{ &padded, stripped, debug_8, "debug" },
	};

	(void)state;
	assert_int_equal(build_id_set(&id, id_bytes, 20), 0);
	assert_int_equal(build_id_set(&id_8, other_id_bytes, 8), 0);
	/* As the kernel reports it. */
	build_id_set_padded(&padded, id_8.bytes);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct symbol_binary binary = { .build_id = *cases[i].id,
			.path = "fixture",
			.fd = cases[i].fd,
			.debug_fd = cases[i].debug_fd };
		const struct expectation expectation = { TEXT + 1, cases[i].name };

		assert_int_equal(look_up(&binary, &expectation, 1), 0);
	}
}

static void errors_are_told(void **state)
{
	_cleanup_close_ int empty = fixture_file(NULL, NULL, 0, SHT_SYMTAB, 0);
	_cleanup_close_ int damaged = fixture_file("f", NULL, 0, SHT_SYMTAB, 99);
	_cleanup_close_ int damaged_dynamic = fixture_file("f", NULL, 0, SHT_DYNSYM, 99);
	_cleanup_close_ int text = fixture_bytes_fd("#!/bin/sh\n", 10);
	_cleanup_close_ int write_only = open("/dev/null", O_WRONLY);
	const struct {
		int fd, error;
	} cases[] = { { -1, -ENODATA }, { empty, -ENODATA }, { damaged, -ENOEXEC },
		{ damaged_dynamic, -ENOEXEC }, { text, -ENOEXEC }, { write_only, -ENOEXEC } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct symbol_binary binary = {
			.path = "fixture", .fd = cases[i].fd, .debug_fd = -1
		};
		const struct expectation expectation = { TEXT, NULL };

		assert_int_equal(look_up(&binary, &expectation, 1), cases[i].error);
		/* Without a question too. */
		assert_int_equal(look_up(&binary, NULL, 0), cases[i].error);
	}
}

static void a_file_beyond_the_bounds_is_too_big(void **state)
{
	struct fixture fixture = { 0 };
	const struct expectation expectation = { TEXT, NULL };
	struct symbol_binary binary = { .path = "fixture", .debug_fd = -1 };
	_cleanup_close_ int fd = -1;

	(void)state;
	fixture_build(&fixture);
	/* The number of sections is in the first one. */
	fixture_patch(&fixture, 60, 0, 2);
	fixture_patch(&fixture, fixture.shdrs + offsetof(Elf64_Shdr, sh_size), 1 << 17, 8);
	fd = fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, 16 << 20), 0);
	binary.fd = fd;
	assert_int_equal(look_up(&binary, &expectation, 1), -EFBIG);
}

/* Runs one lookup of two functions and checks that it did all or nothing. */
static int look_up_twice_named(size_t limit_bytes, struct symbol_binary *binary)
{
	struct symbol_request requests[] = { { .vaddr = TEXT }, { .vaddr = TEXT + 0x20 } };
	struct symbol_source *source = NULL;
	struct string_pool strings;
	struct symbol_batch batch = {
		.requests = requests, .request_count = 2, .strings = &strings
	};
	int r;

	r = string_pool_init(&strings, limit_bytes);
	if (r < 0)
		return r;
	r = elf_symbol_source_new(&source);
	if (r == 0)
		r = source->lookup(source, binary, &batch);
	assert_int_equal(batch.frame_count, r == 0 ? 2 : 0);
	assert_int_equal(requests[0].frame_count, r == 0);
	assert_int_equal(requests[1].frame_count, r == 0);
	symbol_source_free(source);
	symbol_batch_done(&batch);
	string_pool_done(&strings);
	return r;
}

static void failures_leave_the_batch_as_it_was(void **state)
{
	static const struct fixture_symbol symbols[] = {
		{ "first", TEXT, 0x10, GLOBAL, FIXTURE_TEXT },
		{ "_Z6secondv", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
	};
	struct fixture fixture = { .symbols = symbols, .symbol_count = 2 };
	_cleanup_close_ int fd = -1;
	struct symbol_binary binary = { .path = "fixture", .debug_fd = -1 };
	size_t n;
	int r;

	(void)state;
	fixture_build(&fixture);
	fd = fixture_fd(&fixture);
	binary.fd = fd;
	assert_int_equal(look_up_twice_named(16, &binary), 0);
	assert_int_equal(look_up_twice_named(10, &binary), -E2BIG);
	for (n = 0;; n++) {
		fail_allocation(n);
		r = look_up_twice_named(4096, &binary);
		if (!allocation_failed())
			break;
		/* The demangled name's memory is not needed: the mangled name remains. */
		assert_true(r == -ENOMEM || r == 0);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 8);
}

static void a_second_batch_follows_the_first(void **state)
{
	_cleanup_close_ int fd = fixture_file("function", NULL, 0, SHT_SYMTAB, 0);
	const struct symbol_binary binary = { .path = "fixture", .fd = fd, .debug_fd = -1 };
	struct symbol_request requests[] = { { .vaddr = TEXT }, { .vaddr = TEXT + 1 } };
	struct symbol_source *source;
	struct string_pool strings;
	struct symbol_batch batch = {
		.requests = requests, .request_count = 2, .strings = &strings
	};

	(void)state;
	assert_int_equal(string_pool_init(&strings, 4096), 0);
	assert_int_equal(elf_symbol_source_new(&source), 0);
	assert_int_equal(source->lookup(source, &binary, &batch), 0);
	assert_int_equal(source->lookup(source, &binary, &batch), 0);
	assert_int_equal(batch.frame_count, 4);
	assert_int_equal(requests[1].first_frame, 3);
	/* One name, once in the pool. */
	assert_int_equal(strings.count, 2);
	/* More than a million at once. */
	batch.request_count = (1 << 20) + 1;
	assert_int_equal(source->lookup(source, &binary, &batch), -EFBIG);
	symbol_source_free(source);
	symbol_batch_done(&batch);
	string_pool_done(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_get_the_function_that_contains_them),
		cmocka_unit_test(the_best_of_several_names_is_shown),
		cmocka_unit_test(symbols_without_a_size_reach_to_the_next),
		cmocka_unit_test(what_names_no_code_is_passed_over),
		cmocka_unit_test(marks_of_arm_and_riscv_are_no_names),
		cmocka_unit_test(a_debug_file_is_believed_if_it_is_the_binarys),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(a_file_beyond_the_bounds_is_too_big),
		cmocka_unit_test(failures_leave_the_batch_as_it_was),
		cmocka_unit_test(a_second_batch_follows_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathers the symbols of fixture files into a builder that records them. */
#pragma once

#include "extract/elf_symbols.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/extract/recorded_symbols.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
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
	SCRATCH_BYTES = 512 << 20,
};

static const struct symbol_builder all_code = { .code_end = UINT64_MAX };

/* An address, and the name that is expected there; NULL: none. */
struct expectation {
	uint64_t vaddr;
	const char *name;
};

static inline void assert_names(
	const struct symbol_builder *builder, const struct expectation *expectations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct recorded_symbol *symbol =
			recorded_symbols_find(builder, expectations[i].vaddr);

		if (!expectations[i].name) {
			assert_null(symbol);
			continue;
		}
		assert_non_null(symbol);
		assert_string_equal(symbol->name, expectations[i].name);
	}
}

/* Gives the builder the symbols of the files, in their order. */
static inline int gather(struct symbol_builder *builder, const struct elf_file *files, size_t count,
	uint64_t limit_bytes)
{
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct scratch scratch;
	int r;

	scratch_init(&scratch, fd, limit_bytes, 0);
	r = elf_symbols_new(builder, &scratch, &symbols);
	for (size_t i = 0; i < count && r == 0; i++)
		r = elf_symbols_add_file(symbols, &files[i]);
	return r < 0 ? r : elf_symbols_finish(symbols);
}

static inline struct elf_file open_memory(const struct fixture *fixture)
{
	struct elf_file file;

	assert_int_equal(elf_file_init_memory(&file, fixture->bytes, fixture->size), 0);
	return file;
}

static inline struct elf_file build(
	struct fixture *fixture, const struct fixture_symbol *symbols, size_t count)
{
	fixture->symbols = symbols;
	fixture->symbol_count = count;
	fixture_build(fixture);
	return open_memory(fixture);
}

static const struct fixture_symbol two[] = {
	{ "two", TEXT + 0x20, 0x10, GLOBAL, FIXTURE_TEXT },
	{ "_Z5threev", TEXT + 0x30, 0x10, GLOBAL, FIXTURE_TEXT },
};

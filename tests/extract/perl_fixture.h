/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small programs that look like Perl to whoever describes it, of a version by choice, with threads.
 *
 *	static struct perl_fixture perl;
 *
 *	perl_fixture_init(&perl, 36, 0);
 *	fd = perl_fixture_fd(&perl);
 */
#pragma once

#include "tests/extract/elf_fixture.h"

enum {
	PERL_FIXTURE_BYTES = 0x1000,
	PERL_FIXTURE_SECTIONS = 7,
	PERL_FIXTURE_SYMBOLS = 14, /* the first is none */
	/* File offsets. */
	PERL_FIXTURE_SECTION_NAMES = 0x300,
	PERL_FIXTURE_NAMES = 0x380,
	PERL_FIXTURE_DYNSYM = 0x480,
	PERL_FIXTURE_EH_FRAME_HDR = 0x600,
	PERL_FIXTURE_DYNAMIC = 0x680,
	PERL_FIXTURE_LOOP = 0x800,
	PERL_FIXTURE_LOOP_BYTES = 0x40,
	PERL_FIXTURE_MAIN = 0x840,
	PERL_FIXTURE_MAIN_BYTES = 0x30,
	PERL_FIXTURE_STATEMENT = 0x880,
	PERL_FIXTURE_TRY = 0x900,
	PERL_FIXTURE_SCOPE = 0xa00, /* what an eval calls, too */
	PERL_FIXTURE_CATCH = 0xa40,
	PERL_FIXTURE_CATCH_BYTES = 0x60,
	PERL_FIXTURE_NUMBERS = 0xc00, /* of the version */
	PERL_FIXTURE_KEY = 0xc10,
	PERL_FIXTURE_VARIABLES = 0xc20,
	PERL_FIXTURE_FUNCTIONS = 0xd00, /* of operations */
	PERL_FIXTURE_OPERATIONS = 0xd40,
	PERL_FIXTURE_TEXTS = 0xd80,
	PERL_FIXTURE_STATEMENT_AT = 0xd0,
	/* Numbers of symbols. */
	PERL_SYMBOL_REVISION = 1,
	PERL_SYMBOL_VERSION,
	PERL_SYMBOL_SUBVERSION,
	PERL_SYMBOL_LOOP,
	PERL_SYMBOL_MAIN,
	PERL_SYMBOL_FUNCTIONS,
	PERL_SYMBOL_OPERATIONS,
	PERL_SYMBOL_KEY,
	PERL_SYMBOL_OP,
	PERL_SYMBOL_CURCOP,
	PERL_SYMBOL_CURSTACKINFO,
	PERL_SYMBOL_STATEMENT,
	PERL_SYMBOL_TRY,
};

struct perl_fixture {
	uint8_t bytes[PERL_FIXTURE_BYTES];
};

static inline void perl_fixture_put(
	struct perl_fixture *perl, size_t at, const void *bytes, size_t size)
{
	elf_fixture_put(perl->bytes, sizeof(perl->bytes), at, bytes, size);
}

static inline Elf64_Sym *perl_fixture_symbol(struct perl_fixture *perl, size_t index)
{
	return (Elf64_Sym *)(void *)(perl->bytes + PERL_FIXTURE_DYNSYM) + index;
}

/* Returns where the next name goes. */
static inline uint32_t perl_fixture_add_symbols(struct perl_fixture *perl)
{
	static const struct {
		const char *name;
		uint32_t offset, bytes;
	} symbols[PERL_FIXTURE_SYMBOLS - 1] = {
		{ "PL_revision", PERL_FIXTURE_NUMBERS, 1 },
		{ "PL_version", PERL_FIXTURE_NUMBERS + 1, 1 },
		{ "PL_subversion", PERL_FIXTURE_NUMBERS + 2, 1 },
		{ "Perl_runops_standard", PERL_FIXTURE_LOOP, PERL_FIXTURE_LOOP_BYTES },
		{ "perl_run", PERL_FIXTURE_MAIN, PERL_FIXTURE_MAIN_BYTES },
		{ "PL_ppaddr", PERL_FIXTURE_FUNCTIONS, 0x18 },
		{ "PL_op_name", PERL_FIXTURE_OPERATIONS, 0x18 },
		{ "PL_thr_key", PERL_FIXTURE_KEY, 4 },
		{ "PL_op", PERL_FIXTURE_VARIABLES + 0x40, 8 },
		{ "PL_curcop", PERL_FIXTURE_VARIABLES, 8 },
		{ "PL_curstackinfo", PERL_FIXTURE_VARIABLES + 0x18, 8 },
		{ "Perl_pp_nextstate", PERL_FIXTURE_STATEMENT, 0x40 },
		{ "Perl_pp_entertry", PERL_FIXTURE_TRY, 0x40 },
	};
	uint32_t name = 1;

	for (size_t i = 0; i < PERL_FIXTURE_SYMBOLS - 1; i++) {
		*perl_fixture_symbol(perl, i + 1) = (Elf64_Sym){
			.st_name = name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = i + 1 < PERL_SYMBOL_OP || i + 1 > PERL_SYMBOL_CURSTACKINFO
					    ? 1
					    : SHN_UNDEF,
			.st_value = ELF_FIXTURE_VADDR + symbols[i].offset,
			.st_size = symbols[i].bytes,
		};
		perl_fixture_put(perl, PERL_FIXTURE_NAMES + name, symbols[i].name,
			strlen(symbols[i].name) + 1);
		name += (uint32_t)strlen(symbols[i].name) + 1;
	}
	return name;
}

/* An eval calls one function, and goes on with one that calls the loop through a pointer. */
static inline void perl_fixture_add_code(struct perl_fixture *perl)
{
	/* mov 0xe0(%rdi),%rdx; mov 0x8(%rdi),%rax; mov %rax,0xd0(%rdi); ret */
	static const uint8_t statement[] = { 0x48, 0x8b, 0x97, 0xe0, 0, 0, 0, 0x48, 0x8b, 0x47, 8,
		0x48, 0x89, 0x87, 0xd0, 0, 0, 0, 0xc3 };
	/* jne .+1; call 0x400a00; ret; jmp 0x400a40 */
	static const uint8_t try[] = { 0x75, 6, 0xe8, 0xf9, 0, 0, 0, 0xc3, 0xe9, 0x33, 1, 0, 0 };
	static const uint8_t ret = 0xc3;
	/* call *0x8f0(%rdi); ret */
	static const uint8_t catch[] = { 0xff, 0x97, 0xf0, 8, 0, 0, 0xc3 };
	static const uint8_t kinds[] = { 1, 0x1b, 3, 0x3b };
	static const int32_t starts[] = { PERL_FIXTURE_STATEMENT, PERL_FIXTURE_TRY,
		PERL_FIXTURE_SCOPE, PERL_FIXTURE_CATCH,
		PERL_FIXTURE_CATCH + PERL_FIXTURE_CATCH_BYTES };
	const uint32_t count = sizeof(starts) / sizeof(starts[0]);
	size_t at = PERL_FIXTURE_EH_FRAME_HDR;

	perl_fixture_put(perl, PERL_FIXTURE_STATEMENT, statement, sizeof(statement));
	perl_fixture_put(perl, PERL_FIXTURE_TRY, try, sizeof(try));
	perl_fixture_put(perl, PERL_FIXTURE_SCOPE, &ret, 1);
	perl_fixture_put(perl, PERL_FIXTURE_CATCH, catch, sizeof(catch));
	perl_fixture_put(perl, at, kinds, sizeof(kinds));
	perl_fixture_put(perl, at + 8, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		int32_t distance = starts[i] - PERL_FIXTURE_EH_FRAME_HDR;

		perl_fixture_put(perl, at + 12 + 8 * i, &distance, sizeof(distance));
	}
}

/* The functions of operations, by their names. */
static inline void perl_fixture_add_operations(struct perl_fixture *perl)
{
	static const struct {
		const char *name;
		uint64_t function;
	} operations[] = { { "null", 0 }, { "nextstate", PERL_FIXTURE_STATEMENT },
		{ "entertry", PERL_FIXTURE_TRY } };

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		uint64_t text = ELF_FIXTURE_VADDR + PERL_FIXTURE_TEXTS + 16 * i;
		uint64_t function = ELF_FIXTURE_VADDR + operations[i].function;

		perl_fixture_put(perl, PERL_FIXTURE_OPERATIONS + 8 * i, &text, sizeof(text));
		perl_fixture_put(perl, PERL_FIXTURE_FUNCTIONS + 8 * i, &function, sizeof(function));
		perl_fixture_put(perl, PERL_FIXTURE_TEXTS + 16 * i, operations[i].name,
			strlen(operations[i].name) + 1);
	}
}

static inline void perl_fixture_init(struct perl_fixture *perl, uint8_t version, uint8_t subversion)
{
	static const struct elf_fixture_section sections[PERL_FIXTURE_SECTIONS] = {
		{ "", SHT_NULL, 0, 0, 0, 0 },
		{ ".rodata", SHT_PROGBITS, PERL_FIXTURE_NUMBERS, 0x10, 0, SHF_ALLOC },
		{ ".dynsym", SHT_DYNSYM, PERL_FIXTURE_DYNSYM,
			PERL_FIXTURE_SYMBOLS * sizeof(Elf64_Sym), sizeof(Elf64_Sym), 0 },
		{ ".dynstr", SHT_STRTAB, PERL_FIXTURE_NAMES,
			PERL_FIXTURE_DYNSYM - PERL_FIXTURE_NAMES, 0, 0 },
		{ ".eh_frame_hdr", SHT_PROGBITS, PERL_FIXTURE_EH_FRAME_HDR, 0x40, 0, SHF_ALLOC },
		{ ".dynamic", SHT_DYNAMIC, PERL_FIXTURE_DYNAMIC, 2 * sizeof(Elf64_Dyn),
			sizeof(Elf64_Dyn), SHF_ALLOC },
		{ ".shstrtab", SHT_STRTAB, PERL_FIXTURE_SECTION_NAMES, 0x80, 0, 0 },
	};
	static const char libc[] = "libc.so.6";
	const uint8_t numbers[] = { 5, version, subversion };
	Elf64_Dyn needed = { .d_tag = DT_NEEDED };
	uint32_t name;

	elf_fixture_init(perl->bytes, sizeof(perl->bytes), sections, PERL_FIXTURE_SECTIONS);
	name = perl_fixture_add_symbols(perl);
	perl_fixture_put(perl, PERL_FIXTURE_NAMES + name, libc, sizeof(libc));
	needed.d_un.d_val = name;
	perl_fixture_put(perl, PERL_FIXTURE_DYNAMIC, &needed, sizeof(needed));
	perl_fixture_add_code(perl);
	perl_fixture_add_operations(perl);
	perl_fixture_put(perl, PERL_FIXTURE_NUMBERS, numbers, sizeof(numbers));
}

/* Without threads, what surrounds the variables is the state. */
static inline void perl_fixture_leave_threads_out(struct perl_fixture *perl)
{
	perl_fixture_symbol(perl, PERL_SYMBOL_KEY)->st_shndx = SHN_UNDEF;
	for (size_t i = PERL_SYMBOL_OP; i <= PERL_SYMBOL_CURSTACKINFO; i++)
		perl_fixture_symbol(perl, i)->st_shndx = 1;
}

/* -1 on failure. */
static inline int perl_fixture_fd(const struct perl_fixture *perl)
{
	return elf_fixture_fd(perl->bytes, sizeof(perl->bytes));
}

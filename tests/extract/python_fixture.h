/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small programs that look like CPython to whoever describes it: the sections, symbols, functions
 * and data that a description is made from, of a version by choice.
 *
 *	static struct python_fixture python;
 *
 *	python_fixture_init(&python, 0x030b02f0);
 *	... changes ...
 *	fd = python_fixture_fd(&python);
 */
#pragma once

#include "pilotlight/runtime.h"
#include "tests/extract/elf_fixture.h"

#include <stdbool.h>

enum {
	PYTHON_FIXTURE_BYTES = 0x3000,
	PYTHON_FIXTURE_VADDR = ELF_FIXTURE_VADDR,
	PYTHON_FIXTURE_SECTIONS = 8,
	PYTHON_FIXTURE_SYMBOLS = 9, /* the first is none */
	/* File offsets. */
	PYTHON_FIXTURE_SECTION_NAMES = 0x300,
	PYTHON_FIXTURE_NAMES = 0x380,
	PYTHON_FIXTURE_SYMTAB = 0x440,
	PYTHON_FIXTURE_DYNAMIC = 0x520,
	PYTHON_FIXTURE_RELOCATIONS = 0x560,
	PYTHON_FIXTURE_TEXTS = 0x680,
	PYTHON_FIXTURE_TYPE = 0x700,
	PYTHON_FIXTURE_MEMBERS = 0x8c0,
	PYTHON_FIXTURE_VERSION = 0x9c0,
	PYTHON_FIXTURE_GIL_STATE = 0xa00,
	PYTHON_FIXTURE_LOOP = 0xa40,
	PYTHON_FIXTURE_LOOP_REST = 0xa80,    /* to 3.9 */
	PYTHON_FIXTURE_LOOP_BYTES = 0x40,    /* of each part */
	PYTHON_FIXTURE_EH_FRAME_HDR = 0xac0, /* to 3.9 */
	PYTHON_FIXTURE_RUNTIME = 0xb00,
	PYTHON_FIXTURE_EH_FRAME = 0xf00, /* empty, but for tests that fill it */
	PYTHON_FIXTURE_MEMBER_BYTES = 40,
};

struct python_fixture {
	uint8_t bytes[PYTHON_FIXTURE_BYTES];
	size_t names, texts, relocations;
	uint32_t member_count;
	bool is_relocated; /* pointers are in relocations, not in place */
};

static inline void python_fixture_put(
	struct python_fixture *python, size_t at, const void *bytes, size_t size)
{
	elf_fixture_put(python->bytes, sizeof(python->bytes), at, bytes, size);
}

static inline void python_fixture_put_word(struct python_fixture *python, size_t at, uint64_t word)
{
	python_fixture_put(python, at, &word, sizeof(word));
}

static inline Elf64_Shdr *python_fixture_section(struct python_fixture *python, size_t index)
{
	return elf_fixture_section(python->bytes, index);
}

static inline Elf64_Sym *python_fixture_symbol(struct python_fixture *python, size_t index)
{
	return (Elf64_Sym *)(void *)(python->bytes + PYTHON_FIXTURE_SYMTAB) + index;
}

/* Appends to the names of symbols and libraries. */
static inline uint32_t python_fixture_name(struct python_fixture *python, const char *name)
{
	size_t at = python->names;

	python_fixture_put(python, PYTHON_FIXTURE_NAMES + at, name, strlen(name) + 1);
	python->names += strlen(name) + 1;
	return (uint32_t)at;
}

static inline void python_fixture_point(struct python_fixture *python, size_t at, size_t to)
{
	const Elf64_Rela relocation = {
		.r_offset = PYTHON_FIXTURE_VADDR + at,
		.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		.r_addend = (Elf64_Sxword)(PYTHON_FIXTURE_VADDR + to),
	};

	if (!python->is_relocated) {
		python_fixture_put_word(python, at, PYTHON_FIXTURE_VADDR + to);
		return;
	}
	python_fixture_put(python,
		PYTHON_FIXTURE_RELOCATIONS + python->relocations++ * sizeof(relocation),
		&relocation, sizeof(relocation));
	python_fixture_section(python, 5)->sh_size += sizeof(relocation);
}

static inline void python_fixture_add_member(
	struct python_fixture *python, const char *name, uint64_t offset)
{
	size_t at = PYTHON_FIXTURE_MEMBERS +
		    python->member_count++ * (size_t)PYTHON_FIXTURE_MEMBER_BYTES;

	python_fixture_point(python, at, python->texts);
	python_fixture_put(python, python->texts, name, strlen(name) + 1);
	python->texts += strlen(name) + 1;
	python_fixture_put_word(python, at + 16, offset);
}

static inline void python_fixture_add_sections(struct python_fixture *python, uint32_t minor)
{
	const struct elf_fixture_section sections[PYTHON_FIXTURE_SECTIONS] = {
		{ "", SHT_NULL, 0, 0, 0, 0 },
		{ minor < 10 ? ".eh_frame_hdr" : ".PyRuntime", SHT_PROGBITS,
			minor < 10 ? PYTHON_FIXTURE_EH_FRAME_HDR : PYTHON_FIXTURE_RUNTIME,
			minor < 10 ? 0x40 : 0x400, 0, 0 },
		{ ".dynsym", SHT_DYNSYM, PYTHON_FIXTURE_SYMTAB,
			PYTHON_FIXTURE_SYMBOLS * sizeof(Elf64_Sym), sizeof(Elf64_Sym), 0 },
		{ ".dynstr", SHT_STRTAB, PYTHON_FIXTURE_NAMES,
			PYTHON_FIXTURE_SYMTAB - PYTHON_FIXTURE_NAMES, 0, 0 },
		{ ".dynamic", SHT_DYNAMIC, PYTHON_FIXTURE_DYNAMIC, 3 * sizeof(Elf64_Dyn), 0, 0 },
		{ ".rela.dyn", SHT_RELA, PYTHON_FIXTURE_RELOCATIONS, 0, sizeof(Elf64_Rela), 0 },
		{ minor < 15 ? ".eh_frame" : ".AsyncioDebug", SHT_PROGBITS, PYTHON_FIXTURE_EH_FRAME,
			0, 0, 0 },
		{ ".shstrtab", SHT_STRTAB, PYTHON_FIXTURE_SECTION_NAMES, 0x80, 0, 0 },
	};

	elf_fixture_init(python->bytes, sizeof(python->bytes), sections, PYTHON_FIXTURE_SECTIONS);
}

static inline void python_fixture_add_symbols(struct python_fixture *python)
{
	static const struct {
		const char *name;
		uint32_t offset, bytes;
	} symbols[PYTHON_FIXTURE_SYMBOLS - 1] = {
		{ "_PyRuntime", PYTHON_FIXTURE_RUNTIME, 0x400 },
		{ "PyCode_Type", PYTHON_FIXTURE_TYPE, 416 },
		{ "PyGILState_GetThisThreadState", PYTHON_FIXTURE_GIL_STATE, 64 },
		{ "Py_Version", PYTHON_FIXTURE_VERSION, 8 },
		{ "PyFrame_GetCode", PYTHON_FIXTURE_GIL_STATE, 64 },
		{ "_PyEval_EvalFrameDefault", PYTHON_FIXTURE_LOOP, PYTHON_FIXTURE_LOOP_BYTES },
	};
	const Elf64_Dyn needed = { .d_tag = DT_NEEDED,
		.d_un.d_val = python_fixture_name(python, "libc.so.6") };

	python_fixture_put(
		python, PYTHON_FIXTURE_DYNAMIC + sizeof(needed), &needed, sizeof(needed));
	((Elf64_Dyn *)(void *)(python->bytes + PYTHON_FIXTURE_DYNAMIC))->d_tag = DT_SONAME;
	for (size_t i = 0; i < PYTHON_FIXTURE_SYMBOLS - 1 && symbols[i].name; i++)
		*python_fixture_symbol(python, i + 1) = (Elf64_Sym){
			.st_name = python_fixture_name(python, symbols[i].name),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = 1,
			.st_value = PYTHON_FIXTURE_VADDR + symbols[i].offset,
			.st_size = symbols[i].bytes,
		};
}

/* The offsets that are published from 3.13 on; other words of the table say 7. */
static inline void python_fixture_publish(struct python_fixture *python, uint32_t release)
{
	/* The last two are of builds without the global lock. */
	static const uint16_t values[] = { 72, 152, 8, 0, 56, 70, 112, 128, 136, 68, 200, 8, 16, 32,
		32, 16, 40, 0, 0 };
	static const uint16_t places[3][sizeof(values) / sizeof(values[0])] = {
		{ 184, 192, 232, 240, 248, 264, 280, 296, 304, 312, 344, 360, 520, 528, 544, 552,
			560, 1008, 1016 },
		{ 208, 216, 256, 264, 272, 288, 320, 336, 344, 352, 384, 408, 600, 608, 624, 632,
			640, 304, 392 },
		{ 208, 240, 320, 328, 336, 352, 384, 400, 408, 416, 448, 472, 696, 704, 720, 728,
			736, 368, 456 },
	};
	uint32_t column = (release >> 16 & 0xff) - 13;

	for (size_t at = 24; at < 0x400; at += sizeof(uint64_t))
		python_fixture_put_word(python, PYTHON_FIXTURE_RUNTIME + at, 7);
	python_fixture_put(python, PYTHON_FIXTURE_RUNTIME, "xdebugpy", 8);
	python_fixture_put_word(python, PYTHON_FIXTURE_RUNTIME + 8, release);
	python_fixture_put_word(python, PYTHON_FIXTURE_RUNTIME + 16, 0);
	for (size_t i = 0; column < 3 && i < sizeof(values) / sizeof(values[0]); i++)
		python_fixture_put_word(
			python, PYTHON_FIXTURE_RUNTIME + places[column][i], values[i]);
}

static inline void python_fixture_add_code(struct python_fixture *python, uint32_t minor)
{
	/* mov 0x14e(%rip),%edi, which is the number at 0x400b54; jmp */
	static const uint8_t key[] = { 0x8b, 0x3d, 0x4e, 0x01, 0, 0, 0xe9, 0, 0, 0, 0 };
	/* mov %fs:-0x18,%rax; ret */
	static const uint8_t variable[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xe8, 0xff, 0xff, 0xff,
		0xc3 };

	if (minor < 15)
		python_fixture_put(python, PYTHON_FIXTURE_GIL_STATE, key, sizeof(key));
	else
		python_fixture_put(python, PYTHON_FIXTURE_GIL_STATE, variable, sizeof(variable));
}

/* A loop that jumps to another function, and into a part of itself that is elsewhere. */
static inline void python_fixture_add_loop(struct python_fixture *python)
{
	/* jne 0x400a00; jne 0x400a90; ret */
	static const uint8_t loop[] = { 0x0f, 0x85, 0xba, 0xff, 0xff, 0xff, 0x0f, 0x85, 0x44, 0, 0,
		0, 0xc3 };
	static const uint8_t kinds[] = { 1, 0x1b, 3, 0x3b };
	static const int32_t starts[] = { PYTHON_FIXTURE_GIL_STATE, PYTHON_FIXTURE_LOOP,
		PYTHON_FIXTURE_LOOP_REST, PYTHON_FIXTURE_LOOP_REST + PYTHON_FIXTURE_LOOP_BYTES };
	const uint32_t count = sizeof(starts) / sizeof(starts[0]);
	size_t at = PYTHON_FIXTURE_EH_FRAME_HDR;

	python_fixture_put(python, PYTHON_FIXTURE_LOOP, loop, sizeof(loop));
	python_fixture_put(python, at, kinds, sizeof(kinds));
	python_fixture_put(python, at + 8, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		int32_t distance = starts[i] - PYTHON_FIXTURE_EH_FRAME_HDR;

		python_fixture_put(python, at + 12 + 8 * i, &distance, sizeof(distance));
	}
}

/* Of 3.8 to 3.15; `release` is a PY_VERSION_HEX. */
static inline void python_fixture_init_as(
	struct python_fixture *python, uint32_t release, bool is_relocated)
{
	static const struct {
		uint16_t file, name, first_line, lines, units;
	} members[8] = {
		{ 104, 112, 40, 120, 176 },
		{ 104, 112, 40, 120, 176 },
		{ 104, 112, 40, 120, 176 },
		{ 112, 128, 72, 136, 184 },
		{ 112, 128, 68, 136, 192 },
		{ 112, 128, 68, 136, 200 },
		{ 112, 128, 68, 136, 200 },
		{ 112, 128, 68, 136, 200 },
	};
	uint32_t minor = release >> 16 & 0xff, row = minor < 15 ? minor - 8 : 7;

	memset(python, 0, sizeof(*python));
	python->names = 1;
	python->texts = PYTHON_FIXTURE_TEXTS;
	python->is_relocated = is_relocated;
	python_fixture_add_sections(python, minor);
	python_fixture_add_symbols(python);
	python_fixture_put_word(python, PYTHON_FIXTURE_VERSION, release);
	if (minor <= 10)
		python_fixture_symbol(python, 4)->st_shndx = SHN_UNDEF;
	if (minor < 9)
		python_fixture_symbol(python, 5)->st_shndx = SHN_UNDEF;
	python_fixture_point(python, PYTHON_FIXTURE_TYPE + 240, PYTHON_FIXTURE_MEMBERS);
	python_fixture_put_word(python, PYTHON_FIXTURE_TYPE + 32, members[row].units);
	python_fixture_add_member(python, "co_filename", members[row].file);
	python_fixture_add_member(
		python, minor <= 10 ? "co_name" : "co_qualname", members[row].name);
	python_fixture_add_member(python, "co_firstlineno", members[row].first_line);
	python_fixture_add_member(
		python, minor < 10 ? "co_lnotab" : "co_linetable", members[row].lines);
	if (minor < 10) {
		python_fixture_add_member(python, "co_posonlyargcount", 20);
		python_fixture_add_loop(python);
	}
	python_fixture_add_code(python, minor);
	if (minor >= 13)
		python_fixture_publish(python, release);
}

static inline void python_fixture_init(struct python_fixture *python, uint32_t release)
{
	python_fixture_init_as(python, release, false);
}

/* -1 on failure. */
static inline int python_fixture_fd(const struct python_fixture *python)
{
	return elf_fixture_fd(python->bytes, sizeof(python->bytes));
}

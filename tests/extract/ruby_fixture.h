/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small programs that look like Ruby to whoever describes it, of a version by choice. They are made
 * of those that look like CPython:
 *
 *	static struct python_fixture ruby;
 *
 *	ruby_fixture_init(&ruby, "3.1.2");
 *	fd = python_fixture_fd(&ruby);
 */
#pragma once

#include "tests/extract/python_fixture.h"

enum {
	RUBY_FIXTURE_VERSION = 0x9c0,
	RUBY_FIXTURE_LABEL = 0xb00,
	RUBY_FIXTURE_THREAD = 0xb40,
	RUBY_FIXTURE_EVAL = 0xb80,
	RUBY_FIXTURE_LOOP = 0xbc0,
	RUBY_FIXTURE_CORE = 0xc00,
	RUBY_FIXTURE_CORE_BYTES = 0x3000, /* as its unwind entries say */
	RUBY_FIXTURE_STATE = 0xe00,
	RUBY_FIXTURE_PATCHLEVEL = 0xe10,
	RUBY_FIXTURE_SYMBOL_COUNT = 0xe20,
	RUBY_FIXTURE_SYMBOL_NAMES = 0xe30,
	RUBY_FIXTURE_NAME = 0xe40,
	RUBY_FIXTURE_NAME_REST = 0xe80,
	/* Numbers of symbols. */
	RUBY_SYMBOL_VERSION = 1,
	RUBY_SYMBOL_THREAD,
	RUBY_SYMBOL_LABEL,
	RUBY_SYMBOL_EVAL,
	RUBY_SYMBOL_LOOP,
	RUBY_SYMBOL_STATE,
	RUBY_SYMBOL_PATCHLEVEL,
	RUBY_SYMBOL_NAME,
};

static inline void ruby_fixture_add_symbols(struct python_fixture *ruby, const char *version)
{
	const struct {
		const char *name;
		uint32_t offset, bytes;
	} symbols[PYTHON_FIXTURE_SYMBOLS - 1] = {
		{ "ruby_version", RUBY_FIXTURE_VERSION, (uint32_t)strlen(version) + 1 },
		{ "rb_thread_current", RUBY_FIXTURE_THREAD, 32 },
		{ "rb_iseq_label", RUBY_FIXTURE_LABEL, 32 },
		{ "rb_iseq_eval", RUBY_FIXTURE_EVAL, 32 },
		{ "rb_vm_exec", RUBY_FIXTURE_LOOP, 32 },
		{ "ruby_current_execution_context_ptr", RUBY_FIXTURE_STATE, 8 },
		{ "ruby_patchlevel", RUBY_FIXTURE_PATCHLEVEL, 4 },
		{ "rb_id2str", RUBY_FIXTURE_NAME, 24 },
	};

	ruby->names = 1;
	(void)python_fixture_name(ruby, "libc.so.6");
	for (size_t i = 0; i < PYTHON_FIXTURE_SYMBOLS - 1; i++)
		*python_fixture_symbol(ruby, i + 1) = (Elf64_Sym){
			.st_name = python_fixture_name(ruby, symbols[i].name),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = 1,
			.st_value = PYTHON_FIXTURE_VADDR + symbols[i].offset,
			.st_size = symbols[i].bytes,
		};
}

static inline void ruby_fixture_add_code(struct python_fixture *ruby)
{
	/* endbr64; mov 16(%rdi),%rax; mov 80(%rax),%rax; ret */
	static const uint8_t label[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x47, 0x10, 0x48, 0x8b,
		0x40, 0x50, 0xc3 };
	/* mov %fs:-0x18,%rax; mov 0x30(%rax),%rax; mov 0x10(%rax),%rax; ret */
	static const uint8_t thread[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xe8, 0xff, 0xff, 0xff,
		0x48, 0x8b, 0x40, 0x30, 0x48, 0x8b, 0x40, 0x10, 0xc3 };
	/* call of something; jmp to the loop; call of something */
	static const uint8_t eval[] = { 0xe8, 0, 0, 0, 0, 0xe9, 0x36, 0, 0, 0, 0xe8, 0, 0, 0, 0 };
	/* call of itself; call of the core; jmp */
	static const uint8_t loop[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff, 0xe8, 0x36, 0, 0, 0, 0xe9, 0,
		0, 0, 0 };
	/* mov %rdi,%rax; shr $4,%rax; cmp $0xa9,%rdi; cmova %eax,%edi; xor %esi,%esi; jmp */
	static const uint8_t name[] = { 0x48, 0x89, 0xf8, 0x48, 0xc1, 0xe8, 0x04, 0x48, 0x81, 0xff,
		0xa9, 0, 0, 0, 0x0f, 0x47, 0xf8, 0x31, 0xf6, 0xe9, 0x28, 0, 0, 0 };
	/* cmp %edi,-0x66(%rip); jb; mov -0x5f(%rip),%rdi; ret */
	static const uint8_t name_rest[] = { 0x39, 0x3d, 0x9a, 0xff, 0xff, 0xff, 0x72, 0, 0x48,
		0x8b, 0x3d, 0xa1, 0xff, 0xff, 0xff, 0xc3 };
	static const int32_t starts[] = { RUBY_FIXTURE_LOOP, RUBY_FIXTURE_CORE,
		RUBY_FIXTURE_CORE + RUBY_FIXTURE_CORE_BYTES };
	const uint32_t count = sizeof(starts) / sizeof(starts[0]);
	size_t at = PYTHON_FIXTURE_EH_FRAME_HDR;

	python_fixture_put(ruby, RUBY_FIXTURE_LABEL, label, sizeof(label));
	python_fixture_put(ruby, RUBY_FIXTURE_THREAD, thread, sizeof(thread));
	python_fixture_put(ruby, RUBY_FIXTURE_EVAL, eval, sizeof(eval));
	python_fixture_put(ruby, RUBY_FIXTURE_LOOP, loop, sizeof(loop));
	python_fixture_put(ruby, RUBY_FIXTURE_NAME, name, sizeof(name));
	python_fixture_put(ruby, RUBY_FIXTURE_NAME_REST, name_rest, sizeof(name_rest));
	python_fixture_put(ruby, at + 8, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		int32_t distance = starts[i] - PYTHON_FIXTURE_EH_FRAME_HDR;

		python_fixture_put(ruby, at + 12 + 8 * i, &distance, sizeof(distance));
	}
}

/* Up to 2.7 it has the variable of the state, up to 3.2 the loop is exported. */
static inline void ruby_fixture_init(struct python_fixture *ruby, const char *version)
{
	python_fixture_init(ruby, 0x03080000);
	ruby_fixture_add_symbols(ruby, version);
	ruby_fixture_add_code(ruby);
	python_fixture_put(ruby, RUBY_FIXTURE_VERSION, version, strlen(version) + 1);
	if (strcmp(version, "3") >= 0)
		python_fixture_symbol(ruby, RUBY_SYMBOL_STATE)->st_shndx = SHN_UNDEF;
	if (strcmp(version, "3.3") >= 0)
		python_fixture_symbol(ruby, RUBY_SYMBOL_LOOP)->st_shndx = SHN_UNDEF;
}

/* The loop has a local symbol, and rb_iseq_eval() does not tell where it is. */
static inline void ruby_fixture_name_loop(struct python_fixture *ruby)
{
	Elf64_Sym symbols[] = { { 0 }, *python_fixture_symbol(ruby, RUBY_SYMBOL_LOOP) };
	Elf64_Shdr *section = python_fixture_section(ruby, 5);

	symbols[1].st_shndx = 1;
	symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	python_fixture_put(ruby, PYTHON_FIXTURE_RELOCATIONS, symbols, sizeof(symbols));
	section->sh_type = SHT_SYMTAB;
	section->sh_size = sizeof(symbols);
	section->sh_link = 3;
	ruby->bytes[RUBY_FIXTURE_EVAL + 5] = 0xc3;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small programs that look like PHP to whoever describes it, of a version by choice.
 *
 *	static struct php_fixture php;
 *
 *	php_fixture_init(&php, "8.2.36", 152);
 *	fd = php_fixture_fd(&php);
 */
#pragma once

#include "tests/extract/elf_fixture.h"

enum {
	PHP_FIXTURE_BYTES = 0x1000,
	PHP_FIXTURE_SECTIONS = 7,
	PHP_FIXTURE_SYMBOLS = 6, /* the first is none */
	/* File offsets. */
	PHP_FIXTURE_SECTION_NAMES = 0x300,
	PHP_FIXTURE_NAMES = 0x380,
	PHP_FIXTURE_DYNSYM = 0x400,
	PHP_FIXTURE_EH_FRAME_HDR = 0x500,
	PHP_FIXTURE_TEXTS = 0x600,
	PHP_FIXTURE_LOOP = 0x800,
	PHP_FIXTURE_LOOP_BYTES = 0x40,
	PHP_FIXTURE_LOOP_REST = 0x900,
	PHP_FIXTURE_FILENAME = 0xa00,
	PHP_FIXTURE_BLOCK = 0xb00,
	PHP_FIXTURE_GLOBALS = 0xc00,
	PHP_FIXTURE_KEY = 0xf80,
	PHP_FIXTURE_DYNAMIC = 0xfc0,
	/* Numbers of symbols. */
	PHP_SYMBOL_GLOBALS = 1,
	PHP_SYMBOL_LOOP,
	PHP_SYMBOL_FILENAME,
	PHP_SYMBOL_GLOBALS_OFFSET,
	PHP_SYMBOL_BLOCK,
};

struct php_fixture {
	uint8_t bytes[PHP_FIXTURE_BYTES];
};

static inline void php_fixture_put(
	struct php_fixture *php, size_t at, const void *bytes, size_t size)
{
	elf_fixture_put(php->bytes, sizeof(php->bytes), at, bytes, size);
}

static inline Elf64_Sym *php_fixture_symbol(struct php_fixture *php, size_t index)
{
	return (Elf64_Sym *)(void *)(php->bytes + PHP_FIXTURE_DYNSYM) + index;
}

/* Returns where the next name is. */
static inline uint32_t php_fixture_add_symbols(struct php_fixture *php)
{
	static const struct {
		const char *name;
		uint32_t offset, bytes;
	} symbols[PHP_FIXTURE_SYMBOLS - 1] = {
		{ "executor_globals", PHP_FIXTURE_GLOBALS, 0x300 },
		{ "execute_ex", PHP_FIXTURE_LOOP, PHP_FIXTURE_LOOP_BYTES },
		{ "zend_get_executed_filename_ex", PHP_FIXTURE_FILENAME, 0x40 },
		{ "executor_globals_offset", PHP_FIXTURE_GLOBALS, 8 },
		{ "tsrm_get_ls_cache", PHP_FIXTURE_BLOCK, 10 },
	};
	uint32_t name = 1;

	for (size_t i = 0; i < PHP_FIXTURE_SYMBOLS - 1; i++) {
		*php_fixture_symbol(php, i + 1) = (Elf64_Sym){
			.st_name = name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = 1,
			.st_value = ELF_FIXTURE_VADDR + symbols[i].offset,
			.st_size = symbols[i].bytes,
		};
		php_fixture_put(php, PHP_FIXTURE_NAMES + name, symbols[i].name,
			strlen(symbols[i].name) + 1);
		name += (uint32_t)strlen(symbols[i].name) + 1;
	}
	php_fixture_symbol(php, PHP_SYMBOL_GLOBALS_OFFSET)->st_shndx = SHN_UNDEF;
	return name;
}

/* The loop jumps into a part of itself that is elsewhere. */
static inline void php_fixture_add_loop(struct php_fixture *php)
{
	/* jne 0x400910; ret */
	static const uint8_t loop[] = { 0x0f, 0x85, 0x0a, 0x01, 0, 0, 0xc3 };
	static const uint8_t kinds[] = { 1, 0x1b, 3, 0x3b };
	static const int32_t starts[] = { PHP_FIXTURE_LOOP, PHP_FIXTURE_LOOP_REST,
		PHP_FIXTURE_LOOP_REST + PHP_FIXTURE_LOOP_BYTES };
	const uint32_t count = sizeof(starts) / sizeof(starts[0]);
	size_t at = PHP_FIXTURE_EH_FRAME_HDR;

	php_fixture_put(php, PHP_FIXTURE_LOOP, loop, sizeof(loop));
	php_fixture_put(php, at, kinds, sizeof(kinds));
	php_fixture_put(php, at + 8, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		int32_t distance = starts[i] - PHP_FIXTURE_EH_FRAME_HDR;

		php_fixture_put(php, at + 12 + 8 * i, &distance, sizeof(distance));
	}
}

/* With threads: mov %fs:-24,%rax; ret returns the block of one. */
static inline void php_fixture_add_threads(struct php_fixture *php)
{
	static const uint8_t block[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xe8, 0xff, 0xff, 0xff,
		0xc3 };

	php_fixture_put(php, PHP_FIXTURE_BLOCK, block, sizeof(block));
	php_fixture_symbol(php, PHP_SYMBOL_GLOBALS)->st_shndx = SHN_UNDEF;
	php_fixture_symbol(php, PHP_SYMBOL_GLOBALS_OFFSET)->st_shndx = 1;
}

/* The same from a pthread key: mov KEY(%rip),%edi; jmp to what returns its value. */
static inline void php_fixture_add_thread_key(struct php_fixture *php)
{
	static const uint8_t block[] = { 0x8b, 0x3d, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0 };
	const int32_t distance = PHP_FIXTURE_KEY - (PHP_FIXTURE_BLOCK + 6);

	php_fixture_add_threads(php);
	php_fixture_put(php, PHP_FIXTURE_BLOCK, block, sizeof(block));
	php_fixture_put(php, PHP_FIXTURE_BLOCK + 2, &distance, sizeof(distance));
	php_fixture_symbol(php, PHP_SYMBOL_BLOCK)->st_size = sizeof(block);
}

/* Where the executor's globals have the innermost frame; else 488. */
static inline void php_fixture_set_frame(struct php_fixture *php, int32_t frame_at)
{
	php_fixture_put(php, PHP_FIXTURE_FILENAME + 3, &frame_at, sizeof(frame_at));
}

/* `file_at`: where a function has the name of its file. */
static inline void php_fixture_init(struct php_fixture *php, const char *version, int32_t file_at)
{
	static const struct elf_fixture_section sections[PHP_FIXTURE_SECTIONS] = {
		{ "", SHT_NULL, 0, 0, 0, 0 },
		{ ".rodata", SHT_PROGBITS, PHP_FIXTURE_TEXTS, 0x100, 0, SHF_ALLOC },
		{ ".dynsym", SHT_DYNSYM, PHP_FIXTURE_DYNSYM,
			PHP_FIXTURE_SYMBOLS * sizeof(Elf64_Sym), sizeof(Elf64_Sym), 0 },
		{ ".dynstr", SHT_STRTAB, PHP_FIXTURE_NAMES, PHP_FIXTURE_DYNSYM - PHP_FIXTURE_NAMES,
			0, 0 },
		{ ".eh_frame_hdr", SHT_PROGBITS, PHP_FIXTURE_EH_FRAME_HDR, 0x40, 0, SHF_ALLOC },
		{ ".dynamic", SHT_DYNAMIC, PHP_FIXTURE_DYNAMIC, 2 * sizeof(Elf64_Dyn),
			sizeof(Elf64_Dyn), SHF_ALLOC },
		{ ".shstrtab", SHT_STRTAB, PHP_FIXTURE_SECTION_NAMES, 0x80, 0, 0 },
	};
	/* mov 0x1e8(%rdx),%rax; mov FILE_AT(%rdx),%rax; ret */
	static const uint8_t filename[] = { 0x48, 0x8b, 0x82, 0xe8, 0x01, 0, 0, 0x48, 0x8b, 0x82, 0,
		0, 0, 0, 0xc3 };
	static const char header[] = "X-Powered-By: PHP/", libc[] = "libc.so.6";
	Elf64_Dyn needed = { .d_tag = DT_NEEDED };

	elf_fixture_init(php->bytes, sizeof(php->bytes), sections, PHP_FIXTURE_SECTIONS);
	needed.d_un.d_val = php_fixture_add_symbols(php);
	php_fixture_put(php, PHP_FIXTURE_NAMES + needed.d_un.d_val, libc, sizeof(libc));
	php_fixture_put(php, PHP_FIXTURE_DYNAMIC, &needed, sizeof(needed));
	php_fixture_add_loop(php);
	php_fixture_put(php, PHP_FIXTURE_FILENAME, filename, sizeof(filename));
	php_fixture_put(php, PHP_FIXTURE_FILENAME + 10, &file_at, sizeof(file_at));
	php_fixture_put(php, PHP_FIXTURE_TEXTS + 0x40, header, sizeof(header));
	php_fixture_put(
		php, PHP_FIXTURE_TEXTS + 0x40 + sizeof(header) - 1, version, strlen(version) + 1);
}

/* -1 on failure. */
static inline int php_fixture_fd(const struct php_fixture *php)
{
	return elf_fixture_fd(php->bytes, sizeof(php->bytes));
}

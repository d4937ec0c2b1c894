/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small Go binary: code, a table of functions, the data of inlined calls, the description of the
 * module, and relocations, each in a segment of its own.
 */
#pragma once

#include "base/cleanup.h"
#include "dwarf/go_table.h"

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	GO_FIXTURE_CODE = 0x1000, /* file offsets; vaddrs are greater by GO_FIXTURE_BIAS */
	GO_FIXTURE_CODE_BYTES = 0x1000,
	GO_FIXTURE_TABLE = 0x2000,
	GO_FIXTURE_TABLE_BYTES = 0x1000,
	GO_FIXTURE_INLINED = 0x3000,
	GO_FIXTURE_INLINED_BYTES = 0x400,
	GO_FIXTURE_MODULE = 0x4010, /* within its segment */
	GO_FIXTURE_RELOCATIONS = 0x5000,
	GO_FIXTURE_HEADERS = 0x6000,
	GO_FIXTURE_BYTES = 0x7000,
	GO_FIXTURE_BIAS = 0x400000,
	GO_FIXTURE_TEXT = GO_FIXTURE_CODE + GO_FIXTURE_BIAS,
	/* Parts of the table. */
	GO_FIXTURE_NAMES = 0x100,
	GO_FIXTURE_UNITS = 0x300,
	GO_FIXTURE_FILES = 0x400,
	GO_FIXTURE_PROGRAMS = 0x600,
	GO_FIXTURE_FUNCTIONS = 0x900,
	GO_FIXTURE_RECORDS = 0x200, /* in FUNCTIONS */
	GO_FIXTURE_FUNCTIONS_MAX = 24,
};

struct go_fixture_function {
	const char *name;
	uint32_t start; /* in the code; the function reaches to the next one */
	uint32_t stack, file, line, inlined;
	uint32_t unit;
	uint32_t inlined_calls; /* where they are in INLINED; GO_NOT_INLINED */
};

struct go_fixture {
	uint8_t bytes[GO_FIXTURE_BYTES];
	enum go_version version;
	bool has_relocations; /* the module's addresses are in these alone */
	bool has_no_module;
	const char *section; /* of the table; NULL: it is in a section of another name */
	uint32_t text;	     /* in the table's header */
	struct go_fixture_function functions[GO_FIXTURE_FUNCTIONS_MAX];
	uint32_t function_count;
	uint32_t functions_end;
	uint32_t names_used, units_used, files_used, programs_used, inlined_count;
};

static inline void go_fixture_init(struct go_fixture *fixture, enum go_version version)
{
	*fixture = (struct go_fixture){
		.version = version,
		.section = ".gopclntab",
		.functions_end = GO_FIXTURE_CODE_BYTES,
		.names_used = 1,
		.files_used = 1,
		.programs_used = 1, /* offset 0 stands for no program */
	};
	memset(fixture->bytes + GO_FIXTURE_CODE, 0xcc, GO_FIXTURE_CODE_BYTES);
}

static inline void go_fixture_put(
	struct go_fixture *fixture, uint64_t at, uint64_t value, size_t bytes)
{
	assert(at + bytes <= sizeof(fixture->bytes));
	memcpy(fixture->bytes + at, &value, bytes);
}

static inline void go_fixture_code(
	struct go_fixture *fixture, uint32_t at, const void *code, size_t bytes)
{
	memcpy(fixture->bytes + GO_FIXTURE_CODE + at, code, bytes);
}

static inline uint32_t go_fixture_text(
	struct go_fixture *fixture, uint32_t part, uint32_t *used, const char *text)
{
	uint32_t at = *used;

	memcpy(fixture->bytes + GO_FIXTURE_TABLE + part + at, text, strlen(text) + 1);
	*used += (uint32_t)strlen(text) + 1;
	return at;
}

static inline uint32_t go_fixture_name(struct go_fixture *fixture, const char *name)
{
	return go_fixture_text(fixture, GO_FIXTURE_NAMES, &fixture->names_used, name);
}

/* Returns its number, by which unit and file together name it. */
static inline uint32_t go_fixture_file(struct go_fixture *fixture, const char *path)
{
	uint32_t at = go_fixture_text(fixture, GO_FIXTURE_FILES, &fixture->files_used, path);

	go_fixture_put(fixture,
		GO_FIXTURE_TABLE + GO_FIXTURE_UNITS + fixture->units_used * sizeof(at), at,
		sizeof(at));
	return fixture->units_used++;
}

static inline void go_fixture_put_uleb(struct go_fixture *fixture, uint32_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		go_fixture_put(fixture,
			GO_FIXTURE_TABLE + GO_FIXTURE_PROGRAMS + fixture->programs_used++, byte, 1);
		value >>= 7;
	} while (value > 0);
}

struct go_fixture_value {
	int32_t value;
	uint32_t bytes; /* of code that has it */
};

static inline uint32_t go_fixture_program(
	struct go_fixture *fixture, const struct go_fixture_value *values, size_t count)
{
	uint32_t at = fixture->programs_used;
	int32_t value = -1;

	for (size_t i = 0; i < count; i++) {
		int32_t difference = values[i].value - value;

		go_fixture_put_uleb(
			fixture, (uint32_t)difference << 1 ^ (uint32_t)(difference < 0 ? -1 : 0));
		go_fixture_put_uleb(fixture, values[i].bytes);
		value = values[i].value;
	}
	go_fixture_put_uleb(fixture, 0);
	return at;
}

#define GO_PROGRAM(fixture, ...)                                                      \
	go_fixture_program(fixture, (const struct go_fixture_value[]){ __VA_ARGS__ }, \
		sizeof((const struct go_fixture_value[]){ __VA_ARGS__ }) /            \
			sizeof(struct go_fixture_value))

/* Returns its number. */
static inline uint32_t go_fixture_inlined(
	struct go_fixture *fixture, const char *name, uint32_t call)
{
	bool is_long = fixture->version != GO_1_20;
	size_t bytes = is_long ? 20 : 16;
	uint64_t at = GO_FIXTURE_INLINED + fixture->inlined_count * bytes;

	go_fixture_put(fixture, at + (is_long ? 12 : 4), go_fixture_name(fixture, name), 4);
	go_fixture_put(fixture, at + (is_long ? 16 : 8), call, 4);
	return fixture->inlined_count++;
}

/* The rest is the caller's to fill in. */
static inline struct go_fixture_function *go_fixture_function(
	struct go_fixture *fixture, const char *name, uint32_t start)
{
	struct go_fixture_function *function = &fixture->functions[fixture->function_count++];

	assert(fixture->function_count <= GO_FIXTURE_FUNCTIONS_MAX);
	*function = (struct go_fixture_function){
		.name = name, .start = start, .inlined_calls = GO_NOT_INLINED
	};
	return function;
}

static inline size_t go_fixture_entry_bytes(const struct go_fixture *fixture)
{
	return fixture->version == GO_1_16 ? 8 : 4;
}

/* Where entry `number` of the list of functions is in the file. */
static inline uint64_t go_fixture_entry(const struct go_fixture *fixture, uint32_t number)
{
	return GO_FIXTURE_TABLE + GO_FIXTURE_FUNCTIONS + number * go_fixture_entry_bytes(fixture);
}

static inline void go_fixture_put_function(struct go_fixture *fixture, uint32_t index)
{
	const struct go_fixture_function *function = &fixture->functions[index];
	uint64_t base = fixture->version == GO_1_16 ? GO_FIXTURE_TEXT : 0;
	size_t bytes = go_fixture_entry_bytes(fixture);
	uint32_t record = GO_FIXTURE_RECORDS + index * 96;
	const uint32_t fields[] = { go_fixture_name(fixture, function->name), 0, 0, function->stack,
		function->file, function->line, 3, function->unit };
	uint64_t at = GO_FIXTURE_TABLE + GO_FIXTURE_FUNCTIONS + record;

	go_fixture_put(
		fixture, go_fixture_entry(fixture, 2 * index), base + function->start, bytes);
	go_fixture_put(fixture, go_fixture_entry(fixture, 2 * index + 1), record, bytes);
	go_fixture_put(fixture, at, base + function->start, bytes);
	memcpy(fixture->bytes + at + bytes, fields, sizeof(fields));
	at += bytes + sizeof(fields) + (fixture->version == GO_1_20 ? 4 : 0);
	go_fixture_put(fixture, at + 3, 4, 1); /* data */
	go_fixture_put(fixture, at + 4 + 8, function->inlined, 4);
	go_fixture_put(fixture, at + 4 + 12 + 12, function->inlined_calls, 4);
}

static inline void go_fixture_put_table(struct go_fixture *fixture)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	static const uint32_t parts[] = { GO_FIXTURE_NAMES, GO_FIXTURE_UNITS, GO_FIXTURE_FILES,
		GO_FIXTURE_PROGRAMS, GO_FIXTURE_FUNCTIONS };
	uint64_t at = GO_FIXTURE_TABLE;

	go_fixture_put(fixture, at, magics[fixture->version] | 0x0801ULL << 48, 8);
	go_fixture_put(fixture, at + 8, fixture->function_count, 8);
	at += 24;
	if (fixture->version != GO_1_16) {
		go_fixture_put(fixture, at, fixture->text, 8);
		at += 8;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		go_fixture_put(fixture, at + i * 8, parts[i], 8);
	for (uint32_t i = 0; i < fixture->function_count; i++)
		go_fixture_put_function(fixture, i);
	go_fixture_put(fixture, go_fixture_entry(fixture, 2 * fixture->function_count),
		fixture->functions_end + (fixture->version == GO_1_16 ? GO_FIXTURE_TEXT : 0),
		go_fixture_entry_bytes(fixture));
}

static inline void go_fixture_put_module(struct go_fixture *fixture)
{
	const uint64_t words[][2] = {
		{ 0, GO_FIXTURE_TABLE },
		{ 1, GO_FIXTURE_TABLE + GO_FIXTURE_NAMES },
		{ 22, GO_FIXTURE_CODE },
		{ fixture->version == GO_1_20 ? 40 : 38, GO_FIXTURE_INLINED },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const Elf64_Rela relocation = {
			.r_offset = GO_FIXTURE_MODULE + GO_FIXTURE_BIAS + words[i][0] * 8,
			.r_info = R_X86_64_RELATIVE,
			.r_addend = (Elf64_Sxword)(words[i][1] + GO_FIXTURE_BIAS),
		};

		if (fixture->has_relocations)
			memcpy(fixture->bytes + GO_FIXTURE_RELOCATIONS +
					(i + 1) * sizeof(relocation),
				&relocation, sizeof(relocation));
		else
			go_fixture_put(fixture, GO_FIXTURE_MODULE + words[i][0] * 8,
				words[i][1] + GO_FIXTURE_BIAS, 8);
	}
}

static inline void go_fixture_put_headers(struct go_fixture *fixture)
{
	static const char names[] = "\0.shstrtab\0.note.go.buildid\0.rela.dyn";
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = GO_FIXTURE_HEADERS,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 4,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
		.e_shstrndx = 1,
	};
	const struct {
		uint32_t flags, offset, bytes;
	} segments[] = { { PF_R | PF_X, GO_FIXTURE_CODE, GO_FIXTURE_CODE_BYTES },
		{ PF_R, GO_FIXTURE_TABLE, GO_FIXTURE_TABLE_BYTES },
		{ PF_R, GO_FIXTURE_INLINED, GO_FIXTURE_INLINED_BYTES },
		{ PF_R | PF_W, GO_FIXTURE_MODULE - 0x10, 0x1000 } };
	const Elf64_Shdr sections[5] = {
		[1] = { .sh_name = 1,
			.sh_type = SHT_STRTAB,
			.sh_offset = GO_FIXTURE_HEADERS + 0x800,
			.sh_size = 0x100 },
		[2] = { .sh_name = 11, .sh_type = SHT_NOTE, .sh_size = 1 },
		[3] = { .sh_name = 28,
			.sh_type = SHT_RELA,
			.sh_flags = SHF_ALLOC,
			.sh_offset = GO_FIXTURE_RELOCATIONS,
			.sh_size = 6 * sizeof(Elf64_Rela) },
		[4] = { .sh_name = 64,
			.sh_type = SHT_PROGBITS,
			.sh_offset = GO_FIXTURE_TABLE,
			.sh_addr = GO_FIXTURE_TABLE + GO_FIXTURE_BIAS,
			.sh_size = GO_FIXTURE_TABLE_BYTES },
	};

	memcpy(fixture->bytes, &header, sizeof(header));
	for (size_t i = 0; i < 4; i++) {
		const Elf64_Phdr segment = {
			.p_type = PT_LOAD,
			.p_flags = segments[i].flags,
			.p_offset = segments[i].offset,
			.p_vaddr = segments[i].offset + GO_FIXTURE_BIAS,
			.p_filesz = segments[i].bytes,
			.p_memsz = segments[i].bytes,
		};

		memcpy(fixture->bytes + sizeof(header) + i * sizeof(segment), &segment,
			sizeof(segment));
	}
	memcpy(fixture->bytes + GO_FIXTURE_HEADERS, sections, sizeof(sections));
	memcpy(fixture->bytes + GO_FIXTURE_HEADERS + 0x800, names, sizeof(names));
	strcpy((char *)fixture->bytes + GO_FIXTURE_HEADERS + 0x800 + 64,
		fixture->section ? fixture->section : ".data.rel.ro");
}

/* Called once, when all functions are complete. */
static inline void go_fixture_finish(struct go_fixture *fixture)
{
	go_fixture_put_table(fixture);
	if (!fixture->has_no_module)
		go_fixture_put_module(fixture);
	go_fixture_put_headers(fixture);
}

static inline struct elf_file go_fixture_elf(const struct go_fixture *fixture)
{
	struct elf_file elf;
	int r = elf_file_init_memory(&elf, fixture->bytes, sizeof(fixture->bytes));

	assert(r == 0);
	(void)r;
	return elf;
}

/* -1 on failure. */
static inline int go_fixture_fd(const struct go_fixture *fixture)
{
	_cleanup_close_ int fd = memfd_create("go", MFD_CLOEXEC);

	if (fd < 0 || write(fd, fixture->bytes, sizeof(fixture->bytes)) != sizeof(fixture->bytes))
		return -1;
	return TAKE_FD(fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small library that looks like HotSpot to whoever describes it: the tables that it publishes, as
 * they are in JDK 17 or 25. The names are relocated, and code stores the offsets of fields.
 *
 *	static struct hotspot_fixture hotspot;
 *
 *	hotspot_fixture_init(&hotspot, 17);
 *	hotspot_fixture_set(&hotspot, "CodeBlob", "_name", 4096);
 *	fd = hotspot_fixture_fd(&hotspot);
 */
#pragma once

#include "tests/extract/elf_fixture.h"

#include <stdbool.h>

enum {
	HOTSPOT_FIXTURE_BYTES = 0x4000,
	HOTSPOT_FIXTURE_VADDR = ELF_FIXTURE_VADDR,
	HOTSPOT_FIXTURE_SECTIONS = 6,
	/* File offsets. */
	HOTSPOT_FIXTURE_SECTION_NAMES = 0x280,
	HOTSPOT_FIXTURE_CODE = 0x300,
	HOTSPOT_FIXTURE_CODE_BYTES = 0x300,
	HOTSPOT_FIXTURE_DYNSYM = 0x600,
	HOTSPOT_FIXTURE_DYNSTR = 0x800,
	HOTSPOT_FIXTURE_NUMBERS = 0xc00, /* what the symbols name, 8 bytes each */
	HOTSPOT_FIXTURE_HEAPS = 0xd00,
	HOTSPOT_FIXTURE_RELEASE = 0xd08,
	HOTSPOT_FIXTURE_STRUCTS = 0xe00,
	HOTSPOT_FIXTURE_TYPES = 0x1800,
	HOTSPOT_FIXTURE_NAMES = 0x1a00,
	HOTSPOT_FIXTURE_RELOCATIONS = 0x2c00,
	HOTSPOT_FIXTURE_STRUCT_BYTES = 48,
	HOTSPOT_FIXTURE_TYPE_BYTES = 40,
	HOTSPOT_FIXTURE_STORE_BYTES = 11,
};

struct hotspot_fixture {
	uint8_t bytes[HOTSPOT_FIXTURE_BYTES];
	size_t structs, symbols;
	uint32_t names, symbol_names, relocations;
};

/* Of 17 and 25; -1: not published. A variable has its file offset. */
static const struct {
	const char *type, *field;
	int32_t values[2];
	bool is_static;
	const char *kind;
} hotspot_fixture_fields[] = {
	{ "ConstantPool", "_tags", { 8, 8 }, false, "Array<u1>*" },
	{ "ConstantPool", "_pool_holder", { 24, 24 }, false, "InstanceKlass*" },
	{ "ConstantPool", "_source_file_name_index", { 54, 54 }, false, "u2" },
	{ "InstanceKlass", "_constants", { 232, 224 }, false, "ConstantPool*" },
	{ "Klass", "_name", { 24, 24 }, false, "Symbol*" },
	{ "Method", "_constMethod", { 8, 8 }, false, "ConstMethod*" },
	{ "ConstMethod", "_constants", { 8, 8 }, false, "ConstantPool*" },
	{ "ConstMethod", "_constMethod_size", { 24, 24 }, false, "int" },
	{ "ConstMethod", "_flags", { 28, -1 }, false, "u2" },
	{ "ConstMethod", "_flags._flags", { -1, 28 }, false, "u4" },
	{ "ConstMethod", "_code_size", { 32, 34 }, false, "u2" },
	{ "ConstMethod", "_name_index", { 34, 36 }, false, "u2" },
	{ "ConstMethod", "_signature_index", { 36, 38 }, false, "u2" },
	{ "Symbol", "_length", { 4, 4 }, false, "u2" },
	{ "Symbol", "_body", { 6, 6 }, false, "" },
	{ "Symbol", "_body[0]", { 6, 6 }, false, "u1" },
	{ "VirtualSpace", "_low_boundary", { 0, 0 }, false, "char*" },
	{ "VirtualSpace", "_high_boundary", { 8, 8 }, false, "char*" },
	{ "GrowableArrayBase", "_len", { 0, 0 }, false, "int" },
	{ "CodeCache", "_heaps", { HOTSPOT_FIXTURE_HEAPS, HOTSPOT_FIXTURE_HEAPS }, true,
		"GrowableArray<CodeHeap*>*" },
	{ "CodeHeap", "_memory", { 8, 0 }, false, "VirtualSpace" },
	{ "CodeHeap", "_segmap", { 120, 112 }, false, "VirtualSpace" },
	{ "CodeHeap", "_log2_segment_size", { 256, 248 }, false, "int" },
	{ "HeapBlock::Header", "_used", { 8, 4 }, false, "bool" },
	{ "CodeBlob", "_name", { 96, 8 }, false, "const char*" },
	{ "CodeBlob", "_size", { 12, 24 }, false, "int" },
	{ "CodeBlob", "_code_begin", { 32, -1 }, false, "address" },
	{ "CodeBlob", "_code_offset", { -1, 36 }, false, "int" },
	{ "CodeBlob", "_frame_complete_offset", { 20, 54 }, false, "" }, /* by the release */
	{ "CodeBlob", "_frame_size", { 28, 44 }, false, "int" },
	{ "CompiledMethod", "_method", { 112, -1 }, false, "Method*" },
	{ "nmethod", "_method", { -1, 80 }, false, "Method*" },
	{ "nmethod", "_compile_id", { 304, 212 }, false, "int" },
	{ "Abstract_VM_Version", "_vm_major_version",
		{ HOTSPOT_FIXTURE_RELEASE, HOTSPOT_FIXTURE_RELEASE }, true, "int" },
	/* These tell what a compiled method contains. */
	{ "PcDesc", "_pc_offset", { 0, 0 }, false, "int" },
	{ "PcDesc", "_scope_decode_offset", { 4, 4 }, false, "int" },
	{ "nmethod", "_scopes_pcs_offset", { 268, 196 }, false, "int" },
	{ "nmethod", "_scopes_data_offset", { -1, 200 }, false, "int" },
	{ "nmethod", "_dependencies_offset", { 272, -1 }, false, "int" },
	{ "nmethod", "_metadata_offset", { 260, -1 }, false, "int" },
	{ "nmethod", "_immutable_data", { -1, 96 }, false, "address" },
	{ "CompiledMethod", "_scopes_data_begin", { 120, -1 }, false, "address" },
	{ "CodeBlob", "_mutable_data", { -1, 16 }, false, "address" },
	{ "CodeBlob", "_relocation_size", { -1, 28 }, false, "int" },
};

static const struct {
	const char *type;
	uint64_t values[2];
} hotspot_fixture_types[] = {
	{ "ConstantPool", { 72, 72 } },
	{ "ConstMethod", { 48, 56 } },
	{ "GrowableArrayBase", { 8, 8 } },
	{ "HeapBlock", { 16, 8 } },
	{ "PcDesc", { 16, 16 } },
};

static inline void hotspot_fixture_put(
	struct hotspot_fixture *hotspot, size_t at, const void *bytes, size_t size)
{
	elf_fixture_put(hotspot->bytes, sizeof(hotspot->bytes), at, bytes, size);
}

static inline Elf64_Shdr *hotspot_fixture_section(struct hotspot_fixture *hotspot, size_t index)
{
	return elf_fixture_section(hotspot->bytes, index);
}

static inline Elf64_Sym *hotspot_fixture_symbol(struct hotspot_fixture *hotspot, size_t index)
{
	return (Elf64_Sym *)(void *)(hotspot->bytes + HOTSPOT_FIXTURE_DYNSYM) + index;
}

enum {
	HOTSPOT_FIXTURE_FIELDS = sizeof(hotspot_fixture_fields) / sizeof(*hotspot_fixture_fields),
	HOTSPOT_FIXTURE_SIZES = sizeof(hotspot_fixture_types) / sizeof(*hotspot_fixture_types),
};

/* The store of each field is at its place in the list: movq $OFFSET, ENTRY(%rip). */
static inline uint8_t *hotspot_fixture_store(struct hotspot_fixture *hotspot, size_t field)
{
	return hotspot->bytes + HOTSPOT_FIXTURE_CODE + field * HOTSPOT_FIXTURE_STORE_BYTES;
}

/* The number that the code stores as the offset of a field. */
static inline void hotspot_fixture_set(
	struct hotspot_fixture *hotspot, const char *type, const char *field, int32_t offset)
{
	for (size_t i = 0; i < HOTSPOT_FIXTURE_FIELDS; i++)
		if (strcmp(hotspot_fixture_fields[i].type, type) == 0 &&
			strcmp(hotspot_fixture_fields[i].field, field) == 0) {
			memcpy(hotspot_fixture_store(hotspot, i) + 7, &offset, sizeof(offset));
			return;
		}
	assert(0);
}

static inline void hotspot_fixture_relocate(
	struct hotspot_fixture *hotspot, size_t at, size_t target)
{
	const Elf64_Rela relocation = {
		.r_offset = HOTSPOT_FIXTURE_VADDR + at,
		.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		.r_addend = (Elf64_Sxword)(HOTSPOT_FIXTURE_VADDR + target),
	};

	hotspot_fixture_put(hotspot,
		HOTSPOT_FIXTURE_RELOCATIONS + hotspot->relocations++ * sizeof(relocation),
		&relocation, sizeof(relocation));
	hotspot_fixture_section(hotspot, 4)->sh_size = hotspot->relocations * sizeof(relocation);
}

/* Lets the word at `at` point to a text. */
static inline void hotspot_fixture_name(
	struct hotspot_fixture *hotspot, size_t at, const char *text)
{
	size_t name = HOTSPOT_FIXTURE_NAMES + hotspot->names;

	assert(name + strlen(text) < HOTSPOT_FIXTURE_RELOCATIONS);
	hotspot_fixture_put(hotspot, name, text, strlen(text) + 1);
	hotspot->names += (uint32_t)strlen(text) + 1;
	hotspot_fixture_relocate(hotspot, at, name);
}

static inline void hotspot_fixture_add_field(
	struct hotspot_fixture *hotspot, size_t i, bool is_newer)
{
	const uint8_t store[] = { 0x48, 0xc7, 0x05 };
	int32_t value = hotspot_fixture_fields[i].values[is_newer];
	size_t entry = HOTSPOT_FIXTURE_STRUCTS + hotspot->structs * HOTSPOT_FIXTURE_STRUCT_BYTES;
	const char *kind = hotspot_fixture_fields[i].kind;
	int32_t distance;

	if (value == -1)
		return;
	hotspot->structs++;
	if (kind[0] == '\0')
		kind = is_newer ? "int16_t" : "int";
	hotspot_fixture_name(hotspot, entry, hotspot_fixture_fields[i].type);
	hotspot_fixture_name(hotspot, entry + 8, hotspot_fixture_fields[i].field);
	hotspot_fixture_name(hotspot, entry + 16, kind);
	hotspot->bytes[entry + 24] = hotspot_fixture_fields[i].is_static;
	if (hotspot_fixture_fields[i].is_static) {
		hotspot_fixture_relocate(hotspot, entry + 40, (size_t)value);
		return;
	}
	distance = (int32_t)(entry + 32 - HOTSPOT_FIXTURE_CODE -
			     (i + 1) * HOTSPOT_FIXTURE_STORE_BYTES);
	memcpy(hotspot_fixture_store(hotspot, i), store, sizeof(store));
	memcpy(hotspot_fixture_store(hotspot, i) + 3, &distance, sizeof(distance));
	memcpy(hotspot_fixture_store(hotspot, i) + 7, &value, sizeof(value));
}

/* A variable of 8 bytes: a number, or the address of a table. */
static inline void hotspot_fixture_add_symbol(
	struct hotspot_fixture *hotspot, const char *name, uint64_t number, size_t target)
{
	size_t at = HOTSPOT_FIXTURE_NUMBERS + hotspot->symbols * sizeof(number);

	*hotspot_fixture_symbol(hotspot, hotspot->symbols++) = (Elf64_Sym){
		.st_name = hotspot->symbol_names,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		.st_shndx = 1,
		.st_value = HOTSPOT_FIXTURE_VADDR + at,
		.st_size = sizeof(number),
	};
	hotspot_fixture_put(
		hotspot, HOTSPOT_FIXTURE_DYNSTR + hotspot->symbol_names, name, strlen(name) + 1);
	hotspot->symbol_names += (uint32_t)strlen(name) + 1;
	hotspot_fixture_section(hotspot, 2)->sh_size = hotspot->symbols * sizeof(Elf64_Sym);
	hotspot_fixture_put(hotspot, at, &number, sizeof(number));
	if (target)
		hotspot_fixture_relocate(hotspot, at, target);
}

static const struct elf_fixture_section hotspot_fixture_sections[HOTSPOT_FIXTURE_SECTIONS] = {
	{ "", SHT_NULL, 0, 0, 0, 0 },
	{ ".text", SHT_PROGBITS, HOTSPOT_FIXTURE_CODE, HOTSPOT_FIXTURE_CODE_BYTES, 0,
		SHF_ALLOC | SHF_EXECINSTR },
	{ ".dynsym", SHT_DYNSYM, HOTSPOT_FIXTURE_DYNSYM, 0, sizeof(Elf64_Sym), 0 },
	{ ".dynstr", SHT_STRTAB, HOTSPOT_FIXTURE_DYNSTR, 0x400, 0, 0 },
	{ ".rela.dyn", SHT_RELA, HOTSPOT_FIXTURE_RELOCATIONS, 0, sizeof(Elf64_Rela), 0 },
	{ ".shstrtab", SHT_STRTAB, HOTSPOT_FIXTURE_SECTION_NAMES, 0x80, 0, 0 },
};

/* Of JDK 17 or 25. */
static inline void hotspot_fixture_init(struct hotspot_fixture *hotspot, uint32_t release)
{
	bool is_newer = release == 25;

	memset(hotspot, 0, sizeof(*hotspot));
	hotspot->symbol_names = 1;
	hotspot->symbols = 1;
	elf_fixture_init(hotspot->bytes, sizeof(hotspot->bytes), hotspot_fixture_sections,
		HOTSPOT_FIXTURE_SECTIONS);
	hotspot_fixture_put(hotspot, HOTSPOT_FIXTURE_RELEASE, &release, sizeof(release));
	for (size_t i = 0; i < HOTSPOT_FIXTURE_FIELDS; i++)
		hotspot_fixture_add_field(hotspot, i, is_newer);
	for (size_t i = 0; i < HOTSPOT_FIXTURE_SIZES; i++) {
		size_t entry = HOTSPOT_FIXTURE_TYPES + i * HOTSPOT_FIXTURE_TYPE_BYTES;

		hotspot_fixture_name(hotspot, entry, hotspot_fixture_types[i].type);
		hotspot_fixture_put(hotspot, entry + 32, &hotspot_fixture_types[i].values[is_newer],
			sizeof(uint64_t));
	}
	hotspot_fixture_add_symbol(hotspot, "gHotSpotVMStructs", 0, HOTSPOT_FIXTURE_STRUCTS);
	hotspot_fixture_add_symbol(hotspot, "gHotSpotVMTypes", 0, HOTSPOT_FIXTURE_TYPES);
	hotspot_fixture_add_symbol(
		hotspot, "gHotSpotVMStructEntryArrayStride", HOTSPOT_FIXTURE_STRUCT_BYTES, 0);
	hotspot_fixture_add_symbol(
		hotspot, "gHotSpotVMTypeEntryArrayStride", HOTSPOT_FIXTURE_TYPE_BYTES, 0);
}

/* -1 on failure. */
static inline int hotspot_fixture_fd(const struct hotspot_fixture *hotspot)
{
	return elf_fixture_fd(hotspot->bytes, sizeof(hotspot->bytes));
}

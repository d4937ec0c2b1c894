/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small program that looks like Node.js to whoever describes it: the numbers that V8 publishes,
 * as they are in V8 11.3 (Node.js 20) or 13.6 (24).
 *
 *	static struct v8_fixture v8;
 *
 *	v8_fixture_init(&v8, 11);
 *	*v8_fixture_number(&v8, "v8dbg_TaggedSize") = 4;
 *	fd = v8_fixture_fd(&v8);
 */
#pragma once

#include "tests/extract/elf_fixture.h"

#include <stdbool.h>

enum {
	V8_FIXTURE_BYTES = 0x2800,
	V8_FIXTURE_VADDR = ELF_FIXTURE_VADDR,
	V8_FIXTURE_SECTIONS = 6,
	/* File offsets. */
	V8_FIXTURE_SECTION_NAMES = 0x280,
	V8_FIXTURE_CODE = 0x300,
	V8_FIXTURE_CODE_BYTES = 0x180,
	V8_FIXTURE_GET_PLACE = 0x440, /* in the code: functions that return place and size */
	V8_FIXTURE_GET_BYTES = 0x460,
	V8_FIXTURE_NUMBERS = 0x480,
	V8_FIXTURE_PLACE = 0x5d0, /* a pointer, that a relocation sets */
	V8_FIXTURE_RELOCATION = 0x5e0,
	V8_FIXTURE_SYMTAB = 0x600,
	V8_FIXTURE_NAMES = 0x1000,
	V8_FIXTURE_SYMBOLS_MAX = 96,
};

struct v8_fixture {
	uint8_t bytes[V8_FIXTURE_BYTES];
	uint32_t symbols, names;
};

/* The numbers of 11.3 and 13.6; 0xdead: not published. */
#define V8_FIXTURE_NONE 0xdead
static const struct {
	const char *name;
	int32_t values[2];
} v8_fixture_numbers[] = {
	{ "v8dbg_HeapObjectTag", { 1, 1 } },
	{ "v8dbg_HeapObjectTagMask", { 3, 3 } },
	{ "v8dbg_SmiTag", { 0, 0 } },
	{ "v8dbg_SmiTagMask", { 1, 1 } },
	{ "v8dbg_SmiShiftSize", { 31, 31 } },
	{ "v8dbg_TaggedSize", { 8, 8 } },
	{ "v8dbg_FirstNonstringType", { 128, 128 } },
	{ "v8dbg_StringRepresentationMask", { 7, 7 } },
	{ "v8dbg_SeqStringTag", { 0, 0 } },
	{ "v8dbg_ConsStringTag", { 1, 1 } },
	{ "v8dbg_ExternalStringTag", { 2, 2 } },
	{ "v8dbg_SlicedStringTag", { 3, 3 } },
	{ "v8dbg_ThinStringTag", { 5, 5 } },
	{ "v8dbg_StringEncodingMask", { 8, 8 } },
	{ "v8dbg_OneByteStringTag", { 8, 8 } },
	{ "v8dbg_TwoByteStringTag", { 0, 0 } },
	{ "v8dbg_class_HeapObject__map__Map", { 0, 0 } },
	{ "v8dbg_class_Map__instance_type__uint16_t", { 12, 12 } },
	{ "v8dbg_FirstJSFunctionType", { V8_FIXTURE_NONE, 2065 } },
	{ "v8dbg_LastJSFunctionType", { V8_FIXTURE_NONE, 2081 } },
	{ "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", { 2066, 2065 } },
	{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", { 262, 282 } },
	{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", { 261, 280 } },
	{ "v8dbg_type_Script__SCRIPT_TYPE", { 167, 167 } },
	{ "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", { 175, 176 } },
	{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", { 24, 32 } },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", { 16, V8_FIXTURE_NONE } },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
		{ V8_FIXTURE_NONE, 24 } },
	{ "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
		{ 32, V8_FIXTURE_NONE } },
	{ "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", { V8_FIXTURE_NONE, 40 } },
	{ "v8dbg_class_SharedFunctionInfo__flags__int", { 48, 56 } },
	{ "v8dbg_class_Script__source__Object", { 8, 8 } },
	{ "v8dbg_class_Script__name__Object", { 16, 16 } },
	{ "v8dbg_class_Script__line_ends__Object", { 56, 56 } },
	{ "v8dbg_class_Script__eval_from_position__SMI", { 80, 80 } },
	{ "v8dbg_class_FixedArrayBase__length__SMI", { 8, 8 } },
	{ "v8dbg_class_FixedArray__data__uintptr_t", { 16, 16 } },
	{ "v8dbg_class_String__length__int32_t", { 12, 12 } },
	{ "v8dbg_class_SeqOneByteString__chars__char", { 16, 16 } },
	{ "v8dbg_class_SeqTwoByteString__chars__char", { 16, 16 } },
	{ "v8dbg_class_ConsString__first__String", { 16, 16 } },
	{ "v8dbg_class_ConsString__second__String", { 24, 24 } },
	{ "v8dbg_class_SlicedString__parent__String", { 16, 16 } },
	{ "v8dbg_class_SlicedString__offset__SMI", { 24, 24 } },
	{ "v8dbg_class_ThinString__actual__String", { 16, 16 } },
	{ "v8dbg_class_ExternalString__resource__Object", { 16, 16 } },
	{ "v8dbg_off_fp_function", { -16, -16 } },
	{ "v8dbg_off_fp_context", { -8, -8 } },
	{ "v8dbg_off_fp_bytecode_array", { -32, -32 } },
	{ "v8dbg_off_fp_bytecode_offset", { -40, -40 } },
	{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", { 191, 186 } },
	{ "v8dbg_class_BytecodeArray__data__uintptr_t", { 54, 64 } },
	{ "v8dbg_scopeinfo_idx_ncontextlocals", { 2, 2 } },
	{ "v8dbg_scopeinfo_idx_first_vars", { 3, 5 } },
	{ "_ZN2v88internal7Version6major_E", { 11, 13 } },
	{ "_ZN2v88internal7Version6minor_E", { 3, 6 } },
	{ "_ZN2v88internal7Version6build_E", { 244, 233 } },
	{ "v8_Default_embedded_blob_code_size_", { V8_FIXTURE_CODE_BYTES, V8_FIXTURE_CODE_BYTES } },
};

enum { V8_FIXTURE_NUMBER_COUNT = sizeof(v8_fixture_numbers) / sizeof(v8_fixture_numbers[0]) };

static inline void v8_fixture_put(struct v8_fixture *v8, size_t at, const void *bytes, size_t size)
{
	elf_fixture_put(v8->bytes, sizeof(v8->bytes), at, bytes, size);
}

static inline Elf64_Shdr *v8_fixture_section(struct v8_fixture *v8, size_t index)
{
	return elf_fixture_section(v8->bytes, index);
}

static inline Elf64_Sym *v8_fixture_symbol(struct v8_fixture *v8, size_t index)
{
	return (Elf64_Sym *)(void *)(v8->bytes + V8_FIXTURE_SYMTAB) + index;
}

/* Where a published number is. */
static inline int32_t *v8_fixture_number(struct v8_fixture *v8, const char *name)
{
	for (size_t i = 0; i < V8_FIXTURE_NUMBER_COUNT; i++)
		if (strcmp(v8_fixture_numbers[i].name, name) == 0)
			return (int32_t *)(void *)(v8->bytes + V8_FIXTURE_NUMBERS) + i;
	assert(0);
	return NULL;
}

static inline void v8_fixture_add_symbol(
	struct v8_fixture *v8, const char *name, size_t offset, uint8_t type, uint64_t bytes)
{
	assert(v8->symbols < V8_FIXTURE_SYMBOLS_MAX);
	*v8_fixture_symbol(v8, v8->symbols++) = (Elf64_Sym){
		.st_name = v8->names,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = 1,
		.st_value = V8_FIXTURE_VADDR + offset,
		.st_size = bytes,
	};
	v8_fixture_put(v8, V8_FIXTURE_NAMES + v8->names, name, strlen(name) + 1);
	v8->names += (uint32_t)strlen(name) + 1;
	v8_fixture_section(v8, 2)->sh_size = v8->symbols * sizeof(Elf64_Sym);
}

/* Of V8 11 or 13. */
static inline void v8_fixture_init(struct v8_fixture *v8, uint32_t major)
{
	static const struct elf_fixture_section sections[V8_FIXTURE_SECTIONS] = {
		{ "", SHT_NULL, 0, 0, 0, 0 },
		{ ".text", SHT_PROGBITS, V8_FIXTURE_CODE, V8_FIXTURE_CODE_BYTES, 0,
			SHF_ALLOC | SHF_EXECINSTR },
		{ ".symtab", SHT_SYMTAB, V8_FIXTURE_SYMTAB, 0, sizeof(Elf64_Sym), 0 },
		{ ".strtab", SHT_STRTAB, V8_FIXTURE_NAMES, V8_FIXTURE_BYTES - V8_FIXTURE_NAMES, 0,
			0 },
		{ ".rela.dyn", SHT_RELA, V8_FIXTURE_RELOCATION, sizeof(Elf64_Rela),
			sizeof(Elf64_Rela), 0 },
		{ ".shstrtab", SHT_STRTAB, V8_FIXTURE_SECTION_NAMES, 0x80, 0, 0 },
	};

	elf_fixture_init(v8->bytes, sizeof(v8->bytes), sections, V8_FIXTURE_SECTIONS);
	v8->names = v8->symbols = 1;
	for (size_t i = 0; i < V8_FIXTURE_NUMBER_COUNT; i++) {
		int32_t value = v8_fixture_numbers[i].values[major == 13];
		size_t at = V8_FIXTURE_NUMBERS + i * sizeof(value);

		v8_fixture_put(v8, at, &value, sizeof(value));
		if (value != V8_FIXTURE_NONE)
			v8_fixture_add_symbol(
				v8, v8_fixture_numbers[i].name, at, STT_OBJECT, sizeof(value));
	}
	v8_fixture_add_symbol(v8, "v8_Default_embedded_blob_code_", V8_FIXTURE_CODE, STT_NOTYPE, 0);
}

static inline Elf64_Sym *v8_fixture_named(struct v8_fixture *v8, const char *name)
{
	for (uint32_t i = 1; i < v8->symbols; i++)
		if (strcmp((char *)v8->bytes + V8_FIXTURE_NAMES + v8_fixture_symbol(v8, i)->st_name,
			    name) == 0)
			return v8_fixture_symbol(v8, i);
	assert(0);
	return NULL;
}

/* A function that returns the address of `target`, or what `load` loads from there. */
static inline void v8_fixture_put_accessor(
	struct v8_fixture *v8, size_t at, size_t target, const char *load, size_t load_bytes)
{
	const int32_t distance = (int32_t)(target - at - 7);

	v8_fixture_put(v8, at, "\x48\x8d\x05", 3);
	v8_fixture_put(v8, at + 3, &distance, sizeof(distance));
	v8_fixture_put(v8, at + 7, load, load_bytes);
	v8_fixture_put(v8, at + 7 + load_bytes, "\xc3", 1);
}

/*
 * As Debian's library: exported functions alone tell where V8's own functions are. As V8 10.2 they
 * load the place from a variable.
 */
static inline void v8_fixture_strip(struct v8_fixture *v8, bool has_variable)
{
	const size_t bytes_at =
		(size_t)((uint8_t *)v8_fixture_number(v8, "v8_Default_embedded_blob_code_size_") -
			 v8->bytes);
	const Elf64_Rela relocation = { V8_FIXTURE_VADDR + V8_FIXTURE_PLACE, R_X86_64_RELATIVE,
		V8_FIXTURE_VADDR + V8_FIXTURE_CODE };

	v8_fixture_named(v8, "v8_Default_embedded_blob_code_")->st_shndx = SHN_UNDEF;
	v8_fixture_named(v8, "v8_Default_embedded_blob_code_size_")->st_shndx = SHN_UNDEF;
	v8_fixture_put(v8, V8_FIXTURE_RELOCATION, &relocation, sizeof(relocation));
	v8_fixture_put_accessor(v8, V8_FIXTURE_GET_PLACE,
		has_variable ? V8_FIXTURE_PLACE : V8_FIXTURE_CODE, "\x48\x8b\x00",
		has_variable ? 3 : 0);
	v8_fixture_put_accessor(v8, V8_FIXTURE_GET_BYTES, bytes_at, "\x8b\x00", 2);
	v8_fixture_add_symbol(v8, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv",
		V8_FIXTURE_GET_PLACE, STT_FUNC, 11);
	v8_fixture_add_symbol(v8, "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv",
		V8_FIXTURE_GET_BYTES, STT_FUNC, 10);
}

/* -1 on failure. */
static inline int v8_fixture_fd(const struct v8_fixture *v8)
{
	return elf_fixture_fd(v8->bytes, sizeof(v8->bytes));
}

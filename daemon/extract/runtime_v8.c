/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_v8.h"

#include "base/array.h"
#include "base/runtime_bounds.h"
#include "extract/code_segments.h"
#include "extract/elf_memory.h"
#include "extract/runtime_v8_functions.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_v8.h"
#include "pilotlight/symbol_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = PILOTLIGHT_RUNTIME_NONE,
	WORD_BYTES = 8,
	/* To V8 11.3 the last type of functions, of constructors of classes, is not published. */
	FUNCTION_TYPES = 16,
	/* Of a scope's words, without its map: where its variables begin. */
	LOCALS_BEHIND_COUNTS = 3,
	LOCALS_BEHIND_PLACES = 5, /* from V8 12.8 on, the place in the source is before them */
};

/* What a published number is. */
enum meaning {
	MUST_BE,
	FIELD,	    /* several numbers of one field must agree */
	CODE_FIELD, /* of optimized code; not each version publishes it */
	OTHER,
	CODE_OTHER, /* not each build has it */
};

/* Numbers that are no fields. */
enum other {
	FRAME_FUNCTION,
	FRAME_CONTEXT,
	FRAME_BYTECODES,
	FRAME_PLACE,
	BYTECODES_TYPE,
	BYTECODES_DATA,
	FUNCTION_TYPE,
	SCOPE_LOCALS,
	SCOPE_LOCALS_BEGIN,
	SCRIPT_EVAL_PLACE,
	STRING_RESOURCE,
	VERSION_MAJOR,
	VERSION_MINOR,
	VERSION_BUILD,
	CODE_BYTES,
	OTHERS,
};

static const struct {
	const char *name;
	enum meaning meaning;
	uint16_t value; /* or the field, or enum other */
} numbers[] = {
#define MUST(name, value)                     \
	{                                     \
		"v8dbg_" name, MUST_BE, value \
	}
#define FIELD(name, field)                                                          \
	{                                                                           \
		"v8dbg_" name, FIELD, offsetof(struct pilotlight_runtime_v8, field) \
	}
	MUST("HeapObjectTag", PILOTLIGHT_V8_OBJECT),
	MUST("HeapObjectTagMask", PILOTLIGHT_V8_TAG_MASK),
	MUST("SmiTag", 0),
	MUST("SmiTagMask", 1),
	MUST("SmiShiftSize", PILOTLIGHT_V8_NUMBER_SHIFT - 1),
	MUST("TaggedSize", WORD_BYTES),
	MUST("FirstNonstringType", PILOTLIGHT_V8_STRINGS),
	MUST("StringRepresentationMask", PILOTLIGHT_V8_STRING_KINDS),
	MUST("SeqStringTag", PILOTLIGHT_V8_STRING_HERE),
	MUST("ConsStringTag", PILOTLIGHT_V8_STRING_JOINED),
	MUST("ExternalStringTag", PILOTLIGHT_V8_STRING_OUTSIDE),
	MUST("SlicedStringTag", PILOTLIGHT_V8_STRING_PART),
	MUST("ThinStringTag", PILOTLIGHT_V8_STRING_SAME),
	MUST("StringEncodingMask", PILOTLIGHT_V8_STRING_NARROW),
	MUST("OneByteStringTag", PILOTLIGHT_V8_STRING_NARROW),
	MUST("TwoByteStringTag", 0),
	MUST("class_HeapObject__map__Map", 0),
	FIELD("class_Map__instance_type__uint16_t", map_type_at),
	FIELD("FirstJSFunctionType", function_type_first),
	FIELD("LastJSFunctionType", function_type_last),
	FIELD("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", shared_type),
	FIELD("type_ScopeInfo__SCOPE_INFO_TYPE", scope_type),
	FIELD("type_Script__SCRIPT_TYPE", script_type),
	FIELD("type_FixedArray__FIXED_ARRAY_TYPE", array_type),
	FIELD("class_JSFunction__shared__SharedFunctionInfo", function_shared_at),
	FIELD("class_SharedFunctionInfo__name_or_scope_info__Object", shared_name_at),
	FIELD("class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", shared_name_at),
	FIELD("class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
		shared_name_at),
	FIELD("class_SharedFunctionInfo__script_or_debug_info__HeapObject", shared_script_at),
	FIELD("class_SharedFunctionInfo__script__Tagged_HeapObject_", shared_script_at),
	FIELD("class_SharedFunctionInfo__flags__int", shared_number_at),
	FIELD("class_Script__source__Object", script_source_at),
	FIELD("class_Script__name__Object", script_name_at),
	FIELD("class_Script__line_ends__Object", script_line_ends_at),
	FIELD("class_FixedArrayBase__length__SMI", array_length_at),
	FIELD("class_FixedArray__data__uintptr_t", array_data_at),
	FIELD("class_String__length__int32_t", string_length_at),
	FIELD("class_SeqOneByteString__chars__char", string_characters_at),
	FIELD("class_SeqTwoByteString__chars__char", string_characters_at),
	FIELD("class_ConsString__first__String", string_other_at),
	FIELD("class_SlicedString__parent__String", string_other_at),
	FIELD("class_ThinString__actual__String", string_other_at),
	FIELD("class_ConsString__second__String", string_second_at),
	FIELD("class_SlicedString__offset__SMI", string_second_at),
#define CODE(name, field)                                                                     \
	{                                                                                     \
		"v8dbg_" name, CODE_FIELD, offsetof(struct pilotlight_runtime_v8, code.field) \
	}
	CODE("type_Code__CODE_TYPE", type),
	CODE("class_Code__deoptimization_data__FixedArray", deopt_at),
	CODE("class_Code__source_position_table__ByteArray", positions_at),
	CODE("class_Code__instruction_start__uintptr_t", start_at),
	CODE("class_Code__instruction_start__Address", start_at),
	CODE("class_Code__flags__uint32_t", flags_at),
	CODE("class_Code__instruction_size__int", size_at),
	CODE("CodeKindBaseline", last_kind),
#undef MUST
#undef FIELD
#undef CODE
	{ "v8dbg_off_fp_function", OTHER, FRAME_FUNCTION },
	{ "v8dbg_off_fp_context", OTHER, FRAME_CONTEXT },
	{ "v8dbg_off_fp_bytecode_array", CODE_OTHER, FRAME_BYTECODES },
	{ "v8dbg_off_fp_bytecode_offset", CODE_OTHER, FRAME_PLACE },
	{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", CODE_OTHER, BYTECODES_TYPE },
	{ "v8dbg_class_BytecodeArray__data__uintptr_t", CODE_OTHER, BYTECODES_DATA },
	{ "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", OTHER, FUNCTION_TYPE },
	{ "v8dbg_scopeinfo_idx_ncontextlocals", OTHER, SCOPE_LOCALS },
	{ "v8dbg_scopeinfo_idx_first_vars", OTHER, SCOPE_LOCALS_BEGIN },
	{ "v8dbg_class_Script__eval_from_position__SMI", OTHER, SCRIPT_EVAL_PLACE },
	{ "v8dbg_class_ExternalString__resource__Object", OTHER, STRING_RESOURCE },
	{ "_ZN2v88internal7Version6major_E", OTHER, VERSION_MAJOR },
	{ "_ZN2v88internal7Version6minor_E", OTHER, VERSION_MINOR },
	{ "_ZN2v88internal7Version6build_E", OTHER, VERSION_BUILD },
	{ "v8_Default_embedded_blob_code_size_", CODE_OTHER, CODE_BYTES },
};

/*
 * Optimized code, of the versions of V8 in Node.js 18, 20, 22 and 24. What they publish of it must
 * agree with this. The rest is from the headers of these versions: code.h, deoptimization-data.h,
 * instance-type.h (generated), instruction-stream.h, bytecode-array.h and .tq. The sampler proves
 * all of it by the objects' types, and by what they say of each other.
 */
static const struct {
	uint8_t major, minor;
	uint16_t bytecodes_positions_at;
	struct pilotlight_v8_code code;
} optimized_code[] = {
#define DATA(index) (16 + WORD_BYTES * (index)) /* of an array */
	{ 10, 2, 32,
		{ .before_bytes = 128,
			.code_at = 0,
			.type = 240,
			.deopt_type = 179,
			.literals_type = 237,
			.positions_type = 194,
			.inlinings_type = 194,
			.deopt_at = 16,
			.positions_at = 24,
			.start_at = PILOTLIGHT_V8_OBJECT_MAX,
			.flags_at = 48,
			.size_at = 40,
			.last_kind = 11,
			.count_at = DATA(1),
			.literals_at = DATA(2),
			.function_at = DATA(6),
			.inlinings_at = DATA(7) } },
	{ 11, 3, 32,
		{ .before_bytes = 16,
			.code_at = 8,
			.type = 245,
			.deopt_type = 175,
			.literals_type = 240,
			.positions_type = 190,
			.inlinings_type = 190,
			.deopt_at = 16,
			.positions_at = 24,
			.start_at = 40,
			.flags_at = 48,
			.size_at = 56,
			.last_kind = 11,
			.count_at = DATA(1),
			.literals_at = DATA(2),
			.function_at = DATA(6),
			.inlinings_at = DATA(7) } },
	{ 12, 4, 24,
		{ .before_bytes = 32,
			.code_at = 8,
			.type = 206,
			.deopt_type = 213,
			.literals_type = 247,
			.positions_type = 212,
			.inlinings_type = 186,
			.deopt_at = 8,
			.positions_at = 16,
			.start_at = 40,
			.flags_at = 48,
			.size_at = 52,
			.last_kind = 10,
			.count_at = DATA(1),
			.literals_at = DATA(2),
			.function_at = DATA(6),
			.inlinings_at = DATA(7) } },
	{ 13, 6, 24,
		{ .before_bytes = 32,
			.code_at = 8,
			.type = 187,
			.deopt_type = 193,
			.literals_type = 199,
			.positions_type = 196,
			.inlinings_type = 196,
			.deopt_at = 8,
			.positions_at = 16,
			.start_at = 40,
			.flags_at = 52,
			.size_at = 56,
			.last_kind = 10,
			.count_at = DATA(1),
			.literals_at = DATA(3),
			.function_at = DATA(7),
			.inlinings_at = DATA(8),
			.has_wrapper = 1 } },
#undef DATA
};

struct v8 {
	const struct unwind_files *files;
	struct scratch *scratch;
	struct elf_memory memory;
	struct symbol_table table;
	char name[SYMBOL_NAME_BYTES];
	/* Of V8's own functions: the first symbol is a variable if there is the second. */
	uint64_t code, code_too;
	bool is_found[ARRAY_SIZE(numbers)];
	int32_t values[ARRAY_SIZE(numbers)];
	int32_t others[OTHERS];
	struct pilotlight_runtime_v8 runtime;
	uint32_t lacks; /* of a build that is not described: why */
};

/* Variables of zeros have no contents in the file. */
static int read_number(const struct v8 *v8, uint64_t vaddr, int32_t *ret_number)
{
	int32_t number = 0;
	int r = elf_memory_read(&v8->memory, vaddr, &number, sizeof(number));

	if (r < 0 && r != -ENODATA)
		return r;
	*ret_number = number;
	return 0;
}

/* All names that are wanted are of numbers of 4 bytes, of a pointer, or have no type. */
static bool may_be_wanted(const Elf64_Sym *symbol)
{
	uint32_t type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (type == STT_NOTYPE ||
		       (type == STT_OBJECT && (symbol->st_size == sizeof(int32_t) ||
						      symbol->st_size == WORD_BYTES)));
}

static int visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct v8 *v8 = context;
	size_t length;
	int r;

	if (!may_be_wanted(symbol))
		return 0;
	r = symbol_table_read_name(&v8->table, symbol->st_name, v8->name, &length);
	if (r < 0)
		return r;
	if (strcmp(v8->name, "v8_Default_embedded_blob_code_") == 0)
		v8->code = symbol->st_value;
	if (strcmp(v8->name, "v8_Default_embedded_blob_code_data_") == 0)
		v8->code_too = symbol->st_value;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(v8->name, numbers[i].name) != 0)
			continue;
		v8->is_found[i] = true;
		return read_number(v8, symbol->st_value, &v8->values[i]);
	}
	return 0;
}

static bool set_field(struct v8 *v8, size_t field, int32_t value)
{
	uint16_t wanted = (uint16_t)value, *place = (void *)((uint8_t *)&v8->runtime + field);

	if (value <= 0 || value > PILOTLIGHT_RUNTIME_AT_MAX || (*place != 0 && *place != wanted))
		return false;
	*place = wanted;
	return true;
}

/* Puts the numbers where they belong. Returns 0, or -ENOTSUP if they contradict what is known. */
static int sort_numbers(struct v8 *v8)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		bool is_good = v8->is_found[i];

		if (numbers[i].meaning == CODE_FIELD)
			continue;
		if (numbers[i].meaning == CODE_OTHER) {
			v8->others[numbers[i].value] = v8->values[i];
			continue;
		}
		if (numbers[i].meaning == MUST_BE)
			is_good = is_good && v8->values[i] == numbers[i].value;
		else if (numbers[i].meaning == OTHER)
			v8->others[numbers[i].value] = v8->values[i];
		else if (numbers[i].meaning == FIELD)
			is_good = !is_good || set_field(v8, numbers[i].value, v8->values[i]);
		if (!is_good)
			return -ENOTSUP;
	}
	return 0;
}

/* Words of 4 bytes, as in Electron. */
static bool is_compressed(const struct v8 *v8)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (strcmp(numbers[i].name, "v8dbg_TaggedSize") == 0)
			return v8->is_found[i] && v8->values[i] == WORD_BYTES / 2;
	return false;
}

static int describe_objects(struct v8 *v8)
{
	struct pilotlight_runtime_v8 *runtime = &v8->runtime;
	const int32_t *others = v8->others;
	int32_t locals = others[SCOPE_LOCALS_BEGIN];

	if (others[FRAME_FUNCTION] < INT16_MIN || others[FRAME_FUNCTION] >= 0 ||
		others[FRAME_CONTEXT] != others[FRAME_FUNCTION] + WORD_BYTES ||
		others[SCRIPT_EVAL_PLACE] != runtime->script_line_ends_at + 3 * WORD_BYTES ||
		others[STRING_RESOURCE] != runtime->string_second_at - WORD_BYTES ||
		others[SCOPE_LOCALS] < 0 || others[SCOPE_LOCALS] >= locals ||
		(locals != LOCALS_BEHIND_COUNTS && locals != LOCALS_BEHIND_PLACES))
		return -ENOTSUP;
	runtime->frame_function_at = (int16_t)others[FRAME_FUNCTION];
	runtime->script_id_at = runtime->script_line_ends_at + WORD_BYTES;
	runtime->scope_locals_at = (uint16_t)((others[SCOPE_LOCALS] + 1) * WORD_BYTES);
	runtime->scope_locals_begin_at = (uint16_t)((locals + 1) * WORD_BYTES);
	runtime->scope_start_at =
		locals == LOCALS_BEHIND_PLACES ? (LOCALS_BEHIND_COUNTS + 1) * WORD_BYTES : NONE;
	if (runtime->function_type_first != 0)
		return 0;
	if (others[FUNCTION_TYPE] <= 0 || others[FUNCTION_TYPE] > PILOTLIGHT_RUNTIME_AT_MAX)
		return -ENOTSUP;
	runtime->function_type_first = (uint16_t)others[FUNCTION_TYPE];
	runtime->function_type_last = (uint16_t)(others[FUNCTION_TYPE] + FUNCTION_TYPES - 1);
	return 0;
}

/* No field of V8 is 0. */
static bool has_all_fields(const struct v8 *v8)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].meaning == FIELD &&
			*(const uint16_t *)((const uint8_t *)&v8->runtime + numbers[i].value) == 0)
			return false;
	return true;
}

/* Offsets of code are by its own segment: in programs that strip(1) has written, these differ. */
static int find_code_place(const struct v8 *v8, uint64_t code, uint64_t bytes, __s64 *ret_place)
{
	const struct code_segments *segments = &v8->files->code;
	uint64_t place = 0;

	if (!code_segments_hold(segments, code, code + bytes))
		return -ENOTSUP;
	for (size_t i = 0; i < segments->count; i++)
		if (code >= segments->segments[i].vaddr)
			place = code - segments->segments[i].vaddr + segments->segments[i].offset;
	*ret_place = (__s64)place;
	return 0;
}

static int describe_code(struct v8 *v8)
{
	uint64_t code = v8->code_too ? v8->code_too : v8->code;
	__s64 place = 0;
	int r = 0;

	if (!has_all_fields(v8))
		return -ENOTSUP;
	if (code == 0 || v8->others[CODE_BYTES] <= 0)
		r = runtime_v8_functions_find(
			v8->files, &v8->table, v8->scratch, &code, &v8->others[CODE_BYTES]);
	if (r == -ENOTSUP)
		v8->lacks = PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED;
	if (r == 0)
		r = find_code_place(v8, code, (uint32_t)v8->others[CODE_BYTES], &place);
	if (r < 0)
		return r;
	v8->runtime.code_place = place;
	v8->runtime.code_bytes = (uint32_t)v8->others[CODE_BYTES];
	return 0;
}

/* Does what is published agree with our table? */
static bool is_code_of(const struct v8 *v8, const struct pilotlight_v8_code *code)
{
	const struct pilotlight_runtime_v8 runtime = { .code = *code };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint16_t field;

		if (numbers[i].meaning != CODE_FIELD || !v8->is_found[i])
			continue;
		memcpy(&field, (const uint8_t *)&runtime + numbers[i].value, sizeof(field));
		if (v8->values[i] != field)
			return false;
	}
	return true;
}

/* Bytecodes that are interpreted have a table of positions as optimized code has. */
static void describe_bytecodes(struct v8 *v8, uint16_t positions_at)
{
	const int32_t *others = v8->others;
	int32_t function = others[FRAME_FUNCTION];
	int32_t type = others[BYTECODES_TYPE], data = others[BYTECODES_DATA];

	if (others[FRAME_BYTECODES] != function - 2 * WORD_BYTES ||
		others[FRAME_PLACE] != function - 3 * WORD_BYTES || type <= 0 ||
		type > PILOTLIGHT_RUNTIME_AT_MAX || data <= 0 || data > PILOTLIGHT_RUNTIME_AT_MAX)
		return;
	v8->runtime.bytecodes_type = (uint16_t)type;
	v8->runtime.bytecodes_positions_at = positions_at;
	v8->runtime.bytecodes_data_at = (uint16_t)data;
}

/* Without it, functions are shown that run in the native frames of their callers as those, and the
 * first lines of functions that are interpreted. */
static void describe_optimized_code(struct v8 *v8)
{
	const int32_t *others = v8->others;

	for (size_t i = 0; i < ARRAY_SIZE(optimized_code); i++) {
		const struct pilotlight_v8_code *code = &optimized_code[i].code;

		if (optimized_code[i].major != others[VERSION_MAJOR] ||
			optimized_code[i].minor != others[VERSION_MINOR] || !is_code_of(v8, code))
			continue;
		v8->runtime.code = *code;
		describe_bytecodes(v8, optimized_code[i].bytecodes_positions_at);
	}
}

static int describe(struct v8 *v8)
{
	const int32_t *others = v8->others;
	int r = symbol_table_each(&v8->table, visit_symbol, v8);

	if (r < 0)
		return r;
	if (!v8->is_found[0])
		return -ENODATA;
	r = sort_numbers(v8);
	if (r == -ENOTSUP && is_compressed(v8))
		v8->lacks = PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED;
	if (r == 0)
		r = describe_objects(v8);
	if (r == 0)
		r = describe_code(v8);
	if (r == 0)
		describe_optimized_code(v8);
	v8->runtime.release = (uint32_t)others[VERSION_MAJOR] << 24 |
			      (uint32_t)(others[VERSION_MINOR] & 0xff) << 16 |
			      (uint32_t)(others[VERSION_BUILD] & 0xffff);
	return r;
}

/* .symtab has what .dynsym has. */
static int open_symbols(struct v8 *v8)
{
	int r = symbol_table_open(&v8->table, &v8->files->binary, SHT_SYMTAB);

	return r == -ENODATA ? symbol_table_open(&v8->table, &v8->files->binary, SHT_DYNSYM) : r;
}

int runtime_v8_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime, uint32_t *ret_lacks)
{
	struct pilotlight_runtime runtime = { .version = 0 };
	struct v8 *v8;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	v8 = calloc(1, sizeof(*v8));
	if (!v8)
		return -ENOMEM;
	v8->files = files;
	v8->scratch = scratch;
	v8->memory.file = &files->binary; /* numbers need no relocations */
	v8->runtime.version = PILOTLIGHT_RUNTIME_VERSION;
	v8->runtime.language = PILOTLIGHT_RUNTIME_V8;
	r = open_symbols(v8);
	if (r == 0)
		r = describe(v8);
	/* Damaged symbols of whatever it is. */
	if ((r == -ENOEXEC || r == -EFBIG) && !v8->is_found[0])
		r = -ENODATA;
	memcpy(&runtime, &v8->runtime, sizeof(v8->runtime));
	if (r == 0 && !runtime_bounds_hold(&runtime))
		r = -ENOTSUP;
	if (r == 0)
		*ret_runtime = runtime;
	*ret_lacks = r == -ENOTSUP ? v8->lacks : 0;
	symbol_table_close(&v8->table);
	free(v8);
	return r;
}

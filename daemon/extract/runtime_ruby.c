/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_ruby.h"

#include "base/array.h"
#include "base/runtime_bounds.h"
#include "extract/code_accessor.h"
#include "extract/code_instruction.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/runtime_loop.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = PILOTLIGHT_RUNTIME_NONE,
	VERSION_BYTES = 8, /* "3.1.2", and what may follow */
	/* vm_exec_core() has 17 to 23 KB, what else the loop calls 2 KB at most. */
	CORE_BYTES_LEAST = 8 << 10,
	/* In an instruction sequence, and in its body. */
	BODY_AT = 16,
	LABEL_AT = 80,
	/* In a state: of the native stack. */
	STACK_AT = 152,
	/* Among the symbols: where their names are. */
	SYMBOLS_AT = 16,
	/* Instructions. */
	REX_WIDE = 0x48, /* to 0x4f */
	REX_WIDE_MASK = 0xf8,
	OPCODE_LOAD = 0x8b,
	OPCODE_COMPARE = 0x39,
	OPCODE_COMPARE_LOADED = 0x3b,
	MODRM_RELATIVE_MASK = 0xc7, /* to the instruction */
	MODRM_RELATIVE = 0x05,
	RELATIVE_BYTES = 6, /* opcode, ModRM, distance */
	OPCODE_GROUP = 0x81,
	MODRM_COMPARE = 0xf8, /* a register, and in the group cmp */
	OPCODE_COMPARE_RAX = 0x3d,
	COMPARE_BYTES = 6, /* with a number of four bytes, at least */
};

/* Exported symbols. Up to 3.2 the loop is among them, up to 2.7 the only state. */
enum symbol {
	SYMBOL_VERSION,
	SYMBOL_PATCHLEVEL,
	SYMBOL_THREAD,
	SYMBOL_LABEL,
	SYMBOL_EVAL,
	SYMBOL_LOOP,
	SYMBOL_STATE,
	SYMBOL_NAME,
	SYMBOLS,
};
static const struct wanted_symbol wanted[SYMBOLS] = {
	[SYMBOL_VERSION] = { .name = "ruby_version" },
	[SYMBOL_PATCHLEVEL] = { .name = "ruby_patchlevel" },
	[SYMBOL_THREAD] = { .name = "rb_thread_current" },
	[SYMBOL_LABEL] = { .name = "rb_iseq_label" },
	[SYMBOL_EVAL] = { .name = "rb_iseq_eval" },
	[SYMBOL_LOOP] = { .name = "rb_vm_exec" },
	[SYMBOL_STATE] = { .name = "ruby_current_execution_context_ptr" },
	[SYMBOL_NAME] = { .name = "rb_id2str" },
};

/* What differs: bytes of a frame, of an entry of the lines, where the lines are, a tag in the first
 * line, and where a string that is in its object has its characters. */
static const struct layout {
	uint8_t major, minor;
	uint8_t frame_bytes, line_bytes;
	uint16_t code_lines_at, first_line_shift, string_characters_at;
} layouts[] = {
	{ 2, 7, 56, 8, 120, 1, 16 },
	{ 3, 0, 56, 8, 120, 1, 16 },
	{ 3, 1, 64, 12, 120, 1, 16 },
	{ 3, 2, 64, 12, 112, 0, 24 },
	{ 3, 3, 56, 12, 112, 0, 24 },
	{ 3, 4, 56, 12, 112, 0, 24 },
};

static const struct pilotlight_runtime common = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_RUBY,
	.instruction = PILOTLIGHT_RUNTIME_POINTER,
	.unit_bytes = 8,
	.group = PILOTLIGHT_RUNTIME_GROUP_FINISH,
	.lines = PILOTLIGHT_RUNTIME_POSITIONS,
	.state_thread_at = NONE,
	.state_frame_at = 16,
	.holder_frame_at = NONE,
	.state_mark_at = NONE,
	.mark_next_at = NONE,
	.frame_previous_at = NONE,
	.frame_instruction_at = 0,
	.frame_code_at = 16,
	.frame_group_at = 32,
	.code_units_at = 8,
	.code_file_at = 64,
	.code_name_at = LABEL_AT,
	.code_first_line_at = 88,
	.string_length_at = 16,
};

struct ruby {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	struct wanted_symbol symbols[SYMBOLS];
	struct pilotlight_runtime runtime;
};

/* "3.1.2": numbers of one digit, the last one of one or two. */
static int read_version(struct ruby *ruby, const struct layout **ret_layout)
{
	char text[VERSION_BYTES] = "";
	uint64_t bytes = ruby->symbols[SYMBOL_VERSION].bytes;
	uint32_t patch;
	int r;

	if (bytes < 6 || bytes > sizeof(text))
		return -ENOTSUP;
	r = elf_memory_read(&ruby->memory, ruby->symbols[SYMBOL_VERSION].vaddr, text, bytes);
	if (r < 0)
		return r;
	if (text[1] != '.' || text[3] != '.' || text[bytes - 1] != '\0')
		return -ENOTSUP;
	patch = (uint32_t)strtoul(text + 4, NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (text[0] - '0' == layouts[i].major && text[2] - '0' == layouts[i].minor) {
			*ret_layout = &layouts[i];
			ruby->runtime.release = (uint32_t)layouts[i].major << 24 |
						(uint32_t)layouts[i].minor << 16 |
						(patch & 0xff) << 8;
			return 0;
		}
	return -ENOTSUP;
}

/* Builds before a release have its version, but may have the layout of the one before. */
static int check_release(const struct ruby *ruby)
{
	uint64_t vaddr = ruby->symbols[SYMBOL_PATCHLEVEL].vaddr;
	int32_t level;
	int r;

	if (vaddr == 0)
		return -ENOTSUP;
	r = elf_memory_read(&ruby->memory, vaddr, &level, sizeof(level));
	return r < 0 ? r : level < 0 ? -ENOTSUP : 0;
}

static int read_accessor(
	const struct ruby *ruby, enum symbol symbol, struct code_accessor *ret_accessor)
{
	uint8_t code[CODE_ACCESSOR_BYTES_MAX];
	uint64_t vaddr = ruby->symbols[symbol].vaddr, bytes = ruby->symbols[symbol].bytes;
	int r;

	if (vaddr == 0 || bytes == 0)
		return -ENOTSUP;
	if (bytes > sizeof(code))
		bytes = sizeof(code);
	r = elf_memory_read(&ruby->memory, vaddr, code, bytes);
	if (r == 0)
		code_accessor_read(code, bytes, vaddr, ret_accessor);
	return r;
}

static int describe_code(struct ruby *ruby)
{
	struct pilotlight_runtime *runtime = &ruby->runtime;
	const struct layout *layout = NULL;
	struct code_accessor accessor;
	int r = read_version(ruby, &layout);

	if (r == 0)
		r = check_release(ruby);
	if (r == 0)
		r = read_accessor(ruby, SYMBOL_LABEL, &accessor);
	if (r < 0)
		return r;
	if (accessor.result.kind != CODE_VALUE_PARAMETER_BEHIND ||
		accessor.result.offset != BODY_AT || accessor.result.place != LABEL_AT)
		return -ENOTSUP;
	runtime->frame_bytes = layout->frame_bytes;
	runtime->line_bytes = layout->line_bytes;
	runtime->code_lines_at = layout->code_lines_at;
	runtime->first_line_shift = layout->first_line_shift;
	runtime->string_ascii_at = layout->string_characters_at;
	return 0;
}

/* Up to 2.7 all threads share one variable, which is that of the thread with the lock. */
static int describe_anchor(struct ruby *ruby)
{
	const struct runtime_anchor anchor = { ruby->files, &ruby->table };
	struct pilotlight_runtime *runtime = &ruby->runtime;
	struct code_accessor accessor;
	int r;

	if (runtime->release >> 24 < 3) {
		if (ruby->symbols[SYMBOL_STATE].vaddr == 0)
			return -ENOTSUP;
		runtime->anchor = PILOTLIGHT_RUNTIME_GLOBAL;
		runtime->state_thread_at = STACK_AT;
		return runtime_anchor_find_place(
			&anchor, ruby->symbols[SYMBOL_STATE].vaddr, &runtime->anchor_place);
	}
	r = read_accessor(ruby, SYMBOL_THREAD, &accessor);
	return r < 0 ? r : runtime_anchor_describe_variable(&anchor, &accessor.variable, runtime);
}

/* The loop by its local symbol, which stripped builds lack. 0: there is none. */
static int find_local_loop(const struct ruby *ruby, uint64_t *ret_vaddr)
{
	struct wanted_symbol loop = { .name = wanted[SYMBOL_LOOP].name };
	struct symbol_table table = { 0 };
	int r = symbol_table_open(&table, &ruby->files->binary, SHT_SYMTAB);

	if (r == 0)
		r = symbol_table_find(&table, &loop, 1);
	symbol_table_close(&table);
	if (r < 0 && r != -ENODATA && r != -ENOEXEC && r != -EFBIG)
		return r;
	*ret_vaddr = loop.vaddr;
	return 0;
}

/* Where it has no symbol, rb_iseq_eval() calls it at its end. */
static int find_loop(struct ruby *ruby, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	struct code_accessor accessor;
	uint64_t vaddr = ruby->symbols[SYMBOL_LOOP].vaddr;
	int r = 0;

	if (vaddr == 0)
		r = find_local_loop(ruby, &vaddr);
	if (r == 0 && vaddr == 0) {
		r = read_accessor(ruby, SYMBOL_EVAL, &accessor);
		if (r == 0)
			vaddr = accessor.callee;
	}
	if (r == 0)
		r = vaddr == 0 ? -ENOTSUP : runtime_loop_measure(&ruby->memory, vaddr, ret_bytes);
	*ret_vaddr = vaddr;
	return r;
}

static int describe_loop(struct ruby *ruby)
{
	const struct runtime_anchor anchor = { ruby->files, &ruby->table };
	struct pilotlight_runtime *runtime = &ruby->runtime;
	uint64_t loop, bytes, core, core_bytes;
	int r = find_loop(ruby, &loop, &bytes);

	if (r == 0)
		r = runtime_loop_find_callee(
			&ruby->memory, loop, bytes, CORE_BYTES_LEAST, &core, &core_bytes);
	if (r == 0 && core_bytes == 0 && bytes < CORE_BYTES_LEAST)
		return -ENOTSUP; /* another function */
	if (r == 0)
		r = runtime_anchor_find_place(&anchor, loop, &runtime->loop_place);
	if (r == 0 && core_bytes > 0)
		r = runtime_anchor_find_place(&anchor, core, &runtime->loop_rest_place);
	if (r < 0)
		return r;
	runtime->loop_bytes = (uint32_t)bytes;
	runtime->loop_rest_bytes = (uint32_t)core_bytes;
	return 0;
}

/* The word that is loaded 16 bytes behind a number that is looked at before, which is how many
 * symbols there are. 0: none. */
static uint64_t find_symbols(
	const uint8_t *code, size_t size, uint64_t vaddr, uint64_t *number_vaddr)
{
	struct code_instruction instruction;

	for (size_t at = 0;
		at < size && code_instruction_decode(code + at, size - at, &instruction);
		at += instruction.length) {
		const uint8_t *byte = code + at;
		bool is_wide = (byte[0] & REX_WIDE_MASK) == REX_WIDE;
		int32_t distance;
		uint64_t place;

		byte += is_wide;
		if ((size_t)(byte - code) + RELATIVE_BYTES > size ||
			(byte[1] & MODRM_RELATIVE_MASK) != MODRM_RELATIVE)
			continue;
		memcpy(&distance, byte + 2, sizeof(distance));
		place = vaddr + at + instruction.length + (uint64_t)(int64_t)distance;
		if (is_wide && byte[0] == OPCODE_LOAD && place == *number_vaddr + SYMBOLS_AT)
			return place;
		if (!is_wide && (byte[0] == OPCODE_LOAD || byte[0] == OPCODE_COMPARE ||
					byte[0] == OPCODE_COMPARE_LOADED))
			*number_vaddr = place;
	}
	return 0;
}

/* rb_id2str() compares a symbol with the greatest operator. */
static uint8_t find_operators(const uint8_t *code, size_t size)
{
	struct code_instruction instruction;
	uint32_t number;

	for (size_t at = 0;
		at < size && code_instruction_decode(code + at, size - at, &instruction);
		at += instruction.length) {
		const uint8_t *end = code + at + instruction.length, *byte;

		if (instruction.length < COMPARE_BYTES)
			continue;
		byte = end - COMPARE_BYTES;
		if (byte[1] != OPCODE_COMPARE_RAX &&
			(byte[0] != OPCODE_GROUP || (byte[1] & MODRM_COMPARE) != MODRM_COMPARE))
			continue;
		memcpy(&number, end - sizeof(number), sizeof(number));
		return number <= UINT8_MAX ? (uint8_t)number : 0;
	}
	return 0;
}

/* Where the names of symbols are. Without them functions of C have no names. */
static void describe_names(struct ruby *ruby)
{
	const struct runtime_anchor anchor = { ruby->files, &ruby->table };
	uint8_t code[CODE_ACCESSOR_BYTES_MAX];
	uint64_t vaddr = ruby->symbols[SYMBOL_NAME].vaddr, number_vaddr = 0, found;
	uint64_t bytes = ruby->symbols[SYMBOL_NAME].bytes;
	struct code_accessor accessor;
	uint8_t operators;
	__s64 place;

	if (bytes > sizeof(code))
		bytes = sizeof(code);
	if (vaddr == 0 || elf_memory_read(&ruby->memory, vaddr, code, bytes) < 0)
		return;
	operators = find_operators(code, bytes);
	code_accessor_read(code, bytes, vaddr, &accessor);
	found = find_symbols(code, bytes, vaddr, &number_vaddr);
	if (found == 0 && accessor.callee != 0 &&
		elf_memory_read(&ruby->memory, accessor.callee, code, sizeof(code)) == 0)
		found = find_symbols(code, sizeof(code), accessor.callee, &number_vaddr);
	if (operators == 0 || found == 0 || runtime_anchor_find_place(&anchor, found, &place) < 0)
		return;
	ruby->runtime.group_least = operators;
	ruby->runtime.code_type_place = place;
}

static int describe(struct ruby *ruby, struct scratch *scratch)
{
	int r = symbol_table_open(&ruby->table, &ruby->files->binary, SHT_DYNSYM);

	if (r == 0)
		r = symbol_table_find(&ruby->table, ruby->symbols, SYMBOLS);
	if (r == -ENOEXEC || r == -EFBIG)
		r = -ENODATA; /* damaged symbols of whatever it is */
	if (r < 0)
		return r;
	if (ruby->symbols[SYMBOL_VERSION].vaddr == 0 || ruby->symbols[SYMBOL_THREAD].vaddr == 0)
		return -ENODATA;
	r = elf_memory_open(&ruby->memory, &ruby->files->binary, scratch);
	if (r == 0)
		r = describe_code(ruby);
	if (r == 0)
		r = describe_anchor(ruby);
	if (r == 0)
		r = describe_loop(ruby);
	if (r == 0)
		describe_names(ruby);
	return r == -ENODATA ? -ENOTSUP : r;
}

int runtime_ruby_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct ruby *ruby;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	ruby = calloc(1, sizeof(*ruby));
	if (!ruby)
		return -ENOMEM;
	ruby->files = files;
	ruby->runtime = common;
	memcpy(ruby->symbols, wanted, sizeof(wanted));
	r = describe(ruby, scratch);
	if (r == 0 && !runtime_bounds_hold(&ruby->runtime))
		r = -ENOTSUP;
	if (r == 0)
		*ret_runtime = ruby->runtime;
	elf_memory_done(&ruby->memory);
	symbol_table_close(&ruby->table);
	free(ruby);
	return r;
}
